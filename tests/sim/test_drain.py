# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What taking nodes out would cut, against brute force: pair by pair over the tables that ibroute prints, ways and bandwidth by
a plain search over the cabling, and OpenSM on the fabric without them."""
import collections
import random

import pytest

from kit import routes
from tools import netgen_grid, netgen_tree

GBPS = {"EDR": 100, "HDR": 200, "NDR": 400}
SHAPES = {
    "tree2": (lambda: netgen_tree.tree2(radix=12, leaves=4, spines=3, hosts_per_leaf=3), "minhop"),
    "tree3": (lambda: netgen_tree.tree3(radix=8, pods=3, leaves_per_pod=2, spines_per_pod=2, cores=4, hosts_per_leaf=2), "minhop"),
    "torus": (lambda: netgen_grid.torus(dims=(3, 3), hosts_per_switch=2), "dor"),
    "rail": (lambda: netgen_tree.rail(units=2, hosts_per_unit=2, rails=2, spines=2, cores=2), "minhop"),
}


class Brute:
    """A fabric's cabling as sets; `out`: names of nodes taken out."""

    def __init__(self, net, out):
        self.net, self.out = net, set(out)
        self.hosts = [n for n in net.nodes.values() if n.kind == "ca" and n.cables]
        self.staying = [n for n in self.hosts if n.name not in self.out]
        self.cables = [c for c in net.cables if c.a.switch and c.b.switch]
        self.leaves = sorted({n.peers()[0].name for n in self.staying} - self.out)

    def part(self, out):
        """{switch: its part} of the switches that stay."""
        parts = {n.name: n.name for n in self.net.switches if n.name not in out}
        changed = True
        while changed:
            changed = False
            for c in self.cables:
                if c.a.name in parts and c.b.name in parts and parts[c.a.name] != parts[c.b.name]:
                    parts[c.a.name] = parts[c.b.name] = min(parts[c.a.name], parts[c.b.name])
                    changed = True
        return parts

    def home(self, host):
        return host.peers()[0].name

    def isolated(self):
        before, after = self.part(set()), self.part(self.out)
        was = collections.Counter(before[self.home(n)] for n in self.hosts)
        now = collections.Counter(after.get(self.home(n)) for n in self.staying)
        return {n.guid for n in self.staying if was[before[self.home(n)]] > 1 and
                (self.home(n) not in after or now[after[self.home(n)]] < 2)}

    def flow(self, sources, sinks, edges):
        """The most from sources to sinks, by augmenting any way; edges: {(a, b): capacity}, back is 0 unless given."""
        left, around = collections.Counter(edges), collections.defaultdict(set)
        for a, b in edges:
            around[a].add(b)
            around[b].add(a)
        for s in sources:
            around["source"].add(s)
            left["source", s] = 10 ** 9
        total = 0
        while True:
            came, todo = {"source": None}, ["source"]
            end = None
            while todo and end is None:
                n = todo.pop()
                for m in around[n]:
                    if m not in came and left[n, m] > 0:
                        came[m] = n
                        if m in sinks:
                            end = m
                            break
                        todo.append(m)
            if end is None:
                return total
            way = []
            while came[end] is not None:
                way.append((came[end], end))
                end = came[end]
            most = min(left[e] for e in way)
            for a, b in way:
                left[a, b] -= most
                left[b, a] += most
                around[b].add(a)
            total += most

    def ways(self, leaf, out):
        edges = collections.Counter()
        for c in self.cables:
            if c.a.name not in out and c.b.name not in out:
                edges[c.a.name, c.b.name] += 1
                edges[c.b.name, c.a.name] += 1
        return self.flow([leaf], set(self.leaves) - {leaf}, edges)

    def up(self, leaves, out):
        top = max(n.level for n in self.net.switches)
        edges = collections.Counter()
        for c in self.cables:
            if c.a.name in out or c.b.name in out:
                continue
            low, high = (c.a, c.b) if c.a.level < c.b.level else (c.b, c.a)
            edges[low.name, high.name] += c.width * GBPS[c.speed] // 4
        return self.flow(leaves, {n.name for n in self.net.switches if n.level == top}, edges)


def choices(net, seed):
    """Each kind of node once, and some at once."""
    r = random.Random(seed)
    kinds = collections.defaultdict(list)
    home = net.first.name
    for n in net.nodes.values():
        if n.name != home:
            kinds[n.role].append(n.name)
    single = [[r.choice(names)] for _, names in sorted(kinds.items(), key=str)]
    switches = [n.name for n in net.switches]
    return single + [r.sample(switches, 2), r.sample(switches, len(switches) // 2), r.sample(sorted(net.nodes), 4)]


@pytest.mark.parametrize("name", SHAPES)
def test_as_brute_force_has_it(fabric, name):
    make, engine = SHAPES[name]
    f = fabric(net=make())
    f.opensm(options={"routing_engine": engine})
    path = f.path("snap")
    f.ibqos("snapshot", path).ok(0)
    model, lids = routes.Model(f), routes.Model.lids(f)
    hosts = [n for n in f.net.nodes.values() if n.kind == "ca" and n.cables]
    walked = {(a.name, b.name): model.walk(a, lids[b.port_guid()], b) for a in hosts for b in hosts if a is not b}
    assert all(end == "arrived" for _, end in walked.values())
    for out in choices(f.net, 5):
        brute = Brute(f.net, out)
        words = [f.net[n].desc for n in out]
        r = f.ibqos("maintenance", "drain", *words, "--from", path, "--format", "json")
        live = f.ibqos("maintenance", "drain", *words, "--format", "json")
        assert (r.returncode, r.json["cut"], r.json["left"], r.json["leaves"]) == \
            (live.returncode, live.json["cut"], live.json["left"], live.json["leaves"])
        isolated = brute.isolated()
        cut = [x for x in r.json["findings"] if x["code"] == "drain-host-cut"]
        assert {int(x["node_guid"], 16) for x in cut} == isolated and len(cut) == len(isolated), out
        after = brute.part(brute.out)
        pairs = lost = for_good = 0
        for a in brute.staying:
            for b in brute.staying:
                if a is b:
                    continue
                hops, _ = walked[a.name, b.name]
                through = any(n.name in brute.out for n, _, _ in hops)
                pairs += 1
                lost += through
                x, y = after.get(brute.home(a)), after.get(brute.home(b))
                for_good += through and (x is None or x != y)
        got = r.json["cut"]
        assert (got["pairs"], got["pairs_lost"], got["pairs_cut"], got["pairs_unknown"]) == (pairs, lost, for_good, 0), out
        assert (got["ends"], got["isolated"]) == (len(brute.staying), len(isolated))
        assert [x["got"] for x in r.json["findings"] if x["code"] == "drain-pairs-cut"] == \
            ([f"{for_good} of {pairs} pairs"] if for_good else [])
        left = r.json["left"]
        ways = {n: (brute.ways(n, set()), brute.ways(n, brute.out)) for n in brute.leaves}
        if len(ways) > 1:
            assert left["ways_before"] == min(w for w, _ in ways.values()), out
            assert left["ways_after"] == min(w for _, w in ways.values()), out
            last = {x["node"] for x in r.json["findings"] if x["code"] == "drain-last-way"}
            assert last == {n for n, (was, is_) in ways.items() if is_ < was and is_ <= 1}, out
        if name == "torus":
            assert left["bisection_percent"] is None and "no switch stands above" in left["bisection_unknown"]
        elif len(ways) > 1:
            was, is_ = brute.up(brute.leaves, set()), brute.up(brute.leaves, brute.out)
            assert (left["up_before"], left["up_after"]) == (was, is_), out
            assert left["bisection_percent"] == pytest.approx(100 * is_ / was, rel=1e-5)
            shares = {n: brute.up([n], brute.out) / brute.up([n], set()) for n in brute.leaves}
            assert left["worst_leaf_percent"] == pytest.approx(100 * min(shares.values()), rel=1e-5), out
        code = 2 if isolated or for_good else 1 if any(x["code"] == "drain-last-way" for x in r.json["findings"]) else 0
        assert r.returncode == code, out


@pytest.mark.parametrize("out", [["spine-02"], ["leaf-03"], ["spine-01", "spine-03"], ["gpu-004"]])
def test_as_opensm_then_routes_it(fabric, ibqos, out):
    """What it says is left is what OpenSM can join on the fabric without them."""
    make, engine = SHAPES["tree2"]
    f = fabric(net=make())
    f.opensm(options={"routing_engine": engine})
    r = f.ibqos("maintenance", "drain", *(f.net[n].desc for n in out), "--format", "json").ok(0, 1, 2)
    net = make()
    for n in out:
        net.remove_node(n)
    left = fabric(net=net)
    left.opensm(options={"routing_engine": engine})
    p = left.ibqos("discover", "--format", "json").json
    cut = {x["node"] for x in r.json["findings"] if x["code"] == "drain-host-cut"}
    there = {n["name"] for n in p["nodes"] if n["type"] != "switch"}
    stay = {n.desc for n in f.net.hosts} - {f.net[n].desc for n in out}
    assert there == stay - cut
    model, lids = routes.Model(left), routes.Model.lids(left)
    hosts = [n for n in net.nodes.values() if n.kind == "ca" and n.cables]
    arrive = sum(model.walk(a, lids[b.port_guid()], b)[1] == "arrived" for a in hosts for b in hosts if a is not b)
    assert arrive == r.json["cut"]["pairs"] - r.json["cut"]["pairs_cut"]


def test_names(up):
    f, _ = up(leaves=2, spines=2)
    one = f.ibqos("maintenance", "drain", "spine-01", "--format", "json").ok(0).json["cut"]
    for name in (f"0x{f.net['spine-01'].guid:x}", "spine-*1"):
        assert f.ibqos("maintenance", "drain", name, "--format", "json").ok(0).json["cut"] == one
    assert f.ibqos("maintenance", "drain", "gpu-001", "gpu-002", "--format", "json").ok(0).json["cut"]["nodes_out"] == 2
    r = f.ibqos("maintenance", "drain", "spine-01", "leaf-77", "--format", "json").ok(3)
    assert [(x["code"], x["what"]) for x in r.json["findings"]] == [("scope-unknown", "node 'leaf-77'")] and "cut" not in r.json
    f.ibqos("maintenance", "drain").ok(3)
    # a table that was not answered
    f.rules("node=leaf-01 attr=0x19 : timeout")
    r = f.ibqos("maintenance", "drain", "spine-01", "-t", "50", "--retries", "0", "--format", "json").ok(3)
    assert r.json["cut"]["pairs_unknown"] > 0
    text = f.ibqos("maintenance", "drain", "leaf-02", "-t", "50", "--retries", "0").ok(2).stdout
    assert "could reach no other host" in text


def test_without_a_subnet_manager(fabric):
    """No port is active: nothing is called uncut."""
    f = fabric(leaves=2, spines=1)
    r = f.ibqos("maintenance", "drain", "spine-01", "--format", "json").ok(3)
    assert "no active port of an adapter" in r.stderr and r.json["left"]["bisection_percent"] is None


def test_all_at_once(up):
    f, _ = up(leaves=2, spines=1)
    r = f.ibqos("maintenance", "drain", "*", "--format", "json").ok(0).json
    assert r["cut"]["ends"] == r["cut"]["pairs"] == 0 and r["cut"]["ends_out"] == len(f.net.hosts)
    assert r["left"]["bisection_percent"] is None and r["left"]["ways_after"] is None
