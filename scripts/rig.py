#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A simulated fabric that stays (started by simulated.sh): ibsim and OpenSM run until Ctrl-C or SIGTERM, then all of it goes, the
folder too. What to type in another shell is printed. rig.py [NET-FILE]: a fabric of tests/tools/netgen.py, else the demo's."""
import os
import shlex
import shutil
import signal
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "tests"))
sys.dont_write_bytecode = True

from kit import policy, run, sim  # noqa: E402
from tools import netgen  # noqa: E402


def write_on(fabric):
    """The script that runs a program on this fabric: only that program may have the simulator's library preloaded."""
    mine = {k: v for k, v in fabric.env().items() if os.environ.get(k) != v}
    mine["PATH"] = os.path.dirname(run.binary()) + ":" + os.environ.get("PATH", "")
    path = fabric.path("on")
    words = " ".join(f"{k}={shlex.quote(v)}" for k, v in sorted(mine.items()))
    with open(path, "w", encoding="utf-8") as f:
        # an LD_PRELOAD of env's own would go to env as well
        f.write(f'#!/bin/sh\n# Runs a program on the simulated fabric: {path} ibqos discover\n'
                f'[ $# -gt 0 ] || {{ echo "usage: {path} PROGRAM [ARGUMENT...]" >&2; exit 4; }}\nexec env {words} "$@"\n')
    os.chmod(path, 0o755)
    return path


def hold(folder, net, ended):
    with sim.Fabric(folder, net) as fabric:
        sm = fabric.opensm()
        on, wanted = write_on(fabric), policy.write(fabric, sm)
        print(f"""\
ibsim {fabric.ibsim.pid} and OpenSM {sm.pid} run in {folder}. In another shell:

  on={shlex.quote(on)}
  $on ibqos discover
  $on ibqos apply --state-dir {shlex.quote(fabric.path("state"))} {shlex.quote(wanted)}
  $on ibqos verify {shlex.quote(wanted)}
  $on iblinkinfo

  {sm.config}  its config (kill -HUP {sm.pid} after an edit), and {sm.log_file}
  {fabric.rules_file}  the overlay's rules for whatever is run by $on, e.g.
    echo 'node=leaf-02 attr=SL2VL prob=0.2 : timeout' >>{shlex.quote(fabric.rules_file)}
  {sm.rules_file}  the same for OpenSM

Ctrl-C ends it.""", flush=True)
        while not ended and sm.alive() and fabric.ibsim.poll() is None:
            time.sleep(0.2)
        if not ended:
            raise run.KitError(f"OpenSM or ibsim has ended by itself\n{sm.evidence()}")


def main():
    reason = run.unready("rig")
    if reason:
        sys.exit(f"rig: {reason}")
    if len(sys.argv) > 2:
        sys.exit("usage: simulated.sh rig [NET-FILE]")
    net = netgen.fat_tree(leaves=6, spines=3, hosts_per_leaf=16, uplinks=6, storage=8)
    if len(sys.argv) == 2:
        with open(sys.argv[1], encoding="ascii") as f:
            net = f.read()
    folder = tempfile.mkdtemp(prefix="ibqos-rig-")
    ended = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # noted only: whatever is being started or stopped goes on
        signal.signal(number, lambda number, _: ended.append(number))
    try:
        hold(folder, net, ended)
    except (run.KitError, OSError) as e:
        sys.exit(f"rig: {e}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("rig: gone; nothing is left running")


if __name__ == "__main__":
    main()
