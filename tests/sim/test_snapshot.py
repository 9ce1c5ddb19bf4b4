# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Snapshots of simulated fabrics: what is found in one is what is found live in the same state."""
import os
import re

import pytest

from kit import policy, run, snapfile
from tools import netgen_cases

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
    assert rows["SMInfo"]["answered"] == 2 and rows["PathRecord"]["answered"] == 4
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
    assert run.but_advice(live.json) == run.but_advice(stored.json) and live.returncode == stored.returncode
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


def test_redacted(up):
    """Nothing of names and GUIDs is left, findings are the same but for these, and the map turns them back."""
    f, sm = up(leaves=2, spines=2, options={"qos": "TRUE"})
    f.rules('node="gpu-003 mlx5_0" attr=PortInfo : set LinkWidthActive=1', "node=leaf-02 attr=SL2VL mod=0x102 : set SL3=2",
            "node=spine-02 attr=0x19 : timeout")
    file, real, path, names = policy.write(f, sm), f.path("real.snap"), f.path("a.snap"), f.path("names")
    f.ibqos("snapshot", real, "--policy", file, "-t", "50").ok(3)
    f.ibqos("snapshot", path, "--from", real, "--redact", names).ok(3)
    snap = snapfile.read(path)
    text = b"".join(snap["DATA"]) + b"".join(snap["STRS"])
    for n in f.net.nodes.values():
        assert n.desc.encode() not in text and not [g for g in (n.guid, n.sysimg) if g.to_bytes(8, "big") in text], n.desc
    old = {n.guid for n in f.net.nodes.values()}
    assert not old & {p["guid"] for p in snap["PORT"]} and snap["META"][0]["redacted"] == 1
    for command in (("audit",), ("verify", file), ("snapshot", "--show")):
        args = lambda p: (*command, p) if command[0] == "snapshot" else (*command, "--from", p)
        was = f.ibqos(*args(real), "--format", "json").json["findings"]
        now = f.ibqos(*args(path), "--format", "json").json["findings"]
        back = f.ibqos(*args(path), "--node-name-map", names, "--format", "json").json["findings"]
        plain = lambda found: [{k: v for k, v in x.items() if "guid" not in k} for x in found]
        nameless = lambda found: [{k: v for k, v in x.items() if "guid" not in k and k not in ("node", "peer", "detail")} for x in found]
        assert was and plain(was) == plain(back)
        hosts = [x["what"] for x in now if x["code"] == "source-lacks"]  # compared by their names, which are gone
        assert len(hosts) == (command == ("audit",)) and all("names of hosts" in x for x in hosts)
        now = [x for x in now if x["code"] != "source-lacks"]
        assert sorted(map(str, nameless(was))) == sorted(map(str, nameless(now)))
        assert all(re.fullmatch(r"(adapter|switch)-\d+", x["node"]) for x in now if x["node"])
    # again, by the same map: the same bytes, and the map does not grow
    with open(path, "rb") as one, open(names, "rb") as of:
        before, map_before = one.read(), of.read()
    f.ibqos("snapshot", path, "--from", real, "--redact", names).ok(3)
    with open(path, "rb") as one, open(names, "rb") as of:
        assert (one.read(), of.read()) == (before, map_before)
    assert os.stat(names).st_mode & 0o777 == 0o600
    # what is read is never written over, by whatever name: it may be the only one with the real names
    os.link(real, f.path("again.snap"))
    os.symlink(real, f.path("link.snap"))
    with open(real, "rb") as of:
        unredacted = of.read()
    for to in (real, f.path("again.snap"), f.path("link.snap"), names):
        said = f.ibqos("snapshot", to, "--from", real, "--redact", names).ok(3).stderr
        assert f"'{to}' is {'the map of --redact' if to == names else 'what --from reads'}: write to another file" in said
    with open(real, "rb") as one, open(names, "rb") as of:
        assert (one.read(), of.read()) == (unredacted, map_before)
    # by another map nothing is the same, although it may be: no node is taken for one of the first
    other = f.path("other.snap")
    f.ibqos("snapshot", other, "--from", real, "--redact", f.path("other")).ok(3)
    assert not {p["guid"] for p in snap["PORT"]} & {p["guid"] for p in snapfile.read(other)["PORT"]} - {0}
    assert len(f.ibqos("diff", path, other, "--format", "json").ok(3).json["findings"]) >= len(f.net.nodes)
    assert "more than one fabric" in f.ibqos("merge", f.path("m.snap"), path, other).ok(3).stderr and not os.path.exists(f.path("m.snap"))
    with open(names, "a", encoding="ascii") as of:
        of.write("#= 0x1 0x2\n")
    assert f"line {len(map_before.splitlines()) + 1}" in f.ibqos("snapshot", path, "--from", real, "--redact", names).ok(3).stderr


@pytest.mark.parametrize("leaves, spines, silent", [(3, 2, "gpu-005 mlx5_0"), (8, 4, "gpu-021 mlx5_0"), (6, 3, None)])
def test_redacted_numbers_are_not_taken_for_those_of_hosts(fabric, leaves, spines, silent):
    """A host that does not answer has no number in a redacted file: none is missing or moved for that."""
    f = fabric(leaves=leaves, spines=spines)
    f.opensm()
    if silent:
        f.rules(f'node="{silent}" : timeout')
    real, path, names = f.path("real.snap"), f.path("a.snap"), f.path("names")
    f.ibqos("snapshot", real, "-t", "50").ok(0, 3)
    f.ibqos("snapshot", path, "--from", real, "--redact", names).ok(0, 3)
    codes = lambda *args: sorted((x["code"], x["severity"]) for x in f.ibqos("audit", "--format", "json", "--from", *args).json["findings"])
    was = codes(real)
    assert not [c for c, _ in was if c.startswith("sibling")] and bool(was) == bool(silent)
    assert codes(path) == sorted(was + [("source-lacks", "unknown")])
    assert codes(path, "--node-name-map", names) == was


def test_counters_that_a_file_does_not_have_are_one_finding(up):
    f, _ = up(leaves=2, spines=1)
    path, whole = f.path("a.snap"), f.path("whole.snap")
    f.ibqos("snapshot", path).ok(0)
    f.ibqos("snapshot", whole, "--counters").ok(0, 3)  # the simulator does not have all of them
    r = f.ibqos("audit", "--counters", "--format", "json", "--from", path).ok(3).json
    x, = r["findings"]
    assert (x["code"], x["severity"]) == ("source-lacks", "unknown") and "snapshot --counters" in x["what"]
    assert r["counters"]["read"] == 0 and r["counters"]["ports"] > 0
    r = f.ibqos("audit", "--counters", "--format", "json", "--from", whole).ok(0, 1, 3).json
    assert "source-lacks" not in [x["code"] for x in r["findings"]] and sum(c["answered"] for c in r["counters_coverage"]) > 0


def test_the_format_is_as_documented(up):
    """Read by a reader that knows the document alone, it has what infiniband-diags see."""
    f, sm = up(leaves=2, spines=1, options={"qos": "TRUE"})
    path = f.path("a.snap")
    f.ibqos("snapshot", path, "--fabric", "here").ok(0)
    snap = snapfile.read(path)
    assert snap["STRS"][snap["META"][0]["label"]] == b"here"
    names = [snap["STRS"][n["name"]].decode() for n in snap["NODE"]]
    guids = [int.from_bytes(snap["DATA"][n["node_info"]][12:20], "big") for n in snap["NODE"]]
    assert dict(zip(guids, names)) == {n.guid: n.desc for n in f.net.nodes.values()}
    first, at = {}, 0
    for n, guid in zip(snap["NODE"], guids):
        first[guid] = at
        at += snap["DATA"][n["node_info"]][3] + 1
    said, leaf = snapfile.answers(snap), f.net.nodes["leaf-02"]
    for port in leaf.cables:
        outcome, data = said[first[leaf.guid] + port, 0, 0x17, 2 << 8 | port]
        table = [x for b in data.ljust(8, b"\0") for x in (b >> 4, b & 15)]
        shown = f.tool("smpquery", "-G", "sl2vl", f"0x{leaf.guid:x}", str(port)).ok().stdout
        row = re.search(rf"in\s+2, out\s+{port}:\s*\|([\s\d|]+)", shown)
        assert outcome == 0 and [int(x) for x in row[1].split("|") if x.strip()] == table, shown


def test_written_by_others(up, ibqos):
    """A later minor version's further columns and sections are passed over; what contradicts itself is refused by its row."""
    f, sm = up(leaves=2, spines=1, options={"qos": "TRUE"})
    path, other = f.path("a.snap"), f.path("b.snap")
    f.ibqos("snapshot", path).ok(0)
    snap = snapfile.read(path)
    snapfile.write(other, snap)
    same_findings = lambda: ibqos("audit", "--from", other, "--format", "json").ok(0).json["links"]["looked_at"]
    links = same_findings()
    with open(path, "rb") as file:
        parts = snapfile.sections(file.read())
    later = [(t, r) for t, r in parts if t not in ("NODE", "END.")]
    columns = snapfile.TABLES["NODE"] + (("colour", 2),)
    later += [("NODE", snapfile.untable([dict(n, colour=7) for n in snap["NODE"]], columns)), ("more", b"anything"), ("END.", b"")]
    with open(other, "wb") as file:
        file.write(snapfile.join(snap["head"], later))
    assert same_findings() == links

    def refused(message, tag, row, **change):
        bad = dict(snap, **{tag: [dict(r) for r in snap[tag]]})
        bad[tag][row].update(change)
        snapfile.write(other, bad)
        r = ibqos("audit", "--from", other).ok(3)
        assert re.search(rf"section {tag} at byte \d+: .*{message}", r.stderr), r
    links_at = [i for i, p in enumerate(snap["PORT"]) if p["peer"] != snapfile.NONE]
    refused("row 0: node_info is 99999", "NODE", 0, node_info=99999)
    refused("row 1: GUIDs are not in order", "NODE", 1, node_info=snap["NODE"][0]["node_info"])
    refused("row 0: node type 0", "NODE", 0, node_info=0)
    refused("has another", "PORT", links_at[0], peer=links_at[1])
    refused("port 0 with a peer", "PORT", 0, peer=0)
    refused("outcome is 4", "ANSW", 3, outcome=4)
    refused("row 2: count is 0", "ANSW", 2, count=0)
    refused("row 4: not behind row 3", "ANSW", 4, **snap["ANSW"][2])
    refused("beyond 32 bits", "ANSW", 5, count=0xffffffff, step=0xffffffff)
    refused("from_node is 77", "META", 0, from_node=77)
    refused("none of its node's", "META", 0, from_port=200)
    for tag in ("more", "MORE"):
        with open(other, "wb") as file:
            file.write(snapfile.join(snap["head"], [(tag, b"x")] + parts))
        r = ibqos("audit", "--from", other).ok(0, 3)
        assert (r.returncode == 0) == (tag == "more") and ("does not know" in r.stderr) == (tag == "MORE")
    for parts_, message in ((parts[1:], "STRS is missing"), (parts[:2] + parts[1:], "a second"), (parts[:-1], "ends before")):
        with open(other, "wb") as file:
            file.write(snapfile.join(snap["head"], parts_))
        assert message in ibqos("audit", "--from", other).ok(3).stderr
