# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Files that somebody else can have written: told where they are read, refused where a change would go by them."""
import json
import os

import pytest

from kit import policy, run, user

SHAPE = dict(leaves=1, spines=1, hosts_per_leaf=2, uplinks=1, storage=0)
MODE = {"group": "can be written by group 48612", "anybody": "can be written by anybody", "owner": "belongs to 48611"}


@pytest.fixture(scope="module")
def fab(tmp_path_factory):
    from kit import sim  # pylint: disable=import-outside-toplevel
    from tools import netgen  # pylint: disable=import-outside-toplevel
    f = sim.Fabric(tmp_path_factory.mktemp("trust"), netgen.fat_tree(**SHAPE))
    try:
        yield f, f.opensm()
    finally:
        f.stop()


def spoil(path, way):
    """Gives somebody else a hand in it."""
    if way == "group":
        os.chown(path, 0, user.GID)
        os.chmod(path, os.stat(path).st_mode | 0o020)
    elif way == "anybody":
        os.chmod(path, os.stat(path).st_mode | 0o002)
    else:
        os.chown(path, user.UID, 0)


def untrusted(r):
    return [(x["file"], x["got"], x["severity"]) for x in r.json["findings"] if x["code"] == "file-untrusted"]


@pytest.mark.parametrize("way", MODE)
@pytest.mark.parametrize("what", ["file", "folder above", "link above"])
def test_a_policy(fab, tmp_path, way, what):
    f, sm = fab
    folder = tmp_path / "a/b"
    folder.mkdir(parents=True)
    path = str(folder / "policy.yaml")
    with open(path, "w", encoding="ascii") as p:
        p.write(policy.text(sm))
    assert not untrusted(f.ibqos("verify", path, "--format", "json"))
    spoiled = path
    if what == "folder above":
        spoiled = str(tmp_path / "a")
    elif what == "link above":  # what it leads through counts, not what it looks like
        spoiled = str(tmp_path / "a")
        os.symlink("a/b/policy.yaml", tmp_path / "link")
        path = str(tmp_path / "link")
    spoil(spoiled, way)
    kind = "file" if what == "file" else "folder"
    for command in (("verify",), ("plan",), ("audit", "--policy"), ("trace", "gpu-001", "gpu-002", "--policy")):
        r = f.ibqos(*command, path, "--format", "json")
        assert untrusted(r) == [(path, f"{kind} {spoiled} {MODE[way]}", "warning")], r
        assert r.returncode != 0
    trusted = {"group": f":{user.GID}", "owner": str(user.UID)}.get(way)
    if trusted:
        assert not untrusted(f.ibqos("verify", path, "--format", "json", "--trust", trusted))
        assert not untrusted(f.ibqos("verify", path, "--format", "json", "--trust", f"{user.UID}:{user.GID}"))


def test_apply_is_refused(fab, tmp_path):
    """By a policy, a state directory, or files of OpenSM that somebody else can write; nothing is touched."""
    f, sm = fab
    path = policy.write(f, sm)
    state = tmp_path / "state"
    with open(sm.partitions, "w", encoding="ascii") as p:
        p.write("Default=0x7fff, ipoib : ALL=full;\n")
    for what in (path, str(state), sm.config, sm.dir, sm.partitions):
        if what == str(state):
            state.mkdir()
        mode = os.stat(what).st_mode
        spoil(what, "anybody")
        with open(sm.config, "rb") as c:
            before, sweeps = c.read(), sm.sweeps()
        r = f.ibqos("apply", path, "--state-dir", state, "--format", "json").ok(3)
        named = {x[0] for x in untrusted(r) if x[2] == "unknown"}
        wanted = {path: {path}, str(state): {f"{state}/history"}, sm.config: {sm.config}, sm.partitions: {sm.partitions},
                  sm.dir: {sm.config, sm.policy, sm.partitions}}[what]
        assert wanted <= named <= wanted | {f"{sm.dir}/prefix-routes.conf"}, r
        with open(sm.config, "rb") as c:
            assert (c.read(), sm.sweeps()) == (before, sweeps) and not os.path.exists(f"{state}/history")
        os.chmod(what, mode)
    f.ibqos("apply", path, "--state-dir", state).ok(0, 1)
    # and the way back by a history that is not the admin's alone
    os.chmod(state / "history", 0o777)
    r = f.ibqos("rollback", "--state-dir", state, "--format", "json").ok(3)
    assert {x[2] for x in untrusted(r)} == {"unknown"}
    assert untrusted(f.ibqos("history", "--state-dir", state, "--format", "json").ok(1))
    os.chmod(state / "history", 0o700)
    f.ibqos("rollback", "--state-dir", state).ok(0, 1)


def test_what_opensm_runs_as(fab, tmp_path):
    """Its own user may write its files: it has the fabric in its hand anyway. Told by its process."""
    f, sm = fab
    path = policy.write(f, sm)
    owner = os.stat(f"/proc/{sm.process.pid}").st_uid
    assert owner == os.stat(sm.config).st_uid
    assert not untrusted(f.ibqos("apply", path, "--wait-only", "--deadline", "1", "--state-dir", tmp_path / "s", "--format", "json"))


@pytest.mark.parametrize("what", ["state", "baseline", "policy", "thresholds", "drained", "map", "rotation", "expect", "opensm.conf"])
def test_other_files(fab, tmp_path, what):
    f, sm = fab
    path = tmp_path / what
    snap = tmp_path / "now.snap"
    texts = {"policy": policy.text(sm, links="[]") if what == "policy" else "", "thresholds": "", "drained": "gpu-001\n",
             "map": '0x1 "x"\n', "expect": "version: 1\nchanges: []\n"}
    if what in texts:
        path.write_text(texts[what], encoding="ascii")
    if what in ("baseline", "expect"):
        f.ibqos("snapshot", snap).ok(0, 1, 3)
    args = {
        "state": ("audit", "--counters", "--state", path), "baseline": ("audit", "--baseline", snap),
        "policy": ("audit", "--policy", path), "thresholds": ("audit", "--counters", "--error-thresholds", path),
        "drained": ("audit", "--drained", path), "map": ("discover", "--node-name-map", path),
        "rotation": ("verify", "--sample", "1/2", "--rotate", path, policy.write(f, sm)),
        "expect": ("diff", snap, snap, "--expect", path), "opensm.conf": ("verify", "--opensm-conf", sm.config),
    }[what]
    target = {"baseline": str(snap), "opensm.conf": sm.config}.get(what, str(path))
    f.rules("attr=PortExtendedSpeedsCounters : answer status=0xc", "attr=PortRcvErrorDetails : answer status=0xc",
            "attr=PortXmitDiscardDetails : answer status=0xc", "attr=PortSamplesControl : answer status=0xc")
    first = f.ibqos(*args, "--format", "json")
    assert not untrusted(first) and os.path.exists(target), first
    mode = os.stat(target).st_mode
    spoil(target, "anybody")
    r = f.ibqos(*args, "--format", "json")
    assert untrusted(r) == [(target, f"file {target} can be written by anybody", "warning")], r
    os.chmod(target, mode)


def test_sticky_folders_and_own_files(ibqos, tmp_path):
    """In /tmp a file counts by its owner; a user's own files are the user's."""
    with user.Open() as o:
        home = o.folder("home", user.UID, user.GID, 0o755)
        place = o.folder("shared", 0, 0, 0o1777)
        for folder in (home, place):
            path = os.path.join(folder, "a.conf")
            with open(path, "w", encoding="ascii") as c:
                c.write("qos TRUE\n")
            os.chown(path, user.UID, user.GID)
            mine = run.run([*user.becomes(), o.binary, "job", "env", "--policy", path, "--class", "x"], cwd=o.dir)
            roots = run.run([o.binary, "job", "env", "--policy", path, "--class", "x"], cwd=o.dir)
            sudo = run.run(["env", f"SUDO_UID={user.UID}", o.binary, "job", "env", "--policy", path, "--class", "x"], cwd=o.dir)
            other = run.run([*user.becomes(user.UID + 7), "env", f"SUDO_UID={user.UID}", o.binary, "job", "env", "--policy", path,
                             "--class", "x"], cwd=o.dir)
            assert "else can have" not in mine.stderr and "else can have" not in sudo.stderr, (mine, sudo)
            assert "else can have" in roots.stderr and "else can have" in other.stderr, (roots, other)


def test_whom_to_trust(ibqos, tmp_path):
    for bad in ("", ":", "nobody-of-this-name", ":no-such-group", "root:no-such-group", "-1", "0x", "1 "):
        r = ibqos("lint", "--trust", bad, "/dev/null").ok(3)
        assert "--trust takes" in r.stderr, r
    r = ibqos("lint", *sum((["--trust", str(70000 + i)] for i in range(20)), []), "/dev/null").ok(3)
    assert "users or groups to trust" in r.stderr


def test_a_site(ibqos, tmp_path):
    """What it has run is root's to run: refused before anything is started. With nothing to run it is told."""
    path, mark = tmp_path / "site.yaml", tmp_path / "ran"

    def write(entry, **more):
        path.write_text(json.dumps({"version": 1, "fabrics": [{"name": "a", **entry}], **more}), encoding="ascii")
        path.chmod(0o644)
        os.chown(path, 0, 0)

    via = {"via": ["sh", "-c", f"touch {mark}; exit 1", "sh"]}
    for way in MODE:
        for entry in (via, {"program": str(tmp_path / "other")}):
            write(entry)
            spoil(path, way)
            for command in (("discover",), ("rails",), ("snapshot", tmp_path / "set"), ("apply", "--stage", tmp_path / "stage", "/dev/null")):
                r = ibqos(*command, "--site", path, "--format", "json").ok(3)
                assert untrusted(r) == [(str(path), f"file {path} {MODE[way]}", "unknown")], r
                assert "refused: " in r.stderr and not mark.exists() and not (tmp_path / "set").exists()
        assert untrusted(ibqos("lint", "--site", path, "--format", "json").ok(1)) == [(str(path), f"file {path} {MODE[way]}", "warning")]
    write(via)
    os.chown(path, user.UID, 0)
    assert not untrusted(ibqos("discover", "--site", path, "--trust", str(user.UID), "--format", "json").ok(3)) and mark.exists()
    write({"port": {"ca": "none_of_this_name"}})
    spoil(path, "anybody")
    r = ibqos("discover", "--site", path, "--format", "json")
    assert untrusted(r) == [(str(path), f"file {path} can be written by anybody", "warning")] and "refused" not in r.stderr
