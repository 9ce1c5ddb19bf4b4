# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Reads what ibnetdiscover wrote, or a net file of others, into a Net: so that faults can be planted in it."""
import collections
import re

from tools.netgen import Net, SPEEDS, WIDTHS

NODE = re.compile(r'(Ca|Switch|Rt)\s+(\d+)\s+"([^"]+)"\s*(?:#\s*"([^"]*)")?')
PORT = re.compile(r'\[(\d+)\](?:\([0-9a-f]+\))?\s+"([^"]+)"\[(\d+)\]')
RATE = re.compile(r"\b(\d+)x(SDR|DDR|QDR|FDR10|FDR|EDR|HDR|NDR)\b")
KINDS = {"Ca": "ca", "Switch": "switch", "Rt": "router"}


def _nodes(lines):
    """[(kind, ports, name, description, ids, [(port, peer, peer's port, width, speed)])]"""
    found, ids = [], {}
    for line in lines:
        if m := re.match(r"(vendid|devid|sysimgguid|caguid|switchguid|rtguid)=0x([0-9a-f]+)", line):
            ids["guid" if m[1] in ("caguid", "switchguid", "rtguid") else m[1]] = int(m[2], 16)
        elif m := NODE.match(line):
            found.append((KINDS[m[1]], int(m[2]), m[3], m[4] or m[3], ids, []))
            ids = {}
        elif (m := PORT.match(line)) and found:
            rate = RATE.search(line)
            found[-1][5].append((int(m[1]), m[2], int(m[3]), int(rate[1]) if rate else 4, rate[2] if rate else "SDR"))
    return found


def _levels(net):
    """Roles of switches: how many hops from one with hosts."""
    level = {n.name: 0 for n in net.switches if any(p.kind == "ca" and p.role != "sharp" for p in n.peers())}
    todo = collections.deque(level)
    while todo:
        n = todo.popleft()
        for p in net[n].peers():
            if p.switch and p.name not in level:
                level[p.name] = level[n] + 1
                todo.append(p.name)
    for n in net.switches:
        n.level = level.get(n.name, 9)
        n.role = f"switch {n.level} {n.device:#x}"


def load(text):
    """Cables of a switch to itself are left out: a Net has none."""
    net, nodes = Net(), _nodes(text.splitlines())
    seen = collections.Counter(n[3] for n in nodes)
    for kind, ports, name, desc, ids, _ in nodes:
        sharp = "Aggregation Node" in desc
        more = {"vendor": ids.get("vendid", 0), "device": ids.get("devid", 0), "sysimg": ids.get("sysimgguid")}
        desc = re.sub(r'["=]', "_", desc)[:63]
        if kind == "switch":
            net.add_switch(name, desc, ports=ports, guid=ids["guid"], **more)
        elif kind == "router":
            net.add_router(name, desc, ports=ports, guid=ids["guid"], **more)
        else:  # of several nodes of one description each is a host of its own: it has no name yet
            host = desc.split()[0] if seen[desc] == 1 else name
            net.add_ca(name, desc, ports=ports, guid=ids["guid"], host=host, role="sharp" if sharp else "host", **more)
    for _, _, name, _, _, cables in nodes:
        for port, peer, peer_port, width, speed in cables:
            if peer == name or peer not in net.nodes or port in net[name].cables or peer_port in net[peer].cables:
                continue
            net.cable(name, peer, port, peer_port, width=width if width in WIDTHS else 4,
                      speed=speed if speed in SPEEDS else "SDR")
    # clients are attached to the first adapter, at port 1
    start = next((n for n in net.nodes.values() if n.kind == "ca" and n.role != "sharp" and 1 in n.cables), None)
    if start:
        net.nodes = {start.name: start} | net.nodes
    _levels(net)
    return net
