# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What verify, trace and plan say where a device tells what cannot be, has no table, or was never programmed, and where
the subnet manager was not at rest meanwhile."""
import re
import threading

import pytest

from kit import opensm, policy, routes, run

SMALL = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=1)
CONF = dict(qos="TRUE", qos_sl2vl="0,1,2,0,0,0,0,0,0,0,0,0,0,0,0,0", qos_vlarb_low="0:10,1:70,2:20",
            qos_vlarb_high="0:4", qos_high_limit="0")


def verify(f, what, *args, **kwargs):
    what = [what] if what.endswith(".yaml") else ["--opensm-conf", what]
    return f.ibqos("verify", *what, "--format", "json", *args, **kwargs)


def said(r, *codes):
    """(code, severity, class, node, port, what, got) of these codes; of all but notes without any."""
    return sorted((x["code"], x["severity"], x["class"], x["node"], x["port"], x["what"], x["got"]) for x in r.json["findings"]
                  if (x["code"] in codes if codes else x["severity"] != "note"))


# --- values that cannot be ---


@pytest.mark.parametrize("field, what, value", [("VLCap", "VLCap", 0), ("VLCap", "VLCap", 9), ("OperVLs", "OperationalVLs", 0),
                                                ("OperVLs", "OperationalVLs", 15)])
def test_vls_that_cannot_be(up, field, what, value):
    """Nobody knows which VLs such a link runs: not clean, not a mismatch; in verify by config and policy, plan and trace."""
    f, sm = up(options=CONF, **SMALL)
    p = policy.write(f, sm)
    f.ibqos("apply", p, "--state-dir", f.path("state")).ok()
    assert verify(f, p).ok(0).json["ports"]["unknown"] == 0
    f.rules(*routes.FIXED, f"node=leaf-01 port=1 attr=PortInfo : set {field}={value}")
    wanted = [("port-info-reserved", "unknown", None, "leaf-01", 1, what, str(value))]
    for args in ([sm.config], [p]):
        r = verify(f, *args).ok(3)
        assert said(r) == wanted and (r.json["ports"]["unknown"], r.json["ports"]["differ"]) == (1, 0)
    r = f.ibqos("plan", p, "--format", "json").ok(3)
    assert said(r, "port-info-reserved", "plan-too-many-classes", "plan-vls-fewer") == wanted
    assert r.json["links_planned_for"]["vls"] == 8
    for args in (("gpu-004", "gpu-001"), ("gpu-001", "gpu-004")):
        r = f.ibqos("trace", *args, "--policy", p, "--class", "training", "--format", "json").ok(3)
        hops = {(h["node"], h["out_port"]): h for h in r.json["hops_there"] + r.json["hops_back"]}
        assert (hops["leaf-01", 1]["vl"], hops["leaf-01", 1]["share"]) == (None, None)
        assert wanted[0] in said(r) and {x["code"] for x in r.json["findings"]} == {"port-info-reserved", "path-unknown"}
    # what it holds is compared all the same
    f.rules(*routes.FIXED, f"node=leaf-01 port=1 attr=PortInfo : set {field}={value}", "node=leaf-01 port=1 attr=SL2VL : set SL1=5")
    r = verify(f, p).ok(2)
    assert {x[0] for x in said(r)} == {"port-info-reserved", "sl2vl-differs"} and r.json["ports"]["differ"] == 1


@pytest.mark.parametrize("value", [0, 6, 15])
def test_mtu_that_cannot_be(up, value):
    """Shares there are not known: not taken for those of 4096 bytes. Tables do not depend on it."""
    f, sm = up(options=CONF, **SMALL)
    p = policy.write(f, sm)
    f.ibqos("apply", p, "--state-dir", f.path("state")).ok()
    f.rules(*routes.FIXED, f"node=leaf-01 port=1 attr=PortInfo : set NeighborMTU={value}")
    wanted = ("port-info-reserved", "unknown", None, "leaf-01", 1, "NeighborMTU", str(value))
    assert said(verify(f, p).ok(3)) == [wanted]
    assert said(verify(f, sm.config).ok(0)) == []  # a config has no shares
    r = f.ibqos("plan", p, "--format", "json").ok(3)
    assert said(r, "port-info-reserved") == [wanted]
    shares = {(x["mtu"], x["guaranteed"] is None, x["starves"]) for x in r.json["explain"] if x["ports"] == "switch"}
    assert shares == {(2048, False, False), (None, True, None)}
    r = f.ibqos("trace", "gpu-004", "gpu-001", "--policy", p, "--class", "training", "--format", "json").ok(3)
    assert said(r) == [wanted]
    assert [h["share"] for h in r.json["hops_there"] if (h["node"], h["out_port"]) == ("leaf-01", 1)] == [None]
    assert {h["vl"] for h in r.json["hops_there"] if h["to"]} == {1}
    # nowhere is it known
    f.rules(*routes.FIXED, f"attr=PortInfo : set NeighborMTU={value}")
    r = f.ibqos("plan", p, "--format", "json").ok(3)
    assert {x["guaranteed"] for x in r.json["explain"]} == {None}
    links = f.ibqos("discover", "--format", "json").json["links"]
    assert {x["mtu"] for x in links} == {None}


def test_no_vl_is_known_anywhere(up):
    f, sm = up(options=CONF, **SMALL)
    p = policy.write(f, sm)
    f.rules("attr=PortInfo : set OperVLs=0")
    r = f.ibqos("plan", p, "--format", "json").ok(3)
    assert {x["code"] for x in r.json["findings"]} == {"port-info-reserved"} and "tables" not in r.json
    f.ibqos("apply", p, "--state-dir", f.path("state")).ok(3)


# --- no room for a table ---


def test_port_without_arbitration_tables(up):
    """Several VLs and no entry: the device cannot hold what is wanted. Not a mismatch, nor asked for."""
    caps = ["node=gpu-002 attr=PortInfo : set VLArbHighCap=0 VLArbLowCap=0", "node=leaf-02 port=1 attr=PortInfo : set VLArbHighCap=0"]
    f, sm = up(options=CONF, rules=caps, **SMALL)
    asked = {c["item"]: c["asked"] for c in verify(f, sm.config).json["coverage"]}
    f.rules(*caps)
    r = verify(f, sm.config).ok(1)
    assert said(r) == [("vlarb-unsupported", "warning", "unsupported", "gpu-002 mlx5_0", 1, "VLArb low and high", None),
                       ("vlarb-unsupported", "warning", "unsupported", "leaf-02", 1, "VLArb high", None)]
    assert {c["item"]: c["asked"] for c in r.json["coverage"]} == dict(asked, VLArb=asked["VLArb"] - 3)
    # nothing is missing where the table would be empty, where there is one VL, and where there is no link
    sm.write_config(qos_vlarb_high="0:0")
    sm.hup()
    assert [x[5] for x in said(verify(f, sm.config).ok(1))] == ["VLArb low"]
    f.rules("node=gpu-002 attr=PortInfo : set VLCap=1 OperVLs=1 VLArbHighCap=0 VLArbLowCap=0",
            "node=leaf-01 port=2 attr=PortInfo : set OperVLs=1", "node=leaf-0? port=0 attr=PortInfo : set VLArbLowCap=0")
    assert not said(verify(f, sm.config), "vlarb-unsupported")


# --- nothing was applied ---


@pytest.mark.parametrize("how, why", [("off", "has QoS switched off"), ("other", "has programmed another config"),
                                      ("unread", "has not read the file"), ("silent", "is not known")])
def test_not_applied_is_one_matter(up, how, why):
    """One finding with the number of ports; each of them in JSON and with --all."""
    f, sm = up(options=dict(CONF, qos="FALSE") if how == "off" else CONF if how != "unread" else {"qos": "TRUE"}, **SMALL)
    what = policy.write(f, sm)
    args = []
    if how == "unread":
        sm.write_config(**CONF)
        what = sm.config
    if how == "silent":
        f.rules("class=sa : timeout")
        args = ["-t", "60", "--retries", "0"]
    r = verify(f, what, *args).ok(2)
    one, = [x for x in r.json["findings"] if x["code"] == "not-applied"]
    ports = r.json["ports"]["looked_at"]
    assert one["what"] == what and one["got"] == f"{ports} of {ports} ports hold other tables" and why in one["detail"]
    assert len({(x["node_guid"], x["port"]) for x in r.json["findings"] if x["code"].endswith("l-differs") or x["code"] == "vlarb-differs"}) == ports
    words = [what] if what.endswith(".yaml") else ["--opensm-conf", what]
    text = f.ibqos("verify", *words, *args).ok(2).stdout
    told = [line for line in text.splitlines() if line.startswith(("critical: ", "warning: ")) or ": warning: " in line]
    assert told == ["critical: nearly no port holds these tables: they were not applied, or OpenSM runs another config (not-applied)"]
    assert text.splitlines()[-1].startswith("verdict: critical (1 critical")
    whole = f.ibqos("verify", *words, "--all", *args).ok(2).stdout
    assert "(not-applied)" in whole and re.search(r"critical: \d+ ports: .*differs\)\n", whole) and "gpu-004 mlx5_0[1]" in whole


def test_what_is_told_of_each_port(up):
    """Some ports of many, and ports that changed since, are no such matter."""
    f, sm = up(options=CONF, **SMALL)
    f.rules("node=leaf-* attr=SL2VL : set SL1=0", "node=gpu-* attr=SL2VL : set SL1=0", "node=oss-* attr=SL2VL : set SL1=0",
            "node=spine-* attr=SL2VL : set SL1=0")
    r = verify(f, sm.config).ok(2)
    assert {x[2] for x in said(r)} == {"drifted"} and r.json["ports"]["differ"] == r.json["ports"]["looked_at"]
    f.rules("")
    mine = f.path("mine.conf")
    with open(sm.config, encoding="ascii") as c, open(mine, "w", encoding="ascii") as m:
        m.write(c.read().replace("qos_vlarb_low 0:10", "qos_vlarb_low 0:11"))
    assert said(verify(f, mine, "--hosts", "gpu-001").ok(2), "not-applied") == []
    assert len(said(verify(f, mine).ok(2), "not-applied")) == 1


# --- the subnet manager meanwhile ---


def later(seconds, call):
    t = threading.Timer(seconds, call)
    t.start()
    return t



def test_a_sweep_meanwhile(up):
    """OpenSM sweeps and programs while ports are slow to tell: said, and what differed is read again."""
    f, sm = up(options=dict(CONF, sweep_interval="0"), **SMALL)
    assert said(verify(f, sm.config).ok(0), "sm-swept") == []
    f.rules("node=spine-01 attr=SL2VL mod=0x0101 : delay=1500")
    for sl2vl in ("0,2,1,0,0,0,0,0,0,0,0,0,0,0,0,0", CONF["qos_sl2vl"], "0,3,1,0,0,0,0,0,0,0,0,0,0,0,0,0"):
        sm.write_config(qos_sl2vl=sl2vl)
        t = later(0.8, sm.hup)
        r = verify(f, sm.config, "-t", "4000", timeout=60)
        t.join()
        # all that was read before it swept was of before, and is not told
        assert said(r) == [] and r.returncode == 0, r
        if swept := [x for x in r.json["findings"] if x["code"] == "sm-swept"]:
            break  # else so busy a machine that it swept before all that
    assert (swept[0]["severity"], swept[0]["node"]) == ("note", "gpu-001 mlx5_0") and "read again" in swept[0]["detail"]
    assert int(swept[0]["what"].split()[0]) >= len(f.net.nodes) + len(f.net.cables)
    assert r.json["sm_coverage"][0] == {"item": "SMInfo", "asked": 3, "answered": 3, "status": 0, "timed_out": 0, "not_asked": 0}


def test_what_the_count_of_mads_tells(up):
    """Light sweeps are not told; a count that begins anew is, and one that wraps is no such."""
    f, sm = up(options=dict(CONF, sweep_interval="0"), **SMALL)
    enough = len(f.net.nodes) + len(f.net.cables)

    def counts(first, then, **fields):
        more = " ".join(f"{k}={v}" for k, v in fields.items())
        word = [" ".join(f"byte{16 + i}=0x{n >> (24 - 8 * i) & 0xff:02x}" for i in range(4)) for n in (first, then)]
        f.rules(f"attr=SMInfo count=1 : set {word[0]}", f"attr=SMInfo skip=1 : set {word[1]} {more}")
        return verify(f, sm.config)

    assert said(counts(1000, 1000 + enough - 1).ok(0), "sm-swept") == []
    assert [x[5] for x in said(counts(1000, 1000 + enough).ok(0), "sm-swept")] == [f"{enough} MADs of its own"]
    assert said(counts(0xffffffff, 5).ok(0), "sm-swept") == []
    assert [x[5] for x in said(counts(0xffffffff, 2 * enough).ok(0), "sm-swept")] == [f"{2 * enough + 1} MADs of its own"]
    x, = said(counts(5000, 70).ok(0), "sm-swept")
    assert x[6] == "70, it was 5000 before: it was started anew"
    # the port that was the master's is a standby's at the end
    r = counts(1000, 1001, byte20="0x02").ok(3)
    assert {x[0] for x in said(r)} == {"sm-handed-over", "sm-not-master"}
    assert [x[6] for x in said(r, "sm-handed-over")] == ["no master any more"]
    r = counts(1000, 1001, byte0="0x77").ok(3)
    assert [x[6] for x in said(r, "sm-handed-over")] == ["another port GUID than before"]


def test_a_handover_meanwhile(fabric):
    """The master dies while ports are read, and the standby programs tables of its own: never clean."""
    f = fabric(**SMALL)
    conf = dict(opensm.PAIR, **CONF)
    master = f.opensm(options=conf, sm_priority=5)
    standby = f.opensm(wait="STANDBY", host="gpu-002", options=dict(conf, qos_sl2vl="0,3,2,0,0,0,0,0,0,0,0,0,0,0,0,0"), sm_priority=3)
    f.rules("node=spine-01 attr=SL2VL mod=0x0101 : delay=5000")
    t = later(0.8, master.stop)
    r = verify(f, master.config, "-t", "9000", "--retries", "0", timeout=90)
    t.join()
    standby.wait_state("MASTER")
    assert r.returncode in (2, 3) and {x[0] for x in said(r)} & {"sm-silent", "sm-handed-over", "sm-not-master"}, r
    # from the new master's own config, all is well
    f.rules("")
    run.deadline(20, "the new master's tables", lambda: verify(f, standby.config).returncode == 0, every=0.3)


def test_a_snapshot_of_several_managers(fabric):
    """What verify says of them live is what it says later; one that was not answered then is not known now."""
    f = fabric(**SMALL)
    conf = dict(opensm.PAIR, **CONF)
    master = f.opensm(options=conf, sm_priority=5)
    f.opensm(wait="STANDBY", host="gpu-002", options=conf, sm_priority=3)
    live = verify(f, master.config).ok(0)
    f.ibqos("snapshot", f.path("two.snap")).ok(0)
    later_ = f.ibqos("verify", "--from", f.path("two.snap"), "--opensm-conf", master.config, "--format", "json").ok(0)
    assert later_.json["sms"] == live.json["sms"] and later_.json["findings"] == live.json["findings"]
    assert {k: v for k, v in later_.json["sm"].items() if k != "act_count"} == {
        k: v for k, v in live.json["sm"].items() if k != "act_count"}
    for rule, code, status in (("set byte20=0x72", "sm-outranked", 1), ("set byte20=0x33", "sm-two-masters", 2), ("timeout", "sm-silent", 3)):
        f.rules(f"node=gpu-002 attr=SMInfo : {rule}")
        args = ("-t", "60", "--retries", "0") if rule == "timeout" else ()
        f.ibqos("snapshot", f.path("bad.snap"), *args).ok(0, 3)
        f.rules("")
        r = f.ibqos("verify", "--from", f.path("bad.snap"), "--opensm-conf", master.config, "--format", "json").ok(status)
        assert [(x[0], x[3]) for x in said(r)] == [(code, "gpu-002 mlx5_0")], r


def test_a_switch_that_goes_meanwhile(up):
    """Its cable is pulled while ports are slow to tell: what is behind it is not known, and nothing is called wrong."""
    f, sm = up(options=dict(CONF, sweep_interval="0"), console=True, **SMALL)
    f.rules("node=leaf-02 attr=SL2VL : delay=400")  # 148 of them
    t = later(1.2, lambda: f.console('Unlink "leaf-02"[36]'))
    r = verify(f, sm.config, "-t", "1500", "--retries", "1", timeout=100)
    t.join()
    assert r.returncode == 3 and r.json["ports"]["differ"] == 0, r
    assert {x[0] for x in said(r)} <= {"agent-silent", "query-failed", "port-left", "no-answer"} and said(r), r
    f.rules("")
    f.console('ReLink "leaf-02"[36]')
    sm.hup()
    run.deadline(20, "all is well again", lambda: verify(f, sm.config).returncode == 0, every=0.3)
