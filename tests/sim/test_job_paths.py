# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""job check --hosts: one job's paths on its own SL, by real OpenSM's routes and tables; held against trace."""
from kit import policy, routes
from tools import netgen

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
    for key in ("findings", "paths", "pkeys", "pkeys_coverage", "routes_coverage", "settings", "sls"):
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
