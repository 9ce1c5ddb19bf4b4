# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""trace and verify --paths on real OpenSM's routes: by ibtracert, by brute force pair by pair, by planted faults, by
routing engines that loop. IBQOS_CASES (a factor) as for the unit tests: 20 gives 1,000 traced pairs."""
import json
import os
import random
import re

import pytest

from kit import looks, policy, routes, run
from tools import netgen
from tools.netgen_director import director
from tools.netgen_grid import dragonfly, ring, torus
from tools.netgen_tree import tree2, tree3

CASES = float(os.environ.get("IBQOS_CASES") or 1)
PAIRS = max(1, int(12.5 * CASES))  # of each of four fabrics
SEEDS = max(1, int(6 * CASES))
SMALL = dict(leaves=2, spines=2, hosts_per_leaf=3, uplinks=1, storage=0)


def start(fabric, net, engine, **options):
    f = fabric(net=net)
    roots = f.path("roots")
    with open(roots, "w", encoding="ascii") as out:
        out.write("".join(f"0x{g:x}\n" for g in ([net.switches[0].guid] if engine == "updn" else [])))
    more = {"root_guid_file": roots} if engine == "updn" else {}
    sm = f.opensm(options={"qos": "TRUE", "routing_engine": engine, **more, **options})
    f.rules(*routes.FIXED)
    return f, sm


# --- trace ---

@pytest.mark.parametrize("shape", ["tree", "torus", "dragonfly", "director"])
def test_trace_goes_where_ibtracert_goes(fabric, shape):
    net, engine = {"tree": (lambda: tree3(radix=4), "ftree"), "torus": (lambda: torus((3, 3, 2)), "dor"),
                   "dragonfly": (dragonfly, "minhop"),
                   "director": (lambda: director(chassis=2, lines=2, spines=2, chip_ports=12, leaves=3, hosts=3), "minhop")}[shape]
    f, sm = start(fabric, net(), engine)
    assert sm.engine() == engine
    rng = random.Random(shape)
    nodes = list(f.net.nodes.values())
    for _ in range(PAIRS):
        a, b = rng.sample(nodes, 2)
        ends = [f"0x{n.port_guid():x}" for n in (a, b)]
        r = f.ibqos("trace", *ends, "--format", "json").json
        for way, x, y in (("there", a, b), ("back", b, a)):
            hops = [(int(h["node_guid"], 16), h["in_port"], h["out_port"]) for h in r[f"hops_{way}"]]
            theirs = routes.ibtracert(f, x.port_guid(), y.port_guid())
            if theirs is None:  # ftree leaves out some ways between switches
                assert r[way]["packets"] == "dropped: no forwarding entry" and x.switch and y.switch
                continue
            assert r[way]["packets"] == "arrive"
            if y.switch:  # ibtracert does not tell of its port 0
                assert hops.pop()[::2] == (y.guid, 0)
            assert hops == theirs, (way, a, b)


def test_trace_finds_ends_by_name_lid_guid_and_route(up):
    f, _ = up(options={"qos": "TRUE"}, **SMALL)
    f.rules(*routes.FIXED)
    host, leaf = f.net["gpu-004"], f.net["leaf-02"]
    lids = routes.Model.lids(f)
    for text in ("gpu-004", "gpu-004 mlx5_0", "gpu-004 mlx5_0[1]", f"0x{host.guid:x}", f"0x{host.port_guid():x}",
                 str(host.port_guid()), str(lids[host.port_guid()]), hex(lids[host.port_guid()])):
        r = f.ibqos("trace", text, "leaf-02", "--format", "json").ok().json
        assert (r["there"]["from"], r["there"]["to"]) == ("gpu-004 mlx5_0[1]", "leaf-02"), text
    out = leaf.to("spine-01")[0]
    back = f.net["spine-01"].to("leaf-01")[0]
    r = f.ibqos("trace", "0", f"0,1,{f.net['leaf-01'].to('spine-01')[0]}", "--format", "json").ok().json
    assert (r["there"]["from"], r["there"]["to"]) == (f"{f.net.first.desc}[1]", "spine-01") and out and back
    assert f.ibqos("trace", "gpu-001", "gpu-001", "--format", "json").ok().json["hops_there"] == []
    for text, said in (("gpu-00", "is one of these meant: gpu-001 mlx5_0[1], gpu-002 mlx5_0[1]"),
                       ("nobody", "is no LID, GUID, name"), ("0,1,99", "leads to no port"), ("0,", "leads to no port"),
                       ("4000", "is no LID"), ("gpu-001[7]", "is one of these meant"), ("", "is no LID")):
        assert said in f.ibqos("trace", text, "gpu-001").ok(3).stderr, text


def test_trace_of_a_name_that_several_ports_have(up):
    f, _ = up(net=tree2(radix=8, leaves=2, spines=2, hosts_per_leaf=1, adapters=2))
    r = f.ibqos("trace", "gpu-001", "gpu-002").ok(3)
    assert "'gpu-001' can be any of several ports: gpu-001 mlx5_0[1], gpu-001 mlx5_1[1]" in r.stderr


def test_trace_shows_vl_share_and_slow_links(up):
    f, sm = up(options={"qos": "TRUE"}, **SMALL)
    f.rules(*routes.FIXED)
    p = policy.write(f, sm)
    f.ibqos("apply", p).ok()
    for args, sl, vl, share in ((("--class", "training"), 1, 1, 70), (("--class", "storage"), 2, 2, 20), ((), 0, 0, 10),
                                (("--sl", "9"), 9, 0, 10)):
        r = f.ibqos("trace", "--policy", p, *args, "gpu-001", "gpu-004", "--format", "json").ok().json
        for way in ("there", "back"):
            assert r[way]["sl"] == sl and r[way]["packets"] == "arrive"
            hops = r[f"hops_{way}"]
            assert len(hops) == 4 and {h["vl"] for h in hops} == {vl}
            assert all(abs(h["share"] - share) < 6 for h in hops), [h['share'] for h in hops]
            assert {(h["width"], h["speed"], h["gbps"]) for h in hops} == {("4x", "EDR", 100)}
    up_port = r["hops_there"][1]["out_port"]
    far = f.net["leaf-01"].cables[up_port].peer(f.net["leaf-01"])
    f.rules(*routes.FIXED, f"node=leaf-01 port={up_port} attr=PortInfo : set LinkWidthActive=1",
            f"node={far[0].name} port={far[1]} attr=PortInfo : set LinkWidthActive=1",
            # another link, on which this path is not
            "node=gpu-002* attr=PortInfo : set LinkWidthActive=1", "node=leaf-01 port=2 attr=PortInfo : set LinkWidthActive=1")
    r = f.ibqos("trace", "gpu-001", "gpu-004", "--format", "json").ok(2).json
    assert [(x["code"], x["node"], x["port"]) for x in r["findings"]] == [("link-width-low", "leaf-01", up_port)]
    assert r["hops_there"][1]["gbps"] == 25
    for args in (("--class", "training"), ("--class", "x", "--policy", p), ("--sl", "16")):
        f.ibqos("trace", *args, "gpu-001", "gpu-004").ok(3)


def golden(name, text):
    """Compares with tests/golden/paths/NAME; IBQOS_GOLDEN_UPDATE=1 writes it."""
    path = os.path.join(run.TOP, "tests", "golden", "paths", name)
    text = re.sub(r'"ibqos":"[^"]*"', '"ibqos":"VERSION"', looks.timeless(text))
    text = re.sub(r'"run":\{\n[^}]*\},\n"looked":.*\n"looked_by":.*\n', "", text)
    if os.environ.get("IBQOS_GOLDEN_UPDATE"):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        run.replace(path, text.splitlines())
    with open(path, encoding="utf-8") as f:
        assert text == f.read()


def test_what_trace_and_paths_print(up):
    """Spines that drop what storage sends from one leaf to the other, by one SL2VL table each."""
    f, sm = up(options={"qos": "TRUE"}, **SMALL)
    p = policy.write(f, sm)
    f.ibqos("apply", p).ok()
    f.rules(*routes.FIXED, f"node=spine-* attr=SL2VL mod={mod(1, 2)} : set SL2=15")
    for name, form in (("trace.txt", "text"), ("trace.json", "json")):
        r = f.ibqos("trace", "--policy", p, "--class", "storage", "gpu-001", "gpu-005", "--format", form).ok(2)
        golden(name, r.stdout)
    r = f.ibqos("verify", "--paths", p, "--format", "json").ok(2).json
    kept = {k: r[k] for k in ("paths", "paths_by_sl", "routes_coverage")}
    kept["findings"] = [x for x in r["findings"] if x["code"].startswith("path-")]
    golden("verify.json", json.dumps(kept, indent=1) + "\n")
    text = f.ibqos("verify", "--paths", p).ok(2).stdout
    golden("verify.txt", text[text.index("paths, by the"):text.index("subnet manager:")])


def test_paths_of_a_snapshot(up):
    """The vendor's word on adaptive routing, to which the simulator has no answer, is not known; all else is as live."""
    f, sm = up(options={"qos": "TRUE"}, **SMALL)
    f.rules(routes.FIXED[1], f"node=spine-* attr=SL2VL mod={mod(1, 2)} : set SL0=15")
    f.ibqos("snapshot", f.path("a.snap"))
    for args in (("verify", "--paths", "--opensm-conf", sm.config), ("trace", "gpu-001", "gpu-005")):
        for more in ((), ("--by-lft",)):
            live = f.ibqos(*args, *more, "--format", "json").ok(2).json
            stored = f.ibqos(*args, *more, "--from", f.path("a.snap"), "--format", "json").ok(2)
            assert stored.sent.gets == 0
            ours, theirs = ([x for x in r["findings"] if x["code"] in ("path-sl-dropped", "adaptive-routing")]
                            for r in (live, stored.json))
            assert ours == theirs and len({x["code"] for x in ours}) == 2
            for key in ("paths", "paths_by_sl", "there", "hops_there", "back", "hops_back"):
                assert live.get(key) == stored.json.get(key), key


# --- what stops packets ---

def entry(f, switch, lid, port):
    """A rule: this switch sends a LID to that port."""
    return f"node={switch} attr=LFT mod=0x{lid // 64:x} : set byte{lid % 64}={port}"


def mod(inp, out):
    return f"0x{inp << 8 | out:x}"


@pytest.mark.parametrize("fault", ["unset", "no-port", "uncabled", "misrouted", "misrouted-to-switch", "loop", "vl15",
                                   "vl-not-run", "starved", "unanswered", "sl2vl-unanswered"])
def test_packets_that_do_not_arrive(up, fault):
    f, sm = up(options={"qos": "TRUE"}, **SMALL)
    f.rules(*routes.FIXED)
    hops = f.ibqos("trace", "gpu-001", "gpu-004", "--format", "json").ok().json["hops_there"]
    leaf, spine, last = hops[1:4]
    lid = routes.Model.lids(f)[f.net["gpu-004"].port_guid()]
    at_leaf, at_spine, at_last = "leaf-01", spine["node"], "leaf-02"
    code, where, count, rules = {
        "unset": ("lft-unset", (at_spine, None), 3, [entry(f, at_spine, lid, 255)]),
        "no-port": ("lft-unset", (at_last, None), 5, [entry(f, at_last, lid, 99)]),
        "uncabled": ("lft-link-down", (at_leaf, 30), 3, [entry(f, at_leaf, lid, 30)]),
        "misrouted": ("lft-misrouted", (at_last, 2), 5, [entry(f, at_last, lid, 2)]),
        "misrouted-to-switch": ("lft-misrouted", (at_spine, 0), 3, [entry(f, at_spine, lid, 0)]),
        "loop": ("lft-loop", (at_leaf, leaf["out_port"]), 3, [entry(f, at_spine, lid, spine["in_port"])]),
        "vl15": ("path-sl-dropped", (at_spine, spine["out_port"]), None,
                 [f"node={at_spine} attr=SL2VL mod={mod(spine['in_port'], spine['out_port'])} : set SL3=15"]),
        "vl-not-run": ("path-vl-not-run", (at_leaf, leaf["out_port"]), None,
                       [f"node={at_leaf} attr=SL2VL mod={mod(1, leaf['out_port'])} : set SL3=9"]),
        "starved": ("path-vl-starved", (at_last, last["out_port"]), 5,
                    [f"node={at_last} attr=VLArb mod=0x{b << 16 | last['out_port']:x} : set entry3=3:0" for b in (1, 3)]),
        "unanswered": ("path-unknown", (at_spine, None), None, [f"node={at_spine} attr=LFT : timeout"]),
        "sl2vl-unanswered": ("path-unknown", (at_spine, spine["out_port"]), None,
                             [f"node={at_spine} attr=SL2VL mod={mod(spine['in_port'], spine['out_port'])} : status=0x1c"]),
    }[fault]
    f.rules(*routes.FIXED, *rules)
    exit_code = 3 if code == "path-unknown" else 2
    r = f.ibqos("trace", "--sl", "3", "gpu-001", "gpu-004", "--format", "json", "-t", "50", "--retries", "1").ok(exit_code).json
    found = [(x["code"], x["node"], x["port"]) for x in r["findings"] if x["code"] not in ("query-failed",)]
    if fault == "loop":
        assert found[0][0] == "lft-loop"
    else:
        # a spine that does not answer may be on the way back too
        assert found == [(code, *where)] * (2 if r["back"]["packets"] != "arrive" else 1), r
    assert r["there"]["packets"] != "arrive" and (fault == "unanswered" or r["back"]["packets"] == "arrive")
    r = f.ibqos("verify", "--paths", "--opensm-conf", sm.config, "--sl", "3", "--format", "json", "-t", "50", "--retries",
                "1").json
    assert r["exit"] == (3 if fault in ("unanswered", "sl2vl-unanswered") else 2)
    found = [x for x in r["findings"] if x["code"] == code]
    assert [(x["node"], x["port"]) for x in found] == [where], found
    total = r["paths"]
    assert total["paths"] == 6 * 5 and total["arrive"] + total["dead"] + total["unknown"] == 30
    (sl,) = r["paths_by_sl"]
    assert sl["arrive"] + sl["dead"] + sl["unknown"] == total["arrive"]
    if count:
        assert (total["dead"] or sl["dead"]) == count and found[0]["detail"].startswith(f"{count} paths to 1 LID, the first {lid} of gpu-004")
    else:
        assert sl["dead"] or total["unknown"] or sl["unknown"]
    if fault == "unanswered":
        assert total["dead"] == 0 and "query-failed" in {x["code"] for x in r["findings"]}


def test_adaptive_routing_is_not_clean(up):
    f, sm = up(options={"qos": "TRUE"}, **SMALL)
    paths = ("verify", "--paths", "--opensm-conf", sm.config, "--format", "json")
    trace = ("trace", "gpu-001", "gpu-004", "--format", "json")
    vendor, answer = routes.FIXED[1], "attr=0xff20 : answer"
    for rules, what, state in (((), "not known", None), ((vendor,), "not known", None),
                               ((vendor, f"{answer} set byte3=1"), "on", "on"),
                               ((vendor, answer, "node=spine-01 attr=0xff20 : set byte3=1"), "on", "on")):
        f.rules(*rules)
        for args in (paths, trace):
            r = f.ibqos(*args).json
            ours = {x["what"]: x["severity"] for x in r["findings"] if x["code"] == "adaptive-routing"}
            if args is trace and "node=spine-01" in str(rules) and "spine-01" not in str(r["hops_there"] + r["hops_back"]):
                assert ours == {}
                continue
            assert ours == {what: "unknown"} and r["exit"] == 3
            r = f.ibqos(*args, "--by-lft").ok().json
            assert {x["what"]: x["severity"] for x in r["findings"]} == {what: "note"}
            assert not [x for x in r["findings"] if "--by-lft" in x["advice"]]  # it was given
        assert f.ibqos(*paths).json["paths"]["adaptive_routing"] == state
    for rules in (routes.FIXED, (vendor, f"{answer} status=0xc")):
        f.rules(*rules)
        for args in (paths, trace):
            assert f.ibqos(*args).ok().json["findings"] == []
        assert f.ibqos(*paths).json["paths"]["adaptive_routing"] == "off"
    f.rules(vendor, f"{answer} status=0x8")
    f.ibqos(*paths).ok(3)


def test_options_of_paths_go_with_it(up):
    f, sm = up(options={"qos": "TRUE"}, **SMALL)
    for args in (("--sl", "1"), ("--by-lft",), ("--paths", "--sl", "16")):
        f.ibqos("verify", "--opensm-conf", sm.config, *args).ok(3)


# --- circles of credits ---

@pytest.mark.parametrize("engine,loops", [("updn", False), ("minhop", True), ("sssp", True)])
def test_a_ring(fabric, engine, loops):
    f, sm = start(fabric, ring(6), engine)
    assert sm.engine() == engine
    p = policy.write(f, sm)
    f.ibqos("apply", p).ok(1 if loops else 0)  # plan-loop-today
    r = f.ibqos("verify", "--paths", p, "--format", "json").ok(2 if loops else 0).json
    found = [x for x in r["findings"] if x["code"] == "credit-loop"]
    # each way round, on each VL of a class
    assert len(found) == r["paths"]["credit_loops"] == (6 if loops else 0)
    for x in found:
        hops = x["got"].split(" -> ")
        assert x["what"] == "circle of 6 links" and len(hops) == 7 and hops[0] == hops[-1]
        assert len({h.rsplit(" VL ", 1)[1] for h in hops}) == 1
    assert r["paths"]["paths"] == r["paths"]["arrive"] == 12 * 11


def test_a_vl_at_the_dateline_breaks_the_ring(fabric):
    """On a ring one SL whose VL changes where it begins anew has no circle: the VL is that of each hop."""
    f, sm = start(fabric, ring(5, hosts_per_switch=1), "minhop")
    p = ("verify", "--paths", "--opensm-conf", sm.config, "--sl", "0", "--format", "json")
    assert f.ibqos(*p).json["paths"]["credit_loops"] == 2
    sws = f.net.switches
    rules = []
    # whoever comes from sw-4 to sw-0 or from sw-0 to sw-4 goes on on VL 1, and stays there
    for i, s in enumerate(sws):
        for other in (sws[i - 1], sws[(i + 1) % 5]):
            out = s.to(other.name)[0]
            (inp,) = s.to(sws[(i + 1) % 5].name if other is sws[i - 1] else sws[i - 1].name)
            if {s.name, other.name} == {sws[0].name, sws[4].name}:
                rules += [f"node={s.name} attr=SL2VL mod={mod(x, out)} : set SL0=1" for x in range(37)]
    for s, inp, out in ((sws[0], sws[0].to(sws[4].name)[0], sws[0].to(sws[1].name)[0]),
                        (sws[4], sws[4].to(sws[0].name)[0], sws[4].to(sws[3].name)[0])):
        rules.append(f"node={s.name} attr=SL2VL mod={mod(inp, out)} : set SL0=1")
    f.rules(*routes.FIXED, *rules)
    r = f.ibqos(*p).json
    assert r["paths"]["credit_loops"] == 0 and r["paths_by_sl"][0]["arrive"] == 20


def random_net(rng):
    net = netgen.Net()
    count = rng.randint(3, 7)
    names = [f"sw-{i}" for i in range(count)]
    for name in names:
        net.add_switch(name, ports=12)
    pairs = [(names[i], names[rng.randrange(i)]) for i in range(1, count)]
    pairs += [tuple(rng.sample(names, 2)) for _ in range(rng.randint(1, 6))]
    for i in range(rng.randint(2, 8)):
        net.add_ca(f"h-{i}")
        pairs.append((f"h-{i}", rng.choice(names)))
    for a, b in sorted(pairs, key=lambda p: not p[0].startswith("h-")):
        net.cable(a, b)
    return net


@pytest.mark.parametrize("seed", range(SEEDS))
def test_paths_and_circles_by_brute_force(fabric, seed):
    rng = random.Random(seed)
    f, sm = start(fabric, random_net(rng), rng.choice(["minhop", "sssp", "minhop", "dor"]))
    lids = routes.Model.lids(f)
    rules = [entry(f, rng.choice(f.net.switches).name, rng.choice(list(lids.values())), rng.choice([0, 1, 2, 3, 12, 255]))
             for _ in range(rng.choice([0, 0, 1, 3, 10]))]
    f.rules(*routes.FIXED, *rules)
    model = routes.Model(f)
    for _ in range(rng.choice([0, 5, 20, 60])):
        s = rng.choice(f.net.switches)
        inp, out = rng.randint(0, 12), rng.randint(1, 12)
        sl, vl = rng.randint(0, 2), rng.choice([0, 1, 2, 2, 3, 9, 15])
        if (s.name, inp, out, sl) not in model.planted:
            model.planted[s.name, inp, out, sl] = vl
            rules.append(f"node={s.name} attr=SL2VL mod={mod(inp, out)} : set SL{sl}={vl}")
    f.rules(*routes.FIXED, *rules)
    by_lft, by_sl, graph = model.judge(lids, (0, 1, 2))
    r = f.ibqos("verify", "--paths", "--opensm-conf", sm.config, *("--sl", "0", "--sl", "1", "--sl", "2"), "--format",
                "json").json
    assert {k: r["paths"][k] for k in by_lft} == by_lft and r["paths"]["unknown"] == 0
    assert {x["sl"]: {"arrive": x["arrive"], "dead": x["dead"]} for x in r["paths_by_sl"]} == by_sl
    found = [x for x in r["findings"] if x["code"] == "credit-loop"]
    assert sorted(int(x["what"].split()[2]) for x in found) == routes.circles(graph)
    assert (r["paths"]["channels"], r["paths"]["dependencies"]) == (len(graph), sum(map(len, graph.values())))
    ends = {"dead": 0}
    for x in r["findings"]:
        if x["code"].startswith("lft-"):
            ends["dead"] += int(x["detail"].split()[0])
    assert ends["dead"] == by_lft["dead"]
