# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A signal in the middle of any command that asks the fabric: it ends soon, says that the result is not whole, leaves no
temporary file and a clean terminal. And outputs that cannot be written."""
import os
import signal
import subprocess

import pytest

from kit import looks, policy, run, screen, terminal

SMALL = {"leaves": 2, "spines": 1, "hosts_per_leaf": 2, "storage": 0}
# slow enough that no machine is through before the signal
COMMANDS = {
    "discover": (["discover"], 3),
    "plan": (["plan", "POLICY"], 40),
    "verify": (["verify", "POLICY"], 40),
    "audit": (["audit", "--counters", "--state", "state"], 5),
    "snapshot": (["snapshot", "out.snap"], 40),
    "begin": (["maintenance", "begin", "one", "--state-dir", "."], 40),
    "drain": (["maintenance", "drain", "leaf-01"], 3),
    "trace": (["trace", "gpu-001", "gpu-003"], 3),
}
SIGNALS = ["INT", "TERM", "HUP"]


@pytest.fixture
def there(up):
    f, sm = up(options={"qos": "TRUE"}, **SMALL)
    path = policy.write(f, sm)
    f.rules(*looks.LACKS)
    return f, path


def leftovers(f):
    return [n for _, _, names in os.walk(f.dir) for n in names if n.startswith(".") and ("tmp" in n or n.endswith(".new"))]


@pytest.mark.parametrize("name", list(COMMANDS))
def test_a_signal(there, name):
    """On a terminal, at the first sign of work; each signal."""
    f, path = there
    args, rate = COMMANDS[name]
    for number in SIGNALS:
        argv = [run.binary(), *(path if a == "POLICY" else a for a in args), "--mad-rate", str(rate)]
        env = {**f.env(), "TERM": "xterm"}
        env.pop("COLUMNS", None)
        with terminal.Terminal(argv, rows=100, columns=120, cwd=f.dir, env=env) as t:
            t.wait_for(lambda: b" answers" in t.output, "a line of progress")
            os.kill(t.process.pid, getattr(signal, f"SIG{number}"))
            assert t.end(60) == 3, t.output
            output = t.output.decode()
        lines = screen.lines(output, 300, 120)
        assert not [line for line in lines if " answers" in line]
        assert "not whole" in output or "Interrupted" in output, output
        assert not leftovers(f) and not os.path.exists(f.path("out.snap")), os.listdir(f.dir)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_that_the_caller_left_ignored(there, number):
    """As nohup does: it ends nothing."""
    f, _ = there
    argv = ["sh", "-c", f'trap "" {number}; exec "$@"', "sh", run.binary(), "discover", "--mad-rate", "40"]
    with terminal.Terminal(argv, rows=100, columns=120, cwd=f.dir, env={**f.env(), "TERM": "xterm"}) as t:
        t.wait_for(lambda: b" answers" in t.output, "a line of progress")
        os.kill(t.process.pid, getattr(signal, f"SIG{number}"))
        assert t.end(60) == 0, t.output
        assert b"verdict" in t.output and b"not whole" not in t.output


@pytest.mark.parametrize("args", [["discover"], ["verify", "POLICY"], ["plan", "POLICY"], ["audit"], ["snapshot", "a.snap"], ["history"]])
@pytest.mark.parametrize("form", ["text", "json"])
def test_outputs_that_cannot_be_written(there, args, form):
    """A full disk, a reader that goes, a closed descriptor: told, and never a good exit status."""
    f, path = there
    argv = [run.binary(), *(path if a == "POLICY" else a for a in args), "--format", form]
    with open("/dev/full", "wb") as full:
        r = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, cwd=f.dir, env=f.env(), timeout=60, check=False)
    assert r.returncode in (2, 3) and b"cannot write standard output: No space left on device" in r.stderr
    ours, theirs = os.pipe()
    os.close(ours)
    with os.fdopen(theirs, "wb") as gone:
        r = subprocess.run(argv, stdout=gone, stderr=subprocess.PIPE, cwd=f.dir, env=f.env(), timeout=60, check=False)
    assert r.returncode in (2, 3) and b"cannot write standard output: Broken pipe" in r.stderr
    r = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *argv], stderr=subprocess.PIPE, cwd=f.dir, env=f.env(), timeout=60, check=False)
    assert r.returncode in (2, 3) and b"cannot write standard output" in r.stderr
