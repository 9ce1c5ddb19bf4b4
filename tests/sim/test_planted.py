# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What a local user plants in a folder like /tmp where root is about to write or read: nothing of root's is written, nor waited for."""
import json
import os

import pytest

from kit import looks, policy, run, sim, user
from tools import netgen

SHAPE = dict(leaves=1, spines=1, hosts_per_leaf=2, uplinks=1, storage=0)
SECRET = "root's own\n"


@pytest.fixture(scope="module")
def fab(tmp_path_factory):
    f = sim.Fabric(tmp_path_factory.mktemp("planted"), netgen.fat_tree(**SHAPE))
    try:
        sm = f.opensm()
        f.rules(*looks.LACKS)
        f.ibqos("snapshot", f.path("good.snap")).ok(0, 1)
        yield f, sm
    finally:
        f.stop()


@pytest.fixture
def shared(tmp_path):
    """A folder in which anybody may make files, and a file of root's."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    os.chmod(folder, 0o1777)
    victim = tmp_path / "victim"
    victim.write_text(SECRET, encoding="ascii")
    os.chmod(victim, 0o600)
    return folder, victim


def plant(kind, path, victim):
    if kind == "link to a file":
        os.symlink(victim, path)
    elif kind == "link to nothing":
        os.symlink(str(victim) + ".new", path)
    elif kind == "file":
        path.write_text("", encoding="ascii")
    else:
        os.mkfifo(path, 0o666)
    os.chown(path, user.UID, user.GID, follow_symlinks=False)


def commands(f, sm, at):
    """What writes files: (name of the file, words)."""
    path = policy.write(f, sm)
    return {
        "--output": (at / "report", ("lint", path, "--format", "json", "--output", at / "report")),
        "--metrics": (at / "m.prom", ("discover", "--metrics", at / "m.prom")),
        "snapshot": (at / "a.snap", ("snapshot", at / "a.snap")),
        "map of names": (at / "names", ("snapshot", "--from", f.path("good.snap"), "--redact", at / "names", f.path("redacted.snap"))),
        "state": (at / "state", ("audit", "--counters", "--state", at / "state")),
        "its lock": (at / "state.lock", ("audit", "--counters", "--state", at / "state")),
        "rotation": (at / "rot", ("verify", "--sample", "1/2", "--rotate", at / "rot", path)),
        "baseline": (at / "base", ("snapshot", "--accept", f.path("good.snap"), "--baseline", at / "base", "--yes")),
        "its log": (at / "base.log", ("snapshot", "--accept", f.path("good.snap"), "--baseline", at / "base", "--yes")),
        "import": (at / "policy.yaml", ("import", "--opensm-conf", sm.config, "--force", "--output", at / "policy.yaml")),
        "staged": (at / "opensm.conf", ("apply", path, "--stage", at)),
        "staged rules": (at / "qos-policy.conf", ("apply", path, "--stage", at)),
        "history": (at / "history", ("apply", path, "--state-dir", at)),
        "maintenance": (at / "maintenance", ("maintenance", "begin", "m", "--state-dir", at)),
    }


@pytest.mark.parametrize("kind", ["link to a file", "link to nothing", "file", "pipe"])
def test_every_file_that_is_written(fab, shared, kind):
    f, sm = fab
    folder, victim = shared
    for what, (path, words) in commands(f, sm, folder).items():
        plant(kind, path, victim)
        r = f.ibqos(*words, timeout=60)
        assert r.returncode in (1, 2, 3), (what, r)
        assert victim.read_text(encoding="ascii") == SECRET and not os.path.exists(str(victim) + ".new"), (what, r)
        st = os.lstat(path)
        assert st.st_uid == user.UID, (what, r)  # it is still the other's, and nothing was put into it
        if kind in ("file", "pipe"):
            assert st.st_size == 0, (what, r)
        said = r.stdout + r.stderr
        assert any(w in said for w in ("Permission denied", "Not a directory", "not a file", "Invalid argument", "file-untrusted", "File exists",
                                       "Too many levels")), (what, r)
        for name in os.listdir(folder):
            full = folder / name
            if os.path.isdir(full) and not os.path.islink(full):
                run.run(["rm", "-r", full])
            else:
                os.unlink(full)


def test_own_links_are_followed(fab, tmp_path):
    """As ever: the link stays, what it leads to is replaced, also in /tmp where it is one's own."""
    f, sm = fab
    folder = tmp_path / "tmp"
    folder.mkdir()
    os.chmod(folder, 0o1777)
    (tmp_path / "real").write_text("old", encoding="ascii")
    os.symlink(tmp_path / "real", folder / "link")
    f.ibqos("lint", policy.write(f, sm), "--format", "json", "--output", folder / "link").ok(0, 1)
    assert os.path.islink(folder / "link") and (tmp_path / "real").read_text(encoding="utf-8").startswith("{")


def test_names_lead_nowhere_else(fab, tmp_path):
    """Names of changes and maintenances are no paths."""
    f, _ = fab
    (tmp_path / "history").mkdir(mode=0o700)
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("../outside", "..", ".", "/etc", "a/b", "x/../../outside", "", "a\nb", "-x"):
        for words in (("maintenance", "begin"), ("maintenance", "end")):
            r = f.ibqos(*words, "--state-dir", tmp_path, "--", name).ok(3)
            assert "name" in r.stderr or "missing" in r.stderr, r
        f.ibqos("history", "--state-dir", tmp_path, "--", name).ok(3)
        f.ibqos("confirm", "--state-dir", tmp_path, "--", name).ok(3)
        assert sorted(os.listdir(tmp_path)) == ["history", "outside"] and not os.listdir(outside)


def test_a_log_line_is_one_line(fab, tmp_path):
    """A file's name that would make another line of the log of accepted baselines."""
    f, _ = fab
    odd = tmp_path / "a\n2026-01-01T00:00:00Z root on x accepted y"
    with open(f.path("good.snap"), "rb") as g:
        odd.write_bytes(g.read())
    f.ibqos("snapshot", "--accept", odd, "--baseline", tmp_path / "base", "--yes").ok(0, 1)
    assert (tmp_path / "base.log").read_text(encoding="utf-8").count("\n") == 1


def test_a_swapped_history(fab, tmp_path):
    """Folders of changes that do not belong together, or whose files lead elsewhere, undo nothing."""
    f, sm = fab
    state = tmp_path / "state"
    path = policy.write(f, sm)
    f.ibqos("apply", path, "--state-dir", state).ok(0, 1)
    first, = os.listdir(state / "history")
    folder = state / "history" / first
    victim = tmp_path / "crontab"
    victim.write_text("as it was\n", encoding="ascii")
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    with open(sm.config, encoding="ascii") as c:
        now = c.read()
    for way in ("another file", "a relative path", "a link for the old file", "no old file", "not a manifest"):
        kept = {name: (folder / name).read_bytes() for name in os.listdir(folder)}
        if way == "another file":
            (folder / "manifest.json").write_text(json.dumps({**manifest, "opensm_conf": str(victim)}), encoding="utf-8")
        elif way == "a relative path":
            (folder / "manifest.json").write_text(json.dumps({**manifest, "opensm_conf": "../../etc/passwd"}), encoding="utf-8")
        elif way == "a link for the old file":
            os.unlink(folder / "old-opensm.conf")
            os.symlink("/etc/shadow", folder / "old-opensm.conf")
        elif way == "no old file":
            os.unlink(folder / "old-opensm.conf")
        else:
            (folder / "manifest.json").write_text("[" * 100000, encoding="utf-8")
        r = f.ibqos("rollback", "--state-dir", state, "--format", "json").ok(3)
        assert r.json["findings"] or r.json.get("error"), (way, r)
        assert victim.read_text(encoding="ascii") == "as it was\n", way
        with open(sm.config, encoding="ascii") as c:
            assert c.read() == now, (way, r)
        for name in os.listdir(folder):
            os.unlink(folder / name)
        for name, data in kept.items():
            (folder / name).write_bytes(data)
    f.ibqos("rollback", "--state-dir", state).ok(0, 1)


@pytest.mark.parametrize("what", ["snapshot", "state", "policy", "log", "map", "keys", "opensm.conf", "sysfs"])
def test_what_is_no_file(fab, tmp_path, what):
    """A pipe that nobody writes to, a device without end, /proc: refused, or read to a bound, in time and memory."""
    f, sm = fab
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    sparse = tmp_path / "sparse"
    with open(sparse, "wb") as s:
        s.truncate(1 << 40)
    words = {"snapshot": ("audit", "--from"), "state": ("audit", "--counters", "--state"), "policy": ("lint",), "map": ("discover", "--node-name-map"),
             "keys": ("discover", "--m_key"), "opensm.conf": ("lint", "--opensm-conf"), "log": ("job", "log"), "sysfs": ("job", "host", "--sysfs")}[what]
    for path in (pipe, sparse, "/dev/zero", "/proc/self/mem", "/proc/kmsg", "/dev/full", tmp_path):
        if what == "log" and path in (pipe, sparse, "/dev/zero", "/dev/full"):
            continue  # a log is read as a stream, from pipes too, as long as there is some: tests/cli/test_job_log.py
        r = run.run([*run.bounds(1_000_000_000, 20), run.binary(), *words, path], cwd=f.dir, env=f.env(), timeout=60)
        assert r.returncode in (1, 3) or (what == "sysfs" and r.returncode == 2), (path, r)
        assert len(r.stdout) + len(r.stderr) < 100000
