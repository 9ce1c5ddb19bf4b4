#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""How long a large page of --format html takes in Chromium, and what it would take if every row were an element.

    OUT=build/release tests/bench/page.py [RUNS]     (after make all tools; the median of RUNS, 3)
"""
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from kit.browser import Browser  # noqa: E402

OUT = os.path.abspath(os.environ.get("OUT", "build/release"))
LOAD = "const n = performance.getEntriesByType('navigation')[0]; return n.loadEventEnd"
# From an act until what came of it is painted.
TIMED = """const [act, done] = [arguments[0], arguments[arguments.length - 1]], start = performance.now();
const ready = () => requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
if (act === "filter") {
    const field = document.querySelector(".controls input[type=search]"), table = arguments[1];
    field.value = arguments[2];
    field.dispatchEvent(new Event("input"));
    const wait = () => document.getElementById(table).tBodies[0].rows.length === arguments[3] ? ready() : setTimeout(wait, 1);
    wait();
} else {
    document.querySelectorAll(`#${arguments[1]} th button`)[arguments[2]].click();
    ready();
}"""


def elements(path, to):
    """The same page with tables of 500 rows behind the first, each laid out when it comes into sight."""
    with open(path, encoding="utf-8") as f:
        text = f.read()

    def rows(lines):
        return "".join("<tr>" + "".join(f"<td>{c}</td>" for c in line.split("\t")) + "</tr>\n" for line in lines)

    def tables(m):
        lines = [line for pre in re.findall(r"<pre>\n(.*?)</pre>", m[0], re.S) for line in pre.splitlines()]
        return "".join(f"<div class=\"later\"><table>{rows(lines[i:i + 500])}</table></div>\n" for i in range(0, len(lines), 500))
    text = re.sub(r'<div class="rest">.*?</div>', tables, text, flags=re.S)
    text = re.sub(r"<meta http-equiv=.*?>\n", "", text)
    text = text.replace("</style>", ".later { content-visibility: auto; contain-intrinsic-size: auto 15000px }</style>")
    with open(to, "w", encoding="utf-8") as f:
        f.write(text)


def memory(b):
    """MiB of the browser's renderer that has the page."""
    most = 0
    for pid in subprocess.run(["pgrep", "-f", f"type=renderer.*{b.folder}|{b.folder}.*type=renderer"], capture_output=True, text=True, check=False).stdout.split():
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            most = max(most, int(re.search(r"VmHWM:\s+(\d+)", f.read())[1]) // 1024)
    return most


def measure(path, acts, folder):
    b = Browser(folder)
    try:
        begin = time.monotonic()
        b.open(path)
        row = {"opened": (time.monotonic() - begin) * 1000, "load": b.js(LOAD)}
        for name, *args in acts:
            row[name] = b.driver.execute_async_script(TIMED, name.split()[0], *args)
        row["MiB"] = memory(b)
        return row
    finally:
        b.stop()


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    print("| page | size | written in | load event | filter | sort | again, downwards | renderer's peak |\n|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="ibqos-page-") as folder:
        for kind, number, table, acts in (
                ("findings", 50000, "t-findings", [("filter", "t-findings", "gpu-49999", 1), ("filter off", "t-findings", "", 500),
                                                   ("sort", "t-findings", 2), ("sort down", "t-findings", 2)]),
                ("rows", 250000, "t-links", [("filter", "t-links", "gpu-31249", 8), ("filter off", "t-links", "", 500), ("sort", "t-links", 3),
                                             ("sort down", "t-links", 3)])):
            path = os.path.join(folder, f"{kind}.html")
            begin = time.monotonic()
            with open(path, "wb") as f:
                subprocess.run([f"{OUT}/tests/page", "html", kind, str(number)], stdout=f, check=True)
            written = time.monotonic() - begin
            plain = os.path.join(folder, f"{kind}-elements.html")
            elements(path, plain)
            for name, page, what in ((f"{number:,} {kind}", path, acts), ("the same, every row an element", plain, [])):
                got = [measure(page, what, folder) for _ in range(runs)]
                mid = {k: statistics.median(g[k] for g in got) for k in got[0]}
                ms = {k: f"{mid[k]:,.0f} ms" if k in mid else "" for k in ("load", "filter", "sort", "sort down")}
                print(f"| {name} | {os.path.getsize(page) / 1e6:.1f} MB | {f'{written:.1f} s' if what else ''} | {ms['load']} | {ms['filter']} | {ms['sort']} | "
                      f"{ms['sort down']} | {mid['MiB']:,.0f} MiB |", flush=True)


if __name__ == "__main__":
    main()
