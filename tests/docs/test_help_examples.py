# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The examples of each command's --help, run as they stand on a machine with OpenSM on a simulated fabric."""
import os
import re

import pytest

from kit import machine, run

pytestmark = pytest.mark.skipif(machine.possible() is not None, reason=machine.possible() or "")

NCCL_LOG = os.path.join(run.TOP, "tests", "golden", "nccl-logs", "nccl-2.28.9-default.log")
CHANGES = "version: 1\nchanges:\n  - gpu-001 down\n"


def test_each_example_works(tmp_path):
    """In the order of the work: a policy is applied, a cable is bad, snapshots of before and after are there."""
    m = machine.Machine(tmp_path, "faults")
    try:
        lines = {}
        top = m.shell("ibqos --help").ok().stdout
        for name in re.findall(r"^  ([a-z][a-z-]*) ", top.split("\nCommands:\n")[1].split("\n\n")[0], re.M):
            if name == "help":
                continue
            text = m.shell(f"ibqos {name} --help").ok().stdout
            subs = re.findall(r"^  ([a-z][a-z-]*) ", text.split("\nCommands:\n")[1].split("\n\n")[0], re.M) if "\nCommands:\n" in text else [""]
            for sub in subs:
                full = f"{name} {sub}".strip()
                lines[full] = re.findall(r"^  (ibqos .*)$", m.shell(f"ibqos {full} --help").ok().stdout.split("\nExamples:\n")[1].replace(" \\\n", ""), re.M)
        for path in ("before.snap", "after.snap", "good.snap", "r0.snap", "r1.snap"):
            m.shell(f"ibqos snapshot {'--policy /etc/ibqos/policy.yaml ' if path == 'before.snap' else ''}{path}").ok(0, 3)
        m.write("changes.yaml", CHANGES)
        with open(NCCL_LOG, encoding="utf-8", errors="replace") as f:
            m.write("nccl.log", f.read())
        m.write("run.sbatch", "#!/bin/bash\nexport NCCL_IB_SL=1\nsrun train\n")
        m.write("job.env", "NCCL_IB_SL=1\n")
        m.write("bw/one.txt", "nothing\n")
        change = re.search(r"\d{8}T\d{6}Z(?:-\d{3})?", m.shell("ibqos history").ok().stdout)[0]
        order = ["history", "lint", "discover", "plan", "verify", "trace", "audit", "ack", "snapshot", "diff", "import", "rails", "merge", "job env", "job check",
                 "job log", "job host", "job bw-plan", "job bw-read", "maintenance drain", "maintenance begin", "maintenance end", "maintenance list",
                 "apply", "confirm", "rollback"]
        assert sorted(order) == sorted(lines)
        # what no systemd, no adapter, no site file and no measurement of the machine can give is refused, but for no fault of the line
        refused = {"apply": 3, "job host": 3, "job bw-read": 3, "confirm": 3, "rollback": 3}
        bad = []
        for name in order:
            for line in lines[name]:
                r = m.shell(line.replace("20261130T101112Z", change).replace("--wait 2h", "--wait 1s"))
                codes = (0, 1, 2, 3 if "--site" in line else refused.get(name, 0)) if "--sample" not in line else (2, 3)
                if "Try `" in r.stderr or "unknown command" in r.stderr or r.returncode not in codes:
                    bad.append(str(r)[-1500:])
        assert not bad, "\n\n".join(bad)
    finally:
        m.stop()
