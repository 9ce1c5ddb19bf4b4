# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A history that is not simply the changes of one config in the order of its names: two OpenSMs with one state directory,
a clock that was set back, folders that somebody copied or that lost files."""
import json
import os
import shutil

import pytest

from kit import policy, run

SMALL = dict(leaves=1, spines=1, hosts_per_leaf=2, uplinks=1, storage=0)
TWO = [policy.TRAINING, dict(policy.OTHER, share="30%")]
LATER = "20991231T235959Z"
FAKES = {"systemd-run": "exit 0", "systemctl": "exit 0"}


class Rig:
    def __init__(self, f, sm):
        self.f, self.sm = f, sm
        self.first, self.second = policy.write(f, sm), policy.write(f, sm, TWO, name="two.yaml")
        os.mkdir(f.path("bin"))
        for name, does in FAKES.items():
            with open(f.path(f"bin/{name}"), "w", encoding="ascii") as script:
                script.write(f"#!/bin/sh\n{does}\n")
            os.chmod(f.path(f"bin/{name}"), 0o755)
        self.env = {"PATH": f"{f.path('bin')}:{os.environ['PATH']}"}
        self.old = self.files()

    def files(self):
        return self.sm.files()

    def folder(self, change):
        return self.f.path(f"state/history/{change}")

    def ibqos(self, *args, env=None, **kwargs):
        return self.f.ibqos(args[0], "--state-dir", self.f.path("state"), "--format", "json", *args[1:],
                            env={**self.env, **(env or {})}, **kwargs)

    def apply(self, path, *args):
        return os.path.basename(self.ibqos("apply", path, *args).ok().json["apply"]["history"])

    def kill(self, path, *args):
        """An apply of which the journal ends where it began to write files, as one that was killed then."""
        change = self.apply(path, *args)
        with open(f"{self.folder(change)}/journal", encoding="ascii") as j:
            lines = j.readlines()
        last, = (i for i, line in enumerate(lines) if " install writing" in line)
        with open(f"{self.folder(change)}/journal", "w", encoding="ascii") as j:
            j.writelines(lines[:last + 1])
        return change

    def of_another_config(self, change, name):
        """The same change, as of another OpenSM that shares the state directory."""
        shutil.copytree(self.folder(change), self.folder(name))
        path = f"{self.folder(name)}/manifest.json"
        with open(path, encoding="ascii") as m:
            manifest = json.load(m)
        manifest["opensm_conf"], manifest["qos_policy"] = self.f.path("other.conf"), self.f.path("other-qos.conf")
        with open(path, "w", encoding="ascii") as m:
            json.dump(manifest, m)
        with open(f"{self.folder(name)}/journal", "a", encoding="ascii") as j:
            j.write("2026-11-30T12:00:00Z done every port holds the new tables\n")


@pytest.fixture
def rig(up):
    f, sm = up(**SMALL)
    with open(sm.policy, "w", encoding="ascii") as p:
        p.write("qos-levels\n qos-level\n  name: DEFAULT\n  sl: 0\n end-qos-level\nend-qos-levels\n")
    return Rig(f, sm)


def test_an_apply_cut_short_is_seen_behind_one_of_another_config(rig):
    killed = rig.kill(rig.first)
    rig.of_another_config(killed, LATER)
    r = rig.ibqos("apply", rig.first).ok()
    found, = policy.codes(r)["apply-unfinished"]
    assert found["file"] == rig.folder(killed) and not r.json["apply"]["unchanged"]
    # both could be undone: which one is meant must be said
    ours = os.path.basename(r.json["apply"]["history"])
    found, = policy.codes(rig.ibqos("rollback").ok(3))["rollback-ambiguous"]
    assert [x.split()[0] for x in found["got"].split(", ")] == [ours, LATER]
    rig.ibqos("rollback", "--to", ours).ok()
    assert rig.files()[1] == rig.old[1]


def test_one_that_waits_is_seen_behind_one_of_another_config(rig):
    waits = rig.apply(rig.first, "--confirm-within", "10m")
    rig.of_another_config(waits, LATER)
    new = rig.files()
    found, = policy.codes(rig.ibqos("apply", rig.second).ok(3))["apply-unconfirmed"]
    assert found["file"] == rig.folder(waits) and rig.files() == new
    # both wait: which one is meant must be said
    found, = policy.codes(rig.ibqos("confirm").ok(3))["confirm-ambiguous"]
    assert found["got"] == f"{LATER}, {waits}"
    assert rig.ibqos("confirm", waits).ok().json["confirm"]["id"] == waits
    # the other one is the only one that waits now
    assert rig.ibqos("confirm").ok().json["confirm"]["id"] == LATER
    rig.apply(rig.second)


def test_the_one_that_waits_is_confirmed_though_another_is_newer(rig):
    waits = rig.apply(rig.first, "--confirm-within", "10m")
    rig.of_another_config(waits, LATER)
    with open(f"{rig.folder(LATER)}/journal", "a", encoding="ascii") as j:
        j.write("2026-11-30T12:00:00Z confirm confirmed\n")
    assert rig.ibqos("confirm").ok().json["confirm"]["id"] == waits


def test_the_config_by_another_name(rig, tmp_path):
    """What a link leads to is the same config."""
    os.symlink(rig.sm.dir, tmp_path / "link")
    class Names:  # pylint: disable=too-few-public-methods
        config, policy, log_file = str(tmp_path / "link" / os.path.basename(rig.sm.config)), rig.sm.policy, rig.sm.log_file
    by_link = policy.write(rig.f, Names, name="link.yaml")
    killed = rig.kill(rig.first)
    found, = policy.codes(rig.ibqos("apply", by_link).ok())["apply-unfinished"]
    assert found["file"] == rig.folder(killed) and "count as the old ones" in found["detail"]
    rig.ibqos("rollback").ok()
    assert rig.files()[1] == rig.old[1]


def test_a_clock_that_was_set_back(rig):
    """Names sort as the changes came, so that a rollback undoes the last one."""
    first = rig.apply(rig.first)
    after_first = rig.files()
    os.rename(rig.folder(first), rig.folder(LATER))
    r = rig.ibqos("apply", rig.second).ok()
    assert os.path.basename(r.json["apply"]["history"]) == f"{LATER}-001" and "the clock is behind" in r.stderr
    os.rename(rig.folder(f"{LATER}-001"), rig.folder(f"{LATER}-007"))
    third = policy.write(rig.f, rig.sm, [policy.STORAGE, dict(policy.OTHER, share="80%")], name="three.yaml")
    assert rig.apply(third) == f"{LATER}-008"
    rig.ibqos("rollback").ok()
    rig.ibqos("rollback").ok()
    assert rig.files() == after_first
    rig.f.ibqos("verify", rig.first).ok()
    rig.ibqos("rollback").ok()
    assert rig.files()[1] == rig.old[1]


def test_a_copy_of_a_folder_is_no_change(rig):
    change = rig.apply(rig.first)
    for name in (f"{change}.bak", "zzz", f"{change}-0001", f"{change}~"):
        shutil.copytree(rig.folder(change), rig.folder(name))
    assert [x["id"] for x in rig.ibqos("history").ok().json["history"]] == [change]
    assert rig.ibqos("rollback").ok().json["apply"]["history"] == rig.folder(change)


@pytest.mark.parametrize("gone", ["old-opensm.conf", "manifest.json"])
def test_cut_short_and_its_folder_not_whole(rig, gone):
    """What was there before is not known then: the mixture must not become what a roll back puts back."""
    killed = rig.kill(rig.first)
    mixture = rig.files()
    os.unlink(f"{rig.folder(killed)}/{gone}")
    for path in (rig.first, rig.second):
        found, = policy.codes(rig.ibqos("apply", path).ok(3))["apply-history-broken"]
        assert found["file"] == rig.folder(killed) and rig.files() == mixture
    shutil.move(rig.folder(killed), rig.f.path("elsewhere"))
    rig.ibqos("apply", rig.first, "--include-pending")
    rig.f.ibqos("verify", rig.first).ok()


def test_no_line_in_the_journal_and_nothing_waits(rig):
    """The timer was set, and then no line could be written: nothing is left that could be confirmed."""
    trace = rig.f.path("trace")
    args = ("apply", rig.first, "--confirm-within", "10m")
    rig.ibqos(*args, binary=run.fault_binary(), env={"IBQOS_FAULT_TRACE": trace}).ok()
    with open(trace, encoding="ascii") as t:
        number, = (line.split()[0] for line in t if " journal-write " in line and " install writing" in line)
    rig.ibqos("rollback").ok()
    old = rig.files()
    r = rig.ibqos(*args, binary=run.fault_binary(), env={"IBQOS_FAULT": f"{number}:ENOSPC"}).ok(2)
    assert r.json["apply"]["outcome"].startswith("failed, the old files") and "confirm" not in r.json["apply"]
    assert rig.files() == old
    assert "confirm-not-waiting" in policy.codes(rig.ibqos("confirm").ok(3))
