# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The RPM spec, by Debian's own rpm: its names of what is needed to build are other distributions', so that rpmbuild is not to look."""
import os

import pytest

from kit import packages, run

pytestmark = pytest.mark.timeout(900)
SPEC = os.path.join(run.TOP, "contrib/rpm/ibqos.spec")


@pytest.fixture(scope="module")
def rpms(tmp_path_factory):
    """{package: path}; without optimization, which is quicker."""
    out = tmp_path_factory.mktemp("rpm")
    packages.call(["make", "-s", "rpm", f"OUT={out}"], env={"RPMBUILD_OPTIONS": "--nodeps", "CFLAGS": "-O0", **packages.PACKAGER})
    found = [os.path.join(d, n) for d, _, names in os.walk(out) for n in names if n.endswith(".rpm")]
    return {packages.call(["rpm", "-qp", "--qf", "%{NAME}", p]).stdout: p for p in found}


def lint(*paths):
    r = packages.call(["rpmlint", "-r", os.path.join(run.TOP, "contrib/rpm/ibqos-rpmlintrc"), *paths], ok=False)
    assert r.returncode == 0 and " 0 errors, 0 warnings" in r.stdout, r.stdout + r.stderr


def test_spec_is_clean():
    lint(SPEC)


def test_packages_are_clean(rpms):
    assert {"ibqos", "ibqos-opensm-plugin", "ibqos-doc"} <= set(rpms)
    lint(*(rpms[n] for n in ("ibqos", "ibqos-opensm-plugin", "ibqos-doc")))


def test_what_is_in_them(rpms):
    found = []
    for name in ("ibqos", "ibqos-opensm-plugin", "ibqos-doc"):
        listed = packages.call(["rpm", "-qp", "--qf", "[%{FILENAMES} %{FILEMODES:perms} %{FILEFLAGS:fflags}\n]", rpms[name]]).stdout.splitlines()
        found += [f"{name} {line.rstrip()}" for line in listed if "/.build-id" not in line]
    packages.golden("rpm.txt", packages.summed(found))
    needs = packages.call(["rpm", "-qp", "--requires", rpms["ibqos"]]).stdout
    assert "libibumad.so.3" in needs and "opensm" not in needs
    said = packages.call(["rpm", "-qp", "--changelog", rpms["ibqos"]]).stdout
    assert said.startswith("* ") and "A Packager <packager@example.org>" in said and "\n- " in said
    # no unit is enabled by it
    scripts = packages.call(["rpm", "-qp", "--scripts", rpms["ibqos"]]).stdout
    assert "enable" not in scripts.replace("disable", "") and "disable --now" in scripts
