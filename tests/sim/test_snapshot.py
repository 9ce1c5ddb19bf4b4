# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Snapshots of simulated fabrics: what is found in one is what is found live in the same state."""
import os
import re

import pytest

from kit import policy
from tools import netgen, netgen_cases, netgen_fault

HEADER = 32
CASES = {c.name: c for c in netgen_cases.CASES}
# of each kind of shape one, but for the two that bring what others have not
SOME = ["tree2-2to1", "tree2-guests", "rail4-cores", "torus-3x3x2", "tree2-two-port"]


def same(f, path, *command, code=None):
    """Runs a command live and from the snapshot; findings and exit code must agree. Returns both reports."""
    live = f.ibqos(*command, "--format", "json")
    stored = f.ibqos(*command, "--format", "json", "--from", path)
    assert live.json["findings"] == stored.json["findings"], f"{live}\n{stored}"
    assert live.returncode == stored.returncode, f"{live}\n{stored}"
    assert stored.sent.gets == 0 and stored.sent.others == 0
    if code is not None:
        assert live.returncode == code, live
    return live.json, stored.json


def test_a_snapshot_is_the_fabric(up):
    f, sm = up(leaves=2, spines=2, options={"qos": "TRUE"})
    path = f.path("a.snap")
    r = f.ibqos("snapshot", path, "--format", "json").ok(0)
    rows = {x["item"]: x for x in r.json["coverage"]}
    # NodeInfo and the like were asked by the discovery; all ports; SL2VL of each in-port to each port that is up, port 0 too
    ports = sum(n.ports + (n.kind == "switch") for n in f.net.nodes.values())
    assert rows["PortInfo"]["answered"] == ports
    active = {n: len(n.cables) for n in f.net.nodes.values()}
    assert rows["SL2VL"]["answered"] == sum((n.ports + 1) * (k + 1) if n.kind == "switch" else k for n, k in active.items())
    assert rows["LinearForwardingTable"]["answered"] > 0 and rows["P_KeyTable"]["answered"] > 0
    assert rows["SMInfo"]["answered"] == 1 and rows["PathRecord"]["answered"] == 4
    assert all(x["status"] == x["timed_out"] == x["not_asked"] == 0 for x in rows.values())

    live, stored = same(f, path, "discover", code=0)
    assert (live["nodes"], live["links"], live["fabric_found"]) == (stored["nodes"], stored["links"], stored["fabric_found"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", stored["taken"]) and stored["from"] == path
    shown = f.ibqos("snapshot", "--show", path, "--format", "json").ok(0)
    assert shown.json["coverage"] == r.json["coverage"] and shown.json["snapshot"]["whole"]
    assert shown.sent.gets == 0


@pytest.mark.parametrize("name", SOME if not os.environ.get("IBQOS_CASES") else sorted(CASES))
def test_same_findings_over_all_shapes(fabric, name):
    """Other tables than wanted, a slow link, a silent port: audit, plan and verify say the same of both."""
    case = CASES[name]
    net = case.make()
    f = fabric(net=net)
    options = {"routing_engine": case.routing, "qos": "TRUE"}
    if case.routing == "updn":
        options["root_guid_file"] = f.path("roots")
        with open(f.path("roots"), "w", encoding="ascii") as roots:
            roots.writelines(f"0x{g:016x}\n" for g in net.roots())
    sm = f.opensm(options=options)
    file = policy.write(f, sm)
    switch = net.switches[0].name
    ca = [n for n in net.nodes.values() if n.kind == "ca"][-1].name
    f.rules(f"node={switch} attr=SL2VL mod=0x101 : set SL3=2", f'node="{ca}" attr=PortInfo : set LinkWidthActive=1')
    path = f.path("a.snap")
    f.ibqos("snapshot", path, "--policy", file).ok(0)
    same(f, path, "audit")
    same(f, path, "discover", code=0)
    same(f, path, "plan", file)
    same(f, path, "verify", file, code=2)
    same(f, path, "verify", "--opensm-conf", sm.config)


def test_silent_devices_are_told_alike(up):
    f, sm = up(leaves=2, spines=2, options={"qos": "TRUE"})
    file, path = policy.write(f, sm), f.path("a.snap")
    f.rules("node=leaf-02 attr=SL2VL : timeout", "node=gpu-002* attr=VLArb : status=0x1c",
            "node=spine-01 attr=0x19 : timeout")
    r = f.ibqos("snapshot", path, "--policy", file, "--format", "json", "-t", "50", "--retries", "1").ok(3)
    found = {(x["node"], x["what"]) for x in r.json["findings"]}
    # leaf-02 is given up after four, so that some of its VLArb is not asked for either
    assert {("leaf-02", "SL2VL"), ("leaf-02", "VLArb"), ("gpu-002 mlx5_0", "VLArb"), ("spine-01", "LinearForwardingTable")} == found
    live = f.ibqos("verify", file, "--format", "json", "-t", "50", "--retries", "1")
    stored = f.ibqos("verify", file, "--format", "json", "--from", path)
    assert live.json["findings"] == stored.json["findings"] and live.returncode == stored.returncode
    shown = f.ibqos("snapshot", "--show", path, "--format", "json").ok(3)
    assert {(x["node"], x["what"]) for x in shown.json["findings"]} == found


def test_what_a_snapshot_lacks_is_unknown(up):
    f, sm = up(leaves=2, spines=1, options={"qos": "TRUE"})
    classes = [dict(policy.TRAINING), dict(policy.OTHER, share="30%")]
    file, path = policy.write(f, sm, classes), f.path("a.snap")
    f.ibqos("apply", file).ok(0)
    f.ibqos("snapshot", path, "--policy", file).ok(0)
    same(f, path, "verify", file, code=0)
    f.ibqos("snapshot", path).ok(0)  # without the paths of the policy's QoS class
    r = f.ibqos("verify", file, "--from", path, "--format", "json").ok(3)
    codes = policy.codes(r)
    assert set(codes) == {"query-failed"} and all("PathRecord" in x["what"] for x in codes["query-failed"])
    assert r.json["sm"]["paths_unknown"] > 0 and r.json["ports"]["differ"] == 0


def test_the_same_state_gives_the_same_bytes(up):
    f, sm = up(leaves=3, spines=2, options={"qos": "TRUE", "sweep_interval": "0"})
    seen = set()
    for seed, window in ((1, "16"), (2, "1"), (3, "64")):
        path = f.path(f"{seed}.snap")
        # answers in another order each time
        f.rules(*([] if seed == 1 else ["attr=SL2VL prob=0.3 : reorder=3"]))
        f.ibqos("snapshot", path, "-o", window, seed=seed).ok(0)
        with open(path, "rb") as file:
            data = file.read()
        assert data.startswith(b"IBQOSNAP")
        seen.add(data[HEADER:])
    assert len(seen) == 1


def test_a_snapshot_is_replaced_whole_or_not(up, ibqos):
    f, sm = up(leaves=2, spines=1)
    path = f.path("a.snap")
    f.ibqos("snapshot", path).ok(0)
    with open(path, "rb") as file:
        data = file.read()
    r = f.ibqos("snapshot", f.path("no/such/folder"), "--format", "json").ok(3)
    assert "cannot write" in r.stderr and "error" in r.json
    # of a damaged one it is said where, and nothing else
    for cut in (0, 7, 20, HEADER, HEADER + 5, len(data) // 2, len(data) - 1):
        with open(path, "wb") as file:
            file.write(data[:cut])
        r = ibqos("audit", "--from", path).ok(3)
        assert "cannot read" in r.stderr and "byte" in r.stderr
    for at in range(0, len(data), max(1, len(data) // 60)):
        with open(path, "wb") as file:
            file.write(data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1:])
        assert "cannot read" in ibqos("audit", "--from", path).ok(3).stderr
