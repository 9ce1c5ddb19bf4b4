# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Counters: what audit says of them is what was planted, by exact ports and exit codes; totals are those of perfquery.
Time is the tests' own: IBQOS_OVERLAY_NOW for the devices, --now for ibqos."""
import os
import pwd
import re
import socket

import pytest

from kit import sim
from kit.looks import DATA, HOST, HOUR, LACKS, LEAF, SHAPE, T0, Look, at, found, notes, ports
from tools import netgen, netgen_fault


@pytest.fixture(scope="module")
def fab(tmp_path_factory):
    with sim.Fabric(tmp_path_factory.mktemp("counters"), netgen.fat_tree(**SHAPE)) as f:
        f.opensm()
        yield f


@pytest.fixture
def look(fab, tmp_path):
    return Look(fab, tmp_path)


def test_clean_fabric(fab, look):
    r = look(T0, DATA).ok(0)
    assert r.json["counters"]["ports"] == r.json["counters"]["read"] == r.json["counters"]["first"] == ports(fab)
    assert notes(r) == [("counters-first-look", None, f"counters of {ports(fab)} ports")]
    r = look(T0 + 300, DATA).ok(0)
    assert r.json["findings"] == [] and r.json["counters"]["compared"] == ports(fab)
    assert r.json["counters"]["ber_early"] == ports(fab)  # 5 min of EDR: 8 h are needed


def test_good_after_enough_bits(fab, look):
    """EDR 4x: 3 / 1e-15 bits at 103.125 Gb/s are 29,050 s."""
    look(T0, DATA).ok(0)
    assert look(T0 + 29_040, DATA).ok(0).json["counters"]["ber_early"] == ports(fab)
    assert look(T0 + 29_060, DATA).ok(0).json["counters"]["ber_good"] == ports(fab)


def test_bit_errors(fab, look):
    look(T0, DATA).ok(0)
    few = look(T0 + HOUR, DATA, at(LEAF, f"attr=PortCounters : grow SymbolErrorCounter=0.002778/s since={T0}")).ok(0)
    assert found(few) == []  # 10 in the first hour: the rest of 8 h might be clean
    many = look(T0 + 2 * HOUR, DATA, at(LEAF, "attr=PortCounters : set SymbolErrorCounter=60")).ok(2)
    assert found(many) == [("link-ber-high", *LEAF, "SymbolErrorCounter")]
    f, = many.json["findings"]
    assert (f["severity"], f["peer"], f["peer_port"]) == ("critical", *HOST) and "60 in 2 h" in f["got"]


# What grew in five minutes, and what is said of it: (attribute, counter, growth, code, severity)
GROWTH = [
    ("PortCounters", "LinkErrorRecoveryCounter", 10, "link-recoveries", "warning"),
    ("PortCounters", "LinkErrorRecoveryCounter", 9, None, None),
    ("PortCounters", "LinkDownedCounter", 2, "link-flaps", "warning"),
    ("PortCounters", "LinkDownedCounter", 1, None, None),
    ("PortCounters", "PortRcvErrors", 60, "link-receive-errors", "critical"),
    ("PortCounters", "PortRcvErrors", 24, "link-receive-errors", "warning"),
    ("PortCounters", "PortRcvErrors", 10, None, None),
    ("PortCounters", "SymbolErrorCounter", 60, "link-ber-high", "critical"),
    ("PortCounters", "SymbolErrorCounter", 24, "link-ber-high", "warning"),
    ("PortCounters", "SymbolErrorCounter", 10, None, None),
    ("PortCounters", "PortRcvRemotePhysicalErrors", 100, "port-remote-errors", "warning"),
    ("PortCounters", "PortRcvSwitchRelayErrors", 60000, None, None),
    ("PortCounters", "PortXmitDiscards", 200, "port-discards", "warning"),
    ("PortCounters", "PortXmitDiscards", 199, None, None),
    ("PortCounters", "PortXmitConstraintErrors", 200, "port-constraint", "warning"),
    ("PortCounters", "PortRcvConstraintErrors", 200, "port-constraint", "warning"),
    ("PortCountersExtended", "ExcessiveBufferOverrunErrors", 100, "port-overrun", "warning"),
    ("PortCounters", "VL15Dropped", 50, "port-vl15-dropped", "warning"),
    ("PortCountersExtended", "SymbolErrorCounter", 1 << 40, "link-ber-high", "critical"),
    ("PortExtendedSpeedsCounters", "PortFECUncorrectableBlockCtr", 60, "link-fec-uncorrected", "critical"),
    ("PortExtendedSpeedsCounters", "UnknownBlockCounter", 60, "link-ber-high", "critical"),
]


# what a rate is of: no counter has bits
UNITS = {"SymbolErrorCounter": "symbol errors", "PortRcvErrors": "broken packets", "UnknownBlockCounter": "unknown blocks",
         "PortFECUncorrectableBlockCtr": "blocks that FEC could not mend"}

ERRORS = ("SymbolErrorCounter LinkErrorRecoveryCounter LinkDownedCounter PortRcvErrors PortRcvRemotePhysicalErrors "
          "PortRcvSwitchRelayErrors PortXmitDiscards PortXmitConstraintErrors PortRcvConstraintErrors LocalLinkIntegrityErrors "
          "ExcessiveBufferOverrunErrors VL15Dropped PortXmitWait QP1Dropped").split()


def device(attribute):
    """Rules of devices that have this attribute, all counters zero but data."""
    if attribute == "PortCountersExtended":
        zeros = " ".join(f"{c}=0" for c in ERRORS)  # the simulator leaves them as they come
        return ["attr=ClassPortInfo : set CapMask2=2", f"attr=PortCountersExtended : set PortXmitData=1000 PortRcvData=1000 {zeros}"]
    if attribute == "PortExtendedSpeedsCounters":
        return [DATA, "attr=PortExtendedSpeedsCounters : answer status=0"]
    return [DATA]


@pytest.mark.parametrize("attribute,counter,growth,code,severity", GROWTH)
def test_growth(look, attribute, counter, growth, code, severity):
    """From 3 to 3 + growth at one port."""
    rules = device(attribute)
    for place in (LEAF, HOST):
        look.state = f"{look.state}-{place[0][:4]}"
        look(T0, *rules, at(place, f"attr={attribute} : set {counter}=3")).ok(0)
        r = look(T0 + 300, *rules, at(place, f"attr={attribute} : set {counter}={3 + growth}"))
        if code is None:
            assert (r.returncode, found(r)) == (0, []), r
            continue
        # a flap is of the link: it is told at the end that comes first
        assert r.returncode == (2 if severity == "critical" else 1), r
        assert len(found(r)) == 1, found(r)
        (c, node, port, what), = found(r)
        if counter in UNITS:
            (wanted, got), = [(x["wanted"], x["got"]) for x in r.json["findings"] if x["code"] == code]
            assert wanted == f"at most 1e-15 {UNITS[counter]} a bit at EDR" and got.endswith(f"{growth} in 5 min of being up"), (wanted, got)
        where = {LEAF, HOST} if code == "link-flaps" else {place}
        assert (c, what) == (code, counter) and (node, port) in where, r
        f, = r.json["findings"]
        assert f["severity"] == severity and str(growth) in f["got"] and {(f["node"], f["port"]), (f["peer"], f["peer_port"])} == {LEAF, HOST}


def test_two_link_downs_in_a_day(look):
    """They need not come between the same two looks; a day and more later they are two in two days."""
    rule = "attr=PortCounters : set LinkDownedCounter={}"
    for now, downs, codes in ((0, 0, []), (HOUR, 1, []), (5 * HOUR, 1, []), (6 * HOUR, 2, ["link-flaps"])):
        r = look(T0 + now, DATA, at(LEAF, rule.format(downs)))
        assert [c for c, *_ in found(r)] == codes, (now, r)
    r = look(T0 + 50 * HOUR, DATA, at(LEAF, rule.format(2)), args=("--hold", "0")).ok(0)
    assert found(r) == []


def test_saturated(look):
    full = at(LEAF, "attr=PortCounters : set SymbolErrorCounter=65535")
    r = look(T0, DATA, full).ok(1)
    assert found(r) == [("counter-saturated", *LEAF, "SymbolErrorCounter")] and r.json["findings"][0]["got"] == "≥ 65535"
    r = look(T0 + HOUR, DATA, full).ok(1)  # what came since is not known: no rate
    assert found(r) == [("counter-saturated", *LEAF, "SymbolErrorCounter")] and r.json["counters"]["saturated"] == 1
    r = look(T0 + 10 * HOUR, DATA, full).ok(1)
    assert r.json["counters"]["ber_good"] == 11 and r.json["counters"]["ber_between"] == 1


def test_growth_up_to_the_highest_value(look):
    look(T0, DATA, at(LEAF, "attr=PortCounters : set SymbolErrorCounter=65000")).ok(0)
    r = look(T0 + HOUR, DATA, at(LEAF, "attr=PortCounters : set SymbolErrorCounter=65535")).ok(2)
    assert {c for c, *_ in found(r)} == {"link-ber-high", "counter-saturated"}
    assert "≥ 535 in 60 min" in r.json["findings"][0]["got"]


def test_32_bits_that_run_round(look):
    """Against the rule they start at 0 again: nothing was cleared."""
    narrow = "attr=ClassPortInfo : set CapMask=0"
    look(T0, narrow, "attr=PortCounters : set PortXmitData=4294967000 PortRcvData=1").ok(0)
    r = look(T0 + HOUR, narrow, "attr=PortCounters : set PortXmitData=5 PortRcvData=1").ok(0)
    assert r.json["findings"] == [] and r.json["counters"]["cleared"] == r.json["counters"]["anew"] == 0


def test_cleared_by_somebody(fab, look):
    """Counters of one host are less, and its link did not go down."""
    before = "attr=PortCounters : set SymbolErrorCounter=9 PortXmitData=50000 PortRcvData=50000"
    look(T0, before, "attr=PortCountersExtended : set PortXmitData=50000").ok(0)
    r = look(T0 + 300, before, at(HOST, "attr=PortCounters : set SymbolErrorCounter=2"),
             "attr=PortCountersExtended : set PortXmitData=50000").ok(0)
    assert notes(r) == [("counters-cleared", None, "counters of 1 ports on 1 devices")]
    assert r.json["counters"]["cleared"] == 1 and r.json["counters"]["restarted"] == 0


def test_errors_between_two_clears_still_count(look):
    """40 an hour, and somebody clears every hour: at least 36 of each hour are seen."""
    looks = [at(LEAF, f"attr=PortCounters : set SymbolErrorCounter={n}") for n in (40, 38, 36)]
    for hour, rule in enumerate(looks):
        r = look(T0 + hour * HOUR, DATA, rule)
    assert found(r) == [("link-ber-high", *LEAF, "SymbolErrorCounter")] and "≥ 74 in 2 h" in r.json["findings"][0]["got"]
    assert ("counters-cleared", None, "counters of 1 ports on 1 devices") in notes(r)


def test_restarted_host_is_no_flap(look):
    """Its counters begin anew, and its switch saw the link go down four times."""
    old = ["attr=PortCountersExtended : set PortXmitData=50000 PortRcvData=50000", DATA]
    look(T0, *old).ok(0)
    r = look(T0 + 300, *old, at(HOST, "attr=PortCountersExtended : set PortXmitData=70 PortRcvData=70"),
             at(LEAF, "attr=PortCounters : set LinkDownedCounter=4")).ok(0)
    assert found(r) == [] and notes(r) == [("device-restarted", HOST[0], None)]
    r = look(T0 + 600, *old, at(HOST, "attr=PortCountersExtended : set PortXmitData=90 PortRcvData=90"),
             at(LEAF, "attr=PortCounters : set LinkDownedCounter=4")).ok(0)
    assert r.json["findings"] == []


def test_other_speed_begins_anew(look):
    slow = [at(p, "attr=PortInfo : set LinkSpeedExtActive=1") for p in (LEAF, HOST)]
    look(T0, DATA, at(LEAF, "attr=PortCounters : set SymbolErrorCounter=1")).ok(0)
    r = look(T0 + 300, DATA, *slow, at(LEAF, "attr=PortCounters : set SymbolErrorCounter=1000")).ok(2)
    assert [c for c, *_ in found(r)] == ["link-speed-low"] and r.json["counters"]["new_link"] == 2


def test_peer_changed(fabric, tmp_path):
    """Two cables exchanged between two looks: what their four ports counted belongs to other links."""
    shape = dict(leaves=2, spines=2, hosts_per_leaf=3, uplinks=1, storage=0, switch_ports=8)
    f = fabric(net=netgen.fat_tree(**shape))
    f.opensm()
    Look(f, tmp_path)(T0, DATA).ok(0)
    f = fabric(net=netgen.fat_tree(**shape))
    fault, = netgen_fault.plant(f.net, 7, ["swapped-cables"])
    f = fabric(net=f.net)
    f.opensm()
    r = Look(f, tmp_path)(T0 + 300, DATA, *[f"guid=0x{g:x} port={p} attr=PortCounters : set SymbolErrorCounter=5000" for g, p in fault.keys])
    moved = {(int(x["node_guid"], 16), x["port"]) for x in r.json["findings"] if x["code"] == "link-new-peer"}
    assert moved == set(fault.keys) and r.json["counters"]["new_link"] == 4 and r.json["counters"]["compared"] == ports(f) - 4
    assert found(r) == []


def test_state_broken(look):
    look(T0, DATA).ok(0)
    with open(look.state, encoding="ascii") as file:
        whole = file.read()
    for text, line in ((whole[:-40], None), ("hello\n", 1), ("", None), (whole.replace("port ", "prot ", 1), None),
                       (whole + whole, None), ("\0" * 100, None)):
        with open(look.state, "w", encoding="ascii") as file:
            file.write(text)
        r = look(T0 + 300, DATA).ok(3)
        f, = [x for x in r.json["findings"] if x["severity"] != "note"]
        assert (f["code"], f["file"], f["line"] or line) == ("state-broken", look.state, line or f["line"])
        with open(look.state, encoding="ascii") as file:
            assert file.read() == text  # left as it is


def test_state_of_another_fabric(look, fabric, tmp_path):
    look(T0, DATA).ok(0)
    r = look(T0 + 60, DATA, args=("--fabric", "east")).ok(0)  # a label is taken up
    r = look(T0 + 120, DATA, args=("--fabric", "west")).ok(3)
    assert found(r) == [("state-foreign", None, None, None)] and "east" in r.json["findings"][0]["got"]
    assert "only the name" in r.json["findings"][0]["detail"]
    other = fabric(net=netgen.fat_tree(leaves=3, spines=2, hosts_per_leaf=4, uplinks=1, storage=0, switch_ports=8))
    text = re.sub(r"0x(\w{15})(\w) ", lambda m: f"0x{int(m[1], 16) ^ 0xabcdef:015x}{m[2]} ", open(look.state, encoding="ascii").read())
    head, *nodes = text.split("\nnode ")
    last, rest = nodes[-1].split("\n", 1)
    nodes = sorted([*nodes[:-1], last])
    ports = rest.split("end ")[0]
    lines = sorted(re.findall(r"port .*\n(?:last .*\n)?", ports))
    with open(look.state, "w", encoding="ascii") as file:
        file.write("\nnode ".join([head, *nodes]) + "\n" + "".join(lines) + "end " + rest.split("end ")[1])
    del other
    r = look(T0 + 180, DATA).ok(3)
    assert found(r) == [("state-foreign", None, None, None)]
    assert re.search(r"^of its \d+ nodes 0 are here: .*two ports of the site file are exchanged$", r.json["findings"][0]["detail"])


def test_clock_went_back(look):
    look(T0, DATA).ok(0)
    assert found(look(T0 - 10, DATA).ok(3)) == [("state-clock", None, None, None)]


def test_stays_until_clean_for_an_hour(look):
    """Found at 5 min; gone at 10 and 60 min, but told; forgotten 60 min after it was first not there."""
    bad = at(LEAF, "attr=PortCounters : set VL15Dropped=60")
    look(T0, DATA).ok(0)
    look(T0 + 300, DATA, bad).ok(1)
    for now, there in ((600, True), (3600, True), (4199, True), (4200, False)):
        r = look(T0 + now, DATA, bad)
        assert found(r) == ([("port-vl15-dropped", *LEAF, "VL15Dropped")] if there else []), (now, r)
        assert all("not seen now" in x["detail"] for x in r.json["findings"])
        assert all(x["first_seen"] == "2023-11-14T22:18:20Z" for x in r.json["findings"])


def test_links_are_remembered_too(look):
    narrow = [at(p, "attr=PortInfo : set LinkWidthActive=1") for p in (LEAF, HOST)]
    look(T0, *narrow, counters=False).ok(2)
    r = look(T0 + 600, *narrow, counters=False).ok(2)
    f, = r.json["findings"]
    assert f["code"] == "link-width-low" and f["first_seen"] == "2023-11-14T22:13:20Z" and "first seen" not in (f["detail"] or "")
    text = look(T0 + 600, *narrow, counters=False, args=("--format", "text")).ok(2).stdout  # in words there, once
    assert text.count("first seen 2023-11-14T22:13:20Z") == 1
    assert [c for c, *_ in found(look(T0 + 700, counters=False).ok(2))] == ["link-width-low"]
    look(T0 + 700 + HOUR, counters=False).ok(0)


def test_acknowledged(fab, look):
    bad = at(LEAF, "attr=PortCounters : set SymbolErrorCounter=65535")
    look(T0, DATA, bad).ok(1)

    def ack(code, place, until, *more):
        return fab.ibqos("ack", code, place, "--ticket", "OPS 7", "--until", until, "--state", look.state, "--now", str(T0), *more)

    said = ack("counter-saturated", "leaf-09[2]", "2023-11-15").ok(3).stderr
    assert "no node is called 'leaf-09[2]' in the state file; closest: 'leaf-0" in said
    said = ack("counter-saturated", "gpu-001", "2023-11-15").ok(3).stderr  # the host alone
    assert "no node is called 'gpu-001' in the state file; closest: 'gpu-001 mlx5_0'" in said
    assert ack("counter-saturated", "nothing-like-it", "2023-11-15").ok(3).stderr.rstrip().endswith("in the state file")
    assert "no finding has the code" in ack("counter-full", "leaf-01[2]", "2023-11-15").ok(3).stderr
    assert "is in the past" in ack("counter-saturated", "leaf-01[2]", "2023-11-13").ok(3).stderr
    for code, why in (("no-answer", "--drained"), ("sl2vl-differs", "never finds"), ("job-sl-unset", "never finds"),
                      ("peer-changed", "")):
        assert f"cannot acknowledge '{code}'" in (said := ack(code, "leaf-01[2]", "2023-11-15").ok(3).stderr) and why in said
    for place in ("leaf-01[99]", "0x1234[1]", "0x1234"):
        assert f"cannot acknowledge at '{place}'" in ack("counter-saturated", place, "2023-11-15").ok(3).stderr
    ack("counter-saturated", "leaf-01[2]", "2023-11-15").ok(0)  # until 2023-11-16T00:00Z, T0 + 92,800 s
    r = look(T0 + 300, DATA, bad).ok(0)
    f, = r.json["findings"]
    assert (f["severity"], r.json["state"]["acknowledged"]) == ("note", 1) and "ticket OPS 7" in f["detail"]
    look(T0 + 92_799, DATA, bad).ok(0)
    r = look(T0 + 92_800, DATA, bad).ok(1)
    assert found(r) == [("counter-saturated", *LEAF, "SymbolErrorCounter"), ("ack-expired", *LEAF, "counter-saturated")]
    ack("counter-saturated", "gpu-002 mlx5_0", "1700200000", "--now", str(T0 + 92_800)).ok(0)  # a node, by its other end
    look(T0 + 93_700, DATA, bad).ok(0)


def test_acknowledgements_listed_and_taken_back(fab, look):
    """By whom, since and until when, and whether it is still seen; taken back it is told again; the last of a place is no longer there."""
    bad = at(LEAF, "attr=PortCounters : set SymbolErrorCounter=65535")
    look(T0, DATA, bad).ok(1)

    def ack(*words, now=T0, **kwargs):
        return fab.ibqos("ack", *words, "--state", look.state, "--now", str(now), **kwargs)

    def listed(now):
        return ack("--list", "--format", "json", now=now).ok(0).json["acknowledgements"]

    assert listed(T0) == [] and "acknowledged: 0" in ack("--list").ok(0).stdout
    ack("counter-saturated", "leaf-01[2]", "--ticket", "OPS 7", "--until", str(T0 + 600), env={"SUDO_USER": "jo\u001b"}).ok(0)
    ack("link-flaps", "leaf-02", "--ticket", "OPS 8", "--until", str(T0 + 900), now=T0 + 5).ok(0)
    with open(look.state, encoding="utf-8") as f:
        before = f.read()
    first, second = listed(T0 + 60)
    guid = {n.name: f"0x{n.guid:016x}" for n in fab.net.nodes.values()}
    user, host = pwd.getpwuid(os.getuid())[0], socket.gethostname()
    assert first == {"code": "counter-saturated", "place": "leaf-01[2]", "node_guid": guid["leaf-01"], "port": 2, "ticket": "OPS 7",
                     "by": f"{user} (jo\ufffd) on {host}", "since": "2023-11-14T22:13:20Z", "until": "2023-11-14T22:23:20Z",
                     "expired": False, "seen": True, "last_seen": "2023-11-14T22:13:20Z"}
    assert (second["place"], second["port"], second["seen"], second["last_seen"]) == ("leaf-02", None, False, None)
    assert [x["expired"] for x in listed(T0 + 599)] == [False, False] and [x["expired"] for x in listed(T0 + 600)] == [True, False]
    with open(look.state, encoding="utf-8") as f:
        assert f.read() == before  # it only reads
    for form in ("text", "html"):
        text = ack("--list", "--format", form).ok(0).stdout
        assert all(word in text for word in ("counter-saturated", "leaf-01[2]", "OPS 7", host, "2023-11-14T22:23:20Z")) and "\033" not in text
    look(T0 + 120, DATA, bad).ok(0)
    gone = ack("--remove", "counter-saturated", "leaf-01[2]", "--format", "json", now=T0 + 400).ok(0).json["removed"]
    assert gone == {"code": "counter-saturated", "node_guid": guid["leaf-01"], "port": 2, "ticket": "OPS 7", "until": "2023-11-14T22:23:20Z"}
    assert [x["code"] for x in listed(T0 + 400)] == ["link-flaps"]
    assert found(look.again(T0 + 180).ok(1)) == [("counter-saturated", *LEAF, "SymbolErrorCounter")]
    ack("counter-saturated", "gpu-002 mlx5_0[1]", "--ticket", "OPS 9", "--until", str(T0 + 600), now=T0 + 400).ok(0)  # by its other end
    assert [x["seen"] for x in listed(T0 + 400)] == [False, True]
    look(T0 + 240, DATA).ok(0)  # it is gone, and stays a note while it is held
    assert (listed(T0 + 400)[1]["seen"], listed(T0 + 400)[1]["last_seen"]) == (False, "2023-11-14T22:16:20Z")
    ack("--remove", "counter-saturated", "gpu-002 mlx5_0[1]", now=T0 + 400).ok(0)
    for words, why in ((("counter-saturated", "leaf-01[2]"), "'counter-saturated' is not acknowledged at 'leaf-01[2]'; `ibqos ack --list"),
                       (("link-flaps", "leaf-02[1]"), "is not acknowledged at 'leaf-02[1]'"), (("link-flaps", "leaf-09"), "no node is called"),
                       (("link-flop", "leaf-02"), "no finding has the code")):
        assert why in ack("--remove", *words, now=T0 + 400).ok(3).stderr
    for words, why in ((("--list", "--remove"), "do not go together"), (("--list", "link-flaps"), "one argument too many"),
                       (("--remove", "link-flaps"), "is missing"), (("--list", "--ticket", "T"), "not of --list"),
                       (("--remove", "link-flaps", "leaf-02", "--until", "2036-01-01"), "not of --remove")):
        r = ack(*words, now=T0 + 400).ok(3)
        assert why in r.stderr and not r.stdout
    assert "--state is needed" in fab.ibqos("ack", "--list").ok(3).stderr
    assert "`ibqos audit --state` makes it" in fab.ibqos("ack", "--list", "--state", fab.path("none")).ok(3).stderr
    with open(look.state, encoding="utf-8") as f:  # as an older ibqos kept it
        old = re.sub(r"^(ack \S+ \S+ \S+ \d+ \S+) .*$", r"\1", f.read(), flags=re.M)
    with open(look.state, "w", encoding="utf-8") as f:
        f.write(old)
    row, = listed(T0 + 400)
    assert (row["ticket"], row["by"], row["since"]) == ("OPS 8", None, None)
    assert "unknown" in ack("--list", now=T0 + 400).ok(0).stdout


def test_error_thresholds(fab, look):
    path = fab.path("error_thresholds")
    with open(path, "w", encoding="ascii") as file:
        file.write("# ours\nSymbolErrorCounter=10\nPortXmitDiscards=0x64\nNoSuchCounter=5\nVL15Dropped=many\n\nPortRcvErrors\n")
    rules = [DATA, at(LEAF, "attr=PortCounters : set SymbolErrorCounter=11 PortXmitDiscards=100"),
             at(HOST, "attr=PortCounters : set SymbolErrorCounter=10 PortXmitDiscards=101")]
    args = ("--error-thresholds", path)
    r = look(T0, *rules, args=args).ok(1)
    assert sorted((x["line"], x["got"]) for x in r.json["findings"] if x["code"] == "thresholds-bad") == [
        (4, "no counter has this name"), (5, "no whole number behind the '='"), (7, "no '=' in it")]
    over = [(x["node"], x["what"], x["wanted"], x["got"]) for x in r.json["findings"] if x["code"] == "counter-over-threshold"]
    assert sorted(over) == [(HOST[0], "PortXmitDiscards", "at most 100", "101"), (LEAF[0], "SymbolErrorCounter", "at most 10", "11")]
    # of the adapter ibqueryerrors says the same; of switches it asks all ports together
    with open(path, "w", encoding="ascii") as file:  # it dies of a line without '='
        file.write("# ours\nSymbolErrorCounter=10\nPortXmitDiscards=0x64\n")
    fab.rules(*LACKS, *rules)
    said = fab.tool("ibqueryerrors", "--threshold-file", path).ok(0, 1).stdout
    assert re.findall(r"\[(\w+ == \d+)\]", said) == ["PortXmitDiscards == 101"]
    r = look(T0 + 60, *rules, args=(*args, "--hold", "0", "--suppress", "SymbolErrorCounter,PortXmitDiscards"))
    assert "counter-over-threshold" not in [c for c, *_ in found(r)]


def test_details_are_of_the_right_total(look):
    rules = [DATA, at(LEAF, "attr=PortRcvErrorDetails : answer set PortLocalPhysicalErrors=40 PortLoopingErrors=20"),
             at(HOST, "attr=PortXmitDiscardDetails : answer set PortInactiveDiscards=300")]
    rules = [x.replace("answer set", "status=0 answer set") for x in rules]
    look(T0, *rules).ok(0)
    r = look(T0 + 300, *rules, at(LEAF, "attr=PortCounters : set PortRcvErrors=60"), at(HOST, "attr=PortCounters : set PortXmitDiscards=300")).ok(2)
    details = {x["what"]: x["detail"] for x in r.json["findings"]}
    assert details == {"PortRcvErrors": "PortLocalPhysicalErrors 40 in all; PortLoopingErrors 20 in all",
                       "PortXmitDiscards": "PortInactiveDiscards 300 in all"}


def test_time_without_credits(look):
    """Quantum, tick 7: 8 bytes a tick. 4x EDR sends 12.5e9 bytes a second, so 300 s are 4.6875e11 ticks."""
    quantum = ["node=leaf-* attr=NodeInfo : set DevId=0xd2f0 VendorId=0x2c9", "attr=PortSamplesControl : answer status=0 set Tick=7",
               *device("PortCountersExtended")]
    look(T0, *quantum).ok(0)
    waits = [at(LEAF, "attr=PortCountersExtended : set PortXmitWait=281250000000"), at(HOST, "attr=PortCountersExtended : set PortXmitWait=5")]
    r = look(T0 + 300, *quantum, *waits).ok(0)
    c = r.json["counters"]
    assert (c["waiting_known"], c["waiting_10"], c["waiting_50"]) == (ports(look.f) - 1, 1, 1)  # an adapter's tick is not known
    r = look(T0 + 600, *quantum, at(LEAF, "attr=PortCountersExtended : set PortXmitWait=562500000000"), waits[1], args=("--congestion", "60")).ok(1)
    assert found(r) == [("port-congested", *LEAF, "PortXmitWait")] and r.json["findings"][0]["got"] == "60 % of 5 min"


def test_silent_device(look):
    """One switch answers no counters: unknown, by name; the others are judged."""
    r = look(T0, DATA, "node=leaf-02 class=pma : timeout", args=("-t", "50")).ok(3)
    assert [(c, n) for c, n, *_ in found(r)] == [("counters-unanswered", "leaf-02")]
    assert r.json["counters"]["ports"] - r.json["counters"]["read"] == 3
    row, = [c for c in r.json["counters_coverage"] if c["item"] == "PortCounters"]
    assert row["asked"] == row["answered"] + row["timed_out"] + row["not_asked"]


def test_totals_are_those_of_perfquery(fab, look):
    values = [at(LEAF, "attr=PortCounters : set SymbolErrorCounter=11 LinkDownedCounter=3 PortXmitDiscards=77 VL15Dropped=5"),
              at(HOST, "attr=PortCounters : set LinkErrorRecoveryCounter=255 PortRcvErrors=65535 ExcessiveBufferOverrunErrors=15"),
              "attr=PortCountersExtended : set PortXmitData=123456789012345 PortRcvPkts=7"]
    r = look(T0, *values, args=("--all",))
    got = {(x["node"], x["port"], x["counter"]): x["value"] for x in r.json["counter_totals"]}
    nodes = {n["name"]: n for n in fab.ibqos("discover", "--format", "json").json["nodes"]}
    lids = {n: nodes[n].get("lid") for n in nodes}
    for c in fab.net.cables:
        for node, port in ((c.a.desc, c.ap), (c.b.desc, c.bp)):
            for attribute, args in (("PortCounters", ()), ("PortCountersExtended", ("-x",))):
                guid = f"0x{int(nodes[node]['node_guid'], 16):x}"
                said = fab.tool("perfquery", *args, "-G", guid, str(port)).ok().stdout if lids[node] is None else \
                    fab.tool("perfquery", *args, str(lids[node]), str(port)).ok().stdout
                for name, value in re.findall(r"^(\w+):\.*(\d+)$", said, re.M):
                    ext = attribute == "PortCountersExtended"
                    if "Select" in name or "cast" in name or (re.search(r"Data|Pkts", name) and name not in ("PortXmitData", "PortRcvPkts")):
                        continue  # MADs are counted meanwhile
                    if name == "QP1Dropped" and not ext:
                        assert value == re.search(r"VL15Dropped:\.*(\d+)", said)[1]  # libibmad reads it at the wrong place
                        continue
                    if not ext and re.search(r"Data|Pkts", name):
                        continue  # 32 bits of what ibqos reads in 64
                    assert got.get((node, port, name), 0) == int(value), (node, port, name)


def test_nothing_is_cleared(look):
    r = look(T0, DATA).ok(0)
    assert r.sent.sets == 0 and r.sent.gets > 0


POLICY = """version: 1
classes:
  - {name: all, sl: 0, share: 100%, default: true}
counters:
"""


def write_policy(path, counters):
    path.write_text(POLICY + "".join(f"  {line}\n" for line in counters), encoding="ascii")
    return str(path)


# One counter's growth in five minutes under rates of the policy, EDR links: (lines, counter, growth, code)
RATES = [
    (["rates: [{counter: PortXmitDiscards, count: 1000, seconds: 300}]"], "PortXmitDiscards", 999, None),
    (["rates: [{counter: PortXmitDiscards, count: 1000, seconds: 300}]"], "PortXmitDiscards", 1000, "port-discards"),
    (["rates: [{counter: PortXmitDiscards, count: 10, seconds: 300}]"], "PortXmitDiscards", 10, "port-discards"),
    # the speed's own goes before, whatever the order
    (["rates:", "  - {counter: PortXmitDiscards, speed: EDR, count: 50, seconds: 300}",
      "  - {counter: PortXmitDiscards, count: 5000, seconds: 300}"], "PortXmitDiscards", 50, "port-discards"),
    (["rates:", "  - {counter: PortXmitDiscards, speed: HDR, count: 50, seconds: 300}"], "PortXmitDiscards", 199, None),
    (["rates:", "  - {counter: PortXmitDiscards, speed: HDR, count: 5000, seconds: 300}"], "PortXmitDiscards", 200, "port-discards"),
    # what has no rate of ours
    (["rates: [{counter: PortRcvSwitchRelayErrors, count: 100, seconds: 300}]"], "PortRcvSwitchRelayErrors", 100, "counter-over-threshold"),
    (["rates: [{counter: SymbolErrorCounter, count: 5, seconds: 300}]"], "SymbolErrorCounter", 5, "link-ber-high"),
    (["rates: [{counter: SymbolErrorCounter, count: 6, seconds: 300}]"], "SymbolErrorCounter", 5, None),
    (["rates: [{counter: LinkDownedCounter, count: 1, seconds: 86400}]"], "LinkDownedCounter", 1, "link-flaps"),
    (["suppress: [PortXmitDiscards, VL15Dropped]"], "PortXmitDiscards", 60000, None),
    (["suppress: VL15Dropped"], "PortXmitDiscards", 60000, "port-discards"),
]


@pytest.mark.parametrize("lines,counter,growth,code", RATES)
def test_rates_of_the_policy(look, tmp_path, lines, counter, growth, code):
    args = ("--policy", write_policy(tmp_path / "policy.yaml", lines))
    look(T0, DATA, args=args).ok(0)
    r = look(T0 + 300, DATA, at(HOST, f"attr=PortCounters : set {counter}={growth}"), args=args)
    assert [c for c, *_ in found(r)] == ([code] if code else []) and r.returncode == (1 if code else 0), r


def test_what_is_wrong_with_counters_of_a_policy(ibqos, tmp_path):
    path = write_policy(tmp_path / "policy.yaml", [
        "rates:", "  - {counter: PortXmitDiscards, count: 10, seconds: 300}", "  - {counter: PortXmitDiscards, count: 20, seconds: 60}",
        "  - {counter: PortXmitDrops, count: 20, seconds: 60}", "  - {counter: VL15Dropped, speed: EDR, count: 0, seconds: 60}",
        "  - {counter: VL15Dropped, count: 1}", "  - {counter: QP1Dropped, count: 1, seconds: 5}",
        "suppress: QP1Dropped", "busy: 101"])
    found_ = ibqos("lint", path, "--format", "json").ok(2).json["findings"]
    assert [(f["code"], f["line"]) for f in found_ if f["severity"] != "note"] == [
        ("policy-rate-clash", 7), ("policy-range", 8), ("policy-range", 9), ("policy-key-missing", 10), ("policy-range", 13),
        ("policy-rate-unused", 11)]


def test_a_policy_without_links_or_counters_says_nothing(fab, tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text("version: 1\nclasses:\n  - {name: all, sl: 0, share: 100%, default: true}\n", encoding="ascii")
    assert "has no 'links'" in fab.ibqos("audit", "--policy", str(path)).ok(3).stderr


def test_a_counter_that_goes_down_by_one(look):
    """Nobody cleared it, and 59,999 new errors did not come; nor is the link good."""
    look(T0, DATA, at(LEAF, "attr=PortCounters : set SymbolErrorCounter=60000")).ok(0)
    r = look(T0 + 300, DATA, at(LEAF, "attr=PortCounters : set SymbolErrorCounter=59999")).ok(0)
    assert r.json["findings"] == [] and r.json["counters"]["cleared"] == r.json["counters"]["anew"] == 0
    r = look(T0 + 40_000, DATA, at(LEAF, "attr=PortCounters : set SymbolErrorCounter=59999")).ok(0)
    assert r.json["counters"]["ber_good"] == ports(look.f) - 1 and r.json["counters"]["ber_between"] == 1


def test_64_bits_all_ones_are_no_count(look):
    """What a device says of counters that it does not have: not known, no flood of errors."""
    rules = device("PortCountersExtended")
    ones = at(HOST, "attr=PortCountersExtended : set " + " ".join(f"{c}={2**64 - 1}" for c in ("SymbolErrorCounter", "PortRcvErrors")))
    look(T0, *rules).ok(0)
    r = look(T0 + 40_000, *rules, ones).ok(3)
    assert {(x["code"], x["what"]) for x in r.json["findings"]} == {
        ("counter-not-counted", "SymbolErrorCounter of 1 ports"), ("counter-not-counted", "PortRcvErrors of 1 ports")}
    assert r.json["counters"]["ber_unknown"] == 1 and r.json["counters"]["ber_good"] == ports(look.f) - 1
    r = look(T0 + 40_300, *rules, ones, args=("--suppress", "SymbolErrorCounter,PortRcvErrors"))
    assert r.json["counters"]["saturated"] == 0


@pytest.mark.parametrize("rule", ["attr=PortCountersExtended : status=0xc", "attr=PortCounters : status=0x1c",
                                  "attr=ClassPortInfo : timeout", "attr=PortCountersExtended : timeout"])
def test_a_device_that_answers_only_part(look, rule):
    """It says that it has an attribute and does not answer it: unknown by name, whatever it answers otherwise."""
    look(T0, DATA).ok(0)
    r = look(T0 + 300, DATA, f"node=leaf-02 {rule}", args=("-t", "50")).ok(3)
    assert [(c, n) for c, n, *_ in found(r)] == [("counters-unanswered", "leaf-02")]
    assert r.json["counters"]["ports"] - r.json["counters"]["read"] == 3
