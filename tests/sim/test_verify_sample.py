# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""verify --sample, --rotate and --coverage-floor: a part of the ports is never taken for all of them."""
import os

import pytest

from kit import policy, sim
from tools import netgen

SHAPE = dict(leaves=3, spines=2, hosts_per_leaf=3, uplinks=1, storage=0, switch_ports=8)
PARTS = 4


@pytest.fixture(scope="module")
def ready(tmp_path_factory):
    with sim.Fabric(tmp_path_factory.mktemp("sample"), netgen.fat_tree(**SHAPE)) as f:
        path = policy.write(f, f.opensm())
        f.ibqos("apply", path, "--state-dir", f.path("state")).ok()
        yield f, path


def verify(ready, *args, rules=(), code=None):
    f, path = ready
    f.rules(*rules)
    r = f.ibqos("verify", path, *args, "--format", "json")
    return r if code is None else r.ok(code)


def found(r):
    return sorted((x["code"], x["severity"]) for x in r.json["findings"])


def asked(r):
    return {c["item"]: c["asked"] for c in r.json["coverage"]}


def test_all_parts_together_are_everything(ready):
    whole = verify(ready, code=0)
    assert "sample" not in whole.json
    ports, tables = 0, {}
    for part in range(1, PARTS + 1):
        r = verify(ready, "--sample", f"{part}/{PARTS}", code=3)
        s = r.json["sample"]
        assert (s["part"], s["parts"], s["there"]) == (part, PARTS, whole.json["ports"]["looked_at"])
        assert s["looked_at"] == r.json["ports"]["looked_at"] < s["there"]
        assert found(r) == [("sample-part", "unknown")]
        assert r.json["findings"][0]["what"] == f"{s['looked_at']} of {s['there']} ports"
        ports += s["looked_at"]
        for item, n in asked(r).items():
            tables[item] = tables.get(item, 0) + n
    assert ports == whole.json["ports"]["looked_at"] and tables == asked(whole)


def test_a_difference_is_in_exactly_one_part(ready):
    rules = ["node=leaf-02 port=8 attr=SL2VL mod=0x0108 : set SL1=0"]
    codes = [verify(ready, "--sample", f"{part}/{PARTS}", rules=rules).returncode for part in range(1, PARTS + 1)]
    assert sorted(codes) == [2, 3, 3, 3]


def test_so_many_ports(ready):
    there = verify(ready, code=0).json["ports"]["looked_at"]
    for text, least in (("5", 5), ("10%", -(-there // 10)), ("100%", there), ("9999", there)):
        r = verify(ready, "--sample", text, code=0 if least == there else 3)
        assert least <= r.json["sample"]["looked_at"] <= min(least + 1, there)
        assert found(r) == ([] if least == there else [("sample-part", "unknown")])


def test_the_floor(ready):
    there = verify(ready, code=0).json["ports"]["looked_at"]
    ten = -(-there // 10)
    assert found(verify(ready, "--sample", "10%", "--coverage-floor", "10", code=0)) == [("sample-part", "note")]
    assert found(verify(ready, "--sample", str(ten - 2), "--coverage-floor", "10", code=3)) == [("sample-part", "unknown")]
    # the floor is about what was not asked for, not about what was not answered
    r = verify(ready, "--sample", "90%", "--coverage-floor", "1", "-t", "50", "--retries", "1",
               rules=["attr=SL2VL : timeout"], code=3)
    assert {c for c, _ in found(r)} >= {"agent-silent", "sample-part"}


def test_rotation(ready, tmp_path):
    state = tmp_path / "rotation"
    there = verify(ready, code=0).json["ports"]["looked_at"]
    args = ("--sample", f"1/{PARTS}", "--rotate", str(state))
    parts, ports = [], 0
    for n in range(PARTS):
        r = verify(ready, *args, code=0 if n == PARTS - 1 else 3)
        s = r.json["sample"]
        parts.append(s["part"])
        ports += s["looked_at"]
        assert (s["parts_looked_at"], s["all_looked_at"], s["there"]) == (n + 1, ports, there)
    assert parts == [1, 2, 3, 4] and ports == there and found(r) == []
    # a difference: the part that has it says so, and the others remember it until that part is clean again
    rules = ["node=leaf-02 port=8 attr=SL2VL mod=0x0108 : set SL1=0"]
    runs = [verify(ready, *args, rules=rules) for _ in range(PARTS)]
    where = next(i for i, r in enumerate(runs) if ("sl2vl-differs", "critical") in found(r))
    assert [r.returncode for r in runs] == [0] * where + [2] * (PARTS - where)
    assert all(found(r) == [("sample-earlier", "critical")] for r in runs[where + 1:])
    for n in range(PARTS):
        r = verify(ready, *args, code=2 if n < where else 0)
        assert [x["what"] for x in r.json["findings"]] == ([f"part {where + 1} of {PARTS}"] if n < where else [])
    # another policy: what was looked at before says nothing about it
    f, path = ready
    other = policy.write(f, f.sms[0], classes=(policy.TRAINING, dict(policy.STORAGE, share="15%"), dict(policy.OTHER, share="15%")),
                         name="other.yaml")
    r = f.ibqos("verify", other, *args, "--format", "json")
    assert r.json["sample"]["parts_looked_at"] == 1 and ("sample-part", "unknown") in found(r)


def test_ports_that_have_changed_were_not_looked_at(ready, tmp_path):
    state = tmp_path / "rotation"
    args = ("--sample", "1/2", "--rotate", str(state))
    verify(ready, *args, code=3), verify(ready, *args, code=0)
    # a host less: its link's part has other ports now
    r = verify(ready, *args, rules=["node=gpu-009 : timeout", "node=leaf-03 port=3 attr=PortInfo : set LinkState=1 PhysLinkState=2"])
    assert r.json["sample"]["parts_looked_at"] in (1, 2)
    looked = [verify(ready, *args).json["sample"]["parts_looked_at"] for _ in range(2)]
    assert looked[-1] == 2 and 1 in (looked[0], r.json["sample"]["parts_looked_at"]) + tuple(looked)


def test_another_file_is_left_alone(ready, tmp_path):
    state = tmp_path / "passwd"
    state.write_text("root:x:0:0::/root:/bin/sh\n")
    r = verify(ready, "--sample", "1/2", "--rotate", str(state), code=3)
    assert ("sample-state", "unknown") in found(r) and state.read_text() == "root:x:0:0::/root:/bin/sh\n"
    r = verify(ready, "--sample", "1/2", "--rotate", str(tmp_path / "no" / "folder"), code=3)
    assert ("sample-state", "unknown") in found(r) and not os.path.exists(tmp_path / "no")


@pytest.mark.parametrize("args, said", [
    (("--sample", "0"), "not '0'"), (("--sample", "101%"), "not '101%'"), (("--sample", "3/2"), "not '3/2'"),
    (("--sample", "0/2"), "not '0/2'"), (("--sample", "1/10001"), "not '1/10001'"), (("--sample", "5 %"), "not '5 %'"),
    (("--sample", ""), "not ''"), (("--rotate", "f"), "--sample 1/N"), (("--sample", "2/4", "--rotate", "f"), "--sample 1/N"),
    (("--coverage-floor", "50"), "--coverage-floor goes with --sample"),
    (("--sample", "5", "--coverage-floor", "0"), "--coverage-floor"),
])
def test_bad_usage(ready, args, said):
    r = verify(ready, *args, code=3)
    assert said in r.stderr and r.stdout == ""
