# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Two snapshots compared: every planted change is told, as what it is, and nothing else."""
import collections

import pytest

from kit import snapfile
from tools import netgen_fault, netgen_tree

CODES = {"missing-cable": "link-gone", "short-bundle": "link-gone", "moved-cable": "link-moved", "swapped-cables": "links-swapped",
         "crossed-bundle": "links-swapped", "other-radix": "node-resized", "narrow-link": "link-slower", "slow-link": "link-slower"}
THIRTY = ["host-missing"] * 3 + ["moved-cable"] * 3 + ["swapped-cables"] * 3 + ["crossed-bundle"] * 3 + \
    ["missing-cable"] * 3 + ["short-bundle"] * 3 + ["other-radix"] * 2 + ["narrow-link"] * 5 + ["slow-link"] * 5


def shape():
    return netgen_tree.tree2(radix=36, leaves=8, spines=6, hosts_per_leaf=8)


def take(fabric, net, name, rules=(), args=()):
    f = fabric(net=net)
    f.opensm(options={"routing_engine": "minhop", "qos": "TRUE"})
    f.rules(*rules)
    path = f.path(name)
    f.ibqos("snapshot", path, *args).ok(0)
    return path


def place(x):
    return int(x["node_guid"], 16), x["port"]


def peer(x):
    return int(x["peer_guid"], 16), x["peer_port"]


@pytest.mark.parametrize("seed", [1, 2])
def test_thirty_changes_are_told_exactly(fabric, ibqos, seed):
    before = take(fabric, shape(), "before.snap")
    net = shape()
    faults = netgen_fault.plant(net, seed, THIRTY)
    after = take(fabric, net, "after.snap", netgen_fault.rules(faults))
    r = ibqos("diff", before, after, "--format", "json").ok(2)
    found = [x for x in r.json["findings"] if x["code"] != "routes-changed"]
    wanted = collections.Counter()
    for fault in faults:
        if fault.kind == "host-missing":
            for node in fault.nodes:
                wanted["node-gone", node.guid if hasattr(node, "guid") else shape().nodes[node].guid] += 1
        elif fault.kind == "other-radix":
            wanted["node-resized", fault.ends[0].guid] += 1
        else:
            wanted[CODES[fault.kind], frozenset(fault.keys)] += 1
    got = collections.Counter()
    for x in found:
        if x["code"] in ("node-gone", "node-resized"):
            got[x["code"], int(x["node_guid"], 16)] += 1
        elif x["code"] == "links-swapped":
            four = [f for f in faults if f.kind in ("swapped-cables", "crossed-bundle") and {place(x), peer(x)} <= f.keys]
            got[x["code"], frozenset(four[0].keys) if four else str(x)] += 1
        elif x["code"] == "link-moved":
            moved = [f for f in faults if f.kind == "moved-cable" and {place(x), peer(x)} <= f.keys]
            got[x["code"], frozenset(moved[0].keys) if moved else str(x)] += 1
        else:
            got[x["code"], frozenset((place(x), peer(x)))] += 1
    assert got == wanted, f"not told: {wanted - got}\nnot planted: {got - wanted}"
    assert len(faults) == 30
    # the way back tells the reverse
    r_back = ibqos("diff", after, before, "--format", "json").ok(2)
    back, there = r_back.json["changes"], r.json["changes"]
    opposite = {"node-gone": "node-new", "link-gone": "link-new", "link-slower": "link-faster"}
    count = lambda result: collections.Counter(x["code"] for x in result.json["findings"] if x["code"] != "routes-changed")
    assert count(r_back) == collections.Counter({opposite.get(code, code): n for code, n in count(r).items()})
    assert (back["nodes_new"], back["links_new"], back["links_moved"], back["links_swapped"], back["rates"]) == \
        (there["nodes_gone"], there["links_gone"], there["links_moved"], there["links_swapped"], there["rates"])


def test_nothing_changed(up, ibqos):
    f, _ = up(leaves=2, spines=2, options={"qos": "TRUE"})
    for name in ("a", "b"):
        f.ibqos("snapshot", f.path(name)).ok(0)
    r = ibqos("diff", f.path("a"), f.path("b"), "--format", "json").ok(0).json
    assert r["findings"] == [] and r["changes"]["links"] == len(f.net.cables) and r["changes"]["unknown"] == 0
    with open(f.path("text"), "w", encoding="utf-8") as file:
        file.write(f.tool("ibnetdiscover").ok().stdout)
    # against another tool's file: links and rates are compared, the rest is unknown
    r = ibqos("diff", f.path("text"), f.path("b"), "--format", "json").ok(3).json
    assert [x["code"] for x in r["findings"]] == ["source-lacks"] and r["changes"]["links"] == len(f.net.cables)


def test_tables_names_and_capabilities(up, ibqos):
    f, sm = up(leaves=2, spines=1, options={"qos": "TRUE"})
    before, after = f.path("before"), f.path("after")
    f.ibqos("snapshot", before).ok(0)
    f.rules("node=leaf-01 attr=SL2VL mod=0x201 : set SL3=1", "node=leaf-01 attr=SL2VL mod=0x301 : set SL3=1",
            "node=spine-01 attr=VLArb mod=0x10002 : set entry0=0:9",
            'node="gpu-003 mlx5_0" attr=PortInfo : set LinkWidthSupported=1',
            'node="gpu-004 mlx5_0" attr=NodeDesc : set NodeDesc=other')
    f.ibqos("snapshot", after).ok(0)
    r = ibqos("diff", before, after, "--format", "json").ok(1)
    told = {(x["code"], x["node"], x["port"], x["what"], x["wanted"], x["got"], x["detail"]) for x in r.json["findings"]}
    assert told == {
        ("tables-changed", "leaf-01", 1, "SL2VL", "0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,7", "0,1,2,1,4,5,6,7,0,1,2,3,4,5,6,7",
         "2 of 37 answers; shown: in-port 2"),
        ("tables-changed", "spine-01", 2, "VLArb, low table", "0:0,1:4,2:4,3:4,4:4,5:4,6:4,7:4",
         "0:9,1:4,2:4,3:4,4:4,5:4,6:4,7:4", "1 of 2 answers"),
        ("capability-changed", "gpu-003 mlx5_0", 1, "best width and speed", "4x EDR", "1x EDR", None),
        ("node-renamed", "other", None, None, "gpu-004 mlx5_0", "other", None)}, r
    f.rules("node=leaf-01 attr=SL2VL mod=0x201 : set SL3=1", "node=leaf-01 attr=SL2VL mod=0x301 : set SL3=2")
    f.ibqos("snapshot", after).ok(0)
    told = {(x["node"], x["what"], x["detail"]): (x["wanted"], x["got"])
            for x in ibqos("diff", before, after, "--format", "json").ok(1).json["findings"]}
    assert ("leaf-01", "SL2VL", "2 of 37 answers; shown: in-port 2; the others differ otherwise") in told
    # what did not answer is not called unchanged
    f.rules("node=leaf-02 attr=SL2VL : timeout")
    f.ibqos("snapshot", after, "-t", "50").ok(3)
    r = ibqos("diff", before, after, "--format", "json").ok(3)
    assert {x["code"] for x in r.json["findings"]} == {"diff-unknown"} and {x["node"] for x in r.json["findings"]} == {"leaf-02"}


def test_another_master(up, ibqos):
    paths = []
    for host, priority in (("gpu-001", 3), ("gpu-001", 9), ("gpu-002", 9)):
        f, _ = up(leaves=2, spines=1, options={"sm_priority": str(priority)}, host=host)
        paths.append(f.path("a.snap"))
        f.ibqos("snapshot", paths[-1]).ok(0)
    for before, after, wanted, got in ((0, 1, "gpu-001 mlx5_0, priority 3", "gpu-001 mlx5_0, priority 9"),
                                       (1, 2, "gpu-001 mlx5_0, priority 9", "gpu-002 mlx5_0, priority 9")):
        r = ibqos("diff", paths[before], paths[after], "--format", "json").ok(1).json
        assert [(x["wanted"], x["got"]) for x in r["findings"] if x["code"] == "sm-changed"] == [(wanted, got)]
        assert not {x["code"] for x in r["findings"]} - {"sm-changed", "routes-changed"}


def test_counters(up, ibqos):
    """What grew between two snapshots, where both have counters; judged as audit does."""
    f, _ = up(leaves=2, spines=1)
    lacks = [f"attr={a} : answer status=0xc" for a in ("PortExtendedSpeedsCounters", "PortRcvErrorDetails",
                                                       "PortXmitDiscardDetails", "PortSamplesControl")]
    f.rules(*lacks, "attr=PortCounters : set PortXmitData=1000 PortRcvData=1000")
    f.ibqos("snapshot", f.path("a"), "--counters").ok(0)
    f.ibqos("snapshot", f.path("plain")).ok(0)
    # a minute later, which the header says
    for name, errors in (("same", 0), ("b", 60000)):
        f.rules(*lacks, "attr=PortCounters : set PortXmitData=1000 PortRcvData=1000",
                f"node=leaf-02 port=1 attr=PortCounters : set PortRcvErrors={errors} SymbolErrorCounter={errors}")
        f.ibqos("snapshot", f.path(name), "--counters").ok(0)
        snap = snapfile.read(f.path(name))
        taken = int.from_bytes(snap["head"][16:24], "little") + 86400
        snap["head"] = snap["head"][:16] + taken.to_bytes(8, "little") + snap["head"][24:]
        snapfile.write(f.path(name), snap)
    r = ibqos("diff", f.path("a"), f.path("same"), "--format", "json").ok(0).json
    assert r["findings"] == [] and r["counters"]["compared"] == r["counters"]["ber_good"] == 2 * len(f.net.cables)
    r = ibqos("diff", f.path("a"), f.path("b"), "--format", "json").ok(1, 2).json
    assert {(x["node"], x["port"]) for x in r["findings"]} == {("leaf-02", 1)}, r
    assert {x["code"] for x in r["findings"]} >= {"link-ber-high"}
    r = ibqos("diff", f.path("plain"), f.path("b"), "--format", "json").ok(3).json
    assert [(x["code"], x["what"]) for x in r["findings"]] == [("diff-unknown", "counters")]
    shown = f.ibqos("snapshot", "--show", f.path("a"), "--format", "json").ok(0).json
    assert {x["item"]: x["answered"] for x in shown["coverage"]}["PortCounters"] == 2 * len(f.net.cables)
    f.rules(*lacks, "node=leaf-01 attr=PortCounters : timeout")
    r = f.ibqos("snapshot", f.path("c"), "--counters", "-t", "50", "--retries", "0", "--format", "json").ok(3).json
    assert {x["node"] for x in r["findings"]} == {"leaf-01"}
