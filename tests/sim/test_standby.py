# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Staging, waiting, standby subnet managers and a restart: what other hosts and tools have a part in."""
import contextlib
import os
import re
import shutil
import subprocess
import threading

import pytest

from kit import opensm, policy, run

SMALL = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=1)
TWO = [policy.TRAINING, dict(policy.OTHER, share="30%")]


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except FileNotFoundError:
        return None


def files(sm):
    return read(sm.config), read(sm.policy)


def state(f):
    return ["--state-dir", f.path("state")]


def apply(f, path, *args, **kwargs):
    return f.ibqos("apply", path, "--format", "json", *state(f), *args, **kwargs)


def serious(r):
    return {x["code"] for x in r.json["findings"] if x["severity"] != "note"}


def pair(f, **standby):
    a = f.opensm(options=opensm.PAIR, sm_priority=5)
    return a, f.opensm(wait="STANDBY", host="gpu-002", options=opensm.PAIR, **{"sm_priority": 3, **standby})


def keep(r):
    return r.json["preflight"]["digest"]


def run_steps(text, host, sm, master, tmp_path):
    """The commands that were printed for a host, as an admin would run them: ssh is a shell here, its files are
    those of that host's OpenSM, which is one of several here. Returns what the hash command printed."""
    bin_ = tmp_path / "bin"
    bin_.mkdir(exist_ok=True)
    (bin_ / "ssh").write_text('#!/bin/sh\nshift\nexec sh -c "$*"\n')
    (bin_ / "ssh").chmod(0o755)
    lines = text.splitlines()
    mine = lines[next(i for i, line in enumerate(lines) if line.startswith(f"# {host}")):]
    mine = mine[:next(i for i, line in enumerate(mine) if line.startswith("ibqos apply --standby"))]
    script = "\n".join(mine).replace(master.config, sm.config).replace(master.policy, sm.policy)
    r = subprocess.run(["sh", "-e", "-c", script], env=dict(os.environ, PATH=f"{bin_}:{os.environ['PATH']}"), check=True,
                       capture_output=True, text=True, timeout=60)
    return r.stdout.split()[0]


# --- staging ---


def test_stage_writes_elsewhere_and_changes_nothing(up, tmp_path):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    old, sweeps = files(sm), sm.sweeps()
    staged = tmp_path / "to/stage"
    r = apply(f, path, "--stage", str(staged)).ok()
    assert r.json["apply"]["outcome"].startswith("staged") and not r.json["apply"]["installed"]
    assert files(sm) == old and sm.sweeps() == sweeps and not os.path.exists(f.path("state"))
    assert sorted(os.listdir(staged)) == ["opensm.conf", "qos-keys.conf", "qos-policy.conf"]
    text = f.ibqos("apply", path, "--stage", str(staged), *state(f)).ok().stdout
    for line in (f"cp {staged}/qos-policy.conf {sm.policy}", f"cp {staged}/opensm.conf {sm.config}",
                 f"kill -HUP {sm.pid}", f"ibqos apply --wait-only --state-dir {f.path('state')} {path}"):
        assert f"\n{line}\n" in r.json["to_do"] or r.json["to_do"].startswith(line), r.json["to_do"]
        assert line in text
    # the steps, as they are printed but for the last; another tool would do the same
    script = r.json["to_do"].replace(f"ibqos apply --wait-only --state-dir {f.path('state')} {path}\n", "")
    subprocess.run(["sh", "-e", "-c", script], check=True)
    r = f.ibqos("apply", path, "--wait-only", "--format", "json").ok()
    assert r.json["apply"]["outcome"] == "every port holds the tables" and r.json["ports"]["differ"] == 0
    f.ibqos("verify", path).ok()
    # what it wrote is what an apply writes
    assert apply(f, path).ok().json["apply"]["unchanged"]


def test_stage_for_an_opensm_that_is_not_known(up, tmp_path):
    f, sm = up(sm=dict(program=opensm.versioned(tmp_path / "other", "5.17.0")), **SMALL)
    r = apply(f, policy.write(f, sm), "--stage", str(tmp_path / "s")).ok(1)
    assert serious(r) == {"apply-flavour"} and "reload it as its vendor says" in r.json["to_do"]
    assert f"{sm.pid}" not in r.json["to_do"].replace(sm.dir, "")


def test_stage_where_no_opensm_runs(up, tmp_path):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    sm.stop()
    r = apply(f, path, "--stage", str(tmp_path / "s")).ok()
    assert r.json["preflight"]["pid"] == 0 and "pidof opensm" in r.json["to_do"]


def test_stage_refuses_what_opensm_would(up, tmp_path):
    f, sm = up(sm=dict(partitions="Default=0x7fff, ipoib: ALL=full;\n"), **SMALL)
    with open(sm.partitions, "w", encoding="ascii") as p:
        p.write("nonsense\n")
    r = apply(f, policy.write(f, sm), "--stage", str(tmp_path / "s")).ok(2)
    assert "opensm-partitions-refused" in serious(r) and not os.path.exists(tmp_path / "s")


def test_stage_where_nothing_can_be_written(up, tmp_path):
    f, sm = up(**SMALL)
    (tmp_path / "file").write_text("")
    r = apply(f, policy.write(f, sm), "--stage", str(tmp_path / "file/s")).ok(3)
    assert serious(r) == {"apply-not-writable"}


# --- waiting ---


def test_wait_only_to_the_deadline(up):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    old, sweeps = files(sm), sm.sweeps()
    r = f.ibqos("apply", path, "--wait-only", "--deadline", "1", "--format", "json").ok(2)
    assert r.json["apply"]["outcome"] == "not every port holds the tables"
    assert {"apply-lag", "sl2vl-differs"} <= serious(r) and r.json["ports"]["differ"] == r.json["ports"]["looked_at"]
    assert files(sm) == old and sm.sweeps() == sweeps


def test_wait_only_waits(up):
    """Another tool deploys while ibqos waits."""
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    apply(f, path, "--stage", f.path("s")).ok()
    argv = [run.binary(), "apply", path, "--wait-only", "--format", "json"]
    with open(f.path("out"), "wb") as out:
        p = run.start(argv, cwd=f.dir, env=f.env(), stdin=subprocess.DEVNULL, stdout=out)
    try:
        shutil.copy(f.path("s/qos-policy.conf"), sm.policy)
        shutil.copy(f.path("s/opensm.conf"), sm.config)
        sm.hup()
        assert p.wait(60) == 0, read(f.path("out")).decode()
    finally:
        run.end(p)


def test_wait_only_where_the_sm_does_not_run_it(up):
    """The ports hold the tables, but OpenSM has not read the rules."""
    f, sm = up(**SMALL)
    apply(f, policy.write(f, sm)).ok()
    other = policy.write(f, sm, (dict(policy.TRAINING, nccl_ib_tc=45), policy.STORAGE, policy.OTHER), name="45.yaml")
    r = f.ibqos("apply", other, "--wait-only", "--deadline", "1", "--format", "json").ok(2)
    assert serious(r) == {"apply-failed", "sa-sl-differs"} and r.json["ports"]["differ"] == 0


def test_stage_and_wait_exclude_each_other(ibqos):
    r = ibqos("apply", "x.yaml", "--stage", "/tmp/x", "--wait-only").ok(3)
    assert "exclude each other" in r.stderr


# --- standbys ---


def test_standby_is_refused_then_confirmed(fabric, tmp_path):
    f = fabric(**SMALL)
    a, b = pair(f)
    path = policy.write(f, a)
    old = files(a)
    r = apply(f, path).ok(3)
    assert serious(r) == {"apply-standby"} and files(a) == old and not os.path.exists(f.path("state"))
    assert [(x["node"], x["state"], x["priority"], x["files"]) for x in r.json["subnet_managers"]] == [
        ("gpu-001 mlx5_0", "master", 5, None), ("gpu-002 mlx5_0", "standby", 3, "not known to be the same")]
    assert policy.codes(r)["apply-standby"][0]["node"] == "gpu-002 mlx5_0"
    assert "ssh gpu-002 " in r.json["to_do"]
    # nothing is staged yet: what makes the folder that is copied from comes first
    assert r.json["to_do"].splitlines()[1] == f"ibqos apply --stage STAGED --state-dir {f.path('state')} {path}"
    digest = keep(r)

    # what was printed, run; the hash that the standby's host prints is the one that is asked for
    r = apply(f, path, "--stage", str(tmp_path / "s")).ok()
    assert keep(r) == digest
    assert run_steps(r.json["to_do"], "gpu-002", b, a, tmp_path) == digest
    assert read(b.policy) == read(tmp_path / "s/qos-policy.conf") and b"sm_priority 3\n" in read(b.config)

    wrong = digest[:-1] + ("0" if digest[-1] != "0" else "1")
    r = apply(f, path, "--standby", f"gpu-002:{wrong}").ok(3)
    assert serious(r) == {"apply-standby-differs"} and files(a) == old
    assert (policy.codes(r)["apply-standby-differs"][0]["wanted"], policy.codes(r)["apply-standby-differs"][0]["got"]) == (
        digest, wrong)
    assert serious(apply(f, path, "--standby", f"gpu-003:{digest}").ok(3)) == {"apply-standby", "apply-standby-none"}
    assert files(a) == old

    r = apply(f, path, "--standby", f"gpu-002:{digest.upper()}").ok()
    assert r.json["apply"]["outcome"] == "applied" and r.json["subnet_managers"][1]["files"] == "confirmed"
    assert "to_do" not in r.json
    f.ibqos("verify", path, *state(f)).ok()
    # that stays known, for these files
    r = apply(f, path).ok()
    assert r.json["apply"]["unchanged"] and r.json["apply"]["reloads"] == 0
    assert serious(apply(f, policy.write(f, a, TWO, name="two.yaml")).ok(3)) == {"apply-standby"}
    # and it holds: the standby takes over and not one port changes
    a.kill()
    b.wait_state("MASTER")
    b.wait_up()
    f.ibqos("verify", path, host="gpu-003").ok()


def test_standby_later(fabric, tmp_path):
    f = fabric(**SMALL)
    a, b = pair(f)
    path = policy.write(f, a)
    r = apply(f, path, "--standby-later").ok(1)
    assert serious(r) == {"apply-standby-later"} and r.json["apply"]["outcome"] == "applied"
    assert "ssh gpu-002 " in r.json["to_do"]
    # until it is done, each says so
    r = f.ibqos("verify", path, "--format", "json", *state(f)).ok(1)
    assert serious(r) == {"apply-standby-later"} and "gpu-002" in policy.codes(r)["apply-standby-later"][0]["what"]
    r = apply(f, path).ok(1)
    assert r.json["apply"]["unchanged"] and serious(r) == {"apply-standby-later"}
    r = apply(f, path, "--stage", str(tmp_path / "s")).ok()
    digest = run_steps(r.json["to_do"], "gpu-002", b, a, tmp_path)
    guid = r.json["subnet_managers"][1]["port_guid"]
    assert apply(f, path, "--standby", f"{guid}:{digest}").ok().json["apply"]["unchanged"]
    assert serious(f.ibqos("verify", path, "--format", "json", *state(f)).ok()) == set()
    # back, and the standby has the new files
    r = f.ibqos("rollback", "--format", "json", *state(f)).ok(1)
    assert serious(r) == {"apply-standby-later"} and r.json["apply"]["rolled_back"]


def test_standby_that_does_not_answer_is_one(fabric):
    """Whoever says that there is an SM on its port may take over."""
    f = fabric(**SMALL)
    a, _ = pair(f)
    f.rules("node=gpu-002 attr=SMInfo : timeout")
    r = apply(f, policy.write(f, a), "-t", "20", "--retries", "1").ok(3)
    assert serious(r) == {"apply-standby"} and r.json["subnet_managers"][1]["state"] == "no answer"


@pytest.mark.parametrize("bad", ["gpu-002", "gpu-002:", ":" + 64 * "a", "gpu-002:" + 63 * "a", "gpu-002:" + 63 * "a" + "g"])
def test_what_is_no_confirmation(ibqos, bad):
    assert "64 hexadecimal digits" in ibqos("apply", "x.yaml", "--standby", bad).ok(3).stderr


def test_hash_by_shell_and_by_ibqos(up, tmp_path):
    """Configs as people write them, through the command that is printed."""
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    text = read(sm.config).decode()
    for number, conf in enumerate([
            text, text + "max_op_vls\t4 # mine\r\n", text + "  sm_sl   2\nsm_sl 3", text.replace("qos_policy_file", "#qos_policy_file"),
            text + "routing_engine updn,minhop\nqos_ca_max_vls 8\nqos_ca_sl2vl 0\n"]):
        with open(sm.config, "w", encoding="ascii", newline="") as c:
            c.write(conf)
        stage = tmp_path / f"s{number}"
        r = apply(f, path, "--stage", str(stage), "--allow-link-bounce")
        if "#qos_policy_file" in conf:
            assert "plan-policy-file" in serious(r)
            continue
        # in place of the master's files the staged ones; the command is that of a standby with the same
        command = digest_command(str(stage / "opensm.conf"))
        with open(stage / "opensm.conf", "a", encoding="ascii") as c:
            c.write(f"\nqos_policy_file {stage}/qos-policy.conf\n")
        got = subprocess.run(["sh", "-c", command], check=True, capture_output=True, text=True).stdout.split()[0]
        assert got == keep(r), conf


def digest_command(path):
    """As ibqos prints it, for another path."""
    keys = ("^(qos|qos_((ca|sw0|swe|rtr)_)?(high_limit|vlarb_high|vlarb_low|sl2vl)|max_op_vls|routing_engine|sm_sl)$")
    return (f"{{ sed 's/#.*//; s/\\r//g' {path} | awk 'BEGIN {{v[\"max_op_vls\"] = 5; v[\"routing_engine\"] = \"(null)\"; "
            f"v[\"sm_sl\"] = 0}} $1 ~ /{keys}/ {{v[$1] = $2}} END {{for (k in v) print k, v[k]}}' | LC_ALL=C sort; "
            f"cat \"$(sed 's/#.*//; s/\\r//g' {path} | awk '$1 == \"qos_policy_file\" {{p = $2}} "
            "END {print p ? p : \"/etc/opensm/qos-policy.conf\"}')\"; } | sha256sum")


# --- a restart ---


def service(sm, tmp_path, unit):
    """What makes ibqos see the process as a unit of systemd: its cgroup, in ibqos's own mounts."""
    cgroup = tmp_path / "cgroup"
    cgroup.write_text(f"1:name=systemd:/system.slice/{unit}\n0::/system.slice/{unit}\n")
    return ["nsenter", "-m", f"--wd={sm.fabric.dir}", "-t", str(sm.pid), "unshare", "-m", "sh", "-c",
            f'mount --bind {cgroup} /proc/{sm.pid}/cgroup && exec "$@"', "sh"]


def fake_systemctl(tmp_path):
    """Says what it was told, and waits until that was done."""
    folder = tmp_path / "path"
    folder.mkdir()
    tool = folder / "systemctl"
    tool.write_text(f'#!/bin/sh\necho "$*" >{tmp_path}/told\nwhile [ ! -e {tmp_path}/done ]; do sleep 0.05; done\n'
                    f"exit $(cat {tmp_path}/done)\n")
    tool.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def first_deployment(up, tmp_path):
    f, sm = up(sm=dict(etc=True, config=False, log="file"), **SMALL)
    path = f.path("policy.yaml")
    with open(path, "w", encoding="ascii") as y:
        y.write(policy.text(None) + f"opensm:\n  log: {sm.log_file}\n")
    return f, sm, path


def test_first_deployment_needs_a_restart(up, tmp_path):
    """Debian's OpenSM has no config: it was started without, and a reload reads none."""
    f, sm, path = first_deployment(up, tmp_path)
    r = apply(f, path, before=sm.inside()).ok(3)
    assert serious(r) == {"plan-config-missing", "apply-restart-needed"}
    assert [x["severity"] for x in policy.codes(r)["plan-config-missing"]] == ["warning"]  # as in plan
    assert "opensm -f" in policy.codes(r)["apply-restart-needed"][0]["detail"]  # no service: how it was started
    r = apply(f, path, "--allow-restart", before=sm.inside()).ok(3)
    assert "apply-restart-needed" in serious(r) and not os.listdir(sm.etc)
    r = apply(f, path, before=service(sm, tmp_path, "opensm@0x1.service")).ok(3)
    assert policy.codes(r)["apply-restart-needed"][0]["detail"] == "by hand: systemctl restart opensm@0x1.service"
    assert r.json["preflight"]["unit"] == "opensm@0x1.service" and not os.listdir(sm.etc)


@contextlib.contextmanager
def restarting(sm, tmp_path, status):
    """systemd's part: starts the OpenSM again once systemctl was called. What a thread started dies with it."""
    enough = threading.Event()

    def serve():
        run.deadline(30, "systemctl", lambda: (tmp_path / "told").exists())
        if status == 0:
            sm.restart(wait=False)
        (tmp_path / "done").write_text(f"{status}\n")
        enough.wait(60)

    thread = threading.Thread(target=serve)
    thread.start()
    yield
    enough.set()
    thread.join(60)


def test_first_deployment_with_a_restart(up, tmp_path):
    """ibqos runs where /etc/opensm is covered, in mounts that outlive the OpenSM that is ended."""
    f, sm, path = first_deployment(up, tmp_path)
    with restarting(sm, tmp_path, 0):
        r = apply(f, path, "--allow-restart", before=service(sm, tmp_path, "opensm.service"),
                  env=fake_systemctl(tmp_path)).ok(1)
        assert serious(r) == {"plan-config-missing"} and r.json["apply"]["outcome"] == "applied"
        assert r.json["apply"]["restarted"] and (tmp_path / "told").read_text() == "restart opensm.service\n"
        assert re.search(rb"^qos TRUE$", read(os.path.join(sm.etc, "opensm.conf")), re.M)
        f.ibqos("verify", path, "--format", "json", before=sm.inside()).ok()
        # the way back: QoS off again, which leaves a file where there was none
        f.ibqos("rollback", *state(f), before=sm.inside()).ok()
        assert re.search(rb"^qos FALSE$", read(os.path.join(sm.etc, "opensm.conf")), re.M)


def test_restart_that_fails(up, tmp_path):
    f, sm, path = first_deployment(up, tmp_path)
    with restarting(sm, tmp_path, 1):
        r = apply(f, path, "--allow-restart", "--deadline", "3", before=service(sm, tmp_path, "opensm.service"),
                  env=fake_systemctl(tmp_path)).ok(2)
    assert {"apply-failed", "apply-rolled-back"} <= serious(r)
    assert policy.codes(r)["apply-failed"][0]["got"] == "systemctl failed"
    assert read(os.path.join(sm.etc, "qos-policy.conf")) is None
