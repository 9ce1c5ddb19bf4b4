#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""How fast job log reads beside grep -c, in the same run: processor seconds of each for a log of NCCL of SIZE MB.

    tests/bench/job_log.py [SIZE] [IBQOS]"""
import os
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOGS = [f"{TOP}/tests/golden/nccl-logs/nccl-2.28.9-{name}.log" for name in ("default", "socket")]


def spent(argv):
    """User and system seconds of a program. Its output is read: grep looks no further than the first match otherwise."""
    p = subprocess.Popen(argv, stdout=subprocess.PIPE)
    p.stdout.read()
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = status
    return usage.ru_utime + usage.ru_stime


def main():
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    ibqos = sys.argv[2] if len(sys.argv) > 2 else f"{TOP}/build/release/ibqos"
    text = "".join(open(path, encoding="utf-8").read() for path in LOGS)
    with tempfile.NamedTemporaryFile("w", suffix=".log") as f:
        written = host = 0
        while written < size * 1000000:
            written += f.write(text.replace("host:", f"gpu-{host % 1000:04}:"))
            host += 1
        f.flush()
        print(f"{written / 1e6:.0f} MB of NCCL {'2.28.9'}, {min(host, 1000)} hosts; least of three runs each")
        rows = [("grep -c 'NCCL WARN'", ["grep", "-c", "NCCL WARN", f.name]), ("grep -c NCCL", ["grep", "-c", "NCCL", f.name]),
                ("ibqos job log", [ibqos, "job", "log", f.name, "--output", "/dev/null"])]
        best = {name: min(spent(argv) for _ in range(3)) for name, argv in rows}
    for name, seconds in best.items():
        print(f"{name:22} {seconds:6.2f} s {seconds / best['ibqos job log']:6.2f} of job log's time")


if __name__ == "__main__":
    main()
