# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""One run of a program, measured: seconds, peak memory, what it printed; and pairs of runs in turn."""
import os
import statistics
import tempfile
import time

from kit import run


class Measured:
    def __init__(self, argv, returncode, stdout, stderr, seconds, kib, usage):
        self.argv, self.returncode, self.stdout, self.stderr, self.seconds = argv, returncode, stdout, stderr, seconds
        self.mib = kib / 1024
        self.cpu = usage.ru_utime + usage.ru_stime


def program(argv, cwd, env, ok=(0,), timeout=3600):
    """Runs it to its end. Its memory is the high-water mark of the program alone, asked for every few milliseconds:
    the kernel's figure at the end would also count the Python that it was forked from."""
    argv = [str(a) for a in argv]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.monotonic()
        p = run.start(argv, cwd=cwd, env=env, stdin=run.subprocess.DEVNULL, stdout=out, stderr=err)
        try:
            kib, usage = _reap(p, begin + timeout)
        finally:
            run.end(p)
        seconds = time.monotonic() - begin
        texts = []
        for f in (out, err):
            f.seek(0)
            texts.append(f.read().decode(errors="replace"))
    if p.returncode not in ok:
        raise run.KitError(f"{' '.join(argv)}: exit {p.returncode} after {seconds:.1f} s\n{texts[0][-2000:]}\n{texts[1][-2000:]}")
    return Measured(argv, p.returncode, *texts, seconds, kib, usage)


def _reap(p, end):
    pause, kib = 0.0005, 0
    while True:
        kib = _high_water(p.pid) or kib
        pid, status, usage = os.wait4(p.pid, os.WNOHANG)
        if pid:
            p.returncode = os.waitstatus_to_exitcode(status)
            return kib, usage
        if time.monotonic() > end:
            raise run.KitError(f"{p.args[0]}: did not end in time")
        time.sleep(pause)
        pause = min(pause * 1.2, 0.01)


def _high_water(pid):
    try:
        if os.readlink(f"/proc/{pid}/exe") == os.readlink("/proc/self/exe"):
            return 0  # not yet the program
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
            return next((int(line.split()[1]) for line in f if line.startswith("VmHWM:")), 0)
    except OSError:
        return 0


class Row:
    """Two figures measured in turn: `ours` and `theirs` are lists of pairs (figure, Measured)."""

    def __init__(self, what, unit, ours, theirs, other):
        self.what, self.unit, self.other = what, unit, other
        self.ours, self.theirs = [f for f, _ in ours], [f for f, _ in theirs]
        self.ratios = sorted(a / b for a, b in zip(self.ours, self.theirs))
        self.mib = max(m.mib for _, m in ours)
        self.other_mib = max(m.mib for _, m in theirs)
        self.sent = self.other_sent = None

    @property
    def ratio(self):
        return statistics.median(self.ratios)


def in_turn(what, unit, ours, theirs, other, runs):
    """Each once to warm up, then both in turn."""
    ours(), theirs()
    pairs = [(ours(), theirs()) for _ in range(runs)]
    return Row(what, unit, [a for a, _ in pairs], [b for _, b in pairs], other)
