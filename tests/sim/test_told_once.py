# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What is told of a silent place: once, of the state that it is silent in, with an advice that can be followed, and the same in
every format."""
import re

import pytest

from kit import routes
from tools import netgen_tree

QUICK = ("-t", "300", "--retries", "2")  # a loaded OpenSM may answer late
SILENT = 'node="gpu-004 mlx5_0" : timeout'


def shape():
    return netgen_tree.tree2(radix=12, leaves=4, spines=2, hosts_per_leaf=3)


@pytest.fixture
def f(up):
    f, _ = up(net=shape())
    f.rules(*routes.FIXED)
    return f


def write(f, name, text):
    with open(f.path(name), "w", encoding="utf-8") as file:
        file.write(text)
    return f.path(name)


def told(r):
    return [(x["code"], x["node"], x["port"], x["detail"]) for x in r.json["findings"]]


def test_two_states(f, ibqos):
    """The same twice; silent before; silent after, where the host is not said to be gone as if that were known."""
    f.ibqos("snapshot", f.path("good")).ok(0)
    f.rules(*routes.FIXED, SILENT)
    f.ibqos("snapshot", f.path("silent"), *QUICK).ok(3)
    f.rules(*routes.FIXED, "node=leaf-02 : timeout")  # and all behind it
    f.ibqos("snapshot", f.path("leaf"), *QUICK).ok(3)

    def diff(a, b, code):
        return ibqos("diff", f.path(a), f.path(b), "--format", "json").ok(code)
    place = ("no-answer", "leaf-02", 1)
    assert told(diff("silent", "silent", 3)) == [(*place, "in both states")]
    assert told(diff("good", "good", 0)) == []
    before, after = diff("silent", "good", 3), diff("good", "silent", 3)
    assert told(before)[0] == (*place, "in the state of before")
    assert [x[0] for x in told(before)] == ["no-answer", "node-new"] and "it may have been there" in told(before)[1][3]
    assert (*place, "in the state of after") in told(after)
    assert [(x["code"], x["severity"]) for x in after.json["findings"]] == [("no-answer", "unknown"), ("node-silent", "unknown")]
    assert all("make this file anew" in x["advice"] for x in after.json["findings"] if x["code"] == "no-answer")
    assert [x["code"] for x in diff("good", "leaf", 3).json["findings"]].count("node-silent") == 4
    for form in ("text", "nagios"):
        text = ibqos("diff", f.path("silent"), f.path("silent"), "--format", form).ok(3).stdout
        assert text.count("leaf-02[1]") == 1 and "2 ports" not in text
    # a host that is really gone: nothing silent about it
    assert "verdict: unknown (1 unknown)" in ibqos("diff", f.path("silent"), f.path("silent")).ok(3).stdout


def test_maintenance(f, tmp_path):
    """A place that is silent at the begin and answers at the end was looked at; faults before the work are told however quiet."""
    def run(command, *args, form="json"):
        return f.ibqos("maintenance", command, "work", "--state-dir", tmp_path, "--no-counters", "--format", form, *QUICK, *args)
    narrow = [f'node="gpu-00{n} mlx5_0" attr=PortInfo : set LinkWidthActive=1' for n in (7, 8)]
    f.rules(*routes.FIXED, SILENT, *narrow)
    r = run("begin").ok(3)
    assert [(x["code"], x["severity"], x["what"], x["got"]) for x in r.json["findings"]] == [
        ("no-answer", "unknown", "device behind this port", None),
        ("maintenance-found-before", "note", "2 critical", "2 link-width-low")]
    f.rules(*routes.FIXED, *narrow)
    r = run("end")
    assert "no-answer" not in [x["code"] for x in r.json["findings"]]
    assert [x["state"] for x in r.json["compared"] if x["code"] == "no-answer"] == ["fixed"]
    f.rules(*routes.FIXED, *narrow, SILENT)
    r = run("end").ok(3)
    (one,) = [x for x in r.json["findings"] if x["code"] == "no-answer"]
    assert "run again" in one["advice"] and one["detail"] is None
    assert [x["state"] for x in r.json["compared"] if x["code"] == "no-answer"] == ["unchanged"]


def test_quiet_begin(f, tmp_path):
    def begin(name, *args):
        return f.ibqos("maintenance", "begin", name, "--state-dir", tmp_path, "--no-counters", *args)
    assert begin("good", "-q").ok(0).stdout == "verdict: clean\n"
    f.rules(*routes.FIXED, 'node="gpu-007 mlx5_0" attr=PortInfo : set LinkWidthActive=1')
    text = begin("bad", "-q").ok(0).stdout
    assert "maintenance-found-before" in text and "1 critical: got 1 link-width-low" in text
    assert "nothing found" not in begin("bad2", "--format", "nagios").ok(0).stdout


def test_a_jobs_paths(f):
    """A link that several of the job's paths take, and a table that two questions need: each is one finding."""
    env = write(f, "job.env", "NCCL_IB_SL=1\nNCCL_IB_PKEY=0\n")
    args = ("job", "check", "--env-file", env, "--no-conf", "--hosts", "gpu-[001-006]", "--by-lft", *QUICK)
    for rule, code in (('node="gpu-004 mlx5_0" attr=PortInfo : set LinkWidthActive=1', "link-width-low"),
                       ('node="gpu-004 mlx5_0" attr=PKeyTable : timeout', "query-failed"),
                       ("node=leaf-02 attr=0x19 : timeout", "query-failed"), (SILENT, "no-answer")):
        f.rules(*routes.FIXED, rule)
        found = f.ibqos(*args, "--format", "json").json["findings"]
        assert code in [x["code"] for x in found], rule
        rows = [tuple(sorted((k, v) for k, v in x.items() if v is not None)) for x in found]
        assert len(rows) == len(set(rows)), rule
        text = f.ibqos(*args).stdout
        assert not re.search(r"^    at .*\b(\S+\[\d+\])[^,]*, [^,]*\b\1(?:,|$)", text, re.M), text


def test_files_of_others(f):
    """The links are there, their VLs are not: and what to do is what can be done with a file."""
    p = write(f, "p.yaml", (
        "version: 1\nclasses:\n  - {name: a, sl: 0, share: 50%, default: true}\n  - {name: b, sl: 1, share: 50%}\n"))
    text = write(f, "net.txt", f.tool("ibnetdiscover").ok().stdout)
    r = f.ibqos("verify", "--from", text, p, "--format", "json").ok(3)
    assert [x["code"] for x in r.json["findings"]] == ["source-lacks", "plan-vls-unknown"]
    f.rules(*routes.FIXED, SILENT)
    f.tool("ibnetdiscover", "--cache", f.path("cache")).ok()
    f.ibqos("snapshot", f.path("snap"), *QUICK).ok(3)
    for path in (f.path("cache"), f.path("snap"), text):
        for command in (["discover"], ["audit", "--counters"], ["verify", p]):
            r = f.ibqos(*command, "--from", path, "--format", "json").ok(0, 2, 3)
            for x in r.json["findings"]:
                assert "run again" not in x["advice"] and "--m_key" not in x["advice"], x
    live = f.ibqos("discover", "--format", "json", *QUICK).ok(3).json["findings"]
    assert "run again" in live[0]["advice"]


PERFDATA = {"switches": ("fabric_found", "switches"), "links": ("fabric_found", "links"), "ports": ("ports", "looked_at"),
            "ports_differ": ("ports", "differ"), "links_audited": ("links", "looked_at"), "links_slow": ("links", "slow"),
            "counters_read": ("counters", "read"), "ber_bad": ("counters", "ber_bad")}


def test_nagios_is_json(f):
    """Each number behind the '|' is that of JSON of the same state; a silent device is among what is not answered."""
    conf = ("--opensm-conf", write(f, "conf", "qos TRUE\n"))
    rules = ([], [SILENT], [SILENT, 'node="gpu-007 mlx5_0" attr=SL2VL : timeout'],
             ['node="gpu-007 mlx5_0" attr=PortInfo : set LinkWidthActive=1', 'node="gpu-008 mlx5_0" attr=PortCounters : timeout'])
    for rule in rules:
        f.rules(*routes.FIXED, *rule)
        f.ibqos("snapshot", f.path("snap"), "--counters", *conf, *QUICK).ok(0, 3)
        for command in (["discover"], ["audit"], ["audit", "--counters"], ["verify", *conf]):  # of a file: the same each time
            json = f.ibqos(*command, "--from", f.path("snap"), "--format", "json").json
            line = f.ibqos(*command, "--from", f.path("snap"), "--format", "nagios").stdout
            said, numbers = line.strip().split(" | ")
            numbers = {k: float(v.rstrip("s")) for k, v in (x.split("=") for x in numbers.split())}
            severities = [x["severity"] for x in json["findings"]]
            wanted = {s: severities.count(s) for s in ("critical", "unknown", "warning", "note")}
            wanted.update({k: json[s][x] for k, (s, x) in PERFDATA.items() if x in json.get(s, ())})  # discover's links are rows
            rows = [x for key, table in json.items() if key.endswith("coverage") for x in table]
            silent = json["fabric_found"]["no_answer"]
            if rows:
                wanted["queries"] = sum(x["asked"] for x in rows) + silent
            wanted["unanswered"] = silent + sum(x["asked"] - x["answered"] - x.get("unsupported", 0) for x in rows)
            numbers.pop("time")
            assert numbers == wanted, (command, rule, line)
            if "no-answer" in said:
                assert numbers["unanswered"] > 0 and silent == 1
