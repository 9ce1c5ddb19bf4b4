# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Bad input that only shows on a fabric: refused with its code, no file touched."""
import os
import signal

from kit import policy, run

SMALL = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=1)


def touched(f, sm, before):
    """What an apply left behind: nothing, if it was refused."""
    now = open(sm.config, "rb").read() if os.path.exists(sm.config) else None
    return [what for what, is_there in (("opensm.conf", now != before), ("qos-policy.conf", os.path.exists(sm.policy)),
                                        ("history", os.path.exists(f.path("state")))) if is_there]


def refused(f, sm, path, code, *exit_codes):
    before = open(sm.config, "rb").read() if os.path.exists(sm.config) else None
    r = f.ibqos("apply", path, "--format", "json", "--state-dir", f.path("state")).ok(*exit_codes)
    assert code in policy.codes(r), r
    assert touched(f, sm, before) == []
    return r


def test_more_classes_than_vls(up):
    """Hosts with VL0-1 only: two VLs for three classes."""
    two = ["node=gpu-* attr=PortInfo : set VLCap=2", "node=oss-* attr=PortInfo : set VLCap=2"]
    f, sm = up(rules=two, **SMALL)
    f.rules(*two)
    path = policy.write(f, sm)
    for command in ("plan", "verify"):
        assert "plan-too-many-classes" in policy.codes(f.ibqos(command, path, "--format", "json").ok(2))
    r = refused(f, sm, path, "plan-too-many-classes", 2)
    named = {x["node"] for x in policy.codes(r)["plan-too-many-classes"]}
    assert any(n and "gpu" in n for n in named), r


def test_opensm_not_running(up):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    sm.stop()
    r = refused(f, sm, path, "opensm-not-running", 3)
    assert sm.config in policy.codes(r)["opensm-not-running"][0]["file"]


def test_no_sm_at_all(fabric):
    f = fabric(**SMALL)
    path = f.path("policy.yaml")
    with open(path, "w", encoding="ascii") as p:
        p.write(policy.text(None))
    r = f.ibqos("apply", path, "--format", "json", "--state-dir", f.path("state")).ok(3)
    assert "no-sm" in policy.codes(r) and not os.path.exists(f.path("state"))


def test_config_that_does_not_exist(up):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    os.unlink(sm.config)
    refused(f, sm, path, "plan-config-missing", 3)


def test_read_only_config_folder(up):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    before = open(sm.config, "rb").read()
    # root may write anywhere but on a file system mounted read-only
    script = f'mount --bind "{sm.dir}" "{sm.dir}" && mount -o remount,ro,bind "{sm.dir}" && exec "$@"'
    r = f.run("unshare", "-m", "sh", "-c", script, "sh", run.binary(), "apply", path, "--format", "json", "--state-dir",
              f.path("state")).ok(3)
    named = [x["file"] for x in policy.codes(r)["apply-not-writable"]]
    assert named == [sm.config, sm.policy] and touched(f, sm, before) == []


def test_another_qos_policy_file(up):
    f, sm = up(**SMALL)
    path = f.path("other.yaml")
    with open(path, "w", encoding="ascii") as p:
        p.write(policy.text(sm).replace(sm.policy, sm.policy + ".other"))
    refused(f, sm, path, "plan-policy-file", 2)


def test_routing_engine_that_owns_the_sls(up):
    f, sm = up(**SMALL)
    with open(sm.config, "a", encoding="ascii") as c:
        c.write("routing_engine dfsssp\n")
    refused(f, sm, policy.write(f, sm), "plan-routing-owns-sl", 2)


def test_routing_engine_on_the_command_line(up):
    """No file shows it, and it goes before the config: updn is the one that routes, lash would be the next."""
    f, sm = up(args=["-R", "updn,lash"], **SMALL)
    r = refused(f, sm, policy.write(f, sm), "plan-routing-owns-sl", 2)
    found = policy.codes(r)["plan-routing-owns-sl"][0]
    assert (found["file"], found["what"], found["got"]) == (sm.config, f"option -R of OpenSM, process {sm.pid}", "lash")


def test_qos_policy_file_on_the_command_line(up):
    f, sm = up(args=["-Y", "/nowhere/qos-policy.conf"], **SMALL)
    found = policy.codes(refused(f, sm, policy.write(f, sm), "plan-policy-file", 2))["plan-policy-file"][0]
    assert (found["wanted"], found["got"]) == (sm.policy, "/nowhere/qos-policy.conf")
    # the same file by another name is no fault
    f, sm = up(args=["-Y", "qos-policy.conf"], **SMALL)
    r = f.ibqos("apply", policy.write(f, sm), "--format", "json", "--state-dir", f.path("state")).ok()
    assert "plan-policy-file" not in policy.codes(r)


def test_qos_on_the_command_line(up):
    f, sm = up(args=["-Q"], **SMALL)
    r = f.ibqos("apply", policy.write(f, sm), "--format", "json", "--state-dir", f.path("state")).ok(1)
    found = policy.codes(r)["opensm-qos-option"][0]
    line = open(sm.config, encoding="ascii").read().splitlines()[found["line"] - 1]
    assert found["file"] == sm.config and line.startswith("qos ") and found["got"] == "FALSE"


def test_edited_max_op_vls_would_take_links_down(up):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    sm.write_config(max_op_vls="2")
    found = policy.codes(refused(f, sm, path, "plan-link-bounce", 2))["plan-link-bounce"][0]
    line = open(sm.config, encoding="ascii").read().splitlines()[found["line"] - 1]
    assert (line, found["got"], found["detail"]) == ("max_op_vls 2", "2", "5 adapter ports")
    assert policy.codes(f.ibqos("plan", path, "--allow-link-bounce", "--format", "json").ok(1))["plan-link-bounce"]


def test_opensm_with_another_config_is_named(up):
    f, sm = up(**SMALL)
    path = f.path("other.yaml")
    with open(path, "w", encoding="ascii") as p:
        p.write(policy.text(sm).replace(sm.config, f.path("other.conf")))
    with open(f.path("other.conf"), "w", encoding="ascii") as c:
        c.write(open(sm.config, encoding="ascii").read())
    found = policy.codes(f.ibqos("apply", path, "--format", "json", "--state-dir", f.path("state")).ok(3))
    assert f"process {sm.pid} with {sm.config}" in found["opensm-not-running"][0]["detail"]


def test_part_of_the_fabric_is_silent(up):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    before = open(sm.config, "rb").read()
    f.rules("node=gpu-003 : timeout")
    args = ("apply", path, "-t", "20", "--retries", "1", "--format", "json", "--state-dir", f.path("state"))
    assert "apply-incomplete-fabric" in policy.codes(f.ibqos(*args).ok(3))
    assert touched(f, sm, before) == []
    # asked for all the same, it is done, and the silence still shows
    r = f.ibqos(*args, "--allow-incomplete").ok(3)
    assert r.json["apply"]["installed"] and "no-answer" in policy.codes(r)


def test_ethernet_port(up):
    f, _ = up(**SMALL)
    r = f.run(run.binary(), "discover", env={"IBQOS_OVERLAY_LINK_LAYER": "Ethernet"}).ok(3)
    assert "link layer is Ethernet" in r.stderr


def test_dropping_unused_sls_needs_consent(up):
    f, sm = up(**SMALL)
    path = policy.write(f, sm, unused_sls="drop")
    refused(f, sm, path, "policy-drop", 2)
    r = f.ibqos("plan", path, "--allow-drop", "--format", "json").ok()
    assert r.json["tables"][0]["sl2vl"].split(",")[3] == "15" and r.json["tables"][0]["sl2vl"].split(",")[0] == "0"


def test_opensm_killed_before_apply_is_seen(up):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    os.kill(sm.pid, signal.SIGKILL)
    sm.process.wait()
    refused(f, sm, path, "opensm-not-running", 3)
