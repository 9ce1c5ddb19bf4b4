# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Files that lie where they should not: two names of one file, a folder for staging that OpenSM reads from."""
import os

import pytest

from kit import policy

SMALL = dict(leaves=1, spines=1, hosts_per_leaf=2, uplinks=1, storage=0)


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except FileNotFoundError:
        return None


def refused(f, sm, path, code, *args):
    """Nothing is written, nobody told; the findings of this code."""
    old, sweeps = (read(sm.config), read(sm.policy), {x for x in os.listdir(sm.dir) if x.endswith(".conf")}), sm.sweeps()
    r = f.ibqos("apply", path, "--state-dir", f.path("state"), "--format", "json", *args).ok(3)
    assert r.json["apply"]["outcome"] == "refused, nothing was touched"
    assert (read(sm.config), read(sm.policy), {x for x in os.listdir(sm.dir) if x.endswith(".conf")}) == old and sm.sweeps() == sweeps
    assert not os.path.exists(f.path("state"))
    return policy.codes(r)[code]


@pytest.mark.parametrize("args", [(), ("--stage", "staged")])
@pytest.mark.parametrize("way", ["same", "symlink", "hard link", "partitions", "log"])
def test_two_names_of_one_file(up, tmp_path, way, args):
    f, sm = up(**SMALL)
    args = [str(tmp_path / a) if a == "staged" else a for a in args]
    partitions = os.path.join(sm.dir, "partitions.conf")
    class Names:  # pylint: disable=too-few-public-methods
        config, policy, log_file = sm.config, sm.policy, sm.log_file
    if way == "same":
        Names.policy = sm.config
    elif way == "symlink":
        os.symlink(sm.config, sm.policy)
    elif way == "hard link":
        os.link(sm.config, sm.policy)
    elif way == "partitions":
        Names.policy = partitions
    elif way == "log":
        Names.policy = sm.log_file
    if Names.policy != sm.policy:
        with open(sm.config, encoding="ascii") as c:
            text = c.read()
        with open(sm.config, "w", encoding="ascii") as c:
            c.write(text.replace(sm.policy, Names.policy))
    found = refused(f, sm, policy.write(f, Names), "apply-same-file", *args)
    other = {"partitions": "partitions", "log": "OpenSM's log"}.get(way, "qos-policy")
    first = "qos-policy" if way in ("partitions", "log") else "opensm.conf"
    assert [x["what"] for x in found] == [f"{first} and {other}"]
    assert not os.path.exists(tmp_path / "staged")


@pytest.mark.parametrize("way", ["its folder", "by another name", "a link in it"])
def test_stage_where_opensm_reads(up, tmp_path, way):
    f, sm = up(**SMALL)
    folder = sm.dir
    if way == "by another name":
        folder = str(tmp_path / "link")
        os.symlink(sm.dir, folder)
    elif way == "a link in it":
        folder = str(tmp_path)
        os.symlink(sm.config, tmp_path / "opensm.conf")
    path = policy.write(f, sm)
    assert len(refused(f, sm, path, "apply-stage-live", "--stage", folder)) == 1


def test_staged_files_keep_what_is_there(up, tmp_path):
    """By the commands that are printed: owner, mode and a symbolic link."""
    f, sm = up(**SMALL)
    real = os.path.join(sm.dir, "real.conf")
    os.rename(sm.config, real)
    os.symlink("real.conf", sm.config)
    os.chown(real, 12, 34)
    os.chmod(real, 0o640)
    r = f.ibqos("apply", policy.write(f, sm), "--stage", str(tmp_path), "--format", "json").ok()
    copies = [line for line in r.json["to_do"].splitlines() if line.startswith("cp ")]
    assert len(copies) == 2
    for line in copies:
        assert os.system(line) == 0
    s = os.stat(real)
    assert os.readlink(sm.config) == "real.conf" and (s.st_uid, s.st_gid, s.st_mode & 0o777) == (12, 34, 0o640)
    assert read(real) == read(str(tmp_path / "opensm.conf"))
