# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""apply and rollback killed, interrupted or without room at every step that they have. The steps are the fault points
of a second binary (include/ibqos/faultpoint.h), found in it and in what a run of it passes. By default each point is
followed by an apply or by a rollback, in turn; IBQOS_FAULT_POINTS=all does both, and every fault at every point."""
import os
import re

import pytest

from kit import policy, run

SMALL = dict(leaves=1, spines=1, hosts_per_leaf=2, uplinks=1, storage=0)
ALL = os.environ.get("IBQOS_FAULT_POINTS") == "all"
TWO = [dict(name="extra", sl=5, share="10%"), policy.OTHER]
KILLS = 6  # a fabric has room for so many clients that never say that they went


def kinds():
    """Every fault point that the binary has, by name."""
    with open(run.fault_binary(), "rb") as f:
        return sorted({m[1].decode() for m in re.finditer(rb"fault-(?:call|point):([a-z-]+)\0", f.read())})


def test_the_program_itself_has_none():
    with open(run.binary(), "rb") as f:
        text = f.read()
    assert b"IBQOS_FAULT" not in text and not re.search(rb"fault-(call|point):", text)


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except FileNotFoundError:
        return None


class Rig:
    """A fabric with OpenSM and two policies: `first` is applied from nothing or not at all, `second` over the first in
    two steps."""

    def __init__(self, up):
        self.f, self.sm = up(**SMALL)
        self.first = policy.write(self.f, self.sm)
        self.second = policy.write(self.f, self.sm, TWO, name="second.yaml")
        self.kills = 0
        os.mkdir(self.f.path("bin"))
        for name in ("systemd-run", "systemctl"):  # timers that never fire
            with open(self.f.path(f"bin/{name}"), "w", encoding="ascii") as script:
                script.write("#!/bin/sh\n")
            os.chmod(self.f.path(f"bin/{name}"), 0o755)
        self.path = f"{self.f.path('bin')}:{os.environ['PATH']}"
        self.old = self.files()
        self.known = {}

    def files(self):
        return read(self.sm.config), read(self.sm.policy)

    def args(self, *words):
        return [*words, "--state-dir", self.f.path("state"), "--format", "json", "--deadline", "10"]

    def ibqos(self, *words):
        return self.f.ibqos(*self.args(*words), env={"PATH": self.path})

    def fault(self, words, fault):
        self.kills += "kill" in fault
        return self.f.ibqos(*self.args(*words), binary=run.fault_binary(),
                            env={"IBQOS_FAULT": fault, "PATH": self.path})

    def worn(self):
        return self.kills >= KILLS

    def history(self):
        try:
            return sorted(os.listdir(self.f.path("state/history")))
        except FileNotFoundError:
            return []

    def whole(self, folder):
        """Every text that the change of a history folder may put in place as OpenSM's config."""
        folder = self.f.path(f"state/history/{folder}")
        old = read(f"{folder}/old-opensm.conf")
        found = [read(f"{folder}/{n}") for n in ("new-opensm.conf", "step-1-opensm.conf", "step-2-opensm.conf")]
        back = [re.sub(rb"(?m)^qos \w+$", b"qos " + v, old) for v in (b"TRUE", b"FALSE")]
        return [old, *(x for x in found if x is not None), *back]


def whole_old(rig, files):
    """The files as they were before anything, but for `qos`, which a way back writes."""
    def rest(text):
        return [line for line in text.splitlines() if line.split()[:1] != [b"qos"]]

    return files[1] == rig.old[1] and rest(files[0]) == rest(rig.old[0]) and b"\nqos FALSE\n" in b"\n" + files[0]


def no_leftovers(rig):
    return [n for n in os.listdir(rig.sm.dir) if n.startswith(".ibqos-")] == []


# --- what a run passes ---

SCENARIOS = {
    # what has gone before, what is killed, what ends or undoes it
    "first": ([], ["apply", "first"]),
    "steps": (["first"], ["apply", "second"]),
    "back": (["first"], ["rollback"]),
    "steps-back": (["first", "second"], ["rollback"]),
    "confirm": ([], ["apply", "first", "--confirm-within", "10m"]),
}
traces = {}


def words(rig, command):
    return [getattr(rig, w, w) for w in command]


def prepare(rig, scenario):
    """The state that a scenario begins with, and its files."""
    for name in SCENARIOS[scenario][0]:
        rig.ibqos("apply", getattr(rig, name)).ok()
        rig.known[name] = rig.files()


def trace(up, scenario):
    """[(number, kind, name)] of a run to the end; of the second and third scenario what is not in the ones before."""
    if scenario not in traces:
        rig = Rig(up)
        prepare(rig, scenario)
        path = rig.f.path("trace")
        rig.f.ibqos(*rig.args(*words(rig, SCENARIOS[scenario][1])), binary=run.fault_binary(),
                    env={"IBQOS_FAULT_TRACE": path, "PATH": rig.path}).ok()
        with open(path, encoding="utf-8", errors="replace") as t:
            traces[scenario] = [(int(n), kind, name) for n, kind, name, *_ in (line.split(" ", 3) for line in t)]
    return traces[scenario]


def install_begins(points):
    """The number of the first point behind the line that says that files are being written; before it the old files were
    kept, and a timer was set."""
    notes = [n for n, _, name in points if name == "journal-noted"]
    return notes[2 if any(name == "armed" for _, _, name in points) else 1]


def selected(up, scenario, name):
    """Points of this name. Of the scenario in steps only those that are not the same as in the first one."""
    points = trace(up, scenario)
    after = 0
    if scenario == "confirm" and not ALL:
        return [n for n, _, what in points if what == name and what in ("arm", "armed")]
    if scenario == "steps" and not ALL:
        after = [n for n, _, what in points if what == "matched"][0]
    if scenario == "steps-back" and not ALL:
        return [n for n, _, what in points if what == name and what in ("reload", "reloaded", "matched", "file-renamed")][:2]
    return [n for n, _, what in points if what == name and n > after]


# --- killed ---


def check_killed(rig, scenario, before, untouched):
    """Right after SIGKILL: each file whole, and of this change or untouched."""
    now = rig.files()
    if untouched:
        assert now == before
        return
    newest = rig.history()[-1]
    folder = rig.f.path(f"state/history/{newest}")
    assert now[0] in rig.whole(newest), (scenario, newest)
    assert now[1] in (read(f"{folder}/old-qos-policy.conf"), read(f"{folder}/new-qos-policy.conf"), before[1])


def finish(rig, scenario, untouched):
    """The next apply ends it, says what it found, and what it says is so."""
    steps = scenario.startswith("steps")
    target = rig.second if steps else rig.first
    r = rig.ibqos("apply", target).ok()
    assert policy.codes(r).get("apply-unfinished") is None or not untouched
    assert r.json["apply"]["installed"] and no_leftovers(rig)
    rig.f.ibqos("verify", target).ok()
    # and there is one change to undo now, not two
    rig.ibqos("rollback").ok()
    if steps:
        assert rig.files() == rig.known["first"]
        rig.f.ibqos("verify", rig.first).ok()
        rig.ibqos("rollback").ok()
    assert whole_old(rig, rig.files()) and rig.f.ibqos("verify", target).returncode == 2
    assert "apply-no-history" in policy.codes(rig.ibqos("rollback").ok(3))


def undo(rig, scenario, untouched):
    """The next rollback undoes it: that of a change that had not begun is that of the one before, or none."""
    r = rig.ibqos("rollback")
    if scenario.startswith("steps"):
        r.ok()
        if untouched:
            assert whole_old(rig, rig.files())
            return
        assert rig.files() == rig.known["first"]
        rig.f.ibqos("verify", rig.first).ok()
        rig.ibqos("rollback").ok()
    elif untouched and scenario in ("first", "confirm"):
        assert "apply-no-history" in policy.codes(r.ok(3)) and rig.files() == rig.old
        return
    else:
        assert r.returncode == 0 or "apply-no-history" in policy.codes(r.ok(3)), str(r)
    assert whole_old(rig, rig.files()) and no_leftovers(rig)
    assert rig.f.ibqos("verify", rig.first).returncode == 2


@pytest.mark.parametrize("scenario", ["first", "steps", "back", "steps-back", "confirm"])
@pytest.mark.parametrize("name", kinds())
def test_killed(up, scenario, name):
    rig, turn = None, sum(name.encode())
    for number in selected(up, scenario, name):
        begins = install_begins(trace(up, scenario)) if SCENARIOS[scenario][1][0] == "apply" else 0
        untouched = number < begins - 1  # the line that says so may be in the journal before its fsync
        turn += 1
        ways = [finish, undo] if ALL else [(finish, undo)[turn % 2]] if not untouched else [undo if turn % 6 else finish]
        for way in ways:
            if rig is None or rig.worn():
                rig = Rig(up)
            prepare(rig, scenario)
            before = rig.files()
            r = rig.fault(words(rig, SCENARIOS[scenario][1]), f"{number}:kill")
            if r.returncode == 0:  # reloads may be one fewer: then this point does not come
                assert number > [n for n, _, what in trace(up, scenario) if what == "reloaded"][0]
            else:
                assert r.returncode == -9, str(r)
                check_killed(rig, scenario, before, untouched)
                if untouched:
                    holds = rig.first if scenario == "steps" else None
                    assert rig.f.ibqos("verify", holds or rig.first).returncode == (0 if holds else 2)
            if scenario == "back":
                # cut short on its way back, an apply goes forward again, a rollback on
                (finish_back if way is finish else undo)(rig, scenario, untouched)
            else:
                way(rig, scenario, untouched and r.returncode != 0)


def finish_back(rig, scenario, untouched):
    rig.ibqos("apply", rig.first).ok()
    assert rig.files()[1] == rig.known["first"][1] and no_leftovers(rig)
    rig.f.ibqos("verify", rig.first).ok()
    rig.ibqos("rollback").ok()
    assert whole_old(rig, rig.files())


def test_every_point_is_passed_somewhere(up):
    passed = {name for scenario in SCENARIOS for _, _, name in trace(up, scenario)}
    assert passed == set(kinds())


# --- errors and signals ---


def truthful(rig, r, before):
    """What a run that was not killed says of the files is so."""
    now, outcome = rig.files(), r.json["apply"]["outcome"]
    new = None
    if rig.history():
        folder = rig.f.path(f"state/history/{rig.history()[-1]}")
        new = read(f"{folder}/new-opensm.conf"), read(f"{folder}/new-qos-policy.conf")
    assert r.json["apply"]["installed"] == (now == new and outcome in ("applied", "failed, and not rolled back")) \
        or outcome == "failed, and not rolled back"
    if outcome == "applied":
        assert now == new
        rig.f.ibqos("verify", rig.first).ok()
    elif outcome in ("failed, the old files are in place", "rolled back"):
        assert now == before or whole_old(rig, now)
        assert r.returncode == 2 and rig.f.ibqos("verify", rig.first).returncode == 2
    else:
        assert outcome == "failed, and not rolled back" and r.returncode == 2
        assert "apply-rollback-failed" in policy.codes(r)
    assert no_leftovers(rig)
    return outcome


FAULTS = ["ENOSPC", "ENOSPC+", "EIO", "int"]
PARTS = 2


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_step_that_fails(up, fault, part):
    """Disk full once or for good, a failed fsync or a signal at each step of an apply: the report is true, and once the
    fault is gone an apply comes through and a rollback undoes it."""
    rig = Rig(up)
    points = trace(up, "first")
    begins = install_begins(points)
    numbers = [n for n, kind, _ in points if kind == "call" or fault == "int"]
    if not ALL:  # what is kept before is many files written alike: one of them, and all that follows
        numbers = [n for n in numbers if n >= begins - 6 or n < 9]
        numbers = numbers[FAULTS.index(fault) % 3::2 if fault == "ENOSPC" else 3]
    outcomes = set()
    for number in numbers[part::PARTS]:
        before = rig.files()
        action = fault.rstrip("+")
        r = rig.fault(["apply", rig.first], f"{number}{'+' if fault.endswith('+') else ''}:{action}")
        outcomes.add(truthful(rig, r, before))
        if number < begins and fault != "int":
            assert rig.files() == before and r.returncode == 2 and "apply-failed" in policy.codes(r)
        rig.ibqos("apply", rig.first).ok()
        rig.f.ibqos("verify", rig.first).ok()
        rig.ibqos("rollback").ok()
        assert whole_old(rig, rig.files())
        while rig.ibqos("rollback").ok(0, 3).returncode == 0:
            assert whole_old(rig, rig.files())
    assert outcomes <= {"applied", "rolled back", "failed, the old files are in place", "failed, and not rolled back"}
    assert outcomes


def test_a_journal_that_cannot_be_written_to_its_end(up):
    """Once OpenSM has been told, the change goes on; what is missing in the journal is said, and what follows from it:
    the next apply takes the change for cut short."""
    rig = Rig(up)
    points = trace(up, "first")
    number = [n for n, _, name in points if name == "journal-write" and n > install_begins(points)][0]
    r = rig.fault(["apply", rig.first], f"{number}+:ENOSPC")
    found = policy.codes(r.ok(1))
    assert r.json["apply"]["outcome"] == "applied" and found["apply-journal"][0]["got"] == "No space left on device"
    rig.f.ibqos("verify", rig.first).ok()
    r = rig.ibqos("apply", rig.first).ok()
    found = policy.codes(r)["apply-unfinished"]
    assert found[0]["got"].startswith("opensm.conf is new, qos-policy new; its journal ends with: ")
    assert policy.codes(rig.ibqos("apply", rig.first).ok()).get("apply-unfinished") is None


@pytest.mark.parametrize("fault", FAULTS)
def test_a_way_back_that_fails(up, fault):
    rig = Rig(up)
    points = [n for n, kind, _ in trace(up, "back") if kind == "call" or fault == "int"]
    for number in points if ALL else points[FAULTS.index(fault)::4]:
        prepare(rig, "back")
        r = rig.fault(["rollback"], f"{number}{'+' if fault.endswith('+') else ''}:{fault.rstrip('+')}")
        if r.json["apply"]["outcome"] == "rolled back":
            assert whole_old(rig, rig.files())
        else:
            assert r.returncode == 2 and "apply-rollback-failed" in policy.codes(r)
        again = rig.ibqos("rollback").ok(0, 3)
        assert again.returncode == 0 or "apply-no-history" in policy.codes(again)
        assert whole_old(rig, rig.files())
        assert rig.f.ibqos("verify", rig.first).returncode == 2
