# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Each command that the program has, by an example of its own help, with a signal at a moment of chance: it ends as documented, what it
writes is whole or not there, locks are free and the terminal is as it was. IBQOS_SIGNAL_SEEDS: how many moments each (default 1)."""
import fcntl
import json
import os
import random
import re
import shlex
import signal
import time

import pytest

from kit import looks, policy, run, screen, sim, terminal
from tools import netgen

SHAPE = {"leaves": 2, "spines": 1, "hosts_per_leaf": 2, "storage": 0}
SEEDS = range(int(os.environ.get("IBQOS_SIGNAL_SEEDS", "1")))
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGPIPE]
DEADLINE = 60


def help_of(*words):
    return run.run([run.binary(), *words, "--help"]).ok().stdout


def listed(text):
    return re.findall(r"^  ([a-z][a-z-]*) ", text.split("\nCommands:\n")[1].split("\n\n")[0], re.M) if "\nCommands:\n" in text else []


def commands():
    """{full name: its help}, of all in the table"""
    found = {}
    for name in listed(help_of()):
        text = help_of(name) if name != "help" else ""
        found |= {f"{name} {sub}": help_of(name, sub) for sub in listed(text)} or {name: text}
    return found


COMMANDS = commands() if os.path.exists(run.binary()) else {}


def example(name):
    """The first example of a command's help, as words."""
    if name == "help":
        return ["help", "verify"]
    body = COMMANDS[name].split("\nExamples:\n")[1].replace(" \\\n", "")
    return shlex.split(re.findall(r"^  ibqos (.*)$", body, re.M)[0])


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    """A fabric, and what the examples name."""
    with sim.Fabric(tmp_path_factory.mktemp("signals"), netgen.fat_tree(**SHAPE)) as f:
        sm = f.opensm(options={"qos": "TRUE"})
        path = policy.write(f, sm)
        f.rules(*looks.LACKS)
        state = f.path("audit.state")
        for words in (["snapshot", "before.snap"], ["audit", "--counters", "--state", state], ["apply", path, "--state-dir", "."],
                      ["maintenance", "begin", "swap-12", "--state-dir", ".", "--no-counters"]):
            f.ibqos(*words).ok(0)
        for name in ("after.snap", "good.snap"):
            os.link(f.path("before.snap"), f.path(name))
        f.ibqos("snapshot", "--fabric", "r0", "r0.snap").ok(0)
        f.ibqos("snapshot", "--fabric", "r1", "r1.snap").ok(0)
        os.mkdir(f.path("bw"))
        for name, text in (("run.sbatch", "export NCCL_IB_SL=1\n"), ("nccl.log", "h:1:1 [0] NCCL INFO x\n"), ("bw/one.txt", "nothing\n")):
            with open(f.path(name), "w", encoding="ascii") as file:
                file.write(text)
        for name in ("changes.yaml", "job.env"):
            with open(f.path(name), "w", encoding="ascii") as file:
                file.write("version: 1\n" if name.endswith("yaml") else "NCCL_IB_SL=1\n")
        yield f, {"/etc/ibqos/policy.yaml": path, "/var/lib/ibqos/audit.state": state, "/etc/opensm/opensm.conf": sm.config,
                  "bw/*.txt": f.path("bw/one.txt"), "fabric.json": f.path("fabric.json"), "leaf-01[2]": "leaf-01[2]"}


def amiss(f):
    """What a run has left that it should not have: files half written, and locks."""
    bad = []
    for folder, _, names in os.walk(f.dir):
        for name in names:
            at = os.path.join(folder, name)
            if re.search(r"\.tmp|\.new$|^\..*\.[A-Za-z0-9]{6}$", name):
                bad.append(at)
            if "lock" in name:
                with open(at, "rb") as file:
                    try:
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except OSError:
                        bad.append(f"{at} is held")
    return bad


def whole(f):
    """What is in the folder can be used, whatever became of the runs."""
    for name in os.listdir(f.dir):
        if name.endswith(".snap"):
            f.ibqos("snapshot", "--show", name, *(["--fabric", "r1"] if name == "site.snap" else [])).ok(0)
    assert "state-broken" not in f.ibqos("ack", "--list", "--state", "audit.state", "--format", "json").ok(0).stdout
    assert f.ibqos("history", "--state-dir", ".", "--format", "json").ok(0, 1).json["history"]


@pytest.mark.parametrize("name", list(COMMANDS))
def test_a_signal_in_any_command(there, name):
    f, paths = there
    text = COMMANDS[name]
    for seed in SEEDS:
        for number in SIGNALS:
            chance = random.Random(f"{name} {seed} {number}")
            words = [paths.get(w, w) for w in example(name)]
            words += ["--state-dir", "."] if "--state-dir" in text else []
            words += ["--mad-rate", str(chance.choice([2000, 0] if number == signal.SIGPIPE else [400, 2000, 0]))] if "--mad-rate" in text else []
            words += ["--format", "json"] if "--format" in text else []
            output = f.path("out")
            with open(output, "wb") as out, terminal.Terminal([run.binary(), *words], rows=100, columns=120, cwd=f.dir, stdout=out,
                                                              env={**f.env(), "TERM": "xterm"}) as t:
                end = time.monotonic() + chance.uniform(0.005, 0.4)
                while time.monotonic() < end and t.read(0.005):
                    pass
                if t.process.poll() is None:
                    os.kill(t.process.pid, number)
                code = t.end(DEADLINE)
            said = t.output.decode()
            where = (name, seed, number, words, code, said)
            with open(output, "rb") as file:
                report = file.read()
            if code == -number:  # it came before anything was begun
                assert not report and not said, where
            else:
                assert code in (0, 1, 2, 3), where
                assert code in (2, 3) or "signal" not in said, where
                if report.startswith(b"{"):  # job env and others print what is to be run instead
                    assert json.loads(report)["exit"] == code, where
            assert not [line for line in screen.lines(said, 100, 120) if " answers" in line or "how far" in line], where
            assert not amiss(f), (where, amiss(f))
    whole(f)
