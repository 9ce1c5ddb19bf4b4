# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""ibqos history; and what an install keeps of the files that it replaces."""
import json
import os
import re
import shutil
import struct

import pytest

from kit import policy

SMALL = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=1)
TWO = [policy.TRAINING, dict(policy.OTHER, share="30%")]


def apply(f, path, *args, **kwargs):
    return f.ibqos("apply", path, "--format", "json", "--state-dir", f.path("state"), *args, **kwargs)


def history(f, *args):
    return f.ibqos("history", *args, "--format", "json", "--state-dir", f.path("state"))


def test_history(up):
    f, sm = up(**SMALL)
    assert history(f).ok().json["history"] == []
    first = policy.write(f, sm)
    with open(first, "a", encoding="ascii") as p:
        p.write("name: training-first\n")
    id1 = os.path.basename(apply(f, first, env={"SUDO_USER": "ann"}).ok().json["apply"]["history"])
    second = policy.write(f, sm, TWO, name="two.yaml")
    id2 = os.path.basename(apply(f, second).ok().json["apply"]["history"])
    # refused: nothing of it is kept
    with open(sm.config, "a", encoding="ascii") as c:
        c.write("sweep_interval 99\n")
    apply(f, first).ok(3)
    sm.write_config(**{})
    rows = history(f).ok().json["history"]
    assert [x["id"] for x in rows] == [id2, id1]
    assert [(x["who"], x["policy"]) for x in rows] == [("root", second), ("ann", "training-first")]
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", x["when"]) for x in rows)
    assert {x["state"] for x in rows} == {"in force"} and {x["outcome"] for x in rows} == {"every port holds the new tables"}
    # the files in place are neither's: somebody wrote them anew
    assert [x["can_roll_back"] for x in rows] == [False, False]


def test_what_can_be_rolled_back(up):
    f, sm = up(**SMALL)
    id1 = os.path.basename(apply(f, policy.write(f, sm)).ok().json["apply"]["history"])
    id2 = os.path.basename(apply(f, policy.write(f, sm, TWO, name="two.yaml")).ok().json["apply"]["history"])
    assert [(x["id"], x["can_roll_back"]) for x in history(f).ok().json["history"]] == [(id2, True), (id1, False)]
    f.ibqos("rollback", "--state-dir", f.path("state")).ok()
    assert [(x["state"], x["can_roll_back"]) for x in history(f).ok().json["history"]] == [("undone", False), ("in force", True)]
    # what it says, rollback does, and takes it by what history calls it
    f.ibqos("rollback", "--to", id1, "--state-dir", f.path("state")).ok()
    assert [x["can_roll_back"] for x in history(f).ok().json["history"]] == [False, False]
    r = f.ibqos("rollback", "--format", "json", "--state-dir", f.path("state")).ok(3)
    assert policy.codes(r)["apply-no-history"][0]["got"] == "nothing in its history, or all of it was rolled back already"
    r = f.ibqos("rollback", "--to", "20200101T000000Z", "--format", "json", "--state-dir", f.path("state")).ok(3)
    assert policy.codes(r)["apply-no-history"][0]["got"] == "No such file or directory"


def test_two_opensms_with_one_history(up):
    """Which of them is meant is not for us to guess: the newest may be the other fabric's."""
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    folder = apply(f, path).ok().json["apply"]["history"]
    id1, id2 = os.path.basename(folder), "20200101T000000Z"
    other = f"{os.path.dirname(folder)}/{id2}"
    shutil.copytree(folder, other)
    with open(f"{other}/manifest.json", encoding="ascii") as m:
        text = m.read()
    west = f.path("west.conf")
    shutil.copy(sm.config, west)
    with open(f"{other}/manifest.json", "w", encoding="ascii") as m:
        m.write(text.replace(json.dumps(sm.config).replace("/", "\\/"), json.dumps(west)))
    r = f.ibqos("rollback", "--format", "json", "--state-dir", f.path("state")).ok(3)
    (finding,) = policy.codes(r)["rollback-ambiguous"]
    assert finding["got"] == f"{id1} ({sm.config}), {id2} ({west})"
    assert [x["state"] for x in history(f).json["history"]] == ["in force", "in force"]
    f.ibqos("rollback", "--to", id1, "--state-dir", f.path("state")).ok()
    assert [x["state"] for x in history(f).json["history"]] == ["undone", "in force"]


def test_one_of_them(up):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    folder = apply(f, path, "--fabric", "east").ok().json["apply"]["history"]
    r = history(f, os.path.basename(folder)).ok()
    c = r.json["change"]
    assert (c["id"], c["folder"], c["fabric"], c["user"], c["uid"], c["policy_path"]) == (
        os.path.basename(folder), folder, "east", "root", 0, path)
    assert c["can_roll_back"] and "why_not" not in c and c["host"] == os.uname().nodename
    with open(f"{folder}/journal", encoding="ascii") as j:
        assert r.json["journal"] == j.read()
    text = f.ibqos("history", os.path.basename(folder), "--state-dir", f.path("state")).ok().stdout
    assert "every port holds the new tables" in text and " install writing OpenSM's files\n" in text
    history(f, "20200101T000000Z").ok(3)
    history(f, "../history").ok(3)


def test_history_that_is_broken(up):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    folder = apply(f, path).ok().json["apply"]["history"]
    with open(f"{folder}/manifest.json", encoding="ascii") as m:
        manifest = json.load(m)
    os.unlink(f"{folder}/old-opensm.conf")
    r = history(f).ok(3)
    assert policy.codes(r)["apply-history-broken"][0]["file"] == folder
    (row,) = r.json["history"]
    assert row["can_roll_back"] is False and row["when"] == manifest["when"]
    r = history(f, os.path.basename(folder)).ok(3)
    assert r.json["change"]["why_not"] == "its folder is not whole"


def test_nothing_to_read(ibqos, tmp_path):
    (tmp_path / "history").write_text("no folder")
    r = ibqos("history", "--state-dir", tmp_path).ok(3)
    assert "cannot read the history" in r.stderr
    ibqos("history", "a", "b").ok(3)


# --- install ---

ACL = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in (
    (1, 6, 0xffffffff), (2, 4, 65534), (4, 4, 0xffffffff), (16, 4, 0xffffffff), (32, 0, 0xffffffff)))
ATTRIBUTES = {"security.selinux": b"system_u:object_r:etc_t:s0\0", "user.note": b"mine", "system.posix_acl_access": ACL}


def test_owner_mode_label_and_acl_stay(up):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    os.chown(sm.config, 65534, 12345)
    os.chmod(sm.config, 0o640)
    try:
        for name, value in ATTRIBUTES.items():
            os.setxattr(sm.config, name, value)
    except OSError as e:
        pytest.skip(f"no extended attributes here: {e}")

    def check():
        st = os.stat(sm.config)
        assert (st.st_uid, st.st_gid, st.st_mode & 0o7777) == (65534, 12345, 0o640)
        assert {n: os.getxattr(sm.config, n) for n in ATTRIBUTES} == ATTRIBUTES

    refused = apply(f, path).ok(3).json  # somebody else's file, unless the admin says so
    assert [(x["code"], x["file"]) for x in refused["findings"] if x["severity"] == "unknown"] == [("file-untrusted", sm.config)]
    apply(f, path, "--trust", "65534:12345").ok()
    check()
    f.ibqos("rollback", "--state-dir", f.path("state"), "--trust", "65534", "--trust", ":12345").ok()
    check()


def test_apply_again_changes_nothing(up):
    """No file, by inode and time, and no SIGHUP: OpenSM makes no heavy sweep."""
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    apply(f, path).ok()

    def seen():
        files = [os.stat(p) for p in (sm.config, sm.policy)]
        return [(s.st_ino, s.st_mtime_ns, s.st_ctime_ns) for s in files], sorted(os.listdir(f.path("state/history"))), sm.dumped()

    before = seen()
    r = apply(f, path).ok()
    assert r.json["apply"]["unchanged"] and r.json["apply"]["reloads"] == 0 and seen() == before
