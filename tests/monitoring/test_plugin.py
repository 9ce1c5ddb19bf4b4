# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The event plugin in a real OpenSM, and what it pokes. It never holds the subnet manager up."""
import ctypes
import os
import re
import shutil
import socket
import subprocess

import pytest

from kit import run
from kit.monitoring import CONTRIB

SHAPE = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=0)
UP = 4  # OSM_EVENT_ID_SUBNET_UP


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    out = tmp_path_factory.mktemp("plugin")
    r = subprocess.run(["make", "-s", "-C", run.TOP, f"OUT={out}", "W=-Werror", "plugin"], capture_output=True, text=True, timeout=100)
    assert r.returncode == 0, r
    return out / "opensm-plugin"


@pytest.fixture
def listener(tmp_path_factory):
    folder = tmp_path_factory.mktemp("s")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(str(folder / "poke"))
        s.settimeout(20)
        yield s, str(folder / "poke")


@pytest.fixture
def with_plugin(up, built, monkeypatch):
    def start(path):
        monkeypatch.setenv("LD_LIBRARY_PATH", str(built))
        monkeypatch.setenv("IBQOS_POKE_SOCKET", path)
        return up(options={"event_plugin_name": "ibqospoke"}, **SHAPE)
    return start


def ups(sm):
    with open(sm.log_file, encoding="utf-8", errors="replace") as f:
        return f.read().count("SUBNET UP")


def test_opensm_pokes_after_each_sweep(with_plugin, listener):
    s, path = listener
    f, sm = with_plugin(path)
    assert s.recv(64) == b"subnet-up\n"
    for _ in range(2):
        sm.hup()  # a heavy sweep
        assert s.recv(64) == b"subnet-up\n"
    assert "mismatch" not in sm.log() and "Failed to open event plugin" not in sm.log()


@pytest.mark.parametrize("what", ["nobody", "full", "too long"])
def test_opensm_goes_on_without_a_reader(with_plugin, listener, what):
    """No socket there, one whose queue is full and stays so, a name that no socket can have."""
    s, path = listener
    if what == "full":
        s.settimeout(None)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
            other.setblocking(False)
            with pytest.raises(BlockingIOError):
                while True:
                    other.sendto(b"x", path)
    elif what == "nobody":
        path += "-none"
    else:
        path = "/" + "x" * 200
    f, sm = with_plugin(path)
    for _ in range(3):
        before = ups(sm)
        sm.hup()
        run.deadline(20, "a sweep", lambda: ups(sm) > before, alive=sm.alive, evidence=sm.log)


class Impl(ctypes.Structure):
    _fields_ = [("version", ctypes.c_char_p), ("create", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)),
                ("delete", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
                ("report", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p))]


def test_other_events_are_none(built, listener, monkeypatch):
    """The plugin alone: one event pokes, and no event at any number waits for a reader."""
    s, path = listener
    s.setblocking(False)
    monkeypatch.setenv("IBQOS_POKE_SOCKET", path)
    impl = Impl.in_dll(ctypes.CDLL(str(built / "libibqospoke.so")), "osm_event_plugin")
    with open("/usr/include/infiniband/opensm/osm_version.h", encoding="utf-8") as f:
        assert impl.version.decode() == re.search(r'OSM_VERSION "(.*)"', f.read())[1]
    plugin = impl.create(None)
    assert plugin
    for event in range(12):
        if event != UP:
            impl.report(plugin, event, None)
    with pytest.raises(BlockingIOError):
        s.recv(64)
    for _ in range(100000):
        impl.report(plugin, UP, None)
    got = 0
    with pytest.raises(BlockingIOError):
        while s.recv(64) == b"subnet-up\n":
            got += 1
    assert 1 <= got < 100000
    impl.delete(plugin)


# --- the receiver ---

@pytest.fixture
def poked(built, tmp_path):
    """Starts it as systemd does, with a socket as descriptor 3; its command counts runs in a file."""
    path = tmp_path / "poke"
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.bind(str(path))
    runs, started = tmp_path / "runs", []

    def start(*args, command=None, env=("LISTEN_FDS", "1")):
        def give():
            os.dup2(s.fileno(), 3)
        p = subprocess.Popen([built / "ibqos-poked", *args, *(command or ["sh", "-c", f"echo run >>{runs}"])], preexec_fn=give,
                             pass_fds=[3], env={**os.environ, **({env[0]: env[1]} if env else {})}, stderr=subprocess.PIPE, text=True)
        started.append(p)
        return p

    def poke(n=1):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as c:
            for _ in range(n):
                c.sendto(b"subnet-up\n", str(path))
    start.poke, start.runs = poke, lambda: runs.read_text().count("run") if runs.exists() else 0
    yield start
    for p in started:
        run.end(p)
        p.stderr.close()
    s.close()


def test_pokes_in_a_row_are_one_run(poked):
    poked.poke(5)
    p = poked("--settle", "0.2", "--idle", "1")
    assert p.wait(20) == 0 and poked.runs() == 1


def test_a_poke_while_it_runs_is_another_run(poked, tmp_path):
    poked.poke()
    gate = tmp_path / "gate"
    p = poked("--settle", "0", "--idle", "2", command=["sh", "-c", f"echo run >>{tmp_path}/runs; while [ ! -e {gate} ]; do sleep 0.05; done"])
    run.deadline(20, "the first run", lambda: poked.runs() == 1)
    poked.poke(3)
    gate.write_text("")
    assert p.wait(20) == 0 and poked.runs() == 2


def test_it_ends_when_nothing_comes(poked):
    assert poked("--idle", "0.1").wait(20) == 0 and poked.runs() == 0


def test_what_the_command_finds_is_no_failure(poked):
    poked.poke()
    p = poked("--settle", "0", "--idle", "0.1", command=["sh", "-c", "exit 2"])
    assert p.wait(20) == 0 and "ended with status 2" in p.stderr.read()


def test_bad_usage(poked):
    poked.poke()
    for args, command in (((), ["--settle"]), (("--settle", "x"), ["true"]), (("--what", "1"), ["true"]), ((), ["/nonexistent"])):
        assert poked("--idle", "0.5", *args, command=command).wait(30) == 3, command
    p = poked(env=None)
    assert p.wait(20) == 3 and "no datagram socket" in p.stderr.read()


def test_units(tmp_path):
    for name in ("ibqos-poke.socket", "ibqos-poke.service", "ibqos-verify.service"):
        with open(os.path.join(CONTRIB, "systemd", name), encoding="utf-8") as f:
            text = f.read()
        (tmp_path / name).write_text(text.replace("/usr/local/libexec/ibqos-poked", shutil.which("true")))
    for name in ("ibqos-poke.socket", "ibqos-poke.service"):
        r = subprocess.run(["systemd-analyze", "verify", "--man=no", str(tmp_path / name)], capture_output=True, text=True, timeout=30)
        assert r.returncode == 0 and r.stderr == "", r
    r = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=35", "--no-pager", str(tmp_path / "ibqos-poke.service")],
                       capture_output=True, text=True, timeout=30)
    assert r.returncode == 0, r.stdout[-300:]
    with open(os.path.join(CONTRIB, "opensm-plugin", "ibqos_poke.c"), encoding="utf-8") as f:
        assert '"/run/ibqos/poke"' in f.read() and "ListenDatagram=/run/ibqos/poke" in (tmp_path / "ibqos-poke.socket").read_text()
