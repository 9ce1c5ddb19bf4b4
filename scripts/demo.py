#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The demo (started by simulated.sh): a two-level fat tree of 104 hosts on ibsim, OpenSM on it, two faults planted,
then ibqos from discovery to audit. Exit 0 only if every verdict is the one that the fabric deserves."""
import os
import re
import shutil
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "tests"))
sys.dont_write_bytecode = True

from kit import run, sim  # noqa: E402
from tools import netgen  # noqa: E402

failures = []
steps = 0


def say(text):
    global steps
    steps += 1
    print(f"\n=== {steps}. {text}", flush=True)


def expect(what, holds):
    print(f"    {'as expected' if holds else 'NOT AS EXPECTED'}: {what}", flush=True)
    if not holds:
        failures.append(what)


def show(text, head=14, tail=12):
    lines = text.splitlines()
    if len(lines) > head + tail + 40:
        lines[head:-tail] = [f"    ... {len(lines) - head - tail} lines more ..."]
    print("\n".join(lines))


def ibqos(fabric, *args, codes):
    print(f"$ ibqos {' '.join(args)}", flush=True)
    r = fabric.ibqos(*args, timeout=300)
    show(r.stdout)
    sys.stderr.write(r.stderr)
    expect(f"exit code {r.returncode} ({r.seconds:.1f} s, {r.sent.gets} Gets sent, {r.sent.sets} Sets)",
           r.returncode in codes)
    return r


def plant(net):
    """Overlay rules for a narrowed cable between switches and a slowed host link, as both of their ends would
    report it; and the two links as {(node, port), (node, port)}."""
    leaf, spine, host = net["leaf-02"], net["spine-03"], net["gpu-037"]
    up = leaf.to("spine-03")[4]
    down = leaf.cables[up].peer(leaf)[1]
    home, port = host.cables[1].peer(host)
    rules = [f"node={n} port={p} attr=PortInfo : set LinkWidthActive=1" for n, p in ((leaf.name, up), (spine.name, down))]
    # 0: not an extended speed; 4: QDR
    rules += [f"node={n} port={p} attr=PortInfo : set LinkSpeedExtActive=0 LinkSpeedActive=4"
              for n, p in ((host.name, 1), (home.name, port))]
    return rules, [{(leaf.guid, up), (spine.guid, down)}, {(host.guid, 1), (home.guid, port)}]


def found_links(report):
    """The links named by findings that count, one set of both ends each."""
    return [{(int(x["node_guid"], 16), x["port"]), (int(x["peer_guid"] or "0", 16), x["peer_port"])}
            for x in report["findings"] if x["severity"] != "note"]


def demo(folder):
    net = netgen.fat_tree(leaves=6, spines=3, hosts_per_leaf=16, uplinks=6, storage=8)
    say(f"A simulated fabric: {len(net.hosts)} hosts (96 gpu, 8 oss), 6 leaf and 3 spine switches of 36 ports, "
        f"{len(net.cables)} EDR links, in {folder}")
    fabric = sim.Fabric(folder, net)
    try:
        sm = fabric.opensm()
        print(f"    ibsim {fabric.ibsim.pid}; OpenSM {sm.pid} with a plain config, QoS off: {sm.config}")
        say("Two faults are planted: leaf-02 to spine-03 runs at 1x, gpu-037 at QDR instead of EDR")
        rules, planted = plant(net)
        fabric.rules(*rules)
        state = os.path.join(folder, "state")
        policy = os.path.join(folder, "training-first.yaml")
        with open(os.path.join(TOP, "policies/training-first.yaml"), encoding="utf-8") as f:
            text, count = re.subn(r"(?m)^(\s+config:).*$", rf"\1 {sm.config}", f.read())
        if count != 1:
            raise run.KitError("policies/training-first.yaml: no opensm.config to adapt")
        with open(policy, "w", encoding="utf-8") as f:
            f.write(text)

        say("What is there")
        ibqos(fabric, "discover", codes=(0,))
        say("The policy, checked before anything is touched")
        ibqos(fabric, "lint", policy, codes=(0,))
        say("What it means for this fabric: shares, and OpenSM's files as a diff; nothing is written")
        ibqos(fabric, "plan", policy, codes=(0,))
        say("Do the ports hold it already? They cannot: OpenSM runs without QoS")
        ibqos(fabric, "verify", policy, codes=(2,))
        say("Installed, OpenSM reloaded, and waited for until every port reads back right")
        ibqos(fabric, "apply", policy, "--state-dir", state, codes=(0,))
        say("Every port's SL2VL, VLArb and VLHighLimit once more, each asked from the device itself")
        ibqos(fabric, "verify", policy, codes=(0,))
        say("Links that run slower than both of their ends can: the planted two, worst first, and no other")
        ibqos(fabric, "audit", codes=(2,))
        r = fabric.ibqos("audit", "--format", "json", "--output", os.path.join(folder, "audit.json"))
        expect("the same exit code for JSON", r.returncode == 2)
        with open(os.path.join(folder, "audit.json"), "rb") as f:
            r.raw = f.read()
        found = found_links(r.json)
        expect("the audit names exactly the two planted links",
               len(found) == 2 and all(p in found for p in planted))
    finally:
        fabric.stop()
    expect("OpenSM and ibsim are gone", sm.process.poll() is not None and fabric.ibsim.poll() is not None)


def main():
    reason = run.unready("demo")
    if reason:
        sys.exit(f"demo: {reason}")
    folder = tempfile.mkdtemp(prefix="ibqos-demo-")
    try:
        demo(folder)
    except (run.KitError, AssertionError, KeyError, ValueError) as e:
        print(e, file=sys.stderr)
        failures.append(f"the demo broke off: {type(e).__name__}")
    if failures:
        print(f"\ndemo: {len(failures)} not as expected (files kept in {folder}):", file=sys.stderr)
        for f in failures:
            print(f"  {f}", file=sys.stderr)
        sys.exit(1)
    shutil.rmtree(folder)
    print("\ndemo: all as expected; nothing is left running")


if __name__ == "__main__":
    main()
