# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Policy to plan to apply to verify, on real OpenSM, checked by infiniband-diags."""
import os
import re
import time

import pytest

from kit import looks, policy, run

SMALL = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=1)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def state(f):
    return ["--state-dir", f.path("state")]


def applied(up, classes=(policy.TRAINING, policy.STORAGE, policy.OTHER), **kwargs):
    f, sm = up(**{**SMALL, **kwargs})
    path = policy.write(f, sm, classes)
    f.ibqos("apply", path, *state(f)).ok()
    return f, sm, path


def lids(f):
    """LIDs by node description, from ibnetdiscover."""
    text = f.tool("ibnetdiscover").ok().stdout
    found = {}
    for m in re.finditer(r'^Switch\t.*# "(.*?)" .*port 0 lid (\d+)', text, re.M):
        found[m[1]] = m[2]
    for m in re.finditer(r'# "((?:gpu|oss|login)[^"]*)" lid (\d+)', text):
        found[m[1]] = m[2]
    return found


def sl2vl_row(f, lid, port, in_port):
    """SL2VL of one in-port to one out-port (a CA: in 0), by smpquery."""
    text = f.tool("smpquery", "sl2vl", lid, port).ok().stdout
    if in_port is None:
        m = re.search(r"ports: in +0, out +0: \|(.*)\|", text) or re.search(r"\|((?: *\d+\|){15} *\d+)\|", text)
    else:
        m = re.search(rf"in +{in_port}, out +{port}: \|(.*)\|", text)
    return ",".join(x.strip() for x in m[1].split("|"))


def vlarb_rows(f, lid, port):
    """(low, high) entries of a port by smpquery, as "VL:weight" texts."""
    text = f.tool("smpquery", "vlarb", lid, port).ok().stdout
    tables = {}
    for which, vls, weights in re.findall(r"# (Low|High) priority VL Arbitration Table:.*?\nVL *: \|(.*?)\|\n"
                                          r"WEIGHT: \|(.*?)\|\n", text, re.S | re.I):
        v = [int(x, 16) for x in re.findall(r"0x(\w+)", vls)]
        w = [int(x, 16) for x in re.findall(r"0x(\w+)", weights)]
        tables[which.lower()] = [f"{a}:{b}" for a, b in zip(v, w)]
    return tables["low"], tables["high"]


def test_apply_then_verify_is_clean_and_smpquery_agrees(up):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    plan = f.ibqos("plan", path, "--format", "json").ok().json
    # nothing holds the plan before, and all of it after
    assert plan["ports_today"]["looked_at"] > 0
    assert plan["ports_today"]["differ"] == plan["ports_today"]["looked_at"]
    before = read(sm.config)
    r = f.ibqos("apply", path, "--format", "json", *state(f)).ok().json
    assert r["apply"]["reached"] == "done" and r["apply"]["installed"] and not r["apply"]["rolled_back"]
    assert r["ports"]["differ"] == r["ports"]["unknown"] == 0
    assert read(os.path.join(r["apply"]["history"], "old-opensm.conf")) == before

    v = f.ibqos("verify", path, "--format", "json").ok().json
    assert v["verdict"] == "clean" and not [x for x in v["findings"] if x["severity"] != "note"]
    assert all(row["asked"] == row["answered"] > 0 for row in v["coverage"])
    assert f.ibqos("plan", path, "--format", "json").ok().json["ports_today"]["differ"] == 0

    table = {t["port_type"]: t for t in plan["tables"]}
    at = lids(f)
    leaf, gpu, spine = at["leaf-01"], at["gpu-002 mlx5_0"], at["spine-01"]
    for lid, port, in_port, kind in ((leaf, "36", 1, "swe"), (spine, "1", 2, "swe"), (gpu, "1", None, "ca")):
        assert sl2vl_row(f, lid, port, in_port) == table[kind]["sl2vl"]
        low, high = vlarb_rows(f, lid, port)
        want_low, want_high = table[kind]["vlarb_low"].split(","), table[kind]["vlarb_high"].split(",")
        assert low[:len(want_low)] == want_low and all(x.endswith(":0") for x in low[len(want_low):])
        assert high[:len(want_high)] == want_high and all(x.endswith(":0") for x in high[len(want_high):])


def test_plan_keeps_the_shares_asked(up):
    f, sm = up(**SMALL)
    classes = {c["name"]: c for c in f.ibqos("plan", policy.write(f, sm), "--format", "json").ok().json["classes"]}
    for name, share in (("training", 70), ("storage", 20), ("other", 10)):
        assert abs(classes[name]["share_guaranteed"] - share) < 2
    assert classes["other"]["vl"] == 0 and len({c["vl"] for c in classes.values()}) == 3
    assert [classes[n]["sl"] for n in ("training", "storage", "other")] == [1, 2, 0]


def test_plan_writes_nothing_and_is_the_same_each_time(up):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    before = read(sm.config)
    first, second = (f.ibqos("plan", path).ok().stdout for _ in range(2))
    strip = lambda text: re.sub(r"\n *sent.*", "", looks.at_any_time(text))  # noqa: E731
    assert strip(first) == strip(second)
    assert "+qos TRUE" in first and f"--- {sm.config}" in first and f"+++ {sm.policy}" in first
    assert read(sm.config) == before and not os.path.exists(sm.policy) and not os.path.exists(f.path("state"))


def test_apply_again_does_nothing(up):
    f, sm, path = applied(up)
    files = [(p, read(p), os.stat(p).st_mtime_ns, os.stat(p).st_ino) for p in (sm.config, sm.policy)]
    sweeps = sm.sweeps()
    r = f.ibqos("apply", path, "--format", "json", *state(f)).ok().json
    assert r["apply"]["unchanged"] and r["apply"]["reloads"] == 0
    assert [(p, read(p), os.stat(p).st_mtime_ns, os.stat(p).st_ino) for p in (sm.config, sm.policy)] == files
    assert sm.sweeps() == sweeps


def test_rdma_cm_of_the_traffic_class_gets_the_sl(up):
    """A program that asks the SA with QoS class 41 gets the training class's SL, any other the default's."""
    f, _, _ = applied(up)
    at = lids(f)

    def sl(*qos_class):
        text = f.tool("saquery", "--slid", at["gpu-001 mlx5_0"], "--dlid", at["gpu-003 mlx5_0"], *qos_class, "PR").ok().stdout
        return re.search(r"\bsl\.+0x(\w+)", text)[1]

    assert int(sl("-Q", "41"), 16) == 1
    assert int(sl("-Q", "40"), 16) == 0
    assert int(sl(), 16) == 0


def test_opensm_reports_no_error_on_what_ibqos_writes(up):
    _, sm, _ = applied(up)
    errors = [line for line in sm.log().splitlines() if re.search(r"ERR (AC|3111|3113|1F)", line)]
    assert not errors
    sm._out.flush()
    out = read(sm.path("opensm.out")).decode()
    assert "Unrecognized token" not in out and "Invalid Cached Option" not in out


def test_admins_other_options_and_comments_stay(up):
    f, sm = up(**SMALL)
    with open(sm.config, "a", encoding="ascii") as c:
        c.write("\n# our own note\n  max_wire_smps   7   # measured in May\nqos_sl2vl 0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0\n")
    before = read(sm.config).decode().splitlines()
    f.ibqos("apply", policy.write(f, sm), *state(f)).ok()
    after = read(sm.config).decode().splitlines()
    kept = [line for line in before if not line.startswith(("qos ", "qos_sl2vl"))]
    assert [line for line in after if line in kept] == kept
    assert sum(line.split()[:1] == ["qos_sl2vl"] for line in after) == 1


def test_high_limit_is_what_opensm_really_set(up):
    """priority: high needs a VLHighLimit; the simulator forgets it, the overlay answers what OpenSM Set."""
    high = dict(policy.TRAINING, priority="high")
    f, sm, path = applied(up, (high, policy.STORAGE, policy.OTHER))
    plan = f.ibqos("plan", path, "--format", "json").ok().json
    limit = plan["tables"][0]["high_limit"]
    assert limit > 0
    f.ibqos("verify", path).ok()
    # another VLHighLimit from OpenSM: each port that has one differs in just that
    conf = re.sub(r"(high_limit )\d+", rf"\g<1>{limit + 5}", read(sm.config).decode())
    with open(sm.config, "w", encoding="ascii") as c:
        c.write(conf)
    sm.hup()
    r = f.ibqos("verify", path, "--format", "json").ok(2)
    found = policy.codes(r)
    assert set(found) == {"not-applied", "high-limit-differs", "file-not-the-policy"}
    assert {(x["wanted"], x["got"]) for x in found["high-limit-differs"]} == {(str(limit), str(limit + 5))}
    assert len(found["high-limit-differs"]) == r.json["ports"]["differ"] > 10


def test_table_changed_behind_opensms_back_is_found_on_exactly_that_port(up):
    f, _, path = applied(up)
    f.rules("node=leaf-02 port=36 attr=SL2VL mod=0x0224 : set SL1=0")  # in-port 2, out-port 36
    r = f.ibqos("verify", path, "--format", "json").ok(2)
    found = policy.codes(r)
    assert set(found) - {"policy-tc-ecn"} == {"sl2vl-differs"} and len(found["sl2vl-differs"]) == 1
    one = found["sl2vl-differs"][0]
    assert (one["node"], one["port"], one["severity"]) == ("leaf-02", 36, "critical")
    assert re.search(r"\b2\b", one["what"]) and one["wanted"].split(",")[1] != one["got"].split(",")[1] == "0"
    assert r.json["ports"]["differ"] == 1


def test_vlarb_changed_on_an_adapter_is_found(up):
    f, _, path = applied(up)
    f.rules("node=gpu-003 attr=VLArb mod=0x00010000 : set entry0=5:9")
    found = policy.codes(f.ibqos("verify", path, "--format", "json").ok(2))
    assert set(found) - {"policy-tc-ecn"} == {"vlarb-differs"}
    assert [(x["node"], x["port"]) for x in found["vlarb-differs"]] == [("gpu-003 mlx5_0", 1)]


def test_device_that_stops_answering_is_unknown_and_named(up):
    f, _, path = applied(up)
    f.rules("node=leaf-02 attr=SL2VL : drop", "node=leaf-02 attr=VLArb : drop")
    r = f.ibqos("verify", path, "-t", "20", "--retries", "1", "--format", "json").ok(3)
    silent = policy.codes(r)["agent-silent"]
    assert [x["node"] for x in silent] == ["leaf-02"]
    assert r.json["ports"]["differ"] == 0 and r.json["ports"]["unknown"] > 0
    lost = {c["item"]: c for c in r.json["coverage"]}["SL2VL"]
    assert lost["timed_out"] > 0 and lost["asked"] == lost["answered"] + lost["timed_out"] + lost["not_asked"] + lost["status"]


def test_device_that_is_silent_from_the_start_is_named_by_the_port_before_it(up):
    f, _, path = applied(up)
    f.rules("node=gpu-003 : timeout")
    leaf = f.net["leaf-02"]
    for command in (["discover"], ["verify", path], ["audit"]):
        r = f.ibqos(*command, "-t", "20", "--retries", "1", "--format", "json").ok(3)
        gaps = policy.codes(r)["no-answer"]
        assert [(x["node"], x["port"]) for x in gaps] == [("leaf-02", leaf.to("gpu-003")[0])], command


def test_refused_query_is_unknown_not_clean(up):
    f, _, path = applied(up)
    f.rules("node=spine-01 port=1 attr=VLArb : status=0x1c")
    r = f.ibqos("verify", path, "--format", "json").ok(3)
    failed = policy.codes(r)["query-failed"]
    assert [(x["node"], x["port"]) for x in failed] == [("spine-01", 1)] and "0x001c" in failed[0]["detail"].lower()


def test_rolls_back_when_ports_never_take_the_tables(up):
    """Switch leaf-01 ignores SL2VL Sets: seven ports of few, far above --max-lag."""
    f, sm = up(rules=[], **SMALL)
    path = policy.write(f, sm)
    sm.rules("node=leaf-01 attr=SL2VL method=set : status=0x1c")
    before = read(sm.config)
    r = f.ibqos("apply", path, "--deadline", "3", "--format", "json", *state(f), timeout=90).ok(2)
    found = policy.codes(r)
    assert r.json["apply"]["outcome"] == "rolled back" and "apply-rollback-failed" not in found
    # leaf-01 took neither the new tables nor OpenSM's own, which are the old ones: said, with the count
    stuck = len({(x["node"], x["port"]) for x in found["sl2vl-differs"]})
    assert found["apply-rolled-back"][0]["got"] == f"{stuck} of {r.json['ports']['looked_at']} ports do not hold the old tables"
    assert r.json["ports"]["differ"] == r.json["ports_back"]["differ"] == stuck
    assert {x["node"] for x in found["sl2vl-differs"]} == {"leaf-01"}
    assert r.json["apply"]["reloads"] >= 3  # two on the way there, at least one back
    assert not os.path.exists(sm.policy)
    # whole old but for the one key that a reload needs written: QoS off again
    now = [line for line in read(sm.config).decode().splitlines() if line.split()[:1] != ["qos"]]
    assert now == [line for line in before.decode().splitlines() if line.split()[:1] != ["qos"]]
    assert re.search(r"^qos FALSE", read(sm.config).decode(), re.M)


def test_few_lagging_ports_are_listed_and_the_tables_stay(up):
    f, sm = up(leaves=3, spines=1, hosts_per_leaf=8, uplinks=1, storage=0)
    path = policy.write(f, sm)
    sm.rules("node=gpu-003 attr=VLArb method=set : status=0x1c")
    r = f.ibqos("apply", path, "--deadline", "3", "--max-lag", "5", "--format", "json", *state(f), timeout=90).ok(2)
    found = policy.codes(r)
    assert "apply-lag" in found and {x["node"] for x in found["vlarb-differs"]} == {"gpu-003 mlx5_0"}
    assert r.json["apply"]["installed"] and not r.json["apply"]["rolled_back"] and os.path.exists(sm.policy)


def test_opensm_dies_while_applying(up):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    before = read(sm.config)
    # stopped, it takes no reload; then it is gone
    os.kill(sm.pid, 19)
    import threading
    threading.Timer(1.0, lambda: os.kill(sm.pid, 9)).start()
    r = f.ibqos("apply", path, "--deadline", "20", "--format", "json", *state(f), timeout=90).ok(2)
    assert "OpenSM ended" in policy.codes(r)["apply-failed"][0]["got"]
    assert not r.json["apply"]["installed"]
    strip = [line for line in read(sm.config).decode().splitlines() if line.split()[:1] != ["qos"]]
    assert strip == [line for line in before.decode().splitlines() if line.split()[:1] != ["qos"]]


def test_stopped_by_the_user_goes_back(up):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    sm.rules("node=leaf-01 attr=SL2VL method=set : status=0x1c")
    before = read(sm.config)
    was = f.ibqos("plan", path, "--format", "json").ok().json["ports_today"]
    p = run.start([run.binary(), "apply", path, "--deadline", "60", *state(f)], cwd=f.dir, env=f.env())
    run.deadline(20, "new files", lambda: os.path.exists(sm.policy))
    time.sleep(0.3)
    p.terminate()
    time.sleep(0.2)
    p.terminate()  # once more: going back is not stopped by it
    assert p.wait(60) == 2
    # the ports were put back too: as many hold the plan as before
    assert f.ibqos("plan", path, "--format", "json").ok().json["ports_today"] == was
    assert not os.path.exists(sm.policy)
    strip = [line for line in read(sm.config).decode().splitlines() if line.split()[:1] != ["qos"]]
    assert strip == [line for line in before.decode().splitlines() if line.split()[:1] != ["qos"]]


@pytest.mark.parametrize("lost", ["config", "log"])
def test_paths_that_do_not_fit_the_running_opensm(up, lost):
    f, sm = up(**SMALL)
    text = policy.text(sm)
    if lost == "config":
        text = text.replace(sm.config, sm.config + ".other")
        with open(sm.config + ".other", "wb") as other:
            other.write(read(sm.config))
    else:
        text = text.replace(f"log: {sm.log_file}", f"log: {sm.log_file}.other")
    path = f.path("odd.yaml")
    with open(path, "w", encoding="ascii") as p:
        p.write(text)
    before = read(sm.config)
    if lost == "config":
        r = f.ibqos("apply", path, "--format", "json", *state(f)).ok(3)
        assert "opensm-not-running" in policy.codes(r)
        assert read(sm.config) == before and not os.path.exists(sm.policy) and not os.path.exists(f.path("state"))
    else:
        # the ports tell, only the end of the sweep is not seen: a warning, after a while
        r = f.ibqos("apply", path, "--format", "json", *state(f), timeout=90).ok(1)
        assert "apply-sweep-unseen" in policy.codes(r)


def test_verify_against_a_hand_written_config(up):
    """No policy: what OpenSM programs from its own file, with a value that it reads otherwise than it looks."""
    f, sm = up(options={"qos": "TRUE", "qos_sl2vl": ",".join(str(i % 4) for i in range(16)),
                        "qos_vlarb_low": "0:64,1:32", "qos_vlarb_high": "2:16", "qos_swe_high_limit": "9"}, **SMALL)
    f.ibqos("verify", "--opensm-conf", sm.config).ok()
    f.rules("node=gpu-002 attr=SL2VL : set SL3=0")
    r = f.ibqos("verify", "--opensm-conf", sm.config, "--format", "json").ok(2)
    assert [(x["node"], x["code"]) for x in r.json["findings"]] == [("gpu-002 mlx5_0", "sl2vl-differs")]
    f.rules()
    sm.write_config(qos_swe_vlarb_low="0 :64")
    sm.hup()
    r = f.ibqos("verify", "--opensm-conf", sm.config, "--format", "json").ok(1)
    assert [x["code"] for x in r.json["findings"]] == ["opensm-value-doubtful"]
    sm.write_config(qos="true")
    assert "qos-off" in policy.codes(f.ibqos("verify", "--opensm-conf", sm.config, "--format", "json").ok(2))
    assert f.ibqos("verify").returncode == f.ibqos("verify", "x", "--opensm-conf", "y").returncode == 3


def history(f):
    return sorted(os.listdir(f.path("state/history")))


def test_rollback_undoes_an_apply(up):
    f, sm = up(options={"qos": "TRUE", "qos_sl2vl": "0,0,0,0,1,1,1,1,2,2,2,2,3,3,3,3", "qos_vlarb_low": "0:8,1:8,2:8,3:8"}, **SMALL)
    before = read(sm.config)
    path = policy.write(f, sm)
    f.ibqos("apply", path, *state(f)).ok()
    r = f.ibqos("rollback", "--format", "json", *state(f)).ok()
    assert r.json["apply"]["outcome"] == "rolled back"
    assert read(sm.config) == before and not os.path.exists(sm.policy)
    f.ibqos("verify", "--opensm-conf", sm.config).ok()
    # nothing left to undo; what was rolled back is not taken twice
    r = f.ibqos("rollback", "--format", "json", *state(f)).ok(3)
    assert "apply-no-history" in policy.codes(r)
    # and forward again
    f.ibqos("apply", path, *state(f)).ok()
    f.ibqos("verify", path).ok()


def test_rollback_to_a_config_without_qos(up):
    """OpenSM's own tables come first, while QoS is still on; then it is switched off, in so many words."""
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    f.ibqos("apply", path, *state(f)).ok()
    f.ibqos("rollback", *state(f)).ok()
    assert re.search(r"^qos FALSE", read(sm.config).decode(), re.M)
    at = lids(f)
    assert sl2vl_row(f, at["leaf-01"], "36", 1) == "0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,7"  # OpenSM's 0..14,7 on 8 VLs
    low, high = vlarb_rows(f, at["leaf-01"], "36")
    assert low[:3] == ["0:0", "1:4", "2:4"] and high[0] == "0:4"


def test_rollback_leaves_what_somebody_else_wrote(up):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    f.ibqos("apply", path, *state(f)).ok()
    with open(sm.config, "a", encoding="ascii") as c:
        c.write("# edited\n")
    edited = read(sm.config)
    r = f.ibqos("rollback", "--format", "json", *state(f)).ok(3)
    changed = policy.codes(r)["apply-file-changed"][0]
    assert changed["file"] == sm.config and "as new-*" in changed["detail"]
    assert read(sm.config) == edited and os.path.exists(sm.policy)


def test_failed_apply_leaves_what_somebody_else_wrote(up):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    sm.rules("node=leaf-01 attr=SL2VL method=set : status=0x1c")
    p = run.start([run.binary(), "apply", path, "--deadline", "3", "--format", "json", *state(f)], cwd=f.dir, env=f.env())
    run.deadline(20, "new files", lambda: os.path.exists(sm.policy) and b"qos_ca_sl2vl" in read(sm.config))
    edited = read(sm.config) + b"# edited\n"
    with open(sm.config, "wb") as c:
        c.write(edited)
    assert p.wait(60) == 2
    assert read(sm.config) == edited


def test_two_applies_at_once(up):
    """The second is refused, and does not undo the first."""
    f, sm = up(**SMALL)
    a = policy.write(f, sm, name="a.yaml")
    b = policy.write(f, sm, (dict(policy.TRAINING, share="50%"), policy.STORAGE, policy.OTHER), name="b.yaml")
    sm.pause()  # so that the first one waits
    p = run.start([run.binary(), "apply", a, "--deadline", "30", *state(f)], cwd=f.dir, env=f.env())
    run.deadline(20, "new files", lambda: os.path.exists(sm.policy))
    r = f.ibqos("apply", b, "--format", "json", "--state-dir", f.path("other-state")).ok(3)
    assert "apply-busy" in policy.codes(r) and not os.path.exists(f.path("other-state"))
    sm.resume()
    assert p.wait(60) == 0
    f.ibqos("verify", a).ok()


def test_log_that_opensm_writes_late(up):
    """OpenSM's default: its log comes minutes late. It is asked to write it out, and the apply is whole."""
    f, sm = up(**SMALL)
    sm.write_config(force_log_flush="FALSE")
    sm.hup()
    r = f.ibqos("apply", policy.write(f, sm), "--format", "json", *state(f), timeout=90).ok()
    assert "apply-sweep-unseen" not in policy.codes(r)
    assert sm.log().count("SUBNET UP") >= 2  # nothing lost


def test_verify_sees_files_that_would_change_the_fabric(up):
    f, sm, path = applied(up)
    before = read(sm.config)
    with open(sm.config, "wb") as c:
        c.write(before.replace(b"qos_ca_high_limit 0", b"qos_ca_high_limit 7"))
    r = f.ibqos("verify", path, "--format", "json").ok(1)
    assert [(x["code"], x["file"]) for x in r.json["findings"]] == [("file-not-the-policy", sm.config)]
    with open(sm.config, "wb") as c:
        c.write(before)
    os.unlink(sm.policy)
    r = f.ibqos("verify", path, "--format", "json").ok(1)
    assert [(x["code"], x["file"]) for x in r.json["findings"]] == [("file-not-the-policy", sm.policy)]
