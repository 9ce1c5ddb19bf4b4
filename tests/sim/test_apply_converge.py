# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What apply makes of ports that do not take the tables, or are not there from beginning to end."""
import os
import pty
import re

import pytest

from kit import policy, run
from sim.test_opensm_states import Background, files, serious, state, whole_old

SMALL = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=1)


@pytest.fixture
def background():
    started = []

    def start(*args, **kwargs):
        started.append(Background(*args, **kwargs))
        return started[-1]

    yield start
    for b in started:
        run.end(b.process)


def differing(r):
    return {(x["node"], x["port"]) for x in r.json["findings"] if x["code"] in ("sl2vl-differs", "vlarb-differs")}


@pytest.mark.parametrize("answer", ["timeout", "status=0x1c"])
def test_a_switch_that_ignores_or_refuses_sets(up, answer):
    """Its ports are named, each with what OpenSM has recorded there: it never got an answer to its Set."""
    # OpenSM waits for each Set that has no answer
    f, sm = up(options={"qos": "TRUE", "transaction_timeout": "10", "transaction_retries": "1"}, **SMALL)
    path = policy.write(f, sm)
    old = files(sm)
    sm.rules(f"node=leaf-01 attr=SL2VL method=set : {answer}")
    r = f.ibqos("apply", path, "--deadline", "3", "--format", "json", *state(f), timeout=100).ok(2)
    assert r.json["apply"]["outcome"] == "rolled back" and {n for n, _ in differing(r)} == {"leaf-01"}
    lagging = policy.codes(r)["sl2vl-differs"]
    # tables in between come first here, and the old one is what the ports hold
    assert r.json["apply"]["steps"] == 2 and r.json["apply"]["step"] == 1
    assert {x["class"] for x in lagging} == {"not-applied"}, lagging
    assert all(x["wanted"] and x["got"] for x in lagging)
    assert files(sm) == old
    sm.rules()
    v = f.ibqos("verify", path, "--format", "json").ok(2)
    assert v.json["ports"]["differ"] == v.json["ports"]["looked_at"]
    # mended, the same apply goes through
    f.ibqos("apply", path, *state(f)).ok()
    f.ibqos("verify", path).ok()


def test_few_that_lag_are_shown_beside_opensms_record(up):
    f, sm = up(leaves=3, spines=1, hosts_per_leaf=8, uplinks=1, storage=0)
    path = policy.write(f, sm)
    sm.rules("node=gpu-003 attr=VLArb method=set : timeout")
    r = f.ibqos("apply", path, "--deadline", "3", "--max-lag", "5", "--format", "json", *state(f), timeout=100).ok(2)
    assert r.json["apply"]["outcome"] == "applied, but a few ports lag" and r.json["apply"]["installed"]
    assert differing(r) == {("gpu-003 mlx5_0", 1)}
    assert {x["class"] for x in policy.codes(r)["vlarb-differs"]} == {"not-applied"}
    v = f.ibqos("verify", path, "--format", "json").ok(2)
    assert differing(v) == {("gpu-003 mlx5_0", 1)}
    # and a rollback undoes it
    sm.rules()
    assert f.ibqos("rollback", *state(f)).ok()


def test_a_host_that_goes_meanwhile_is_listed_and_no_reason_to_go_back(up, background):
    """Two of seventeen ports, far above --max-lag."""
    f, sm = up(console=True, **SMALL)
    path = policy.write(f, sm)
    sm.pause()
    b = background(f, path, "--deadline", "30", "-t", "100", "--retries", "1")
    b.wait_reloaded(f)
    f.console('Unlink "gpu-003"[1]')
    sm.resume()
    r = b.result(100)
    assert r.returncode == 1 and r.json["apply"]["outcome"] == "applied", str(r)
    went = policy.codes(r)["apply-port-went"]
    leaf = f.net["leaf-02"]
    assert {(x["node"], x["port"]) for x in went} == {("gpu-003 mlx5_0", 1), ("leaf-02", leaf.to("gpu-003")[0])}
    assert serious(r) == {"apply-port-went"} and r.json["ports"]["differ"] == r.json["ports"]["unknown"] == 0
    # back again OpenSM programs it, and verify is clean
    f.console('ReLink "gpu-003"[1]')
    sm.hup()
    f.ibqos("verify", path).ok()


def test_a_host_that_comes_meanwhile_is_listed(up, background):
    f, sm = up(console=True, **SMALL)
    path = policy.write(f, sm)
    f.console('Unlink "gpu-003"[1]')
    sm.hup()
    sm.pause()
    b = background(f, path, "--deadline", "30")
    b.wait_reloaded(f)
    f.console('ReLink "gpu-003"[1]')
    sm.resume()
    r = b.result(100)
    assert r.returncode == 1 and r.json["apply"]["outcome"] == "applied", str(r)
    came = policy.codes(r)["apply-port-came"]
    assert {(x["node"], x["port"]) for x in came} == {("leaf-02", f.net["leaf-02"].to("gpu-003")[0])}
    assert serious(r) == {"apply-port-came"}
    f.ibqos("verify", path).ok()


def test_a_switch_that_is_silent_does_not_stretch_the_deadline(up):
    """It falls silent when the ports are first read back. Nothing is called right that was not read, and the way back
    is told."""
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    old = files(sm)
    f.rules("node=leaf-02 attr=SL2VL : timeout")
    r = f.ibqos("apply", path, "--deadline", "2", "-t", "100", "--format", "json", *state(f), timeout=100).ok(2)
    assert r.json["apply"]["outcome"] == "rolled back" and whole_old(sm, old)
    assert r.json["ports"]["unknown"] > 0 and "agent-silent" in serious(r)
    assert r.json["ports_back"]["unknown"] > 0
    assert f.ibqos("verify", path, "-t", "100").returncode == 2


def test_progress_on_a_terminal_and_elsewhere(up):
    """A line that is written over, with how many ports are right and how long the rest may take; with -v lines of their
    own where it is no terminal, and without it none."""
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    ours, theirs = pty.openpty()
    sm.slow(10, "attr=SL2VL method=set")
    p = run.start([run.binary(), "apply", path, *state(f)], cwd=f.dir, env={**f.env(), "TERM": "xterm"}, stderr=theirs, stdout=-3)
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 4096):
            shown += part
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert p.wait(30) == 0
    lines = shown.decode().split("\r")
    counts = [int(m[1]) for line in lines if (m := re.match(r"ibqos: reading back: (\d+) of 17 ports hold the tables, \d+ s", line))]
    assert counts == sorted(counts) and len(set(counts)) > 2 and counts[-1] == 17
    assert any(re.search(r", about \d+ s more\033\[K$", line) for line in lines)
    r = f.ibqos("rollback", "-v", *state(f)).ok()
    assert re.search(r"^ibqos: reading back: \d+ of 17 ports hold the tables", r.stderr, re.M) and "\r" not in r.stderr
    assert f.ibqos("apply", path, *state(f)).ok().stderr == ""
