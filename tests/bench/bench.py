# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""make bench: ibqos against the raw MAD floor and infiniband-diags, on one simulated fabric in one run.

Only ratios mean something: ibqos and the others run in turn on the same simulator, and the median of their ratios is
told. The rate ceiling is lifted here (--mad-rate 0); the time at the polite default is told beside it.

    make bench BENCH_HOSTS="100 650"          these are quick; all four take less than half an hour
    make bench BENCH_ARGS="--runs 3 --table docs/performance.md"   puts the tables into that file, row by row as they come
    make bench BENCH_HOSTS=3456 BENCH_ARGS="--only discover audit"
"""
import argparse
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import rows  # noqa: E402
import table  # noqa: E402
from kit import run, sim  # noqa: E402
from tools import netgen, netgen_tree  # noqa: E402

SHAPES = {  # of 36-port switches but for 3456, whose have 24
    "12": lambda: netgen.fat_tree(leaves=2, spines=1, hosts_per_leaf=6, uplinks=1, storage=0, switch_ports=8),
    "100": lambda: netgen.fat_tree(leaves=6, spines=3, hosts_per_leaf=16, uplinks=6, storage=4),
    "650": lambda: netgen.fat_tree(leaves=36, spines=18, hosts_per_leaf=18, uplinks=1, storage=0),
    "3456": lambda: netgen_tree.tree3(radix=24),
    "11664": lambda: netgen_tree.tree3(radix=36),
}
DEAD_FROM = 600  # hosts from which on some of them are silent in a row of its own
# OpenSM is started with these: no policy has to be applied, which would take another two sweeps
SL2VL = "0,1,2,0,0,0,0,0,0,0,0,0,0,0,0,0"
LOW, HIGH = "0:10,1:70,2:20", "0:0"
QOS = {"qos": "TRUE", "max_op_vls": "3", "sweep_interval": "0", "console": "off"}
for kind in ("ca", "sw0", "swe", "rtr"):
    QOS.update({f"qos_{kind}_max_vls": "4", f"qos_{kind}_high_limit": "0", f"qos_{kind}_sl2vl": SL2VL,
                f"qos_{kind}_vlarb_low": LOW, f"qos_{kind}_vlarb_high": HIGH})


class Page:
    """What has been measured so far; written whenever there is more."""

    def __init__(self, options):
        self.options, self.benches, self.failed = options, [], []
        self.load = os.getloadavg()[0]

    def lines(self, whole):
        return list(table.lines(self.benches, self.options, self.load, self.failed, whole))

    def put(self, whole=False):
        if self.options.table:
            table.put(self.options.table, self.lines(whole))


def reason(error):
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]


def groups_of(hosts, options):
    for name in rows.GROUPS:
        if name == "dead" and int(hosts) < DEAD_FROM and not options.only:
            continue
        if not options.only or name in options.only:
            yield name


def measure_all(b, page):
    for name in groups_of(b.hosts, page.options):
        begin = time.monotonic()
        try:
            rows.alive(b)
            rows.GROUPS[name](b)
        except Exception as e:  # one row that fails must not take the others with it
            b.failed.append((name, reason(e)))
            print(f"  {name}: not measured: {e}", file=sys.stderr, flush=True)
        print(f"  ({name}: {time.monotonic() - begin:.0f} s)", flush=True)
        page.put()


def one(hosts, page):
    """OpenSM runs on the last host and without the overlay: the first of each kind of device are asked for
    counters that the simulator does not know, which it would hand to OpenSM; and a log of each Set is long."""
    with tempfile.TemporaryDirectory(prefix="ibqos-bench-") as folder:
        f = sim.Fabric(folder, SHAPES[hosts](), capabilities=False)
        try:
            last = [n.name for n in f.net.nodes.values() if n.kind == "ca"][-1]
            begin = time.monotonic()
            sm = f.opensm(wait=None, options=QOS, host=last, overlay=False)
            sm.wait_up(300 + len(f.net.nodes) / 5)
            took = time.monotonic() - begin
            b = rows.Bench(hosts, f, sm, page.options)
            b.facts["opensm_seconds"] = took
            page.benches.append(b)
            print(f"{b.name}, {len(b.found['links']):,} links, window {b.window}; OpenSM was up after {took:.0f} s", flush=True)
            measure_all(b, page)
        finally:
            f.stop()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--hosts", nargs="+", choices=SHAPES, default=(os.environ.get("BENCH_HOSTS") or "100 650").split())
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--window", type=int, default=16)
    p.add_argument("--dead", type=int, default=50, help="hosts that are silent in the rows of such")
    p.add_argument("--only", nargs="+", choices=rows.GROUPS, help="these rows alone")
    p.add_argument("--table", metavar="FILE", help="puts the tables between the marks in this file, too")
    a = p.parse_args()
    for h in a.hosts:
        if h not in SHAPES:
            p.error(f"no fabric of {h} hosts: {', '.join(SHAPES)}")
    fenced = run.fence()
    if fenced:
        print(f"bench: {fenced}", file=sys.stderr)
        return 3
    page = Page(a)
    for h in a.hosts:
        try:
            one(h, page)
        except Exception as e:
            page.failed.append((f"{h} hosts", "all", reason(e)))
            print(f"{h} hosts: not measured: {e}", file=sys.stderr, flush=True)
        page.put()
    print("\n" + "\n".join(page.lines(True)))
    page.put(True)
    return 1 if page.failed or any(b.failed for b in page.benches) else 0


if __name__ == "__main__":
    sys.exit(main())
