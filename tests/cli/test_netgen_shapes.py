# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The fabric generator without a simulator: what its net files say, read by a reader of their own."""
import collections
import os
import time

import pytest

from kit import run
from tools import netgen, netgen_cases, netgen_director, netgen_fault, netgen_grid, netgen_hosts, netgen_tree
from tools.netgen_read import Read

GENERATOR = os.path.join(run.TOP, "tests/tools/netgen.py")
CASES = {c.name: c for c in netgen_cases.CASES}
each_case = pytest.mark.parametrize("case", netgen_cases.CASES, ids=str)
TREES = [n for n in CASES if n.startswith(("tree", "rail"))]


# --- every shape ---


@each_case
def test_consists_of_what_its_numbers_say(case):
    r = Read(case.make().text())
    assert (r.count("Ca"), r.count("Switch"), r.count("Rt")) == (case.cas, case.switches, case.routers)
    assert len(r.cables) == case.cables


@each_case
def test_every_end_node_reaches_every_other(case):
    r = Read(case.make().text())
    for n in r.nodes:
        if not r.is_switch(n):
            assert len(r.reached(n)) == len(r.nodes)
            break
    # undirected, so one is enough where no packet passes through an end node: no switch hangs on end nodes alone
    ends = [n for n in r.nodes if not r.is_switch(n)]
    assert all(any(r.is_switch(m) for m in r.peers[n]) for n in ends)
    assert case.make().connected()


@each_case
def test_guids_and_names_are_single(case):
    net = case.make()
    guids = [n.guid for n in net.nodes.values()]
    guids += [n.port_guid(p) for n in net.hosts for p in range(1, n.ports + 1)]
    assert len(set(guids)) == len(guids)
    descs = [n.desc for n in net.nodes.values() if n.role != "sharp"]
    assert len(set(descs)) == len(descs)
    assert all(len(n.name) <= 31 and len(n.desc) <= 63 for n in net.nodes.values())
    # where clients are attached: an adapter, and the first node of the file
    assert net.first.kind == "ca" and net.first.role == "gpu" and next(iter(Read(net.text()).nodes)) == net.first.name


@each_case
def test_the_same_again(case):
    assert case.make().text() == case.make().text()
    assert case.make().capabilities() == case.make().capabilities()


def test_the_same_in_another_process(tmp_path):
    argv = ["/usr/bin/python3", GENERATOR, "rail", "units=2", "rails=4", "hosts_per_unit=3", "cores=2", "--sharp",
            "--plant", *netgen_fault.KINDS[:3], "narrow-link", "slow-link", "--seed", "5", "--rules", tmp_path / "rules"]
    a, b = (run.run(argv, env={**os.environ, "PYTHONHASHSEED": s}).ok() for s in ("1", "2"))
    assert (a.stdout, a.stderr) == (b.stdout, b.stderr) and a.stdout
    net = netgen_hosts.add_sharp(netgen_tree.rail(units=2, rails=4, hosts_per_unit=3, cores=2))
    faults = netgen_fault.plant(net, 5, [*netgen_fault.KINDS[:3], "narrow-link", "slow-link"])
    assert net.text() == a.stdout and [str(f) for f in faults] == a.stderr.splitlines()
    assert (tmp_path / "rules").read_text().splitlines() == net.capabilities() + netgen_fault.rules(faults)


def test_device_ids_do_not_leak_to_the_next_node():
    net = netgen_hosts.add_sharp(netgen.fat_tree(leaves=1, spines=1))
    net.add_ca("old")
    net.cable("old", "leaf-01")
    assert {n: v[5] for n, v in Read(net.text()).nodes.items()} == {
        n.name: 0xcf09 if n.role == "sharp" else 0 for n in net.nodes.values()}


@pytest.mark.parametrize("guid", [netgen.SWITCH_GUID + 256, netgen.CA_GUID + 16, netgen.CA_GUID + 17, netgen.CA_GUID + 15])
def test_guids_that_clash_are_refused(guid):
    net = netgen.fat_tree()
    with pytest.raises(ValueError, match="is taken"):
        net.add_ca("another", guid=guid)


# --- trees ---


@pytest.mark.parametrize("radix, ratio, down, up", [(36, (1, 1), 18, 18), (36, (2, 1), 24, 12), (36, (3, 1), 27, 9),
                                                    (40, (1, 1), 20, 20), (40, (3, 1), 30, 10), (64, (3, 1), 48, 16),
                                                    (40, (2, 1), 26, 13), (37, (1, 1), 18, 18), (36, (5, 4), 20, 16)])
def test_split_keeps_the_ratio_exactly(radix, ratio, down, up):
    assert netgen_tree.split(radix, ratio) == (down, up)


@pytest.mark.parametrize("radix, ratio, spines", [(8, (1, 1), None), (8, (1, 1), 2), (12, (2, 1), None), (12, (2, 1), 2),
                                                  (36, (3, 1), 3), (6, (1, 2), 4)])
def test_two_level_degrees_and_bisection(radix, ratio, spines):
    down, up = netgen_tree.split(radix, ratio)
    r = Read(netgen_tree.tree2(radix=radix, ratio=ratio, spines=spines, leaves=4, hosts_per_leaf=down).text())
    assert r.degrees("leaf") == {(down, up)} and r.degrees("spine") == {(0, 4 * up // (spines or up))}
    assert {len(set(r.peers[n])) for n in r.nodes if n.startswith("spine")} == {4}
    half = [n for n in r.nodes if n.startswith("gpu") and any(m in ("leaf-01", "leaf-02") for m in r.peers[n])]
    other = {n for n in r.nodes if n.startswith("gpu")} - set(half)
    assert len(half) == len(other) == 2 * down
    # each half has 2 * up links; all of them meet at the spines; and no more than its hosts can send
    assert r.min_cut(half, other) == min(2 * down, 2 * up)


@pytest.mark.parametrize("args, cut", [
    (dict(radix=4), 8),  # not oversubscribed: half of all hosts
    (dict(radix=6, pods=4, hosts_per_leaf=3), 4 // 2 * 3 * 3),
    (dict(radix=12, ratio=(2, 1), pods=2, leaves_per_pod=3, spines_per_pod=2, cores=6, hosts_per_leaf=8), 3 * 4),
    (dict(radix=12, spine_ratio=(3, 1), pods=2, leaves_per_pod=4, spines_per_pod=6, cores=6, hosts_per_leaf=6), 6 * 3),
])
def test_three_level_bisection(args, cut):
    net = netgen_tree.tree3(**args)
    r = Read(net.text())
    pods = max(int(n[5:]) for n in r.nodes if n.startswith("leaf"))
    half = [n for n in r.nodes if n.startswith("gpu") and int(r.peers[n][0][5:]) <= pods // 2]
    other = {n for n in r.nodes if n.startswith("gpu")} - set(half)
    assert len(half) == len(other) and r.min_cut(half, other) == cut


def test_the_large_one_in_a_few_seconds(tmp_path):
    begin = time.process_time()
    net = netgen_tree.tree3(radix=36)
    net.write(tmp_path / "net")
    assert time.process_time() - begin < 20  # a third of a second on an idle machine
    r = Read((tmp_path / "net").read_text())
    assert (r.count("Ca"), r.count("Switch"), len(r.cables)) == (11664, 1620, 3 * 11664)
    assert r.degrees("leaf") == {(18, 18)} and r.degrees("spine") == r.degrees("core") == {(0, 36)}
    assert collections.Counter(n.split("-")[0] for n in r.nodes) == {"gpu": 11664, "leaf": 648, "spine": 648, "core": 324}
    hops = r.reached("gpu-00001")
    # other end nodes: over one leaf, within the pod, over a core
    assert collections.Counter(h for n, h in hops.items() if n.startswith("gpu")) == {
        0: 1, 2: 17, 4: 17 * 18, 6: 11664 - 18 * 18}
    # no two cables between the same pair
    assert all(len(set(p)) == len(p) for p in r.peers.values())


@pytest.mark.parametrize("make, why", [
    (lambda: netgen_tree.tree2(radix=8, spines=3), "dealt out over 3 spines"),
    (lambda: netgen_tree.tree2(radix=8, leaves=9), "9 leaves need 9 ports"),
    (lambda: netgen_tree.tree2(radix=8, leaves=4, hosts_per_leaf=3, adapters=2), "4 ports down"),
    (lambda: netgen_tree.tree2(radix=8, leaves=3, ca_ports=2), "even number of leaves"),
    (lambda: netgen_tree.tree2(radix=2, ratio=(2, 1)), "cannot be split"),
    (lambda: netgen_tree.tree3(radix=4, pods=5), "5 pods need 5 ports"),
    (lambda: netgen_tree.tree3(radix=8, leaves_per_pod=5), "5 leaves need 5 ports"),
    (lambda: netgen_tree.rail(rails=9), "1 to 8 rails"),
    (lambda: netgen_tree.rail(spines=40), "is taken|has no port"),
    (lambda: netgen_grid.dragonfly(groups=4, switches=4), "evenly"),
    (lambda: netgen_grid.torus((3, 3), hosts_per_switch=34), "is taken|has no port"),
    (lambda: netgen_director.director(spines=5), "dealt out over 5"),
    (lambda: netgen_director.director(chassis=2), "several chassis"),
    (lambda: netgen.fat_tree(switch_ports=3), "3 ports are taken"),
    (lambda: netgen.Net().add_ca("a" * 32), "ibsim takes no node"),
    (lambda: netgen.Net().add_ca("a=b"), "ibsim takes no node"),
])
def test_what_cannot_be_is_refused(make, why):
    with pytest.raises(ValueError, match=why):
        make()


# --- hosts ---


def test_rails():
    net = netgen_tree.rail(units=3, hosts_per_unit=4, rails=8, spines=4)
    r = Read(net.text())
    by_host = collections.defaultdict(dict)
    for name, (kind, ports, desc, guid, sysimg, _) in r.nodes.items():
        if kind == "Ca":
            host, device = desc.split()
            by_host[host][device] = name, sysimg
            assert ports == 1
    assert len(by_host) == 12
    for i, (host, adapters) in enumerate(sorted(by_host.items())):
        assert host == f"gpu-{i + 1:03}" and sorted(adapters) == [f"mlx5_{a}" for a in range(8)]
        assert len({sysimg for _, sysimg in adapters.values()}) == 1
        assert [r.peers[adapters[f"mlx5_{a}"][0]] for a in range(8)] == [[f"leaf-{i // 4 + 1:02}-r{a}"] for a in range(8)]
    assert len({sysimg for a in by_host.values() for _, sysimg in a.values()}) == 12


def test_rails_with_spines_of_their_own():
    r = Read(netgen_tree.rail(units=2, hosts_per_unit=2, rails=4, spines=2, cores=2).text())
    for n in r.nodes:
        if n.startswith("leaf"):
            assert {m[-3:] for m in r.peers[n] if m.startswith("spine")} == {n[-3:]}
    # same rail without a core, another rail only over one
    hops = r.reached("gpu-001-mlx5_0")
    assert hops["gpu-003-mlx5_0"] == 4 and hops["gpu-001-mlx5_1"] == 6


@pytest.mark.parametrize("adapters", [1, 2, 4, 8])
def test_adapters_of_a_host(adapters):
    net = netgen_tree.tree2(radix=36, leaves=2, spines=2, hosts_per_leaf=2, adapters=adapters, storage=3, logins=1)
    assert [n.desc for n in net.role("gpu") if n.host == "gpu-003"] == [f"gpu-003 mlx5_{a}" for a in range(adapters)]
    assert [(n.name, n.desc, n.peers()[0].name) for n in net.role("oss", "login")] == [
        ("oss-01", "oss-01 mlx5_0", "leaf-01"), ("oss-02", "oss-02 mlx5_0", "leaf-02"),
        ("oss-03", "oss-03 mlx5_0", "leaf-01"), ("login-01", "login-01 mlx5_0", "leaf-02")]


def test_two_port_adapters():
    r = Read(CASES["tree2-two-port"].make().text())
    for i in range(8):
        kind, ports, desc, *_ = r.nodes[f"gpu-{i + 1:03}"]
        assert (kind, ports, desc) == ("Ca", 2, f"gpu-{i + 1:03} mlx4_0")
        assert r.peers[f"gpu-{i + 1:03}"] == [f"leaf-{i // 4 * 2 + 1:02}", f"leaf-{i // 4 * 2 + 2:02}"]


def test_aggregation_nodes():
    net = netgen_hosts.add_sharp(netgen_tree.tree2(radix=8, leaves=4))
    r = Read(net.text())
    for name in [n for n in r.nodes if r.is_switch(n)]:
        assert r.nodes[name][1] == 9
        kind, ports, desc, guid, sysimg, device = r.nodes[r.ports[name, 9][0]]
        assert (kind, ports, desc, device) == ("Ca", 1, "Mellanox Technologies Aggregation Node", 0xcf09)
        assert sysimg == r.nodes[name][4] and guid == r.nodes[name][3] + 8


# --- the others ---


def test_torus_neighbours():
    r = Read(netgen_grid.torus((3, 4, 2)).text())
    for x in range(3):
        for y in range(4):
            for z in range(2):
                want = [(x + 1) % 3, y, z], [(x + 2) % 3, y, z], [x, (y + 1) % 4, z], [x, (y + 3) % 4, z], [x, y, 1 - z]
                assert sorted(n for n in r.peers[f"sw-{x}-{y}-{z}"] if r.is_switch(n)) == sorted(
                    "sw-" + "-".join(map(str, w)) for w in want)


def test_ring_and_mesh_diameter():
    assert max(Read(netgen_grid.ring(7, hosts_per_switch=1).text()).reached("gpu-001").values()) == 3 + 2
    assert max(Read(netgen_grid.torus((3, 4), wrap=False).text()).reached("gpu-001").values()) == 2 + 3 + 2


@pytest.mark.parametrize("switches, global_links, groups", [(4, 1, None), (4, 2, None), (4, 2, 3), (3, 2, 4), (2, 3, 2)])
def test_dragonfly_groups(switches, global_links, groups):
    r = Read(netgen_grid.dragonfly(groups=groups, switches=switches, global_links=global_links).text())
    total = groups or switches * global_links + 1
    between = collections.Counter()
    for g in range(total):
        for s in range(switches):
            own = [m for m in r.peers[f"sw-g{g}-{s}"] if m.startswith("sw")]
            assert sorted(m for m in own if m.startswith(f"sw-g{g}-")) == [f"sw-g{g}-{i}" for i in range(switches) if i != s]
            assert sum(not m.startswith(f"sw-g{g}-") for m in own) == global_links
            for m in own:
                if not m.startswith(f"sw-g{g}-"):
                    between[frozenset((g, int(m[4:].split("-")[0])))] += 1
    # counted from both sides
    assert set(between.values()) == {2 * switches * global_links // (total - 1)}
    assert len(between) == total * (total - 1) // 2
    assert max(r.reached("gpu-001").values()) <= 3 + 2


def test_director_is_one_chassis():
    r = Read(netgen_director.director(chassis=2, lines=4, spines=2, chip_ports=12, leaves=3, hosts=2).text())
    for c in (1, 2):
        chips = {n: v for n, v in r.nodes.items() if n.startswith(f"dir-{c}-")}
        assert sorted(v[2] for v in chips.values()) == [f"MF0;dir-{c}:CS7520/L{i:02}/U1" for i in (1, 2, 3, 4)] + [
            f"MF0;dir-{c}:CS7520/S{i:02}/U1" for i in (1, 2)]
        assert len({v[4] for v in chips.values()}) == 1
    assert len({v[4] for v in r.nodes.values() if v[0] == "Switch"}) == 2 + 3
    assert r.degrees("dir-1-L") == {(0, 6 + 3)} and r.degrees("dir-1-S") == {(0, 4 * 3)} and r.degrees("leaf") == {(2, 8)}


def test_rates_of_hosts_and_of_links_between_switches():
    r = Read(CASES["tree2-hdr100"].make().text())
    for at, rate in r.rate.items():
        host = not r.is_switch(at[0]) or not r.is_switch(r.ports[at][0])
        assert rate == ((2, "HDR") if host else (4, "HDR"))
    # enabled on ports without a cable: only where there is one kind of cables
    assert "width=" not in CASES["tree2-hdr100"].make().text()
    assert netgen.fat_tree().text().splitlines()[1:4] == ["width=3", "speed=7", "extspeed=3"]
    # NDR is the overlay's: ibsim 0.10 would not read it
    net = CASES["tree2-ndr"].make()
    assert "NDR" not in net.text()
    spine = net["spine-01"]
    assert [x for x in net.capabilities() if f"0x{spine.guid:016x}" in x or x.startswith("attr")] == [
        "attr=PortInfo : set LinkWidthSupported=3 LinkSpeedSupported=7 LinkSpeedExtSupported=15 LinkSpeedExtEnabled=15 "
        "LinkSpeedExtActive=8 CapabilityMask2=0x0430"]


# --- planted faults ---

EVERYWHERE = ["host-missing", "swapped-cables", "missing-cable", "other-radix", "narrow-link", "slow-link"]


def cables(pairs):
    return {frozenset((e.node, e.port) for e in pair) for pair in pairs}


@pytest.mark.parametrize("seed", range(4))
@each_case
def test_the_difference_is_the_faults(case, seed):
    before = case.make()
    net = case.make()
    kinds = list(EVERYWHERE)
    if case.name in ("tree3-full", "mesh-3x4") or case.name.startswith("tree2-hdr"):
        kinds.remove("missing-cable")
        kinds.insert(0, "narrow-link")
    faults = netgen_fault.plant(net, seed, kinds)
    assert [f.kind for f in faults] == kinds
    a, b = Read(before.text()), Read(net.text())
    assert a.cables - b.cables == cables(p for f in faults for p in f.gone)
    assert b.cables - a.cables == cables(p for f in faults for p in f.new)
    gone = {n for f in faults if f.kind == "host-missing" for n in f.nodes}
    assert set(a.nodes) - set(b.nodes) == gone and not set(b.nodes) - set(a.nodes)
    other = {n: v[1] for n, v in b.nodes.items() if v[1] != a.nodes[n][1]}
    assert other == {n: int(f.got.split()[0]) for f in faults if f.kind == "other-radix" for n in f.nodes}
    # the rest is as it was: GUIDs too
    assert all(b.nodes[n][2:] == a.nodes[n][2:] for n in b.nodes)
    # each port belongs to one fault, and all that is left is joined, the first host among it
    ends = [e.key for f in faults for e in f.ends]
    assert len(set(ends)) == len(ends) and net.connected() and net.first.name == before.first.name
    assert len(b.reached(net.first.name)) == len(b.nodes)
    for f in faults:
        for e in f.ends:
            node = before[e.node]
            assert (e.desc, e.guid) == (node.desc, node.guid) and 0 <= e.port <= node.ports


def test_faults_are_the_seeds():
    def draw(seed):
        net = netgen.fat_tree(leaves=8, spines=4)
        return netgen_fault.plant(net, seed, list(netgen_fault.KINDS)), net.text()

    assert draw(1) == draw(1)
    assert len({str(draw(s)[0]) for s in range(8)}) == 8


def test_all_kinds_in_the_order_asked_for():
    kinds = list(netgen_fault.KINDS) + ["narrow-link", "host-missing"]
    for order in (kinds, kinds[::-1]):
        net = netgen.fat_tree(leaves=8, spines=4)
        faults = netgen_fault.plant(net, 3, order)
        assert [f.kind for f in faults] == order and len({f.nodes for f in faults if f.kind == "host-missing"}) == 2


def one(kind, net, seed=2):
    return netgen_fault.plant(net, seed, [kind])[0]


def test_what_each_kind_is():
    net = netgen.fat_tree()
    f = one("short-bundle", net)
    (a, b), = f.gone
    assert (f.wanted, f.got) == ("2 cables", "1 cable") and len(net[a.node].to(b.node)) == 1 and set(f.ends) == {a, b}

    net = netgen_tree.tree2(radix=8, leaves=4)
    f = one("missing-cable", net)
    (a, b), = f.gone
    assert (f.wanted, f.got) == ("1 cable", "none") and not net[a.node].to(b.node) and net[a.node].switch and net[b.node].switch

    net = netgen.fat_tree()
    f = one("moved-cable", net)
    fixed, old, new = f.ends
    assert f.gone[0] in ((fixed, old), (old, fixed)) and new.node != old.node and net[new.node].role == net[old.node].role
    assert net[fixed.node].cables[fixed.port].peer(net[fixed.node]) == (net[new.node], new.port)
    assert old.port not in net[old.node].cables

    net = netgen.fat_tree()
    f = one("crossed-bundle", net)
    assert len({frozenset((a.node, b.node)) for a, b in f.gone + f.new}) == 1 and len(f.keys) == 4

    net = CASES["rail8"].make()
    f = one("swapped-cables", net)
    assert len(f.keys) == 4
    if f.ends[0].node.startswith("gpu"):
        assert f.ends[0].desc.split()[0] == f.ends[2].desc.split()[0]  # two rails of one host

    net = CASES["rail8"].make()
    f = one("host-missing", net)
    assert len(f.nodes) == 8 and len(f.ends) == 8 and all(net[e.node].switch and e.port not in net[e.node].cables for e in f.ends)
    assert f.wanted in f.nodes[0] and not any(n.host == f.wanted for n in net.nodes.values())


def test_narrow_and_slow_rules():
    seen = set()
    for seed in range(12):
        net = netgen.fat_tree()
        f = one("narrow-link", net, seed)
        assert (f.code, f.wanted, f.got) == ("link-width-low", "4x", "1x")
        assert f.rules == tuple(f"guid=0x{e.guid:016x} port={e.port} attr=PortInfo : set LinkWidthActive=1" for e in f.ends)
        f = one("slow-link", net, seed)
        fields = {"FDR": "LinkSpeedActive=4 LinkSpeedExtActive=1", "QDR": "LinkSpeedActive=4 LinkSpeedExtActive=0"}[f.got]
        assert f.code == "link-speed-low" and f.wanted == "EDR" and all(r.endswith(f"set {fields}") for r in f.rules)
        seen.add(f.got)
        cable = net[f.ends[0].node].cables[f.ends[0].port]
        assert cable.peer(net[f.ends[0].node]) == (net[f.ends[1].node], f.ends[1].port)
    assert seen == {"FDR", "QDR"}
    assert netgen_fault.rules(netgen_fault.plant(netgen.fat_tree(), 1, ["host-missing"])) == []
    # 12x and 8x: the codes of PortInfo are not the numbers
    wide = [one("narrow-link", CASES["tree2-12x"].make(), seed) for seed in range(12)]
    assert {(f.wanted, f.got, f.rules[0].split("set ")[1]) for f in wide} == {
        ("12x", "4x", "LinkWidthActive=2"), ("12x", "1x", "LinkWidthActive=1"),
        ("8x", "4x", "LinkWidthActive=2"), ("8x", "1x", "LinkWidthActive=1")}


def test_the_backplane_is_no_cable():
    for seed in range(20):
        for kind in ("moved-cable", "swapped-cables"):
            f = one(kind, CASES["director"].make(), seed)
            assert any(e.node.startswith("gpu") for e in f.ends)
    with pytest.raises(ValueError, match="no place"):
        one("crossed-bundle", CASES["director"].make())


@pytest.mark.parametrize("name, kind", [("tree2-full", "short-bundle"), ("tree2-full", "crossed-bundle"),
                                        ("tree3-full", "moved-cable")])
def test_no_place_for_it(name, kind):
    with pytest.raises(ValueError, match=f"no place .* {kind}"):
        one(kind, CASES[name].make())


def test_unknown_kind():
    with pytest.raises(ValueError, match="no fault 'gremlin'"):
        one("gremlin", netgen.fat_tree())


# --- the command line ---


def test_command_line(tmp_path):
    def call(*args):
        return run.run(["/usr/bin/python3", GENERATOR, *args])

    assert call("torus", "dims=3x3", "wrap=no", "--output", tmp_path / "net").ok().stdout == ""
    assert (tmp_path / "net").read_text() == netgen_grid.torus((3, 3), wrap=False).text()
    assert call("tree2", "radix=12", "ratio=2:1", "leaves=2", "speed=HDR").ok().stdout == netgen_tree.tree2(
        radix=12, ratio=(2, 1), leaves=2, speed="HDR").text()
    assert all(f"\n{s} " in "\n" + call("list").ok().stdout for s in ("fat-tree", "tree3", "rail", "dragonfly", "director"))
    assert "unexpected keyword" in call("ring", "wheels=3").ok(2).stderr
    assert "no fault" in call("ring", "--plant", "gremlin").ok(2).stderr
    assert "no 4xZDR" in call("ring", "speed=ZDR").ok(2).stderr
