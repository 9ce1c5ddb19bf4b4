# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Each subnet manager of a fabric is asked who it is: one master, standbys below it."""
import pytest

from kit import opensm, policy

SHAPE = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=1)
CONF = dict(opensm.PAIR, qos="TRUE", qos_sl2vl="0,1,2,0,0,0,0,0,0,0,0,0,0,0,0,0", qos_vlarb_low="0:10,1:70,2:20",
            qos_vlarb_high="0:0", qos_high_limit="0")


@pytest.fixture
def pair(fabric):
    f = fabric(**SHAPE)
    master = f.opensm(options=CONF, sm_priority=5)
    standby = f.opensm(wait="STANDBY", host="gpu-002", options=CONF, sm_priority=3)
    return f, master, standby


def verify(f, sm, *args):
    return f.ibqos("verify", "--opensm-conf", sm.config, "--format", "json", *args)


def test_a_master_and_a_standby(pair):
    f, master, _ = pair
    r = verify(f, master).ok(0)
    found = {x["node"].split()[0]: (x["state"], x["priority"]) for x in r.json["sms"]}
    assert found == {"gpu-001": ("master", 5), "gpu-002": ("standby", 3)}
    assert all(x["lid"] and x["port_guid"] for x in r.json["sms"])
    text = f.ibqos("verify", "--opensm-conf", master.config).ok(0).stdout
    assert "subnet managers" in text and "standby" in text


@pytest.mark.parametrize("byte, code, severity, status", [
    ("0x33", "sm-two-masters", "critical", 2),   # priority 3, master
    ("0x72", "sm-outranked", "warning", 1),      # priority 7, standby
    ("0x51", None, None, 0),                     # discovering: it may well rank higher, for a moment
])
def test_one_that_is_not_as_it_should_be(pair, byte, code, severity, status):
    f, master, _ = pair
    f.rules(f"node=gpu-002 attr=SMInfo : set byte20={byte}")
    r = verify(f, master).ok(status)
    found = r.json["findings"]
    assert [(x["code"], x["severity"], x["node"]) for x in found] == ([(code, severity, "gpu-002 mlx5_0")] if code else [])


def test_one_that_does_not_answer(pair):
    f, master, _ = pair
    f.rules("node=gpu-002 attr=SMInfo : timeout")
    r = verify(f, master, "-t", "60", "--retries", "1").ok(3)
    assert [(x["code"], x["node"]) for x in r.json["findings"]] == [("sm-silent", "gpu-002 mlx5_0")]
    assert [x["state"] for x in sorted(r.json["sms"], key=lambda x: x["node"])] == ["master", None]


def test_one_is_no_table(up):
    f, sm = up(options=CONF, **SHAPE)
    assert "sms" not in verify(f, sm).ok(0).json


def test_equal_rank_is_decided_by_guid(fabric):
    """OpenSM's own order: of equal priority the lower port GUID is the master, so neither is told."""
    f = fabric(**SHAPE)
    first = f.opensm(options=CONF, sm_priority=4)
    f.opensm(wait="STANDBY", host="gpu-002", options=CONF, sm_priority=4)
    r = verify(f, first).ok(0)
    assert not policy.codes(r)
