# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""M_Keys from a file, the terminal, OpenSM's guid2mkey and ibdiag.conf: what protected devices answer, and that no key shows."""
import os
import pty
import resource
import signal
import subprocess

import pytest

from kit import policy, run

SHAPE = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=1)
CONF = dict(qos="TRUE", qos_sl2vl="0,1,2,0,0,0,0,0,0,0,0,0,0,0,0,0", qos_vlarb_low="0:10,1:70,2:20",
            qos_vlarb_high="0:0", qos_high_limit="0")
KEY = 0x5EC2E7A5B1C3D4F6
SHORT = ("-t", "60", "--retries", "1")


@pytest.fixture
def guarded(up):
    f, sm = up(options=CONF, **SHAPE)
    f.rules(f"node=leaf-02 : mkey=0x{KEY:x}")
    return f, sm


def verify(f, sm, *args, **kwargs):
    r = f.ibqos("verify", "--opensm-conf", sm.config, "--format", "json", "-d", *args, **kwargs)
    for text in (r.stdout.lower(), r.stderr.lower()):
        assert f"{KEY:x}" not in text and str(KEY) not in text
    return r


def key_file(f, text, mode=0o600, name="key"):
    path = f.path(name)
    with open(path, "w", encoding="ascii") as k:
        k.write(text)
    os.chmod(path, mode)
    return path


def guid2mkey(f, keys):
    return key_file(f, "".join(f"0x{g:016x} 0x{k:016x}\n\n" for g, k in keys.items()), name="guid2mkey")


@pytest.mark.parametrize("walker", ["native", "libibnetdisc"])
def test_a_protected_switch(guarded, walker):
    f, sm = guarded
    args = (*SHORT, "--walker", walker)
    r = verify(f, sm, *args).ok(3)
    named = policy.codes(r)["no-answer"]
    assert [(x["node"], x["what"]) for x in named] == [("spine-01", "device behind this port")]
    assert "M_Key" in named[0]["advice"]
    path = key_file(f, f"# of the fabric\n0x{KEY:x}\n")
    assert not verify(f, sm, "-y", path, *args).ok(0).json["findings"]
    r = verify(f, sm, "--m_key", key_file(f, f"0x{KEY ^ 1:x}\n", name="wrong"), *args).ok(3)
    assert policy.codes(r)["no-answer"][0]["node"] == "spine-01"
    f.ibqos("audit", "-y", path, *SHORT).ok(0)
    f.ibqos("discover", "-y", path, *SHORT).ok(0)


def test_keys_by_port(guarded):
    """Each device gets its own, the most common one discovers; a key of its own that is wrong is silence from there."""
    f, sm = guarded
    leaf, first = f.net["leaf-02"], f.net["leaf-01"]
    path = guid2mkey(f, {leaf.guid: KEY, first.guid: KEY, 0x1234: 7})
    assert not verify(f, sm, "--guid2mkey", path, *SHORT).ok(0).json["findings"]
    other = guid2mkey(f, {leaf.guid: 7, first.guid: KEY, 0x1234: KEY})
    r = verify(f, sm, "--guid2mkey", other, *SHORT).ok(3)
    assert {(x["code"], x["node"]) for x in r.json["findings"]} == {("agent-silent", "leaf-02")}
    bad = key_file(f, f"0x{leaf.guid:x} 0x{KEY:x}\nnonsense 0x{KEY:x}\n0x{leaf.guid:x} 0x1\n0x1 0x{KEY:x}z\n", name="bad")
    r = verify(f, sm, "--guid2mkey", bad, *SHORT).ok(1)
    assert [(x["file"], x["line"]) for x in policy.codes(r)["key-file-bad"]] == [(bad, 2), (bad, 3), (bad, 4)]
    verify(f, sm, "--guid2mkey", f.path("nowhere"), *SHORT).ok(3)


def test_opensms_own_file(up):
    """OpenSM with an M_Key writes guid2mkey itself; what it wrote is read."""
    f, sm = up(options=dict(CONF, m_key=f"0x{KEY:x}", m_key_lease_period="60"), rules=[f"node=* : mkey=0x{KEY:x} protect=0"], **SHAPE)
    path = os.path.join(sm.dir, "guid2mkey")
    run.deadline(10, "guid2mkey", lambda: os.path.exists(path) and os.path.getsize(path) > 0)
    os.chmod(path, 0o600)
    f.rules(f"node=leaf-* : mkey=0x{KEY:x}", f"node=gpu-* : mkey=0x{KEY:x}")
    assert not verify(f, sm, "--guid2mkey", path, *SHORT).ok(0).json["findings"]
    verify(f, sm, *SHORT).ok(3)


def test_keys_that_are_none(guarded):
    f, sm = guarded
    for text in ("", "0x", "a key", f"0x{KEY:x} 0x1", f"0x{KEY:x}\n0x{KEY:x}\n", f"0x{KEY:x}0\n"):
        r = verify(f, sm, "-y", key_file(f, text), *SHORT).ok(3)
        assert "does not hold one key" in r.stderr and "ports" not in r.json
    r = f.ibqos("verify", "--opensm-conf", sm.config, "-y", f"0x{KEY:x}").ok(3)
    assert "anybody could read it" in r.stderr and f"{KEY:x}" not in r.stderr
    verify(f, sm, "-y", f.path("nowhere")).ok(3)
    r = verify(f, sm, "-y", key_file(f, f"0x{KEY:x}\n", mode=0o644), *SHORT).ok(0)
    assert "can be read by others" in r.stderr


def at_terminal(f, sm, typed):
    """Runs with a terminal of its own as /dev/tty; (exit code, what the terminal showed)."""
    main, side = pty.openpty()
    argv = ["setsid", "-c", run.binary(), "verify", "--opensm-conf", sm.config, "-y", "prompt", *SHORT]
    p = subprocess.Popen(argv, stdin=side, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=f.env(), cwd=f.dir)
    os.close(side)
    shown = b""
    while b"M_Key: " not in shown:
        shown += os.read(main, 100)
    os.write(main, typed.encode() + b"\n")
    _, err = p.communicate(timeout=60)
    try:
        shown += os.read(main, 1000)
    except OSError:
        pass
    os.close(main)
    return p.returncode, shown.decode(), err.decode()


def test_asked_for_at_the_terminal(guarded):
    f, sm = guarded
    code, shown, err = at_terminal(f, sm, f"0x{KEY:x}")
    assert code == 0 and shown.startswith("M_Key: ") and f"{KEY:x}" not in shown + err, (code, shown, err)
    code, shown, err = at_terminal(f, sm, "what")
    assert code == 3 and "no M_Key" in err and "what was typed" in err
    r = f.ibqos("verify", "--opensm-conf", sm.config, "-y", "prompt").ok(3)
    assert "there is no terminal" in r.stderr


def test_config_of_infiniband_diags(guarded):
    """Key, timeout and adapter from ibdiag.conf; the command line goes before it; faults by line."""
    f, sm = guarded
    path = key_file(f, f"# ours\nm_key=0x{KEY:x}\ntimeout=60\nCA=ibsim0\n", name="ibdiag.conf")
    assert not verify(f, sm, "-z", path, "--retries", "1").ok(0).json["findings"]
    r = verify(f, sm, "-z", key_file(f, "CA=nothing0\n", name="ca.conf")).ok(3)
    assert "nothing0" in r.stderr
    verify(f, sm, "-z", f.path("ca.conf"), "-C", "ibsim0", "-y", key_file(f, f"0x{KEY:x}")).ok(0)
    # the key of the command line, not that of the file
    verify(f, sm, "-z", path, "-y", key_file(f, "0x1\n"), *SHORT).ok(3)
    bad = key_file(f, f"m_key=0x{KEY:x}\nPort=999\nfoo=1\nm_key=0x{KEY:x}zz\njust words\n", name="bad.conf")
    r = verify(f, sm, "-z", bad, *SHORT).ok(1)
    assert [(x["line"], x["what"]) for x in policy.codes(r)["ibdiag-conf-bad"]] == [
        (2, "'Port'"), (3, "'foo'"), (4, "'m_key'"), (5, None)]
    verify(f, sm, "-z", f.path("nowhere")).ok(3)


def test_default_config(guarded):
    f, sm = guarded
    etc = f.path("etc-diags")
    os.mkdir(etc)
    with open(os.path.join(etc, "ibdiag.conf"), "w", encoding="ascii") as c:
        c.write(f"m_key=0x{KEY:x}\n")
    if not os.path.isdir("/etc/infiniband-diags"):
        pytest.skip("infiniband-diags has no folder here")
    cover = ("unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/infiniband-diags; exec "$@"', etc)
    assert not verify(f, sm, *SHORT, before=cover).ok(0).json["findings"]
    verify(f, sm, *SHORT).ok(3)


def test_the_key_of_a_device_is_nowhere(guarded):
    """A port shows its M_Key to who knows it: not in what is printed or kept."""
    f, sm = guarded
    f.rules(f"node=* attr=PortInfo : set Mkey=0x{KEY:x}")
    r = f.ibqos("discover", "--format", "json", "-d")
    assert f"{KEY:x}" not in (r.stdout + r.stderr).lower() and str(KEY) not in r.stdout + r.stderr


def core_of(f, sm, *args):
    """Whether ibqos, ended by SIGABRT while it asks, leaves a core file."""
    def unlimited():
        resource.setrlimit(resource.RLIMIT_CORE, (-1, -1))

    out = f.path("out")
    with open(out, "wb") as o:
        p = subprocess.Popen([run.binary(), "verify", "-d", "--opensm-conf", sm.config, *args], env=f.env(), cwd=f.dir,
                             stdout=subprocess.DEVNULL, stderr=o, preexec_fn=unlimited)
        try:
            run.deadline(10, "at work", lambda: "asks through" in open(out, encoding="utf-8").read(),
                         alive=lambda: p.poll() is None)
            p.send_signal(signal.SIGABRT)
            _, status = os.waitpid(p.pid, 0)
            p.returncode = -signal.SIGABRT
        finally:
            run.end(p)
    assert os.WTERMSIG(status) == signal.SIGABRT
    return os.WCOREDUMP(status)


def test_no_core_file_has_a_key(up):
    f, sm = up(options=CONF, **SHAPE)
    f.rules("attr=SL2VL : delay=500")
    if not core_of(f, sm):
        pytest.skip("this machine writes no core files")
    assert not core_of(f, sm, "-y", key_file(f, f"0x{KEY:x}\n"))
