# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""One run of a program, measured: seconds, peak memory, what it printed; and runs of several programs in turn."""
import copy
import os
import statistics
import tempfile
import time

from kit import run

SLOW_S, FEW = 40, 3  # a turn that takes longer is taken less often: this often
WARM_S = 15  # and one this long needs none before it to warm up


class Measured:
    """figure: what is compared, its seconds where nothing else is said."""

    def __init__(self, argv, returncode, stdout, stderr, seconds, kib, usage):
        self.argv, self.returncode, self.stdout, self.stderr, self.seconds = argv, returncode, stdout, stderr, seconds
        self.mib = kib / 1024
        self.cpu = usage.ru_utime + usage.ru_stime
        self.figure = seconds

    def with_figure(self, figure):
        """The same run looked at by another figure."""
        other = copy.copy(self)
        other.figure = figure
        return other


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


def together(*measured):
    """Programs that take one's place together: their seconds added up, the memory of the larger."""
    largest = max(measured, key=lambda m: m.mib)
    return largest.with_figure(sum(m.seconds for m in measured))


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
    """ours, theirs: what was measured in the same turns. The ratio is of times: less is faster."""

    def __init__(self, what, other, ours, theirs, unit="s", sent=None, other_sent=None):
        self.what, self.other, self.unit, self.sent, self.other_sent = what, other, unit, sent, other_sent
        self.ours, self.theirs = [m.figure for m in ours], [m.figure for m in theirs]
        self.ratios = sorted(a / b for a, b in zip(self.ours, self.theirs))
        self.mib = max(m.mib for m in ours)
        self.other_mib = max(m.mib for m in theirs)

    @property
    def runs(self):
        return len(self.ratios)

    @property
    def ratio(self):
        return statistics.median(self.ratios)

    @property
    def medians(self):
        return statistics.median(self.ours), statistics.median(self.theirs)


def in_turn(ways, runs, warm=True):
    """Calls {name: way} in turn, `runs` times, and gives {name: [Measured]}. The first turn only warms up, unless it
    took long or need not; where a turn takes very long there are fewer."""
    begin = time.monotonic()
    found = {name: [way()] for name, way in ways.items()}
    took = time.monotonic() - begin
    if took > SLOW_S:
        runs = min(runs, FEW)
    if warm and took < WARM_S:
        found = {name: [] for name in ways}
    while len(next(iter(found.values()))) < runs:
        for name, way in ways.items():
            found[name].append(way())
    return found
