# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""verify asks the running OpenSM too: SMInfo, QoS on or off, the SL of path records; against saquery's answers."""
import os
import re

import pytest

from kit import looks, policy

SMALL = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=1)


def applied(up, classes=(policy.TRAINING, policy.STORAGE, policy.OTHER), tail="", **kwargs):
    f, sm = up(**{**SMALL, **kwargs})
    path = policy.write(f, sm, classes)
    if tail:
        with open(path, "a", encoding="utf-8") as p:
            p.write(tail)
    f.ibqos("apply", path, "--state-dir", f.path("state")).ok()
    return f, sm, path


def verify(f, path, *codes, args=()):
    return f.ibqos("verify", path, "--format", "json", *args).ok(*codes)


def coverage(result):
    return {row["item"]: row for row in result.json["sm_coverage"]}


def worse_than_note(result):
    return {x["code"] for x in result.json["findings"] if x["severity"] != "note"}


def lids(f):
    text = f.tool("ibnetdiscover").ok().stdout
    return dict(re.findall(r'# "((?:gpu|oss|login)[^"]*)" lid (\d+)', text))


def saquery_sl(f, source, destination, *more):
    """The SL of a path by infiniband-diags; None where there is none."""
    at = lids(f)
    text = f.tool("saquery", "--slid", at[source], "--dlid", at[destination], *more, "PR").stdout
    found = re.search(r"\bsl\.+0x(\w+)", text)
    return int(found[1], 16) if found else None


def test_a_running_policy_is_proved_and_diags_agree(up):
    f, sm, path = applied(up)
    r = verify(f, path)
    got = r.json["sm"]
    info = f.tool("sminfo").ok().stdout
    m = re.search(r"sm lid (\d+) sm guid 0x(\w+), activity count (\d+) priority (\d+) state \d (\S+)", info)
    assert (got["lid"], int(got["port_guid"], 16), got["priority"]) == (int(m[1]), int(m[2], 16), int(m[4]))
    assert got["state"] == "master" and m[5] == "SMINFO_MASTER"
    assert 0 < got["act_count"] <= int(m[3])
    caps = re.search(r"Capability mask 2\.+0x(\w+)", f.tool("saquery", "-c").ok().stdout)
    assert got["qos"] == "on" and int(caps[1], 16) & 2
    # four hosts: each without class and with QoS class 41
    assert (got["paths_right"], got["paths_wrong"], got["paths_unknown"], got["rules_not_asked"]) == (8, 0, 0, 0)
    assert [(n, c["asked"], c["answered"]) for n, c in coverage(r).items()] == [
        ("SMInfo", 3, 3), ("SA ClassPortInfo", 1, 1), ("PathRecord", 8, 8)]
    assert saquery_sl(f, "gpu-001 mlx5_0", "gpu-003 mlx5_0", "-Q", "41") == 1
    assert saquery_sl(f, "gpu-001 mlx5_0", "gpu-003 mlx5_0") == 0
    assert not [line for line in sm.log().splitlines() if re.search(r"ERR (1F|4C|1A)", line)]


def test_text_names_the_subnet_manager_and_is_the_same_each_time(up):
    f, _, path = applied(up)
    first, second = (looks.timeless(f.ibqos("verify", path).ok().stdout) for _ in range(2))
    assert first == second
    assert re.search(r"^subnet manager:$", first, re.M) and re.search(r"^  QoS: on$", first, re.M)


def test_qos_switched_off_while_the_ports_keep_their_tables(up):
    f, sm, path = applied(up)
    with open(sm.config, encoding="ascii") as c:
        text = c.read()
    with open(sm.config, "w", encoding="ascii") as c:
        c.write(text.replace("qos TRUE", "qos FALSE"))
    sm.hup()
    r = verify(f, path, 2)
    found = policy.codes(r)
    assert r.json["ports"]["differ"] == 0 and r.json["sm"]["qos"] == "off"
    assert len(found["sm-qos-off"]) == 1 and found["sm-qos-off"][0]["severity"] == "critical"
    # the whole of it: the traffic class's paths have SL 0 now, as saquery says too
    assert worse_than_note(r) == {"sm-qos-off", "sa-sl-differs", "file-not-the-policy"}
    assert saquery_sl(f, "gpu-001 mlx5_0", "gpu-003 mlx5_0", "-Q", "41") == 0
    # a config that says TRUE is not the one that runs: without a policy that is found just as well
    with open(sm.config, "w", encoding="ascii") as c:
        c.write(text)
    r = f.ibqos("verify", "--opensm-conf", sm.config, "--format", "json").ok(2)
    assert worse_than_note(r) == {"sm-qos-off"}
    assert "PathRecord" not in coverage(r)
    sm.hup()
    verify(f, path)
    f.ibqos("verify", "--opensm-conf", sm.config).ok()


@pytest.mark.parametrize("damage", ["deleted", "broken", "other-sl"])
def test_qos_policy_file_that_is_not_in_force(up, damage):
    f, sm, path = applied(up)
    with open(sm.policy, encoding="ascii") as p:
        rules = p.read()
    if damage == "deleted":
        os.unlink(sm.policy)
    else:
        changed = rules.replace("qos-levels\n", "qos-levls\n") if damage == "broken" else rules.replace("sl: 1\n", "sl: 2\n")
        assert changed != rules
        with open(sm.policy, "w", encoding="ascii") as p:
            p.write(changed)
    sm.hup()
    sm.hup()
    r = verify(f, path, 2)
    assert r.json["ports"]["differ"] == 0 and r.json["sm"]["qos"] == "on"
    assert worse_than_note(r) == {"sa-sl-differs", "file-not-the-policy"}
    found = policy.codes(r)["sa-sl-differs"]
    now = saquery_sl(f, "gpu-001 mlx5_0", "gpu-003 mlx5_0", "-Q", "41")
    assert now == (2 if damage == "other-sl" else 0)
    assert {(x["what"], x["wanted"], x["got"]) for x in found} == {("PathRecord, QoS class 41", "SL 1", f"SL {now}")}
    assert {x["node"] for x in found} >= {"gpu-001 mlx5_0", "oss-01 mlx5_0"}
    assert (r.json["sm"]["paths_right"], r.json["sm"]["paths_wrong"]) == (4, 4)
    assert all(re.match(r"path to (gpu|oss)", x["detail"]) for x in found)


def test_level_whose_sl_no_port_carries(up):
    """An SL above 15 is loaded by OpenSM, which then has no path for the class: NO_RECORDS, no SL at all."""
    f, sm, path = applied(up)
    with open(sm.policy, encoding="ascii") as p:
        rules = p.read()
    with open(sm.policy, "w", encoding="ascii") as p:
        p.write(rules.replace("sl: 1\n", "sl: 16\n"))
    sm.hup()
    r = verify(f, path, 2)
    found = policy.codes(r)["sa-sl-differs"]
    assert {x["got"] for x in found} == {"no path, though there is one for other requests"}
    assert saquery_sl(f, "gpu-001 mlx5_0", "gpu-003 mlx5_0", "-Q", "41") is None
    assert coverage(r)["PathRecord"]["status"] == 4


@pytest.mark.parametrize("how", ["stopped", "killed", "paused"])
def test_opensm_that_does_not_answer(up, how):
    f, sm, path = applied(up)
    lid = verify(f, path).json["sm"]["lid"]
    {"stopped": sm.stop, "killed": sm.kill, "paused": sm.pause}[how]()
    r = verify(f, path, 3, args=("-t", "100", "--retries", "1"))
    silent = policy.codes(r)["sm-silent"]
    assert worse_than_note(r) == {"sm-silent"} and len(silent) == 1
    assert silent[0]["severity"] == "unknown" and silent[0]["what"] == f"SMInfo from LID {lid}"
    assert silent[0]["detail"] == "not answered in 2 tries" and silent[0]["node"]
    assert r.json["ports"]["differ"] == 0  # the ports hold their tables all the same
    assert r.json["sm"]["state"] is None and r.json["sm"]["qos"] is None and r.json["sm"]["lid"] == lid
    assert coverage(r)["SMInfo"]["timed_out"] == 2  # before the ports were read, and after
    assert coverage(r)["PathRecord"]["not_asked"] == coverage(r)["PathRecord"]["asked"] == 8
    f.ibqos("verify", "--opensm-conf", sm.config, "-t", "100", "--retries", "1").ok(3)


def test_a_standby_that_the_ports_still_name(up):
    """A handover that is not over: ports name an SM that is not, or not yet, the master."""
    f, _, path = applied(up)
    f.rules("attr=SMInfo : set byte20=0x02")  # priority 0, standby
    r = verify(f, path, 3)
    found = policy.codes(r)["sm-not-master"]
    assert [(x["wanted"], x["got"]) for x in found] == [("master", "standby")]
    assert r.json["sm"]["state"] == "standby" and coverage(r)["SA ClassPortInfo"]["not_asked"] == 1


def test_sa_that_is_silent_while_the_sm_answers(up):
    """As before the end of a first sweep: SMInfo yes, SA no."""
    f, _, path = applied(up)
    f.rules("class=sa : timeout")
    r = verify(f, path, 3, args=("-t", "50", "--retries", "0"))
    found = policy.codes(r)["query-failed"]
    assert [x["what"] for x in found] == ["ClassPortInfo of the subnet administrator"]
    assert coverage(r)["PathRecord"]["not_asked"] == 8 and r.json["sm"]["state"] == "master"


def test_paths_that_are_lost_or_refused_are_unknown(up):
    f, _, path = applied(up)
    f.rules("class=sa attr=0x35 count=3 : status=0x0100")  # NO_RESOURCES
    r = verify(f, path, 3)
    failed = policy.codes(r)["query-failed"]
    assert len(failed) == 3 and all("0x0100" in x["detail"] for x in failed)
    assert (r.json["sm"]["paths_right"], r.json["sm"]["paths_unknown"]) == (5, 3)
    f.rules("class=sa attr=0x35 : status=0x0300")  # no path between any two: partitions may part them
    r = verify(f, path, 3)
    assert worse_than_note(r) == {"query-failed"} and r.json["sm"]["paths_wrong"] == 0


def test_one_answer_that_lies_is_one_finding(up):
    f, _, path = applied(up)
    f.rules("class=sa attr=0x35 skip=2 count=1 : set byte53=0x05")
    r = verify(f, path, 2)
    found = policy.codes(r)["sa-sl-differs"]
    assert [x["got"] for x in found] == ["SL 5"] and r.json["sm"]["paths_right"] == 7


def test_asked_from_another_host_than_the_sms(up):
    f, _, path = applied(up)
    here, there = (f.ibqos("verify", path, "--format", "json", host=h).ok().json for h in (None, "gpu-004"))
    assert here["sm"].pop("act_count") <= there["sm"].pop("act_count")
    assert here["sm"] == there["sm"] and here["sm_coverage"] == there["sm_coverage"]


MATCHES = dict(policy.STORAGE, match="[{service: lustre}, {source: oss, qos_class: 9}, {destination: oss}, {pkey: 0x8}]")
GROUPS = "groups:\n  oss: [{name: 'oss-*'}]\n"


def test_rules_by_service_and_group(up):
    """Requests as each rule wants them get its SL; the partition's rule, whose members nobody knows, is said."""
    f, sm, path = applied(up, (policy.TRAINING, MATCHES, policy.OTHER), GROUPS)
    r = verify(f, path)
    got = r.json["sm"]
    assert (got["paths_wrong"], got["paths_unknown"], got["paths_none"], got["rules_not_asked"]) == (0, 0, 0, 1)
    assert got["paths_right"] == coverage(r)["PathRecord"]["answered"] > 12
    assert saquery_sl(f, "gpu-001 mlx5_0", "oss-01 mlx5_0") == 2
    # the same rules, but for one group that has lost its port
    with open(sm.policy, encoding="ascii") as p:
        rules = p.read()
    with open(sm.policy, "w", encoding="ascii") as p:
        p.write(re.sub(r"port-guid: 0x\w+", "port-guid: 0x1234", rules))
    sm.hup()
    found = policy.codes(verify(f, path, 2))["sa-sl-differs"]
    assert all("oss-01" in x["node"] + x["detail"] for x in found)
    assert {(x["what"], x["wanted"], x["got"]) for x in found} == {
        ("PathRecord without QoS class", "SL 2", "SL 0"), ("PathRecord, QoS class 9", "SL 2", "SL 0")}


def test_hosts_of_no_common_partition(up):
    """Limited members of the default partition talk to the SM's host alone: the other pairs have no path at all."""
    f, sm, path = applied(up, sm={"partitions": "Default=0x7fff : ALL=limited, SELF=full;\n"})
    r = verify(f, path)
    assert r.json["sm"]["paths_right"] > 0 and r.json["sm"]["paths_none"] > 0
    assert r.json["sm"]["paths_wrong"] == r.json["sm"]["paths_unknown"] == 0
    notes = policy.codes(r)["sa-no-path"]
    assert all(x["severity"] == "note" for x in notes) and len(notes) == r.json["sm"]["paths_none"]
    assert saquery_sl(f, "gpu-002 mlx5_0", "gpu-003 mlx5_0") is None
    # nor do rules that would be wrong hide behind that
    os.unlink(sm.policy)
    sm.hup()
    assert "sa-sl-differs" in policy.codes(verify(f, path, 2))
