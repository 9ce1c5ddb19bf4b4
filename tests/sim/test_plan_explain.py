# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""ibqos plan --explain, and a change of tables that passes a mixture."""
import re

from kit import policy, replay

SMALL = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=1)


def test_each_class_on_each_link(up):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    rows = f.ibqos("plan", path, "--format", "json").ok().json["explain"]
    assert {r["ports"] for r in rows} == {"adapter", "switch"}
    assert {r["class"] for r in rows} == {"training", "storage", "other"}
    # all ports of the fabric that are at a link, once: both ends of each
    links = len(f.net.links()) if callable(getattr(f.net, "links", None)) else None
    ends = sum(r["count"] for r in rows if r["class"] == "training")
    assert ends % 2 == 0 and (links is None or ends == 2 * links)
    with open(path, encoding="utf-8") as p:
        lines = p.read().splitlines()
    for r in rows:
        share = {"training": 70, "storage": 20, "other": 10}[r["class"]]
        rate = r["guaranteed_gbps"] / r["guaranteed"] * 100
        assert abs(r["guaranteed"] - share) < 1e-4
        # beside the smallest of the others: 70 of 80, 20 of 30, 10 of 30 (an NCCL class leaves more to neither)
        assert abs(r["at_most_beside_another"] - {"training": 87.5, "storage": 200 / 3, "other": 100 / 3}[r["class"]]) < 1e-3
        assert r["longest_wait_us"] > 0 and not r["starves"]
        assert abs(r["longest_wait_us"] - r["longest_wait_bytes"] * 8 / rate / 1000) < 1e-3 * r["longest_wait_us"]
        assert f"name: {r['class']}" in lines[r["policy_line"] - 1]


def test_bars_are_plain_and_bounded(up):
    f, sm = up(**SMALL)
    long = dict(policy.TRAINING, name="x" * 64)
    path = policy.write(f, sm, (long, policy.STORAGE, policy.OTHER))
    out = f.ibqos("plan", path, "--explain").ok().stdout
    bars = re.findall(r"^  (\S+) +\|([=+.]+)\| +([\d.]+) % to +([\d.]+) %$", out, re.M)
    assert [b[0] for b in bars[:3]] == ["x" * 16, "storage", "other"]
    for _, bar, sure, most in bars:
        assert len(bar) == 40
        assert abs(bar.count("=") / 40 - float(sure) / 100) <= 0.5 / 40 + 0.001
        assert abs(1 - bar.count(".") / 40 - float(most) / 100) <= 0.5 / 40 + 0.001
    assert "explain" not in f.ibqos("plan", path).ok().stdout


def test_a_class_that_goes_is_told(up):
    """training leaves SL 1: each port has the new VL arbitration before its new SL2VL tables, and the VL that SL 1
    had is no more."""
    f, sm = up(**SMALL)
    extra = dict(name="extra", sl=5, share="10%")
    path = policy.write(f, sm, (dict(policy.TRAINING, share="60%"), policy.STORAGE, extra, policy.OTHER))
    f.ibqos("apply", path, "--state-dir", f.path("state")).ok()
    path = policy.write(f, sm)
    r = f.ibqos("plan", path, "--format", "json").ok()
    found = policy.codes(r)["plan-mixture"]
    # SL 5 is nobody's now, and so the default class's: a note
    assert [(x["what"], x["severity"], x["got"]) for x in found] == [("class 'other'", "note", "SL 5 is held up")]
    between = {t["port_type"]: t for t in r.json["tables_between"]}
    assert between["ca"]["sl2vl"].split(",")[5] == "0"
    assert re.search(r"\b3:64", between["swe"]["vlarb_low"])
    # a class that keeps its name but moves to another VL is held up itself
    path = policy.write(f, sm, (extra, policy.OTHER), name="other.yaml")
    r = f.ibqos("plan", path, "--format", "json").ok()
    assert ("class 'extra'", "note") in {(x["what"], x["severity"]) for x in policy.codes(r)["plan-mixture"]}
    # the tables in between are good ones: OpenSM takes them, and every port holds them
    lines = open(sm.config, encoding="utf-8").read().splitlines()
    keys = dict(line.split(" ", 1) for line in lines if " " in line and not line.startswith("#"))
    for t in r.json["tables_between"]:
        for key in ("sl2vl", "vlarb_high", "vlarb_low", "high_limit"):
            keys[f"qos_{t['port_type']}_{key}"] = str(t[key])
    with open(sm.config, "w", encoding="ascii") as out:
        out.write("".join(f"{k} {v}\n" for k, v in keys.items()))
    sm.hup()
    f.ibqos("verify", "--opensm-conf", sm.config).ok()
    # from there the rest of the way is clear
    r = f.ibqos("plan", path, "--format", "json").ok()
    assert "plan-mixture" not in policy.codes(r) and "tables_between" not in r.json


def test_apply_and_rollback_go_through_the_tables_in_between(up):
    """What OpenSM sent, replayed port by port: without a step an SL is on a VL without weight for a moment, over the
    tables in between none ever is, on the way there and back."""
    f, sm = up(**SMALL)
    extra = dict(name="extra", sl=5, share="10%")
    first = policy.write(f, sm, (dict(policy.TRAINING, share="60%"), policy.STORAGE, extra, policy.OTHER))
    second = policy.write(f, sm, (extra, policy.OTHER), name="second.yaml")
    args = ("--state-dir", f.path("state"), "--format", "json")
    f.ibqos("apply", first, *args).ok()
    confs = [open(sm.config, "rb").read()]
    so_far = len(sm.sent().lines)
    r = f.ibqos("apply", second, *args).ok()
    assert (r.json["apply"]["steps"], r.json["apply"]["step"], r.json["apply"]["installed"]) == (2, 2, True)
    confs.append(open(sm.config, "rb").read())
    f.ibqos("verify", second).ok()
    assert len(sm.sent().lines) > so_far and replay.held_up(sm.sent(), so_far) == set()
    so_far = len(sm.sent().lines)
    r = f.ibqos("rollback", *args).ok()
    assert r.json["apply"]["reloads"] >= 2 and open(sm.config, "rb").read() == confs[0]
    f.ibqos("verify", first).ok()
    assert len(sm.sent().lines) > so_far and replay.held_up(sm.sent(), so_far) == set()
    # the same change at once, by hand
    with open(sm.config, "wb") as conf:
        conf.write(confs[1])
    so_far = len(sm.sent().lines)
    sm.hup()
    # SL 5, whose VL moves, and SL 2, which has no class any more
    assert {sl for _, _, sl, _ in replay.held_up(sm.sent(), so_far)} == {2, 5}
