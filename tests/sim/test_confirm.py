# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""apply --confirm-within: the change stays if somebody confirms it, else a timer undoes it, and where it must not, it
raises an alarm. The timer is a systemd-run of the test's own on PATH, which keeps what it was told; the test fires it."""
import os
import re
import time

import pytest

from kit import opensm, policy, run

SMALL = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=1)
FAKE = """#!/bin/sh
printf '%s\\n' "$@" >"$0.said"
{}
"""


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except FileNotFoundError:
        return None


class Rig:
    def __init__(self, f, sm):
        self.f, self.sm = f, sm
        self.bin = f.path("bin")
        os.mkdir(self.bin)
        self.fake("systemd-run", "exit 0")
        self.fake("systemctl", "exit 0")
        self.env = {"PATH": f"{self.bin}:/usr/bin:/bin:/usr/sbin"}
        self.path = policy.write(f, sm)
        self.old = self.files()

    def fake(self, name, does):
        path = os.path.join(self.bin, name)
        with open(path, "w", encoding="ascii") as script:
            script.write(FAKE.format(does))
        os.chmod(path, 0o755)

    def said(self, name):
        text = read(os.path.join(self.bin, f"{name}.said"))
        return None if text is None else text.decode().splitlines()

    def files(self):
        return read(self.sm.config), read(self.sm.policy)

    def ibqos(self, *args, env=None, **kwargs):
        return self.f.ibqos(args[0], "--state-dir", self.f.path("state"), "--format", "json", *args[1:],
                            env={**self.env, **(env or {})}, **kwargs)

    def apply(self, *args, **kwargs):
        return self.ibqos("apply", self.path, "--confirm-within", "10m", *args, **kwargs)

    def timer(self):
        """What the timer runs, with its report as JSON."""
        said = self.said("systemd-run")
        return [*said[said.index("--") + 1:], "--format", "json"]

    def fire(self, **kwargs):
        words = self.timer()
        return self.f.ibqos(*words[1:], binary=words[0], env=self.env, **kwargs)

    def is_old(self):
        """As before, but for `qos`, which a way back writes."""
        def rest(text):
            return [line for line in text.splitlines() if line.split()[:1] != [b"qos"]]

        now = self.files()
        return now[1] == self.old[1] and rest(now[0]) == rest(self.old[0])

    def journal(self):
        folder = self.f.path("state/history")
        return read(os.path.join(folder, sorted(os.listdir(folder))[-1], "journal")).decode()


@pytest.fixture
def rig(up):
    return Rig(*up(**SMALL))


def codes(r):
    return {x["code"] for x in r.json["findings"] if x["severity"] != "note"}


def test_nobody_confirms(rig):
    begin = time.time()
    r = rig.apply().ok()
    change = r.json["apply"]["confirm"]
    assert os.path.basename(r.json["apply"]["history"]) == change
    said = rig.said("systemd-run")
    assert {f"--unit=ibqos-unconfirmed-{change}", "--on-active=600s"} <= set(said[:said.index("--")])
    words = rig.timer()
    assert os.path.samefile(words[0], run.binary()) and words[1] == "rollback"
    assert words[-4:-2] == ["--unconfirmed", change] and "--deadline=60" in words
    assert f"--state-dir={rig.f.path('state')}" in words
    until = re.search(r" confirm waiting until (\S+Z), by timer", rig.journal())[1]
    assert 590 < time.mktime(time.strptime(until, "%Y-%m-%dT%H:%M:%SZ")) - time.timezone - begin < 700
    rig.f.ibqos("verify", rig.path).ok()
    r = rig.fire().ok()
    assert r.json["apply"]["outcome"] == "rolled back" and rig.is_old()
    assert f"change {change}: rolled back" in r.stderr
    assert rig.f.ibqos("verify", rig.path).returncode == 2
    # once more does nothing, and it is too late now
    r = rig.fire().ok()
    assert r.json["apply"]["outcome"].startswith("nothing to do") and rig.is_old()
    assert codes(rig.ibqos("confirm", change).ok(2)) == {"confirm-too-late"}
    assert codes(rig.ibqos("confirm").ok(3)) == {"confirm-not-waiting"}


def test_the_timer_asks_as_the_change_did(rig, ibqos):
    """The same port and keys, whatever folder it is run in; and what is printed confirms this change."""
    for name in ("keys", "m_key"):
        with open(rig.f.path(name), "w", encoding="ascii") as f:
            f.write("0x0\n" if name == "m_key" else "")
        os.chmod(rig.f.path(name), 0o600)
    guid = rig.f.net.first.port_guid()
    r = rig.f.ibqos("apply", rig.path, "--confirm-within", "10m", "--port-guid", hex(guid), "--guid2mkey", "keys", "-y", "m_key",
                    "--state-dir", "state", env=rig.env).ok()
    assert {f"--port-guid=0x{guid:016x}", f"--guid2mkey={rig.f.path('keys')}", f"--m_key={rig.f.path('m_key')}",
            f"--state-dir={rig.f.path('state')}"} <= set(rig.timer())
    assert re.search(r"^ *to be confirmed, or it is undone: ibqos confirm --state-dir state: +\d{8}T\d{6}Z", r.stdout, re.M), r.stdout
    assert rig.fire().ok().json["apply"]["outcome"] == "rolled back"
    r = ibqos("apply", "p.yaml", "--confirm-within", "10m", "--m_key", "prompt")
    assert r.returncode == 3 and "no terminal" in r.stderr


def test_confirmed(rig):
    change = rig.apply().ok().json["apply"]["confirm"]
    new = rig.files()
    r = rig.ibqos("confirm").ok()
    assert r.json["confirm"] == {"confirmed": True, "id": change}
    assert rig.said("systemctl") == ["stop", f"ibqos-unconfirmed-{change}.timer"]
    # a timer that fires all the same keeps it
    r = rig.fire().ok()
    assert r.json["apply"]["outcome"].startswith("nothing to do") and "reloads" in r.json["apply"]
    assert rig.files() == new
    rig.f.ibqos("verify", rig.path).ok()
    rig.ibqos("confirm", change).ok()
    r = rig.ibqos("confirm", "20000101T000000Z").ok(3)
    assert codes(r) == {"confirm-not-waiting"}
    assert policy.codes(r)["confirm-not-waiting"][0]["got"] == "no change is called that"
    assert codes(rig.ibqos("confirm", "../state").ok(3)) == {"confirm-not-waiting"}
    # it can still be undone
    rig.ibqos("rollback").ok()
    assert rig.is_old()


@pytest.mark.parametrize("why", ["fails", "missing"])
def test_no_timer_no_change(rig, why):
    if why == "fails":
        rig.fake("systemd-run", "echo 'System has not been booted with systemd' >&2; exit 1")
        said = "System has not been booted with systemd"
    else:
        os.unlink(os.path.join(rig.bin, "systemd-run"))
        rig.env = {"PATH": rig.bin}
        said = "No such file or directory"
    sweeps = rig.sm.sweeps()
    r = rig.apply().ok(3)
    assert codes(r) == {"apply-no-timer"} and policy.codes(r)["apply-no-timer"][0]["got"] == said
    assert r.json["apply"]["outcome"] == "refused, nothing was touched"
    assert rig.files() == rig.old and rig.sm.sweeps() == sweeps
    assert codes(rig.ibqos("rollback").ok(3)) == {"apply-no-history"}


def test_the_timer_touches_nothing_that_somebody_has_edited(rig):
    rig.apply().ok()
    with open(rig.sm.config, "ab") as conf:
        conf.write(b"max_wire_smps 7\n")
    edited = rig.files()
    r = rig.fire().ok(2)
    assert "apply-not-undone" in codes(r) and rig.files() == edited
    assert "is NOT undone: refused, nothing was touched: the files in place are not those of the change" in r.stderr
    rig.f.ibqos("verify", rig.path).ok(0, 1)
    # it still waits
    rig.ibqos("confirm").ok()


def test_the_timer_touches_nothing_where_another_opensm_is_master(fabric):
    f = fabric(**SMALL)
    a = f.opensm(options=opensm.PAIR, sm_priority=3)
    rig = Rig(f, a)
    rig.apply().ok()
    new = rig.files()
    b = f.opensm(host="gpu-002", options=opensm.PAIR, sm_priority=5)
    a.wait_state("STANDBY")
    sweeps = b.sweeps()
    r = rig.fire().ok(2)
    assert "apply-not-undone" in codes(r) and rig.files() == new and "not the master any more" in r.stderr
    b.wait_sweep(sweeps)
    b.kill()


def test_the_timer_without_an_opensm(rig):
    rig.apply().ok()
    new = rig.files()
    rig.sm.kill()
    r = rig.fire().ok(2)
    assert "apply-not-undone" in codes(r) and rig.files() == new


def test_one_change_waits_at_a_time(rig):
    rig.apply().ok()
    new = rig.files()
    for args in ((), ("--confirm-within", "20m")):
        r = rig.ibqos("apply", rig.path, *args).ok(3)
        assert codes(r) == {"apply-unconfirmed"} and rig.files() == new
    # undone by hand the timer has nothing to do, and the way is free
    rig.ibqos("rollback").ok()
    assert rig.said("systemctl")[0] == "stop"
    assert rig.fire().ok().json["apply"]["outcome"].startswith("nothing to do") and rig.is_old()
    rig.ibqos("apply", rig.path).ok()


def test_the_timer_of_a_change_that_was_cut_short(rig):
    """Killed after OpenSM was told: nobody can confirm that, and the timer undoes it."""
    trace = rig.f.path("trace")
    rig.apply(binary=run.fault_binary(), env={"IBQOS_FAULT_TRACE": trace}).ok()
    number = next(int(line.split()[0]) for line in read(trace).decode().splitlines() if line.split()[2] == "reloaded")
    rig.ibqos("rollback").ok()
    r = rig.apply(binary=run.fault_binary(), env={"IBQOS_FAULT": f"{number}:kill"})
    assert r.returncode == -9 and not rig.is_old()
    assert codes(rig.ibqos("confirm").ok(3)) == {"confirm-cut-short"}
    assert rig.fire().ok().json["apply"]["outcome"] == "rolled back" and rig.is_old()


def test_a_change_that_fails_waits_for_nobody(rig):
    rig.sm.rules("node=leaf-01 attr=SL2VL method=set : status=0x1c")
    r = rig.apply("--deadline", "3").ok(2)
    assert r.json["apply"]["outcome"] == "rolled back" and "confirm" not in r.json["apply"]
    assert rig.said("systemctl")[0] == "stop"
    assert rig.fire().ok().json["apply"]["outcome"].startswith("nothing to do")


def test_the_timer_fires_while_the_change_is_made(rig):
    """It waits until that is over; what has come of it is undone."""
    rig.sm.pause()
    argv = [run.binary(), "apply", rig.path, "--confirm-within", "10m", "--deadline", "30", "--state-dir", rig.f.path("state")]
    env = {**rig.f.env(), **rig.env}
    p = run.start(argv, cwd=rig.f.dir, env=env)
    run.deadline(20, "new files", lambda: os.path.exists(rig.sm.policy) and b" converge " in rig.journal().encode())
    words = rig.timer()
    timer = run.start(words, cwd=rig.f.dir, env=env, stdout=-3)
    time.sleep(0.5)
    assert timer.poll() is None and not rig.is_old()
    rig.sm.resume()
    assert p.wait(60) == 0
    assert timer.wait(60) == 0 and rig.is_old()


@pytest.mark.parametrize("time_", ["60", "1m", "0", "10x", "m", "-5m", "900h"])
def test_times_that_make_no_sense(ibqos, time_):
    r = ibqos("apply", "x.yaml", f"--confirm-within={time_}")
    assert r.returncode == 3 and "--confirm-within" in r.stderr
