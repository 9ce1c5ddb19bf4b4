# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The rows of the bench: what is run in turn with what, on one fabric that is up."""
import json
import os
import re

import measure
import queries
from kit import run, sim
from kit.looks import LACKS

SAMPLE = 100  # ports that smpquery is run for; a loop over all would take minutes to hours


def number(measured, key):
    """The last value of a key in what ibqos or a floor printed as JSON."""
    return float(re.findall(rf'"{key}": ?([-+.\de]+)', measured.stdout)[-1])


class Bench:
    """One fabric: what runs on it, and its rows."""

    def __init__(self, hosts, fabric, sm, options):
        self.hosts, self.f, self.sm = hosts, fabric, sm
        self.runs, self.window, self.dead = options.runs, options.window, options.dead
        self.rows, self.facts, self.failed = [], {}, []
        self.rules = None  # the overlay's rules in all that runs; None: no overlay
        self.found = json.loads(self.ibqos("discover", keep=None).stdout)
        adapters = sum(n["type"] == "adapter" for n in self.found["nodes"])
        self.name = f"{adapters:,} hosts, {len(self.found['nodes']) - adapters:,} switches"

    def call(self, *argv, ok=(0,), keep=400000, rules=None):
        """With rules the overlay is in it, which also counts what it sends."""
        rules = rules or self.rules
        log = self.f.path("sent") if rules else None
        if log:
            open(log, "w", encoding="ascii").close()
        m = measure.program(argv, cwd=self.f.dir, env=self.f.env(overlay=bool(rules), rules=rules, log=log), ok=ok)
        m.sent = sim.Sent(log).gets if log else None
        if keep is not None:
            m.stdout = m.stdout[-keep:]
        return m

    def limits(self):
        return ["-o", self.window, "--device-window", min(self.window, 8), "--mad-rate", 0]

    def ibqos(self, *argv, **kwargs):
        return self.call(run.binary(), *argv, "--format", "json", *self.limits(), **kwargs)

    def floor(self, name, option, path):
        """A floor's own clock: reading the list of its MADs is not counted."""
        m = self.call(os.path.join(os.path.dirname(run.overlay()), name), option, path, "--window", self.window)
        return m.with_figure(number(m, "seconds"))

    def write_rules(self, name, *lines):
        path = self.f.path(f"rules-{name}")
        run.replace(path, lines)
        return path


    def row(self, *args, **kwargs):
        r = measure.Row(*args, **kwargs)
        self.rows.append(r)
        ours, theirs = r.medians
        print(f"  {r.what}, over {r.other}: {r.ratio:.2f} (from {r.ratios[0]:.2f} to {r.ratios[-1]:.2f}; {ours:.4g} {r.unit} against "
              f"{theirs:.4g}; {r.mib:.0f} and {r.other_mib:.0f} MiB; {r.runs} turns)", flush=True)
        return r

    def start(self):
        return f"0x{self.f.net.first.guid:016x}"


def figures(measured, figure):
    return [m.with_figure(figure(m)) for m in measured]


def discover_rows(b):
    path = b.f.path("walk")
    mads = queries.write(path, queries.walk_lines(b.found, b.start()))
    t = measure.in_turn({
        "native": lambda: b.ibqos("discover"),
        "floor": lambda: b.floor("floor_walk", "--queries", path),
        "libibnetdisc": lambda: b.ibqos("discover", "--walker", "libibnetdisc"),
        "ibnetdiscover": lambda: b.call("ibnetdiscover", "-o", b.window),
    }, b.runs)
    sent = int(number(t["native"][0], "discovery_sent"))
    theirs = b.call("ibnetdiscover", "-o", b.window, rules=b.write_rules("none")).sent  # not timed
    b.facts["discover_mib"] = max(m.mib for m in t["native"])
    b.row("discover, its walk alone", "the floor of its MADs", figures(t["native"], lambda m: number(m, "discovery_seconds")),
          t["floor"], sent=sent, other_sent=mads)
    b.row("discover", "the floor of its MADs", t["native"], t["floor"], sent=sent, other_sent=mads)
    b.row("discover", "ibnetdiscover", t["native"], t["ibnetdiscover"], sent=sent, other_sent=theirs)
    b.row("discover", "discover --walker libibnetdisc", t["native"], t["libibnetdisc"], sent=sent, other_sent=theirs)


def dead_rows(b):
    """Adapters that drop all, spread over the fabric; not the one that looks, and not OpenSM's. There is no floor
    of it: what a silent device costs is a choice. Three turns: each takes the better part of a minute."""
    spared = (b.f.net.first.name, b.sm.host)
    names = [n.name for n in b.f.net.nodes.values() if n.kind == "ca" and n.name not in spared]
    b.rules = b.write_rules("dead", *(f"node={n} : timeout" for n in names[::max(1, len(names) // b.dead)][:b.dead]))
    try:
        t = measure.in_turn({
            "native": lambda: b.ibqos("discover", "-t", 1000, ok=(3,)),
            "ibnetdiscover": lambda: b.call("ibnetdiscover", "-o", b.window),
            "libibnetdisc": lambda: b.ibqos("discover", "-t", 1000, "--walker", "libibnetdisc", ok=(3,)),
        }, min(b.runs, measure.FEW), warm=False)
    finally:
        b.rules = None
    what = f"discover, {b.dead} hosts silent"
    sent = {way: runs[-1].sent for way, runs in t.items()}
    for other, way in (("ibnetdiscover", "ibnetdiscover"), ("discover --walker libibnetdisc", "libibnetdisc")):
        b.row(what, other, t["native"], t[way], sent=sent["native"], other_sent=sent[way])


def audit_rows(b):
    """The same counters on both sides: PortCounters and PortCountersExtended of each port. The simulator's switches offer
    their sum over all ports (AllPortSelect), which ibqueryerrors asks for first, and no further where it is 0: so the overlay takes that
    away, and a row of its own leaves it. It is in all of them alike, and refuses what the simulator does not know.
    --skip-sl: SA tables need RMPP, which the simulator has not."""
    walk, whole = b.f.path("walk"), b.f.path("walk-and-counters")
    walk_mads = queries.write(walk, queries.walk_lines(b.found, b.start()))
    whole_mads = walk_mads + queries.write(whole + ".pma", queries.counter_lines(b.found))
    with open(whole, "w", encoding="ascii") as out:
        for part in (walk, whole + ".pma"):
            with open(part, encoding="ascii") as f:
                out.write(f.read())
    errors = ["ibqueryerrors", "--skip-sl", "-o", b.window]
    sums = b.write_rules("sums", *LACKS)
    b.rules = b.write_rules("each", *LACKS, "attr=ClassPortInfo : set CapMask=0x1200")
    try:
        t = measure.in_turn({
            "counters": lambda: b.ibqos("audit", "--counters", ok=(0, 1, 2)),
            "whole": lambda: b.floor("floor_walk", "--queries", whole),
            "iblinkinfo": lambda: b.call("iblinkinfo", "-o", b.window),
            "ibqueryerrors": lambda: b.call(*errors, ok=(0, 1)),
            "sums": lambda: b.call(*errors, ok=(0, 1), rules=sums),
            "audit": lambda: b.ibqos("audit", ok=(0, 1, 2)),
            "walk": lambda: b.floor("floor_walk", "--queries", walk),
        }, b.runs)
    finally:
        b.rules = None
    alive(b)
    both, with_sums = ([measure.together(x, y) for x, y in zip(t["iblinkinfo"], t[w])] for w in ("ibqueryerrors", "sums"))
    sent = {way: runs[-1].sent for way, runs in t.items()}
    b.row("audit --counters", "the floor of its MADs", t["counters"], t["whole"], sent=sent["counters"], other_sent=whole_mads)
    b.row("audit --counters", "iblinkinfo and ibqueryerrors", t["counters"], both, sent=sent["counters"],
          other_sent=sent["iblinkinfo"] + sent["ibqueryerrors"])
    b.row("audit --counters", "these, counters of a switch's ports summed", t["counters"], with_sums, sent=sent["counters"],
          other_sent=sent["iblinkinfo"] + sent["sums"])
    b.row("audit", "the floor of its MADs", t["audit"], t["walk"], sent=sent["audit"], other_sent=walk_mads)
    b.row("audit", "iblinkinfo", t["audit"], t["iblinkinfo"], sent=sent["audit"], other_sent=sent["iblinkinfo"])


def verify_rows(b):
    """The loop is smpquery for some ports, as a script would have it, scaled to all: said in the row."""
    tables, ports = queries.tables(b.found)
    queries.write(b.f.path("tables"), tables)
    step = max(1, len(ports) // SAMPLE)
    some = ports[::step][:SAMPLE]
    queries.write(b.f.path("loop.sh"), (f"smpquery sl2vl {lid} {port} >/dev/null" for lid, port in some))

    def loop():
        m = b.call("sh", b.f.path("loop.sh"))
        return m.with_figure(m.seconds * len(ports) / len(some))

    t = measure.in_turn({
        "verify": lambda: b.ibqos("verify", "--opensm-conf", b.sm.config),
        "floor": lambda: b.floor("floor", "--lids", b.f.path("tables")),
        "loop": loop,
    }, b.runs)
    last = t["verify"][-1]
    sent = int(number(last, "sent"))
    b.facts.update(tables=len(tables), verify_seconds=last.seconds, verify_mib=max(m.mib for m in t["verify"]))
    b.row("verify, time a MAD", "the raw floor (SL2VL)", figures(t["verify"], lambda m: 1e6 * number(m, "seconds") / number(m, "answered")),
          figures(t["floor"], lambda m: 1e6 * number(m, "seconds") / len(tables)), "µs", sent, len(tables))
    b.row("verify", f"a loop of smpquery sl2vl ({len(some)} of {len(ports):,} ports, scaled)", t["verify"], t["loop"], sent=sent)


def polite_rows(b):
    """Once, since it takes as long as its ceiling says."""
    m = b.call(run.binary(), "verify", "--opensm-conf", b.sm.config, "--format", "json")
    b.facts.update(polite_seconds=m.seconds, polite_sent=int(number(m, "sent")), polite_rate=number(m, "sent") / number(m, "seconds"))
    print(f"  verify at the default ceiling: {m.seconds:.1f} s, {b.facts['polite_sent']:,} MADs, "
          f"{b.facts['polite_rate']:,.0f} a second", flush=True)


def alive(b):
    if not b.sm.alive():
        raise run.KitError("OpenSM has died")


# in the order in which they are most wanted, should the time run out
GROUPS = {"discover": discover_rows, "audit": audit_rows, "verify": verify_rows, "polite": polite_rows, "dead": dead_rows}
