# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""From an empty Debian to a verified policy, by what README says and nothing else.

An empty root (scripts/empty-root.sh: no make, no compiler, no Python) gets a copy of the files under version control. The
blocks of README that are marked `root:` are run in it as they stand. Then, with the ibqos that was installed, the rest of
README's commands on a simulated fabric, as test_docs.py runs them: only `systemctl restart opensm@GUID` has a stand-in, since
there is no systemd."""
import os
import re
import shutil
import subprocess

import pytest

from kit import docs, run

SCRIPT = os.path.join(run.TOP, "scripts", "empty-root.sh")
MINUTES = 60


def possible():
    if os.getuid() != 0:
        return "needs root"
    if not shutil.which("mmdebstrap"):
        return "needs mmdebstrap"
    if run.run(["unshare", "-m", "-p", "-f", "true"]).returncode != 0:
        return "needs mount and PID namespaces"
    return None


pytestmark = pytest.mark.skipif(possible() is not None, reason=str(possible()))


@pytest.fixture
def root(tmp_path):
    path = tmp_path / "debian"
    run.run([SCRIPT, "make", path], timeout=10 * MINUTES).ok()
    yield path
    subprocess.run([SCRIPT, "remove", path], check=False)


def copy_tracked(folder):
    """The files under version control, as they are here."""
    names = run.run(["git", "-c", f"safe.directory={run.TOP}", "-C", run.TOP, "ls-files", "-z"]).ok().stdout.split("\0")
    for name in filter(None, names):
        if os.path.lexists(os.path.join(run.TOP, name)):
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            shutil.copy2(os.path.join(run.TOP, name), os.path.join(folder, name), follow_symlinks=False)


@pytest.mark.timeout(30 * MINUTES)
def test_readme_in_an_empty_debian(root):
    copy_tracked(root / "root" / "ibqos")

    def there(command, timeout=15 * MINUTES):
        return run.run([SCRIPT, "run", root, "--cd", "/root/ibqos", "--", "/bin/sh", "-c", f"export MAKEFLAGS=-j{os.cpu_count()}; {command}"], timeout=timeout)

    there("! command -v make && ! command -v cc && ! command -v python3").ok()
    marked = [b for b in docs.blocks(os.path.join(run.TOP, "README.md")) if b.directive == "root"]
    commands = [c for b in marked for c, _ in b.steps()]
    assert len(marked) == 2 and [re.sub(r"\s+#.*", "", c) for c in commands] == [
        "apt-get update && apt-get install -y make", "make demo", "make deps", "make", "make install"]
    for command in commands:
        r = there(command).ok()
        if command == "make demo":
            assert r.stdout.rstrip().endswith("demo: all as expected; nothing is left running"), r
    assert there("ibqos --version").ok().stdout.startswith("ibqos ")
    r = there("IBQOS_BIN=/usr/local/sbin/ibqos IBQOS_OVERLAY=build/release/tests/overlay.so "
              "/usr/bin/python3 -m pytest -q -p no:cacheprovider --timeout 300 -k README.md tests/docs/test_docs.py")
    assert r.returncode == 0 and re.search(r"^1 passed, \d+ deselected", r.stdout, re.M), r
