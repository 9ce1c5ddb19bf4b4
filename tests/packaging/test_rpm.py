# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The RPM packages, packed by contrib/rpm/ibqos.spec of the build that the other tests run, so that nothing is compiled a second time.
`make check-long` also builds them from the tarball and runs their %check. What is needed is of other distributions' names:
Debian's rpm cannot resolve it, so that they are installed in a folder without (--nodeps)."""
import glob
import os
import re

import pytest

from kit import packages, run

pytestmark = pytest.mark.timeout(600)
OUT = os.path.dirname(os.path.abspath(run.binary()))
RPMLINTRC = "contrib/rpm/ibqos-rpmlintrc"
NAMES = ("ibqos", "ibqos-doc", "ibqos-opensm-plugin")
CLEAN = re.compile(r"(\d+) packages and 1 specfiles checked; 0 errors, 0 warnings")


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    """The spec with version and changelog, as make rpm has it."""
    return packages.call(["scripts/package.sh", "rpm-spec"], env={"OUT": tmp_path_factory.mktemp("spec"), "SOURCE_DATE_EPOCH": "1790000000"}).stdout.strip()


@pytest.fixture(scope="module")
def rpms(spec, tmp_path_factory):
    """{package: path}"""
    packages.call(["make", "-s", f"-j{os.cpu_count()}", f"OUT={OUT}", "all", "man", "completion", "plugin"])
    to = tmp_path_factory.mktemp("rpm")
    r = packages.call(["rpmbuild", "-bb", "--build-in-place", "--nodeps", "--nocheck", "--define", f"_topdir {to}/top", "--define", f"_rpmdir {to}", spec],
                      env={"OUT": OUT, "SOURCE_DATE_EPOCH": "1790000000"})
    assert " -c -o " not in r.stdout, "it compiled what was there"
    return {query(p, "%{name}"): p for p in glob.glob(f"{to}/*/*.rpm")}


def query(path, form):
    return packages.call(["rpm", "-qp", "--qf", form, path]).stdout


def fields(path, form):
    """[[field, ...], ...] of a queryformat of one entry a line."""
    return [line.split("|") for line in query(path, f"[{form}\n]").splitlines()]


def test_rpmlint_is_clean(spec, rpms):
    """Of spec and packages; no filter is without a use."""
    r = packages.call(["rpmlint", "-r", RPMLINTRC, spec, *rpms.values()], ok=False)
    said = CLEAN.search(r.stdout)
    assert r.returncode == 0 and said and int(said[1]) == len(rpms), r.stdout + r.stderr
    r = packages.call(["rpmlint", "--ignore-unused-rpmlintrc", "-r", RPMLINTRC, "contrib/rpm/ibqos.spec"], ok=False)
    assert r.returncode == 0 and CLEAN.search(r.stdout), r.stdout + r.stderr


def test_what_is_in_them(rpms):
    assert set(rpms) == set(NAMES)
    found, config = [], []
    for name in NAMES:
        for path, mode, owner, group, flags in fields(rpms[name], "%{filenames}|%{filemodes:perms}|%{fileusername}|%{filegroupname}|%{fileflags:fflags}"):
            assert (owner, group) == ("root", "root") or path.startswith("/usr/lib/.build-id"), path
            if flags == "cn":
                config.append(path)
            if not mode.startswith("d") and "/.build-id/" not in path or path in ("/etc/ibqos", "/var/lib/ibqos"):
                found.append(f"{name} {mode} {re.sub(r'-0[.][^/]*/LICENSE', '/LICENSE', path).replace('/lib64/', '/LIB/').replace('/usr/lib/lib', '/usr/LIB/lib')}")
    packages.golden("rpm.txt", packages.summed(found))
    assert config == ["/etc/sysconfig/ibqos"]


def test_they_have_what_make_install_has(rpms, tmp_path):
    """All that a plain `make install` and `install-plugin` put anywhere, by file name."""
    packages.call(["make", "-s", f"OUT={OUT}", "install", "install-plugin", f"DESTDIR={tmp_path}", "PREFIX=/usr", "DEFAULTDIR=/etc/sysconfig"])
    installed = {n for _, _, names in os.walk(tmp_path) for n in names}
    packed = {os.path.basename(path).removesuffix(".gz") for name in NAMES for path, in fields(rpms[name], "%{filenames}")}
    assert installed and not installed - packed


def test_what_they_need(rpms):
    """The libraries by what the program is linked with, never OpenSM; the plugin goes with its own OpenSM alone."""
    needs = {name: {n: f"{sense} {v}".strip() for n, sense, v in fields(rpms[name], "%{requirename}|%{requireflags:depflags}|%{requireversion}")} for name in NAMES}
    assert {"diffutils", "libibumad.so.3()(64bit)", "libibnetdisc.so.5()(64bit)"} <= set(needs["ibqos"])
    assert not [n for name in NAMES for n in needs[name] if "opensm" in n]
    version = query(rpms["ibqos"], "%{version}-%{release}")
    assert [v for n, v in needs["ibqos-opensm-plugin"].items() if n.startswith("ibqos")] == [f"= {version}"]
    with open("/usr/include/infiniband/opensm/osm_version.h", encoding="utf-8") as f:
        opensm = re.search(r'"OpenSM ([\d.]+)', f.read())[1]
    conflicts = fields(rpms["ibqos-opensm-plugin"], "%{conflictname}|%{conflictflags:depflags}|%{conflictversion}")
    assert [[f.strip() for f in c] for c in conflicts] == [["opensm", "<", opensm], ["opensm", ">", opensm]]


def test_versions_are_one(rpms, spec):
    """Of program, packages, spec, Makefile and changelog."""
    said = packages.call([run.binary(), "--version"]).stdout.splitlines()[0].removeprefix("ibqos ")
    debian = packages.call(["sh", "-c", 'scripts/changelog.py deb >"$0" && dpkg-parsechangelog -l "$0" -S Version', f"{spec}.deb"],
                           env={"SOURCE_DATE_EPOCH": "1790000000"}).stdout.strip()
    for name in NAMES:
        assert query(rpms[name], "%{version}-%{release}").replace("-1", "") in (said, f"{said}~20260921141320")
        assert debian == query(rpms[name], "%{version}-1")
    with open(os.path.join(run.TOP, "contrib/rpm/ibqos.spec"), encoding="utf-8") as f:
        assert f"\nVersion:        {said}\n" in f.read()
    assert len(fields(rpms["ibqos"], "%{changelogtext}")) > 20


def test_installed_upgraded_and_removed(rpms, tmp_path):
    """In a folder. What an admin edited outlives an upgrade, and a removal under another name; what ibqos kept stays."""
    def rpm(*argv):
        return packages.call(["rpm", "--root", tmp_path, "--nodeps", "--noscripts", *argv]).stdout
    rpm("-i", *rpms.values())
    assert packages.call([tmp_path / "usr/sbin/ibqos", "--version"]).stdout.startswith("ibqos ")
    assert rpm("-Va") == ""
    edited = tmp_path / "etc/sysconfig/ibqos"
    edited.write_text(edited.read_text() + "IBQOS_POLICY=/etc/ibqos/mine.yaml\n")
    (tmp_path / "var/lib/ibqos/history").mkdir()
    rpm("-U", "--replacepkgs", *rpms.values())
    assert edited.read_text().endswith("mine.yaml\n")
    rpm("-e", *NAMES)
    left = {os.path.join(d, n)[len(str(tmp_path)):] for d, _, names in os.walk(tmp_path) for n in names}
    assert [p for p in left if "ibqos" in p] == ["/etc/sysconfig/ibqos.rpmsave"]
    assert (tmp_path / "var/lib/ibqos/history").is_dir()


def test_scripts_do_nothing_without_systemd(rpms):
    """They are sound, and on a machine that did not boot with systemd they call nothing and succeed, as at an image build."""
    tags = ("postin", "preun", "postun")
    for name in ("ibqos", "ibqos-opensm-plugin"):
        for tag in tags:
            script = query(rpms[name], f"%{{{tag}}}").replace("/run/systemd/system", "/nonexistent").replace("/sbin/ldconfig", "true")
            assert "/nonexistent" in script
            for count in ("0", "1", "2"):
                r = packages.call(["/bin/sh", "-c", f"systemctl() {{ echo called; }}\n{script}", "sh", count])
                assert r.stdout + r.stderr == ""
    assert all(query(rpms["ibqos-doc"], f"%{{{tag}}}") == "(none)" for tag in tags)
