# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The deadlock guard of plan and apply, on real OpenSM's routes."""
import os

from kit import policy, routes
from tools.netgen_grid import ring

SMALL = dict(leaves=2, spines=2, hosts_per_leaf=2, uplinks=1, storage=0)


def mod(inp, out):
    return f"0x{inp << 8 | out:x}"


def dateline(net):
    """All SLs on VL 0, and on VL 1 from where the ring begins anew: no circle on either."""
    sws, rules = net.switches, ["node=sw-* attr=SL2VL : set SL0=0 SL1=0 SL2=0"]
    last, first = sws[-1], sws[0]
    for s, other in ((first, last), (last, first)):
        out = s.to(other.name)[0]
        rules += [f"node={s.name} attr=SL2VL mod={mod(x, out)} : set SL0=1 SL1=1 SL2=1" for x in range(37)]
    for s, before, after in ((first, last, sws[1]), (last, first, sws[-2])):
        inp, out = s.to(before.name)[0], s.to(after.name)[0]
        rules.append(f"node={s.name} attr=SL2VL mod={mod(inp, out)} : set SL0=1 SL1=1 SL2=1")
    return rules


def start(fabric, net):
    f = fabric(net=net)
    sm = f.opensm(options={"qos": "TRUE", "routing_engine": "minhop"})
    f.rules(*routes.FIXED)
    return f, sm, policy.write(f, sm)


def test_a_tree_has_no_circle_and_its_tables_are_not_asked_for(up):
    f, sm = up(options={"qos": "TRUE"}, **SMALL)
    r = f.ibqos("plan", policy.write(f, sm), "--format", "json").ok(0)
    blocks = r.json["forwarding_tables"]
    assert blocks["asked"] == blocks["answered"] == 4  # one block of 64 LIDs of each switch
    assert not [c for c in policy.codes(r) if c.startswith("plan-loop")]


def test_a_circle_that_there_is_today_is_told(fabric):
    f, sm, p = start(fabric, ring(5, hosts_per_switch=1))
    found = policy.codes(f.ibqos("plan", p, "--format", "json").ok(1))
    # each way round, on each class's VL
    assert {c: len(x) for c, x in found.items() if c.startswith("plan-loop")} == {"plan-loop-today": 6}
    assert all(x["what"] == "circle of 5 links" for x in found["plan-loop-today"])
    f.ibqos("apply", p).ok(1)


def test_a_plan_that_closes_a_circle_is_refused(fabric):
    f, sm, p = start(fabric, ring(5, hosts_per_switch=1))
    f.rules(*routes.FIXED, *dateline(f.net))
    assert f.ibqos("verify", "--paths", "--opensm-conf", sm.config, "--sl", "0", "--sl", "1", "--sl", "2", "--format",
                   "json").json["paths"]["credit_loops"] == 0
    before = {n: open(n, "rb").read() if os.path.exists(n) else None for n in (sm.config, sm.policy)}
    found = policy.codes(f.ibqos("plan", p, "--format", "json").ok(2))
    assert {c: len(x) for c, x in found.items() if c.startswith("plan-loop")} == {"plan-loop": 6}
    assert all(x["what"] == "circle of 5 links" and x["severity"] == "critical" for x in found["plan-loop"])
    r = f.ibqos("apply", p, "--format", "json").ok(2)
    assert policy.codes(r)["plan-loop"] and r.json["apply"]["outcome"].startswith("refused")
    assert before == {n: open(n, "rb").read() if os.path.exists(n) else None for n in before}


def test_a_forwarding_table_that_is_not_answered_is_unknown(up):
    f, sm = up(options={"qos": "TRUE"}, **SMALL)
    f.rules(*f.capabilities, "node=spine-01 attr=LFT : status=0x1c")
    r = f.ibqos("plan", policy.write(f, sm), "--format", "json").ok(3)
    assert r.json["forwarding_tables"]["status"] == 1
    assert [x["what"] for x in policy.codes(r)["path-unknown"]] == ["loops of credits"]
