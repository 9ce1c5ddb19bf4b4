# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Paths that the SA is asked for: in partitions, by who is a member of them, and between all leaf switches."""
import itertools
import re

import pytest

from kit import policy
from tools import netgen

PARTITIONS = """Default=0x7fff : ALL=full, SELF=full;
Train=0x8, ipoib : {members};
"""
STORAGE = dict(policy.STORAGE, match="[{service: lustre}]")
TRAINING = dict(policy.TRAINING, match="[{pkey: 0x8}]")


def member_list(net, names, kind="full"):
    return ", ".join(f"0x{net[n].port_guid():016x}={kind}" for n in names)


def applied(up, classes, members, tail="", **shape):
    net = netgen.fat_tree(**{**dict(leaves=3, spines=2, hosts_per_leaf=3, uplinks=1, storage=1), **shape})
    f, sm = up(net=net, sm={"partitions": PARTITIONS.format(members=members(net))})
    path = policy.write(f, sm, classes)
    if tail:
        with open(path, "a", encoding="utf-8") as p:
            p.write(tail)
    f.ibqos("apply", path, "--state-dir", f.path("state")).ok()
    return f, sm, path


def verify(f, path, *args):
    return f.ibqos("verify", path, "--format", "json", *args)


def coverage(result):
    return {row["item"]: row for row in result.json["sm_coverage"]}


def saquery_sl(f, source, destination, *more):
    at = dict(re.findall(r'# "((?:gpu|oss)[^"]*)" lid (\d+)', f.tool("ibnetdiscover").ok().stdout))
    text = f.tool("saquery", "--slid", at[source], "--dlid", at[destination], *more, "PR").stdout
    found = re.search(r"\bsl\.+0x(\w+)", text)
    return int(found[1], 16) if found else None


@pytest.fixture
def trained(up):
    """Two full members and a limited one in partition 8."""
    return applied(up, (TRAINING, STORAGE, policy.OTHER),
                   lambda net: member_list(net, ["gpu-002", "gpu-005"]) + ", " + member_list(net, ["gpu-007"], "limited"))


def test_a_rule_by_partition_is_asked_among_its_members(trained):
    f, sm, path = trained
    r = verify(f, path).ok(0)
    got = r.json["sm"]
    assert (got["paths_wrong"], got["paths_unknown"], got["paths_none"], got["rules_not_asked"]) == (0, 0, 0, 0)
    hosts = len(f.net.hosts)
    assert coverage(r)["P_Key tables of hosts"]["asked"] >= hosts
    assert saquery_sl(f, "gpu-002 mlx5_0", "gpu-005 mlx5_0", "--pkey", "0x8") == 1
    # the rule gone from OpenSM's file: found between members, and nowhere else
    with open(sm.policy, encoding="ascii") as p:
        rules = p.read()
    with open(sm.policy, "w", encoding="ascii") as p:
        p.write(re.sub(r"pkey: 0x0*8\b", "pkey: 0x9", rules))
    sm.hup()
    sm.hup()
    r = verify(f, path).ok(2)
    found = policy.codes(r)["sa-sl-differs"]
    assert {(x["what"], x["wanted"], x["got"]) for x in found} == {
        ("PathRecord, P_Key 0x8008", "SL 1", "SL 0"), ("PathRecord, P_Key 0x0008", "SL 1", "SL 0")}
    ends = {tuple(sorted((x["node"].split()[0], re.search(r"to (gpu-\d+)", x["detail"])[1]))) for x in found}
    assert ends <= {("gpu-002", "gpu-005"), ("gpu-002", "gpu-007"), ("gpu-005", "gpu-007")} and len(found) == 3


def test_limited_members_do_not_talk(up):
    f, _, path = applied(up, (TRAINING, STORAGE, policy.OTHER),
                         lambda net: member_list(net, ["gpu-002", "gpu-005", "gpu-007"], "limited"))
    got = verify(f, path).ok(0).json["sm"]
    assert got["rules_not_asked"] == 1 and got["paths_unknown"] == got["paths_none"] == 0


def test_tables_that_are_not_answered(trained):
    f, _, path = trained
    f.rules("attr=PKeyTable node=gpu-* : timeout")
    r = verify(f, path, "-t", "50", "--retries", "0")
    assert r.json["sm"]["rules_not_asked"] == 1
    assert coverage(r)["P_Key tables of hosts"]["answered"] < coverage(r)["P_Key tables of hosts"]["asked"]


def test_all_leaves(trained):
    """Each class between each two leaves: as many as an independent count gives; the sample otherwise."""
    f, sm, path = trained
    r = verify(f, path, "--all-leaves", "--sa-rate", "0").ok(0)
    leaves = [s for s in f.net.switches if s.name.startswith("leaf")]
    pairs = len(list(itertools.combinations(leaves, 2)))
    leaf_of = {h.name: h.peers()[0].name for h in f.net.hosts}
    members = ["gpu-002", "gpu-005", "gpu-007"]
    parted = {frozenset((leaf_of[a], leaf_of[b])) for a, b in itertools.combinations(members, 2)} - {
        frozenset((leaf_of[a],)) for a in members}
    # plain, QoS class 41 (training's first rule), lustre (storage's); the partition is training's second rule
    assert coverage(r)["PathRecord"]["asked"] == r.json["sm"]["paths_right"] == 3 * pairs and parted
    # by partition alone: between leaves that have members
    only = policy.write(f, sm, (dict(TRAINING, nccl_ib_tc=None), STORAGE, policy.OTHER), name="only.yaml")
    with open(only, encoding="utf-8") as p:
        text = p.read()
    with open(only, "w", encoding="utf-8") as p:
        p.write(text.replace("    nccl_ib_tc: None\n", ""))
    r = verify(f, only, "--all-leaves", "--sa-rate", "0")
    assert coverage(r)["PathRecord"]["asked"] == 2 * pairs + len(parted)
    # one leaf's path is wrong: a host of that pair is named
    f.rules("class=sa attr=0x35 skip=4 count=1 : set byte53=0x05")
    r = verify(f, path, "--all-leaves").ok(2)
    assert len(policy.codes(r)["sa-sl-differs"]) == 1
    f.ibqos("verify", "--opensm-conf", sm.config, "--all-leaves").ok(3)


def test_probes_begin_in_the_scope(trained):
    f, _, path = trained
    f.rules("class=sa attr=0x35 : set byte53=0x05")
    r = verify(f, path, "--hosts", "gpu-004").ok(2)
    assert {x["node"] for x in policy.codes(r)["sa-sl-differs"]} == {"gpu-004 mlx5_0"}
    r = verify(f, path, "--hosts", "gpu-004", "--all-leaves").ok(2)
    assert {x["node"] for x in policy.codes(r)["sa-sl-differs"]} == {"gpu-004 mlx5_0"}


def test_all_leaves_where_there_is_one(up):
    """No two leaves to ask between: the paths that verify asks for anyhow, not none."""
    f, sm = up(net=netgen.fat_tree(leaves=1, spines=1, hosts_per_leaf=3, uplinks=1, storage=0))
    path = policy.write(f, sm, [policy.TRAINING, policy.OTHER])
    f.ibqos("apply", path, "--state-dir", f.path("state")).ok()
    plain, every = (verify(f, path, *more).ok(0) for more in ([], ["--all-leaves"]))
    assert coverage(every)["PathRecord"] == coverage(plain)["PathRecord"]
    assert coverage(every)["PathRecord"]["asked"] > 0
