# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Starts and ends processes: none outlives the test, none is ended but by its own id."""
import ctypes
import glob
import json
import os
import re
import resource
import signal
import subprocess
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PR_SET_PDEATHSIG = 1
_prctl = ctypes.CDLL(None, use_errno=True).prctl


class KitError(Exception):
    """The kit itself failed: never to be taken for the program's answer."""


def _in_child():
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def but_advice(report):
    """Findings of a report without what to do about them, which is another thing for a file than for the fabric itself."""
    return [{k: v for k, v in x.items() if k != "advice"} for x in report["findings"]]


def unready(target):
    """Why a script that sends MADs must not go on, or None: this machine, or what make TARGET builds is not there."""
    missing = [path for path in (binary(), overlay()) if not os.path.exists(path)]
    return fence() or (f"{missing[0]} is not built: make {target} builds it" if missing else None)


def fence():
    """Why tests must not run on this machine, or None. Everything here sends MADs."""
    for path in ("/sys/class/infiniband", "/dev/infiniband"):
        try:
            entries = os.listdir(path)
        except FileNotFoundError:
            continue
        if entries or not os.environ.get("IBQOS_TESTS_IN_NAMESPACE"):
            return (f"{path} exists: this machine has InfiniBand drivers or hardware, and the tests never come "
                    "near it. Run them elsewhere, or as root through scripts/check.sh, which hides it.")
    return None


def deadline(seconds, what, ready, every=0.005, alive=None, evidence=None):
    """Polls ready() until it gives something true; fails after `seconds`, or at once if alive() says no."""
    end = time.monotonic() + seconds
    while True:
        value = ready()
        if value:
            return value
        dead = alive is not None and not alive()
        if dead or time.monotonic() > end:
            if dead and (value := ready()):
                return value
            more = f"\n{evidence()}" if evidence else ""
            raise KitError(f"{what}: {'its process ended' if dead else f'not within {seconds} s'}{more}")
        time.sleep(every)
        every = min(every * 1.3, 0.1)


def replace(path, lines):
    """Writes a text file by rename, so that nobody reads half of it."""
    new = path + ".new"
    with open(new, "w", encoding="utf-8") as f:
        f.writelines(line + "\n" for line in lines)
    os.rename(new, path)


def start(argv, **kwargs):
    return subprocess.Popen(argv, preexec_fn=_in_child, start_new_session=True, **kwargs)


def end(process, grace=5.0):
    """SIGTERM, then SIGKILL by id. True if it went by itself or on SIGTERM."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(grace)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return False
    return True


class Result:
    """What a program did: returncode, stdout and stderr as text, json of its stdout."""

    def __init__(self, argv, returncode, stdout, stderr, seconds):
        self.argv, self.returncode, self.seconds = argv, returncode, seconds
        self.raw, self.stdout, self.stderr = stdout, stdout.decode(errors="replace"), stderr.decode(errors="replace")

    @property
    def json(self):
        try:
            return json.loads(self.raw)
        except ValueError as e:
            raise AssertionError(f"not JSON ({e}): {self}") from None

    def ok(self, *codes):
        """Itself, if the exit code is one of `codes` (default 0)."""
        assert self.returncode in (codes or (0,)), str(self)
        return self

    def __str__(self):
        return (f"{' '.join(self.argv)}\n-> exit {self.returncode} after {self.seconds:.2f} s\n"
                f"-- stdout\n{self.stdout}\n-- stderr\n{self.stderr}")

    __repr__ = __str__


def run(argv, timeout=60, stdin=None, **kwargs):
    """Runs to its end; a program that does not end is killed and fails the test."""
    argv = [str(a) for a in argv]
    begin = time.monotonic()
    p = start(argv, stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL, stdout=subprocess.PIPE,
              stderr=subprocess.PIPE, **kwargs)
    try:
        out, err = p.communicate(stdin, timeout)
    except subprocess.TimeoutExpired:
        p.kill()
        out, err = p.communicate()
        r = Result(argv, p.returncode, out, err, time.monotonic() - begin)
        raise KitError(f"did not end within {timeout} s: {r}") from None
    finally:
        if p.poll() is None:  # pytest's own timeout
            p.kill()
            p.wait()
    r = Result(argv, p.returncode, out, err, time.monotonic() - begin)
    # whatever the test expects of the exit code, a sanitizer's report is a failure
    assert not re.search(r"ERROR: \w*Sanitizer|: runtime error: ", r.stderr), str(r)
    return r


def bounds(memory, cpu):
    """What bounds the command behind it to so many bytes of address space and seconds of processor time. Under AddressSanitizer,
    whose shadow takes more address space than any bound has, the time alone, and five times it."""
    sanitized = "ASAN_OPTIONS" in os.environ
    return ["prlimit", *([] if sanitized else [f"--as={memory}"]), f"--cpu={cpu * 5 if sanitized else cpu}", "--core=0"]


def binary():
    return os.path.abspath(os.environ.get("IBQOS_BIN") or os.path.join(TOP, "build/release/ibqos"))


def fault_binary():
    """ibqos with fault points: include/ibqos/faultpoint.h."""
    path = os.path.join(os.path.dirname(overlay()), "ibqos-fault")
    if not os.path.exists(path):
        raise KitError(f"{path} is not built: make tools")
    return path


def page_tool():
    """tests/tools/page.c: reports of any size through ibqos's own writers."""
    path = os.path.join(os.path.dirname(overlay()), "page")
    if not os.path.exists(path):
        raise KitError(f"{path} is not built: make tools")
    return path


def overlay():
    return os.path.abspath(os.environ.get("IBQOS_OVERLAY") or os.path.join(TOP, "build/release/tests/overlay.so"))


def simulator_library():
    found = glob.glob("/usr/lib/*/umad2sim/libumad2sim.so")
    if not found:
        raise KitError("libumad2sim.so is not installed: scripts/deps.sh")
    return found[0]
