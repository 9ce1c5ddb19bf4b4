# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Every policy that is shipped: linted, compiled for fabrics of several shapes, applied on real OpenSM, verified clean.
What the ports then hold is read by infiniband-diags, and the shares it gives are counted packet by packet by an
arbiter written from the rules (IBA 7.6.9), not from ibqos."""
import os
import re

import pytest
import yaml

from kit import policy, run
from tools import netgen, netgen_grid, netgen_tree

FOLDER = os.path.join(run.TOP, "policies")
SHIPPED = ["expert-parallel", "four-vl-fabric", "latency-first", "multi-tenant", "training-and-storage", "training-first",
           "two-vl-fabric"]
GUIDE = os.path.join(run.TOP, "docs", "choosing-a-policy.md")
SERVICES = {"lustre": 0x010603DB, "nvme-of": 0x01061144, "nfs-rdma": 0x01064E51}
POINTS = 2.0  # by which a class may miss its share before plan warns
FOUR = ["node=gpu-* attr=PortInfo : set VLCap=3", "node=oss-* attr=PortInfo : set VLCap=3"]


def tree():
    return netgen.fat_tree(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=1)


# name: (fabric, data VLs of its links, OpenSM's options, what ports are capable of)
SHAPES = {
    "fat-tree": (tree, 8, {"routing_engine": "minhop"}, ()),
    "torus": (lambda: netgen_grid.torus((3, 3), radix=8), 8, {"routing_engine": "updn"}, ()),
    "rail": (lambda: netgen_tree.rail(units=2, hosts_per_unit=2, rails=4, spines=2, radix=8), 8,
             {"routing_engine": "ftree"}, ()),
    "four-vl-hosts": (tree, 4, {"routing_engine": "updn"}, FOUR),
    "two-vls": (tree, 2, {"routing_engine": "minhop", "max_op_vls": "2"}, ()),
}


def text_of(name):
    with open(os.path.join(FOLDER, name + ".yaml"), encoding="utf-8") as f:
        return f.read()


def meant(name):
    return yaml.safe_load(text_of(name))


def classes_of(name):
    return {c["name"]: c for c in meant(name)["classes"]}


def percent(text):
    return float(text.rstrip("%"))


def partitions_conf(names):
    """partitions.conf as the policies say that it is; multi-tenant says how it is written."""
    lines = ["Default=0x7fff, ipoib : ALL=full, SELF=full, ALL_SWITCHES=full;"]
    for p in [p for n in names for p in meant(n).get("partitions", [])]:
        lines.append(f"{p['name']}=0x{p['pkey']:04x}{', ipoib' if p.get('ipoib') else ''}, sl={p.get('sl', 0)}, defmember=full : ALL;")
    return "\n".join(lines) + "\n"


def start(fabric, shape, names=SHIPPED):
    make, _, options, capabilities = SHAPES[shape]
    f = fabric(net=make())
    f.rules(*capabilities)
    if options["routing_engine"] == "updn":
        options = dict(options, root_guid_file=f.path("roots"))
        with open(f.path("roots"), "w", encoding="ascii") as roots:
            roots.writelines(f"0x{g:016x}\n" for g in f.net.roots())
    sm = f.opensm(options=options, rules=capabilities, partitions=partitions_conf(names))
    assert sm.engine() == options["routing_engine"], sm.evidence()
    return f, sm


def ours(f, sm, name):
    """As shipped, but for the paths of OpenSM's files."""
    head, mark, _ = text_of(name).partition("\nopensm:\n")
    assert mark
    path = f.path(name + ".yaml")
    with open(path, "w", encoding="utf-8") as out:
        out.write(head + "\n" + "".join(policy.text(sm, ()).partition("opensm:")[1:]))
    return path


def refused_on(name, vls):
    p = meant(name)
    if len(p["classes"]) > vls:
        return "plan-too-many-classes"
    return "plan-vls-fewer" if p.get("vls", 0) > vls else None


def above_notes(report):
    return [x for x in report["findings"] if x["severity"] != "note"]


# --- the ports, by infiniband-diags ---


def lids(f):
    text = f.tool("ibnetdiscover").ok().stdout
    found = {}
    for n in f.net.nodes.values():
        pattern = r'# "%s" .*port 0 lid (\d+)' if n.switch else r'# "%s" lid (\d+)'
        found[n.name] = re.search(pattern % re.escape(n.desc), text)[1]
    return found


def held(f, lid, port):
    """({sl2vl from each in-port}, low, high, high limit, MTU) that a port holds."""
    info = f.tool("smpquery", "portinfo", lid, port).ok().stdout
    limit = int(re.search(r"^VLHighLimit:\.+(\d+)$", info, re.M)[1])
    mtu = int(re.search(r"^NeighborMTU:\.+(\d+)$", info, re.M)[1])
    tables = {}
    for which, vls, weights in re.findall(r"# (Low|High) priority VL Arbitration Table:.*?\nVL *: \|(.*?)\|\nWEIGHT: \|(.*?)\|\n",
                                          f.tool("smpquery", "vlarb", lid, port).ok().stdout, re.S | re.I):
        v, w = ([int(x, 16) for x in re.findall(r"0x(\w+)", row)] for row in (vls, weights))
        tables[which.lower()] = list(zip(v, w))
    rows = re.findall(r"^ports: in.*?: \|((?: *\d+\|){15} *\d+)\|", f.tool("smpquery", "sl2vl", lid, port).ok().stdout, re.M)
    maps = {tuple(int(x) for x in row.split("|")) for row in rows}
    return maps, tables["low"], tables["high"], limit, mtu


class Table:
    def __init__(self, entries):
        self.entries = [e for e in entries if e[1]]
        self.at, self.left = 0, self.entries[0][1] if self.entries else 0

    def ready(self, vls):
        return any(v in vls for v, _ in self.entries)

    def _next(self):
        self.at = (self.at + 1) % len(self.entries)
        self.left = self.entries[self.at][1]

    def send(self, vls, mtu):
        while self.entries[self.at][0] not in vls or self.left <= 0:
            self._next()
        self.left -= mtu // 64
        return self.entries[self.at][0]


def arbitrate(low, high, limit, mtu, vls, rate=None, packets=4000):
    """Shares in % of a link on which all `vls` always have full packets; rate {vl: share}: some send no more."""
    low, high = Table(low), Table(high)
    sent, ahead = dict.fromkeys(vls, 0), 0
    for n in range(packets):
        waiting = {v for v in vls if v not in (rate or {}) or sent[v] < rate[v] / 100 * n}
        if not high.ready(waiting) or (low.ready(waiting) and ahead >= max(limit * 4096, 1)):
            vl, ahead = low.send(waiting, mtu), 0
        else:
            vl = high.send(waiting, mtu)
            ahead += mtu if low.ready(waiting) else 0
        sent[vl] += 1
    return {v: 100 * s / packets for v, s in sent.items()}


def test_the_arbiter_counts_right():
    assert arbitrate([(0, 64), (1, 192)], [], 0, 4096, [0, 1]) == {0: 25, 1: 75}
    assert arbitrate([(0, 64), (1, 64), (0, 64)], [(2, 64)], 0, 4096, [0, 1, 2], packets=6000) == \
        {0: pytest.approx(100 / 3, abs=0.1), 1: pytest.approx(100 / 6, abs=0.1), 2: 50}
    assert arbitrate([(0, 64)], [(1, 64)], 3, 4096, [0, 1]) == {0: 25, 1: 75}
    assert arbitrate([(0, 64), (1, 192)], [(2, 1)], 0, 4096, [0, 1, 2], {2: 20}) == \
        {0: pytest.approx(20, abs=0.1), 1: pytest.approx(60, abs=0.1), 2: pytest.approx(20, abs=0.1)}


# --- the tests ---


def test_all_are_here():
    assert sorted(x for x in os.listdir(FOLDER) if x.endswith(".yaml")) == [n + ".yaml" for n in SHIPPED]


@pytest.mark.parametrize("name", SHIPPED)
def test_lint_finds_notes_at_most(fabric, name):
    f = fabric(net=tree())
    assert above_notes(f.ibqos("lint", os.path.join(FOLDER, name + ".yaml"), "--format", "json").ok().json) == []
    p = meant(name)
    assert p["name"] == name and p["opensm"] == {"config": "/etc/opensm/opensm.conf"}
    by_sl = {c["sl"]: c for c in p["classes"]}
    assert by_sl[0]["default"] and sum(percent(c["share"]) for c in p["classes"]) == 100
    # DeepEP's own SL is nobody else's, and QoS class 0 is that of every program that sets no type of service
    assert 3 not in by_sl or by_sl[3]["name"] == "expert-parallel"
    tcs = [t for c in p["classes"] for t in (c["nccl_ib_tc"] if isinstance(c.get("nccl_ib_tc"), list) else [c.get("nccl_ib_tc")])]
    assert 0 not in tcs


@pytest.mark.parametrize("shape", SHAPES)
def test_plans_for_it_or_says_why_not(fabric, shape):
    f, sm = start(fabric, shape)
    vls = SHAPES[shape][1]
    for name in SHIPPED:
        why = refused_on(name, vls)
        r = f.ibqos("plan", ours(f, sm, name), "--format", "json").ok(2 if why else 0)
        if why:
            assert why in policy.codes(r), name
            continue
        assert above_notes(r.json) == [] and r.json["links_planned_for"]["vls"] == vls, name


# each on the fat tree, on one of another topology, and on the links of the fewest VLs that it fits
FITS = [(n, s) for i, n in enumerate(SHIPPED) for s in ("fat-tree", ("torus", "rail")[i % 2], "four-vl-hosts", "two-vls")
        if not refused_on(n, SHAPES[s][1]) and not (s == "four-vl-hosts" and not refused_on(n, 2))]


@pytest.mark.parametrize("name, shape", FITS)
def test_applied_every_class_has_its_share(fabric, name, shape):
    f, sm = start(fabric, shape, [name])
    path = ours(f, sm, name)
    plan = f.ibqos("plan", path, "--format", "json").ok().json
    assert above_notes(f.ibqos("apply", path, "--format", "json", "--state-dir", f.path("state")).ok().json) == []
    verify = f.ibqos("verify", path, "--format", "json").ok().json
    assert above_notes(verify) == []

    classes, vl_of = classes_of(name), {c["name"]: c["vl"] for c in plan["classes"]}
    assert len(set(vl_of.values())) == len(classes) == len(vl_of)
    lid = lids(f)
    switch = next(n for n in f.net.switches if n.role != "spine")
    up = next(p for p, c in sorted(switch.cables.items()) if c.peer(switch)[0].switch)
    for node, port in ((f.net.first.name, 1), (switch.name, up)):
        maps, low, high, limit, mtu = held(f, lid[node], port)
        # each class on its VL, SLs of no class with the rest
        ways = {vl_of[c["name"]] for c in classes.values() if c.get("default")}
        wanted = [next((vl_of[c["name"]] for c in classes.values() if c["sl"] == sl), *ways) for sl in range(16)]
        assert maps == {tuple(wanted)}, (node, port)
        all_busy = arbitrate(low, high, limit, mtu, sorted(vl_of.values()))
        for c in plan["classes"]:
            assert all_busy[c["vl"]] == pytest.approx(c["share_guaranteed"], abs=0.5), (node, c)
        # a class of least latency is not held to its share by any table: where it keeps to it the others have theirs
        little = {vl_of[n]: percent(c["share"]) for n, c in classes.items() if c.get("min_latency")}
        shares = arbitrate(low, high, limit, mtu, sorted(vl_of.values()), little)
        for n, c in classes.items():
            assert shares[vl_of[n]] >= percent(c["share"]) - POINTS, (node, n, shares)

    assert not re.search(r"ERR (AC|1F)", sm.log()), sm.evidence()


@pytest.mark.parametrize("name", SHIPPED)
def test_who_asks_gets_the_sl_of_its_class(fabric, name):
    f, sm = start(fabric, "fat-tree", [name])
    f.ibqos("apply", ours(f, sm, name), "--state-dir", f.path("state")).ok()
    lid = lids(f)
    ends = ["--slid", lid["gpu-001"], "--dlid", lid["gpu-003"]]
    keys = {p["name"]: p["pkey"] for p in meant(name).get("partitions", [])}

    def sl(*request):
        return {int(x, 16) for x in re.findall(r"\bsl\.+0x(\w+)", f.tool("saquery", *ends, *request, "PR").ok().stdout)}

    rest = {c["sl"] for c in meant(name)["classes"] if c.get("default")}
    assert sl() == rest and sl("-Q", "0") == rest
    for c in meant(name)["classes"]:
        for tc in [c["nccl_ib_tc"]] if isinstance(c.get("nccl_ib_tc"), int) else c.get("nccl_ib_tc", []):
            assert sl("-Q", tc) == {c["sl"]}
        for m in c.get("match", []):
            if m.get("service") in SERVICES:
                for pkey in (0x7FFF, *keys.values()):  # as rdma_cm asks, with a type of service of 0
                    asked = ["-Q", "0", "--service_id", hex(SERVICES[m["service"]]), "--pkey", hex(pkey)]
                    assert sl(*asked) == {c["sl"]}, asked
            else:
                assert sl("--pkey", hex(keys.get(m.get("partition"), 0x7FFF))) == {c["sl"]}, m
    assert not re.search(r"ERR (AC|1F)", sm.log()), sm.evidence()


# --- the guide ---


def rows(columns):
    """Rows of the guide's tables of figures that have so many columns."""
    with open(GUIDE, encoding="utf-8") as f:
        cells = [[x.strip() for x in line.strip("|\n").split("|")] for line in f if line.startswith("| ")]
    return [r for r in cells if len(r) == columns and re.fullmatch(r"\d+\.\d", r[-1])]


def figures(plan):
    return [[f"{c[k]:.1f}" for k in ("share_wanted", "share_guaranteed", "share_256")] for c in plan["classes"]]


def test_figures_of_the_guide(fabric):
    f, sm = start(fabric, "fat-tree")
    said, high = {}, rows(4)
    for r in rows(6):
        said.setdefault(r[0], []).append(r[1:])
    assert sorted(said) == SHIPPED
    for name in SHIPPED:
        plan = f.ibqos("plan", ours(f, sm, name), "--format", "json").ok().json
        assert [[c["name"], str(c["sl"]), *n] for c, n in zip(plan["classes"], figures(plan))] == said[name]
    planned = plan["links_planned_for"]
    assert (len(f.net.switches), len(f.net.hosts)) == (3, 5)
    assert planned == {"vls": 8, "mtu": 2048, "vlarb_cap": 8}

    path = ours(f, sm, "training-first")
    with open(path, encoding="utf-8") as old:
        text, changed = re.subn(r"^    # (priority: high)$", r"    \1", old.read(), flags=re.M)
    with open(path, "w", encoding="utf-8") as new:
        new.write(text)
    plan = f.ibqos("plan", path, "--format", "json").ok().json
    assert changed == 1 and [[c["name"], *n] for c, n in zip(plan["classes"], figures(plan))] == high


def test_the_guide_names_every_policy():
    with open(GUIDE, encoding="utf-8") as f:
        assert set(re.findall(r"`([\w-]+)\.yaml`", f.read())) == set(SHIPPED)
