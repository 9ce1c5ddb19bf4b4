#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""How fast `ibqos job log` reads beside `grep -c`, and in how much memory: part of `make bench`.

    tests/bench/job_log.py [SIZE-IN-MB] [IBQOS]

Two logs of that size, made of real ones: one in which each process's lines stand together, and one in which 200 ranks write in
turn, so that no line begins as the one before. Both programs read the same file in turn, five times after one that is
not counted; told are the medians of processor seconds (of a shared machine a clock would tell more of the others) and of the
ratios. grep runs in the C locale, where it is fastest, for a pattern that few lines have and for one that all have."""
import os
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import measure  # noqa: E402
from kit import run  # noqa: E402

LOGS = [f"{run.TOP}/tests/golden/nccl-logs/nccl-2.28.9-{name}.log" for name in ("default", "socket")]
RUNS = 5
PATTERNS = ("NCCL WARN", "NCCL")


def blocks():
    """The two logs as those of 1000 hosts, one behind the other."""
    text = "".join(open(path, encoding="utf-8").read() for path in LOGS)
    host = 0
    while True:
        yield text.replace("host:", f"gpu-{host % 1000:04}:")
        host += 1


def in_turn(ranks=200, hosts_each=5):
    """The same lines, of so many ranks in turn."""
    source = blocks()
    queues = ["".join(next(source) for _ in range(hosts_each)).splitlines(True) for _ in range(ranks)]
    text = "".join("".join(lines) for lines in zip(*queues))
    while True:
        yield text


def write(path, size, source):
    written = 0
    with open(path, "w", encoding="utf-8") as f:
        while written < size * 1000000:
            written += f.write(next(source))
    return written


def main():
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    ibqos = sys.argv[2] if len(sys.argv) > 2 else f"{run.TOP}/build/release/ibqos"
    env = dict(os.environ, LC_ALL="C")
    with tempfile.TemporaryDirectory() as folder:
        for what, source in (("one process behind the other", blocks()), ("200 ranks in turn", in_turn())):
            path = os.path.join(folder, "job.log")
            print(f"{write(path, size, source) / 1e6:.0f} MB of NCCL 2.28.9, {what}", flush=True)

            def call(*argv):
                return measure.program(argv, folder, env, ok=(0, 1, 2))

            for pattern in PATTERNS:
                pairs = [(call(ibqos, "job", "log", path, "--output", "/dev/null"), call("grep", "-c", pattern, path))
                         for _ in range(RUNS + 1)][1:]
                ratios = sorted(theirs.cpu / ours.cpu for ours, theirs in pairs)
                print(f"  of the speed of grep -c '{pattern}': {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}); "
                      f"{statistics.median(p[0].cpu for p in pairs):.2f} s against {statistics.median(p[1].cpu for p in pairs):.2f} s; "
                      f"{max(p[0].mib for p in pairs):.1f} MiB", flush=True)
            os.remove(path)


if __name__ == "__main__":
    main()
