# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What the devices hold against what a policy wants of them, by rules of OpenSM written down here once more:
tables folded by OperationalVLs (osm_qos.c:174, 271), cut to the port's caps, the rest of a block zero."""
import json
import os

READER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reader.py")


def _entries(text):
    return [[int(n) for n in e.split(":")] for e in text.split(",")] if text else []


def tables_of(plan):
    """The tables of a plan's JSON report, by type of port."""
    return {t["port_type"]: {"sl2vl": [int(v) for v in t["sl2vl"].split(",")], "low": _entries(t["vlarb_low"]),
                             "high": _entries(t["vlarb_high"]), "high_limit": t["high_limit"]}
            for t in plan["tables"]}


def tables_of_config(text):
    """The same from an opensm.conf: each key falls back to that without a type, then to OpenSM's own (osm_base.h:638)."""
    keys = {}
    for line in text.decode(errors="replace").splitlines():
        words = line.split("#")[0].split()
        if len(words) > 1:
            keys[words[0]] = words[1]
    own = {"sl2vl": ",".join(str(v) for v in [*range(15), 7]), "vlarb_high": "0:4," + ",".join(f"{v}:0" for v in range(1, 15)),
           "vlarb_low": "0:0," + ",".join(f"{v}:4" for v in range(1, 15)), "high_limit": "0"}

    def value(kind, key):
        return keys.get(f"qos_{kind}_{key}") or keys.get(f"qos_{key}") or own[key]

    return {kind: {"sl2vl": [int(v) for v in value(kind, "sl2vl").split(",")], "low": _entries(value(kind, "vlarb_low")),
                   "high": _entries(value(kind, "vlarb_high")), "high_limit": max(int(value(kind, "high_limit")), 0)}
            for kind in ("ca", "sw0", "swe")}


def read(world):
    """{node: {port: what it holds}} of all nodes that a route leads to."""
    nodes = {name: {"route": route, "switch": world.net[name].switch, "ports": world.net[name].ports}
             for name, route in world.routes().items()}
    r = world.fabric.run("/usr/bin/python3", READER, stdin=json.dumps({"nodes": nodes}).encode(),
                         env={"IBQOS_OVERLAY_RULES": world.plain_rules}).ok()
    return {n: {int(p): port for p, port in ports.items()} for n, ports in r.json.items()}


def _fold(vl, oper_vls):
    vls = {0: 0, 1: 1, 2: 2, 3: 4, 4: 8, 5: 16}.get(oper_vls, 16)
    return vl if vls == 0 else vl & (vls - 1)


def _arbitration_differs(port, wanted, which):
    got, oper = port[which], port["oper_vls"]
    want = [[_fold(vl, oper), weight] for vl, weight in wanted[which]][:len(got)]
    return got != want + [[0, 0]] * (len(got) - len(want))


def differences(state, tables, net):
    """{(node, port): {"sl2vl", "vlarb", "high-limit"}}: where a device holds something else. Ports that are down
    are passed over, as OpenSM does."""
    found = {}
    for name, ports in state.items():
        switch = net[name].switch
        for number, port in ports.items():
            if port["state"] == 1:
                continue
            kind = tables["ca" if not switch else "swe" if number else "sw0"]
            what = set()
            for i, got in port["sl2vl"].items():
                # port 0 as an out-port: the map of the other ports for every in-port but 0
                want = tables["swe"] if switch and number == 0 and i != "0" else kind
                fold = [15 if v == 15 else _fold(v, port["oper_vls"]) for v in want["sl2vl"]]
                if got != fold:
                    what.add("sl2vl")
            if any(_arbitration_differs(port, kind, w) for w in ("low", "high")):
                what.add("vlarb")
            if port["high_limit"] != kind["high_limit"]:
                what.add("high-limit")
            if what:
                found[(name, number)] = what
    return found
