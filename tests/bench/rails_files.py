#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Part of make bench, for 648 hosts: what it costs to put snapshots of many rails together, and how large the answer of one worker gets.

One simulated fabric with an OpenSM is taken as a snapshot, with all its tables; other rails are that file with other GUIDs, adapters and
label. `ibqos merge` of 2, 4 and 8 of them and `ibqos rails` of the same are told in seconds of CPU and in memory: nothing is waited for
but the disk. An answer is what a worker of --site hands back about one such snapshot.

    tests/bench/rails_files.py [--hosts 650 3456] [--rails 2 4 8] [--turns 3] [--answers]        (IBQOS_BIN, IBQOS_OVERLAY as for tests)
"""
import argparse
import contextlib
import os
import statistics
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import measure  # noqa: E402
from bench import QOS, SHAPES  # noqa: E402
from kit import policy, run, sim, snapfile  # noqa: E402

APART = 1 << 32  # between the GUIDs of two rails


def taken(hosts, folder, answers):
    """A snapshot of a fabric, and a policy that is another one than it has."""
    with contextlib.ExitStack() as stack:
        where = stack.enter_context(tempfile.TemporaryDirectory(prefix="ibqos-rails-files-"))
        f = sim.Fabric(where, SHAPES[hosts](), capabilities=False)
        stack.callback(f.stop)
        last = [n.name for n in f.net.nodes.values() if n.kind == "ca"][-1]
        sm = f.opensm(wait=None, options=QOS, host=last, overlay=False)
        sm.wait_up(300 + len(f.net.nodes) / 3)
        path = os.path.join(folder, "r0.snap")
        measure.program([run.binary(), "snapshot", "--fabric", "r0", "--mad-rate", "0", *(["--counters"] if answers else []), path], cwd=where,
                        env=f.env(overlay=False), ok=(0, 3))
        with open(policy.write(f, sm), encoding="utf-8") as text, open(os.path.join(folder, "policy.yaml"), "w", encoding="utf-8") as to:
            to.write(text.read())
        return path, len(f.net.hosts)


def other_rail(snap, number, path):
    """The same fabric as another rail: GUIDs, names of adapters and label are its own."""
    data, strings = list(snap["DATA"]), list(snap["STRS"])
    for item in {n["node_info"] for n in snap["NODE"]} - {snapfile.NONE}:
        info = bytearray(data[item].ljust(40, b"\0"))
        for at in (4, 12, 20):  # system image, node, port
            guid, = struct.unpack_from(">Q", info, at)
            struct.pack_into(">Q", info, at, guid + number * APART)
        data[item] = bytes(info).rstrip(b"\0")
    for i, text in enumerate(strings):
        strings[i] = b"r%d" % number if text == b"r0" else text.replace(b"mlx5_0", b"mlx5_%d" % number)
    ports = [{**p, "guid": p["guid"] + number * APART if p["guid"] else 0} for p in snap["PORT"]]
    snapfile.write(path, {**snap, "DATA": data, "STRS": strings, "PORT": ports})


def cost(argv, cwd, turns):
    found = [measure.program([run.binary(), *argv], cwd=cwd, env=dict(os.environ)) for _ in range(turns)]
    return statistics.median(m.cpu for m in found), max(m.mib for m in found)


def put_together(folder, hosts, counts, turns):
    snap = snapfile.read(os.path.join(folder, "r0.snap"))
    names = [os.path.join(folder, f"r{i}.snap") for i in range(max(counts))]
    for i, path in enumerate(names[1:], 1):
        other_rail(snap, i, path)
    for count in counts:
        merge, merge_mib = cost(["merge", "--format", "json", "all.snap", *names[:count]], folder, turns)
        rails, rails_mib = cost(["rails", "--format", "json", *names[:count]], folder, turns)
        size = os.path.getsize(os.path.join(folder, "all.snap")) / 1e6
        print(f"| {hosts:,} | {len(snap['PORT']):,} | {count} | {size:.1f} | {merge:.2f} | {merge_mib:.0f} | {rails:.2f} | {rails_mib:.0f} |", flush=True)


def answer_sizes(folder, hosts):
    for what, argv in (("discover", ["discover"]), ("audit --all", ["audit", "--all"]), ("verify of a policy that no port has",
                       ["verify", "--opensm-config", "none"])):
        more = ["policy.yaml"] if argv[0] == "verify" else []
        out = os.path.join(folder, "answer")
        m = measure.program([run.binary(), *argv, "--from", "r0.snap", "--format", "calls", "--output", out, *more], cwd=folder, env=dict(os.environ),
                            ok=(0, 1, 2, 3))
        with open(out, encoding="utf-8") as f:
            findings = sum(line.startswith('["F"') for line in f)
        print(f"| {hosts:,} | {what} | {os.path.getsize(out) / 1e6:.2f} | {findings:,} | {m.cpu:.2f} | {m.mib:.0f} |", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--hosts", nargs="+", choices=SHAPES, default=["650", "3456"])
    p.add_argument("--rails", nargs="+", type=int, default=[2, 4, 8])
    p.add_argument("--turns", type=int, default=3)
    p.add_argument("--answers", action="store_true", help="the sizes of answers, in place of merge and rails")
    a = p.parse_args()
    fenced = run.fence()
    if fenced:
        print(f"rails_files: {fenced}", file=sys.stderr)
        return 3
    if a.answers:
        print("| hosts | answer of | MB | findings in it | CPU, s | most memory, MB |\n|---|---|---|---|---|---|")
    else:
        print("| hosts in each rail | ports in each | rails | all.snap, MB | `merge`: CPU, s | most memory, MB | `rails`: CPU, s | most memory, MB |\n"
              "|---|---|---|---|---|---|---|---|", flush=True)
    for h in a.hosts:
        with tempfile.TemporaryDirectory(prefix="ibqos-rails-files-") as folder:
            _, hosts = taken(h, folder, a.answers)
            if a.answers:
                answer_sizes(folder, hosts)
            else:
                put_together(folder, hosts, a.rails, a.turns)
    return 0


if __name__ == "__main__":
    sys.exit(main())
