# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""make bench: ibqos against the raw MAD floor and infiniband-diags, on one simulated fabric in one run.

Only ratios mean something: ibqos and the other run in turn on the same simulator, and the median of their ratios is
told. The rate ceiling is lifted here (--mad-rate 0); the time at the polite default is told beside it.

    make bench BENCH_HOSTS="100 650"          these are quick; 3456 takes minutes, 11664 the better part of an hour
    make bench BENCH_ARGS="--runs 3 --table docs/performance.md"   puts the table into that file
"""
import argparse
import datetime
import json
import os
import platform
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import measure  # noqa: E402
from kit import run, sim  # noqa: E402
from tools import netgen, netgen_tree  # noqa: E402

SHAPES = {  # of 36-port switches but for 3456, whose have 24
    "12": lambda: netgen.fat_tree(leaves=2, spines=1, hosts_per_leaf=6, uplinks=1, storage=0, switch_ports=8),
    "100": lambda: netgen.fat_tree(leaves=6, spines=3, hosts_per_leaf=16, uplinks=6, storage=4),
    "650": lambda: netgen.fat_tree(leaves=36, spines=18, hosts_per_leaf=18, uplinks=1, storage=0),
    "3456": lambda: netgen_tree.tree3(radix=24),
    "11664": lambda: netgen_tree.tree3(radix=36),
}
# OpenSM is started with these: no policy has to be applied, which would take another two sweeps
SL2VL = "0,1,2,0,0,0,0,0,0,0,0,0,0,0,0,0"
LOW, HIGH = "0:10,1:70,2:20", "0:0"
QOS = {"qos": "TRUE", "max_op_vls": "3", "sweep_interval": "0", "console": "off"}
for kind in ("ca", "sw0", "swe", "rtr"):
    QOS.update({f"qos_{kind}_max_vls": "4", f"qos_{kind}_high_limit": "0", f"qos_{kind}_sl2vl": SL2VL,
                f"qos_{kind}_vlarb_low": LOW, f"qos_{kind}_vlarb_high": HIGH})
SAMPLE = 100  # ports that smpquery is run for; a loop over all would take minutes to hours
MARKS = "<!-- bench: begin -->", "<!-- bench: end -->"


def tables(report):
    """"lid in out" of every SL2VL table of the links' switch ports, switch by switch in turn; and how many ports."""
    switches = {n["node_guid"]: n for n in report["nodes"] if n["type"] == "switch"}
    active = {}
    for link in report["links"]:
        for guid, port in ((link["node_guid"], link["port"]), (link["peer_guid"], link["peer_port"])):
            if guid in switches:
                active.setdefault(guid, []).append(port)
    per_switch = [[f"{switches[g]['lid']} {i} {o}" for o in sorted(ports) for i in range(switches[g]["ports"] + 1)]
                  for g, ports in sorted(active.items())]
    longest = max(map(len, per_switch))
    ports = [(switches[g]["lid"], p) for g, found in sorted(active.items()) for p in sorted(found)]
    return [p[i] for i in range(longest) for p in per_switch if i < len(p)], ports


class Bench:
    def __init__(self, fabric, options):
        self.f, self.runs, self.window = fabric, options.runs, options.window
        self.rows, self.facts = [], {}

    def call(self, *argv, ok=(0,)):
        return measure.program(argv, cwd=self.f.dir, env=self.f.env(overlay=False), ok=ok)

    def ibqos(self, *argv, ok=(0,)):
        window = ["-o", self.window, "--device-window", min(self.window, 8), "--mad-rate", 0]
        return self.call(run.binary(), *argv, "--format", "json", *window, ok=ok)

    def sent(self, *argv, ok=(0,)):
        """What a program sends, counted by the overlay in a run of its own that is not timed."""
        log = self.f.path("sent-once")
        open(log, "w", encoding="ascii").close()
        measure.program(argv, cwd=self.f.dir, env=self.f.env(log=log), ok=ok)
        return sim.Sent(log).gets

    def row(self, what, unit, ours, theirs, other):
        r = measure.in_turn(what, unit, ours, theirs, other, self.runs)
        self.rows.append(r)
        print(f"  {what}: {r.ratio:.2f} (from {r.ratios[0]:.2f} to {r.ratios[-1]:.2f}; {median(r.ours):,.4g} {unit} against "
              f"{median(r.theirs):,.4g} of {other}; {r.mib:.0f} and {r.other_mib:.0f} MiB)", flush=True)
        return r


def median(figures):
    return measure.statistics.median(figures)


def seconds(measured):
    return measured.seconds, measured


def mads_a_second(measured):
    m = json.loads(measured.stdout)["mads"]
    return m["answered"] / m["seconds"], measured


def together(*measured):
    """Programs that take one's place together: their times added up, the memory of the larger."""
    largest = max(measured, key=lambda m: m.mib)
    return sum(m.seconds for m in measured), largest


def measure_all(b, conf):
    found = json.loads(b.ibqos("discover").stdout)
    all_tables, ports = tables(found)
    with open(b.f.path("tables"), "w", encoding="ascii") as t:
        t.write("\n".join(all_tables) + "\n")
    adapters = sum(n["type"] == "adapter" for n in found["nodes"])
    b.facts.update(hosts=adapters, switches=len(found["nodes"]) - adapters, links=len(found["links"]), tables=len(all_tables))
    print(f"{adapters:,} hosts, {b.facts['switches']:,} switches, {b.facts['links']:,} links, {len(all_tables):,} SL2VL tables "
          f"of switches; window {b.window}; median of {b.runs} runs in turn", flush=True)
    floor = os.path.join(os.path.dirname(run.overlay()), "floor")

    def raw():
        m = b.call(floor, "--lids", b.f.path("tables"), "--window", b.window)
        r = json.loads(m.stdout)
        return r["mads"] / r["seconds"], m

    def verify(*more):
        return b.ibqos("verify", "--opensm-conf", conf, *more)

    last = {}

    def ours():
        last["verify"] = verify()
        return mads_a_second(last["verify"])

    r = b.row("verify, MADs a second over the raw floor's", "MAD/s", ours, raw, "the floor")
    report = json.loads(last["verify"].stdout)
    r.sent, r.other_sent = report["mads"]["sent"], len(all_tables)
    b.facts["verify_ports"] = report["ports"]["looked_at"]
    loop_row(b, ports, verify)
    r = b.row("discover, seconds over ibnetdiscover's", "s", lambda: seconds(b.ibqos("discover")),
              lambda: seconds(b.call("ibnetdiscover", "-o", b.window)), "ibnetdiscover")
    r.sent = b.sent(run.binary(), "discover", "-o", b.window, "--mad-rate", 0)
    r.other_sent = b.sent("ibnetdiscover", "-o", b.window)
    audit = ["audit"]
    r = b.row("audit, seconds over iblinkinfo's and ibqueryerrors' together", "s",
              lambda: seconds(b.ibqos(*audit, ok=(0, 1, 2))),
              lambda: together(b.call("iblinkinfo", "-o", b.window), b.call("ibqueryerrors", "-o", b.window, ok=(0, 1))),
              "iblinkinfo and ibqueryerrors")
    r.sent = b.sent(run.binary(), *audit, "-o", b.window, "--mad-rate", 0, ok=(0, 1, 2))
    r.other_sent = b.sent("iblinkinfo", "-o", b.window) + b.sent("ibqueryerrors", "-o", b.window, ok=(0, 1))
    polite = b.call(run.binary(), "verify", "--opensm-conf", conf, "--format", "json")
    m = json.loads(polite.stdout)["mads"]
    b.facts.update(polite_seconds=polite.seconds, polite_rate=m["sent"] / m["seconds"], polite_sent=m["sent"],
                   polite_mib=polite.mib, full_seconds=last["verify"].seconds)
    print(f"  verify at the polite default: {polite.seconds:.1f} s, {m['sent']:,} MADs, {b.facts['polite_rate']:,.0f} a second; "
          f"at full speed {last['verify'].seconds:.1f} s", flush=True)


def loop_row(b, ports, verify):
    """smpquery for some ports, as a script would, scaled to all: said in the row's name."""
    step = max(1, len(ports) // SAMPLE)
    some = ports[::step][:SAMPLE]
    script = b.f.path("loop.sh")
    with open(script, "w", encoding="ascii") as f:
        f.write("".join(f"smpquery sl2vl {lid} {port} >/dev/null\n" for lid, port in some))

    def loop():
        m = b.call("sh", script)
        return m.seconds * len(ports) / len(some), m

    b.row(f"verify, seconds over those of a loop of smpquery sl2vl ({len(some)} of {len(ports):,} ports, scaled)", "s",
          lambda: seconds(verify()), loop, "the loop")


# --- the table ---

def machine():
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        for line in f:
            if line.startswith("model name"):
                model = re.sub(r"\s+", " ", line.split(":", 1)[1].strip())
                break
    return f"{os.cpu_count()} cores, {model}, Linux {platform.release().split('-')[0]}"


def count(n):
    return "–" if n is None else f"{n:,}"


def table(benches, options):
    day = datetime.date.today().isoformat()
    yield f"Measured on {day} ({machine()}), window {options.window}, medians of {options.runs} runs in turn:"
    yield ""
    yield "| fabric | what | ratio (from, to) | ibqos | the other | MADs of ibqos, of the other | peak memory, MiB |"
    yield "|---|---|---|---|---|---|---|"
    for b in benches:
        fabric = f"{b.facts['hosts']:,} hosts, {b.facts['switches']:,} switches"
        for r in b.rows:
            yield (f"| {fabric} | {r.what} | {r.ratio:.2f} ({r.ratios[0]:.2f}, {r.ratios[-1]:.2f}) | {median(r.ours):,.3g} {r.unit} | "
                   f"{median(r.theirs):,.3g} {r.unit} | {count(r.sent)}, {count(r.other_sent)} | {r.mib:.0f}, {r.other_mib:.0f} |")
    yield ""
    yield "| fabric | verify at full speed | at the polite default |"
    yield "|---|---|---|"
    for b in benches:
        f = b.facts
        yield (f"| {f['hosts']:,} hosts, {f['switches']:,} switches | {f['full_seconds']:.1f} s | {f['polite_seconds']:.1f} s, "
               f"{f['polite_rate']:,.0f} MADs a second |")


def put_table(path, lines):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    before, rest = text.split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    run.replace(path, (before + MARKS[0] + "\n" + "\n".join(lines) + "\n" + MARKS[1] + after).rstrip("\n").split("\n"))


def one(hosts, options):
    with tempfile.TemporaryDirectory(prefix="ibqos-bench-") as folder:
        f = sim.Fabric(folder, SHAPES[hosts](), capabilities=False)
        try:
            sm = f.opensm(wait=None, options=QOS)
            sm.wait_up(60 + len(f.net.nodes) / 10)
            b = Bench(f, options)
            measure_all(b, sm.config)
            return b
        finally:
            f.stop()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--hosts", nargs="+", choices=SHAPES, default=(os.environ.get("BENCH_HOSTS") or "100 650").split())
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--window", type=int, default=16)
    p.add_argument("--table", metavar="FILE", help="puts the table between the marks in this file, too")
    a = p.parse_args()
    for h in a.hosts:
        if h not in SHAPES:
            p.error(f"no fabric of {h} hosts: {', '.join(SHAPES)}")
    reason = run.fence()
    if reason:
        print(f"bench: {reason}", file=sys.stderr)
        return 3
    lines = list(table([one(h, a) for h in a.hosts], a))
    print("\n" + "\n".join(lines))
    if a.table:
        put_table(a.table, lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
