# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""ibqos's own walker against libibnetdisc, its reference: the same report on every fabric, whole or with faults,
as far as libibnetdisc can tell. Where they differ, and why: docs/discovery.md."""
import os
import random
import re

import pytest

from kit import looks, run
from tools import netgen_cases


def seen(f, command, walker, *args):
    """What a command says, in both formats; but for the counts of MADs, most of which libibnetdisc cannot tell."""
    text = f.ibqos(command, "--walker", walker, "--all", *args)
    r = f.ibqos(command, "--walker", walker, "--format", "json", *args)
    whole = looks.timeless(r.json, "mads")
    return r.returncode, whole, text.returncode, re.sub(r"\nMADs:\n(  .*\n)+", "", looks.timeless(text.stdout))


def both_see_the_same(f, command, *args):
    native, reference = (seen(f, command, w, *args) for w in ("native", "libibnetdisc"))
    assert native == reference
    return native[1]


@pytest.mark.parametrize("case", netgen_cases.CASES, ids=str)
def test_same_fabric_of_each_shape(fabric, case):
    """Without an SM: no LIDs, links in Init."""
    f = fabric(net=case.make())
    report = both_see_the_same(f, "discover")
    assert (len(report["nodes"]), len(report["links"])) == (case.cas + case.switches + case.routers, case.cables)
    assert [x["code"] for x in report["findings"]] == ["no-sm"]


@pytest.mark.parametrize("command", ["discover", "audit"])
def test_same_fabric_with_a_subnet_manager(up, command):
    """LIDs, active links; adapters of two ports, aggregation nodes, a router."""
    f, _ = up(net=netgen_cases.CASES[2].make())
    report = both_see_the_same(f, command)
    assert not [x for x in report["findings"] if x["severity"] != "note"]
    f, _ = up(net=next(c for c in netgen_cases.CASES if c.name == "tree2-guests").make())
    both_see_the_same(f, command)


FAULTS = ("cable", "adapter", "switch", "NodeDesc", "SwitchInfo", "PortInfo", "port", "FDR10", "refused")


def break_something(net, kind, draw):
    """One fault more, planted in the net or as rules for readers: (rules)."""
    first = net.first
    near = {first.name} | {n.name for c in first.cables.values() for n in (c.a, c.b)}
    nodes = [n for n in net.nodes.values() if n.name not in near]
    switches = [n for n in nodes if n.kind == "switch"]
    one = draw.choice(nodes)
    if kind == "cable":
        net.remove(draw.choice([c for c in net.cables if first not in (c.a, c.b)]))
        return []
    if kind == "adapter":
        return [f"node={draw.choice([n for n in nodes if n.kind == 'ca']).name} : timeout"]
    if kind == "switch":
        return [f"node={draw.choice(switches).name} : timeout"]
    if kind == "SwitchInfo":
        return [f"node={draw.choice(switches).name} attr=SwitchInfo : timeout"]
    if kind == "port":
        s = draw.choice(switches)
        return [f"node={s.name} attr=PortInfo port={draw.randint(1, s.ports)} : timeout"]
    if kind == "FDR10":
        names = draw.sample([n.name for n in nodes], min(3, len(nodes)))
        return [r for n in names for r in (
            f"node={n} attr=NodeInfo : set DevId={draw.choice(('0x1003', '0xc738', '0x1002'))}",
            f"node={n} attr=PortInfo : set LinkSpeedActive=4 LinkSpeedExtActive=0",
            f"node={n} attr=MlnxExtPortInfo : " + draw.choice(("set LinkSpeedActive=1", "status=0x1c", "set LinkSpeedActive=0")))]
    if kind == "refused":
        return [f"node={one.name} attr={draw.choice(('NodeInfo', 'NodeDesc', 'PortInfo'))} : status={draw.choice(('0x1c', '0x1'))}"]
    return [f"node={one.name} attr={kind} : timeout"]


@pytest.mark.parametrize("seed", range(int(os.environ.get("IBQOS_FAULT_SEEDS", "12"))))
def test_same_fabric_with_faults(fabric, seed):
    """Cables out, devices silent in whole or in part, or refusing; with and without an SM, so with and without LIDs."""
    draw = random.Random(seed)
    net = draw.choice(netgen_cases.CASES).make()
    rules = [r for kind in draw.choices(FAULTS, k=draw.randint(1, 4)) for r in break_something(net, kind, draw)]
    f = fabric(net=net)
    if draw.random() < 0.5:
        f.opensm(options={"routing_engine": "minhop"})
    f.rules(*rules)
    command = draw.choice(["discover", "audit"])
    report = both_see_the_same(f, command, "-t", "200", "--retries", "1")
    assert report["fabric_found"]["switches"] > 0


def fdr10(f, answer):
    """A link of leaf-02 to spine-01 that says QDR at both ends, and what leaf-02 says of its ExtendedPortInfo."""
    f.rules("node=leaf-02 attr=NodeInfo : set DevId=0xc738",
            "node=leaf-02 port=8 attr=PortInfo : set LinkSpeedActive=4 LinkSpeedExtActive=0",
            "node=spine-01 port=2 attr=PortInfo : set LinkSpeedActive=4 LinkSpeedExtActive=0",
            f"node=leaf-02 attr=MlnxExtPortInfo : {answer}")


SMALL = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=0, switch_ports=8)


def speed_of_uplink(report):
    return next(x["speed"] for x in report["links"] if {x["node"], x["peer"]} == {"leaf-02", "spine-01"})


def test_a_lost_answer_about_fdr10_is_not_qdr(up):
    """libibnetdisc takes a lost answer for 'has no such attribute', and the link for QDR."""
    f, _ = up(**SMALL)
    fdr10(f, "set LinkSpeedActive=1")
    assert speed_of_uplink(both_see_the_same(f, "discover")) == "FDR10"
    fdr10(f, "status=0x1c")
    assert speed_of_uplink(both_see_the_same(f, "discover")) == "QDR"
    fdr10(f, "timeout")
    lost = ("-t", "50", "--retries", "1", "--format", "json")
    r = f.ibqos("discover", *lost).ok(3)
    assert speed_of_uplink(r.json) is None
    assert [(x["code"], x["node"], x["port"]) for x in r.json["findings"]] == [("speed-unanswered", "leaf-02", 8)]
    assert r.json["fabric_found"]["no_answer"] == 1 and r.json["mads"]["discovery_unanswered"] == 1
    r = f.ibqos("audit", *lost).ok(3)
    assert [(x["code"], x["node"], x["port"]) for x in r.json["findings"]] == [("speed-unanswered", "leaf-02", 8)]
    assert r.json["links"]["unknown"] == 1
    f.ibqos("snapshot", f.path("snap"), *lost[:-2]).ok(0, 3)
    later = f.ibqos("audit", "--from", f.path("snap"), "--format", "json").ok(3)
    assert run.but_advice(later.json) == run.but_advice(r.json) and later.json["links"] == r.json["links"]
    assert speed_of_uplink(f.ibqos("discover", "--walker", "libibnetdisc", *lost).json) == "QDR"


def test_every_mad_is_counted(up):
    f, _ = up(**SMALL)
    for rules in ([], ["prob=0.1 : timeout"], ["attr=PortInfo count=5 : duplicate=1"]):
        f.rules(*rules)
        for command in ("discover", "audit"):
            r = f.ibqos(command, "-t", "100", "--format", "json", seed=3)
            assert r.json["mads"]["discovery_sent"] + r.json["mads"]["sent"] == r.sent.gets
            assert r.sent.sets == r.sent.others == 0
            assert (r.json["mads"]["discovery_repeated"] > 0) == (rules == ["prob=0.1 : timeout"])


def test_fewest_questions(fabric):
    """NodeInfo over each link that leads to a port not yet known to be its peer, and each attribute of a node once."""
    f = fabric(**SMALL)
    sent = f.ibqos("discover", "--format", "json").json["mads"]["discovery_sent"]
    nodes, switches, ports = 4 + 3, 3, 3 * 9 + 4
    assert sent == nodes + nodes + switches + ports


def test_dead_nodes_wait_together(fabric):
    """All that are silent are asked again in one round at the end: as many MADs as their tries, all named, none twice."""
    f = fabric(leaves=4, spines=2, hosts_per_leaf=12, uplinks=2, storage=0)
    hosts = sorted(n.name for n in f.net.nodes.values() if n.kind == "ca" and n is not f.net.first)[::2][:20]
    whole = f.ibqos("discover", "--format", "json").json["mads"]
    f.rules(*(f"node={h} : timeout" for h in hosts))
    r = f.ibqos("discover", "-t", "100", "--format", "json").ok(3)
    silent = [x for x in r.json["findings"] if x["code"] == "no-answer"]
    assert len(silent) == len({(x["node"], x["port"]) for x in silent}) == len(hosts)
    mads = r.json["mads"]
    assert mads["discovery_unanswered"] == len(hosts)
    # 4 tries of NodeInfo each, and none of the two questions that follow an answer
    assert mads["discovery_sent"] == whole["discovery_sent"] + len(hosts) * (3 - 2)
    assert mads["discovery_repeated"] == 3 * len(hosts)
    assert mads["discovery_late_rounds"] == 1


def test_a_signal_ends_it_at_once(fabric):
    """libibnetdisc goes on to its end, which with silent nodes takes long."""
    f = fabric(**SMALL)
    f.rules("node=spine-01 : timeout")
    r = f.run("timeout", "-s", "INT", "0.5", run.binary(),
              "discover", "-t", "20000", "--format", "json", timeout=15)
    assert "Interrupted" in r.stderr or "signal" in r.stderr, r
    assert r.json["exit"] == 3
