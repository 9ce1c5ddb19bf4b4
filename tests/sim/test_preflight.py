# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What an apply finds out before it touches a file, and what it refuses for it. OpenSM is real, its answers too."""
import os
import re
import socket
import threading

import pytest

from kit import opensm, policy, run

SMALL = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=1)


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except FileNotFoundError:
        return None


def files(sm):
    return read(sm.config), read(sm.policy)


def apply(f, path, *args, **kwargs):
    return f.ibqos("apply", path, "--format", "json", "--state-dir", f.path("state"), *args, **kwargs)


def serious(r):
    return {x["code"] for x in r.json["findings"] if x["severity"] != "note"}


def refused(f, sm, path, codes, *exit_codes, args=()):
    """Refused for these reasons and no other, with nothing touched."""
    old = files(sm)
    history = sorted(os.listdir(f.path("state/history"))) if os.path.exists(f.path("state/history")) else None
    r = apply(f, path, *args).ok(*exit_codes)
    assert serious(r) == codes and r.json["apply"]["outcome"].startswith("refused"), r
    assert files(sm) == old
    assert (sorted(os.listdir(f.path("state/history"))) if os.path.exists(f.path("state/history")) else None) == history
    for finding in r.json["findings"]:
        assert finding["title"] and finding["advice"]
    return r


def with_console(**options):
    port = opensm.free_port()
    return {"console": "loopback", "console_port": str(port), **options}


def file_row(r, name):
    return next(x for x in r.json["files"] if x["file"] == name)


# --- what is shown ---


def test_all_is_shown(up):
    f, sm = up(options=with_console(sm_priority="7"), **SMALL)
    path = policy.write(f, sm)
    r = apply(f, path).ok()
    p = r.json["preflight"]
    log = sm.log()
    assert p["pid"] == sm.pid and p["command_line"] == f"opensm -F {sm.config} -f {sm.log_file}" and p["unit"] == "none"
    assert "OpenSM " + p["version"] in log.splitlines()[0] and p["version_from"] == "its program"
    assert (p["config"], p["config_given"], p["log"]) == (sm.config, True, sm.log_file)
    guid = int(re.search(r"class 0x81 binding to port GUID (0x\w+)", log)[1], 16)
    assert int(p["port_guid"], 16) == guid and p["engine"] == sm.engine() == "minhop"
    assert (p["options_from"], p["master_here"]) == ("its console", "yes")
    (row,) = r.json["subnet_managers"]
    assert row == {"node": "gpu-001 mlx5_0", "port_guid": p["port_guid"], "state": "master", "priority": 7,
                   "master": True, "here": "yes", "files": None}
    assert [x["file"] for x in r.json["files"]] == ["opensm.conf", "qos-policy", "partitions", "prefix routes"]
    conf = file_row(r, "opensm.conf")
    assert (conf["path"], conf["exists"], conf["writable"], conf["pending"], conf["against"], conf["critical"]) == (
        sm.config, True, "yes", "no", "its console", 0)
    assert 0 < conf["free_bytes"] and 0 < r.json["before"]["state_free_bytes"]
    assert r.json["before"]["no_answer"] == 0 and r.json["before"]["drift_known"] is False  # QoS was off
    # in text before the change is reported, and as much
    text = f.ibqos("apply", path, "--state-dir", f.path("state")).ok().stdout
    for line in (f"process: {sm.pid}", "version: 3.3.23 (by its program): upstream", f"config: {sm.config}",
                 "routing engine in use: minhop", "options it runs with: its console", "it is the master: yes",
                 "places without an answer: 0"):
        assert line in text and text.index(line) < text.index("\napply:"), line


def test_console_and_log_away(up):
    """What nothing tells is unknown, not guessed; the version is the program's all the same."""
    f, sm = up(sm=dict(log="stdout"), **SMALL)
    path = f.path("policy.yaml")
    with open(path, "w", encoding="ascii") as y:
        y.write(policy.text(sm).replace(f"  log: {sm.log_file}\n", ""))
    r = apply(f, path).ok(1)
    p = r.json["preflight"]
    (finding,) = policy.codes(r)["apply-master-unknown"]
    assert (finding["file"], finding["got"]) == (sm.config, f"process {p['pid']}, on an unknown port")
    assert (p["log"], p["engine"], p["port_guid"], p["options_from"], p["master_here"]) == ("none", None, None, None, None)
    assert p["version"] == "3.3.23"


def test_port_of_something_else_is_not_talked_to(up):
    """The config names a console port that another program has: not a byte is sent to it."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        got = []

        def serve():
            with listener.accept()[0] as s:
                s.sendall(b"220 mail ready\r\n")
                s.settimeout(30)
                try:
                    got.append(s.recv(100))
                except OSError as e:
                    got.append(e)

        f, sm = up(**SMALL)
        sm.write_config(console="loopback", console_port=str(listener.getsockname()[1]))
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        p = apply(f, policy.write(f, sm)).ok().json["preflight"]
        thread.join(30)
        assert p["options_from"] is None and got == [b""]


def test_drift_is_counted(up):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    apply(f, path).ok()
    f.rules("node=gpu-002 attr=VLArb mod=0x00010000 : set entry0=5:9")
    before = f.ibqos("verify", path, "--format", "json").json["ports"]["differ"]
    r = apply(f, path, "--deadline", "3", "--max-lag", "100").ok(2)
    assert before > 0 and r.json["before"]["drift_differ"] == before
    (note,) = policy.codes(r)["apply-drift"]
    assert note["severity"] == "note" and "until OpenSM is restarted" in note["advice"]


def test_drift_is_not_what_apply_repairs(up):
    """Files are as they should be and OpenSM sends no table that it has sent already: nothing is tried in vain."""
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    apply(f, path).ok()
    old, sweeps, changes = files(sm), sm.log().count("SUBNET UP"), os.listdir(f.path("state/history"))
    f.rules("node=gpu-002 attr=VLArb mod=0x00010000 : set entry0=5:9")
    r = apply(f, path).ok(2)
    result = r.json["apply"]
    assert result["outcome"].startswith("nothing to install: the files are right") and "restart OpenSM" in result["outcome"]
    assert (result["reloads"], result["installed"], result["rolled_back"]) == (0, True, False)
    assert serious(r) == {"vlarb-differs"} and r.json["ports"]["differ"] == r.json["before"]["drift_differ"] > 0
    assert {x["class"] for x in policy.codes(r)["vlarb-differs"]} == {"drifted"}
    assert files(sm) == old and os.listdir(f.path("state/history")) == changes
    assert sm.log().count("SUBNET UP") == sweeps
    text = f.ibqos("apply", path, "-q", "--state-dir", f.path("state")).ok(2).stdout
    assert re.search(r"^outcome: nothing to install: ", text, re.M) and "classes:" not in text
    f.rules("")
    assert apply(f, path).ok().json["apply"]["unchanged"]


def test_drift_beside_a_change(up):
    """A change of shares leaves SL2VL as it is, so that OpenSM does not send it to a port that has drifted there: neither
    waiting nor the way back would mend it. The change stays, the port is named, and nothing waits for the deadline."""
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    apply(f, path).ok()
    old, changes = files(sm), os.listdir(f.path("state/history"))
    f.rules("node=gpu-002 attr=SL2VL : set SL1=0")
    path = policy.write(f, sm, (policy.TRAINING, dict(policy.STORAGE, share="10%"), dict(policy.OTHER, share="20%")))
    # for ever, and not one port may lag
    r = apply(f, path, "--deadline", "3600", "--max-lag", "0").ok(2)
    result = r.json["apply"]
    assert result["outcome"].startswith("applied, but ports that had drifted") and "restart OpenSM" in result["outcome"]
    assert result["installed"] and not result["rolled_back"] and result["reloads"] == 2
    assert serious(r) == {"sl2vl-differs"} and r.json["ports"]["differ"] == 1
    assert {(x["node"], x["class"]) for x in policy.codes(r)["sl2vl-differs"]} == {("gpu-002 mlx5_0", "drifted")}
    assert files(sm) != old and len(os.listdir(f.path("state/history"))) == len(changes) + 1
    # what the change alters is there on all ports, the drifted one too
    v = f.ibqos("verify", path, "--format", "json").ok(2)
    assert serious(v) == {"sl2vl-differs"} and v.json["ports"]["differ"] == 1
    # and back: the old tables have the same drift
    back = f.ibqos("rollback", "--state-dir", f.path("state"), "--deadline", "3600", "--format", "json").ok(2)
    assert "1 of " in policy.codes(back)["apply-rolled-back"][0]["got"]
    assert files(sm) == old


# --- whose OpenSM it is ---


@pytest.mark.parametrize("version, flavour", [("3.3.19", "not tested with"), ("5.17.0", "NVIDIA's"), ("", "not known")])
def test_another_flavour(up, tmp_path, version, flavour):
    """By the program that runs, not by the one that is installed."""
    f, sm = up(sm=dict(program=opensm.versioned(tmp_path / "other", version)), **SMALL)
    assert f"OpenSM {version}" in sm.log()
    path = policy.write(f, sm)
    r = refused(f, sm, path, {"apply-flavour"}, 3)
    found = policy.codes(r)["apply-flavour"][0]
    assert flavour in found["got"] and found["got"].startswith(version or "version not known")
    assert r.json["preflight"]["version"] == (version or None)
    r = apply(f, path, "--force-flavour").ok(1)
    assert serious(r) == {"apply-flavour"} and r.json["apply"]["outcome"] == "applied"
    # the way back is never closed
    assert "apply-flavour" not in policy.codes(f.ibqos("rollback", "--format", "json", "--state-dir", f.path("state")).ok())


def test_two_masters(fabric):
    """Two that do not see each other: one was told to ignore all others."""
    f = fabric(**SMALL)
    a = f.opensm(options=opensm.PAIR)
    b = f.opensm(host="gpu-002", wait=None, options=dict(opensm.PAIR, ignore_other_sm="TRUE"))
    b.wait_state("MASTER")
    path = policy.write(f, a)
    r = apply(f, path)
    assert "sm-two-masters" in serious(r.ok(2)), r
    assert {x["state"] for x in r.json["subnet_managers"]} == {"master"} and not os.path.exists(f.path("state"))


# --- edits of others ---


def test_pending_edit_told_by_the_console(up):
    f, sm = up(options=with_console(), **SMALL)
    path = policy.write(f, sm)
    sm.write_config(sweep_interval="77", m_key="0x1234", routing_engine="updn", subnet_timeout="0x12", log_flags="3")
    r = refused(f, sm, path, {"apply-pending-edits"}, 3)
    # the same number otherwise written is none, nor is a key that a reload does not read
    assert {(x["what"], x["wanted"], x["got"]) for x in policy.codes(r)["apply-pending-edits"]} == {
        ("sweep_interval", "10", "77"), ("m_key", "(not shown)", "(not shown)")}
    lines = open(sm.config, encoding="ascii").read().splitlines()
    for x in policy.codes(r)["apply-pending-edits"]:
        assert x["file"] == sm.config and lines[x["line"] - 1].startswith(x["what"] + " ")
    assert file_row(r, "opensm.conf")["changes"] == 2
    sm.write_config(m_key=None, routing_engine=None)
    r = apply(f, path, "--include-pending").ok(1)
    assert serious(r) == {"apply-pending-edits"} and r.json["apply"]["outcome"] == "applied"
    assert re.search(r"^sweep_interval 77$", sm.console("dump_conf"), re.M)
    # now it is in force
    assert serious(apply(f, path).ok()) == set()


def test_options_of_the_command_line_are_no_edits(up):
    f, sm = up(options=with_console(), args=["-s", "33", "-p", "5"], **SMALL)
    assert serious(apply(f, policy.write(f, sm)).ok()) == set()


def test_pending_edit_told_by_history(up):
    """No console: what the last apply left there tells. Keys count, not comments."""
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    sm.restart()  # well after the file was written
    r = apply(f, path).ok()
    assert file_row(r, "opensm.conf")["against"] == "its start" and file_row(r, "opensm.conf")["pending"] == "no"
    conf = read(sm.config)
    with open(sm.config, "ab") as c:
        c.write(b"# a word of mine\n")
    assert serious(apply(f, path).ok()) == set()
    with open(sm.config, "ab") as c:
        c.write(b"sweep_interval 99\n")
    r = refused(f, sm, path, {"apply-pending-edits"}, 3)
    found = policy.codes(r)["apply-pending-edits"][0]
    assert (found["what"], found["wanted"], found["got"]) == ("sweep_interval", "10", "99")
    assert file_row(r, "opensm.conf")["against"] == "history"
    # OpenSM has read it since: it was started again
    sm.restart()
    r = apply(f, path).ok()
    assert file_row(r, "opensm.conf")["against"] == "its start" and read(sm.config).startswith(conf[:20])


def test_pending_edit_of_partitions(up):
    f, sm = up(sm=dict(partitions="Default=0x7fff, ipoib: ALL=full;\n"), **SMALL)
    path = policy.write(f, sm)
    apply(f, path).ok()
    with open(sm.partitions, "a", encoding="ascii") as p:
        p.write("two=0x2: ALL=full;\n")
    r = refused(f, sm, path, {"apply-pending-edits"}, 3)
    assert policy.codes(r)["apply-pending-edits"][0]["file"] == sm.partitions
    # a fault in it takes all partitions away with the reload: no consent helps
    with open(sm.partitions, "a", encoding="ascii") as p:
        p.write("nonsense\n")
    r = refused(f, sm, path, {"apply-pending-edits", "opensm-partitions-refused"}, 2, args=["--include-pending"])
    assert file_row(r, "partitions")["critical"] == 1
    with open(sm.partitions, "w", encoding="ascii") as p:
        p.write("Default=0x7fff, ipoib: ALL=full;\ntwo=0x2: ALL=full;\n")
    r = apply(f, policy.write(f, sm, [policy.TRAINING, dict(policy.OTHER, share="30%")]), "--include-pending").ok(1)
    assert serious(r) == {"apply-pending-edits"} and r.json["apply"]["outcome"] == "applied"


def test_pending_edit_of_the_rules(up):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    apply(f, path).ok()
    with open(sm.policy, "a", encoding="ascii") as p:
        p.write("# mine\n")
    r = refused(f, sm, path, {"apply-pending-edits"}, 3)
    assert policy.codes(r)["apply-pending-edits"][0]["file"] == sm.policy
    assert serious(apply(f, path, "--include-pending").ok(1)) == {"apply-pending-edits"}


def test_not_known_where_nothing_tells(up):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    sm.write_config(sweep_interval="11")
    r = apply(f, path).ok()
    assert [x["file"] for x in policy.codes(r)["apply-pending-unknown"]] == [sm.config]
    assert file_row(r, "opensm.conf")["pending"] is None
    assert "apply-master-unknown" not in policy.codes(r)  # the log tells


def test_prefix_routes(up, tmp_path):
    routes = tmp_path / "routes"
    routes.write_text("# c\n\n* *\nfe80 0x1234\nfe80\nxyz 1\n1 2g\n1 2#c\n")
    f, sm = up(options={"prefix_routes_file": str(routes)}, **SMALL)
    r = apply(f, policy.write(f, sm)).ok()
    row = file_row(r, "prefix routes")
    assert (row["path"], row["exists"], row["warnings"], row["critical"]) == (str(routes), True, 3, 0)
    # OpenSM's own word: the same lines
    said = re.findall(rf"{routes}:(\d+): (?:missing|illegal)", sm.log())
    assert sorted(set(said)) == ["5", "6", "7"]


# --- room ---


def test_disk_too_full_for_the_history(up, tmp_path):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    small = tmp_path / "small"
    small.mkdir()
    script = f'mount -t tmpfs -o size=64k none {small} && exec "$@"'
    r = f.run("unshare", "-m", "sh", "-c", script, "sh", run.binary(), "apply", path, "--format", "json", "--state-dir",
              str(small / "state")).ok(3)
    assert serious(r) == {"apply-no-room"} and r.json["before"]["state_free_bytes"] == 65536
    assert not os.path.exists(sm.policy)
