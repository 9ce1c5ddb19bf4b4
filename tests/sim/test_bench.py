# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""make bench works: every row is there with its figures, whatever they are. Wall time is not judged."""
import os
import re

from kit import run

BENCH = os.path.join(run.TOP, "tests/bench/bench.py")
ROWS = ("verify, MADs a second over the raw floor's", "verify, seconds over those of a loop of smpquery",
        "discover, seconds over ibnetdiscover's", "audit, seconds over iblinkinfo's and ibqueryerrors'")


def test_all_rows(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- bench: begin -->\nold\n<!-- bench: end -->\nafter\n")
    env = {k: v for k, v in os.environ.items() if not k.startswith("BENCH_")}
    r = run.run(["/usr/bin/python3", BENCH, "--hosts", "12", "--runs", "1", "--table", str(page)], timeout=110, env=env).ok()
    text = page.read_text()
    assert text.startswith("before\n<!-- bench: begin -->\nMeasured on ") and text.endswith("<!-- bench: end -->\nafter\n")
    assert "old" not in text and text.count("\n".join(text.splitlines()[2:-2])) == 1
    figure = r"[\d.,e+-]+"
    for row in ROWS:
        assert re.search(rf"^  {re.escape(row)}.*: {figure} \(from {figure} to {figure}; ", r.stdout, re.M), (row, r)
        line = next(x for x in text.splitlines() if row in x)
        assert re.search(rf"\| {figure} \({figure}, {figure}\) \| {figure} (MAD/)?s \| {figure} (MAD/)?s \|", line), line
        mads = line.split("|")[6].split(", ")
        if "loop" not in row:
            assert all(int(m.replace(",", "")) > 50 for m in mads), line
        assert all(float(m) >= 1 for m in line.split("|")[7].split(",")), line
    assert "at the polite default: " in r.stdout and "MADs a second |" in text
