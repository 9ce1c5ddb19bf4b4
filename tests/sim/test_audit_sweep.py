# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Faults of every kind planted one at a time in fabrics of every shape, audited without and with a baseline: each that can be
known is one finding at its place, and nothing else is said. Healthy fabrics, and those whose hosts are numbered in no
order, raise nothing.

IBQOS_CASES=N: all kinds in all shapes with seeds 1 to N, instead of a third of the kinds with seed 1;
IBQOS_SWEEP_COUNTS=FILE gets a line of JSON a fault; IBQOS_FABRICS=FOLDER: the same for what ibnetdiscover wrote, or
net files, in it (docs/testing.md, "Recall of audit")."""
import json
import os
import pathlib
import random

import pytest
from kit import sim
from tools import netgen_fault, netgen_foreign
from tools.netgen_director import director
from tools.netgen_grid import dragonfly, dragonfly_plus, ring, torus
from tools.netgen_hosts import add_router, add_sharp
from tools.netgen_tree import rail, tree2, tree3

CASES = int(float(os.environ.get("IBQOS_CASES", "1")))


def guests():
    net = add_sharp(tree2(radix=16, leaves=6, spines=4, hosts_per_leaf=4, speed="HDR"), speed="HDR")
    add_router(net, "rt-01", ["leaf-01", "leaf-02"], speed="HDR")
    return net


SHAPES = {
    "tree2": lambda: tree2(radix=16, leaves=6, spines=4, hosts_per_leaf=4, storage=4),
    "tree2-single": lambda: tree2(radix=12, leaves=6, spines=6, hosts_per_leaf=4),
    "tree2-2to1": lambda: tree2(radix=18, ratio=(2, 1), leaves=8, spines=3, hosts_per_leaf=8, storage=8, logins=2),
    "tree2-storage": lambda: tree2(radix=24, leaves=8, spines=4, hosts_per_leaf=4, storage=24, logins=3),
    "tree2-adapters": lambda: tree2(radix=24, leaves=6, spines=4, hosts_per_leaf=4, adapters=2, storage=3),
    "tree2-two-port": lambda: tree2(radix=16, leaves=8, spines=4, ca_ports=2, hosts_per_leaf=5, speed="FDR", isl_speed="EDR"),
    "tree2-hdr100": lambda: tree2(radix=16, leaves=5, spines=4, hosts_per_leaf=6, speed="HDR", width=2, isl_width=4),
    "tree2-ndr": lambda: tree2(radix=16, leaves=6, spines=8, hosts_per_leaf=5, speed="HDR", isl_speed="NDR"),
    "tree2-guests": guests,
    "tree2-36": lambda: tree2(radix=36, leaves=12, spines=6, hosts_per_leaf=16, storage=12),
    "tree3": lambda: tree3(radix=8, pods=4, leaves_per_pod=4, spines_per_pod=4, cores=8, hosts_per_leaf=2),
    "tree3-2to1": lambda: tree3(radix=12, ratio=(2, 1), pods=3, leaves_per_pod=3, spines_per_pod=2, cores=6,
                                hosts_per_leaf=4),
    "tree3-thin": lambda: tree3(radix=12, spine_ratio=(2, 1), pods=4, leaves_per_pod=4, spines_per_pod=3, hosts_per_leaf=3),
    "rail4": lambda: rail(units=2, hosts_per_unit=4, rails=4, spines=4, bundle=2),
    "rail8": lambda: rail(units=3, hosts_per_unit=6, rails=8, spines=4),
    "rail4-cores": lambda: rail(units=3, hosts_per_unit=4, rails=4, spines=2, bundle=2, cores=4, storage=3),
    "director": lambda: director(lines=6, spines=3, chip_ports=18, hosts=5),
    "directors-leaves": lambda: director(chassis=2, lines=3, spines=3, chip_ports=12, leaves=6, hosts=4),
    "torus-4x4": lambda: torus((4, 4), hosts_per_switch=4),
    "torus-3x3x3": lambda: torus((3, 3, 3), hosts_per_switch=2, bundle=2),
    "mesh-4x4": lambda: torus((4, 4), hosts_per_switch=3, wrap=False),
    "ring-8": lambda: ring(8, hosts_per_switch=4, bundle=2),
    "dragonfly": lambda: dragonfly(switches=4, global_links=1, hosts_per_switch=3),
    "dragonfly-3": lambda: dragonfly(groups=3, switches=4, global_links=2, hosts_per_switch=4),
    "dragonfly-plus": lambda: dragonfly_plus(groups=4, leaves=4, spines=3, hosts_per_leaf=4),
}
GRIDS = ("torus", "mesh", "ring", "dragonfly-3", "dragonfly")
MOVED = ("sibling-cable-moved", "sibling-host-moved", "sibling-rail", "sibling-cable-missing")
BASELINE_CODES = {"missing-cable": "link-gone", "short-bundle": "link-gone", "moved-cable": "link-moved",
                  "swapped-cables": "links-swapped", "crossed-bundle": "links-swapped", "host-missing": "node-gone",
                  "other-radix": "node-resized"}
SIBLING_CODES = {"missing-cable": ("sibling-cable-missing",), "short-bundle": ("sibling-cable-missing",),
                 "host-missing": ("sibling-host-missing",), "other-radix": ("sibling-radix",),
                 "crossed-bundle": ("sibling-bundle-crossed",), "moved-cable": MOVED, "swapped-cables": MOVED}
LEAST_HOSTS = 8  # of a kind: fewer show no pattern
LEAST_BUNDLES = 12


def unknowable(shape, net, fault):
    """Why nobody can know it without a baseline; None: it must be found. `net`: before the fault."""
    stem = {n.name: n.host.rstrip("0123456789") for n in net.hosts}
    kinds = [stem[e.node] for e in fault.ends if e.node in stem]
    alike = sorted({n.host for n in net.hosts if n.role != "sharp"
                    and n.host.rstrip("0123456789") == (kinds[0] if kinds else fault.wanted.rstrip("0123456789"))})
    direct = shape.startswith(GRIDS) and shape != "dragonfly-plus"
    if fault.kind == "host-missing" and fault.wanted in (alike[0], alike[-1]):
        return "numbers may begin and end anywhere"
    if fault.kind in ("moved-cable", "swapped-cables") and kinds and len(alike) < LEAST_HOSTS:
        return "too few hosts of a kind for a pattern"
    if fault.kind == "swapped-cables" and not kinds and direct:
        return "direct networks may be cabled in any way, and no count changes"
    if fault.kind == "missing-cable" and shape.startswith("mesh"):
        return "on a mesh switches at the edge have fewer"
    bundles = {frozenset((c.a.name, c.b.name)) for c in net.cables if c.a.switch and c.b.switch}
    if fault.kind == "crossed-bundle" and len(bundles) < LEAST_BUNDLES:
        return "too few bundles for a pattern"
    return None


def count(**row):
    path = os.environ.get("IBQOS_SWEEP_COUNTS")
    if path:
        with open(path, "a", encoding="ascii") as f:
            f.write(json.dumps(row) + "\n")


def audit(f, *args):
    """Findings but for those of a fabric that no OpenSM brought up."""
    r = f.ibqos("audit", "--format", "json", *args).ok(0, 1, 2, 3)
    return [x for x in r.json["findings"] if x["code"] not in ("no-sm", "link-not-active")]


def ends_of(x):
    return {(int(x[g], 16), x[p]) for g, p in (("node_guid", "port"), ("peer_guid", "peer_port")) if x[g]}


def at_place(x, fault):
    return {guid for guid, _ in ends_of(x)} & {e.guid for e in fault.ends}


def right_with_baseline(found, fault):
    """One finding of the right code, all of whose ports are the fault's."""
    if len(found) != 1 or found[0]["code"] != (fault.code or BASELINE_CODES[fault.kind]):
        return False
    if fault.kind == "other-radix":
        return bool(at_place(found[0], fault))
    ports = {(guid, port) for guid, port in ends_of(found[0]) if port is not None}
    known = fault.keys | {e.key for pair in fault.gone + fault.new for e in pair}
    return bool(ports & fault.keys) and ports <= known


def same_as(x, others):
    """Whether it was told before; its texts may count other links and nodes now."""
    keys = ("code", "what") if x["code"] == "name-twice" else (
        "code", "node_guid", "port", "peer_guid", "peer_port", "what", "wanted", "got")
    return any(all(x[k] == y[k] for k in keys) for y in others)


def sweep(folder, shape, make, kinds, seeds, must=True):
    """Plants each kind with each seed; a list of what was wrong. must: what can be known must be found."""
    wrong = []
    (folder / "good").mkdir()
    with sim.Fabric(folder / "good", make(), False, True) as f:
        healthy = audit(f)
        f.ibqos("snapshot", folder / "good.snap").ok(0, 3)
        as_it_was = audit(f, "--baseline", folder / "good.snap")
    count(shape=shape, kind="none", found=len(healthy))
    if healthy and must:
        wrong.append(("healthy", healthy))
    for kind in kinds:
        for seed in seeds:
            net = make()
            try:
                fault, = netgen_fault.plant(net, seed, [kind])
            except ValueError:
                continue  # no place for it in this shape
            place = folder / f"{kind}-{seed}"
            place.mkdir()
            with sim.Fabric(place, net, False, True) as f:
                f.rules(*fault.rules)
                alone, compared = audit(f), audit(f, "--baseline", folder / "good.snap")
            # what was there before the fault is no finding of it
            alone = [x for x in alone if not same_as(x, healthy)]
            compared = [x for x in compared if not same_as(x, as_it_was)]
            why = unknowable(shape, make(), fault) if must else "not judged"
            codes = (fault.code,) if fault.code else SIBLING_CODES[kind]
            right = len(alone) == 1 and alone[0]["code"] in codes and at_place(alone[0], fault)
            count(shape=shape, kind=kind, seed=seed, seen=bool(right), false=len(alone) - bool(right), unknowable=why,
                  baseline=right_with_baseline(compared, fault), baseline_found=len(compared))
            if not right and (alone or not why):
                wrong.append((str(fault), alone))
            if not right_with_baseline(compared, fault):
                wrong.append((f"baseline: {fault}", compared))
    return wrong


@pytest.mark.parametrize("shape", SHAPES)
def test_each_planted_fault_is_one_finding(tmp_path, shape):
    kinds, seeds = netgen_fault.KINDS, range(1, 1 + CASES)
    if CASES <= 1:
        kinds = kinds[list(SHAPES).index(shape) % 3::3]
    assert sweep(tmp_path, shape, SHAPES[shape], kinds, seeds) == []


def shuffled(net, seed):
    """Hosts' names dealt out at random: they show no pattern."""
    hosts = sorted({n.host for n in net.hosts if n.role != "sharp"})
    to = hosts[:]
    random.Random(seed).shuffle(to)
    names = dict(zip(hosts, to))
    for n in net.hosts:
        if n.role != "sharp":
            n.desc = names[n.host] + n.desc.removeprefix(n.host)
    return net


@pytest.mark.parametrize("shape", list(SHAPES)[::1 if CASES > 1 else 4])
def test_names_without_order_raise_nothing(fabric, shape):
    for seed in range(1, 1 + CASES):
        found = audit(fabric(net=shuffled(SHAPES[shape](), seed)))
        count(shape=shape, kind="shuffled", seed=seed, found=len(found))
        assert found == []


FOLDER = os.environ.get("IBQOS_FABRICS")
FILES = sorted(p.name for p in pathlib.Path(FOLDER).iterdir() if p.suffix != ".md") if FOLDER else []


@pytest.mark.skipif(not FOLDER, reason="IBQOS_FABRICS names no folder")
@pytest.mark.parametrize("name", FILES)
def test_faults_in_fabrics_of_a_folder(tmp_path, name):
    """What is said of them as they are is for people to judge, and what shows without a baseline: both are counted. Nothing
    else than the fault may be said, and against a baseline each is found."""
    text = pathlib.Path(FOLDER, name).read_text(encoding="utf-8")
    wrong = sweep(tmp_path, name, lambda: netgen_foreign.load(text), netgen_fault.KINDS, range(1, 1 + CASES), must=False)
    assert wrong == []
