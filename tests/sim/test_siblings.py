# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What audit says without any baseline: nothing on a healthy fabric of any shape; of planted faults which kinds it sees,
exactly where they are, and nothing else (docs/links.md). IBQOS_CASES=N plants them N times as often."""
import os

import pytest
from tools import netgen_cases, netgen_fault
from tools.netgen_director import director
from tools.netgen_tree import rail, tree2, tree3

CASES = float(os.environ.get("IBQOS_CASES", "1"))

# fabrics large enough that a switch has siblings
PLANTED = {
    "tree2": lambda: tree2(radix=16, leaves=6, spines=4, hosts_per_leaf=4, storage=4),
    "tree2-single": lambda: tree2(radix=12, leaves=6, spines=6, hosts_per_leaf=4),
    "tree3": lambda: tree3(radix=8, pods=4, leaves_per_pod=4, spines_per_pod=4, cores=8, hosts_per_leaf=2),
    "rail": lambda: rail(units=2, hosts_per_unit=4, rails=4, spines=4, bundle=2),
    "director": lambda: director(lines=6, spines=3, chip_ports=18, hosts=5),
}
# what siblings show; the rest needs a baseline: a crossed bundle changes no count, a moved host cable none either
SEEN = ("missing-cable", "short-bundle", "other-radix", "narrow-link", "slow-link", "host-missing")


def findings(f):
    return f.ibqos("audit", "--format", "json").ok(0, 1, 2).json["findings"]


@pytest.mark.parametrize("case", netgen_cases.CASES, ids=str)
def test_healthy_fabric_of_any_shape_raises_nothing(up, case):
    f, _ = up(net=case.make(), options={"routing_engine": "minhop"})
    assert findings(f) == []


def audit_planted(fabric, make, seed, kind):
    """(fault, findings); None where the fabric has no place for the kind."""
    net = make()
    try:
        fault, = netgen_fault.plant(net, seed, [kind])
    except ValueError:
        return None
    f = fabric(net=net)  # no OpenSM: links stay in Init, which is told and left out here
    f.rules(*fault.rules)
    r = f.ibqos("audit", "--format", "json").ok(2, 3)
    return fault, [x for x in r.json["findings"] if x["code"] not in ("no-sm", "link-not-active")]


def nodes_of(finding):
    return {int(finding[k], 16) for k in ("node_guid", "peer_guid") if finding[k]}


SEEDS = range(1, 1 + max(1, int(CASES)))


@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.parametrize("kind", SEEN)
def test_planted_fault_is_one_finding_at_its_place(fabric, name, kind):
    for seed in SEEDS:
        planted = audit_planted(fabric, PLANTED[name], seed, kind)
        if planted is None:
            continue
        fault, found = planted
        if kind == "host-missing" and not numbered(PLANTED[name](), fault.wanted):
            assert found == []
            continue
        assert len(found) == 1, (str(fault), found)
        assert found[0]["code"] == {"host-missing": "sibling-host-missing", "other-radix": "sibling-radix"}.get(
            kind, fault.code or "sibling-cable-missing")
        assert nodes_of(found[0]) & {e.guid for e in fault.ends}, (str(fault), found)
        if kind in ("missing-cable", "short-bundle"):  # both its ends, however many cables they have left
            assert nodes_of(found[0]) == {e.guid for e in fault.ends}, (str(fault), found)


def numbered(net, host):
    """Whether a host is neither the first nor the last of its kind, so that its number is missed."""
    stem = host.rstrip("0123456789")
    alike = sorted({n.host for n in net.hosts if n.host.rstrip("0123456789") == stem and n.role != "sharp"})
    return host not in (alike[0], alike[-1])


@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.parametrize("kind", sorted(set(netgen_fault.KINDS) - set(SEEN)))
def test_what_siblings_do_not_show_raises_nothing_else(fabric, name, kind):
    """Moved and swapped cables are seen where counts change; what is told is never anything else than the fault."""
    for seed in SEEDS:
        planted = audit_planted(fabric, PLANTED[name], seed, kind)
        if planted is None:
            continue
        fault, found = planted
        assert len(found) <= 1 and all(nodes_of(x) & {e.guid for e in fault.ends} for x in found), (str(fault), found)
        if kind == "crossed-bundle":
            assert found == []


def test_exchanged_cables_are_one_finding(fabric):
    net = tree2(radix=12, leaves=6, spines=6, hosts_per_leaf=4)
    a, b = net["leaf-02"], net["leaf-05"]
    first, second = a.cables[a.to("spine-01")[0]], b.cables[b.to("spine-04")[0]]
    ends = [c.ends for c in (first, second)]
    for c in (first, second):
        net.remove(c)
    net.cable("leaf-02", "spine-04", ends[0][0][1], ends[1][1][1])
    net.cable("leaf-05", "spine-01", ends[1][0][1], ends[0][1][1])
    r = fabric(net=net).ibqos("audit", "--format", "json").ok(3)
    x, = [x for x in r.json["findings"] if x["code"].startswith("sibling")]
    assert x["code"] == "sibling-cable-moved" and x["what"] == "two cables, exchanged"
    assert {x["node"], x["peer"]} == {"leaf-02", "leaf-05"}


def test_rails_of_one_host_exchanged(fabric):
    net = rail(units=2, hosts_per_unit=4, rails=4, spines=4)
    cables = [net[f"gpu-003-mlx5_{r}"].cables[1] for r in (1, 2)]
    (_, (s1, p1)), (_, (s2, p2)) = [sorted(c.ends, key=lambda e: e[0].switch) for c in cables]
    for c in cables:
        net.remove(c)
    net.cable("gpu-003-mlx5_1", s2.name, 1, p2)
    net.cable("gpu-003-mlx5_2", s1.name, 1, p1)
    r = fabric(net=net).ibqos("audit", "--format", "json").ok(3)
    x, = [x for x in r.json["findings"] if x["code"].startswith("sibling")]
    assert x["code"] == "sibling-rail" and x["what"] == "gpu-003" and s1.name in x["wanted"] and s2.name in x["got"]


def test_slower_than_its_kind_though_both_ends_claim_no_more(up):
    f, _ = up(net=tree2(radix=12, leaves=4, spines=3, hosts_per_leaf=3))
    leaf = f.net["leaf-02"]
    port = leaf.to("spine-02")[0]
    peer, peer_port = leaf.cables[port].peer(leaf)
    slow = "LinkSpeedExtActive=1 LinkSpeedExtSupported=1 LinkSpeedExtEnabled=1"
    f.rules(*(f"node={n.name} port={p} attr=PortInfo : set {slow}" for n, p in ((leaf, port), (peer, peer_port))))
    x, = f.ibqos("audit", "--format", "json").ok(1).json["findings"]
    assert (x["code"], x["wanted"], x["got"]) == ("sibling-link-slow", "4x EDR", "4x FDR")
    assert {(x["node"], x["port"]), (x["peer"], x["peer_port"])} == {("leaf-02", port), (peer.name, peer_port)}
    # half of them: a matter of design, not of one link
    ports = [(n, p) for n in f.net.switches for p, c in n.cables.items()
             if c.a.switch and c.b.switch and {"leaf-01", "leaf-02"} & {c.a.name, c.b.name}]
    assert len(ports) == 2 * 2 * 6
    f.rules(*(f"node={n.name} port={p} attr=PortInfo : set {slow}" for n, p in ports))
    assert f.ibqos("audit", "--format", "json").ok(0).json["findings"] == []


def test_a_missing_rail_and_three_levels_of_one_pod(fabric):
    """Where a pod is too small to have siblings in it, those of the other pods count."""
    net = tree3(radix=4)
    fault, = netgen_fault.plant(net, 3, ["missing-cable"])
    r = fabric(net=net).ibqos("audit", "--format", "json").ok(3)
    found = [x for x in r.json["findings"] if x["code"].startswith("sibling")]
    assert len(found) == 1 and nodes_of(found[0]) == {e.guid for e in fault.ends}


def test_leaves_that_are_smaller_by_design(fabric):
    """44 hosts on 6 leaves of 8: the last four have 7 hosts and 7 cables up. One alone like that is told."""
    net = tree2(radix=16, leaves=6, spines=4, hosts_per_leaf=8)
    cut = [(f"leaf-{n:02}", f"spine-{n - 2:02}", f"gpu-{8 * n:03}") for n in (3, 4, 5, 6)]
    for leaf, spine, host in cut:
        net.remove(net[leaf].cables[net[leaf].to(spine)[0]])
        net.remove_node(host)
    r = fabric(net=net).ibqos("audit", "--format", "json").ok(3)
    assert not [x for x in r.json["findings"] if x["code"] == "sibling-cable-missing"]
    net = tree2(radix=16, leaves=6, spines=4, hosts_per_leaf=8)
    net.remove(net["leaf-03"].cables[net["leaf-03"].to("spine-01")[0]])
    net.remove_node("gpu-024")
    r = fabric(net=net).ibqos("audit", "--format", "json").ok(3)
    x, = [x for x in r.json["findings"] if x["code"] == "sibling-cable-missing"]
    assert {x["node"], x["peer"]} == {"leaf-03", "spine-01"}
