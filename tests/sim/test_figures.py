# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The pictures of HTML reports, cell by cell: against the JSON of the same state, what infiniband-diags say of the simulated fabric,
and the generator's own numbers."""
import collections
import re

import pytest

from kit import figures, policy
from kit.looks import DATA, HOST, HOUR, LACKS, LEAF, SHAPE, T0, at
from tools import netgen, netgen_cases, netgen_fault, netgen_tree

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


def check_ports(f, page, data, looked=lambda guid, port: True):
    """looked: which ports the command judged; the others, unless they are down or have a finding, must be drawn as not looked at."""
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
        worst, here = ports.get(place), state[seen[place][2]]
        expected = LETTERS[worst] if worst else "?" if here != "d" and not looked(*place) else here
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


# --- what was not looked at ---

CONF = dict(qos="TRUE", qos_sl2vl="0,1,2,0,0,0,0,0,0,0,0,0,0,0,0,0", qos_vlarb_low="0:10,1:70,2:20", qos_vlarb_high="0:0",
            qos_high_limit="0")


def test_a_scope_leaves_the_rest_unknown(up):
    f, _ = up(**SHAPE)
    page, data = both(f, "audit", "--switch", "leaf-02", codes=(0,))
    leaf = f.net["leaf-02"]
    within = {(leaf.guid, p) for p in leaf.cables} | {(n.guid, p) for c in leaf.cables.values() for n, p in c.ends}
    drawn = check_ports(f, page, data, lambda guid, port: (guid, port) in within)
    letters = collections.Counter(drawn.cells["findings"].values())
    assert letters["a"] == len(leaf.cables) + 1 and letters["?"] == len(f.net["leaf-01"].cables) + 1


def test_a_silent_switch_is_not_clean(up):
    f, _ = up(**SHAPE)
    f.rules("node=leaf-02 attr=PortInfo : timeout")
    page, data = both(f, "audit", "-t", "20", codes=(2, 3))
    drawn, net = figures.Ports(page), f.net["leaf-02"]
    ports, _ = worst_of(data["findings"], {n.guid for n in f.net.switches})
    mine = {port: letter for (guid, port), letter in drawn.cells["findings"].items() if guid == net.guid}
    assert set(mine.values()) <= {"?", "u", "c"} and set(mine) == set(range(1, net.ports + 1))
    assert all(letter == LETTERS[ports[net.guid, port]] for port, letter in mine.items() if letter != "?")
    assert set(drawn.cells["speed"][net.guid, port] for port in mine) == {"?"}


def test_verify_marks_what_it_judged(up):
    """All ports of a link hold what they should but two; a sample of them leaves the others unknown."""
    f, sm = up(options=CONF, **SHAPE)
    f.rules("node=leaf-01 port=1 attr=SL2VL mod=0x0201 : set SL1=0", "node=gpu-003 attr=VLArb mod=0x10000 : set entry1=1:1")
    page, data = both(f, "verify", "--opensm-conf", sm.config, codes=(2,))
    assert {(x["node"], x["port"]) for x in data["findings"]} == {("leaf-01", 1), ("gpu-003 mlx5_0", 1)}
    check_ports(f, page, data)
    check_topology(f, page, data)
    page, data = both(f, "verify", "--opensm-conf", sm.config, "--sample", "1/3")
    letters = collections.Counter(figures.Ports(page).cells["findings"].values())
    assert letters["?"] + letters["a"] + letters["c"] == sum(len(n.cables) for n in f.net.switches) and letters["?"] > 0


def test_files_of_ibnetdiscover(up, ibqos, tmp_path):
    """A file that has no state of any port: cabled or not, none is clean; width and speed are those of the file."""
    f, _ = up(**SHAPE)
    path = tmp_path / "fabric.txt"
    path.write_text(f.tool("ibnetdiscover").ok().stdout, encoding="utf-8")
    page = figures.read(ibqos("audit", "--from", path, "--format", "html").ok(0, 1, 2, 3).stdout)
    drawn = figures.Ports(page)
    assert "a" not in drawn.cells["findings"].values() and "d" not in drawn.cells["findings"].values()
    rates = {k: text.split(",")[0] for k, (text, _) in drawn.legend["speed"].items()}
    cabled = {(n.guid, p) for n in f.net.switches for p in n.cables}
    assert {place: rates[k] for place, k in drawn.cells["speed"].items()} == {
        place: "4x EDR" if place in cabled else "not known" for place in drawn.cells["speed"]}


# --- other commands ---


def test_discover_diff_and_maintenance(fabric, tmp_path):
    f = fabric(net=netgen_tree.tree3(radix=4))
    f.opensm(options={"routing_engine": "minhop"})
    page, data = both(f, "discover", codes=(0,))
    check_ports(f, page, data)
    check_topology(f, page, data)
    before, after = str(tmp_path / "before"), str(tmp_path / "after")
    f.ibqos("snapshot", before).ok(0)
    f.ibqos("maintenance", "begin", "work", "--state-dir", str(tmp_path / "state"), "--no-counters").ok(0, 1)
    faults = netgen_fault.plant(f.net, 3, ["narrow-link", "slow-link"])
    f.rules(*netgen_fault.rules(faults))
    f.ibqos("snapshot", after).ok(0)
    page, data = both(f, "diff", before, after, codes=(2,))
    assert {frozenset(places(x)) for x in data["findings"]} == {frozenset(x.keys) for x in faults}
    check_ports(f, page, data)
    check_topology(f, page, data)
    page, data = both(f, "maintenance", "end", "work", "--state-dir", str(tmp_path / "state"), codes=(2,))
    check_ports(f, page, data)
    check_topology(f, page, data)


def test_a_large_tree_is_drawn_in_little(fabric):
    """180 switches: squares by layer and pod, those with findings by name, every pair with a finding in the table."""
    net = netgen_tree.tree3(radix=12)
    faults = netgen_fault.plant(net, 9, ["narrow-link", "slow-link", "missing-cable", "slow-link"])
    f = fabric(net=net)
    f.opensm(options={"routing_engine": "minhop"})
    f.rules(*netgen_fault.rules(faults))
    page, data = both(f, "audit", codes=(2,))
    check_ports(f, page, data)
    drawn = check_topology(f, page, data)
    assert not drawn.all and len(drawn.pairs) >= 2
    named = {guid for x in data["findings"] for guid, _ in places(x)} & {n.guid for n in net.switches}
    assert named <= set(drawn.nodes)
    layers = collections.Counter(n.level - min(m.level for m in net.switches) for n in net.switches)
    squares = page.one("svg", id="tp-map").all("path", "c")
    assert sum(len(re.findall(r"M\d+ \d+h10", p["d"])) for p in squares) == sum(layers.values()) == 180
    bad = sum(len(re.findall("M", p["d"])) for p in squares if p["data-worst"])
    ports, nodes = worst_of(data["findings"], {n.guid for n in net.switches})
    assert bad == len({guid for guid, _ in ports} | set(nodes) | named)
    pods = [g for g in page.one("svg", id="tp-map").all("g") if "data-pod" in g.attrs]
    assert [int(g["data-switches"]) for g in pods] == [12] * 12


# --- shares ---


def check_bars(block, wanted, got):
    """Bars and marks of one picture: within half a point of what is told."""
    rows = block.all("g", "sh-r")
    assert len(rows) == len(wanted) == len(got)
    for row, want, have in zip(rows, wanted, got):
        whole, bar = row.one("rect", "sh-all"), row.all("rect", "sh-got")[0]
        scale = float(whole["width"]) / 100
        assert abs(float(bar["width"]) - min(have, 100) * scale) <= 0.51
        x = float(re.match(r"M(\d+) ", row.one("path", "sh-want")["d"])[1]) - float(whole["x"])
        assert abs(x - want * scale) <= 0.51
        assert ("sh-less" in bar.classes) == (have < want - 0.05)


def test_shares_of_a_plan(up):
    f, sm = up(**SHAPE)
    path = policy.write(f, sm, overrides="{swe: {shares: [{class: training, share: 50%}, {class: storage, share: 40%}]}}")
    want = {"adapter": [70, 20, 10], "switch": [50, 40, 10]}
    for args in (("plan", path), ("verify", path)):
        page, data = both(f, *args)
        explain = data.get("explain") or f.ibqos("plan", path, "--format", "json").json["explain"]
        kinds = [explain[i:i + 3] for i in range(0, len(explain), 3)]
        blocks = page.one("div", "sh-all-places").all("svg", "sh")
        assert len(blocks) == len(kinds) >= 2
        for block, kind in zip(blocks, kinds):
            assert [x["class"] for x in kind] == ["training", "storage", "other"]
            check_bars(block, want[kind[0]["ports"].split(",")[0]], [x["guaranteed"] for x in kind])
        told = figures.rows(page.one("table", id="sh-table"))
        assert [(r[1], r[3], r[4]) for r in told] == [
            (x["class"], f"{x['guaranteed']:.1f} %", f"{x['at_most_beside_another']:.1f} %") for x in explain]
        assert [r[2] for r in told] == [f"{w:.1f} %" for kind in kinds for w in want[kind[0]["ports"].split(",")[0]]]


# --- counters and history ---


def look(f, tmp_path, now, *rules, args=(), form="json"):
    f.rules(*LACKS, DATA, *rules)
    return f.ibqos("audit", "--counters", "--state", str(tmp_path / "state"), "--now", str(now), "--all", "--format", form, *args,
                   env={"IBQOS_OVERLAY_NOW": str(now)})


def twice(f, tmp_path, now, *rules, args=()):
    """A look as JSON and, from the same state, as a page."""
    state, kept = tmp_path / "state", (tmp_path / "state").read_bytes()
    data = look(f, tmp_path, now, *rules, args=args).ok(0, 1, 2, 3).json
    state.write_bytes(kept)
    return figures.read(look(f, tmp_path, now, *rules, args=args, form="html").stdout), data


def test_bit_errors_and_waiting(up, tmp_path):
    f, _ = up(**SHAPE)
    look(f, tmp_path, T0).ok(0)
    errors = at(LEAF, f"attr=PortCounters : grow SymbolErrorCounter=0.5/s since={T0}")
    tick = ["attr=PortSamplesControl : status=0 answer set Tick=1"]
    page, data = twice(f, tmp_path, T0 + HOUR, errors, *tick)
    drawn = figures.Ports(page)
    names = {None: "u", "good": "g", "early": "e", "between": "b", "bad": "x"}
    told = {(int(m["node_guid"], 16), m["port"]): m for m in data["port_measures"]}
    switches = {n.guid for n in f.net.switches}
    read = {place for place in told if place[0] in switches}
    assert len(read) == sum(len(n.cables) for n in f.net.switches)
    for place, letter in drawn.cells["errors"].items():
        m = told.get(place)
        assert letter == (names[m["ber"]] if m and m["bit_errors"] is not None else drawn.cells["errors"][place]), place
        if not m:
            assert letter in "d?"
        waiting = m and m["waiting"]
        assert drawn.cells["waiting"][place] == ("d" if letter == "d" else "?" if waiting is None else
                                                 "5" if waiting >= .5 else "1" if waiting >= .1 else "0"), place
    leaf = f.net["leaf-01"].guid, 2
    assert drawn.cells["errors"][leaf] == "x" and drawn.cells["findings"][leaf] == "c"
    row, = [tr for tr in page.one("table", id="hi-table").one("tbody").all("tr") if int(tr["data-guid"], 16) == leaf[0]]
    assert row["data-port"] == "2"
    texts = [c.text for c in row.children if isinstance(c, figures.Element)]
    assert "link-ber-high" in texts[1] and "2023-11-14T23:13:20Z" in texts[1] and "SymbolErrorCounter: 1800" in texts[3]
    assert texts[4:] == ["2023-11-14T22:13:20Z", "2023-11-14T23:13:20Z"]
    # two days on: what grew then lies in another stretch than what grew before
    look(f, tmp_path, T0 + 30 * HOUR, errors)
    page, data = twice(f, tmp_path, T0 + 31 * HOUR, errors)
    row, = [tr for tr in page.one("table", id="hi-table").one("tbody").all("tr") if int(tr["data-guid"], 16) == leaf[0]]
    assert "SymbolErrorCounter: 1800, in the stretch before 54000" in [c.text for c in row.children if isinstance(c, figures.Element)][3]
    bars = row.all("rect", "hi-b")
    assert len(bars) == 2 and int(bars[0]["x"]) < int(bars[1]["x"]) and int(bars[0]["width"]) > int(bars[1]["width"])


def test_totals_where_nothing_is_remembered(up):
    f, _ = up(**SHAPE)
    f.rules(*LACKS, DATA, at(LEAF, "attr=PortCounters : set SymbolErrorCounter=40"), at(("spine-01", 1), "attr=PortCounters : set "
            "SymbolErrorCounter=65535"))
    page = figures.read(f.ibqos("audit", "--counters", "--format", "html").ok(0, 1, 2, 3).stdout)
    drawn = figures.Ports(page)
    assert drawn.views == ["findings", "speed", "errors"]
    letters = {place: k for place, k in drawn.cells["errors"].items() if k not in "gd"}
    assert letters == {(f.net["leaf-01"].guid, 2): "e", (f.net["spine-01"].guid, 1): "u"}


# --- names, and the same again ---

HOSTILE = ["<script>window.pwned=1</script>", "\"'><img src=x onerror=pwned>", "</title></svg><b>", "&lt;&amp;", "a]]>b--><!--", "x" * 90, "ä\u202eb"]


def test_names_stay_text(up, ibqos, tmp_path):
    f, _ = up(**SHAPE)
    path, names = tmp_path / "fabric.txt", tmp_path / "names"
    path.write_text(f.tool("ibnetdiscover").ok().stdout, encoding="utf-8")
    nodes = sorted(f.net.nodes.values(), key=lambda n: n.guid)
    given = {n.guid: HOSTILE[i % len(HOSTILE)].replace('"', "") for i, n in enumerate(nodes)}
    names.write_text("".join(f'0x{g:016x} "{name}"\n' for g, name in given.items()), encoding="utf-8")
    text = ibqos("audit", "--from", path, "--node-name-map", names, "--format", "html").ok(0, 1, 2, 3).stdout
    page = figures.read(text)
    drawn = figures.Ports(page)
    shown = {g: name.replace("\u202e", "\ufffd") for g, name in given.items()}
    assert {g: n.replace("\u202e", "\ufffd") for g, n in zip(drawn.guids, drawn.names)} == {g: shown[g] for g in drawn.guids}
    figures.Topology(page)
    assert not page.all("img") and not page.all("b", id="x") and all(not a.startswith("on") for e in page.walk() for a in e.attrs)
    again = ibqos("audit", "--from", path, "--node-name-map", names, "--format", "html").stdout
    assert again == text
