# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""audit against a baseline: causes before symptoms; the worst first. Each kind of fault: test_audit_sweep.py."""
import pytest
from kit import sim
from tools.netgen_director import director
from tools.netgen_tree import rail, tree2, tree3

SHAPES = {
    "tree2": lambda: tree2(radix=16, leaves=6, spines=4, hosts_per_leaf=4, storage=4),
    "tree3": lambda: tree3(radix=8, pods=4, leaves_per_pod=4, spines_per_pod=4, cores=8, hosts_per_leaf=2),
    "rail": lambda: rail(units=2, hosts_per_unit=4, rails=4, spines=4, bundle=2),
    "director": lambda: director(lines=6, spines=3, chip_ports=18, hosts=5),
}


@pytest.fixture(scope="module")
def baselines(tmp_path_factory):
    """Snapshots of the shapes without faults, taken once."""
    made = {}

    def of(name):
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            with sim.Fabric(folder, SHAPES[name](), False, True) as f:
                f.ibqos("snapshot", folder / "good.snap").ok(0, 3)
            made[name] = folder / "good.snap"
        return made[name]

    return of


def audit(f, *args):
    """Findings but for those of a fabric that no OpenSM brought up."""
    r = f.ibqos("audit", "--format", "json", *args).ok(0, 1, 2, 3)
    return [x for x in r.json["findings"] if x["code"] not in ("no-sm", "link-not-active")]


def test_healthy_fabric_against_its_own_baseline(fabric, baselines):
    for name in SHAPES:
        assert audit(fabric(net=SHAPES[name]()), "--baseline", baselines(name)) == [], name


def test_a_baseline_of_another_fabric_is_refused(fabric, baselines, tmp_path):
    """Nothing of it is told as a fault, and nothing gets into the state file."""
    net, state = SHAPES["tree2"](), tmp_path / "state"
    for n in net.nodes.values():
        n.guid += 0x5000000
        n.sysimg = n.guid
    f = fabric(net=net)
    f.ibqos("audit", "--state", state).ok(0, 1, 2, 3)
    before = state.read_bytes()
    r = f.ibqos("audit", "--state", state, "--baseline", baselines("tree2"), "--format", "json").ok(3)
    assert "is of another fabric: fewer than half of the nodes are the same" in r.json["error"] and r.json["error"] in r.stderr
    assert [x["code"] for x in r.json["findings"]] == ["no-sm"] and state.read_bytes() == before


def test_switch_takes_its_hosts_with_it(fabric, baselines):
    net = SHAPES["tree2"]()
    behind = [n.name for n in net.hosts if net["leaf-03"] in n.peers()]
    for n in behind + ["leaf-03"]:
        net.remove_node(n)
    x, = audit(fabric(net=net), "--baseline", baselines("tree2"))
    assert (x["code"], x["node"]) == ("node-gone", "leaf-03")
    assert f"{len(behind)} adapters behind it" in x["detail"]


def test_a_switch_that_is_silent_is_not_gone(fabric, baselines):
    """Nothing tells that it is not there: its cables are up."""
    f = fabric(net=SHAPES["tree2"]())
    behind = [n.name for n in f.net.hosts if f.net["leaf-03"] in n.peers()]
    f.rules("node=leaf-03 : timeout")
    r = f.ibqos("audit", "--baseline", baselines("tree2"), "--format", "json").ok(3)
    found = [x for x in r.json["findings"] if x["code"] not in ("no-sm", "link-not-active")]
    assert {(x["code"], x["severity"]) for x in found} == {("node-silent", "unknown"), ("no-answer", "unknown")}
    (x,) = [x for x in found if x["code"] == "node-silent"]
    assert x["node"] == "leaf-03" and f"{len(behind)} adapters behind it are not seen either" in x["detail"]


def test_hosts_behind_one_switch(fabric, baselines):
    net = SHAPES["tree2"]()
    behind = [n.name for n in net.hosts if net["leaf-03"] in n.peers()]
    for n in behind:
        net.remove_node(n)
    x, = audit(fabric(net=net), "--baseline", baselines("tree2"))
    assert (x["code"], x["node"], x["got"]) == ("hosts-gone", "leaf-03", f"{len(behind)} hosts gone")
    assert all(n in x["detail"] for n in behind)


def test_hosts_with_adapters_on_every_rail(fabric, baselines):
    net = SHAPES["rail"]()
    for n in [n.name for n in net.hosts if n.host in ("gpu-001x", "gpu-005", "gpu-006", "gpu-007")]:
        net.remove_node(n)
    x, = audit(fabric(net=net), "--baseline", baselines("rail"))
    assert (x["code"], x["got"]) == ("hosts-gone", "3 hosts gone")  # 12 adapters


def test_a_narrow_spine_link_stands_above_hosts(up):
    """Whichever loses more Gb/s: here the host's link does, but a quarter of all pairs cross the other."""
    net = tree2(radix=16, leaves=4, spines=1, hosts_per_leaf=8, spine_radix=36)  # 8 cables from each leaf
    leaf = net["leaf-02"]
    for p in leaf.to("spine-01")[1:]:
        net.remove(leaf.cables[p])
    f, _ = up(net=net)
    port = leaf.to("spine-01")[0]
    peer, peer_port = leaf.cables[port].peer(leaf)
    f.rules(*(f"node={n.name} port={p} attr=PortInfo : set LinkWidthActive=16" for n, p in ((leaf, port), (peer, peer_port))),
            "node=gpu-030 attr=PortInfo : set LinkWidthActive=1", "node=leaf-04 port=6 attr=PortInfo : set LinkWidthActive=1")
    for args in ((), ("--impact",)):
        r = f.ibqos("audit", "--format", "json", *args).ok(2)
        found = [x for x in r.json["findings"] if x["code"] == "link-width-low"]
        assert [(x["node"], x["got"]) for x in found] in ([("leaf-02", "2x"), ("gpu-030 mlx5_0", "1x")],
                                                          [("spine-01", "2x"), ("gpu-030 mlx5_0", "1x")])
        # 8 * 24 of 32 * 31 / 2 pairs; 31 of them
        assert "38.7% of host pairs cross it" in found[0]["detail"] and "6.25% of host pairs" in found[1]["detail"]
        assert "50 Gb/s left to other switches for 8 host ports of leaf-02" in found[0]["detail"]


def test_a_kind_of_link_that_is_slow_throughout_is_one_line(up):
    """ibsim without the kit's rules: every port supports 1x to 12x."""
    f, _ = up(net=tree2(radix=12, leaves=4, spines=3, hosts_per_leaf=3))
    f.capabilities = []
    f.rules("attr=PortInfo : set LinkWidthSupported=15 LinkSpeedExtSupported=3")
    found = f.ibqos("audit", "--format", "json").ok(2).json["findings"]
    assert sorted((x["code"], x["what"], x["wanted"], x["got"], x["node"]) for x in found) == [
        ("link-width-limited", "width of all 12 links between adapters and switches with hosts", "12x", "4x", None),
        ("link-width-limited", "width of all 24 links between switches with hosts and switches 1 above those with hosts",
         "12x", "4x", None)]
    assert len(f.ibqos("audit", "--all", "--format", "json").ok(2).json["findings"]) == 36
    # all run slower than both ends are told to and can: no one cable does that
    f.rules("attr=PortInfo : set LinkWidthSupported=3 LinkSpeedExtActive=1 LinkSpeedExtEnabled=3 LinkSpeedExtSupported=3")
    found = f.ibqos("audit", "--format", "json").ok(2).json["findings"]
    assert {x["code"] for x in found} == {"link-speed-low"} and len(found) == 2
    assert all("in common" in x["advice"] and "replace" not in x["advice"] for x in found)
    found = f.ibqos("audit", "--all", "--format", "json").ok(2).json["findings"]
    (one,) = {x["advice"] for x in found if x["code"] == "link-speed-low"}
    assert "replace the cable" in one
    # one that is right, and all the others are told
    f.rules("attr=PortInfo : set LinkWidthSupported=15 LinkSpeedExtSupported=3",
            "node=gpu-003 attr=PortInfo : set LinkWidthSupported=3")
    found = f.ibqos("audit", "--format", "json").ok(2).json["findings"]
    assert len(found) == 12
