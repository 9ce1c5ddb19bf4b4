# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The tables of the bench, as they go into docs/performance.md."""
import datetime
import os
import platform
import re

from kit import run

MARKS = "<!-- bench: begin -->", "<!-- bench: end -->"


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


def fact(b, form, *keys):
    return form.format(*(b.facts[k] for k in keys)) if all(k in b.facts for k in keys) else "–"


def facts_line(b):
    beyond = "–"
    if "verify_mib" in b.facts and "discover_mib" in b.facts:
        beyond = f"{max(0, round(b.facts['verify_mib'] - b.facts['discover_mib']))} MiB"
    return (f"| {b.name} | {fact(b, '{:.0f} s', 'opensm_seconds')} | {fact(b, '{:,}', 'tables')} | "
            f"{fact(b, '{:.1f} s', 'verify_seconds')} | {fact(b, '{:.1f} s, {:,} MADs, {:,.0f} a second', 'polite_seconds', 'polite_sent', 'polite_rate')} | "
            f"{fact(b, '{:.0f} MiB', 'verify_mib')} | {beyond} |")


def lines(benches, options, load, failed=(), whole=True):
    """failed: (fabric, group, why) of fabrics that did not come up; whole: False while there is more to come."""
    day = datetime.date.today().isoformat()
    yield (f"Measured on {day} ({machine()}; load {load:.1f} before it began), window {options.window}, no ceiling. Ratios are of times "
           "in one turn: below 1 ibqos is faster. Medians, and from the least to the greatest ratio.")
    if not whole:
        yield ""
        yield "**Not whole: the run had not ended when this was written.**"
    yield ""
    yield "| fabric | what | beside | ratio | ibqos | the other | turns | MADs of ibqos, of the other | peak MiB |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for b in benches:
        for r in b.rows:
            ours, theirs = r.medians
            yield (f"| {b.name} | {r.what} | {r.other} | **{r.ratio:.2f}** ({r.ratios[0]:.2f} to {r.ratios[-1]:.2f}) | {ours:,.3g} {r.unit} | "
                   f"{theirs:,.3g} {r.unit} | {r.runs} | {count(r.sent)}, {count(r.other_sent)} | {r.mib:.0f}, {r.other_mib:.0f} |")
    yield ""
    yield "| fabric | OpenSM was up after | SL2VL tables of switches | verify at full speed | verify at the default ceiling | its peak | beyond discover's |"
    yield "|---|---|---|---|---|---|---|"
    for b in benches:
        yield facts_line(b)
    for name, group, why in [*((b.name, g, w) for b in benches for g, w in b.failed), *failed]:
        yield ""
        yield f"Not measured: {group} of {name}: {why}"


def put(path, text):
    """Replaces what stands between the marks of a file."""
    with open(path, encoding="utf-8") as f:
        old = f.read()
    before, rest = old.split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    run.replace(path, (before + MARKS[0] + "\n" + "\n".join(text) + "\n" + MARKS[1] + after).rstrip("\n").split("\n"))
