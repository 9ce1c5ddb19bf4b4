# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Causes before symptoms, and the worst first: one cable's two ends are one finding, a burst has its switch named, a narrowed
link to a spine stands above forty symbol errors; and in the text nothing is cut in silence."""
import re

import pytest
from kit import sim
from kit.looks import DATA, HOUR, T0, Look
from tools.netgen_tree import tree2

HOSTS, LEAVES = 12, 4


@pytest.fixture(scope="module")
def fab(tmp_path_factory):
    with sim.Fabric(tmp_path_factory.mktemp("causes"), tree2(radix=36, leaves=LEAVES, spines=6, hosts_per_leaf=HOSTS)) as f:
        f.opensm()
        yield f


def host_links(net, leaf):
    """[(leaf, port, host)]"""
    return [(net[leaf], p, c.peer(net[leaf])[0]) for p, c in sorted(net[leaf].cables.items()) if not c.peer(net[leaf])[0].switch]


def errors(node, port, counter="SymbolErrorCounter", value=5000):
    return f"guid=0x{node.guid:x} port={port} attr=PortCounters : set {counter}={value}"


def narrow(cable):
    return [f"guid=0x{n.guid:x} port={p} attr=PortInfo : set LinkWidthActive=16" for n, p in cable.ends]


def text(look, now, *args):
    return look.f.ibqos("audit", "--counters", "--state", look.state, "--now", str(now), *args,
                        env={"IBQOS_OVERLAY_NOW": str(now)}).stdout


def test_narrowed_spine_link_above_forty_symbol_errors(fab, tmp_path):
    """Ten hosts of each leaf have errors, at both ends; leaf-02 has a cable at half its width."""
    look, net = Look(fab, tmp_path), fab.net
    links = [x for leaf in range(1, LEAVES + 1) for x in host_links(net, f"leaf-{leaf:02}")[:10]][:40]
    leaf = net["leaf-02"]
    isl = leaf.cables[leaf.to("spine-01")[0]]
    look(T0, DATA).ok(0)
    rules = [r for leaf, port, host in links for r in (errors(leaf, port), errors(host, 1))]
    r = look(T0 + HOUR, DATA, *narrow(isl), *rules).ok(2)
    found = r.json["findings"]
    assert found[0]["code"] == "link-width-low" and {found[0]["node"], found[0]["peer"]} == {"leaf-02", "spine-01"}
    assert "of host pairs cross it" in found[0]["detail"] and "left to other switches for 12 host ports" in found[0]["detail"]
    assert found[0]["first_seen"] and len([x for x in found if x["code"] == "link-ber-high"]) == 80
    # ten of a leaf's thirty links are no burst of the leaf: each cable once
    said = text(look, T0 + 2 * HOUR)
    assert said.index("link-width-low") < said.index("link-ber-high")
    assert "critical: 40 ports: more errors a bit" in said and "and 30 more (--all" in said
    assert "verdict: critical (41 critical)" in said
    every = text(look, T0 + 3 * HOUR, "--all")
    assert all(f"{host.desc}[1]" in every for _, _, host in links) and "more (--all" not in every


def test_two_ends_are_one(fab, tmp_path):
    """The worse end stands for both, and says what the other has."""
    look = Look(fab, tmp_path)
    leaf, port, host = host_links(fab.net, "leaf-03")[4]
    look(T0, DATA).ok(0)
    r = look(T0 + HOUR, DATA, errors(leaf, port, value=60), errors(host, 1, value=6000)).ok(2)
    assert len(r.json["findings"]) == 2  # for programs both are there
    said = text(look, T0 + HOUR + 60)
    assert said.count("(link-ber-high)") == 1 and f"critical: {host.desc}[1] to leaf-03[{port}]" in said
    assert "the other end: " in said and re.search(r"verdict: critical \(1 critical\)", said)


def test_burst_has_its_switch_named(fab, tmp_path):
    """All links of leaf-02 went down again and again, and one elsewhere."""
    look, net = Look(fab, tmp_path), fab.net
    look(T0, DATA).ok(0)
    flaps = [errors(n, p, "LinkDownedCounter", 5) for c in net["leaf-02"].cables.values() for n, p in c.ends]
    leaf, port, _ = host_links(net, "leaf-04")[0]
    r = look(T0 + HOUR, DATA, *flaps, errors(leaf, port, "LinkDownedCounter", 5))
    burst, = (x for x in r.json["findings"] if x["code"] == "burst-at-switch")
    assert (burst["node"], burst["what"], burst["got"]) == ("leaf-02", "link-flaps", "30 of its 30 links")
    said = text(look, T0 + HOUR + 60)
    assert "leaf-02: many links of one switch have the same fault (burst-at-switch)" in said
    assert said.count("(link-flaps)") == 1 and f"leaf-04[{port}]" in said
    assert "verdict: warning (2 warnings)" in said
    assert text(look, T0 + HOUR + 120, "--all").count("leaf-02[") >= 30


def test_forty_hosts_behind_one_switch(fabric):
    make = lambda: tree2(radix=96, leaves=3, spines=4, hosts_per_leaf=40)  # noqa: E731
    f = fabric(net=make())
    good = f.path("good.snap")
    f.ibqos("snapshot", good).ok(0, 3)
    net = make()
    for _, _, host in host_links(net, "leaf-02"):
        net.remove_node(host.name)
    r = fabric(net=net).ibqos("audit", "--baseline", good, "--format", "json")
    x, = (x for x in r.json["findings"] if x["code"] not in ("no-sm", "link-not-active"))
    assert (x["code"], x["node"], x["got"]) == ("hosts-gone", "leaf-02", "40 hosts gone")
