# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""maintenance begin and end around simulated work: what is new, fixed, unchanged and too early is exactly what was done."""
import fcntl
import json
import os
import re
import signal
import subprocess
import time

import pytest

from kit import policy, run
from kit.looks import LACKS
from tools import netgen_tree

T0, HOUR = 1_700_000_000, 3600
EACH = 1 if os.environ.get("IBQOS_CASES") else 6  # of the places where a run is cut short
RANK = 0x5000000
DATA = "attr=PortCounters : set PortXmitData=1000 PortRcvData=1000"


def shape():
    return netgen_tree.tree2(radix=12, leaves=4, spines=2, hosts_per_leaf=3)


class Work:
    """Fabrics before and after work, one state folder."""

    def __init__(self, fabric, folder):
        self.fabric, self.state = fabric, str(folder / "state")

    def up(self, change=lambda net: None, *rules, **options):
        net = shape()
        change(net)
        self.f = self.fabric(net=net)
        self.sm = self.f.opensm(options={"routing_engine": "minhop", **options})
        self.rules(*rules)
        return self.f

    def rules(self, *rules):
        self.f.rules(*LACKS, DATA, *rules)

    def __call__(self, command, *args, now=T0, **kwargs):
        return self.f.ibqos("maintenance", command, *args, "--state-dir", self.state, "--now", str(now), "--format", "json",
                            env={"IBQOS_OVERLAY_NOW": str(now)}, **kwargs)

    def path(self, *names):
        return os.path.join(self.state, "maintenance", *names)


@pytest.fixture
def work(fabric, tmp_path):
    return Work(fabric, tmp_path)


def told(r):
    return sorted((x["code"], x["node"]) for x in r.json["findings"] if x["severity"] != "note")


def rows(r):
    return sorted((x["state"], x["code"], x["node"]) for x in r.json["compared"])


def swap(net):
    net["spine-02"].guid += RANK
    net["spine-02"].sysimg = net["spine-02"].guid


def slow(net, name):
    """Both ends of a link at one lane."""
    node = net[name]
    cable = node.cables[1]
    return [f"node={n.name} port={p} attr=PortInfo : set LinkWidthActive=1" for n, p in cable.ends]


def test_nothing_was_done(work):
    work.up()
    r = work("begin", "night-1").ok(0)
    assert r.json["begun"]["folder"] == work.path("night-1") and r.json["before"] == [] and r.json["findings"] == []
    assert sorted(os.listdir(work.path("night-1"))) == ["before.snap", "before.state", "manifest.json", "manifest.json.lock"]
    assert all(os.stat(work.path("night-1", n)).st_mode & 0o77 == 0 for n in (".", "before.snap", "manifest.json"))
    r = work("end", "night-1", now=T0 + HOUR).ok(0)
    assert r.json["result"] == {"new": 0, "changed": 0, "unchanged": 0, "fixed": 0, "place_gone": 0, "not_known": 0}
    assert r.json["touched"] == {"links": 0, "too_early": 0, "unlimited": 0} and r.json["findings"] == []
    row, = work.f.ibqos("maintenance", "list", "--state-dir", work.state, "--format", "json").ok(0).json["maintenance"]
    assert (row["name"], row["state"]) == ("night-1", "ended") and row["begun"] < row["ended"]
    assert "night-1" in work.f.ibqos("maintenance", "list", "--state-dir", work.state).ok(0).stdout


def test_a_switch_is_swapped(work):
    """Another GUID at the same cables. A link was slow before and is mended, one stays slow, one is slow now."""
    net = shape()
    work.up(lambda net: None, *slow(net, "gpu-002"), *slow(net, "gpu-005"))
    r = work("begin", "swap").ok(0)
    assert [(x["code"], x["count"]) for x in r.json["before"]] == [("link-width-low", 2)]
    work.up(swap, *slow(net, "gpu-005"), *slow(net, "gpu-008"))
    changes = work.f.path("changes")
    with open(changes, "w", encoding="utf-8") as f:
        f.write("version: 1\nchanges: [spine-02 replaced]\n")
    r = work("end", "swap", "--expect", changes, now=T0 + HOUR)
    links = len(net["spine-02"].cables)
    assert rows(r) == [("fixed", "link-width-low", "gpu-002 mlx5_0"), ("new", "link-width-low", "gpu-008 mlx5_0"),
                       ("unchanged", "link-width-low", "gpu-005 mlx5_0")]
    # the cables of the new switch, and the three hosts' whose width is another one: all have to prove themselves
    assert r.json["touched"]["links"] == links + 2 and r.json["touched"]["too_early"] == links + 2
    early = [x for x in r.json["findings"] if x["code"] == "maintenance-too-early"]
    assert {x["node"] for x in early} | {x["peer"] for x in early} >= {"spine-02", "gpu-002 mlx5_0", "gpu-008 mlx5_0"}
    assert [x for x in told(r) if x[0] != "maintenance-too-early"] == [("link-width-low", "gpu-008 mlx5_0")]
    assert r.json["changes"]["nodes_replaced"] == 1 and r.returncode == 2
    # mended, and later: 8 h 5 min are what EDR needs, an hour what 4x at one lane does not
    work.rules(*slow(net, "gpu-005"))
    r = work("end", "swap", "--expect", changes, now=T0 + 2 * HOUR).ok(3)
    assert set(told(r)) == {x for x in told(r) if x[0] == "maintenance-too-early"}
    r = work("end", "swap", "--expect", changes, now=T0 + 12 * HOUR).ok(0)
    assert r.json["touched"]["too_early"] == 0
    text = work.f.ibqos("maintenance", "end", "swap", "--state-dir", work.state, "--now", str(T0 + 12 * HOUR), "--expect", changes).ok(0)
    assert "spine-02 replaced" in text.stdout and "fixed" in text.stdout


def test_what_counters_say(work):
    """A link that makes bit errors from the work on, and one that made them before and does."""
    work.up()
    bad = "node=leaf-02 port=1 attr=PortCounters : grow SymbolErrorCounter=0.5/s since="
    state = work.f.path("audit.state")
    audit = lambda now: work.f.ibqos("audit", "--counters", "--state", state, "--now", str(now), env={"IBQOS_OVERLAY_NOW": str(now)})
    work.rules(f"{bad}{T0 - 20 * HOUR}")
    audit(T0 - 10 * HOUR)
    r = work("begin", "errors", "--state", state).ok(0)
    work.rules(f"{bad}{T0 - 20 * HOUR}", f"node=leaf-03 port=2 attr=PortCounters : grow SymbolErrorCounter=50/s since={T0}")
    r = work("end", "errors", now=T0 + 10 * HOUR)
    found = {(x["state"], x["node"], x["port"]) for x in r.json["compared"] if x["code"] == "link-ber-high"}
    assert found == {("unchanged", "leaf-02", 1), ("new", "leaf-03", 2)}, r
    assert [x["node"] for x in r.json["findings"] if x["code"] == "link-ber-high"] == ["leaf-03"]
    # the rate stands where audit has it, in the table too
    f, = [x for x in r.json["findings"] if x["code"] == "link-ber-high"]
    assert re.match(r"\d\.\d+e-\d+", f["got"]) and f["got"] not in (f["detail"] or ""), f
    assert all(re.match(r"\d\.\d+e-\d+", x["got"]) for x in r.json["compared"] if x["code"] == "link-ber-high")
    r.ok(1, 2)


def test_a_link_that_trained_anew_is_too_early(work):
    work.up()
    work("begin", "a").ok(0)
    work.rules("node=leaf-02 port=1 attr=PortCounters : set LinkDownedCounter=1")
    r = work("end", "a", now=T0 + 12 * HOUR).ok(3)
    x, = [x for x in r.json["findings"] if x["code"] == "maintenance-too-early"]
    assert {x["node"], x["peer"]} == {"leaf-02", shape()["leaf-02"].cables[1].peer(shape()["leaf-02"])[0].desc}
    assert re.fullmatch(r"up \d+\.\d h longer", x["wanted"]) and x["got"] is None
    r = work("end", "a", now=T0 + 24 * HOUR).ok(0)
    assert r.json["touched"] == {"links": 1, "too_early": 0, "unlimited": 0}
    # nobody waits where nothing can come of it, and --wait ends when it said
    r = work("end", "a", "--wait", "1", now=T0 + 24 * HOUR).ok(0)


def test_waiting_ends(work):
    work.up()
    work("begin", "a").ok(0)
    work.rules("node=leaf-02 port=1 attr=PortCounters : set LinkDownedCounter=1")
    r = work("end", "a", "--wait", "1s", now=T0 + HOUR).ok(3)
    assert "1 links have not been up long enough" in r.stderr and r.json["touched"]["too_early"] == 1
    # Ctrl-C: what is known is reported
    work.rules()
    work.f.ibqos("maintenance", "begin", "b", "--state-dir", work.state).ok(0)
    work.rules("node=leaf-02 port=1 attr=PortCounters : set LinkDownedCounter=1")
    env = work.f.env(log=work.f.path("sent"))
    p = subprocess.Popen([run.binary(), "maintenance", "end", "b", "--state-dir", work.state, "--wait", "1h", "--format", "json"],
                         env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=work.f.dir)
    line = p.stderr.readline()
    assert b"long enough" in line
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=30)
    report = json.loads(out)
    assert p.returncode == 3 and report["touched"]["too_early"] == 1 and "stopped by a signal" in err.decode()
    for bad in ("x", "8d", "700000", "-1", "1.5h"):
        assert "--wait takes" in work("end", "a", "--wait", bad).ok(3).stderr


def test_policy(work):
    """verify's findings are compared too: a table that differs after, one that did before."""
    work.up(qos="TRUE")
    file = policy.write(work.f, work.sm)
    work.f.ibqos("apply", file).ok(0)
    work.rules("node=leaf-01 attr=SL2VL mod=0x201 : set SL3=1")
    r = work("begin", "p", "--policy", file).ok(0)
    assert {x["code"] for x in r.json["before"]} == {"sl2vl-differs"} and os.path.exists(work.path("p", "policy.yaml"))
    work.rules("node=leaf-02 attr=SL2VL mod=0x201 : set SL3=1")
    r = work("end", "p", "--no-counters").ok(2)
    assert rows(r) == [("fixed", "sl2vl-differs", "leaf-01"), ("new", "sl2vl-differs", "leaf-02")]
    assert {x[0] for x in told(r)} == {"sl2vl-differs", "tables-changed"}
    assert "touched" not in r.json
    # the policy of the begin went with it
    os.unlink(file)
    work.rules("node=leaf-01 attr=SL2VL mod=0x201 : set SL3=1")
    assert rows(work("end", "p", "--no-counters")) == [("unchanged", "sl2vl-differs", "leaf-01")]


def test_drain_before(work):
    work.up()
    r = work("begin", "d", "--drain", "leaf-02", "--drain", "spine-01").ok(2)
    assert {x["code"] for x in r.json["findings"]} >= {"drain-host-cut"} and r.json["cut"]["nodes_out"] == 2
    assert r.json["begun"]["name"] == "d"
    assert "begun" not in work("begin", "e", "--drain", "leaf-77").ok(3).json


def test_names_are_used_once(work):
    work.up()
    for bad in ("", "a/b", "../x", ".x", "a b", "a\x1b[1m", "ä", "x" * 65, "a\nb"):
        r = work("begin", bad).ok(3)
        assert "cannot be a name" in r.stderr and "\x1b" not in r.stderr, r
    assert not os.path.exists(work.state)
    assert "no maintenance 'a' was begun" in work("end", "a").ok(3).stderr
    work("begin", "a").ok(0)
    r = work("begin", "a").ok(3)
    assert "was begun at 2023-11-14" in r.stderr and "maintenance end" in r.stderr and work.path("a") in r.stderr
    work("end", "a").ok(0)
    assert "and ended" in work("begin", "a").ok(3).stderr


def test_two_at_once(work):
    work.up()
    os.makedirs(work.path("a"))
    with open(work.path("a", "manifest.json.lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "runs at this moment" in work("begin", "a").ok(3).stderr
        assert "runs at this moment" in work("end", "a").ok(3).stderr
        work("begin", "b").ok(0)  # another one does not wait
    work("begin", "a").ok(0)


def test_cut_short_anywhere(work):
    """Killed, and on a full disk, at each step that writes: begin and end can be given again, and are then as ever."""
    work.up()
    fault, trace = run.fault_binary(), work.f.path("trace")

    def points(command, name, *args):
        if os.path.exists(trace):
            os.unlink(trace)
        work_env(command, name, *args, fault={"IBQOS_FAULT_TRACE": trace}).ok(0)
        with open(trace, encoding="utf-8") as f:
            return [int(line.split()[0]) for line in f]

    def work_env(command, name, *args, fault=None):
        env = {"IBQOS_OVERLAY_NOW": str(T0), **(fault or {})}
        return work.f.ibqos("maintenance", command, name, *args, "--state-dir", work.state, "--now", str(T0), "--format", "json",
                            binary=run.fault_binary(), env=env)

    assert os.path.exists(fault)
    numbers = points("begin", "whole")
    assert len(numbers) > 4
    killed = 0

    def spare():
        """ibsim has room for ten clients, and keeps that of one that was killed."""
        nonlocal killed
        killed += 1
        if killed % 5 == 0:
            work.f.stop()
            work.up()

    for n in numbers[::EACH]:
        for action in ("kill", "ENOSPC"):
            spare()
            name = f"b-{n}-{action}"
            r = work_env("begin", name, fault={"IBQOS_FAULT": f"{n}:{action}"})
            if r.returncode == 0:  # a point where that has no effect, or the last step was done
                assert "begun" in r.json
            else:
                assert r.returncode in (3, -9), r
                if not os.path.exists(work.path(name, "manifest.json")):
                    assert action == "kill" or "can be given again" in r.stderr, r
                    work("begin", name).ok(0)
            r = work("end", name).ok(0)
            assert not [x for x in os.listdir(work.path(name)) if x.startswith(".")], os.listdir(work.path(name))
    for n in points("end", "whole")[::EACH]:
        for action in ("kill", "ENOSPC"):
            spare()
            r = work_env("end", "whole", fault={"IBQOS_FAULT": f"{n}:{action}"})
            assert r.returncode in (0, 3, -9), r
            assert work("end", "whole").ok(0).json["result"]["new"] == 0
    assert {x["state"] for x in work.f.ibqos("maintenance", "list", "--state-dir", work.state, "--format", "json").ok(0)
            .json["maintenance"]} == {"ended"}


def test_what_is_broken_is_refused(work, fabric):
    work.up()
    work("begin", "a").ok(0)
    # another fabric
    f = fabric(net=netgen_tree.tree2(radix=8, leaves=3, spines=2, hosts_per_leaf=1))
    for n in f.net.nodes.values():
        assert n
    mine = work.f
    other = netgen_tree.tree2(radix=8, leaves=3, spines=2, hosts_per_leaf=1)
    for n in other.nodes.values():
        n.guid += RANK
        n.sysimg = n.guid
    work.f = fabric(net=other)
    work.f.opensm()
    work.rules()
    assert "another fabric" in work("end", "a").ok(3).stderr
    work.f = mine
    work("end", "a").ok(0)
    for file, words in (("manifest.json", "it is broken"), ("before.snap", "cannot read"), ("before.state", "not usable")):
        with open(work.path("a", file), "rb") as g:
            whole = g.read()
        for text in (b"", whole[:len(whole) // 2], b"\0" * 100):
            with open(work.path("a", file), "wb") as g:
                g.write(text)
            r = work("end", "a").ok(3)
            assert words in r.stderr or file == "before.state", r
        with open(work.path("a", file), "wb") as g:
            g.write(whole)
    work("end", "a").ok(0)
    with open(work.path("a", "manifest.json"), "w", encoding="utf-8") as g:
        g.write("[]")
    r = work.f.ibqos("maintenance", "list", "--state-dir", work.state, "--format", "json").ok(3)
    assert r.json["maintenance"][0]["state"] == "cannot be read"


def test_a_device_that_falls_silent(work):
    """What did not answer after is not fixed."""
    net = shape()
    work.up(lambda net: None, *slow(net, "gpu-005"))
    work("begin", "a", "--no-counters").ok(0)
    work.rules("node=leaf-02 : timeout", *slow(net, "gpu-005"))
    r = work("end", "a", "--no-counters", "-t", "50", "--retries", "0").ok(3)
    assert ("not known", "link-width-low", "gpu-005 mlx5_0") in rows(r), rows(r)
    assert "fixed" not in {x[0] for x in rows(r)}


def test_places_that_cannot_be_used(work, tmp_path):
    work.up()
    file = tmp_path / "file"
    file.write_text("x", encoding="ascii")
    for bad in (file, file / "below", "/proc/none"):
        work.state = str(bad)
        r = work("begin", "a").ok(3)
        assert "cannot use" in r.stderr and "begun" not in r.json
        work("list")
        work("end", "a").ok(3)
    work.state = str(tmp_path / "state")
    broken = tmp_path / "policy.yaml"
    broken.write_text("version: 1\nclasses: 3\n", encoding="ascii")
    r = work("begin", "a", "--policy", broken).ok(2)
    assert "begun" not in r.json and {x["code"] for x in r.json["findings"]} >= {"policy-type"}
    assert work("begin", "a", "--policy", tmp_path / "none").ok(3).json.get("begun") is None
    work("begin", "a", "b").ok(3)
    work("begin", "a", "--state", file).ok(3)  # no state file: nothing of it is believed
    work("begin", "a").ok(0)
    assert "cannot read the change file" in work("end", "a", "--expect", tmp_path / "none").ok(3).stderr
    work("end", "a", "--policy", broken).ok(2)
    work("end", "a").ok(0)


def test_counters_that_take_their_time(work):
    """What is read while the clock goes on is not of the future for the end."""
    work.up()
    work.rules("node=gpu-001* attr=PortCounters : delay=1300")
    work.f.ibqos("maintenance", "begin", "a", "-t", "4000", "--state-dir", work.state).ok(0)
    work.rules()
    r = work("end", "a", now=int(time.time()) + 60).ok(0)
    assert "state-broken" not in policy.codes(r) and r.json["touched"]["links"] == 0


def test_begins_of_one_name_at_once(work):
    work.up()
    env = work.f.env()
    words = [run.binary(), "maintenance", "begin", "a", "--state-dir", work.state]
    ps = [subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=work.f.dir) for _ in range(4)]
    ends = [(p.communicate(timeout=60)[1].decode(), p.returncode) for p in ps]
    assert sorted(code for _, code in ends) == [0, 3, 3, 3], ends
    assert all("runs at this moment" in err or "was begun at" in err for err, code in ends if code), ends
    work("end", "a", now=int(time.time()) + 60).ok(0)
