# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""promtool on metrics and rules; node_exporter and Prometheus on what runs wrote; the dashboard's queries on that."""
import json
import os
import re
import subprocess

import pytest

from kit import prometheus, run
from kit.monitoring import CONTRIB, get


def promtool(*args, stdin=None):
    return subprocess.run(["promtool", *args], input=stdin, capture_output=True, timeout=60, cwd=os.path.join(CONTRIB, "prometheus"))


def test_metrics_are_as_promtool_wants_them(monitored):
    folder, _ = monitored
    names = sorted(os.listdir(folder))
    assert names == ["audit.prom", "job-host.prom", "job-log.prom", "shares.prom", "verify.prom"]
    for name in names:
        r = promtool("check", "metrics", stdin=(folder / name).read_bytes())
        assert (r.returncode, r.stdout, r.stderr) == (0, b"", b""), name


def test_promtool_sees_what_is_wrong():
    assert promtool("check", "metrics", stdin=b"# TYPE a counter\na 1\n").returncode != 0


def test_rules():
    r = promtool("check", "rules", "ibqos.rules.yml")
    assert r.returncode == 0 and b"SUCCESS" in r.stdout, r
    r = promtool("test", "rules", "ibqos.test.yml")
    assert r.returncode == 0, r


def test_every_alert_is_tested():
    with open(os.path.join(CONTRIB, "prometheus", "ibqos.rules.yml"), encoding="utf-8") as f:
        alerts = set(re.findall(r"alert: (\w+)", f.read()))
    with open(os.path.join(CONTRIB, "prometheus", "ibqos.test.yml"), encoding="utf-8") as f:
        fired = set(re.findall(r"alertname: (\w+)\n\s+exp_alerts:", f.read()))
    assert alerts == fired and len(alerts) > 10


def test_the_textfile_collector_takes_all_files_together(monitored):
    """Two files of one fabric have the same metrics: none clashes, all are there."""
    folder, prom = monitored
    text = get(prom.node.url + "/metrics")
    assert "node_textfile_scrape_error 0" in text
    for name in os.listdir(folder):
        for family, content in prometheus.read(folder / name).families.items():
            for labels, value in content["samples"].items():
                lines = [line for line in text.splitlines() if line.startswith(family + "{")
                         and {f'{k}="{v}"' for k, v in labels} <= set(re.findall(r'\w+="[^"]*"', line))]
                assert lines and any(float(line.rsplit(" ", 1)[1]) == value for line in lines), (name, family, labels)


def test_rules_on_a_real_run(monitored):
    _, prom = monitored
    rules = [r for g in prom.api("rules")["groups"] for r in g["rules"]]
    assert len(rules) > 15 and all(r["health"] == "ok" for r in rules), [r for r in rules if r["health"] != "ok"]
    firing = {(a["labels"]["alertname"], a["state"]) for a in prom.api("alerts")["alerts"]}
    assert {("IbqosTablesDiffer", "firing"), ("IbqosSlowLinks", "firing"), ("IbqosJobTransfersFailed", "firing")} <= firing
    assert not {name for name, _ in firing} & {"IbqosNobodyLooks", "IbqosRunFailed", "IbqosQosOff", "IbqosNoMaster", "IbqosBitErrors"}
    named = prom.query('ibqos:port_findings:named{code="sl2vl-differs"}')
    assert [(x["metric"]["node"], x["metric"]["port"]) for x in named] == [("leaf-01", "1")]


def dashboard():
    with open(os.path.join(CONTRIB, "grafana", "ibqos.json"), encoding="utf-8") as f:
        return json.load(f)


TARGETS = [(p["title"], t["expr"]) for p in dashboard()["panels"] for t in p.get("targets", [])]


@pytest.mark.parametrize("title,expr", TARGETS)
def test_dashboard_queries_return_data(monitored, title, expr):
    _, prom = monitored
    assert "$" not in expr.replace("$fabric", "").replace("$command", "")
    assert prom.query(expr.replace("$fabric", ".*").replace("$command", ".*")), (title, expr)
    # of one fabric alone, where it has panels of fabrics
    if "$fabric" in expr:
        assert prom.query(expr.replace("$fabric", "rail-1").replace("$command", "verify|audit"))
        assert not [x for x in prom.query(expr.replace("$fabric", "no").replace("$command", ".*")) if x["metric"]]


def test_dashboard_is_whole():
    d = dashboard()
    assert [v["name"] for v in d["templating"]["list"]] == ["datasource", "fabric", "command"]
    ids = [p["id"] for p in d["panels"]]
    assert len(set(ids)) == len(ids) and len(TARGETS) > 30
    cells = set()
    for p in d["panels"]:
        g = p["gridPos"]
        assert g["x"] + g["w"] <= 24
        mine = {(x, y) for x in range(g["x"], g["x"] + g["w"]) for y in range(g["y"], g["y"] + g["h"])}
        assert not mine & cells, f"{p['title']} lies over another"
        cells |= mine
        assert p["type"] == "row" or p["datasource"]["uid"] == "${datasource}"


def test_names_in_rules_and_dashboard_are_names_of_metrics():
    with open(os.path.join(run.TOP, "src/report/prometheus_metrics.def"), encoding="utf-8") as f:
        metrics = set(re.findall(r'^PROM_METRIC\(\w+, "(\w+)",', f.read(), re.M))
    with open(os.path.join(CONTRIB, "prometheus", "ibqos.rules.yml"), encoding="utf-8") as f:
        rules = f.read()
    known = metrics | set(re.findall(r"record: (\S+)", rules))
    used = set(re.findall(r"\bibqos[_:][a-z_:]+", "\n".join(re.findall(r"expr: (?:\|\n(?:\s{10,}.*\n)+|.*)", rules) + [e for _, e in TARGETS])))
    assert used and used <= known, used - known
