# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What must be so of any fabric, one fault at a time: audit names it at its port, and says nothing else."""
import pytest

from kit import sim
from tools import netgen, netgen_hosts

SHAPE = dict(leaves=2, spines=2, hosts_per_leaf=3, uplinks=3, storage=0, switch_ports=12)


@pytest.fixture(scope="module")
def fab(tmp_path_factory):
    with sim.Fabric(tmp_path_factory.mktemp("health"), netgen.fat_tree(**SHAPE)) as f:
        f.opensm()
        yield f


def audit(f, *args):
    return f.ibqos("audit", "--format", "json", *args)


def findings(r):
    return [(x["code"], x["node"], x["port"]) for x in r.json["findings"]]


def bundle(f, spine="spine-01"):
    """Ports of leaf-01 to a spine."""
    return f.net["leaf-01"].to(spine)


def peer(f, port):
    leaf = f.net["leaf-01"]
    node, number = leaf.cables[port].peer(leaf)
    return node.desc, number


def rule(place, text):
    return f"node={place[0].split()[0]} port={place[1]} {text}" if place[1] is not None else f"node={place[0].split()[0]} {text}"


def test_a_healthy_fabric(fab):
    fab.rules()
    assert audit(fab).ok(0).json["findings"] == []


def test_a_port_without_a_lid(fab):
    fab.rules("node=gpu-002 attr=PortInfo : set Lid=0")
    assert findings(audit(fab).ok(2)) == [("lid-missing", "gpu-002 mlx5_0", 1)]
    fab.rules("node=leaf-02 port=0 attr=PortInfo : set Lid=0")
    assert findings(audit(fab).ok(2)) == [("lid-missing", "leaf-02", 0)]


def test_a_lid_twice(fab):
    fab.rules()
    nodes = {n["name"]: n for n in fab.ibqos("discover", "--format", "json").ok(0).json["nodes"]}
    lid = nodes["leaf-01"]["lid"]
    fab.rules(f"node=gpu-002 attr=PortInfo : set Lid={lid}")
    f, = audit(fab).ok(2).json["findings"]
    assert f["code"] == "lid-twice" and f["what"] == f"LID {lid}"
    assert (f["node"], f["detail"].split(" has it")[0]) in (("gpu-002 mlx5_0", "leaf-01"), ("leaf-01", "gpu-002 mlx5_0[1]"))
    # the range of an LMC counts: the port has eight LIDs, of which others have seven
    fab.rules("node=gpu-002 attr=PortInfo : set Lid=1 LMC=3")
    others = [n for n in range(1, 9)]
    twice = [x for x in audit(fab).ok(2).json["findings"]]
    assert twice and {x["code"] for x in twice} == {"lid-twice"} and len(twice) <= len(others)


def test_a_guid_twice(fab):
    guid = {n["name"]: n["node_guid"] for n in fab.ibqos("discover", "--format", "json").json["nodes"]}["gpu-001 mlx5_0"]
    port_guid = int(guid, 16) + 1  # as ibsim gives it
    fab.rules(f"node=gpu-003 attr=NodeInfo : set PortGuid=0x{port_guid:x}")
    f, = [x for x in audit(fab).ok(2, 3).json["findings"] if x["code"] == "guid-twice"]
    assert f["node"] in ("gpu-001 mlx5_0", "gpu-003 mlx5_0") and f["what"] == f"port GUID 0x{port_guid:016x}"


def test_a_name_twice(fab):
    fab.rules("node=gpu-003 attr=NodeDesc : set NodeDesc=\"gpu-001 mlx5_0\"")
    f, = audit(fab).ok(1).json["findings"]
    assert (f["code"], f["node"], f["got"]) == ("name-twice", "gpu-001 mlx5_0", "2 nodes")
    # a node-name map tells them apart
    path = fab.path("map")
    with open(path, "w", encoding="ascii") as file:
        file.write(f'{fab.net["gpu-003"].guid:#x} "gpu-003 mlx5_0"\n')
    assert audit(fab, "--node-name-map", path).ok(0).json["findings"] == []


def test_aggregation_nodes_share_a_name(fabric):
    net = netgen.fat_tree(**SHAPE)
    netgen_hosts.add_sharp(net)
    f = fabric(net=net)
    f.opensm()
    assert not [x for x in audit(f).json["findings"] if x["code"] == "name-twice"]


@pytest.mark.parametrize("field,value,what,wanted,got", [
    ("NeighborMTU", 3, "NeighborMTU", "2048 bytes", "1024 bytes"),
    ("VLCap", 2, "VLCap, of both ends", "VL 0-7", "VL 0-1"),
    ("OperVLs", 1, "OperationalVLs", None, "VL 0"),
])
@pytest.mark.parametrize("end", [0, 1])
def test_an_uneven_bundle(fab, field, value, what, wanted, got, end):
    port = bundle(fab)[1]
    place = [("leaf-01", port), peer(fab, port)][end]
    rules = [rule(place, f"attr=PortInfo : set {field}={value}")]
    fab.rules(*rules)
    f, = [x for x in audit(fab).ok(1, 2).json["findings"] if x["code"] == "bundle-uneven"]
    assert {(f["node"], f["port"]), (f["peer"], f["peer_port"])} == {("leaf-01", port), peer(fab, port)}
    assert f["what"] == what and f["got"] == got and wanted in (None, f["wanted"])
    assert f["detail"].startswith("3 links between these two")
    # in another part of the fabric there is nothing of it
    assert not [x for x in audit(fab, "--node", "gpu-005").json["findings"] if x["code"] == "bundle-uneven"]


def test_a_whole_bundle_alike_is_even(fab):
    fab.rules(*[rule(place, "attr=PortInfo : set NeighborMTU=3") for p in bundle(fab) for place in (("leaf-01", p), peer(fab, p))])
    assert audit(fab).ok(0).json["findings"] == []


def test_drained_hosts(fab, tmp_path):
    """What is wrong at them, or at the switch's end of their cables, is a note; what is wrong elsewhere, or unknown, is not."""
    leaf = fab.net["leaf-01"]
    ends = [peer(fab, p) for p in leaf.cables]
    port = next(p for p in leaf.cables if peer(fab, p)[0].startswith("gpu-002"))
    narrow = [f"node=leaf-01 port={port} attr=PortInfo : set LinkWidthActive=1", "node=gpu-002 attr=PortInfo : set LinkWidthActive=1"]
    assert ends
    fab.rules(*narrow)
    assert findings(audit(fab).ok(2))
    path = tmp_path / "drained"
    path.write_text("# sinfo -h -t drain -o %N\ngpu-[001-002,099] login-1\n\ngpu-004,gpu-005  # racks 4, 5\n", encoding="ascii")
    r = audit(fab, "--drained", path).ok(0)
    f, = r.json["findings"]
    assert (f["code"], f["severity"]) == ("link-width-low", "note") and "host gpu-002 is drained" in f["detail"]
    assert r.json["drained"] == {"hosts": 6, "findings": 1}
    # another host's fault stays; so does what is unknown of a drained one
    other = next(p for p in leaf.cables if peer(fab, p)[0].startswith("gpu-003"))
    fab.rules(*narrow, f"node=leaf-01 port={other} attr=PortInfo : set LinkWidthActive=1", "node=gpu-003 attr=PortInfo : set LinkWidthActive=1")
    r = audit(fab, "--drained", path).ok(2)
    assert [x["severity"] for x in r.json["findings"] if x["code"] == "link-width-low"] == ["critical", "note"]
    fab.rules("node=gpu-002 attr=PortInfo : set LinkWidthActive=3")
    audit(fab, "--drained", path).ok(3)
    # a list that cannot be read is told with its line
    path.write_text("gpu-001\ngpu-[003-001]\n", encoding="ascii")
    assert f"'{path}', line 2" in audit(fab, "--drained", path).ok(3).stderr
    assert "cannot read" in audit(fab, "--drained", tmp_path / "nowhere").ok(3).stderr
