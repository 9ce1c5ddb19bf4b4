# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Every shape of the fabric generator under ibsim and a real OpenSM: ibnetdiscover and ibqos see what was generated,
audit finds nothing wrong with it, and planted faults are named, each exactly."""
import re

import pytest

from kit import policy
from tools import netgen, netgen_cases, netgen_fault, netgen_hosts, netgen_tree

CASES = {c.name: c for c in netgen_cases.CASES}
DEGRADED = ["narrow-link", "slow-link", "narrow-link", "slow-link", "slow-link"]


def run_case(fabric, case, net=None):
    f = fabric(net=net or case.make())
    options = {"routing_engine": case.routing}
    if case.routing == "updn":
        options["root_guid_file"] = f.path("roots")
        with open(f.path("roots"), "w", encoding="ascii") as roots:
            roots.writelines(f"0x{g:016x}\n" for g in f.net.roots())
    return f, f.opensm(options=options)


def cabled(net):
    return {frozenset((n.guid, p) for n, p in c.ends) for c in net.cables}


def seen_by_ibnetdiscover(fabric):
    """({GUID: (kind, ports, description, system image GUID)}, {both ends}), each link told by both of its ends."""
    nodes, ends, here, sysimg = {}, {}, None, None
    for line in fabric.tool("ibnetdiscover").ok().stdout.splitlines():
        if m := re.match(r"sysimgguid=0x(\w+)", line):
            sysimg = int(m[1], 16)
        elif m := re.match(r'(Ca|Switch|Rt)\t(\d+) "[HSR]-(\w+)"\s+# "(.*?)"', line):
            here = int(m[3], 16)
            nodes[here] = m[1], int(m[2]), m[4], sysimg
        elif m := re.match(r'\[(\d+)\](?:\(\w+\))?\s+"[HSR]-(\w+)"\[(\d+)\]', line):
            ends[here, int(m[1])] = int(m[2], 16), int(m[3])
    assert all(ends[to] == at for at, to in ends.items())
    return nodes, {frozenset(x) for x in ends.items()}


def seen_by_ibqos(fabric):
    report = fabric.ibqos("discover", "--format", "json").ok().json
    links = [frozenset({(int(x["node_guid"], 16), x["port"]), (int(x["peer_guid"], 16), x["peer_port"])})
             for x in report["links"]]
    assert len(set(links)) == len(links)
    return report, set(links)


@pytest.mark.parametrize("case", netgen_cases.CASES, ids=str)
def test_shape_comes_up_as_generated(fabric, case):
    f, sm = run_case(fabric, case)
    assert f"{case.routing} tables configured on all switches" in sm.log(), sm.evidence()
    nodes, links = seen_by_ibnetdiscover(f)
    kinds = [n[0] for n in nodes.values()]
    assert (kinds.count("Ca"), kinds.count("Switch"), kinds.count("Rt")) == (case.cas, case.switches, case.routers)
    assert len(links) == case.cables and links == cabled(f.net)
    marks = {"ca": "Ca", "switch": "Switch", "router": "Rt"}
    assert nodes == {n.guid: (marks[n.kind], n.ports, n.desc, n.sysimg) for n in f.net.nodes.values()}

    report, same = seen_by_ibqos(f)
    assert same == links
    assert {(int(n["node_guid"], 16), n["ports"], n["name"], int(n["system_guid"], 16), n["active_ports"])
            for n in report["nodes"]} == {(n.guid, n.ports, n.desc, n.sysimg, len(n.cables)) for n in f.net.nodes.values()}
    rates = {(e["node"], e["port"]): (e["width"], e["speed"], e["state"]) for e in report["links"]}
    by_guid = {n.guid: n for n in f.net.nodes.values()}
    for x in report["links"]:
        cable = by_guid[int(x["node_guid"], 16)].cables[x["port"]]
        assert rates[x["node"], x["port"]] == (f"{cable.width}x", cable.speed, "active")

    audit = f.ibqos("audit", "--format", "json").ok(0).json
    assert audit["findings"] == [] and audit["links"]["looked_at"] == case.cables
    # and so for infiniband-diags, NDR and all
    assert "Could be" not in f.tool("iblinkinfo").ok().stdout


def test_three_levels_of_432_hosts(up):
    f, _ = up(net=netgen_tree.tree3(radix=12), options={"routing_engine": "ftree"})
    report, links = seen_by_ibqos(f)
    assert links == cabled(f.net) and len(links) == 3 * 432 and len(report["nodes"]) == 432 + 180
    faults = netgen_fault.plant(netgen_tree.tree3(radix=12), 3, DEGRADED)
    f.rules(*netgen_fault.rules(faults))
    assert audited(f) == expected(faults)


def audited(fabric, codes=(2,)):
    """{(both ends, code, wanted, got)} of audit's findings about links; siblings are test_siblings.py's,
    bursts test_audit_causes.py's."""
    r = fabric.ibqos("audit", "--format", "json").ok(*codes)
    return sorted((sorted({(int(x["node_guid"], 16), x["port"]), (int(x["peer_guid"], 16), x["peer_port"])}), x["code"],
                   x["wanted"], x["got"]) for x in r.json["findings"] if not x["code"].startswith(("sibling-", "burst-")))


def expected(faults):
    return sorted((sorted(f.keys), f.code, f.wanted, f.got) for f in faults)


@pytest.mark.parametrize("name", ["tree2-2to1", "tree2-two-port", "tree2-guests", "tree2-ndr", "tree2-12x", "tree3-full", "rail8",
                                  "torus-3x3-bundles", "dragonfly-4-1", "director"])
def test_degraded_links_are_named_exactly(fabric, name):
    f, _ = run_case(fabric, CASES[name])
    for seed in (1, 2):
        # planted in a copy: these faults change no cable, and each seed begins with none
        net = CASES[name].make()
        faults = netgen_fault.plant(net, seed, DEGRADED)
        assert net.text() == f.net.text() and len({k for x in faults for k in x.keys}) == 2 * len(DEGRADED)
        f.rules(*netgen_fault.rules(faults))
        assert audited(f) == expected(faults)
        assert f.tool("iblinkinfo").ok().stdout.count("Could be") == 2 * len(DEGRADED)  # from both ends
    f.rules()
    assert audited(f, codes=(0,)) == []


@pytest.mark.parametrize("name, seed, kinds", [
    ("tree2-2to1", 1, ["short-bundle", "crossed-bundle", "host-missing", "moved-cable", "other-radix"]),
    ("rail4-cores", 2, ["swapped-cables", "host-missing", "short-bundle", "moved-cable", "slow-link"]),
    ("torus-3x3x2", 3, ["missing-cable", "swapped-cables", "moved-cable", "host-missing", "narrow-link"]),
    ("dragonfly-4-1", 4, ["missing-cable", "swapped-cables", "host-missing", "other-radix", "narrow-link"]),
    ("directors-leaves", 5, ["missing-cable", "moved-cable", "swapped-cables", "short-bundle", "slow-link"]),
])
def test_planted_structure_is_there(fabric, name, seed, kinds):
    clean, net = CASES[name].make(), CASES[name].make()
    faults = netgen_fault.plant(net, seed, kinds)
    f, _ = run_case(fabric, CASES[name], net)
    f.rules(*netgen_fault.rules(faults))
    report, links = seen_by_ibqos(f)

    def pairs(cables):
        return {frozenset(e.key for e in c) for c in cables}

    gone, new = pairs(c for x in faults for c in x.gone), pairs(c for x in faults for c in x.new)
    assert cabled(clean) - links == gone and links - cabled(clean) == new
    ports = {int(n["node_guid"], 16): n["ports"] for n in report["nodes"]}
    missing = {n.guid for n in clean.nodes.values()} - set(ports)
    assert missing == {clean[n].guid for x in faults if x.kind == "host-missing" for n in x.nodes}
    for x in faults:
        if x.kind == "other-radix":
            assert f"{ports[x.ends[0].guid]} ports" == x.got
    # what runs, runs as it should but for the degraded ones
    bad = [x for x in faults if x.rules]
    assert audited(f, codes=(2,) if bad else (0, 1)) == expected(bad)
    # what siblings show is of what was planted, too
    guids = {e.guid for x in faults for e in x.ends} | {e.guid for x in faults for c in x.gone + x.new for e in c}
    told = [x for x in f.ibqos("audit", "--format", "json").json["findings"] if x["code"].startswith("sibling-")]
    assert not [x for x in told if not {int(x[k] or "0", 16) for k in ("node_guid", "peer_guid")} & guids]
    assert len(told) <= len(faults)


@pytest.mark.parametrize("kind", ["missing-cable", "moved-cable", "swapped-cables", "crossed-bundle", "host-missing"])
def test_a_fault_while_the_fabric_runs(up, kind):
    f, sm = up(net=netgen.fat_tree(), console=True)
    before = cabled(f.net)
    fault, = netgen_fault.plant(f.net, 7, [kind])
    f.console(*fault.console)
    if kind != "host-missing":  # ibsim has the host still, without a cable
        f.net.write(f.net_file)  # for the overlay in what starts from now on
    sm.hup()
    _, links = seen_by_ibqos(f)
    assert before - links == {frozenset(e.key for e in c) for c in fault.gone}
    assert links - before == {frozenset(e.key for e in c) for c in fault.new}
    assert links == cabled(f.net)
    f.ibqos("audit").ok(0, 1)


def test_each_adapter_of_a_host_is_found(up):
    f, _ = up(net=netgen_tree.rail(units=1, hosts_per_unit=3, rails=8, spines=1))
    nodes = f.ibqos("discover", "--format", "json").ok().json["nodes"]
    hosts = {}
    for n in nodes:
        if n["type"] == "adapter":
            hosts.setdefault(n["system_guid"], []).append(n["name"])
    assert sorted(sorted(h) for h in hosts.values()) == [[f"gpu-{h:03} mlx5_{a}" for a in range(8)] for h in (1, 2, 3)]
    # any of them may be where clients run
    assert f.ibqos("discover", host="gpu-003-mlx5_5").ok().stdout.count("gpu-002 mlx5_") == 16


def test_aggregation_nodes_and_routers_count_as_such(up):
    """Five classes on eight VLs fit; where aggregation nodes run fewer, plan says so and goes on."""
    net = netgen_hosts.add_sharp(netgen_tree.tree2(radix=8, leaves=2, hosts_per_leaf=2))
    netgen_hosts.add_router(net, "rt-01", ["leaf-01"])
    few = ["node=an-* attr=PortInfo : set VLCap=1", "node=rt-01 attr=PortInfo : set VLCap=1"]
    f, sm = up(net=net, rules=few)
    f.rules(*few)
    nodes = f.ibqos("discover", "--format", "json").ok().json["nodes"]
    assert sorted(n["type"] for n in nodes) == ["adapter"] * (4 + 6) + ["router"] + ["switch"] * 6
    assert sum((n["vendor_id"], n["device_id"]) == (0x2c9, 0xcf09) for n in nodes) == 6
    found = policy.codes(f.ibqos("plan", policy.write(f, sm), "--format", "json").ok(0, 1))
    assert "plan-fewer-vls" in found and "plan-too-many-classes" not in found
    assert {x["severity"] for x in found["plan-fewer-vls"]} == {"note"}
