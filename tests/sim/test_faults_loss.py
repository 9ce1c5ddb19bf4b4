# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Lost MADs: whatever is lost, the verdict is that of the whole fabric, or 3 with what is not known named.
Never clean for what was not looked at, never a difference that is none.

Seeds: IBQOS_FAULT_SEEDS (15). Lost MADs time out as from the kernel. The local port's own are never lost, as on
a real machine, where they do not leave it."""
import os

import pytest

from kit import policy, sim
from tools import netgen

SEEDS = range(int(os.environ.get("IBQOS_FAULT_SEEDS", "15")))
SHAPE = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=0, switch_ports=8)
REMOTE = ("leaf-*", "spine-*", "gpu-00[2-9]*")
ASKED = {"PortInfo": 31, "SL2VL": 103, "VLArb": 30}
UNKNOWN = {"no-answer", "port-info-missing", "node-info-incomplete", "agent-silent", "query-failed", "plan-no-links"}
GAPS = {"no-answer", "port-info-missing", "node-info-incomplete"}
PATIENT = ("-t", "100", "--retries", "6")


@pytest.fixture(scope="module")
def ready(tmp_path_factory):
    with sim.Fabric(tmp_path_factory.mktemp("loss"), netgen.fat_tree(**SHAPE)) as f:
        path = policy.write(f, f.opensm())
        f.ibqos("apply", path, "--state-dir", f.path("state")).ok()
        yield f, path


def losing(rate):
    return [f"node={n} prob={rate} : timeout" for n in REMOTE]


def found(r):
    return [x for x in r.json["findings"] if x["severity"] != "note"]


def codes(r):
    return {x["code"] for x in found(r)}


def itself_unreachable(r):
    """On a machine so busy that its own port did not answer in time: 3, said, and nothing else."""
    return r.returncode == 3 and "error" in r.json and "no answer from port ibsim0/1 itself" in r.stderr and not found(r)


def honest(r):
    """Clean with all that there is looked at, or unknown with what is not."""
    if itself_unreachable(r):
        return 3
    if r.returncode == 3 and codes(r) & GAPS and "ports" not in r.json:  # too little was found to plan anything
        assert codes(r) <= UNKNOWN, r
        return 3
    whole = {c["item"]: c["answered"] for c in r.json["coverage"]} == ASKED
    for c in r.json["coverage"]:
        assert c["asked"] == c["answered"] + c["status"] + c["timed_out"] + c["not_asked"] and c["status"] == 0, r
    assert r.json["ports"]["differ"] == 0 and r.json["mads"]["foreign"] == 0, r
    # what the engine heard is what verify counts as answered
    tables = r.json["coverage"] + r.json["sm_coverage"]
    # but for the SM's port, which is asked once more when all ports are that may have one
    assert r.json["mads"]["answered"] - sum(c["answered"] for c in tables) in (0, 1), r
    assert r.json["mads"]["repeated"] > 0, "nothing was lost: the rules did nothing"
    if r.returncode == 0:
        assert whole and found(r) == [] and r.json["ports"]["looked_at"] == 15 and r.json["ports"]["unknown"] == 0, r
    else:
        assert r.returncode == 3 and found(r) and codes(r) <= UNKNOWN, r
        assert all(x["node"] for x in found(r)), r
        assert not whole or codes(r) <= GAPS, r
    return r.returncode


@pytest.mark.parametrize("rate", ["0.05", "0.2"])
@pytest.mark.parametrize("seed", SEEDS)
def test_verify(ready, rate, seed):
    f, path = ready
    f.rules(*losing(rate))
    honest(f.ibqos("verify", path, "-t", "40", "--format", "json", seed=seed))


@pytest.mark.parametrize("rate", ["0.05", "0.2"])
@pytest.mark.parametrize("seed", SEEDS)
def test_verify_with_one_difference(ready, rate, seed):
    """One map of one port is wrong: it is found, or exactly what hides it is named."""
    f, path = ready
    f.rules("node=leaf-02 port=8 attr=SL2VL mod=0x0108 : set SL1=0", *losing(rate))
    r = f.ibqos("verify", path, "-t", "40", "--format", "json", seed=seed)
    differ = [(x["code"], x["node"], x["port"]) for x in found(r) if x["code"] not in UNKNOWN]
    if r.returncode == 2:
        assert differ == [("sl2vl-differs", "leaf-02", 8)] and r.json["ports"]["differ"] == 1, r
    else:
        assert r.returncode == 3 and differ == [], r
        if itself_unreachable(r):
            return
        # the map itself unanswered, or the switch not found: a place on the way to it, leaf-01 - spine-01 - leaf-02
        way = {f"0x{f.net[n].guid:016x}" for n in ("leaf-01", "spine-01", "leaf-02")}
        assert way & {x["node_guid"] for x in found(r)}, r


@pytest.mark.parametrize("seed", SEEDS)
def test_enough_patience_finds_all(ready, seed):
    """At 5 % and seven tries each nothing stays unanswered (1e-9 a query): always the verdict without loss."""
    f, path = ready
    f.rules(*losing("0.05"))
    r = f.ibqos("verify", path, *PATIENT, "--format", "json", seed=seed)
    assert honest(r) == 0, r


@pytest.mark.parametrize("seed", SEEDS)
def test_audit(ready, seed):
    """One narrow link at 20 %: found and nothing else, or unknown with a place named."""
    f, _ = ready
    narrow = ["node=leaf-01 port=8 attr=PortInfo : set LinkWidthActive=1",
              "node=spine-01 port=1 attr=PortInfo : set LinkWidthActive=1"]
    f.rules(*narrow, *losing("0.2"))
    r = f.ibqos("audit", "-t", "40", "--retries", "2", "--format", "json", seed=seed)
    links = [(x["code"], {(x["node_guid"], x["port"]), (x["peer_guid"], x["peer_port"])}) for x in found(r)
             if x["code"] not in UNKNOWN]
    if r.returncode == 2:
        ends = {(f"0x{f.net[n].guid:016x}", p) for n, p in (("leaf-01", 8), ("spine-01", 1))}
        assert links == [("link-width-low", ends)], r
        assert codes(r) - {"link-width-low"} or r.json["links"]["looked_at"] == 6, r
    elif not itself_unreachable(r):
        assert r.returncode == 3 and links == [] and codes(r) and codes(r) <= UNKNOWN, r


def test_all_silent(ready):
    """Everything behind the first switch is silent: the ports in front of it are named, one each."""
    f, path = ready
    f.rules("node=spine-01 : timeout", "node=gpu-002 : timeout")
    for command in (["discover"], ["audit"], ["verify", path]):
        r = f.ibqos(*command, "-t", "100", "--retries", "1", "--format", "json").ok(3)
        assert {(x["code"], x["node"], x["port"]) for x in found(r)} == {("no-answer", "leaf-01", 2), ("no-answer", "leaf-01", 8)}


def test_switch_that_falls_silent_half_way(ready):
    """Its first 20 tables are answered, then nothing more: given up, counted, named."""
    f, path = ready
    f.rules("node=leaf-02 attr=SL2VL skip=20 : timeout", "node=leaf-02 attr=VLArb skip=2 : timeout")
    r = f.ibqos("verify", path, "-t", "50", "--retries", "1", "--format", "json").ok(3)
    assert codes(r) == {"agent-silent"} and [x["node"] for x in found(r)] == ["leaf-02"]
    tables = {c["item"]: c for c in r.json["coverage"]}
    # 36 of its maps are asked for: to port 0 and to three ports that are up, from 9 each
    assert tables["SL2VL"]["answered"] <= ASKED["SL2VL"] - 36 + 20 and tables["SL2VL"]["not_asked"] > 0
    assert sum(t["timed_out"] for t in tables.values()) >= 4 and r.json["ports"]["differ"] == 0
