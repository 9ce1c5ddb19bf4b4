# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""make bench works: every row is there with its figures, whatever they are. Wall time is not judged."""
import os
import re

from kit import run

BENCH = os.path.join(run.TOP, "tests/bench/bench.py")
FLOOR, DIAGS = "the floor of its MADs", "iblinkinfo and ibqueryerrors"
ROWS = [("discover, its walk alone", FLOOR), ("discover", FLOOR), ("discover", "ibnetdiscover"),
        ("discover", "discover --walker libibnetdisc"), ("audit --counters", FLOOR), ("audit --counters", DIAGS),
        ("audit --counters", "these, counters of a switch's ports summed"), ("audit", FLOOR), ("audit", "iblinkinfo"),
        ("verify, time a MAD", "the raw floor (SL2VL)"),
        ("verify", "a loop of smpquery sl2vl (16 of 16 ports, scaled)"), ("discover, 1 hosts silent", "ibnetdiscover"),
        ("discover, 1 hosts silent", "discover --walker libibnetdisc")]
FIGURE = r"[\d.,e+-]+"


def bench(tmp_path, *args, **env):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- bench: begin -->\nold\n<!-- bench: end -->\nafter\n")
    plain = {k: v for k, v in os.environ.items() if not k.startswith("BENCH_")}
    r = run.run(["/usr/bin/python3", BENCH, "--hosts", "12", "--runs", "1", "--table", str(page), *args], timeout=110, env={**plain, **env})
    text = page.read_text()
    assert text.startswith("before\n<!-- bench: begin -->\nMeasured on ") and text.endswith("<!-- bench: end -->\nafter\n")
    assert "old" not in text and "Not whole" not in text
    assert "\n".join(text.splitlines()[2:-2]) in r.stdout
    return r, [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| 12 hosts")], text


def test_all_rows(tmp_path):
    r, lines, _ = bench(tmp_path, "--dead", "1", "--only", "discover", "audit", "verify", "polite", "dead")
    r.ok()
    rows, (facts,) = [x for x in lines if len(x) == 9], [x for x in lines if len(x) == 7]
    assert [(x[1], x[2]) for x in rows] == ROWS
    for x in rows:
        assert re.fullmatch(rf"\*\*{FIGURE}\*\* \({FIGURE} to {FIGURE}\)", x[3]), x
        assert all(re.fullmatch(rf"{FIGURE} (µ?s)", cell) for cell in x[4:6]) and x[6] == "1", x
        ours, theirs = x[7].split(", ")
        assert int(ours.replace(",", "")) > 50 and (theirs == "–" or int(theirs.replace(",", "")) > 50), x
        assert all(float(m) >= 1 for m in x[8].split(", ")), x
    assert all(re.fullmatch(rf"{FIGURE}( s| MiB)?|{FIGURE} s, {FIGURE} MADs, {FIGURE} a second", cell) for cell in facts[1:]), facts


def test_same_counters_are_asked_on_both_sides(tmp_path):
    """ibqueryerrors also asks empty ports and port 0; ibqos asks no more than
    the floor, but for the subnet manager and the first of each kind, which refuse FEC."""
    r, lines, _ = bench(tmp_path, "--only", "audit")
    r.ok()
    sent = {(x[1], x[2]): [int(n.replace(",", "")) for n in x[7].split(", ")] for x in lines if len(x) == 9}
    ours, floor = sent["audit --counters", FLOOR]
    assert 0 <= ours - floor <= 10
    both, sums = sent["audit --counters", DIAGS][1], sent["audit --counters", "these, counters of a switch's ports summed"][1]
    walk = sent["audit", "iblinkinfo"][1]
    devices, ports = 15, 12 + 3 * 9  # three switches of 8 ports and an enhanced port 0
    assert both - 2 * walk == devices + 2 * ports and sums < both


def test_a_row_that_fails_leaves_the_others(tmp_path):
    shim = tmp_path / "ibqueryerrors"
    shim.write_text("#!/bin/sh\nexit 9\n")
    shim.chmod(0o755)
    r, lines, text = bench(tmp_path, "--only", "audit", "polite", PATH=f"{tmp_path}:{os.environ['PATH']}")
    r.ok(1)
    assert "Not measured: audit of 12 hosts, 3 switches: ibqueryerrors --skip-sl -o 16: exit 9 after" in text
    facts, = lines
    assert "MADs" in facts[4]
