# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""make rig: a fabric that stays until it is told to go; what it prints works, and nothing of it is left."""
import os
import re
import signal
import subprocess

import pytest

from kit import run
from tools import netgen

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@pytest.fixture
def rig(tmp_path):
    """rig(NET FILE or none): the process, once it has said what to type, and the file with its words."""
    running = []

    def start(*args):
        said = tmp_path / "said"
        with open(said, "wb") as out:
            p = run.start(["/usr/bin/python3", os.path.join(TOP, "scripts/rig.py"), *args], cwd=tmp_path, stdin=subprocess.DEVNULL,
                          stdout=out, stderr=subprocess.STDOUT, env={**os.environ, "TMPDIR": str(tmp_path)})
        running.append(p)
        run.deadline(60, "rig", lambda: "Ctrl-C ends it" in said.read_text(), alive=lambda: p.poll() is None, evidence=said.read_text)
        return p, said

    yield start
    for p in running:
        run.end(p, 30)


def gone(pid):
    return not os.path.exists(f"/proc/{pid}")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_what_it_prints_works_and_nothing_is_left(rig, tmp_path, how):
    net = tmp_path / "small.net"
    netgen.fat_tree(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=0, switch_ports=8).write(str(net))
    p, said = rig(str(net))
    text = said.read_text()
    ibsim, sm = map(int, re.search(r"ibsim (\d+) and OpenSM (\d+) run in (\S+)\.", text).groups()[:2])
    folder = re.search(r"run in (\S+)\. ", text)[1]
    assert folder.startswith(str(tmp_path))
    commands = [line.strip() for line in text.splitlines() if line.startswith("  on=") or line.startswith("  $on ")]
    assert len(commands) == 5
    for command in commands[1:]:  # as in a shell of an admin: no variable of the rig
        r = run.run(["bash", "-c", f"{commands[0]}; {command}"], cwd=tmp_path, timeout=60)
        assert r.returncode == 0, r
    broken = re.search(r"echo 'node=leaf-02.*>>(\S+)", text)[0].replace("prob=0.2 : timeout", ": set SL1=7")
    run.run(["bash", "-c", broken], cwd=tmp_path).ok()
    run.run(["bash", "-c", f"{commands[0]}; {commands[3]}"], cwd=tmp_path, timeout=60).ok(2)
    os.kill(p.pid, how)
    assert p.wait(60) == 0 and "nothing is left running" in said.read_text()
    assert gone(ibsim) and gone(sm) and not os.path.exists(folder)


def test_it_says_when_opensm_ends_by_itself(rig):
    p, said = rig()
    os.kill(int(re.search(r"OpenSM (\d+)", said.read_text())[1]), signal.SIGKILL)
    assert p.wait(60) == 1 and "has ended by itself" in said.read_text()
    assert not [d for d in os.listdir(os.path.dirname(said)) if d.startswith("ibqos-rig-")]
