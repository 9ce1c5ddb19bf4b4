# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Whoever may open the device may look; what needs more says so before anything is written; what is not needed is given up."""
import json
import os
import re
import stat
import struct
import subprocess

import pytest

from kit import looks, policy, run, user
from tools import netgen

SHAPE = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=0)
READ = {"cap_dac_read_search", "cap_sys_ptrace"}
WRITE = READ | {"cap_dac_override", "cap_chown", "cap_fowner", "cap_fsetid"}


@pytest.fixture(scope="module")
def shared():
    with user.Open() as o:
        f = o.fabric(netgen.fat_tree(**SHAPE))
        try:
            sm = f.opensm()
            f.rules(*looks.LACKS)
            os.chmod(sm.dir, 0o755)
            yield o, f, sm
        finally:
            f.stop()


def files(folder):
    found = {}
    for at, _, names in os.walk(folder):
        for name in names:
            if "sys-" not in at and not name.endswith(".log"):
                with open(os.path.join(at, name), "rb") as f:
                    found[os.path.join(at, name)] = f.read()
    return found


@pytest.mark.parametrize("walker", ["native", "libibnetdisc"])
def test_a_user_with_the_device(shared, walker):
    o, f, sm = shared
    path = policy.write(f, sm)
    snap = o.path(f"snap-{walker}")
    o.folder(f"snap-{walker}", user.UID, user.GID)
    walk = ("--walker", walker)
    for args in (
            ("discover",), ("audit",), ("verify", path), ("verify", "--paths", path), ("plan", path),
            ("trace", "gpu-001", "gpu-004", "--policy", path, "--class", "training"),
            ("maintenance", "drain", "gpu-001"), ("discover", "--metrics", f"{snap}/m"),
            ("audit", "--counters", "--state", f"{snap}/state"), ("snapshot", f"{snap}/a.snap")):
        mine = o.ibqos(f, *args, *(walk if args[0] != "snapshot" else ()), "--format", "json", before=user.becomes())
        for name in ("m", "state", "state.lock", "a.snap"):  # root's run makes its own
            if os.path.exists(f"{snap}/{name}"):
                assert os.stat(f"{snap}/{name}").st_uid == user.UID
                os.unlink(f"{snap}/{name}")
        roots = o.ibqos(f, *args, *(walk if args[0] != "snapshot" else ()), "--format", "json", "--trust", str(user.UID))
        assert mine.returncode == roots.returncode in (0, 1, 3 if args[0] == "trace" else 2), (mine, roots)  # 3: adaptive routing is not known
        assert [x["code"] for x in mine.json["findings"]] == [x["code"] for x in roots.json["findings"]], (mine, roots)
        assert mine.stderr == roots.stderr, (mine, roots)
        for name in os.listdir(snap):
            os.unlink(f"{snap}/{name}")


@pytest.mark.parametrize("walker", ["native", "libibnetdisc"])
def test_a_user_without_the_device(shared, walker):
    """The kernel refuses: which file it is, and what to do."""
    o, f, _ = shared
    r = o.ibqos(f, "discover", "--walker", walker, before=user.becomes(), env={"IBQOS_OVERLAY_OPEN": "13"}).ok(3)
    if walker == "native":
        assert "may not open /dev/infiniband/umad" in r.stderr and "udev rule" in r.stderr, r
    assert "Permission denied" in r.stderr or "see whether its driver" in r.stderr, r
    if walker == "native":
        r = o.ibqos(f, "discover", before=user.becomes(), env={"IBQOS_OVERLAY_OPEN": "2"}).ok(3)
        assert "modprobe ib_umad" in r.stderr, r


def test_apply_needs_more(shared):
    """Said before anything is written: what may not be written, and that OpenSM may not be told."""
    o, f, sm = shared
    path = policy.write(f, sm)
    before, sweeps = files(o.dir), sm.sweeps()
    os.chmod(sm.config, 0o644)
    r = o.ibqos(f, "apply", path, "--state-dir", o.path("root-only/state"), "--format", "json", before=user.becomes()).ok(3)
    found = policy.codes(r)
    assert {x["file"] for x in found["apply-not-writable"]} == {sm.config, sm.policy}
    assert len(found["apply-no-signal"]) == 1 and "--stage" in found["apply-no-signal"][0]["advice"]
    assert r.json["apply"]["outcome"] == "refused, nothing was touched"
    assert files(o.dir) == before and sm.sweeps() == sweeps and not os.path.exists(o.path("root-only"))
    # what a user can do: the files, for somebody who may
    staged = o.folder("staged", user.UID, user.GID)
    r = o.ibqos(f, "apply", path, "--stage", f"{staged}/files", before=user.becomes()).ok(0, 1)
    assert sorted(os.listdir(f"{staged}/files")) == ["opensm.conf", "qos-keys.conf", "qos-policy.conf"]


# --- what is given up ---

def held(words, stdin=subprocess.PIPE, **kwargs):
    """What /proc says of an ibqos that waits for its input."""
    p = run.start(words, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **kwargs)
    try:
        def status():
            with open(f"/proc/{p.pid}/status", encoding="ascii") as s:
                got = {k: v.strip() for k, v in (line.split(":", 1) for line in s)}
            return got if got.get("NoNewPrivs") == "1" else None
        got = run.deadline(30, "an ibqos that has given up its rights", status, alive=lambda: p.poll() is None)
        flags = {}
        for fd in os.listdir(f"/proc/{p.pid}/fdinfo"):
            with open(f"/proc/{p.pid}/fdinfo/{fd}", encoding="ascii") as info:
                flags[int(fd)] = int(info.read().split("flags:\t")[1].split()[0], 8)
        return got, flags, os.stat(f"/proc/{p.pid}/environ").st_uid
    finally:
        run.end(p)
        for pipe in (p.stdin, p.stderr):
            if pipe:
                pipe.close()


def names(mask):
    known = {1: "cap_dac_override", 2: "cap_dac_read_search", 0: "cap_chown", 3: "cap_fowner", 4: "cap_fsetid", 19: "cap_sys_ptrace"}
    return {known.get(i, i) for i in range(64) if int(mask, 16) >> i & 1}


def test_root_gives_up_what_it_does_not_need(tmp_path):
    for args, left in ((("job", "log", "-"), READ), (("job", "log", "--output", tmp_path / "x", "-"), WRITE)):
        status, _, _ = held([run.binary(), *map(str, args)])
        assert names(status["CapPrm"]) == names(status["CapEff"]) == left and names(status["CapInh"]) == set()


def test_what_was_given_up_is_told(shared):
    o, f, _ = shared
    r = o.ibqos(f, "-v", "discover").ok(0)
    line, = (x for x in r.stderr.splitlines() if "rights of root" in x)
    assert "cap_dac_read_search,cap_sys_ptrace" in line and "override" not in line
    assert "rights" not in o.ibqos(f, "-v", "discover", before=user.becomes()).ok(0).stderr


def test_a_site_has_the_rights_of_its_parts(tmp_path):
    """A worker has what it is started with, to become another user or to write another's file, and what became another's is ended."""
    kept = tmp_path / "status"
    via = ["setpriv", "--reuid", str(user.UID), "--regid", str(user.GID), "--clear-groups", "sh", "-c", "echo $$; exec sleep 300", "sh"]
    plain = ["sh", "-c", f"cat /proc/self/status >{kept}; exit 1", "sh"]
    site = tmp_path / "site.yaml"
    site.write_text(json.dumps({"version": 1, "fabrics": [{"name": "a", "via": via, "timeout": 5}, {"name": "b", "via": plain}]}), encoding="ascii")
    p = run.run([run.binary(), "-v", "discover", "--site", str(site), "--format", "json"], timeout=100).ok(3)
    status = dict(line.split(":\t", 1) for line in kept.read_text(encoding="ascii").splitlines())
    with open("/proc/self/status", encoding="ascii") as s:
        own = dict(line.split(":\t", 1) for line in s.read().splitlines())
    assert (status["NoNewPrivs"], status["CapPrm"]) == (own["NoNewPrivs"], own["CapPrm"])
    lost = {f["fabric"]: f["error"] for f in p.json["fabrics"]}
    number = re.search(r"'(\d+)", lost["a"])[1]  # it was another user: no answer, but its own number; ended for it
    assert not os.path.exists(f"/proc/{number}"), p
    line, = (x for x in p.stderr.splitlines() if "rights of root" in x)
    assert "cap_kill" in line and "cap_sys_admin" not in line


def test_descriptors_and_memory(tmp_path):
    """What was left open is not handed on, and no other process of the user reads the keys in memory."""
    inherited = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(inherited, True)
    with user.Open() as o:
        _, flags, owner = held([*user.becomes(), o.binary, "job", "log", "-"], close_fds=False, cwd=o.dir)
    os.close(inherited)
    assert flags[inherited] & os.O_CLOEXEC and owner == 0


@pytest.mark.parametrize("way", ["set-user-ID", "set-group-ID", "capabilities"])
def test_rights_of_its_file(way, tmp_path):
    """Its caller would write with them what it names."""
    with user.Open() as o:
        if os.statvfs(o.dir).f_flag & os.ST_NOSUID:
            pytest.skip("files in /tmp give no rights here")
        if way == "capabilities":  # VFS_CAP_REVISION_2, effective: cap_dac_override
            os.setxattr(o.binary, "security.capability", struct.pack("<5I", 0x02000001, 1 << 1, 0, 0, 0))
        else:
            os.chmod(o.binary, 0o755 | (stat.S_ISUID if way == "set-user-ID" else stat.S_ISGID))
        r = run.run([*user.becomes(), o.binary, "import", "--opensm-conf", "/etc/shadow", "--output", o.path("out")], cwd=o.dir).ok(3)
        assert "rights that its caller has not" in r.stderr and ("capabilities" if way == "capabilities" else "set-user-ID") in r.stderr
        assert r.stdout == "" and not os.path.exists(o.path("out"))


def test_output_is_not_for_others(tmp_path):
    """Whatever the umask: nothing is left that others may write."""
    path = tmp_path / "out"
    with open(tmp_path / "p", "w", encoding="ascii") as p:
        p.write(policy.text(None))
    run.run(["sh", "-c", f"umask 0; exec {run.binary()} lint {tmp_path}/p --format json --output {path}"], cwd=tmp_path).ok(0, 1)
    assert json.loads(path.read_text()) and path.stat().st_mode & 0o022 == 0
