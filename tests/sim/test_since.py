# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""audit --since: only what came, went or grew since then; what is left out is counted."""
import pytest

from kit import sim
from kit.looks import DATA, HOST, HOUR, LEAF, SHAPE, T0, Look, at, found
from tools import netgen

OLD = at(LEAF, "attr=PortCounters : set SymbolErrorCounter=65535")  # counter-saturated, from the first look on
NEW = at(HOST, "attr=PortCounters : set VL15Dropped=60")
OLD_F, NEW_F = ("counter-saturated", *LEAF, "SymbolErrorCounter"), ("port-vl15-dropped", *HOST, "VL15Dropped")


@pytest.fixture(scope="module")
def fab(tmp_path_factory):
    with sim.Fabric(tmp_path_factory.mktemp("since"), netgen.fat_tree(**SHAPE)) as f:
        f.opensm()
        yield f


@pytest.fixture
def look(fab, tmp_path):
    return Look(fab, tmp_path)


def since(look, now, when, *rules, args=()):
    return look(now, DATA, *rules, args=("--since", when, *args))


def test_two_runs_in_one_second(look):
    """What the second of them is the first to see is not what was there before."""
    look(T0, DATA).ok(0)
    assert found(since(look, T0, "last", OLD).ok(1)) == [OLD_F]
    assert found(since(look, T0, "last", OLD).ok(0)) == []
    assert OLD_F not in found(since(look, T0 + 300, "last", OLD).ok(2))  # but that it grew


def test_what_came_since(look):
    look(T0, DATA, OLD).ok(1)
    r = since(look, T0 + 300, "last", OLD).ok(0)  # nothing new
    assert found(r) == [] and r.json["state"]["older"] == 1 and r.json["state"]["since"] == "2023-11-14T22:13:20Z"
    r = since(look, T0 + 600, "last", OLD, NEW).ok(1)
    assert found(r) == [NEW_F] and r.json["state"]["older"] == 1
    # it was there at the last run, but not two hours ago
    look(T0 + 900, DATA, OLD, NEW).ok(1)
    assert found(since(look, T0 + 1200, "last", OLD, NEW).ok(0)) == []
    assert found(since(look, T0 + 1500, "20min", OLD, NEW).ok(1)) == [NEW_F]
    assert sorted(found(since(look, T0 + 1800, "2h", OLD, NEW).ok(1))) == sorted([OLD_F, NEW_F])
    assert sorted(found(since(look, T0 + 2100, "2023-11-14", OLD, NEW).ok(1))) == sorted([OLD_F, NEW_F])
    assert found(since(look, T0 + 2400, "2023-11-14T22:20:00Z", OLD, NEW).ok(1)) == [NEW_F]
    assert found(since(look, T0 + 2700, "2023-11-15", OLD, NEW).ok(0)) == []
    # without it all are there: nothing was lost by not being shown
    assert sorted(found(look(T0 + 3000, DATA, OLD, NEW).ok(1))) == sorted([OLD_F, NEW_F])


def test_what_went_since(look):
    """Gone now: told once, as gone; after that it is older, though it is held."""
    look(T0, DATA, OLD, NEW)
    look(T0 + 300, DATA, OLD, NEW).ok(1)
    r = since(look, T0 + 600, "last", NEW).ok(1)
    assert found(r) == [OLD_F] and "not seen now" in r.json["findings"][0]["detail"]
    r = since(look, T0 + 900, "last", NEW).ok(0)
    assert found(r) == [] and (r.json["state"]["older"], r.json["state"]["held"]) == (1, 1)


def test_an_acknowledgement_that_expired_since(fab, look):
    look(T0, DATA, OLD).ok(1)
    fab.ibqos("ack", "counter-saturated", "leaf-01[2]", "--ticket", "T", "--until", str(T0 + HOUR), "--state", look.state,
              "--now", str(T0 + 10)).ok(0)
    assert since(look, T0 + HOUR - 1, "last", OLD).ok(0).json["findings"] == []
    r = since(look, T0 + HOUR + 10, "last", OLD).ok(1)
    assert sorted(c for c, *_ in found(r)) == ["ack-expired", "counter-saturated"]
    assert found(since(look, T0 + HOUR + 20, "last", OLD).ok(0)) == []


def test_counters_that_grew(look):
    grew = [at(LEAF, f"attr=PortCounters : set SymbolErrorCounter={n} PortRcvSwitchRelayErrors={n} LinkErrorRecoveryCounter=1") for n in (3, 5, 9)]
    look(T0, DATA).ok(0)
    r = since(look, T0 + 300, "last", grew[0]).ok(0)
    rows = lambda r: {(x["node"], x["port"], x["counter"]): (x["growth"], x["since"]) for x in r.json["counter_growth"]}
    first, second = "2023-11-14T22:13:20Z", "2023-11-14T22:18:20Z"
    assert rows(r) == {(*LEAF, "SymbolErrorCounter"): (3, first), (*LEAF, "LinkErrorRecoveryCounter"): (1, first)}
    r = since(look, T0 + 600, "last", grew[1]).ok(0)
    assert rows(r) == {(*LEAF, "SymbolErrorCounter"): (2, second)}
    r = since(look, T0 + 900, "1h", grew[2]).ok(0)  # since the first look
    assert rows(r) == {(*LEAF, "SymbolErrorCounter"): (9, first), (*LEAF, "LinkErrorRecoveryCounter"): (1, first)}
    r = since(look, T0 + 900, "5min", grew[2], args=("--all",)).ok(0)  # no look since
    assert rows(r) == {}
    r = since(look, T0 + 1200, "last", grew[2]).ok(0)
    assert rows(r) == {}


def test_when_it_cannot_be_said(fab, ibqos):
    assert "--since compares with" in ibqos("audit", "--since", "2h").ok(3).stderr
    for bad in ("yesterday", "h", "--since=-2h", "2w", "2026-13-01", "99999999999h", ""):
        assert "--since takes" in ibqos("audit", *([bad] if bad.startswith("--") else ["--since", bad]), "--state", "x").ok(3).stderr
