# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""make bench: ibqos against the raw MAD floor and infiniband-diags, on one simulated fabric in one run.

Only ratios mean something: floor and program run in turn on the same simulator, and the median of
their ratios is told. The rate ceiling is lifted here (--mad-rate 0); the time at the polite default
is told beside it.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from kit import policy, run, sim  # noqa: E402
from tools import netgen  # noqa: E402

SHAPES = {  # two-level fat trees of 36-port switches
    "100": dict(leaves=6, spines=3, hosts_per_leaf=16, uplinks=6, storage=6),
    "648": dict(leaves=36, spines=18, hosts_per_leaf=18, uplinks=1, storage=0),
}


def floor_program():
    return os.path.join(os.path.dirname(run.overlay()), "floor")


def tables(report):
    """"lid in out" of every SL2VL table of the links' switch ports, switch by switch in turn."""
    switches = {n["node_guid"]: n for n in report["nodes"] if n["type"] == "switch"}
    active = {}
    for link in report["links"]:
        for guid, port in ((link["node_guid"], link["port"]), (link["peer_guid"], link["peer_port"])):
            if guid in switches:
                active.setdefault(guid, []).append(port)
    per_switch = [[f"{switches[g]['lid']} {i} {o}" for o in sorted(ports) for i in range(switches[g]["ports"] + 1)]
                  for g, ports in sorted(active.items())]
    return [t for row in zip(*per_switch) for t in row] if len({len(p) for p in per_switch}) == 1 else sum(per_switch, [])


class Bench:
    def __init__(self, fabric, runs, window):
        self.f, self.runs, self.window = fabric, runs, window

    def call(self, *argv, ok=(0,)):
        return run.run(list(argv), timeout=600, cwd=self.f.dir, env=self.f.env(overlay=False)).ok(*ok)

    def ibqos(self, *argv, ok=(0,)):
        return self.call(run.binary(), *argv, "--format", "json", "-o", str(self.window), "--device-window",
                         str(min(self.window, 8)), ok=ok)

    def pairs(self, ours, theirs):
        """Runs both in turn after one warm-up each: (our figures, their figures)."""
        ours(), theirs()
        return zip(*[(ours(), theirs()) for _ in range(self.runs)])

    def ratio(self, what, ours, theirs, better, unit):
        """better: +1 where a larger figure is better, -1 where a smaller one is."""
        a, b = (list(x) for x in self.pairs(ours, theirs))
        r = sorted(x / y for x, y in zip(a, b))
        print(f"  {what}: {statistics.median(r):.2f} (from {r[0]:.2f} to {r[-1]:.2f}; "
              f"{statistics.median(a):,.3g} {unit} against {statistics.median(b):,.3g}; "
              f"{'more' if better > 0 else 'less'} is better)", flush=True)
        return statistics.median(r)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--hosts", choices=SHAPES, default="648")
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--window", type=int, default=16)
    a = p.parse_args()
    reason = run.fence()
    if reason:
        print(f"bench: {reason}", file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory(prefix="ibqos-bench-") as folder:
        f = sim.Fabric(folder, netgen.fat_tree(**SHAPES[a.hosts]))
        try:
            measure(f, a)
        finally:
            f.stop()
    return 0


def measure(f, a):
    sm = f.opensm()
    path = policy.write(f, sm)
    b = Bench(f, a.runs, a.window)
    b.ibqos("apply", path, "--deadline", "600", "--state-dir", f.path("state"), "--mad-rate", "0")
    discovered = b.ibqos("discover").json
    with open(f.path("tables"), "w", encoding="ascii") as t:
        t.write("\n".join(tables(discovered)) + "\n")
    adapters = sum(n["type"] == "adapter" for n in discovered["nodes"])
    print(f"{adapters} hosts, {len(discovered['nodes']) - adapters} switches, {len(discovered['links'])} links; "
          f"window {a.window}; median of {a.runs} runs in turn")

    def floor():
        r = json.loads(b.call(floor_program(), "--lids", f.path("tables"), "--window", str(a.window)).stdout)
        return r["mads"] / r["seconds"]

    def verify(*more):
        r = b.ibqos("verify", path, *more).json
        return r["mads"]["answered"] / r["mads"]["seconds"]

    b.ratio("verify, MADs a second over the raw floor", lambda: verify("--mad-rate", "0"), floor, +1, "MAD/s")
    b.ratio("discover, seconds over ibnetdiscover's", lambda: b.ibqos("discover").seconds,
            lambda: b.call("ibnetdiscover", "-o", str(a.window)).seconds, -1, "s")
    b.ratio("audit, seconds over iblinkinfo's", lambda: b.ibqos("audit", ok=(0, 1, 2)).seconds,
            lambda: b.call("iblinkinfo", "-o", str(a.window)).seconds, -1, "s")
    polite = run.run([run.binary(), "verify", path, "--format", "json"], timeout=600, cwd=f.dir, env=f.env(overlay=False)).ok()
    m = polite.json["mads"]
    print(f"  verify at the polite default: {polite.seconds:.2f} s, {m['sent']:,} MADs, {m['answered'] / m['seconds']:,.0f} a second")


if __name__ == "__main__":
    sys.exit(main())
