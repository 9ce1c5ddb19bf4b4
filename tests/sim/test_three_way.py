# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Why a table differs: what was wanted, what the running OpenSM has recorded, what the device holds; by real OpenSM."""
import re

import pytest

from kit import policy

SMALL = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=1)
MAP = "0,1,2,0,0,0,0,0,0,0,0,0,0,0,0,0"
OTHER = "0,2,1,0,0,0,0,0,0,0,0,0,0,0,0,0"
CONF = dict(qos="TRUE", qos_sl2vl=MAP, qos_vlarb_low="0:10,1:70,2:20", qos_vlarb_high="0:0", qos_high_limit="0")


def verify(f, what, *codes, args=(), **kwargs):
    what = [what] if what.endswith(".yaml") else ["--opensm-conf", what]
    return f.ibqos("verify", *what, "--format", "json", *args, **kwargs).ok(*codes)


def classes(result):
    """{(code, class): [(node, port, what), ...]} of all that is worse than a note and has a place."""
    found = {}
    for x in result.json["findings"]:
        if x["severity"] != "note" and x["code"] != "not-applied":
            found.setdefault((x["code"], x["class"]), []).append((x["node"], x["port"], x["what"]))
    return {k: sorted(v, key=str) for k, v in found.items()}


def record(result):
    return {row["item"]: row for row in result.json["sm_coverage"]}


def saquery_slvl(f, node, in_port, out_port):
    """OpenSM's record by infiniband-diags."""
    lid = re.search(rf'Switch.*"{node}".* lid (\d+)', f.tool("ibnetdiscover").ok().stdout)[1]
    text = f.tool("saquery", "SL2VLTableRecord", f"{lid}/{in_port}/{out_port}").ok().stdout
    return ",".join(re.search(r"SL(?::.*\n)?[\s\S]*?VL:((?:\s*\d+\|)+)", text)[1].replace(" ", "").strip("|").split("|"))


def test_all_as_wanted_asks_for_no_record(up):
    f, sm = up(options=CONF, **SMALL)
    r = verify(f, sm.config)
    assert set(record(r)) == {"SMInfo", "SA ClassPortInfo"} and not classes(r)


def test_a_device_that_changed_since(up):
    """OpenSM's record says what was wanted; a HUP repairs nothing, and the advice says so."""
    f, sm = up(options=CONF, **SMALL)
    f.rules("node=leaf-01 port=1 attr=SL2VL : set SL1=0", "node=gpu-002 attr=VLArb mod=0x10000 : set entry1=1:1")
    r = verify(f, sm.config, 2)
    found = classes(r)
    assert {k: len(v) for k, v in found.items()} == {("sl2vl-differs", "drifted"): 1, ("vlarb-differs", "drifted"): 1}
    (node, port, what), = found["sl2vl-differs", "drifted"]
    ports = re.fullmatch(r"SL2VL, in-ports 0-(\d+)", what)
    assert (node, port) == ("leaf-01", 1) and ports
    assert found["vlarb-differs", "drifted"] == [("gpu-002 mlx5_0", 1, "VLArb low")]
    asked = int(ports[1]) + 1
    assert [(n, record(r)[n]["asked"], record(r)[n]["answered"]) for n in ("SL2VL record", "VLArb record")] == [
        ("SL2VL record", asked, asked), ("VLArb record", 1, 1)]
    advice = {x["advice"] for x in r.json["findings"] if x["class"] == "drifted"}
    assert len(advice) == 1 and "never repairs" in advice.pop()
    sm.hup()
    assert classes(verify(f, sm.config, 2)) == found
    text = f.ibqos("verify", "--opensm-conf", sm.config).ok(2).stdout
    assert "    drifted: the subnet manager has programmed it, and the device holds something else since\n" in text


def test_one_in_port_of_many(up):
    """Tables that differ for different reasons are findings of their own."""
    f, sm = up(options=CONF, rules=["node=leaf-01 attr=SL2VL mod=0x0201 method=set : status=0x1c"], **SMALL)
    f.rules("node=leaf-01 attr=SL2VL mod=0x0301 : set SL2=0")
    found = classes(verify(f, sm.config, 2))
    assert found == {("sl2vl-differs", "not-applied"): [("leaf-01", 1, "SL2VL, in-port 2")],
                     ("sl2vl-differs", "drifted"): [("leaf-01", 1, "SL2VL, in-port 3")]}


def test_a_config_that_opensm_has_not_read(up):
    """The file that the running master reads holds it, its record is the old one's."""
    f, sm = up(options=CONF, **SMALL)
    sm.write_config(qos_sl2vl=OTHER)
    r = verify(f, sm.config, 2)
    found = classes(r)
    assert set(found) == {("sl2vl-differs", "not-applied")}
    every = {(x["node"], x["port"]) for x in r.json["findings"] if x["code"] == "sl2vl-differs"}
    assert len(every) == r.json["ports"]["differ"] == r.json["ports"]["looked_at"]
    # from another host nobody knows which file the master reads
    assert set(classes(verify(f, sm.config, 2, host="gpu-003"))) == {("sl2vl-differs", "other-config")}
    sm.hup()
    verify(f, sm.config)


def test_opensm_that_runs_another_config(up):
    f, sm = up(options=CONF, **SMALL)
    mine = f.path("mine.conf")
    with open(sm.config, encoding="ascii") as c, open(mine, "w", encoding="ascii") as m:
        m.write(c.read())
    sm.write_config(qos_sl2vl=OTHER)
    sm.hup()
    f.rules("node=leaf-02 port=1 attr=SL2VL mod=0x0101 : set SL1=7")
    r = verify(f, mine, 2)
    assert set(classes(r)) == {("sl2vl-differs", "other-config")}
    third = [x for x in r.json["findings"] if "neither of the two" in (x["detail"] or "")]
    assert [(x["node"], x["port"]) for x in third] == [("leaf-02", 1)]
    # its record, by diags too
    assert saquery_slvl(f, "leaf-02", 1, 1) == OTHER


@pytest.mark.parametrize("how", ["never", "refused", "lost"])
def test_tables_that_opensm_has_never_seen_applied(up, how):
    """Its record is empty: it was started without QoS, or each Set failed."""
    failing = {"never": [], "refused": ["node=leaf-01 attr=SL2VL method=set : status=0x1c"],
               "lost": ["node=leaf-01 attr=SL2VL method=set : timeout"]}[how]
    f, sm = up(options=dict(CONF, qos="FALSE") if how == "never" else CONF, rules=failing, **SMALL)
    if how == "never":
        sm.write_config(qos="TRUE")
    r = verify(f, sm.config, 2)
    found = {k: v for k, v in classes(r).items() if k[0] == "sl2vl-differs"}
    assert set(found) == {("sl2vl-differs", "not-applied")}
    assert {n for n, _, _ in found["sl2vl-differs", "not-applied"]} >= ({"leaf-01"} if failing else {"leaf-01", "spine-01"})
    if how != "never":
        assert {n for n, _, _ in found["sl2vl-differs", "not-applied"]} == {"leaf-01"}


def test_masks_of_a_sweep_before(up):
    """OpenSM masks tables with the OperationalVLs from before it sets them: the next heavy sweep puts it right."""
    f, sm = up(options=dict(CONF, qos_sl2vl="0,1,2,3,4,5,6,7,0,0,0,0,0,0,0,0", sweep_interval="0"), **SMALL)
    sm.write_config(max_op_vls="2")
    sm.hup()
    r = verify(f, sm.config, 2)
    found = classes(r)
    switches = {k: v for k, v in found.items() if any(re.match("leaf|spine", n) for n, _, _ in v)}
    assert ("sl2vl-differs", "awaits-sweep") in switches
    assert {c for _, c in found} <= {"awaits-sweep", None}, found
    sm.hup()
    assert not [c for _, c in classes(verify(f, sm.config, 0, 1, 2)) if c]


def test_records_that_are_not_answered(up):
    f, sm = up(options=CONF, **SMALL)
    f.rules("node=leaf-01 port=1 attr=SL2VL mod=0x0101 : set SL1=0", "class=sa attr=0x13 : timeout")
    r = verify(f, sm.config, 2, args=("-t", "50", "--retries", "0"))
    said, = [x for x in r.json["findings"] if x["code"] == "query-failed"]
    assert (said["node"], said["port"]) == ("gpu-001 mlx5_0", 1)  # where the subnet manager is
    assert (said["what"], said["got"]) == ("records of tables that differ, of the subnet administrator", "1 of 1 not answered")
    assert {k: v for k, v in classes(r).items() if k[0] != "query-failed"} == {
        ("sl2vl-differs", "unknown"): [("leaf-01", 1, "SL2VL, in-port 1")]}
    assert record(r)["SL2VL record"]["timed_out"] == 1
    # nor is an answer about another port taken for this one's
    f.rules("node=leaf-01 port=1 attr=SL2VL mod=0x0101 : set SL1=0", "class=sa attr=0x13 : set byte3=0x02")
    assert set(classes(verify(f, sm.config, 2))) == {("sl2vl-differs", "unknown")}
    sm.stop()
    f.rules("node=leaf-01 port=1 attr=SL2VL mod=0x0101 : set SL1=0")
    r = verify(f, sm.config, 2, args=("-t", "50", "--retries", "0"))
    assert ("sl2vl-differs", "unknown") in classes(r) and "SL2VL record" not in record(r)


def test_no_more_records_than_allowed(up):
    """First one a port and kind; what is left out is counted, and said at each finding."""
    f, sm = up(options=CONF, **SMALL)
    f.rules("node=leaf-* port=1 attr=SL2VL : set SL1=0")
    r = verify(f, sm.config, 2, args=("--sm-records", "2"))
    found = [x for x in r.json["findings"] if x["code"] == "sl2vl-differs"]
    assert {(x["node"], x["port"], x["class"]) for x in found} == {("leaf-01", 1, "drifted"), ("leaf-02", 1, "drifted")}
    left = r.json["sm"]["records_not_asked"]
    assert record(r)["SL2VL record"]["asked"] == 2 and left > 2
    assert all(re.search(r"its record was asked for 1 of \d+ tables", x["detail"]) for x in found)
    r = verify(f, sm.config, 2, args=("--sm-records", "1"))
    assert {(x["node"], x["class"]) for x in r.json["findings"]} == {("leaf-01", "drifted"), ("leaf-02", "unknown")}
    r = verify(f, sm.config, 2, args=("--sm-records", "0"))
    assert {x["class"] for x in r.json["findings"]} == {None} and "SL2VL record" not in record(r)


def test_a_switch_without_sl2vl_tables(up):
    caps = ["node=leaf-01 port=0 attr=PortInfo : set CapMask=0"]
    f, sm = up(options=CONF, rules=caps, **SMALL)
    f.rules(*caps)
    r = verify(f, sm.config, 1)
    found = classes(r)
    assert set(found) == {("sl2vl-unsupported", "unsupported")}
    assert {n for n, _, _ in found["sl2vl-unsupported", "unsupported"]} == {"leaf-01"}


def test_a_device_that_refuses_to_tell(up):
    f, sm = up(options=CONF, **SMALL)
    f.rules("node=leaf-01 port=1 attr=VLArb : status=0x0c", "node=leaf-01 port=2 attr=VLArb : status=0x0100")
    assert classes(verify(f, sm.config, 3)) == {
        ("query-failed", "unsupported"): [("leaf-01", 1, "VLArb, 2 of 2 queries")],
        ("query-failed", None): [("leaf-01", 2, "VLArb, 2 of 2 queries")]}


def test_high_limit(up):
    """The SM's record of it is what the device said last: changed since, or not known why."""
    f, sm = up(options=dict(CONF, qos_high_limit="3"), **SMALL)
    f.rules("node=leaf-01 port=1 attr=PortInfo : set VLHighLimit=9")
    assert classes(verify(f, sm.config, 2)) == {("high-limit-differs", "drifted"): [("leaf-01", 1, "VLHighLimit")]}
    f.rules("")
    sm.write_config(qos_high_limit="4")
    assert set(classes(verify(f, sm.config, 2))) == {("high-limit-differs", "not-applied")}
    assert set(classes(verify(f, sm.config, 2, host="gpu-003"))) == {("high-limit-differs", "unknown")}


def test_policy_that_was_never_applied(up):
    """By a policy, and the files of this machine say that OpenSM runs something else."""
    f, sm = up(options=CONF, **SMALL)
    r = verify(f, policy.write(f, sm), 2)
    found = classes(r)
    assert {c for code, c in found if code.endswith("differs") and code != "sa-sl-differs"} == {"other-config"}
    assert ("file-not-the-policy", None) in found
