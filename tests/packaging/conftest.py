# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Packages are built once for all files here, whichever worker needs them first. `make check-extra` installs what these tests need
(scripts/deps.sh --for-extra); nothing of what they build is installed on this machine."""
import fcntl
import os

import pytest

from kit import packages


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """A folder of all workers of this run."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base


@pytest.fixture(scope="session")
def debs(shared):
    """{package: path}, as make deb builds them of the tree."""
    out = shared / "deb-build"
    with open(shared / "deb-build.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (out / "done").exists():
            return packages.debs(out)
        built = packages.build_debs(out, env={"SOURCE_DATE_EPOCH": "1790000000"})
        (out / "done").touch()
        return built
