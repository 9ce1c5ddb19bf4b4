#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Fabrics for ibsim: the model (Net), its net file, and the two-level fat tree most tests use.

More shapes are in netgen_*.py beside it, planted faults in netgen_fault.py; docs/testing.md tells them all.
The same arguments always give the same GUIDs, ports and text.
"""
import argparse
import os
import sys
from collections import deque

# ibsim 0.10 knows all but NDR: that is written as HDR, and capabilities() makes NDR of it
SPEEDS = ("SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR")
WIDTHS = (1, 2, 4, 8, 12)
CA_GUID = 0x0c42a10300000000
SWITCH_GUID = 0xb83fd20300000000
ROUTER_GUID = 0x043f720300000000
# PortInfo's codes (IBA 14.2.5.6): one bit a width; SDR, DDR, QDR in one field, FDR on in another
WIDTH_CODE = {1: 1, 2: 16, 4: 2, 8: 4, 12: 8}
WIDTH_MASK = {1: 1, 2: 17, 4: 3, 8: 7, 12: 11}
SPEED_CODE = {"SDR": 1, "DDR": 2, "QDR": 4}
EXT_CODE = {"FDR": 1, "EDR": 2, "HDR": 4, "NDR": 8}


def speed_code(speed):
    """(LinkSpeedActive, LinkSpeedExtActive) of a link of this speed."""
    return SPEED_CODE.get(speed, 4), EXT_CODE.get(speed, 0)


class Node:
    """kind: ca, switch or router. role: what it is there for (gpu, oss, login, sharp; leaf, spine, core, ...).
    host: the machine that an adapter sits in. vendor, device: 0 where nobody said."""

    def __init__(self, name, desc, guid, ports, kind, role=None, host=None, sysimg=None, vendor=0, device=0):
        self.name, self.desc, self.guid, self.ports, self.kind = name, desc, guid, ports, kind
        self.role, self.host, self.sysimg = role, host or name, sysimg or guid
        self.vendor, self.device = vendor, device
        self.switch = kind == "switch"
        self.esp0 = True  # a switch with an enhanced port 0
        self.cables = {}  # port -> Cable
        self.level = 0  # of a switch in a tree, from 1 at the hosts

    def __repr__(self):
        return f"<{self.kind} {self.name}>"

    def free_port(self):
        for p in range(1, self.ports + 1):
            if p not in self.cables:
                return p
        raise ValueError(f"{self.name}: all {self.ports} ports are taken")

    def free_ports(self):
        return self.ports - len(self.cables)

    def port_guid(self, port=1):
        """As ibsim gives them: a switch has one for all ports, the others' follow their node GUID."""
        return self.guid if self.switch else self.guid + port

    def to(self, other):
        """This node's ports that are cabled to `other` (a name), in order."""
        return [p for p, c in sorted(self.cables.items()) if c.peer(self)[0].name == other]

    def peers(self):
        return [c.peer(self)[0] for _, c in sorted(self.cables.items())]


class Cable:
    def __init__(self, a, ap, b, bp, width, speed):
        self.a, self.ap, self.b, self.bp, self.width, self.speed = a, ap, b, bp, width, speed

    def __repr__(self):
        return f"<{self.a.name}[{self.ap}]-{self.b.name}[{self.bp}]>"

    def peer(self, node):
        return (self.b, self.bp) if node is self.a else (self.a, self.ap)

    @property
    def ends(self):
        return (self.a, self.ap), (self.b, self.bp)

    @property
    def kind(self):
        return self.width, self.speed


class Net:
    """Nodes by name and the cables between them. In the file adapters come first: at the first of them clients
    are attached."""

    def __init__(self):
        self.nodes = {}
        self.cables = []
        self._made = {"ca": 0, "switch": 0, "router": 0}
        self._guids = set()

    def _add(self, name, desc, guid, ports, kind, **more):
        if name in self.nodes:
            raise ValueError(f"two nodes named {name}")
        # ibsim keeps 31 characters of SIM_HOST, 63 of a description; the rest it takes for syntax
        if len(name) > 31 or len(desc or name) > 63 or set('"#@[]=') & set(name) or set('"=\n') & set(desc or ""):
            raise ValueError(f"ibsim takes no node {name!r} with the description {desc!r}")
        if not 1 <= ports <= 254:
            raise ValueError(f"{name}: a node has 1 to 254 ports, not {ports}")
        node = Node(name, desc or name, guid, ports, kind, **more)
        # for a CA and a router ibsim gives the GUIDs behind the node's to its ports
        taken = set(range(guid, guid + 1 if kind == "switch" else guid + ports + 1))
        if taken & self._guids:
            raise ValueError(f"{name}: GUID 0x{guid:016x} is taken")
        self._guids |= taken
        self._made[kind] += 1
        self.nodes[name] = node
        return node

    def add_ca(self, name, desc=None, ports=1, guid=None, **more):
        return self._add(name, desc, guid or CA_GUID + (self._made["ca"] + 1) * 16, ports, "ca", **more)

    def add_switch(self, name, desc=None, ports=36, guid=None, **more):
        return self._add(name, desc, guid or SWITCH_GUID + (self._made["switch"] + 1) * 256, ports, "switch", **more)

    def add_router(self, name, desc=None, ports=1, guid=None, **more):
        return self._add(name, desc, guid or ROUTER_GUID + (self._made["router"] + 1) * 16, ports, "router", **more)

    def cable(self, a, b, ap=None, bp=None, width=4, speed="EDR"):
        """Joins two nodes (names), at the given or the first free ports."""
        if width not in WIDTHS or speed not in SPEEDS:
            raise ValueError(f"no {width}x{speed} here")
        a, b = self.nodes[a], self.nodes[b]
        if a is b:
            raise ValueError(f"{a.name}: a cable from a node to itself")
        ap = a.free_port() if ap is None else ap
        bp = b.free_port() if bp is None else bp
        for n, p in ((a, ap), (b, bp)):
            if not 1 <= p <= n.ports:
                raise ValueError(f"{n.name} has no port {p}, but 1 to {n.ports}; or more are taken than it has")
        if ap in a.cables or bp in b.cables:
            raise ValueError(f"{a.name}[{ap}] or {b.name}[{bp}] is taken")
        c = Cable(a, ap, b, bp, width, speed)
        a.cables[ap] = b.cables[bp] = c
        self.cables.append(c)
        return c

    def bundle(self, a, b, count, ap=None, **kwargs):
        """`count` parallel cables; ap: where those of `a` begin (else the first free ports)."""
        return [self.cable(a, b, ap=None if ap is None else ap + i, **kwargs) for i in range(count)]

    def remove(self, cable):
        self.cables.remove(cable)
        del cable.a.cables[cable.ap], cable.b.cables[cable.bp]

    def remove_node(self, name):
        node = self.nodes.pop(name)
        for c in list(node.cables.values()):
            self.remove(c)
        return node

    def __getitem__(self, name):
        return self.nodes[name]

    @property
    def first(self):
        return next(iter(self._in_order()))

    def _in_order(self):
        nodes = self.nodes.values()
        adapters = [n for n in nodes if n.kind == "ca" and n.role != "sharp"]
        return adapters + [n for n in nodes if n.kind != "ca" or n.role == "sharp"]

    @property
    def hosts(self):
        return [n for n in self.nodes.values() if not n.switch]

    @property
    def switches(self):
        return [n for n in self.nodes.values() if n.switch]

    def role(self, *roles):
        return [n for n in self.nodes.values() if n.role in roles]

    @property
    def ports(self):
        return sum(n.ports + n.switch for n in self.nodes.values())

    def roots(self):
        """Node GUIDs for OpenSM's root_guid_file, where updn and ftree cannot guess them: the top of a tree, else
        the first switch."""
        top = max((n.level for n in self.switches), default=0)
        return [n.guid for n in self.switches if n.level == top][:None if top else 1]

    def connected(self):
        """Whether every node reaches every other by switches and, behind the last of them, an end node."""
        start = next((n for n in self.nodes.values() if n.switch), None)
        if start is None:
            return len(self.nodes) < 2
        seen, todo = {start.name}, deque([start])
        while todo:
            for n in todo.popleft().peers():
                if n.name not in seen:
                    seen.add(n.name)
                    if n.switch:
                        todo.append(n)
        return len(seen) == len(self.nodes)

    def text(self):
        out = ["# generated fabric, for ibsim"]
        kinds = {c.kind for c in self.cables}
        if len(kinds) == 1:  # what a port without a cable has enabled, for cables that come while ibsim runs
            (width, speed), = kinds
            legacy, ext = speed_code("HDR" if speed == "NDR" else speed)
            out += [f"width={WIDTH_MASK[width]}", f"speed={legacy * 2 - 1}", f"extspeed={max(ext * 2 - 1, 0)}"]
        devices = any(n.device for n in self.nodes.values())
        for n in self._in_order():
            kind, key = {"switch": ("Switch", "switchguid"), "ca": ("Ca", "caguid"), "router": ("Rt", "rtguid")}[n.kind]
            out.append("")
            if n.vendor:
                out.append(f"vendid=0x{n.vendor:x}")
            if devices:  # ibsim keeps it for all nodes that follow
                out.append(f"devid=0x{n.device:x}")
            if n.sysimg != n.guid:
                out.append(f"sysimgguid=0x{n.sysimg:016x}")
            out.append(f"{key}=0x{n.guid:016x}")
            tail = f" {'enhanced' if n.esp0 else 'base'} port 0 lid 0 lmc 0" if n.switch else ""
            out.append(f'{kind}\t{n.ports} "{n.name}"\t\t# "{n.desc}"{tail}')
            for p, c in sorted(n.cables.items()):
                peer, pp = c.peer(n)
                speed = "HDR" if c.speed == "NDR" else c.speed
                own = "" if n.switch else "lid 0 lmc 0 "
                # ibsim reads no width and speed from the comment of a router's port
                option = "" if n.kind != "router" else (f"w={WIDTH_MASK[c.width]} s={speed_code(speed)[0] * 2 - 1} "
                                                        f"e={max(speed_code(speed)[1] * 2 - 1, 0)} ")
                out.append(f'[{p}]\t"{peer.name}"[{pp}]\t\t{option}# {own}"{peer.desc}" lid 0 {c.width}x{speed}')
        return "\n".join(out) + "\n"

    def capabilities(self):
        """Overlay rules that give each port what a device of its cable's width and speed supports: ibsim 0.10
        has every port support 1x to 12x and up to HDR, so that every link would look narrowed and slowed."""
        kinds = [c.kind for c in self.cables]
        if not kinds:
            return []
        usual = max(sorted(set(kinds)), key=kinds.count)
        ndr = any(speed == "NDR" for _, speed in kinds)

        def supported(width, speed):
            legacy, ext = speed_code(speed)
            mask = max(2 * ext - 1, 0)
            text = (f"set LinkWidthSupported={WIDTH_MASK[width]} LinkSpeedSupported={legacy * 2 - 1} "
                    f"LinkSpeedExtSupported={mask}")
            if ndr:  # what ibsim cannot hold, so all of it is the overlay's; bit 10: IsLinkSpeedNDRSupported
                text += f" LinkSpeedExtEnabled={mask} LinkSpeedExtActive={ext} CapabilityMask2=0x0430"
            return text

        rules = [f"attr=PortInfo : {supported(*usual)}"]
        for n in self.nodes.values():
            odd = {p: c.kind for p, c in sorted(n.cables.items()) if c.kind != usual}
            if odd and len(odd) == len(n.cables) and len(set(odd.values())) == 1:
                rules.append(f"guid=0x{n.guid:016x} attr=PortInfo : {supported(*next(iter(odd.values())))}")
                continue
            for p, kind in odd.items():
                rules.append(f"guid=0x{n.guid:016x} port={p} attr=PortInfo : {supported(*kind)}")
        return rules

    def write(self, path):
        with open(path, "w", encoding="ascii") as f:
            f.write(self.text())


def fat_tree(leaves=4, spines=2, hosts_per_leaf=6, uplinks=2, switch_ports=36, storage=2, logins=0,
             speed="EDR", isl_speed=None, width=4):
    """Two levels. Hosts gpu-NNN fill leaf after leaf; oss-NN and login-NN are dealt out over the leaves.
    On a leaf: hosts from port 1 on, uplinks from the last port downwards, spine by spine."""
    net = Net()
    for h in range(leaves * hosts_per_leaf):
        net.add_ca(f"gpu-{h + 1:03}", f"gpu-{h + 1:03} mlx5_0", role="gpu")
    for i in range(storage):
        net.add_ca(f"oss-{i + 1:02}", f"oss-{i + 1:02} mlx5_0", role="oss")
    for i in range(logins):
        net.add_ca(f"login-{i + 1:02}", f"login-{i + 1:02} mlx5_0", role="login")
    for kind, count in (("leaf", leaves), ("spine", spines)):
        for i in range(count):
            net.add_switch(f"{kind}-{i + 1:02}", ports=switch_ports, role=kind)

    def link(*args, **kwargs):
        net.cable(*args, width=width, **kwargs)

    for h in range(leaves * hosts_per_leaf):
        link(f"gpu-{h + 1:03}", f"leaf-{h // hosts_per_leaf + 1:02}", speed=speed)
    for kind, count in (("oss", storage), ("login", logins)):
        for i in range(count):
            link(f"{kind}-{i + 1:02}", f"leaf-{i % leaves + 1:02}", speed=speed)
    for l in range(leaves):
        for s in range(spines):
            for u in range(uplinks):
                link(f"leaf-{l + 1:02}", f"spine-{s + 1:02}", ap=switch_ports - s * uplinks - u,
                     speed=isl_speed or speed)
    return net


def main():
    if sys.argv[1:2] and not sys.argv[1].startswith("-"):  # netgen.py SHAPE ...: any of netgen_*.py
        sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        from tools import netgen_cli
        return netgen_cli.main(sys.argv[1:])
    p = argparse.ArgumentParser(description="Writes a two-level fat tree as a net file for ibsim.",
                                epilog="netgen.py SHAPE [NAME=VALUE ...] writes other shapes: see netgen.py list")
    for name, default in (("leaves", 4), ("spines", 2), ("hosts-per-leaf", 6), ("uplinks", 2),
                          ("switch-ports", 36), ("storage", 2), ("logins", 0)):
        p.add_argument(f"--{name}", type=int, default=default, metavar="N", help=f"default {default}")
    p.add_argument("--speed", choices=SPEEDS, default="EDR", help="of host links (default EDR)")
    p.add_argument("--isl-speed", choices=SPEEDS, help="between switches (default: as hosts)")
    p.add_argument("--width", type=int, choices=WIDTHS, default=4)
    p.add_argument("--output", metavar="FILE", help="default: standard output")
    a = vars(p.parse_args())
    output = a.pop("output")
    try:
        net = fat_tree(**a)
    except ValueError as e:
        p.error(str(e))
    if output:
        net.write(output)
    else:
        sys.stdout.write(net.text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
