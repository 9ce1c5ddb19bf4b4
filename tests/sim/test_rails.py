# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Rails as snapshots of simulated fabrics, an OpenSM in each: tables that are alike, and those that are not."""
import struct

import pytest


from kit import snapfile
from tools import netgen_rails as gen

SHAPE = dict(leaves=2, spines=1, uplinks=1, switch_ports=8, speed="EDR")
QOS = {"qos": "TRUE", "qos_max_vls": "8", "qos_high_limit": "4", "qos_vlarb_high": "0:64,1:128", "qos_vlarb_low": "0:10,1:20,2:30",
       "qos_sl2vl": "0,1,2,3,0,0,0,0,0,0,0,0,0,0,0,0"}


@pytest.fixture
def rails(fabric, tmp_path):
    """Factory: rails(options of each OpenSM) -> NAME=FILE of each snapshot."""
    def make(*options, rules=None):
        out = []
        plan = gen.members(gen.hosts("gpu-", 4), range(len(options)))
        for i, net in enumerate(gen.site(plan, **SHAPE)):
            f = fabric(net=net)
            f.opensm(options=options[i])
            f.rules(*(rules or {}).get(i, []))
            path = tmp_path / f"rail{i}.snap"
            f.ibqos("snapshot", "--fabric", f"r{i}", path, "-t", "100").ok(0, 3)
            out.append(path)
        return out
    return make


def found(r):
    return [(x["code"], x["what"], x["wanted"], x["got"]) for x in r.json["findings"] if x["code"] not in ("rail-prefix", "no-answer")]


def test_tables_alike(rails, ibqos):
    r = ibqos("rails", "--format", "json", *rails(QOS, QOS)).ok(0)
    assert [(x["code"], x["what"]) for x in r.json["findings"]] == [("rail-prefix", "rails r0, r1")]
    assert r.json["compared"]["tables"] == 15 and [x["rail"] for x in r.json["rails"]] == ["r0", "r1"]


def test_tables_differ(rails, ibqos):
    """Each kind of table of each kind of port; of three rails the one that differs."""
    odd = dict(QOS, qos_sl2vl="0,2,1,3,0,0,0,0,0,0,0,0,0,0,0,0", qos_high_limit="9", qos_vlarb_low="0:10,1:20,2:31")
    r = ibqos("rails", "--format", "json", *rails(QOS, odd, QOS)).ok(1)
    kinds = ("adapters", "switch ports to adapters", "switch ports to switches")
    assert sorted(found(r)) == sorted(
        [("rail-tables", f"rail r1, SL2VL of {k}", QOS["qos_sl2vl"], odd["qos_sl2vl"]) for k in kinds] +
        [("rail-tables", f"rail r1, VLHighLimit of {k}", "4", "9") for k in kinds] +
        [("rail-tables", f"rail r1, VLArb low of {k}", QOS["qos_vlarb_low"], odd["qos_vlarb_low"]) for k in kinds])
    assert {x["detail"] for x in r.json["findings"] if x["code"] == "rail-tables"} == {"wanted is what it is in rails r0, r2"}


def test_one_kind_of_port(rails, ibqos):
    odd = dict(QOS, qos_ca_sl2vl="0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0")
    assert [x[:2] for x in found(ibqos("rails", "--format", "json", *rails(QOS, odd, QOS)).ok(1))] == \
        [("rail-tables", "rail r1, SL2VL of adapters")]


def test_fewer_lanes(rails, ibqos):
    """A rail of fewer VLs has tables folded to them: what is told is the cause."""
    r = ibqos("rails", "--format", "json", *rails(QOS, dict(QOS, max_op_vls="2"), QOS)).ok(1)
    assert {x[1] for x in found(r)} == {f"rail r1, OperationalVLs of {k}" for k in
                                        ("adapters", "switch ports to adapters", "switch ports to switches")}


def test_tables_that_were_not_answered(rails, ibqos):
    paths = rails(QOS, QOS, QOS, rules={2: ["attr=SL2VL : answer status=0xc"]})
    r = ibqos("rails", "--format", "json", *paths).ok(3)
    assert ("rail-tables-unknown", "rail r2", None, "not known: SL2VL of all ports") in found(r)


def test_one_switch_that_did_not_answer(rails, ibqos):
    """Half of the rail's ports stand for it, and say that it is as the others; the other half is not known, and never clean."""
    paths = rails(QOS, QOS, QOS, rules={1: ["node=leaf-02-r1 attr=SL2VL : answer status=0xc"]})
    r = ibqos("rails", "--format", "json", *paths).ok(3)
    assert [(x["code"], x["node"], x["port"], x["what"], x["got"]) for x in r.json["findings"] if x["severity"] != "note"] == [
        ("rail-tables-unknown", "leaf-02-r1", None, "rail r1, SL2VL", "not all answered, at 3 of the 3 cabled ports")]
    text = ibqos("rails", *paths).ok(3).stdout
    assert "unknown: r1: leaf-02-r1 to spine-01-r1[2]: tables of a rail, or of some of its ports, are not known" in text


def test_looked_at_hours_apart(rails, ibqos):
    """What changed in between would look like a difference: said, as a note."""
    paths = rails(QOS, QOS)
    snap = snapfile.read(paths[1])
    taken, = struct.unpack("<Q", snap["head"][16:24])
    snap["head"] = snap["head"][:16] + struct.pack("<Q", taken + 7200) + snap["head"][24:]
    snapfile.write(paths[1], snap)
    r = ibqos("rails", "--format", "json", *paths).ok(0)
    assert [(x["code"], x["severity"], x["what"]) for x in r.json["findings"]] == [
        ("rail-prefix", "note", "rails r0, r1"), ("rail-times", "note", "rails r0 and r1")]
