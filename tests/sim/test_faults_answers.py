# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Answers that come late, twice, in another order, with errors, or to somebody else: the verdict stays that of
the fabric, or the run says exactly what it does not know. One fabric for all; each test has its own rules."""
import os
import re

import pytest

from kit import policy, run, sim
from tools import netgen

SHAPE = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=0, switch_ports=8)
# leaf-02's uplink, and the map of one of its input ports to it
PORT, MAP = "node=leaf-02 port=8", "node=leaf-02 port=8 attr=SL2VL mod=0x0108"
BASE = 15 * 9 - 4 * 8  # SL2VL maps: 9 in-ports for each of 11 switch ports, one for each of 4 adapters


@pytest.fixture(scope="module")
def ready(tmp_path_factory):
    """A fabric that holds the policy, and the policy."""
    with sim.Fabric(tmp_path_factory.mktemp("faults"), netgen.fat_tree(**SHAPE)) as f:
        path = policy.write(f, f.opensm())
        f.ibqos("apply", path, "--state-dir", f.path("state")).ok()
        yield f, path


def verify(ready, *rules, args=(), seed=None, timeout=300):
    f, path = ready
    f.rules(*rules)
    return f.ibqos("verify", path, "-t", str(timeout), *args, "--format", "json", seed=seed)


def found(r):
    """Findings but notes, as (code, node, port)."""
    return [(x["code"], x["node"], x["port"]) for x in r.json["findings"] if x["severity"] != "note"]


def coverage(r, item):
    return {c["item"]: {k: v for k, v in c.items() if k != "item"} for c in r.json["coverage"]}[item]


def mads(r):
    return {k: r.json["mads"][k] for k in ("repeated", "late", "foreign")}


def whole(r):
    """The verdict of the fabric as it is, whatever happened on the way."""
    assert r.returncode == 0 and found(r) == [], r
    assert r.json["ports"] == {"looked_at": 15, "differ": 0, "unknown": 0, "excluded": 16}
    for item, asked in (("PortInfo", 31), ("SL2VL", BASE), ("VLArb", 30)):
        assert coverage(r, item) == {"asked": asked, "answered": asked, "status": 0, "timed_out": 0, "not_asked": 0}, r
    return mads(r)


def test_nothing_wrong(ready):
    assert whole(verify(ready)) == {"repeated": 0, "late": 0, "foreign": 0}


@pytest.mark.parametrize("port", [0, 1, 2, 8])
def test_each_input_port_is_compared(ready, port):
    """One map wrong at a time: for each input port, to each output port that is up."""
    for n in range(9):
        r = verify(ready, f"node=leaf-02 port={port} attr=SL2VL mod=0x{n << 8 | port:08x} : set SL1=0", timeout=1000)
        assert r.returncode == 2 and found(r) == [("sl2vl-differs", "leaf-02", port)], (n, r)
        what = next(x["what"] for x in r.json["findings"] if x["code"] == "sl2vl-differs")
        assert re.findall(r"\d+", what.replace("SL2VL", "")) == [str(n)], what


# A run ends with its last answer. So that it is still there for what comes late, one other query waits longer.

def test_answer_after_the_request_was_given_up(ready):
    """One answer comes 20 ms after its request's timeout was reported, long after its repeat was answered."""
    r = verify(ready, f"{MAP} count=1 : late=20", "node=gpu-004 attr=VLArb mod=0x00010000 count=4 : timeout",
               args=("--retries", "4"))
    assert whole(r) == {"repeated": 5, "late": 1, "foreign": 0}
    assert r.json["mads"]["late_rounds"] == 1


def test_answer_later_than_ibqos_waits(ready):
    """As where the kernel says nothing: ibqos's own deadline, an eighth and 20 ms later, ends the try."""
    r = verify(ready, f"{MAP} count=1 : delay=400", "node=gpu-004 attr=VLArb mod=0x00010000 count=4 : timeout",
               args=("--retries", "4"))
    assert whole(r) == {"repeated": 5, "late": 1, "foreign": 0}


def test_slow_answers_are_answers(ready):
    """Asked again after 50 ms, but what comes then is taken: nobody waits for the repeat."""
    m = whole(r := verify(ready, "node=leaf-02 attr=VLArb : delay=100"))
    assert m["foreign"] == 0 and 1 <= r.json["mads"]["slow"] <= m["repeated"] and m["late"] <= m["repeated"], r
    assert r.json["mads"]["narrowed_by_loss"] == 0


def test_duplicates_are_dropped_and_counted(ready):
    r = verify(ready, f"{MAP} : duplicate=3", "node=gpu-004 attr=VLArb mod=0x00010000 : delay=150")
    m = whole(r)  # the late answers beside the copies are those to repeats of the slow query
    assert m["foreign"] == 0 and 3 <= m["late"] <= 3 + m["repeated"] and m["repeated"] <= 3, r


def test_a_duplicate_with_other_content_changes_nothing(ready):
    """foreign= turns all bits: were one of them taken for an answer, a difference would show."""
    r = verify(ready, "attr=SL2VL : foreign=2", "node=gpu-004 attr=VLArb mod=0x00010000 : delay=150")
    m = whole(r)
    assert m["foreign"] == 2 * BASE and m["late"] <= m["repeated"] <= 3, r


def test_answer_under_anothers_transaction(ready):
    """The answer has another transaction ID, so the request times out; the repeat is answered."""
    assert whole(verify(ready, f"{MAP} count=1 : tid=0x80000000")) == {"repeated": 1, "late": 0, "foreign": 1}


@pytest.mark.parametrize("wrong", ["attribute=0x0018", "modifier=0x0208"])
def test_answer_that_names_something_else(ready, wrong):
    assert whole(verify(ready, f"{MAP} count=1 : {wrong}")) == {"repeated": 1, "late": 0, "foreign": 1}


@pytest.mark.parametrize("wrong", ["attribute=0x0018", "modifier=0x0208", "tid=0x80000000"])
def test_a_query_that_is_never_rightly_answered(ready, wrong):
    r = verify(ready, f"{MAP} : {wrong}", args=("--retries", "1"), timeout=100).ok(3)
    assert found(r) == [("query-failed", "leaf-02", 8)]
    assert r.json["ports"] == {"looked_at": 15, "differ": 0, "unknown": 1, "excluded": 16}
    assert coverage(r, "SL2VL") == {"asked": BASE, "answered": BASE - 1, "status": 0, "timed_out": 1, "not_asked": 0}
    assert mads(r) == {"repeated": 1, "late": 0, "foreign": 2}


@pytest.mark.parametrize("seed", range(3))
def test_order_does_not_matter(ready, seed):
    m = whole(verify(ready, "prob=0.3 : reorder=3", seed=seed, timeout=1000))  # up to 50 ms later: some are repeated
    assert m["foreign"] == 0 and m["late"] <= m["repeated"]



def order(f, *attributes):
    """In which order answers come to the plainest client of all, and when the last."""
    client = os.path.join(run.TOP, "tests/tools/umad_client.py")
    rows = [line.split() for line in f.run("/usr/bin/python3", client, "recv", 200, *attributes).ok().stdout.splitlines()]
    return [row[1] for row in rows[:-1]], float(rows[-2][0])


def test_order_is_really_changed(fabric):
    f = fabric(**SHAPE)
    f.rules("attr=NodeInfo : reorder=2")
    assert order(f, "0x11", "0x10", "0x15", "0x16")[0] == ["0x0010", "0x0015", "0x0011", "0x0016"]
    # nothing comes to release it: after 50 ms
    came, when = order(f, "0x11")
    assert came == ["0x0011"] and 0.045 < when < 0.19


def test_a_difference_is_found_behind_all_of_that(ready):
    r = verify(ready, f"{MAP} : set SL1=0", "attr=SL2VL prob=0.2 : duplicate=1", "attr=VLArb prob=0.2 : foreign=1",
               "attr=SL2VL prob=0.2 : reorder=2", "attr=SL2VL prob=0.05 : tid=0x40000000", seed=4, timeout=50)
    assert r.returncode == 2 and found(r) == [("sl2vl-differs", "leaf-02", 8)], r
    assert r.json["ports"]["differ"] == 1 and coverage(r, "SL2VL")["answered"] == BASE


# --- MAD status ---


def test_busy_once_is_asked_again(ready):
    assert whole(verify(ready, f"{PORT} attr=VLArb count=2 : status=0x0001")) == {"repeated": 2, "late": 0, "foreign": 0}


@pytest.mark.parametrize("status", ["0x0001", "0x001c", "0x000c", "0x7f00"])
def test_refused_for_good(ready, status):
    r = verify(ready, f"{MAP} : status={status}", args=("--retries", "1"), timeout=100).ok(3)
    assert found(r) == [("query-failed", "leaf-02", 8)]
    assert status in next(x for x in r.json["findings"] if x["code"] == "query-failed")["detail"].lower()
    assert coverage(r, "SL2VL") == {"asked": BASE, "answered": BASE - 1, "status": 1, "timed_out": 0, "not_asked": 0}
    assert mads(r)["repeated"] == (status == "0x0001")


@pytest.mark.parametrize("attr, code, port", [("NodeInfo", "no-answer", 2), ("SwitchInfo", "node-info-incomplete", None),
                                              ("NodeDesc", "node-info-incomplete", None)])
@pytest.mark.parametrize("status", ["0x0001", "0x001c"])
def test_refused_while_discovering(ready, status, attr, code, port):
    """libibnetdisc asks once: what was refused is a gap, named, and never clean."""
    f, path = ready
    f.rules(f"node=leaf-02 attr={attr} : status={status}")
    name = "spine-01" if port else "leaf-02" if attr != "NodeDesc" else f"0x{f.net['leaf-02'].guid:016x}"
    for command in (["discover"], ["audit"], ["verify", path]):
        r = f.ibqos(*command, "--format", "json").ok(3)
        assert (code, name, port) in found(r), r
        assert {x[0] for x in found(r)} <= {code, "query-failed"}, r


# --- M_Key ---


def test_switch_that_wants_its_mkey_is_silent_and_named(ready):
    """Protection level 2: what comes without the key is dropped. Nothing behind the switch was looked at."""
    f, path = ready
    for protect in ("", " protect=3"):
        f.rules(f"node=leaf-02 : mkey=0x1234{protect}")
        for command in (["discover"], ["audit"], ["verify", path]):
            r = f.ibqos(*command, "-t", "100", "--retries", "1", "--format", "json").ok(3)
            assert found(r) == [("no-answer", "spine-01", 2)], command
    assert r.json["ports"] == {"looked_at": 9, "differ": 0, "unknown": 0, "excluded": 11}
    # with the key it is there
    assert "\nLid:" in f.tool("smpquery", "-y", "0x1234", "-D", "portinfo", "0,1,8,2", "0").ok().stdout
    assert f.tool("smpquery", "-t", "30", "-y", "0x1235", "-D", "portinfo", "0,1,8,2", "0").returncode != 0


def mkey(f, *key):
    return re.search(r"^Mkey:\.*(.*)$", f.tool("smpquery", "-K", *key, "-D", "portinfo", "0,1,8,2", "0").ok().stdout, re.M)[1]


def test_mkey_that_only_hides_itself(ready):
    """Level 1: every Get is answered, PortInfo's M_Key reads 0 to strangers. Level 0 hides nothing."""
    assert whole(verify(ready, "node=leaf-02 : mkey=0x1234 protect=1")) == {"repeated": 0, "late": 0, "foreign": 0}
    f, _ = ready
    assert int(mkey(f), 0) == 0 and int(mkey(f, "-y", "0x1234"), 0) == 0x1234
    assert whole(verify(ready, "node=leaf-02 : mkey=0x1234 protect=0")) == {"repeated": 0, "late": 0, "foreign": 0}
    assert int(mkey(f), 0) == 0x1234


def test_set_without_the_mkey_is_dropped_at_any_level(ready):
    """By a tool that sets (ibqos cannot): the port keeps what it had."""
    f, _ = ready

    def enabled():
        return re.search(r"^LinkWidthEnabled:\.*(.*)$", f.tool("smpquery", "-D", "portinfo", "0,1", "8").ok().stdout, re.M)[1]

    before = enabled()
    f.rules("node=leaf-01 : mkey=0x1234 protect=0")
    f.tool("ibportstate", "-t", "30", "-D", "0,1", "8", "width", "1")
    assert enabled() == before
    f.tool("ibportstate", "-t", "1000", "-y", "0x1234", "-D", "0,1", "8", "width", "1")
    try:
        assert enabled() != before
    finally:
        f.tool("ibportstate", "-y", "0x1234", "-D", "0,1", "8", "width", "255")


# --- discovery ---


@pytest.mark.parametrize("attribute", ["NodeInfo", "NodeDesc", "SwitchInfo", "PortInfo"])
@pytest.mark.parametrize("fault", ["duplicate=1", "foreign=1", "tid=0x80000000", "attribute=0x0018", "modifier=0x0208"])
def test_discovery_survives_answers_it_did_not_ask_for(ready, fault, attribute):
    """libibnetdisc 44 frees its fabric twice after the first of them."""
    f, _ = ready
    f.rules()
    clean = f.ibqos("discover", "--format", "json").ok().json
    f.rules(f"attr={attribute} skip=2 count=1 : {fault}")
    r = f.ibqos("discover", "-t", "50", "--format", "json").ok()
    assert (r.json["nodes"], r.json["links"], r.json["findings"]) == (clean["nodes"], clean["links"], clean["findings"])
