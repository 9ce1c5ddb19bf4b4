# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""docs/monitoring.md, "One thing, three names": each row is what the program has."""
import os
import re

from kit import run


def read(*path):
    with open(os.path.join(run.TOP, *path), encoding="utf-8") as f:
        return f.read()


def test_rows_are_the_programs():
    rows = re.findall(r"^\| ([^|`]+) \| `(\w+)\.(\w+)` \| `(\w+)(?:\{(\w+)=\"([^\"]*)\"\})?` \|$", read("docs", "monitoring.md"), re.M)
    metrics = dict(re.findall(r'^PROM_METRIC\((\w+), "(\w+)"', read("src", "report", "prometheus_metrics.def"), re.M))
    rules = read("src", "report", "prometheus_rules.c")
    commands = "".join(read("src", "cmd", name) for name in sorted(os.listdir(os.path.join(run.TOP, "src", "cmd"))))
    assert len(rows) > 20
    for text, group, key, metric, label, value in rows:
        assert re.search(rf'"{key}", (?:\.title = )?"{re.escape(text)}"', commands.replace(".key = ", "")), (text, key)
        if group.endswith("coverage"):
            assert metric in (metrics["QUERIES"], metrics["ENDED"])
            assert not value or re.search(rf'OUTCOME\((?:in|"{group}"), "{key}", (?:about|"\w+"), "{value}"', rules), (group, key)
            continue
        row, = re.findall(rf'\("{group}", "{key}", (\w+)(?:, "(\w+)=\\"([^\\]*)\\"")?\)', rules)
        assert (metrics[row[0]], row[1], row[2]) == (metric, label, value), (group, key)
