# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Files that are in place but that OpenSM never read: found in chaos, where only path records told."""
from kit import policy

SMALL = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=1)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def test_rules_in_place_that_opensm_never_read_are_not_taken_for_applied(up):
    """Two policies with the same tables, whose rules differ: ports cannot tell which one OpenSM runs."""
    f, sm = up(**SMALL)
    args = ("--state-dir", f.path("state"), "--format", "json")
    class41 = policy.write(f, sm, name="41.yaml")
    class45 = policy.write(f, sm, (dict(policy.TRAINING, nccl_ib_tc=45), policy.STORAGE, policy.OTHER), name="45.yaml")
    f.ibqos("apply", class45, *args).ok()
    rules45 = read(sm.policy)
    f.ibqos("apply", class41, *args).ok()
    assert read(sm.policy) != rules45
    # put there by hand, without a reload
    with open(sm.policy, "wb") as out:
        out.write(rules45)
    assert "sa-sl-differs" in policy.codes(f.ibqos("verify", class45, "--format", "json").ok(2))
    r = f.ibqos("apply", class45, *args).ok()
    assert not r.json["apply"]["unchanged"] and r.json["apply"]["reloads"] >= 1
    f.ibqos("verify", class45).ok()
    # and once it has read them, there is nothing left to do
    r = f.ibqos("apply", class45, *args).ok()
    assert r.json["apply"]["unchanged"] and r.json["apply"]["reloads"] == 0
