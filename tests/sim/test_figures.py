# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The pictures of HTML reports, cell by cell: against the JSON of the same state, what infiniband-diags say of the simulated fabric,
and the generator's own numbers."""
import collections
import re

import pytest

from kit import figures
from tools import netgen_cases, netgen_fault, netgen_tree

CASES = {c.name: c for c in netgen_cases.CASES}
RANK = ["note", "warning", "unknown", "critical"]
LETTERS = {"critical": "c", "unknown": "u", "warning": "w", "note": "n"}


def both(f, *args, codes=(0, 1, 2, 3)):
    """The page's elements and the JSON of two runs on the same state, with one exit code."""
    page = f.ibqos(*args, "--format", "html").ok(*codes)
    data = f.ibqos(*args, "--format", "json").ok(page.returncode)
    return figures.read(page.stdout), data.json


def places(finding):
    """(GUID, port) of both ends; port None: the node as a whole."""
    for end in ("", "peer_"):
        guid = finding["node_guid" if not end else "peer_guid"]
        if guid:
            yield int(guid, 16), finding[end + "port"]


def worst_of(findings, switches):
    """{(GUID, port): severity} and {GUID: severity} by the JSON alone: both ends of what is told of a cable."""
    ports, nodes = {}, {}
    for f in findings:
        ends = list(places(f))
        for i, (guid, port) in enumerate(ends):
            if guid not in switches:
                continue
            if port:
                ports[guid, port] = max(ports.get((guid, port), "note"), f["severity"], key=RANK.index)
            elif i == 0:
                nodes[guid] = max(nodes.get(guid, "note"), f["severity"], key=RANK.index)
    return ports, nodes


def iblinkinfo(f):
    """{(GUID, port): (width, speed, state)} of switches."""
    ports, guid = {}, None
    for m in re.finditer(r'^0x(\w+) +"[^"]*" +\d+ +(\d+)\[ *\] ==\( *(?:(\d+)X +([\d.]+) Gbps)? *(\w+)/', f.tool(
            "iblinkinfo", "-l", "--switches-only").ok().stdout, re.M):
        ports[int(m[1], 16), int(m[2])] = m[3], m[4], m[5]
    return ports


LANES = {"2.5": "SDR", "5.0": "DDR", "10.0": "QDR", "14.0625": "FDR", "25.78125": "EDR", "53.125": "HDR", "106.25": "NDR"}


def check_ports(f, page, data):
    drawn = figures.Ports(page)
    net = {n.guid: n for n in f.net.switches}
    assert set(drawn.guids) == set(net) and len(drawn.guids) == len(net)
    ports, nodes = worst_of(data["findings"], net)
    assert drawn.nodes == nodes
    seen = iblinkinfo(f)
    cells = drawn.cells["findings"]
    assert set(cells) == set(seen) == {(n.guid, p) for n in net.values() for p in range(1, n.ports + 1)}
    state = {"Active": "a", "Down": "d", "Initialize": "i", "Armed": "i"}
    for place, letter in cells.items():
        worst = ports.get(place)
        expected = LETTERS[worst] if worst else state[seen[place][2]]
        assert letter == expected, (place, letter, worst, seen[place])
    rates = {k: text.split(",")[0] for k, (text, _) in drawn.legend["speed"].items()}
    for place, letter in drawn.cells["speed"].items():
        width, speed, what = seen[place]
        assert rates[letter] == ("down" if what == "Down" else f"{width}x {LANES[speed]}"), (place, seen[place])
    peers = {}
    for c in f.net.cables:
        (a, ap), (b, bp) = c.ends
        peers[a.guid, ap], peers[b.guid, bp] = (b.desc, bp), (a.desc, ap)
    assert drawn.peers() == {place: peers[place] for place in peers if place[0] in net}
    return drawn


def check_topology(f, page, data):
    drawn = figures.Topology(page)
    net = {n.guid: n for n in f.net.switches}
    pairs, hosts = collections.Counter(), collections.Counter()
    for c in f.net.cables:
        ends = [n for n, _ in c.ends]
        if ends[0] is not ends[1] and all(n.guid in net for n in ends):
            pairs[frozenset(n.guid for n in ends)] += 1
        for n, other in (ends, ends[::-1]):
            hosts[n.guid] += n.guid in net and other.kind == "ca" and other.role != "sharp"
    bad = {}
    for x in data["findings"]:
        ends = frozenset(guid for guid, _ in places(x))
        if len(ends) == 2 and ends <= set(net):
            bad[ends] = max(bad.get(ends, "note"), x["severity"], key=RANK.index)
    told = {p: (pairs[p], bad.get(p, "")) for p in {*pairs, *bad}}
    if drawn.all:
        assert drawn.pairs == drawn.told == told
        assert {g: h for g, (_, h, _) in drawn.nodes.items()} == {g: hosts[g] for g in net}
    else:
        assert drawn.told == {p: v for p, v in told.items() if v[1]}
        assert all(told[p] == v for p, v in drawn.pairs.items())
    assert sum(int(r[3]) for r in drawn.layers) == sum(pairs.values())
    assert sum(int(r[2]) for r in drawn.layers) == len(pairs)
    assert sum(int(r[5]) for r in drawn.layers) == sum(p in pairs for p in bad)
    return drawn


SHAPES = ["tree2-2to1", "tree2-hdr100", "tree2-ndr", "tree3-full", "rail4-cores", "torus-3x3-bundles", "ring-6", "dragonfly-4-1",
          "directors-leaves"]


@pytest.mark.parametrize("name", SHAPES)
def test_pictures_of_each_shape(fabric, name):
    case = CASES[name]
    net = case.make()
    faults = netgen_fault.plant(net, 5, ["narrow-link", "slow-link"] + (["missing-cable"] if name == "tree3-full" else []))
    f = fabric(net=net)
    options = {"routing_engine": "minhop"}
    f.opensm(options=options)
    f.rules(*netgen_fault.rules(faults))
    page, data = both(f, "audit", codes=(1, 2))
    assert {frozenset(places(x)) for x in data["findings"]} >= {frozenset(x.keys) for x in faults if x.kind != "missing-cable"}
    ports, topology = check_ports(f, page, data), check_topology(f, page, data)
    levels = {n.guid: n.level for n in net.switches if getattr(n, "level", None) is not None}
    if levels:
        base = min(levels.values())
        assert ports.levels == {g: level - base for g, level in levels.items()}
    assert {g: level for g, (level, _, _) in topology.nodes.items()} == {g: level for g, level in ports.levels.items() if g in topology.nodes}
