#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What the tests ran of src/, from gcov's counters: a line a folder, then the largest blocks that nothing ran.

    coverage.py FOLDER [BLOCKS]   the build folder; how many blocks to name (20)
"""
import collections
import glob
import json
import os
import subprocess
import sys


def notes(folder):
    found = sorted(glob.glob(os.path.join(folder, "src", "**", "*.gcno"), recursive=True))
    if not found:
        sys.exit(f"coverage.py: no counters in {folder}: make coverage")
    return found


def gcov(note):
    """gcov's account of one object; it counts 0 for what no process ever reported."""
    done = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", note],
                          capture_output=True, cwd=os.path.dirname(note), check=True)
    return json.loads(done.stdout)["files"]


def blocks(lines):
    """Runs of lines of one function that hold code and were never run: (count, first, last, function)."""
    run = []
    for line in [*lines, {"count": 1}]:
        if line["count"] == 0 and (not run or line.get("function_name") == run[0].get("function_name")):
            run.append(line)
            continue
        if run:
            yield len(run), run[0]["line_number"], run[-1]["line_number"], run[0].get("function_name", "")
        run = [line] if line["count"] == 0 else []


def main(folder, wanted):
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    lines, run = collections.Counter(), collections.Counter()
    ways, taken = collections.Counter(), collections.Counter()
    holes, silent = [], 0
    for note in notes(folder):
        silent += not os.path.exists(note[:-len("gcno")] + "gcda")
        for file in gcov(note):
            name = os.path.relpath(file["file"], top)
            if not name.startswith("src/") or not name.endswith(".c"):
                continue
            group = os.path.dirname(name)
            for line in file["lines"]:
                lines[group] += 1
                run[group] += line["count"] > 0
                ways[group] += len(line["branches"])
                taken[group] += sum(b["count"] > 0 for b in line["branches"])
            holes += [(count, name, *place) for count, *place in blocks(file["lines"])]
    print(f"{'folder':<14} {'lines':>6} {'run':>6} {'%':>6} {'branches %':>11}")
    for group in [*sorted(lines), None]:
        a, b, c, d = ((x[group] if group else sum(x.values())) for x in (lines, run, ways, taken))
        print(f"{group or 'all':<14} {a:>6} {b:>6} {100 * b / a:>6.1f} {100 * d / max(c, 1):>11.1f}")
    if silent:
        print(f"{silent} objects that no process ran")
    print("largest blocks that nothing ran:")
    for count, name, first, last, function in sorted(holes, reverse=True)[:wanted]:
        print(f"  {count:>3} lines  {name}:{first}-{last}  {function}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20)
