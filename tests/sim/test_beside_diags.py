# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""audit beside iblinkinfo and ibqueryerrors, on the same fabric with the same planted faults: what each says, to the
port. Every difference that is asserted here is told in docs/links.md and docs/counters.md ("Beside ...")."""
import re

import pytest

from kit import sim
from tools import netgen

SHAPE = dict(leaves=4, spines=2, hosts_per_leaf=4, uplinks=2, storage=0, switch_ports=16)
# what the simulator does not know, a device refuses; and no sums over all ports of a switch
DEVICE = [*(f"attr={a} : answer status=0xc" for a in ("PortExtendedSpeedsCounters", "PortRcvErrorDetails",
                                                    "PortXmitDiscardDetails", "PortSamplesControl")),
          "attr=ClassPortInfo : set CapMask=0x1200", "attr=PortCounters : set PortXmitData=1000 PortRcvData=1000"]
SUMS = [r for r in DEVICE if "CapMask" not in r]


@pytest.fixture(scope="module")
def fab(tmp_path_factory):
    net = netgen.fat_tree(**SHAPE)
    leaf = net["leaf-04"]
    gone = leaf.cables[leaf.to("spine-01")[0]]
    net.remove(gone)  # one of a bundle of two
    with sim.Fabric(tmp_path_factory.mktemp("beside"), net) as f:
        f.missing = {(n.desc, p) for n, p in gone.ends}
        f.opensm()
        yield f


class Link:
    """A cable of the net, and rules that change it at both its ends."""

    def __init__(self, f, node, to, nth=0):
        a = f.net[node]
        port = a.to(to)[nth]
        b, there = a.cables[port].peer(a)
        self.places = [(a, port), (b, there)]
        self.ends = frozenset((n.desc, p) for n, p in self.places)

    def rules(self, values):
        return [f"guid=0x{n.guid:016x} port={p} attr=PortInfo : set {values}" for n, p in self.places]


def iblinkinfo(f, *args):
    """{(node, port): (state, what the link could be)} of each port, but those whose peer did not answer."""
    said = f.tool("iblinkinfo", "-l", *args).ok().stdout
    ports = {}
    for name, port, state, msg in re.findall(
            r'^0x\w+ +" *(.+?)" +\d+ +(\d+)\[ *\] ==\( *(?:\S+ +[\d.]+ Gbps *)?(\w+)/.*==> .*\((.*)\)$', said, re.M):
        could = {"width" if m.endswith("X") else "speed" for m in re.findall(r"Could be ([\d.]+X?)", msg)}
        ports[name, int(port)] = state, could
    assert len(ports) == said.count("==>") - said.count("Port not available")
    return ports


def ibqueryerrors(f, *args, codes=(0, 1)):
    """{(node, port): {counter: value}} and its result."""
    r = f.tool("ibqueryerrors", "--skip-sl", *args).ok(*codes)
    guids = {n.port_guid(p): n for n in f.net.nodes.values() for p in range(1, n.ports + 1)}
    ports = {}
    for guid, port, text in re.findall(r"^ +GUID 0x(\w+) port (\d+): (.*)$", r.stdout, re.M):
        node = guids[int(guid, 16)]
        ports[node.desc, int(port)] = {n: int(v) for n, v in re.findall(r"\[(\w+) == (\d+)", text)}
    return ports, r


def found(r, notes=False):
    return [x for x in r.json["findings"] if notes or x["severity"] != "note"]


def test_links(fab):
    narrow, slow = Link(fab, "leaf-01", "spine-02"), Link(fab, "gpu-003", "leaf-01")
    told, weak = Link(fab, "leaf-02", "spine-01"), Link(fab, "gpu-006", "leaf-02")
    idle, unsure = Link(fab, "gpu-010", "leaf-03"), Link(fab, "leaf-03", "spine-02")
    fab.rules(*narrow.rules("LinkWidthActive=1"), *slow.rules("LinkSpeedExtActive=1"),
              *told.rules("LinkWidthActive=1 LinkWidthEnabled=1"),
              *weak.rules("LinkWidthActive=1 LinkWidthEnabled=1 LinkWidthSupported=1"),
              *idle.rules("LinkState=2"), unsure.rules("LinkWidthActive=1")[0])
    theirs = iblinkinfo(fab)
    first, port = unsure.places[0]
    assert {place: what for place, (_, what) in theirs.items() if what} == {
        **dict.fromkeys(narrow.ends | told.ends | {(first.desc, port)}, {"width"}), **dict.fromkeys(slow.ends, {"speed"})}
    r = fab.ibqos("audit", "--format", "json").ok(2)
    assert {(x["code"], frozenset({(x["node"], x["port"]), (x["peer"], x["peer_port"])})) for x in found(r)} == {
        ("link-width-low", narrow.ends), ("link-speed-low", slow.ends),  # they: at each end, two lines of one link
        ("link-width-limited", told.ends),  # they: the same words as of a bad cable
        ("link-width-low", unsure.ends),  # they: at that end alone
        ("sibling-link-slow", weak.ends),  # they: nothing, since its ends claim no more
        ("link-not-active", idle.ends),  # they: the state in its column
        ("sibling-cable-missing", frozenset(fab.missing)),  # they: two ports that are down, as empty ones are
    }
    assert {theirs[place][0] for place in idle.ends} == {"Initialize"}
    assert {theirs[place][0] for place in fab.missing} == {"Down"}


def test_a_host_that_is_silent(fab):
    mute = Link(fab, "gpu-013", "leaf-04")
    fab.rules("node=gpu-013 : timeout")
    r = fab.tool("iblinkinfo", "-l", "-t", "50").ok(0)
    assert r.stdout.count("Port not available") == 1
    r = fab.ibqos("audit", "--format", "json", "-t", "50").ok(3)
    leaf, port = mute.places[1]
    assert [(x["node"], x["port"]) for x in found(r) if x["severity"] == "unknown"] == [(leaf.desc, port)]


def totals(r):
    ports = {}
    for x in r.json["counter_totals"]:
        if not re.search("Data$|Pkts$", x["counter"]):
            ports.setdefault((x["node"], x["port"]), {})[x["counter"]] = x["value"]
    return ports


def counts(f):
    """What is planted: {(node, port): {counter: value}}, and the rules."""
    planted = {
        ("leaf-01", 1): {"SymbolErrorCounter": 11, "PortRcvErrors": 3},
        ("gpu-002 mlx5_0", 1): {"LinkDownedCounter": 4},
        ("spine-02", 3): {"PortXmitDiscards": 77, "PortRcvSwitchRelayErrors": 9},
        ("leaf-03", 2): {"LinkErrorRecoveryCounter": 255, "ExcessiveBufferOverrunErrors": 15},  # the most they can hold
        ("gpu-012 mlx5_0", 1): {"PortXmitWait": 5000, "PortXmitConstraintErrors": 2},
        ("leaf-02", 4): {"VL15Dropped": 6},
    }
    nodes = {n.desc: n for n in f.net.nodes.values()}
    rules = [f"guid=0x{nodes[name].guid:016x} port={port} attr=PortCounters : set " + " ".join(f"{c}={v}" for c, v in values.items())
             for (name, port), values in planted.items()]
    return planted, rules


def test_counters(fab):
    planted, rules = counts(fab)
    fab.rules(*DEVICE, *rules)
    theirs, _ = ibqueryerrors(fab, codes=(1,))
    r = fab.ibqos("audit", "--counters", "--all", "--format", "json").ok(1, 2)
    assert theirs == totals(r) == planted
    # a total alone tells nothing, but that a counter stands still
    assert [(x["code"], x["node"], x["port"], x["what"], x["got"]) for x in found(r) if x["code"] != "sibling-cable-missing"] == [
        ("counter-saturated", "leaf-03", 2, "ExcessiveBufferOverrunErrors", "≥ 15"),
        ("counter-saturated", "leaf-03", 2, "LinkErrorRecoveryCounter", "≥ 255")]


def test_sums_of_a_switch(fab):
    """Where a switch has the sum over its ports they ask for that first, and for no more where it is 0; ibqos asks each port."""
    planted, rules = counts(fab)
    fab.rules(*SUMS, *rules)  # of single ports: the sums stay 0
    theirs, _ = ibqueryerrors(fab, codes=(1,))
    assert theirs == {place: values for place, values in planted.items() if place[0].startswith("gpu-")}
    r = fab.ibqos("audit", "--counters", "--all", "--format", "json").ok(1, 2)
    assert totals(r) == planted


def test_thresholds(fab):
    """What is not in the file has a threshold of 0 there, and none here."""
    planted, rules = counts(fab)
    fab.rules(*DEVICE, *rules)
    path = fab.path("thresholds")
    with open(path, "w", encoding="ascii") as out:
        out.write("SymbolErrorCounter=10\nPortXmitDiscards=100\nVL15Dropped=5\n")
    theirs, _ = ibqueryerrors(fab, "--threshold-file", path, codes=(1,))
    within = {("spine-02", 3, "PortXmitDiscards")}
    assert {(*place, c) for place, values in theirs.items() for c in values} == {
        (*place, c) for place, values in planted.items() for c in values} - within
    r = fab.ibqos("audit", "--counters", "--error-thresholds", path, "--format", "json").ok(1, 2)
    assert {(x["node"], x["port"], x["what"]) for x in found(r) if x["code"] == "counter-over-threshold"} == {
        ("leaf-01", 1, "SymbolErrorCounter"), ("leaf-02", 4, "VL15Dropped")}


def test_counters_that_nobody_answers(fab):
    fab.rules(*DEVICE, "node=leaf-02 class=pma : timeout")
    _, r = ibqueryerrors(fab, "-t", "50", codes=(0,))
    assert "PMA query failures" in r.stdout and "0 ports have errors beyond threshold" in r.stdout
    r = fab.ibqos("audit", "--counters", "--format", "json", "-t", "50").ok(3)
    assert [(x["code"], x["node"]) for x in found(r) if x["severity"] == "unknown"] == [("counters-unanswered", "leaf-02")]
