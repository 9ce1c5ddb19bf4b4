#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""make bench: many fabrics in one run (--site), beside each of them alone.

Rails of simulated fabrics with an OpenSM each. A turn is one run of all of them and then one of each alone, with the same limits; the ratio
of the turn is that of all over the slowest one. First each answer comes a millisecond late, as from a real fabric, with the usual window
and with one packet on the way at a time, where waiting dominates; then at once, where all rails, their simulators and ibqos share this machine's processors: that figure is told, no more.

    tests/bench/rails.py [--rails 8] [--hosts 36] [--turns 3] [--delay 1]     (IBQOS_BIN, IBQOS_OVERLAY as for tests)
"""
import argparse
import contextlib
import os
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import measure  # noqa: E402
from kit import policy, run, sim, sites  # noqa: E402
from tools import netgen  # noqa: E402

APART = 0x100000  # between the GUIDs of two rails


def rail(number, hosts):
    """Leaves of 18 hosts and a spine."""
    net = netgen.fat_tree(leaves=-(-hosts // 18), spines=1, hosts_per_leaf=18, uplinks=2, storage=0)
    for n in net.nodes.values():
        n.guid = n.sysimg = n.guid + (number + 1) * APART
    return net


def rails_up(stack, folder, options):
    """OpenSM is on the last host, without the overlay, as in bench.py, and has the tables of the policy."""
    up = {}
    for i in range(options.rails):
        path = os.path.join(folder, f"rail{i}")
        os.mkdir(path)
        f = sim.Fabric(path, rail(i, options.hosts), capabilities=False)
        stack.callback(f.stop)
        f.opensm(wait=None, host=[n.name for n in f.net.nodes.values() if n.kind == "ca"][-1], overlay=False)
        up[f"rail{i}"] = f
    for f in up.values():
        f.sms[0].wait_up(300)
        f.ibqos("apply", policy.write(f, f.sms[0]), "--state-dir", f.path("state")).ok()
    return up


def turn(site, ups, words, limit):
    """Seconds of all at once, of the slowest alone, of all alone one after the other; CPU seconds of all at once."""
    whole = measure.program(site.argv(*words, *limit, "--format", "json"), cwd=site.dir, env=dict(os.environ), ok=(0, 1, 2))
    alone = [measure.program([run.binary(), *words, *limit, "--format", "json", *([f.path("policy.yaml")] if words == ["verify"] else [])], cwd=f.dir,
                             env=f.env(), ok=(0, 1, 2)).seconds for f in ups.values()]
    return whole.seconds, max(alone), sum(alone), whole.cpu


def measured(site, ups, words, limit, late, turns):
    turn(site, ups, words, limit)  # warms up
    found = [turn(site, ups, words, limit) for _ in range(turns)]
    ratios = sorted(t[0] / t[1] for t in found)
    whole, slowest, each, cpu = (statistics.median(t[i] for t in found) for i in range(4))
    print(f"| {' '.join([*words, *limit])} | {late} | **{statistics.median(ratios):.2f}** ({ratios[0]:.2f} to {ratios[-1]:.2f}) | {whole:.3g} s | {slowest:.3g} s | {each:.3g} s | "
          f"{cpu:.2g} s |", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rails", type=int, default=8)
    p.add_argument("--hosts", type=int, default=int(os.environ.get("BENCH_RAIL_HOSTS") or 36), help="of each rail")
    p.add_argument("--turns", type=int, default=3)
    p.add_argument("--delay", type=int, default=1, help="milliseconds that an answer is late")
    a = p.parse_args()
    fenced = run.fence()
    if fenced:
        print(f"rails: {fenced}", file=sys.stderr)
        return 3
    load = os.getloadavg()[0]
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="ibqos-rails-"))
        ups = rails_up(stack, folder, a)
        site = sites.Site(folder, ups, own={n: {"policy": f.path("policy.yaml")} for n, f in ups.items()}, log=False)
        hosts = sum(n.kind == "ca" for n in ups["rail0"].net.nodes.values())
        print(f"{a.rails} rails of {hosts} hosts; {os.cpu_count()} processors, load {load:.1f} before it began; medians of {a.turns} turns")
        print("| command | each answer | all at once over the slowest alone | all at once | the slowest alone | one after the other | CPU of all at once, simulators apart |")
        print("|---|---|---|---|---|---|---|")
        for rule, late in ((f": delay={a.delay}", f"{a.delay} ms late"), ("", "at once")):
            for f in ups.values():
                f.rules(rule)
            for words in (["verify"], ["audit"], ["audit", "--counters"]):
                for limit in ([], ["-o", "1"]) if rule else ([],):
                    measured(site, ups, words, limit, late, a.turns)
    return 0


if __name__ == "__main__":
    sys.exit(main())
