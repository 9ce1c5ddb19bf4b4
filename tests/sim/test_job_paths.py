# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""job check --hosts: one job's paths on its own SL, by real OpenSM's routes and tables; held against trace."""
import re

from kit import policy, routes, run
from tools import netgen, netgen_tree

SMALL = dict(leaves=2, spines=2, hosts_per_leaf=3, uplinks=1, storage=0)


def check(f, env, *args, code):
    path = f.path("job.env")
    with open(path, "w", encoding="ascii") as out:
        out.write(env)
    r = f.ibqos("job", "check", "--env-file", path, "--no-conf", *args, "--format", "json").ok(code)
    return r.json


def test_paths_of_a_job(up):
    f, sm = up(options={"qos": "TRUE"}, **SMALL)
    f.rules(*routes.FIXED)
    path = policy.write(f, sm)
    f.ibqos("apply", path).ok(0)
    args = ("--policy", path, "--class", "training", "--hosts", "gpu-[001-003]")
    r = check(f, "NCCL_IB_SL=1\n", *args, code=0)
    assert r["findings"] == []
    assert [(p["from"], p["to"], p["sl"], p["packets"]) for p in r["paths"]] == [
        (f"gpu-00{a} mlx5_0[1]", f"gpu-00{b} mlx5_0[1]", 1, "arrive") for x, y in ((1, 2), (2, 3), (3, 1)) for a, b in ((x, y), (y, x))]
    for p in r["paths"]:
        t = f.ibqos("trace", p["from"], p["to"], "--policy", path, "--class", "training", "--format", "json").ok(0).json
        hops = [h for h in t["hops_there"] if h["share"] is not None]
        assert len(t["hops_there"]) == p["hops"]
        assert abs(min(h["share"] / 100 * h["gbps"] for h in hops) - p["gbps"]) < 0.01
    # without an SL the job is in another class, and its paths are those of that one
    r = check(f, "", *args, code=1)
    assert {x["code"] for x in r["findings"]} == {"job-sl-unset"} and {p["sl"] for p in r["paths"]} == {0}


def test_an_sl_that_the_fabric_drops(up):
    """No policy at all: what OpenSM's own tables do to the job's SL."""
    f, _ = up(options={"qos": "TRUE", "qos_sl2vl": "0,1,2,3,4,5,6,15,0,0,0,0,0,0,0,0"}, **SMALL)
    f.rules(*routes.FIXED)
    good = check(f, "NCCL_IB_SL=3\n", "--hosts", "gpu-[001-002]", code=0)
    assert {p["packets"] for p in good["paths"]} == {"arrive"}
    r = check(f, "NCCL_IB_SL=7\n", "--hosts", "gpu-[001-002]", code=2)
    assert {p["packets"] for p in r["paths"]} == {"do not get through"}
    assert all(x["severity"] == "critical" for x in r["findings"]) and r["findings"]


def test_hosts_that_are_not_there(up):
    f, _ = up(options={"qos": "TRUE"}, **SMALL)
    f.rules(*routes.FIXED)
    r = check(f, "NCCL_IB_SL=1\n", "--hosts", "gpu-001,gpu-099", code=3)
    assert "fewer than two" in r["error"]
    r = check(f, "NCCL_IB_SL=1\n", "--hosts", "gpu-[001-002],gpu-099", code=3)
    assert len(r["paths"]) == 2 and [x["severity"] for x in r["findings"]] == ["unknown"]
    r = check(f, "NCCL_IB_SL=1\n", "--hosts", "gpu-[001-002]", "--link-layer", "roce", code=3)
    assert "Ethernet" in r["error"]


def test_of_a_snapshot(up):
    f, _ = up(options={"qos": "TRUE"}, **SMALL)
    f.rules(*routes.FIXED)
    f.ibqos("snapshot", f.path("s")).ok(0)
    both(f, "NCCL_IB_SL=1\n", f.path("s"), code=0)
    r = f.ibqos("job", "check", "--from", f.path("s"), "--no-conf", f.path("job.env")).ok(3)
    assert "name them with --hosts" in r.stderr


def both(f, env, snapshot, *args, code):
    """Live and from a snapshot of the same state: the same in all but what was sent."""
    args = ("--hosts", "gpu-[001-004]", *args)
    live, kept = (check(f, env, *args, *more, code=code) for more in ((), ("--from", snapshot)))
    assert run.but_advice(live) == run.but_advice(kept)
    for key in ("paths", "pkeys", "pkeys_coverage", "routes_coverage", "settings", "sls"):
        assert live[key] == kept[key], key
    return kept


FAULTS = [
    ('node="gpu-002 mlx5_0" attr=SL2VL : set SL1=15', 2, "path-sl-dropped"),
    ("node=leaf-01 attr=SL2VL : set SL1=15", 2, "path-sl-dropped"),
    ('node="gpu-003 mlx5_0" attr=VLArb : set ' + " ".join(f"entry{i}=0:0" for i in range(32)), 2, "path-vl-starved"),
    ('node="gpu-004 mlx5_0" attr=PortInfo : set LinkWidthActive=1', 2, "link-width-low"),
    ("node=leaf-02 attr=0x19 : timeout", 3, "path-unknown"),
    ("node=spine-01 attr=0xff20 : timeout", 3, "adaptive-routing"),
    ('node="gpu-001 mlx5_0" attr=PKeyTable : timeout', 3, "query-failed"),
]


def test_faults_in_a_snapshot(up):
    """Tables, arbitration, links, routes and partitions of the ports in use: whatever live finds."""
    f, sm = up(options={"qos": "TRUE"}, **SMALL)
    f.rules(*routes.FIXED)
    path = policy.write(f, sm)
    f.ibqos("apply", path).ok(0)
    quick = ("-t", "50", "--retries", "1")
    for rule, code, finding in FAULTS:
        f.rules(*routes.FIXED, rule)
        f.ibqos("snapshot", f.path("s"), *quick).ok(0, 3)
        r = both(f, "NCCL_IB_SL=1\n", f.path("s"), "--policy", path, "--class", "training", *quick, code=code)
        assert finding in {x["code"] for x in r["findings"]}, (rule, {x["code"] for x in r["findings"]})


def test_partitions_of_the_ports(up):
    """Index 1 by OpenSM's partitions.conf: full, limited, another partition, none; the default partition is at 0."""
    net = netgen.fat_tree(**SMALL)
    guid = lambda n: next(f"0x{x.port_guid(1):x}" for x in net.nodes.values() if x.desc == f"gpu-00{n} mlx5_0")
    parts = ("Default=0x7fff,ipoib:ALL=full;\n" f"one=0x0011:{guid(1)}=full,{guid(2)}=full,{guid(3)}=limited;\n"
             f"two=0x0012:{guid(4)}=full;\n")
    f, _ = up(net=net, options={"qos": "TRUE"}, sm={"partitions": parts})
    f.rules(*routes.FIXED)
    f.ibqos("snapshot", f.path("s")).ok(0)
    r = both(f, "NCCL_IB_SL=1\n", f.path("s"), code=0)
    assert [(p["index"], p["partition"], p["member"]) for p in r["pkeys"]] == 4 * [(0, "0x7fff", "full")]
    r = both(f, "NCCL_IB_SL=1\nNCCL_IB_PKEY=1\n", f.path("s"), code=2)
    assert [(p["partition"], p["member"]) for p in r["pkeys"]] == [
        ("0x0011", "full"), ("0x0011", "full"), ("0x0011", "limited"), ("0x0012", "full")]
    assert [(x["code"], x["node"]) for x in r["findings"]] == [
        ("job-pkey-index", "gpu-003 mlx5_0"), ("job-pkey-differs", "gpu-004 mlx5_0")]
    r = both(f, "NCCL_IB_SL=1\nNCCL_IB_PKEY=2\n", f.path("s"), code=2)
    assert {(x["code"], x["got"]) for x in r["findings"]} == {("job-pkey-index", "no P_Key")} and len(r["findings"]) == 4
    r = both(f, "NCCL_IB_SL=1\nNCCL_IB_PKEY=0x7fff\n", f.path("s"), code=2)
    assert {x["got"] for x in r["findings"] if x["node"]} == {"a P_Key table that ends before"}


def keys(f, *rules):
    f.rules(*routes.FIXED, *rules)


def codes(r):
    return {(x["code"], x["severity"]) for x in r["findings"]}


def test_pkeys_as_smpquery_reads_them(up):
    f, _ = up(options={"qos": "TRUE"}, **SMALL)
    keys(f, "node=gpu-002* attr=PKeyTable : set byte0=0x80 byte1=0x05")
    lid = {n["name"][:7]: n["lid"] for n in f.ibqos("discover", "--format", "json").ok(0).json["nodes"]}
    r = check(f, "NCCL_IB_SL=1\n", "--hosts", "gpu-[001-003]", code=2)
    for port in r["pkeys"]:
        theirs = int(re.search(r"^ *0: (0x[0-9a-f]{4})", f.tool("smpquery", "pkeys", lid[port["port"][:7]], "1").ok().stdout, re.M)[1], 16)
        assert (port["partition"], port["member"]) == (f"0x{theirs & 0x7fff:04x}", "full")
    assert {p["partition"] for p in r["pkeys"]} == {"0x7fff", "0x0005"}


def test_list_of_adapters(up):
    """Ports that NCCL_IB_HCA leaves out are none of the job's."""
    f, _ = up(net=netgen_tree.rail(units=2, hosts_per_unit=2, rails=2, spines=2), options={"qos": "TRUE"})
    keys(f, "node=\"gpu-002 mlx5_1\" attr=PKeyTable : set byte0=0x80 byte1=0x05")
    r = check(f, "NCCL_IB_SL=1\n", "--hosts", "gpu-[001-003]", code=2)
    assert len(r["pkeys"]) == 6 and codes(r) == {("job-pkey-differs", "critical")}
    r = check(f, "NCCL_IB_SL=1\nNCCL_IB_HCA==mlx5_0\n", "--hosts", "gpu-[001-003]", code=0)
    assert [p["port"] for p in r["pkeys"]] == [f"gpu-00{i} mlx5_0[1]" for i in (1, 2, 3)]
    assert {p["from"] for p in r["paths"]} == {p["port"] for p in r["pkeys"]}
    # by a name that no node has nothing is left out: nodes may be named otherwise
    r = check(f, "NCCL_IB_SL=1\nNCCL_IB_HCA==ib0\n", "--hosts", "gpu-[001-003]", code=2)
    assert len(r["pkeys"]) == 6


def test_adaptive_routing(up):
    """Whether the job's SL is among those that switches route adaptively, by the vendor's word."""
    f, _ = up(options={"qos": "TRUE"}, **SMALL)
    args = ("--hosts", "gpu-[001-004]", "--by-lft")
    vendor, answer = routes.FIXED[1], "attr=0xff20 : answer"
    by_sl = "byte0=0x18 byte3=1 byte8=0x00 byte9=0x04"  # on for SL 2 alone
    switches = 4

    def counts(r):
        return [(x["sl"], x["on"], x["not_for_sl"], x["off"], x["unknown"]) for x in r["adaptive_routing"]]

    f.rules(vendor, f"{answer} set {by_sl}")
    r = check(f, "NCCL_IB_SL=1\n", *args, code=1)
    x, = [x for x in r["findings"] if x["severity"] != "note"]
    assert (x["code"], x["what"], x["line"]) == ("job-ar-sl", "NCCL_IB_SL=1", 1)
    assert x["got"] == f"SLs 0x0004 on leaf-01; and without it on {switches - 1} switches more"
    assert counts(r) == [(1, 0, switches, 0, 0)]
    r = check(f, "NCCL_IB_SL=2\n", *args, code=0)
    assert counts(r) == [(2, switches, 0, 0, 0)]
    # who does not want it is told nothing of the SL
    r = check(f, "NCCL_IB_SL=1\nNCCL_IB_ADAPTIVE_ROUTING=0\n", *args, code=1)
    assert "job-ar-sl" not in {c for c, _ in codes(r)}
    # the mask counts only where the switch goes by it
    f.rules(vendor, f"{answer} set byte0=0x08 byte3=1 byte8=0x00 byte9=0x04")
    assert counts(check(f, "NCCL_IB_SL=1\n", *args, code=0)) == [(1, switches, 0, 0, 0)]
    # one switch of four differs
    f.rules(vendor, f"node=spine-01 {answer} set {by_sl}", f"{answer} set byte3=1")
    r = check(f, "NCCL_IB_SL=1\n", *args, code=1)
    assert counts(r) == [(1, switches - 1, 1, 0, 0)] and "spine-01" in [x["got"] for x in r["findings"] if x["code"] == "job-ar-sl"][0]
    f.rules(*routes.FIXED)
    assert counts(check(f, "NCCL_IB_SL=1\n", *args, code=0)) == [(1, 0, 0, switches, 0)]
    f.rules(vendor)
    assert counts(check(f, "NCCL_IB_SL=1\n", *args, code=0)) == [(1, 0, 0, 0, switches)]
