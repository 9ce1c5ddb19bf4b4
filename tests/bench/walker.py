# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Benchmark of discovery: ibqos's walker beside libibnetdisc, ibnetdiscover and the floor, a program that sends the
same Gets knowing them beforehand. All run in turn on one simulator; medians, and the medians of ratios within a turn.

By itself:  tests/bench/walker.py --hosts 3456 [--runs 5] [--dead 50]      or walker_rows() from another program.
"""
import argparse
import collections
import json
import os
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from kit import run, sim  # noqa: E402
from tools import netgen_tree  # noqa: E402

SHAPES = {  # hosts: fat trees
    "648": lambda: netgen_tree.tree2(radix=36),
    "3456": lambda: netgen_tree.tree3(radix=24),
    "11664": lambda: netgen_tree.tree3(radix=36),
}
NODE_DESC, NODE_INFO, SWITCH_INFO, PORT_INFO = 0x10, 0x11, 0x12, 0x15


def queries(report, start):
    """The Gets of a walk from the adapter `start` (its GUID) over what was discovered: (attribute, modifier, route)."""
    nodes = {n["node_guid"]: n for n in report["nodes"]}
    links = collections.defaultdict(dict)
    for x in report["links"]:
        links[x["node_guid"]][x["port"]] = x["peer_guid"], x["peer_port"]
        links[x["peer_guid"]][x["peer_port"]] = x["node_guid"], x["port"]
    yield NODE_INFO, 0, ()
    todo, met = collections.deque([(start, 1, ())]), {start}
    while todo:
        guid, came, route = todo.popleft()
        yield NODE_DESC, 0, route
        if nodes[guid]["type"] == "switch":
            yield SWITCH_INFO, 0, route
            for port in range(nodes[guid]["ports"] + 1):
                yield PORT_INFO, port, route
        else:
            yield PORT_INFO, came, route
            if route:
                continue
        for port, (peer, there) in sorted(links[guid].items()):
            if route and port == came:
                continue
            further = route + (port,)
            yield NODE_INFO, 0, further
            if peer not in met:
                met.add(peer)
                todo.append((peer, there, further))
            elif nodes[peer]["type"] != "switch":
                yield PORT_INFO, there, further


def write_queries(path, report, start):
    count = 0
    with open(path, "w", encoding="ascii") as out:
        for attribute, modifier, route in queries(report, start):
            print(attribute, modifier, len(route), *route, file=out)
            count += 1
    return count


class Walker:
    def __init__(self, f, window=16, dead=0, timeout_ms=1000):
        self.f, self.window, self.dead = f, window, dead
        self.overlay = dead > 0
        self.more = ["-o", str(window), "--device-window", str(min(window, 8)), "--mad-rate", "0", "-t", str(timeout_ms)]
        if dead:  # adapters that drop all, spread over the fabric; not the one that looks
            hosts = [n.name for n in f.net.nodes.values() if n.kind == "ca" and n is not f.net.first]
            f.rules(*(f"node={h} : timeout" for h in hosts[:: max(1, len(hosts) // dead)][:dead]))

    def call(self, *argv, ok=(0, 3)):
        return run.run(list(argv), timeout=900, cwd=self.f.dir, env=self.f.env(overlay=self.overlay)).ok(*ok)

    def discover(self, walker):
        return self.call(run.binary(), "discover", "--walker", walker, "--format", "json", *self.more)

    def start(self):
        return f"0x{self.f.net.first.guid:016x}"


def walker_rows(f, runs=5, window=16, dead=0):
    """Rows (what, median seconds, median ratio of native's to it, MADs) for a fabric that runs; dead: so many silent adapters.
    The floor is not there with dead nodes: it would end at the first lost MAD."""
    w = Walker(f, window, dead)
    native = w.discover("native").json
    ways = {
        "native": lambda: w.discover("native").seconds,
        "native, its walk alone": lambda: w.discover("native").json["mads"]["discovery_seconds"],
        "libibnetdisc": lambda: w.discover("libibnetdisc").seconds,
        "ibnetdiscover": lambda: w.call("ibnetdiscover", "-o", str(window)).seconds,
    }
    mads = {"native": native["mads"]["discovery_sent"]}
    if not dead:
        path = f.path("queries")
        mads["floor"] = write_queries(path, native, w.start())
        program = os.path.join(os.path.dirname(run.overlay()), "floor_walk")
        ways["floor"] = lambda: w.call(program, "--queries", path, "--window", str(window), ok=(0,)).seconds
        ways["floor, its own clock"] = lambda: json.loads(w.call(program, "--queries", path, "--window", str(window)).stdout)["seconds"]
    seconds = {what: [] for what in ways}
    for _ in range(runs):
        for what, way in ways.items():
            seconds[what].append(way())
    # like with like: a process with a process, and what it does with the wire with the same of the floor
    inner = {what: seconds["native, its walk alone" if "its" in what else "native"] for what in ways}
    return [(what, statistics.median(s), statistics.median(n / x for n, x in zip(inner[what], s)), mads.get(what))
            for what, s in seconds.items()]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--hosts", choices=SHAPES, default="648")
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--window", type=int, default=16)
    p.add_argument("--dead", type=int, default=0)
    a = p.parse_args()
    reason = run.fence()
    if reason:
        print(f"walker: {reason}", file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory(prefix="ibqos-walker-") as folder:
        f = sim.Fabric(folder, SHAPES[a.hosts]())
        try:
            print(f"{a.hosts} hosts, {a.dead} of them silent, window {a.window}, median of {a.runs} in turn")
            for what, seconds, ratio, mads in walker_rows(f, a.runs, a.window, a.dead):
                print(f"  {what}: {seconds:.3f} s, native takes {ratio:.2f} of it" + (f", {mads:,} MADs" if mads else ""), flush=True)
        finally:
            f.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
