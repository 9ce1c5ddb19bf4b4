# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Other tools' files as --from: what they have gives what live gives, what they lack is unknown, broken ones are refused with
every fault and its place."""
import os
import re

import pytest

from kit import dumps, policy, routes, run
from tools import netgen, netgen_cases

CASES = {c.name: c for c in netgen_cases.CASES}
SOME = ["tree2-guests", "tree2-two-port", "tree2-12x", "torus-3x3-bundles", "rail4-cores"]


def write(f, data, name="dump"):
    path = f.path(name)
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())
    return path


def found(r):
    """Findings but for what is told of each file: what it lacks, and that the subnet manager was not asked."""
    return [x for x in r["findings"] if x["code"] != "source-lacks" and not (x["code"] == "query-failed" and (x["what"] or "").startswith("SMInfo from"))]


def same_fabric(live, stored):
    for key in ("nodes", "links", "fabric_found"):
        assert live[key] == stored[key], key


# --- infiniband-diags' cache ---

def cache(f, name="cache"):
    path = f.path(name)
    f.tool("ibnetdiscover", "--cache", path).ok()
    return path


@pytest.mark.parametrize("name", SOME if not os.environ.get("IBQOS_CASES") else sorted(CASES))
def test_cache_is_the_live_discovery(fabric, name):
    f = fabric(net=CASES[name].make())
    f.opensm(options={"routing_engine": "updn"})
    ca = [n for n in f.net.nodes.values() if n.kind == "ca"][-1].name
    f.rules(f'node="{ca}" attr=PortInfo : set LinkWidthActive=1')
    path = cache(f)
    live = f.ibqos("discover", "--format", "json").ok(0).json
    r = f.ibqos("discover", "--format", "json", "--from", path).ok(3)
    assert r.sent.gets == 0 and {x["code"] for x in found(r.json)} <= {"speed-unanswered"}
    for x in live["links"]:  # of QDR it is not known whether it is FDR10
        if x["speed"] == "QDR":
            x.update({k: None for k in ("speed", "gbps", "line_gbps") if k in x})
    same_fabric(dict(live, fabric_found=dict(live["fabric_found"], no_answer=len(found(r.json)))), r.json)
    audit = f.ibqos("audit", "--format", "json").json
    stored = f.ibqos("audit", "--format", "json", "--from", path).json
    if any(x["speed"] is None for x in live["links"]):
        assert stored["links"]["unknown"] > 0
        return
    assert found(audit) and found(audit) == found(stored) and audit["links"] == stored["links"]


def test_cache_of_what_did_not_answer(up):
    """Silent devices: gaps of the cache as libibnetdisc's own discovery has them."""
    f, _ = up(leaves=2, spines=2)
    f.rules("node=leaf-02 attr=PortInfo mod=3 : timeout", "node=gpu-001* attr=NodeDesc : timeout")
    quick = ("-t", "50")
    path = f.path("cache")
    f.tool("ibnetdiscover", "--cache", path, *quick)
    live = f.ibqos("discover", "--walker", "libibnetdisc", "--format", "json", *quick).ok(3).json
    stored = f.ibqos("discover", "--format", "json", "--from", path).ok(3).json
    assert found(live) and run.but_advice({"findings": found(live)}) == run.but_advice({"findings": found(stored)})
    same_fabric(live, stored)


def test_cache_lacks_fdr10(up):
    f, _ = up(leaves=2, spines=1)
    f.rules("attr=NodeInfo : set DevId=0x1003", "attr=PortInfo : set LinkSpeedExtActive=0 LinkSpeedActive=4",
            "attr=MlnxExtPortInfo : set LinkSpeedActive=1")
    live = f.ibqos("discover", "--format", "json").ok(0).json
    assert {x["speed"] for x in live["links"]} == {"FDR10"}
    stored = f.ibqos("discover", "--format", "json", "--from", cache(f)).ok(3).json
    assert {x["speed"] for x in stored["links"]} == {None} and {x["code"] for x in found(stored)} == {"speed-unanswered"}


def test_tables_are_unknown_to_a_cache(up):
    f, sm = up(leaves=2, spines=1, options={"qos": "TRUE"})
    path = cache(f)
    r = f.ibqos("verify", "--opensm-conf", sm.config, "--from", path, "--format", "json").ok(3).json
    assert r["ports"]["differ"] == 0 and r["ports"]["unknown"] == r["ports"]["looked_at"] > 0
    rows = {x["item"]: x for x in r["coverage"]}
    assert rows["PortInfo"]["not_asked"] == 0 and rows["SL2VL"]["answered"] == rows["VLArb"]["answered"] == 0
    r = f.ibqos("audit", "--counters", "--from", path, "--format", "json").ok(3).json
    assert r["counters"]["read"] == 0 and "counters-unanswered" not in {x["code"] for x in r["findings"]}
    assert ["counters" in x["what"] for x in r["findings"] if x["code"] == "source-lacks"] == [True]
    f.ibqos("trace", "gpu-001", "gpu-005", "--from", path).ok(3)
    assert "is no snapshot" in f.ibqos("snapshot", "--show", path).ok(3).stderr


def test_broken_caches_are_refused(up, ibqos):
    f, _ = up(leaves=2, spines=1)
    path = cache(f)
    with open(path, "rb") as file:
        data = file.read()
    nodes, ports = (int.from_bytes(data[i:i + 4], "little") for i in (8, 12))

    def refused(changed, message):
        r = ibqos("discover", "--from", write(f, changed)).ok(3)
        assert re.search(rf"cannot read .*at byte \d+: .*{message}", r.stderr), r

    def at(offset, new):
        return data[:offset] + new + data[offset + len(new):]
    refused(data[:20], "header is not whole")
    refused(at(4, b"\2"), "version 2 of the cache")
    refused(at(8, b"\0\0\0\0"), "not written to its end")
    refused(at(8, b"\xff\xff\xff\xff"), "too short for them")
    refused(at(12, b"\xff\xff\xff\x00"), "too short for them")
    refused(at(8, (nodes + 1).to_bytes(4, "little")), "cut off|not that of its NodeInfo")
    refused(at(12, (ports - 1).to_bytes(4, "little")), "95 bytes behind the last port")
    refused(at(16, b"\1"), "is not in it")
    refused(at(28 + 68, b"\1\2\3"), "not that of its NodeInfo")
    refused(at(28 + 76, b"\7"), "type 7")
    refused(at(28 + 77, b"\7"), "another number in its NodeInfo")
    refused(data[:-1], "cut off|too short")
    refused(data + b"x", "1 bytes behind the last port")
    last = len(data) - 95
    refused(data[:last] + data[last - 95:last], "a second time|claimed")
    for cut in range(0, len(data), max(1, len(data) // 40)):
        assert "cannot read" in ibqos("discover", "--from", write(f, data[:cut])).ok(3).stderr


# --- ibdiagnet's db_csv ---

def snapshot(f, name="a.snap"):
    path = f.path(name)
    f.ibqos("snapshot", path).ok(0, 3)
    return dumps.Dump(path)


@pytest.mark.parametrize("name", SOME if not os.environ.get("IBQOS_CASES") else sorted(CASES))
def test_db_csv_is_the_live_discovery(fabric, name):
    """Written by a writer that knows IBA and ibutils2's names alone; audit says of it what it says live."""
    f = fabric(net=CASES[name].make())
    f.opensm(options={"routing_engine": "updn"})
    ca = [n for n in f.net.nodes.values() if n.kind == "ca"][-1].name
    f.rules(f'node="{ca}" attr=PortInfo : set LinkWidthActive=1', "node=gpu-00* attr=PortInfo : set LinkSpeedExtActive=4")
    live = f.ibqos("discover", "--format", "json").ok(0).json
    audit = f.ibqos("audit", "--format", "json").json
    text = dumps.text(snapshot(f).sections())
    for changed in (text, text.replace("\n", "\r\n"), "\ufeff" + text):
        path = write(f, changed)
        r = f.ibqos("discover", "--format", "json", "--from", path).ok(3)
        assert r.sent.gets == 0 and found(r.json) == []
        assert "2 of its sections passed over" in r.json["findings"][0]["what"]
        same_fabric(live, r.json)
    stored = f.ibqos("audit", "--format", "json", "--from", path).json
    assert found(audit) and found(audit) == found(stored) and audit["links"] == stored["links"]
    assert "feedface" not in str(r.json)


@pytest.mark.parametrize("fields,speed", [("LinkSpeedExtActive=1", "FDR"), ("LinkSpeedExtActive=8", "NDR"),
                                          ("LinkSpeedExtActive=0 LinkSpeedActive=4", "QDR"),
                                          ("LinkSpeedExtActive=0 LinkSpeedActive=1", "SDR"),
                                          ("LinkSpeedExtActive=8 byte56=0x29 CapabilityMask2=0x800", "XDR")])
def test_speeds(up, fields, speed):
    f, _ = up(leaves=2, spines=1)
    f.rules(f"attr=PortInfo : set {fields}" + (" CapMask=0x0000c000" if speed == "XDR" else ""))
    live = f.ibqos("discover", "--format", "json").json
    stored = f.ibqos("discover", "--format", "json", "--from", write(f, dumps.text(snapshot(f).sections()))).ok(3).json
    assert {x["speed"] for x in live["links"]} == {speed} == {x["speed"] for x in stored["links"]}


def test_fdr10_in_db_csv(up):
    f, _ = up(leaves=2, spines=1)
    f.rules("attr=NodeInfo : set DevId=0x1003", "attr=PortInfo : set LinkSpeedExtActive=0 LinkSpeedActive=4",
            "attr=MlnxExtPortInfo : set LinkSpeedActive=1")
    stored = f.ibqos("discover", "--format", "json", "--from", write(f, dumps.text(snapshot(f).sections()))).ok(3).json
    assert {x["speed"] for x in stored["links"]} == {"FDR10"} and found(stored) == []


def test_arbitration_and_partitions(up):
    """What verify and job check find live in VL arbitration and P_Keys they find in a db_csv; SL2VL stays unknown."""
    f, sm = up(leaves=2, spines=2, options={"qos": "TRUE"})
    f.rules(*routes.FIXED, "node=spine-01 attr=VLArb mod=0x10002 : set entry0=0:9", 'node="gpu-002 mlx5_0" attr=VLArb : set entry1=1:7')
    verify = ("verify", "--opensm-conf", sm.config, "--format", "json")
    live, path = f.ibqos(*verify).ok(2).json, write(f, dumps.text(snapshot(f).sections()))
    stored = f.ibqos(*verify, "--from", path).ok(2).json
    of = lambda r: [(x["node"], x["port"], x["what"], x["wanted"], x["got"]) for x in r["findings"] if x["code"] == "vlarb-differs"]
    assert of(live) and of(live) == of(stored)
    rows = {x["item"]: x for x in stored["coverage"]}
    assert rows["VLArb"]["not_asked"] == 0 and rows["SL2VL"]["answered"] == 0
    job = ("job", "check", "--env-file", write(f, "NCCL_IB_SL=1\n", "env"), "--no-conf", "--hosts", "gpu-[001-004]", "--format", "json")
    live, stored = f.ibqos(*job).json, f.ibqos(*job, "--from", path).ok(3).json
    assert live["pkeys"] == stored["pkeys"] and {p["member"] for p in live["pkeys"]} == {"full"}


def test_counters_and_cables(up):
    f, _ = up(leaves=2, spines=1)
    dump = snapshot(f)
    leaf, = (n for n in f.net.switches if n.name == "leaf-01")
    port, host = next((p, c.peer(leaf)[0]) for p, c in sorted(leaf.cables.items()) if c.peer(leaf)[0].kind == "ca")
    here, there = (leaf.guid, port), (host.guid, 1)
    f.rules(f'node="{host.name}" attr=PortInfo : set LinkWidthActive=1')
    dump = snapshot(f)
    said = {here: {"SymbolErrorCounter": 65535, "PortRcvErrors": 12, "PortXmitDataExtended": "0x123456789abcdef", "SymbolErrorCounterExt": 70000,
                   "PortRcvErrorsExt": 12}}
    thresholds = write(f, "SymbolErrorCounter=10\nPortRcvErrors=10\n", "thresholds")
    audit = ("audit", "--counters", "--error-thresholds", thresholds, "--all", "--format", "json")
    cables = {here: ("MCP1600-E003", "MT2145VS01234"), there: ("MCP1600-E003", "MT2145VS01234")}
    path = write(f, dumps.text(dump.sections(counters=said, cables=cables)))
    r = f.ibqos(*audit, "--from", path).json
    assert r["counters"]["read"] == r["counters"]["ports"] == 2 * len(f.net.cables)
    assert {(x["counter"], x["value"], x["saturated"]) for x in r["counter_totals"] if x["node"] == "leaf-01"} == {
        ("SymbolErrorCounter", 70000, False), ("PortRcvErrors", 12, False), ("PortXmitData", 0x123456789abcdef, False)}
    over = [x for x in r["findings"] if x["code"] == "counter-over-threshold"]
    assert {(x["node"], x["port"], x["what"]) for x in over} == {("leaf-01", port, "SymbolErrorCounter"), ("leaf-01", port, "PortRcvErrors")}
    narrow, = (x for x in r["findings"] if x["code"].startswith("link-width"))
    for x in (*over, narrow):
        assert "cable Mellanox MCP1600-E003 serial MT2145VS01234" in x["detail"] and x["detail"].count("serial") == 1
    assert "serial MT2145VS01234" in f.ibqos("audit", "--from", path).stdout
    # without those of 64 bits: the 16 bits are at their highest value
    path = write(f, dumps.text(dump.sections(counters=said, wide=False, cables={there: ("A", "1")})))
    r = f.ibqos(*audit, "--from", path).json
    assert ("SymbolErrorCounter", 65535, True) in {(x["counter"], x["value"], x["saturated"]) for x in r["counter_totals"]}
    assert "cable Mellanox A serial 1" in next(x for x in r["findings"] if x["code"].startswith("link-width"))["detail"]


def test_cables_of_a_baseline(fabric):
    """A db_csv as the baseline of a live audit names the cables, also of a link that is gone."""
    net = netgen.fat_tree(leaves=2, spines=2)
    f = fabric(net=net)
    leaf = net["leaf-01"]
    kept, lost = leaf.to("spine-01")[0], leaf.to("spine-02")[0]
    cables = {(leaf.guid, kept): ("MCP1600-E003", "KEPT1"), (leaf.guid, lost): ("MCP1600-E003", "LOST1")}
    path = write(f, dumps.text(snapshot(f).sections(cables=cables)))
    peer, peer_port = leaf.cables[kept].peer(leaf)
    net.remove(leaf.cables[lost])
    now = fabric(net=net)
    now.rules(*(f"node={n.name} port={p} attr=PortInfo : set LinkWidthActive=1" for n, p in ((leaf, kept), (peer, peer_port))))
    found = now.ibqos("audit", "--baseline", path, "--format", "json").json["findings"]
    narrow, = (x for x in found if x["code"] == "link-width-low")
    gone, = (x for x in found if x["code"] == "link-gone")
    assert "cable Mellanox MCP1600-E003 serial KEPT1" in narrow["detail"]
    assert "cable Mellanox MCP1600-E003 serial LOST1" in gone["detail"]


def test_what_a_db_csv_lacks_is_unknown(up):
    """A section or column less: what depends on it is unknown, and said so, nothing else changes."""
    f, sm = up(leaves=2, spines=1, options={"qos": "TRUE"})
    whole = snapshot(f).sections(counters={}, cables={})

    def audit(sections, *args, code=3):
        r = f.ibqos("audit", "--from", write(f, dumps.text(sections)), "--format", "json", *args).ok(code).json
        lacks, = (x["what"] for x in r["findings"] if x["code"] == "source-lacks")
        return r, lacks

    def without(name, column=None, na=False):
        sections = dict(whole)
        columns, rows = sections.pop(name)
        if column:
            i = columns.index(column)
            sections[name] = (columns, [[*r[:i], "N/A", *r[i + 1:]] for r in rows]) if na else (
                [*columns[:i], *columns[i + 1:]], [[*r[:i], *r[i + 1:]] for r in rows])
        return sections
    links = len(f.net.cables)
    r, lacks = audit(whole)
    assert r["links"]["looked_at"] == links and r["links"]["unknown"] == 0 and "SL2VL and forwarding" in lacks
    for name in ("SWITCHES", "PORTS", "LINKS", "PKEY", "VL_ARBITRATION_TABLE", "SM_INFO", "PM_INFO", "CABLE_INFO"):
        r, lacks = audit(without(name))
        assert f"({name})" in lacks
    r, lacks = audit(without("PORTS"))
    assert r["links"]["looked_at"] == 0 and r["links"]["unknown"] == links and r["fabric_found"]["active_ports"] is None
    for column in ("VLCap", "LinkSpeedSup", "LinkWidthEn", "PortState", "LID"):
        r, lacks = audit(without("PORTS", column))
        assert f"column {column} of PORTS" in lacks and r["links"]["looked_at"] == 0
        r, lacks = audit(without("PORTS", column, na=True))
        assert r["links"]["looked_at"] == 0
    r, lacks = audit(without("PORTS", "GIDPrfx"))
    assert r["links"]["looked_at"] == links
    r, lacks = audit(without("SWITCHES", "ENP0"))
    assert {x["code"] for x in found(r)} == {"node-info-incomplete"}
    r, lacks = audit(without("PM_INFO", "PortXmitWaitExt"), "--counters")
    assert r["counters"]["read"] == 2 * links and "counters" not in lacks  # PortCounters have all of it
    narrow = without("PM_INFO", "PortXmitWaitExt")
    i = narrow["PM_INFO"][0].index("PortXmitWait")
    narrow["PM_INFO"] = ([c for c in narrow["PM_INFO"][0] if c != "PortXmitWait"], [[*r[:i], *r[i + 1:]] for r in narrow["PM_INFO"][1]])
    r, lacks = audit(narrow, "--counters")
    assert r["counters"]["read"] == 0 and "neither all of PortCounters" in lacks
    r, lacks = audit(without("PM_INFO"), "--counters")
    assert r["counters"]["read"] == 0 and "counters (PM_INFO)" in lacks
    assert "counters-unanswered" not in {x["code"] for x in r["findings"]}


def test_rows_of_ports_that_are_down(up):
    """All but their states is N/A, in PORTS and in PM_INFO: that says nothing of the others, and they are down, not unknown."""
    f, _ = up(leaves=2, spines=1)
    live = f.ibqos("audit", "--format", "json").ok(0).json
    whole = snapshot(f).sections(counters={})
    columns, rows = whole["PORTS"]
    state = columns.index("PortState")
    down = {(r[0], r[2]) for r in rows if r[state] == 1}
    keep = {columns.index(c) for c in ("NodeGuid", "PortGuid", "PortNum", "PortState", "PortPhyState")}
    assert down
    whole["PORTS"] = (columns, [[c if i in keep or (r[0], r[2]) not in down else "N/A" for i, c in enumerate(r)] for r in rows])
    columns, rows = whole["PM_INFO"]
    whole["PM_INFO"] = (columns, [r if (r[0], r[2]) not in down else [*r[:3], *["N/A"] * (len(r) - 3)] for r in rows])
    r = f.ibqos("audit", "--counters", "--from", write(f, dumps.text(whole)), "--format", "json").ok(3).json
    assert found(r) == [x for x in r["findings"] if x["code"] == "counters-first-look"]
    assert r["links"] == live["links"] and r["fabric_found"] == live["fabric_found"]
    assert r["counters"]["read"] == r["counters"]["ports"] == 2 * len(f.net.cables)


def test_other_versions_of_db_csv(up):
    """Columns in another order and case, new ones, a comma at the end of rows, and what nobody needs in another form."""
    f, _ = up(leaves=2, spines=1)
    whole = snapshot(f).sections(counters={})
    live = f.ibqos("discover", "--format", "json").ok(0).json
    turned = {name: ([c.upper() for c in reversed(columns)] + ["NewOne"], [[*reversed(r), "new, of course"[:3]] for r in rows])
              for name, (columns, rows) in whole.items()}
    text = dumps.text(turned)
    r = f.ibqos("discover", "--from", write(f, text), "--format", "json").ok(3).json
    same_fabric(live, r)
    text = "\n".join(line + "," if re.match("0x|\"", line) else line for line in dumps.text(whole).splitlines())
    same_fabric(live, f.ibqos("discover", "--from", write(f, text), "--format", "json").ok(3).json)
    columns, rows = whole["PORTS"]
    for column, value in (("GIDPrfx", "fe80::"), ("M_KeyLeasePeriod", 1 << 40), ("LinkRoundTripLatency", "12 ns")):
        i = columns.index(column)
        text = dumps.text(dict(whole, PORTS=(columns, [[*r[:i], value, *r[i + 1:]] for r in rows])))
        same_fabric(live, f.ibqos("discover", "--from", write(f, text), "--format", "json").ok(3).json)
    # a name is no mark
    text = f.tool("ibnetdiscover").ok().stdout.replace('"leaf-01"', '"START_NODES"')
    assert "START_NODES" in {n["name"] for n in f.ibqos("discover", "--from", write(f, text), "--format", "json").ok(3).json["nodes"]}


def test_the_subnet_manager_of_a_db_csv(up):
    f, sm = up(leaves=2, spines=1, options={"qos": "TRUE"})
    live = f.ibqos("verify", "--opensm-conf", sm.config, "--format", "json").ok(0).json["sm"]
    dump = snapshot(f)
    (guid, number), = ((k) for k, v in dump.ports.items() if v[0] == int(live["port_guid"], 16) and dumps.bits(v[1], 16, 0, 16) == live["lid"])
    path = write(f, dumps.text(dump.sections(sms=[(guid, int(live["port_guid"], 16), number, 77, live["priority"], 3)])))
    r = f.ibqos("verify", "--opensm-conf", sm.config, "--from", path, "--format", "json").ok(3).json["sm"]
    assert {k: live[k] for k in ("lid", "state", "port_guid", "priority")} == {k: r[k] for k in ("lid", "state", "port_guid", "priority")}
    assert r["act_count"] == 77 and r["qos"] != "on"


def test_broken_db_csv_is_refused_with_all_faults(up, ibqos):
    f, _ = up(leaves=2, spines=1)
    whole = snapshot(f).sections(counters={}, cables={})
    text = dumps.text(whole)
    lines = text.splitlines()

    def refused(changed, *wanted):
        path = write(f, changed)
        r = ibqos("discover", "--from", path).ok(3)
        for line, message in wanted:
            assert re.search(rf"{re.escape(path)}:{line}:\d+: .*{message}", r.stderr), r
        assert r.stderr.count("cannot read") == len(wanted), r

    def line_of(section, row=0):
        return lines.index(f"START_{section}") + 2 + row  # index of that row

    def edit(changes):
        new = list(lines)
        for i, (old, with_) in changes.items():
            assert old in new[i], (old, new[i])
            new[i] = new[i].replace(old, with_, 1)
        return "\n".join(new) + "\n"
    p, l, n = line_of("PORTS"), line_of("LINKS"), line_of("NODES")
    guid = lines[p].split(",")[0]
    fields = len(lines[p].split(","))
    refused(edit({p: (guid, "0x0123456789abcdef"), p + 3: (",", ",,"), l: (",1,", ",201,"), l + 1: ("0x", "0xy")}),
            (p + 1, "0x0123456789abcdef is not among the nodes"), (p + 4, f"{fields + 1} fields, where section PORTS has {fields}"),
            (l + 1, "no port 201 of the node"), (l + 2, "NodeGuid1 is '0xy.*no GUID"))
    refused(edit({n: ('",1,', '",0,')}), (n + 1, "no such can be"))
    refused(edit({n: ('",1,', '",256,')}), (n + 1, "NumPorts is '256', which is too large"), (n + 1, "is not known"))
    refused(edit({p + 1: (",0x00feedfacecafe00,", ",0x00feedfacecafe00,0x,"), p + 2: (",N/A", ",N/A,")}),
            (p + 2, "fields, where"), (p + 3, "fields, where"))
    refused(text[:text.index("END_PORTS")], (line_of("PORTS") - 1, "section PORTS has no end: the file is cut off"))
    refused(text.replace("END_NODES\n", "", 1), (r"\d+", "section PORTS begins before NODES"))
    refused(text.replace("START_LINKS\n", "", 1), (r"\d+", "section LINKS ends, and does not begin"))
    refused(text + "START_LINKS\nNodeGuid1,PortNum1,NodeGuid2,PortNum2\nEND_LINKS\n", (r"\d+", "section LINKS is there twice"))
    refused(text[:300] + "\0" + text[300:], (r"\d+", "a NUL byte"))
    refused(text.replace("NodeGUID,PortGUID,DeviceID", "Nodeguide,PortGUID,DeviceID").replace("SystemImageGUID,NodeGUID", "SystemImageGUID,NodeX"),
            (r"\d+", "NODES needs columns"))
    many = edit({i: ("0x", "q0x") for i in range(p, p + 30)})
    r = ibqos("discover", "--from", write(f, many)).ok(3)
    assert r.stderr.count("no GUID") == 20 and "and 10 more faults" in r.stderr
    assert "no section NODES" in ibqos("discover", "--from", write(f, "START_PORTS\nNodeGuid,PortNum\nEND_PORTS\n")).ok(3).stderr
    refused(text.replace(lines[p], lines[p] + "\n" + lines[p], 1), (p + 2, "a second time"))
    moved = ",".join([*lines[l].split(",")[:3], "36"])
    refused(text.replace(lines[l], lines[l] + "\n" + moved, 1), (l + 2, "cabled to another one|no port 36"))


# --- sizes, and files that are none ---

def test_a_superpod_loads(ibqos, tmp_path):
    """1,024 hosts of 8 rails below 96 switches, a table of 5 MB: as ibnetdiscover's text and as db_csv."""
    net = netgen.Net()
    for i in range(32):
        net.add_switch(f"spine-{i + 1:02d}", ports=64)
    for i in range(64):
        net.add_switch(f"leaf-{i + 1:02d}", ports=64)
        for s in range(32):
            net.cable(f"leaf-{i + 1:02d}", f"spine-{s + 1:02d}")
    for h in range(256):
        for rail in range(8):
            net.add_ca(f"gpu-{h + 1:04d}-{rail}", f"gpu-{h + 1:04d} mlx5_{rail}")
            net.cable(f"gpu-{h + 1:04d}-{rail}", f"leaf-{h // 32 * 8 + rail + 1:02d}")
    links = 64 * 32 + 2048
    path = tmp_path / "dump"
    path.write_text(dumps.ibnetdiscover(net))
    r = ibqos("discover", "--from", path, "--format", "json").ok(3).json
    assert r["fabric_found"]["switches"] == 96 and r["fabric_found"]["links"] == links == len(r["links"])
    path.write_text(dumps.plain(net))
    r = ibqos("audit", "--from", path, "--format", "json").ok(3).json
    assert {k: v for k, v in r["fabric_found"].items() if k != "nodes_digest"} == {"switches": 96, "adapters": 2048, "links": links, "active_ports": 2 * links, "no_answer": 96}
    assert (r["links"]["looked_at"], r["links"]["unknown"], r["links"]["slow"]) == (links, 0, 0)


def test_files_that_are_none_of_these(ibqos, tmp_path):
    path = tmp_path / "x"
    for text in (b"", b"\n", b"nothing of the kind\n", b"\x2b\x83\xe7\x8f"[:3], bytes(100), b"IBQOSNA", b"START_X\na,b\nEND_X\n"):
        path.write_bytes(text)
        r = ibqos("discover", "--from", path).ok(3)
        assert "cannot read" in r.stderr and r.stderr.count("\n") == 1, r
