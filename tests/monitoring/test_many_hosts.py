# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Metrics of two management hosts, each of which looks at two fabrics, where they meet: in a Prometheus that takes them from those of
the hosts (federation), and in one that is sent them (remote write). Configurations are those of contrib/prometheus."""
import contextlib
import json
import os
import shutil
import subprocess

import pytest

from kit import monitoring, run

HOSTS = {"mgmt1": ["r0", "r1"], "mgmt2": ["r2", "r3"]}
SECONDS = {"scrape_interval: 1m": "scrape_interval: 1s"}


def dashboard():
    """Queries of the dashboard that are about fabrics."""
    with open(os.path.join(monitoring.CONTRIB, "grafana", "ibqos.json"), encoding="utf-8") as f:
        return [t["expr"] for p in json.load(f)["panels"] for t in p.get("targets", []) if "$fabric" in t["expr"]]


@pytest.mark.parametrize("name", ["management-host.yml", "remote-write.yml", "federation.yml"])
def test_configurations_are_good(name):
    r = subprocess.run(["promtool", "check", "config", name], capture_output=True, timeout=60, cwd=os.path.join(monitoring.CONTRIB, "prometheus"))
    assert r.returncode == 0 and b"FAILED" not in r.stdout, r


@pytest.fixture(scope="module")
def hosts(fab, tmp_path_factory):
    """{host: folder of textfiles}: runs of each about its own site, of which r2 has a slow link and r3 a device that does not answer."""
    seen = tmp_path_factory.mktemp("seen")
    rules = {"r0": (), "r1": (), "r2": ("node=leaf-01 port=2 attr=PortInfo : set LinkWidthActive=1",), "r3": ("node=leaf-02 port=1 attr=PortInfo : timeout",)}
    for name, lines in rules.items():
        if name == "r1":
            shutil.copy(seen / "r0.snap", seen / "r1.snap")
            continue
        fab.rules(*lines)
        fab.ibqos("snapshot", "-t", "200", seen / f"{name}.snap").ok(0, 1, 3)
    fab.rules()
    folders = {}
    for host, fabrics in HOSTS.items():
        folders[host] = tmp_path_factory.mktemp(host)
        site = folders[host] / "site.yaml"
        site.write_text(json.dumps({"version": 1, "fabrics": [{"name": n, "port": {"ca": f"mlx5_{i}"}} for i, n in enumerate(fabrics)]}), encoding="utf-8")
        for command in ("audit", "discover"):
            run.run([run.binary(), command, "--site", site, "--from", seen, "--metrics", folders[host] / f"{command}.prom"]).ok(0, 2, 3)
    return folders


EACH = '{__name__=~"ibqos_.+"}'


def is_there(prom, local):
    """Every series of the hosts has come, and all groups of rules have been evaluated on them."""
    alerts = {a["labels"]["alertname"] for a in prom.api("alerts")["alerts"]}
    return (len(prom.query("ibqos_up")) == 8 and len(prom.query(EACH)) == sum(len(p.query(EACH)) for p in local.values())
            and {"IbqosSlowLinks", "IbqosNotWhole"} <= alerts and prom.query('ibqos:port_findings:named{fabric="r2"}'))


@pytest.fixture(scope="module")
def meeting(hosts, tmp_path_factory):
    """(Prometheus of each host, {how: where they meet})"""
    with contextlib.ExitStack() as stack:
        def started(name, config, *more):
            prom = monitoring.Prometheus(str(tmp_path_factory.mktemp(name)), config, *more)
            stack.callback(prom.stop)
            return prom

        rules = f"rule_files: [{monitoring.CONTRIB}/prometheus/ibqos.rules.yml]"
        sent = started("sent", f"global: {{evaluation_interval: 1s}}\n{rules}\n", "--web.enable-remote-write-receiver")
        local = {}
        for host, folder in hosts.items():
            node = monitoring.exporter(str(tmp_path_factory.mktemp("exporter")), folder)
            stack.callback(node.stop)
            of_host = {**SECONDS, "localhost:9100": node.url.split("//")[1], "mgmt1": host}
            local[host] = started(host, monitoring.contributed("management-host.yml", of_host))
            started(f"{host}-sends", monitoring.contributed("remote-write.yml", {**of_host, "metrics:9090": sent.url.split("//")[1]}))
        taken = started("taken", monitoring.contributed("federation.yml", {
            **SECONDS, "evaluation_interval: 1m": "evaluation_interval: 1s", "rule_files: [ibqos.rules.yml]": rules,
            **{f"{host}:9090": local[host].url.split("//")[1] for host in HOSTS}}))
        where = {"federation": taken, "remote write": sent}
        for how, prom in where.items():
            run.deadline(60, how, lambda: is_there(prom, local), every=0.2, alive=lambda: prom.process.poll() is None,
                         evidence=lambda: f"{prom.said()}{len(prom.query(EACH))} series, alerts {prom.api('alerts')}")
        yield local, where


def rows(prom, expr):
    """{labels but for the host's: value}; two rows of the same are a fault."""
    found = {}
    for r in prom.query(expr):
        labels = frozenset((k, v) for k, v in r["metric"].items() if k != "management_host")
        assert labels not in found, (expr, labels)
        found[labels] = r["value"][1] if "time()" not in expr else None
    return found


@pytest.mark.parametrize("how", ["federation", "remote write"])
def test_each_fabric_is_told_once(meeting, how):
    prom = meeting[1][how]
    status = {(r["metric"]["command"], r["metric"]["fabric"]): (r["metric"]["management_host"], r["value"][1]) for r in prom.query("ibqos_exit_status")}
    assert len(prom.query("ibqos_exit_status")) == 8 == len(status)
    assert {fabric: v for (command, fabric), v in status.items() if command == "audit"} == {
        "r0": ("mgmt1", "0"), "r1": ("mgmt1", "0"), "r2": ("mgmt2", "2"), "r3": ("mgmt2", "3")}
    # nothing else of the hosts is taken
    assert all(n.startswith(("ibqos", "ALERTS", "up", "scrape_")) for n in prom.api("label/__name__/values"))


@pytest.mark.parametrize("how", ["federation", "remote write"])
def test_queries_of_the_dashboard_say_of_each_fabric_what_they_say_on_its_host(meeting, how):
    local, where = meeting
    told = 0
    for expr in dashboard():
        for host, fabrics in HOSTS.items():
            for fabric in fabrics:
                mine = expr.replace("$fabric", fabric).replace("$command", "audit|discover")
                there = rows(where[how], mine)
                assert all(dict(r).get("fabric", fabric) == fabric for r in there), mine
                if "ibqos:" not in expr:  # which the hosts do not record: rules are where the metrics meet
                    assert there == rows(local[host], mine), (host, mine)
                told += len(there)
    assert told > 100


@pytest.mark.parametrize("how", ["federation", "remote write"])
def test_an_alert_comes_once_and_names_the_fabric(meeting, how):
    local, where = meeting
    alerts = [a["labels"] for a in where[how].api("alerts")["alerts"]]
    assert [(a["fabric"], a["management_host"]) for a in alerts if a["alertname"] == "IbqosSlowLinks"] == [("r2", "mgmt2")]
    assert {a["fabric"] for a in alerts if a["alertname"] == "IbqosNotWhole"} == {"r3"}
    assert not {a["fabric"] for a in alerts} & {"r0", "r1"}
    assert not any(prom.api("alerts")["alerts"] for prom in local.values())
