# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A subnet administrator that loses part of what it is asked: every question is counted by how it ended, what was not
answered or not asked is named and never clean, and how much is asked is bounded. (How long it takes: unit/test_sa_loss.c,
on a clock of its own.)"""
import re

import pytest

from kit import policy, sim
from tools import netgen

SHAPE = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=0, switch_ports=8)
WHAT = "records of tables that differ, of the subnet administrator"


@pytest.fixture(scope="module")
def ready(tmp_path_factory):
    """An OpenSM without QoS, and a policy."""
    with sim.Fabric(tmp_path_factory.mktemp("loss"), netgen.fat_tree(**SHAPE)) as f:
        sm = f.opensm()
        yield f, sm, policy.write(f, sm)


@pytest.fixture(scope="module")
def applied(tmp_path_factory):
    with sim.Fabric(tmp_path_factory.mktemp("loss"), netgen.fat_tree(**SHAPE)) as f:
        path = policy.write(f, f.opensm())
        f.ibqos("apply", path, "--state-dir", f.path("state")).ok()
        yield f, path


def rows(r):
    """The SM's coverage; whose numbers add up, and to what was sent."""
    found = {}
    for c in r.json["sm_coverage"]:
        assert c["asked"] == c["answered"] + c["status"] + c["timed_out"] + c["not_asked"] and c["status"] == 0, r
        found[c["item"]] = c
    tables = r.json["coverage"] + r.json["sm_coverage"]
    assert r.json["mads"]["answered"] - sum(c["answered"] for c in tables) in (0, 1), r
    # no question has more than four tries
    assert r.json["mads"]["repeated"] <= 3 * sum(c["answered"] + c["timed_out"] for c in found.values()), r
    return found


def found(r, *codes):
    return [x for x in r.json["findings"] if x["code"] in codes]


@pytest.mark.parametrize("seed", (1, 2))
@pytest.mark.parametrize("loss", ("0.2", "0.5"))
def test_paths(applied, loss, seed):
    f, path = applied
    f.rules(f"class=sa prob={loss} : timeout")
    r = f.ibqos("verify", path, "--format", "json", seed=seed)
    asked, sm = rows(r), r.json["sm"]
    assert r.json["mads"]["repeated"] > 0, "nothing was lost"
    if asked["SA ClassPortInfo"]["answered"] == 0:
        assert asked["PathRecord"]["not_asked"] == 8
    assert sm["paths_right"] == asked["PathRecord"]["answered"] and sm["paths_wrong"] == 0
    assert sm["paths_unknown"] == 8 - sm["paths_right"]
    whole = sm["paths_right"] == 8
    assert r.returncode == (0 if whole else 3)
    assert {x["code"] for x in r.json["findings"] if x["severity"] != "note"} == (set() if whole else {"query-failed"})
    if asked["SA ClassPortInfo"]["answered"]:
        assert len(found(r, "query-failed")) == sm["paths_unknown"]
        assert all(x["what"].startswith("PathRecord") and x["detail"].startswith("not a") for x in found(r, "query-failed"))


def test_no_answer_at_all(applied):
    f, path = applied
    f.rules("class=sa : timeout")
    r = f.ibqos("verify", path, "--format", "json").ok(3)
    asked = rows(r)
    assert asked["SA ClassPortInfo"]["timed_out"] == 1 and asked["PathRecord"]["not_asked"] == 8
    failed, = found(r, "query-failed")
    assert (failed["what"], failed["detail"]) == ("ClassPortInfo of the subnet administrator", "not answered in 4 tries")
    assert r.json["mads"]["repeated"] == 3


@pytest.mark.parametrize("loss", ("0.2", "0.5", "1"))
def test_records_of_tables_that_differ(ready, loss):
    """Whatever is lost: the same tables differ, and the class of each is the true one, or unknown."""
    f, _, path = ready
    f.rules()
    whole = f.ibqos("verify", path, "--format", "json").ok(2)
    records = rows(whole)
    all_of = {k: records[k]["asked"] for k in ("SL2VL record", "VLArb record")}
    assert all(records[k]["answered"] == n for k, n in all_of.items())
    f.rules(*(f"class=sa attr={a} prob={loss} : timeout" for a in ("0x13", "0x36", "0x12")))
    r = f.ibqos("verify", path, "--format", "json", seed=3).ok(2)
    asked = rows(r)
    assert {k: asked[k]["asked"] for k in all_of} == all_of
    assert r.json["ports"] == whole.json["ports"]
    lost, left = (sum(asked[k][how] for k in asked if k.endswith("record")) for how in ("timed_out", "not_asked"))
    total = sum(asked[k]["asked"] for k in asked if k.endswith("record"))
    failed = found(r, "query-failed")
    if lost:
        said, = failed
        assert (said["what"], said["got"]) == (WHAT, f"{lost} of {total} not answered") and said["severity"] == "unknown"
        assert (re.search(r"not asked for (\d+) more", said["detail"] or "") or [0, "0"])[1] == str(left)
    else:
        assert failed == [] and left == 0
    places = ("node_guid", "port", "code")
    causes = {tuple(x[k] for k in places): x["class"] for x in found(whole, "sl2vl-differs", "vlarb-differs")}
    for x in found(r, "sl2vl-differs", "vlarb-differs"):
        assert x["class"] in (causes[tuple(x[k] for k in places)], "unknown"), x
    if loss == "1":
        assert all(asked[k]["answered"] == 0 for k in all_of)
        # four questions are out at once, and have their tries; the rest is not asked
        assert lost == 4 and left == total - 4 and r.json["mads"]["repeated"] <= 12
        assert {x["class"] for x in found(r, "sl2vl-differs", "vlarb-differs")} == {"unknown"}


def apply(f, sm, loss):
    """An apply on an OpenSM without QoS, whose administrator loses part of what ibqos asks."""
    path = policy.write(f, sm)
    f.rules(f"class=sa prob={loss} : timeout")
    r = f.ibqos("apply", path, "--state-dir", f.path("state"), "--format", "json", seed=4)
    f.rules()
    return path, r


def test_apply_needs_an_administrator_that_answers_once(up):
    f, sm = up(**SHAPE)
    path, r = apply(f, sm, "0.2")
    assert r.ok(0).json["apply"]["outcome"] == "applied"
    f.ibqos("verify", path).ok(0)


def test_apply_without_an_administrator_does_not_say_applied(up):
    f, sm = up(**SHAPE)
    path, r = apply(f, sm, "1")
    assert r.ok(2).json["apply"]["outcome"] == "rolled back"
    failed = found(r, "apply-failed")[0]
    assert "does not say that it runs the policy" in failed["got"] and failed["detail"].startswith("it did not answer all")
    unasked, = found(r, "query-failed")
    assert unasked["what"] == "ClassPortInfo of the subnet administrator"
    f.ibqos("verify", path).ok(2)
