# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The same tree makes the same packages, to the byte: in another place, by another user's habits, in another year."""
import hashlib
import os
import tarfile

import pytest

from kit import packages, run

pytestmark = pytest.mark.timeout(1200)
EPOCH = "1790000000"


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """make dist, unpacked without git at another place, built with all else changed. -> (tree's name, {package: path})"""
    folder = tmp_path_factory.mktemp("a place, with a longer name".replace(" ", "-").replace(",", ""))
    packages.call(["make", "-s", "dist", f"OUT={folder}/dist"], env={"SOURCE_DATE_EPOCH": EPOCH})
    tarball, = (folder / "dist" / "packages").iterdir()
    with tarfile.open(tarball) as t:
        names = t.getnames()
        assert {os.path.normpath(n).split("/")[0] for n in names} == {tarball.name.removesuffix(".tar.gz")}
    packages.call(["sh", "-c", f'umask 077; mkdir "{folder}/src"; tar -xf "{tarball}" --no-same-permissions -C "{folder}/src"'])
    tree, = (folder / "src").iterdir()
    env = {"SOURCE_DATE_EPOCH": EPOCH, "TZ": "Pacific/Kiritimati", "LC_ALL": "C.UTF-8", "LANG": "C.UTF-8", "HOME": str(folder), "USER": "someone"}
    return packages.build_debs(folder / "out", tree=tree, env=env, wrap=["faketime", "+400 days", "sh", "-c", 'umask 027; exec "$@"', "sh"])


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def test_two_builds_are_one(elsewhere, debs):
    assert set(elsewhere) == set(debs) and {"ibqos", "ibqos-opensm-plugin", "ibqos-doc", "ibqos-dbgsym"} <= set(debs)
    differ = [p for p in debs if digest(debs[p]) != digest(elsewhere[p])]
    if differ:
        said = [packages.call(["sh", "-c", f'for d in "{a}" "{b}"; do mkdir -p "$0/$d" && dpkg-deb -R "$d" "$0/$d"; done; diff -rq "$0/{a}" "$0/{b}"',
                               os.path.dirname(elsewhere[differ[0]])], ok=False).stdout for a, b in [(debs[p], elsewhere[p]) for p in differ]]
        raise AssertionError(f"not the same: {differ}\n{''.join(said)}")


def test_dist_is_the_same_and_whole(tmp_path):
    """Twice the same tarball; no file of a build in it, and each that packages are made of."""
    one, two = (packages.call(["make", "-s", "dist", f"OUT={tmp_path}/{n}"], env={"SOURCE_DATE_EPOCH": EPOCH, "TZ": zone}).stdout.strip()
                for n, zone in ((1, "UTC"), (2, "Asia/Kathmandu")))
    assert digest(one) == digest(two)
    with tarfile.open(one) as t:
        names = {n.split("/", 1)[1] for n in t.getnames() if "/" in n}
    assert {"Makefile", "LICENSE", "README.md", "contrib/debian/rules", "contrib/rpm/ibqos.spec", "src/main.c"} <= names
    assert not [n for n in names if n.startswith((".git/", "build/"))]


def test_version_is_one(tmp_path):
    """Of Makefile and CHANGELOG.md; a tree in which they are two is not packed."""
    r = packages.call(["scripts/changelog.py", "version"], env={"SOURCE_DATE_EPOCH": EPOCH})
    with open(os.path.join(run.TOP, "Makefile"), encoding="utf-8") as f:
        version, = [line.split(" := ")[1].strip() for line in f if line.startswith("VERSION := ")]
    assert r.stdout.strip() in (version, f"{version}~20260921141320")
    packages.call(["sh", "-c", 'mkdir "$0/t" && cp -r Makefile CHANGELOG.md scripts "$0/t" && sed -i "s/^VERSION := .*/VERSION := 9.9/" "$0/t/Makefile"',
                   tmp_path])
    r = packages.call([tmp_path / "t/scripts/package.sh", "dist"], env={"SOURCE_DATE_EPOCH": EPOCH, "OUT": f"{tmp_path}/o"}, ok=False)
    assert r.returncode == 1 and "CHANGELOG.md begins with version" in r.stderr and "9.9" in r.stderr
