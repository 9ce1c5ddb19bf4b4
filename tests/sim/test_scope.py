# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""--node, --switch, --hosts: only their ports and their links' other ends are asked and judged; the whole is discovered."""
import pytest

from kit import policy

SHAPE = dict(leaves=2, spines=1, hosts_per_leaf=3, uplinks=1, storage=1)
CONF = dict(qos="TRUE", qos_sl2vl="0,1,2,0,0,0,0,0,0,0,0,0,0,0,0,0", qos_vlarb_low="0:10,1:70,2:20",
            qos_vlarb_high="0:0", qos_high_limit="0")


def verify(f, sm, *args):
    return f.ibqos("verify", "--opensm-conf", sm.config, "--format", "json", *args)


def asked(result):
    return {r["item"]: r["asked"] for r in result.json["coverage"]}


@pytest.fixture
def small(up):
    return up(options=CONF, **SHAPE)


def test_a_host_before_it_goes_back(small):
    """A difference elsewhere does not count, one at the switch port that the host is cabled to does."""
    f, sm = small
    f.rules("node=gpu-003 attr=VLArb mod=0x10000 : set entry1=1:1")
    whole = verify(f, sm).ok(2)
    r = verify(f, sm, "--hosts", "gpu-001").ok(0)
    assert r.json["scope"] == {"named": "gpu-001", "nodes": 1, "ports": 1}
    assert r.json["ports"]["looked_at"] == 2 and not r.json["findings"]
    ports = f.net["leaf-01"].ports
    # the host's own SL2VL and VLArb low, high; the switch port's for each in-port
    assert asked(r) == {"PortInfo": 2, "SL2VL": 1 + ports + 1, "VLArb": 4}
    assert r.json["fabric_found"] == whole.json["fabric_found"]
    verify(f, sm, "--hosts", "gpu-[001-002,004]").ok(0)
    r = verify(f, sm, "--hosts", "gpu-[001-003]").ok(2)
    assert [(x["node"], x["port"]) for x in r.json["findings"]] == [("gpu-003 mlx5_0", 1)]
    # either end of a link names it
    f.rules("node=leaf-01 port=1 attr=SL2VL mod=0x0201 : set SL1=0")
    r = verify(f, sm, "--hosts", "gpu-001").ok(2)
    assert [(x["node"], x["port"], x["class"]) for x in r.json["findings"]] == [("leaf-01", 1, "drifted")]
    verify(f, sm, "--node", "gpu-002 mlx5_0").ok(0)
    text = f.ibqos("verify", "--opensm-conf", sm.config, "--node", "gpu-002 mlx5_0").ok(0).stdout
    assert "scope: only:\n  named: gpu-002 mlx5_0\n  nodes: 1\n" in text


def test_a_switch_by_name_and_guid(small):
    f, sm = small
    leaf, spine = f.net["leaf-02"], f.net["spine-01"]
    far = spine.to("leaf-02")[0]
    f.rules("node=leaf-01 port=1 attr=SL2VL mod=0x0201 : set SL1=0", f"node=spine-01 port={far} attr=SL2VL mod=0x01{far:02x} : set SL1=0")
    r = verify(f, sm, "--switch", "leaf-02").ok(2)
    assert [(x["node"], x["port"]) for x in r.json["findings"]] == [("spine-01", far)]  # at the other end of its uplink
    again = verify(f, sm, "--node", f"0x{leaf.guid:016x}").ok(2)
    assert again.json["findings"] == r.json["findings"] and again.json["ports"] == r.json["ports"]
    assert verify(f, sm, "--switch", "leaf-01", "--switch", "leaf-02").ok(2).json["scope"]["nodes"] == 2


def test_what_is_not_there(small):
    f, sm = small
    r = verify(f, sm, "--hosts", "gpu-01").ok(3)
    unknown = policy.codes(r)["scope-unknown"]
    assert [(x["what"], x["severity"]) for x in unknown] == [("host 'gpu-01'", "unknown")]
    assert unknown[0]["detail"].startswith("closest: 'gpu-001'") and unknown[0]["detail"].count("'gpu-") == 3
    assert "nothing was looked at" in r.stderr and "ports" not in r.json
    # the rest is looked at all the same, and the exit code tells
    f.rules("node=gpu-002 attr=VLArb mod=0x10000 : set entry1=1:1")
    r = verify(f, sm, "--hosts", "gpu-[001-002,009]").ok(2)
    assert {x["code"] for x in r.json["findings"]} == {"scope-unknown", "vlarb-differs"}
    f.rules("")
    verify(f, sm, "--hosts", "gpu-[001-002,009]").ok(3)
    r = verify(f, sm, "--switch", "gpu-001 mlx5_0").ok(3)  # no switch
    assert policy.codes(r)["scope-unknown"][0]["what"] == "switch 'gpu-001 mlx5_0'"
    r = verify(f, sm, "--switch", "leef-01").ok(3)
    assert policy.codes(r)["scope-unknown"][0]["detail"] == "closest: 'leaf-01', 'leaf-02'"
    r = verify(f, sm, "--node", "gpu-001").ok(3)  # a host's name, no node's
    assert policy.codes(r)["scope-unknown"][0]["detail"].startswith("closest: 'gpu-001 mlx5_0', ")
    r = verify(f, sm, "--hosts", "gpu-[3-1]").ok(3)
    assert policy.codes(r)["scope-bad"][0]["detail"] == "range '3-1' goes backwards"
    assert verify(f, sm, *["--node", "x"] * 65).returncode == 3


def test_silent_elsewhere(small):
    """What does not answer outside is not the scope's, what does not inside is."""
    f, sm = small
    f.rules("node=gpu-003 : timeout")
    args = ("-t", "50", "--retries", "0")
    verify(f, sm, *args).ok(3)
    verify(f, sm, "--hosts", "gpu-001", *args).ok(0)
    r = verify(f, sm, "--switch", "leaf-01", *args).ok(3)
    assert {x["code"] for x in r.json["findings"]} == {"no-answer"}
    r = verify(f, sm, "--hosts", "gpu-003", *args).ok(3)
    assert {x["code"] for x in r.json["findings"]} == {"scope-unknown"}


def test_audit(small):
    f, sm = small
    f.rules("node=gpu-003 attr=PortInfo : set LinkWidthActive=1")
    assert f.ibqos("audit", "--format", "json").ok(2).json["links"]["slow"] == 1
    r = f.ibqos("audit", "--hosts", "gpu-001", "--format", "json").ok(0)
    assert r.json["links"] == {"looked_at": 1, "slow": 0, "below_enabled": 0, "below_can": 0, "unknown": 0} and r.json["scope"]["nodes"] == 1
    r = f.ibqos("audit", "--hosts", "gpu-003", "--format", "json").ok(2)
    assert r.json["links"] == {"looked_at": 1, "slow": 1, "below_enabled": 1, "below_can": 1, "unknown": 0}
    f.ibqos("audit", "--hosts", "nobody").ok(3)
    f.ibqos("audit", "--switch", "spine-01").ok(0)


def test_by_policy(small):
    f, sm = small
    path = policy.write(f, sm)
    f.ibqos("apply", path, "--state-dir", f.path("state")).ok()
    f.rules("node=gpu-003 attr=VLArb mod=0x10000 : set entry1=1:1")
    r = f.ibqos("verify", path, "--hosts", "gpu-001", "--format", "json").ok(0)
    assert r.json["ports"]["looked_at"] == 2 and r.json["sm"]["paths_wrong"] == 0
    f.ibqos("verify", path, "--hosts", "gpu-003").ok(2)
