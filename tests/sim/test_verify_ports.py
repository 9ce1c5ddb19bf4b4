# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What each kind of port must hold by OpenSM's own rules: whatever real OpenSM leaves there verifies clean, and one bit of it
that is changed is found at its port."""
import re

import pytest

from kit import routes
from tools import netgen

SMALL = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=0, switch_ports=8)
CONF = dict(qos="TRUE", qos_sl2vl="0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,15", qos_vlarb_low="0:10,1:70,2:20,3:5,7:3",
            qos_vlarb_high="0:4,5:6", qos_high_limit="2")


def verify(f, sm, *args):
    return f.ibqos("verify", "--opensm-conf", sm.config, "--format", "json", *args)


def asked(r):
    return {c["item"]: c["asked"] for c in r.json["coverage"]}


def found(r):
    return [(x["code"], x["class"], x["node"], x["port"]) for x in r.json["findings"] if x["severity"] != "note"]


@pytest.fixture
def settled(up):
    """After a second sweep: in the first one OpenSM masks tables before it has set OperationalVLs."""

    def start(caps=(), **options):
        f, sm = up(options=dict(CONF, **options), rules=list(caps), **SMALL)
        f.rules(*caps)
        sm.hup()
        return f, sm

    return start


def test_base_port_0(settled):
    """Port 0 of a switch without an enhanced one has no tables: it is not asked for any, and counts as not programmed."""
    f, sm = settled()
    with_ = verify(f, sm).ok(0)
    base = ["node=leaf-01 attr=SwitchInfo : set EnhancedPort0=0"]
    f, sm = settled(base)
    r = verify(f, sm).ok(0)
    # 9 SL2VL tables and a block each of low and high less
    assert asked(r) == dict(asked(with_), SL2VL=asked(with_)["SL2VL"] - 9, VLArb=asked(with_)["VLArb"] - 2)
    assert r.json["ports"]["excluded"] == with_.json["ports"]["excluded"] + 1
    f.rules(*base, "node=leaf-01 port=0 attr=SL2VL : set SL1=7", "node=spine-01 port=0 attr=SL2VL mod=0x0200 : set SL1=7")
    assert found(verify(f, sm).ok(2)) == [("sl2vl-differs", "drifted", "spine-01", 0)]


def test_enhanced_port_0_has_a_map_of_its_own(settled):
    f, sm = settled(qos_sw0_sl2vl="0,2,1,0,0,0,0,0,0,0,0,0,0,0,0,0")
    verify(f, sm).ok(0)
    # in-port 0 has it, the others that of the switch's ports
    for mod, sl1 in ((0x0000, 1), (0x0100, 2)):
        f.rules(f"node=leaf-01 attr=SL2VL mod={mod} : set SL1={sl1}")
        assert found(verify(f, sm).ok(2)) == [("sl2vl-differs", "drifted", "leaf-01", 0)]


def test_one_vl(settled):
    """A port of one data VL has no arbitration and no high limit, and maps each SL to VL 0 (or 15)."""
    caps = ["node=gpu-002 attr=PortInfo : set VLCap=1"]
    f, sm = settled(caps)
    r = verify(f, sm).ok(0)
    assert asked(r)["VLArb"] == 2 * (r.json["ports"]["looked_at"] - 1)
    f.rules(*caps, "node=gpu-002 attr=SL2VL : set SL1=1")
    assert found(verify(f, sm).ok(2)) == [("sl2vl-differs", "drifted", "gpu-002 mlx5_0", 1)]
    f.rules(*caps, "node=gpu-002 attr=PortInfo : set VLHighLimit=2")
    assert [x[0] for x in found(verify(f, sm).ok(2))] == ["high-limit-differs"]


@pytest.mark.parametrize("code, vls", [(1, 1), (2, 2), (3, 4), (5, 15)])
def test_folding(settled, code, vls):
    """A link of another number of VLs: both ends hold the tables folded by it."""
    caps = [f"node=gpu-002 attr=PortInfo : set VLCap={code}"] if code < 4 else ["attr=PortInfo : set VLCap=5"]
    f, sm = settled(caps)
    r = verify(f, sm).ok(0, 1)
    assert r.json["ports"]["differ"] == 0 == r.json["ports"]["unknown"]
    # what 8 VLs would have is wrong there, and only there
    f.rules(*caps, "node=gpu-002 attr=SL2VL : set SL7=7", "node=leaf-01 port=2 attr=SL2VL : set SL7=7")
    r = verify(f, sm)
    wrong = sorted({x[2:] for x in found(r) if x[0] == "sl2vl-differs"})
    assert wrong == ([("gpu-002 mlx5_0", 1), ("leaf-01", 2)] if vls < 8 else [])


@pytest.mark.parametrize("vls", ["1", "2", "3"])
def test_after_bring_up(up, vls):
    """The first sweep masks switches' tables with the OperationalVLs from before it: that is what is said, until the next one."""
    f, sm = up(options=dict(CONF, max_op_vls=vls, sweep_interval="0"), **SMALL)
    r = verify(f, sm)
    assert {x[1] for x in found(r) if x[0].endswith("differs")} <= {"awaits-sweep"} and r.json["ports"]["unknown"] == 0
    sm.hup()
    r = verify(f, sm).ok(0, 1)
    assert r.json["ports"]["differ"] == 0


def test_ports_that_are_down(up):
    """OpenSM leaves them: they are not asked for tables, whatever they hold; one that goes meanwhile is not known."""
    f, sm = up(options=CONF, console=True, **SMALL)
    sm.hup()
    whole = verify(f, sm).ok(0)
    f.console('Unlink "leaf-02"[2]')
    sm.hup()
    r = verify(f, sm).ok(0)
    assert r.json["ports"]["looked_at"] == whole.json["ports"]["looked_at"] - 2
    assert r.json["ports"]["excluded"] == whole.json["ports"]["excluded"] + 1  # the switch's; the host is not there
    f.rules("node=leaf-02 port=2 attr=SL2VL : set SL1=7")
    verify(f, sm).ok(0)


def test_planes_of_one_lid(up):
    """Two switches that say they have the same LID, as planes of one do: by directed route each is asked itself."""
    net = netgen.fat_tree(**dict(SMALL, spines=2))
    f, sm = up(net=net, options=CONF)
    sm.hup()
    lid = re.search(r'"spine-01" .*port 0 lid (\d+)', f.tool("ibnetdiscover").ok().stdout)[1]
    plane = f"node=spine-02 port=0 attr=PortInfo : set Lid={lid}"
    f.rules(plane, "node=spine-02 port=1 attr=SL2VL : set SL1=7")
    r = verify(f, sm, "--directed-route").ok(2)
    assert [x[::2] for x in found(r) if x[0] == "sl2vl-differs"] == [("sl2vl-differs", "spine-02")]
    # by LID the first plane would answer for both
    assert "spine-02" not in {x[2] for x in found(verify(f, sm)) if x[0] == "sl2vl-differs"}
    f.rules(plane, "node=spine-01 port=1 attr=SL2VL : set SL1=7")
    r = verify(f, sm, "--directed-route").ok(2)
    assert [x[::2] for x in found(r) if x[0] == "sl2vl-differs"] == [("sl2vl-differs", "spine-01")]
    f.rules(*routes.FIXED)
    assert f.ibqos("trace", "gpu-001", "gpu-004", "--directed-route", "--format", "json").ok(0, 1).json["there"]["packets"] == "arrive"
