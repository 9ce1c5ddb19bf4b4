# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Devices that ibsim is not: other speeds, larger arbitration tables, optimized SL2VL, 64-bit counters."""
import os
import re
import signal
import time

import pytest

from kit import policy, run

CLIENT = os.path.join(run.TOP, "tests/tools/umad_client.py")

SMALL = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=0, switch_ports=8)


def found(r):
    return [(x["code"], x["node"], x["port"]) for x in r.json["findings"] if x["severity"] != "note"]


def links(f):
    return [(x["speed"], x["width"], x["gbps"]) for x in f.ibqos("discover", "--format", "json").ok().json["links"]]


# --- speeds ---

# a ConnectX-3 and a SwitchX: of the devices whose vendor attribute 0xff90 libibnetdisc asks for
FDR10_DEVICES = ["node=gpu-* attr=NodeInfo : set DevId=0x1003", "node=leaf-* attr=NodeInfo : set DevId=0xc738",
                 "node=spine-* attr=NodeInfo : set DevId=0xc738"]
QDR = ("set LinkSpeedActive=4 LinkSpeedSupported=7 LinkSpeedEnabled=7 LinkSpeedExtActive=0 LinkSpeedExtSupported=0 "
       "LinkSpeedExtEnabled=0 LinkWidthSupported=3")
FDR10 = "set StateChangeEnable=0 LinkSpeedSupported=1 LinkSpeedEnabled=1 LinkSpeedActive="


def test_fdr10(up):
    """QDR in PortInfo, and FDR10 in the vendor's attribute: seen by ibqos and by infiniband-diags."""
    f, _ = up(capabilities=False, **SMALL)
    devices = [*FDR10_DEVICES, f"attr=PortInfo : {QDR}"]
    f.rules(*devices, f"attr=MlnxExtPortInfo : {FDR10}1")
    assert links(f) == [("FDR10", "4x", 40)] * 6
    f.ibqos("audit").ok()
    assert f.tool("iblinkinfo").ok().stdout.count("FDR10") == 2 * 6
    # one link falls back to QDR, from both ends
    f.rules(*devices, f"attr=MlnxExtPortInfo : {FDR10}1", f"node=gpu-002 attr=MlnxExtPortInfo : {FDR10}0",
            f"node=leaf-01 port=2 attr=MlnxExtPortInfo : {FDR10}0")
    r = f.ibqos("audit", "--format", "json").ok(2)
    assert [(x["code"], x["wanted"], x["got"]) for x in r.json["findings"]] == [("link-speed-low", "FDR10", "QDR")]
    assert {("gpu-002 mlx5_0", 1), ("leaf-01", 2)} == {(x[k], x[p]) for x in r.json["findings"]
                                                       for k, p in (("node", "port"), ("peer", "peer_port"))}
    # devices that cannot say so run QDR, and that is all they can
    f.rules(f"attr=PortInfo : {QDR}")
    assert links(f) == [("QDR", "4x", 32)] * 6
    f.ibqos("audit").ok()


# CapabilityMask bits 14 and 15; CapabilityMask2: 2x, HDR, NDR, ExtendedSpeeds2, XDR (docs/links.md)
XDR = ("set CapMask=0x0251c848 CapMask2=0x1c30 LinkSpeedExtActive=0 LinkSpeedExtSupported=15 LinkSpeedExtEnabled=31 "
       "LinkWidthSupported=3 LinkSpeedExtSupported2=1 LinkSpeedExtEnabled2=7 LinkSpeedExtActive2=")


def test_xdr(up):
    f, _ = up(capabilities=False, **SMALL)
    f.rules(f"attr=PortInfo : {XDR}1")
    assert links(f) == [("XDR", "4x", 800)] * 6
    f.ibqos("audit").ok()
    slow = "LinkSpeedExtActive2=0 LinkSpeedExtActive=8"
    f.rules(f"attr=PortInfo : {XDR}1", f"node=gpu-004 attr=PortInfo : set {slow}",
            f"node=leaf-02 port=2 attr=PortInfo : set {slow}")
    r = f.ibqos("audit", "--format", "json").ok(2)
    assert [(x["code"], x["wanted"], x["got"]) for x in r.json["findings"]] == [("link-speed-low", "XDR", "NDR")]
    # without ExtendedSpeeds2 the bits are reserved: what is left is what the other fields say
    f.rules(f"attr=PortInfo : {XDR}1", "attr=PortInfo : set CapMask2=0x0430 LinkSpeedExtActive=8")
    assert links(f) == [("NDR", "4x", 400)] * 6


def test_names_of_our_own_are_at_their_bits(up):
    """Byte 56 of PortInfo: 1 reserved, 2 Active2, 2 Supported2, 3 Enabled2; bytes 60-61 CapabilityMask2."""
    f, _ = up(**SMALL)

    for field, value, byte, expect in (("LinkSpeedExtActive2", 0, 56, 0x9f), ("LinkSpeedExtSupported2", 1, 56, 0xef),
                                       ("LinkSpeedExtEnabled2", 2, 56, 0xfa), ("CapMask2", 0x1c30, 60, 0x1c)):
        f.rules("attr=PortInfo : set byte56=0xff byte60=0 byte61=0", f"attr=PortInfo : set {field}={value}")
        out = f.run("/usr/bin/python3", CLIENT, "recv", 100, "0x15", env={"UMAD_CLIENT_DUMP": "1"}).ok().stdout
        data = bytes.fromhex(re.search(r"data ([0-9a-f]+)", out)[1])
        assert data[byte] == expect, (field, data[byte])


# --- VL arbitration tables of more than 32 entries ---


def table(first, entries=40):
    return ",".join(f"{i % 4}:{first + i}" for i in range(entries))


def test_second_blocks_of_vlarb(up):
    """Caps of 40 at the leaves, 33 and 64 at the spine, 8 at hosts: OpenSM's own tables verify clean, and one entry
    in the second block of one table of one port is found."""
    caps = ["node=leaf-* : vlarb-caps=40,40", "node=spine-01 : vlarb-caps=33,64"]
    f, sm = up(options={"qos": "TRUE", "qos_vlarb_low": table(1), "qos_vlarb_high": table(101)}, rules=caps, **SMALL)
    f.rules(*caps)
    verify = ("verify", "--opensm-conf", sm.config, "--format", "json")
    r = f.ibqos(*verify).ok(0)
    asked = {c["item"]: c["asked"] for c in r.json["coverage"]}["VLArb"]
    # 4 hosts 2 blocks; leaves' 3 ports and port 0 4 blocks each, as the spine's 2 ports and port 0: of a table of 64
    # OpenSM writes nothing but zeros into the second block (its length is cap % 32)
    assert asked == 4 * 2 + 2 * 4 * 4 + 3 * 4
    text = f.tool("smpquery", "-D", "vlarb", "0,1", "8").ok().stdout
    weights = [[int(w, 16) for w in re.findall(r"0x(\w+)", line)] for line in text.splitlines() if line.startswith("WEIGHT")]
    assert sum(weights, []) == [*range(1, 41), *range(101, 141)]
    for block, entry in ((2, 7), (4, 0)):
        f.rules(*caps, f"node=leaf-02 port=8 attr=VLArb mod=0x000{block}0008 : set entry{entry}=5:9")
        r = f.ibqos(*verify).ok(2)
        assert found(r) == [("vlarb-differs", "leaf-02", 8)] and r.json["ports"]["differ"] == 1
        assert "5:9" in r.json["findings"][0]["got"] and "5:9" not in r.json["findings"][0]["wanted"]


def test_vlarb_set_that_a_device_refused(up):
    """What OpenSM sent to a port that refused it is not in the port."""
    caps = ["node=leaf-01 : vlarb-caps=40,40"]
    f, sm = up(options={"qos": "TRUE", "qos_vlarb_low": table(1)},
               rules=[*caps, "node=leaf-01 port=1 attr=VLArb mod=0x00020001 method=set : status=0x1c"], **SMALL)
    f.rules(*caps)
    r = f.ibqos("verify", "--opensm-conf", sm.config, "--format", "json").ok(2)
    assert found(r) == [("vlarb-differs", "leaf-01", 1)]
    assert "ERR 3111" in sm.log()


# --- optimized SL2VL programming ---

OPTIMIZED = {"use_optimized_slvl": "TRUE", "qos": "TRUE"}
MIXED = ["node=gpu-00[13]* attr=PortInfo : set VLCap=3", "node=leaf-* : optimized-sl2vl", "node=spine-* : optimized-sl2vl"]


def sl2vl_sets(sm):
    sm.stop()
    return [int(re.search(r"mod=(0x\w+)", line)[1], 16) for line in sm.sent().lines if "attr=0x0017" in line]


def test_optimized_sl2vl_verifies_clean(up):
    """Real OpenSM programs whole switches with one Set, and ports of other OperationalVLs with one more each."""
    f, sm = up(options=OPTIMIZED, rules=MIXED, **SMALL)
    f.rules(*MIXED)
    path = policy.write(f, sm)
    f.ibqos("apply", path, "--state-dir", f.path("state")).ok()
    r = f.ibqos("verify", path, "--format", "json").ok(0)
    assert {c["item"]: c["answered"] for c in r.json["coverage"]}["SL2VL"] == 103
    # ports 2 and 8 of a leaf have 8 VLs and port 1 has 4: the most common is 8
    assert "OptSLtoVLMapping:................1" in f.tool("smpquery", "-D", "switchinfo", "0,1").ok().stdout
    sets = sl2vl_sets(sm)
    assert set(sets) == {0, 0x30000, 0x20001} and sets.count(0x30000) >= 3 and sets.count(0x20001) >= 2


def test_optimized_sl2vl_one_set_lost(up):
    """The Set for a whole switch is refused: all its ports with a link differ, and no other port."""
    f, sm = up(options=dict(OPTIMIZED, qos_sl2vl=",".join(["2"] * 16)),
               rules=["node=leaf-* : optimized-sl2vl", "node=leaf-02 attr=SL2VL mod=0x30000 : status=0x1c"], **SMALL)
    f.rules("node=leaf-* : optimized-sl2vl")
    r = f.ibqos("verify", "--opensm-conf", sm.config, "--format", "json").ok(2)
    assert {x for x in found(r) if x[0] == "sl2vl-differs"} == {("sl2vl-differs", "leaf-02", p) for p in (0, 1, 2, 8)}
    assert "ERR 3111" in sm.log()


def test_optimized_sl2vl_with_folding(up):
    """A map of 8 VLs, hosts of VL0-1: leaves' maps to hosts are folded, that to the spine is not."""
    fold = ["node=gpu-* attr=PortInfo : set VLCap=2", "node=leaf-* : optimized-sl2vl",
            "node=leaf-* port=0 attr=PortInfo : set VLCap=2 OperVLs=2"]
    f, sm = up(options=dict(OPTIMIZED, qos_sl2vl="0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,7"), rules=fold, **SMALL)
    f.rules(*fold)
    # OpenSM 3.3.23 compares a port of other OperVLs with what it held before the Set for all ports, and sends nothing
    # in the same sweep: two sweeps
    sm.hup()
    sm.hup()
    f.ibqos("verify", "--opensm-conf", sm.config, "--format", "json").ok(0)
    text = f.tool("smpquery", "-D", "sl2vl", "0,1", "8").ok().stdout
    assert "in  1, out  8: | 0| 1| 2| 3| 4| 5| 6| 7|" in text
    assert "in  1, out  1: | 0| 1| 0| 1| 0| 1| 0| 1|" in f.tool("smpquery", "-D", "sl2vl", "0,1", "1").ok().stdout


def test_optimized_sl2vl_folds_port_0_by_the_most_common(up):
    fold = ["node=gpu-* attr=PortInfo : set VLCap=2", "node=leaf-* : optimized-sl2vl"]
    f, sm = up(options=dict(OPTIMIZED, qos_sl2vl="0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,7"), rules=fold, **SMALL)
    f.rules(*fold)
    sm.hup()
    sm.hup()
    f.ibqos("verify", "--opensm-conf", sm.config, "--format", "json").ok(0)
    # a third table is neither's
    f.rules(*fold, "node=leaf-01 attr=SL2VL mod=0x0100 : set SL1=7")
    found = f.ibqos("verify", "--opensm-conf", sm.config, "--format", "json").ok(2).json["findings"]
    assert [(x["code"], x["node"], x["port"], x["what"]) for x in found] == [("sl2vl-differs", "leaf-01", 0, "SL2VL, in-port 1")]


def test_map_of_zeros_at_port_0_takes_turns(up):
    """OpenSM sends an enhanced port 0 the map of the other ports, and its own one sweep later: neither differs."""
    f, sm = up(leaves=1, spines=1, hosts_per_leaf=2, uplinks=1, options={
        "qos": "TRUE", "qos_sl2vl": "1,1,2,3,0,0,0,0,0,0,0,0,0,0,0,0", "qos_sw0_sl2vl": ",".join(16 * ["0"])})
    lid, seen = lid_of(f, "leaf-01"), set()
    for _ in range(4):
        sm.hup()
        text = f.tool("smpquery", "sl2vl", lid, "0").ok().stdout
        seen.add(re.search(r"in +0, out +0: (.*)", text)[1].replace(" ", ""))
        v = f.ibqos("verify", "--opensm-conf", sm.config, "--format", "json").ok(0, 1).json
        assert v["ports"]["differ"] == 0 < v["ports"]["looked_at"]
    assert seen == {"|" + "0|" * 16, "|1|1|2|3|" + "0|" * 12}


def test_switch_that_only_readers_see_as_optimized(up):
    """OpenSM does not see the bit, and programs each pair of ports: the tables are the same."""
    f, sm = up(options=OPTIMIZED, **SMALL)
    f.rules("node=leaf-* : optimized-sl2vl")
    f.ibqos("verify", "--opensm-conf", sm.config).ok(0)
    assert not [m for m in sl2vl_sets(sm) if m & 0x30000]


def test_set_for_all_ports_to_a_switch_that_does_not_know_it(fabric):
    """The bit alone, without what it means: OpenSM's process ends, so that no test rests on such a switch."""
    f = fabric(**SMALL)
    with pytest.raises(run.KitError, match="which no rule gives optimized-sl2vl"):
        f.opensm(options=OPTIMIZED, rules=["node=leaf-* attr=SwitchInfo : set OptSLtoVLMapping=1"])


# --- counters ---


def lid_of(f, name):
    return re.search(rf'"{name}" .*port 0 lid (\d+)', f.tool("ibnetdiscover").ok().stdout)[1]


def fields(f, *argv, now=None):
    env = {"IBQOS_OVERLAY_NOW": str(now)} if now else {}
    out = f.tool("perfquery", *argv, env=env).ok().stdout
    return dict(re.findall(r"^(\w+):\.*(\S+)$", out, re.M))


def test_64_bit_error_counters(up):
    """ClassPortInfo's CapabilityMask2 bit 1 says that PortCountersExtended has them."""
    f, _ = up(**SMALL)
    lid = lid_of(f, "leaf-01")
    f.rules("attr=ClassPortInfo : set CapMask=0x1600",
            "node=leaf-01 port=8 attr=PortCountersExtended : set SymbolErrorCounter=5000000000 QP1Dropped=3")
    assert "SymbolErrorCounter" not in fields(f, "-x", lid, "8")
    f.rules("attr=ClassPortInfo : set CapMask=0x1600 CapMask2=2",
            "node=leaf-01 port=8 attr=PortCountersExtended : set SymbolErrorCounter=5000000000 QP1Dropped=3")
    assert fields(f, "-x", lid, "8")["SymbolErrorCounter"] == "5000000000"
    assert fields(f, "-x", lid, "8")["QP1Dropped"] == "3"
    assert fields(f, "-x", lid, "1")["SymbolErrorCounter"] == "0"


def test_extended_speeds_counters_in_both_forms(up):
    """ibsim has no such attribute; PortInfoExtended's FECModeActive says which form it has (2: RS-FEC)."""
    f, _ = up(**SMALL)
    lid = lid_of(f, "leaf-01")
    plain = ["node=leaf-01 port=8 attr=PortExtendedSpeedsCounters : answer set SyncHeaderErrorCounter=3 "
             "FECUncorrectableBlockCtrLane11=4000000000"]
    f.rules(*plain)
    got = fields(f, "-T", lid, "8")
    assert (got["PortSelect"], got["SyncHeaderErrorCounter"], got["FECUncorrectableBlockCtrLane11"]) == ("8", "3", "4000000000")
    # another port is not answered, as before
    assert f.tool("perfquery", "-t", "50", "-T", lid, "1").returncode != 0
    f.rules("attr=ClassPortInfo : set CapMask=0x5600", "attr=PortInfo : set CapMask=0x0251c848 CapMask2=0x0032", "attr=PortInfoExtended : answer set CapMask=1 FECModeActive=2",
            "node=leaf-01 port=8 attr=PortExtendedSpeedsCounters : answer set FECCorrectableSymbolCtrLane3=7 "
            "PortFECCorrectableBlockCtr=123456789 PortFECUncorrectableBlockCtr=11")
    got = fields(f, "-T", lid, "8")
    assert got["PortFECUncorrectableBlockCtr"] == "11" and got["PortFECCorrectableBlockCtr"] == "123456789", got
    assert got["FECCorrectableSymbolCtrLane3"] == "7"


@pytest.mark.parametrize("rule, at", [
    ("grow SymbolErrorCounter=2.5/s since=1000", {999: 0, 1000: 0, 1001: 2, 1002: 5, 1100: 250}),
    ("set SymbolErrorCounter=40 grow SymbolErrorCounter=10/s since=1000", {1000: 40, 1010: 140}),
    # 16 bits: stays there
    ("grow SymbolErrorCounter=100/s since=1000", {1655: 65500, 1656: 65535, 99999: 65535}),
    ("grow SymbolErrorCounter=100/s since=1000 wrap", {1655: 65500, 1656: 64, 1700: 4464}),
    ("set SymbolErrorCounter=7 grow SymbolErrorCounter=10/s since=1000 reset=1050", {1049: 497, 1050: 0, 1060: 100}),
    # 8 and 4 bits
    ("grow LinkDownedCounter=1/s since=1000", {1254: 254, 1256: 255}),
    ("grow LocalLinkIntegrityErrors=1/s since=1000", {1014: 14, 1016: 15}),
    # 32 bits: NDR at full rate fills PortXmitData in a third of a second
    ("grow PortXmitWait=12500000000/s since=1000", {1000: 0, 1000.25: 3125000000, 1001: 4294967295}),
])
def test_counters_grow(up, rule, at):
    f, _ = up(**SMALL)
    lid = lid_of(f, "leaf-01")
    f.rules(f"node=leaf-01 port=8 attr=PortCounters : {rule}")
    name = re.search(r"grow (\w+)=", rule)[1]
    assert {now: int(fields(f, lid, "8", now=now)[name]) for now in at} == at
    assert int(fields(f, lid, "1", now=99999)[name]) == 0


def test_64_bit_counters_grow(up):
    f, _ = up(**SMALL)
    lid = lid_of(f, "leaf-01")
    f.rules("node=leaf-01 port=8 attr=PortCountersExtended : set PortXmitData=0 grow PortXmitData=12500000000/s since=1000",
            "node=leaf-01 port=8 attr=PortCountersExtended : set PortRcvData=18446744073709551000 grow PortRcvData=10/s since=1000")
    got = fields(f, "-x", lid, "8", now=87400)
    assert (got["PortXmitData"], got["PortRcvData"]) == (str(12500000000 * 86400), str(2**64 - 1))


def test_counters_grow_by_the_clock_across_processes(up):
    """Without since= from when the rules were written: two readings by two processes, the second higher."""
    f, _ = up(**SMALL)
    lid = lid_of(f, "leaf-01")
    f.rules("attr=PortCounters : set PortXmitWait=0 grow PortXmitWait=1000/s")
    begin = time.time()
    first = int(fields(f, lid, "8")["PortXmitWait"])
    time.sleep(0.3)
    second = int(fields(f, lid, "8")["PortXmitWait"])
    assert 0 <= first and 300 <= second - first <= 1000 * (time.time() - begin) + 1


# --- rules about these ---


@pytest.mark.parametrize("rule, why", [
    ("attr=PortCounters : grow PortXmitWait=5", "not a rate, as in 12.5/s: '5'"),
    ("attr=PortCounters : grow PortXmitWait=0/s", "not a rate"),
    ("attr=PortCounters : grow byte3=5/s", "not a counter: 'byte3'"),
    ("attr=0x12 : grow PortXmitWait=5/s", "grow needs attr="),
    ("attr=PortCounters : set PortXmitWait=5 wrap", "only for grow"),
    ("attr=PortCounters : grow PortXmitWait=5/s since=soon", "not a time 'soon'"),
    ("attr=PortInfo : set LinkSpeedExtActive2=4", "does not fit its field: '4'"),
    ("attr=SL2VL count=1 : answer", "no skip=, count= or prob="),
    ("node=leaf-01 : mkey=0", "a key of 0 means no check"),
    ("node=leaf-01 : protect=1", "only with mkey="),
    ("node=leaf-01 : mkey=1 protect=4", "bad number '4'"),
    ("node=leaf-01 : vlarb-caps=40", "not two sizes from 1 to 64: '40'"),
    ("node=leaf-01 : vlarb-caps=8,65", "not two sizes from 1 to 64"),
    ("attr=SL2VL : foreign=0", "bad number '0'"),
    ("attr=SL2VL : late", "needs a value: 'late'"),
    ("attr=SL2VL count=x : drop", "bad number 'x'"),
])
def test_wrong_rules_abort(fabric, rule, why):
    f = fabric(**SMALL)
    f.rules(rule)
    r = f.tool("smpquery", "-D", "nodeinfo", "0")
    assert r.returncode == -signal.SIGABRT and why in r.stderr, r
