# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""job check --hosts: one job's paths on its own SL, by real OpenSM's routes and tables; held against trace."""
from kit import policy, routes

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
    live = check(f, "NCCL_IB_SL=1\n", "--hosts", "gpu-[001-004]", code=0)
    f.ibqos("snapshot", f.path("s")).ok(0)
    args = ("--hosts", "gpu-[001-004]", "--from", f.path("s"))
    kept = check(f, "NCCL_IB_SL=1\n", *args, "--by-lft", code=0)
    assert kept["paths"] == live["paths"]
