# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What audit says without any baseline (docs/links.md): nothing on a healthy fabric of any shape, and of single faults what
it is to say. All kinds in all shapes: test_audit_sweep.py."""
import pytest
from tools import netgen_cases, netgen_fault, netgen_hosts
from tools.netgen_tree import rail, tree2, tree3

def findings(f):
    return f.ibqos("audit", "--format", "json").ok(0, 1, 2).json["findings"]


@pytest.mark.parametrize("case", netgen_cases.CASES, ids=str)
def test_healthy_fabric_of_any_shape_raises_nothing(up, case):
    f, _ = up(net=case.make(), options={"routing_engine": "minhop"})
    assert findings(f) == []


def nodes_of(finding):
    return {int(finding[k], 16) for k in ("node_guid", "peer_guid") if finding[k]}


def siblings(f):
    return [x for x in f.ibqos("audit", "--format", "json").ok(0, 1, 2, 3).json["findings"] if x["code"].startswith("sibling")]


def recable(net, changes):
    """changes: {(node, port): (switch, port)}: moves the far end of each of these cables."""
    for node, port in changes:
        net.remove(net[node].cables[port])
    for (node, port), (switch, to) in changes.items():
        net.cable(node, switch, port, to)


def test_hosts_whose_numbers_are_in_rows(fabric):
    """Five hosts a leaf: one elsewhere is told with its empty port, two that stand in for each other as exchanged."""
    make = lambda: tree2(radix=16, leaves=6, spines=4, hosts_per_leaf=5)  # noqa: E731
    net = make()
    recable(net, {("gpu-013", 1): ("leaf-05", 7)})
    x, = siblings(fabric(net=net))
    assert (x["code"], x["what"]) == ("sibling-host-moved", "gpu-013")
    assert (x["wanted"], x["got"]) == ("mlx5_0 on leaf-03[3]", "mlx5_0 on leaf-05")
    assert (x["peer"], x["peer_port"]) == ("leaf-05", 7)
    net = make()
    recable(net, {("gpu-013", 1): ("leaf-05", 2), ("gpu-022", 1): ("leaf-03", 3)})
    x, = siblings(fabric(net=net))
    assert (x["code"], x["what"]) == ("sibling-host-moved", "two cables, exchanged")
    assert x["wanted"] == "gpu-013 mlx5_0 on leaf-03[3], gpu-022 mlx5_0 on leaf-05[2]"
    assert x["got"] == "gpu-013 mlx5_0 on leaf-05[2], gpu-022 mlx5_0 on leaf-03[3]"
    # the last of a row on the next leaf: leaves may have more or fewer hosts, but here just these two have
    net = make()
    recable(net, {("gpu-010", 1): ("leaf-03", 6)})
    x, = siblings(fabric(net=net))
    assert (x["what"], x["wanted"]) == ("gpu-010", "mlx5_0 on leaf-02[5]")


def test_leaves_with_rows_of_other_lengths(fabric):
    """17, 14, 16 ... hosts in a row on each: by design, whatever number is usual."""
    net = tree2(radix=36, leaves=6, spines=6, hosts_per_leaf=1, storage=0)
    for n in [n.name for n in net.hosts if n.name != net.first.name]:
        net.remove_node(n)
    number = 2
    for leaf, count in enumerate((16, 15, 16, 17, 14, 16), start=1):
        for port in range(2 if leaf == 1 else 1, count + 1):
            netgen_hosts.add_host(net, f"gpu-{number:03}", [[f"leaf-{leaf:02}"]])
            number += 1
    assert siblings(fabric(net=net)) == []


def test_hosts_of_racks(fabric):
    """r03n05 on the leaf of rack 3; numbers begin again in each rack."""
    net = tree2(radix=16, leaves=6, spines=4, hosts_per_leaf=5)
    for i, n in enumerate(net.hosts):
        n.desc = f"r{i // 5 + 1:02}n{i % 5 + 1:02} mlx5_0"
    assert siblings(fabric(net=net)) == []
    recable(net, {("gpu-013", 1): ("leaf-05", 7)})
    x, = siblings(fabric(net=net))
    assert (x["code"], x["what"], x["wanted"]) == ("sibling-host-moved", "r03n03", "mlx5_0 on leaf-03[3]")


def test_hosts_dealt_out_and_one_a_leaf(fabric):
    net = tree2(radix=24, leaves=9, spines=6, hosts_per_leaf=3, storage=27, logins=9)
    recable(net, {("oss-14", 1): ("leaf-02", 9), ("login-08", 1): ("leaf-04", 9)})
    found = siblings(fabric(net=net))
    assert {(x["what"], x["wanted"].split("[")[0]) for x in found} == {("oss-14", "mlx5_0 on leaf-05"),
                                                                      ("login-08", "mlx5_0 on leaf-08")}


def test_switches_of_one_name_are_told_apart(fabric):
    net = tree2(radix=16, leaves=6, spines=4, hosts_per_leaf=5)
    for n in net.switches:
        n.desc = "SwitchIB Mellanox Technologies"
    recable(net, {("gpu-013", 1): ("leaf-05", 7)})
    x, = siblings(fabric(net=net))
    assert f"0x{net['leaf-03'].guid:016x}" in x["wanted"] and f"0x{net['leaf-05'].guid:016x}" in x["got"]


def test_one_adapter_of_many_tells_nothing_without_the_others(fabric):
    """Whose numbers are in no order: that an adapter is on another rail's leaf shows by the host's other adapters."""
    net = rail(units=2, hosts_per_unit=4, rails=4, spines=4)
    hosts = sorted({n.host for n in net.hosts})
    for n in net.hosts:
        n.desc = n.desc.replace(n.host, f"host-{hash_of(n.host)}")
    recable(net, {("gpu-003-mlx5_2", 1): ("leaf-02-r1", 9)})
    assert len(hosts) == 8
    x, = siblings(fabric(net=net))
    assert x["code"] == "sibling-rail" and x["wanted"].startswith("mlx5_2 on leaf-01-r2") and x["got"] == "mlx5_2 on leaf-02-r1"


def hash_of(host):
    return {1: "bach", 2: "haydn", 3: "mozart", 4: "liszt", 5: "chopin", 6: "brahms", 7: "ravel", 8: "satie"}[int(host[-3:])]


def test_crossed_bundle_is_a_note(up):
    net = tree2(radix=16, leaves=6, spines=4, hosts_per_leaf=4)
    fault, = netgen_fault.plant(net, 1, ["crossed-bundle"])
    f, _ = up(net=net)
    x, = f.ibqos("audit", "--format", "json").ok(0).json["findings"]
    assert (x["code"], x["severity"]) == ("sibling-bundle-crossed", "note") and nodes_of(x) == {e.guid for e in fault.ends}


def test_cables_exchanged_between_pods(fabric):
    net = tree3(radix=8, pods=4, leaves_per_pod=4, spines_per_pod=4, cores=8, hosts_per_leaf=2)
    a, b = net["leaf-02"], net["leaf-15"]
    pa, pb = a.to("spine-02")[0], b.to("spine-14")[0]
    qa, qb = a.cables[pa].peer(a)[1], b.cables[pb].peer(b)[1]
    recable(net, {("leaf-02", pa): ("spine-14", qb), ("leaf-15", pb): ("spine-02", qa)})
    x, = siblings(fabric(net=net))
    assert (x["code"], x["what"]) == ("sibling-cable-moved", "two cables, exchanged")
    assert x["wanted"] == "leaf-02 to spine-02, leaf-15 to spine-14"


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
