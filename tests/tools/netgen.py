#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Generates fabrics for ibsim: two-level fat trees with GPU hosts, storage and login nodes.

Importable (fat_tree() gives a Net that can be changed and asked before it is written) and a command
line tool. The same arguments always give the same GUIDs, ports and text.
"""
import argparse
import sys

# ibsim 0.10 knows these; NDR needs the overlay.
SPEEDS = ("SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR")
WIDTHS = (1, 2, 4, 8, 12)
CA_GUID = 0x0c42a10300000000
SWITCH_GUID = 0xb83fd20300000000


class Node:
    def __init__(self, name, desc, guid, ports, switch):
        self.name, self.desc, self.guid, self.ports, self.switch = name, desc, guid, ports, switch
        self.esp0 = True  # a switch with an enhanced port 0
        self.cables = {}  # port -> Cable

    def free_port(self):
        for p in range(1, self.ports + 1):
            if p not in self.cables:
                return p
        raise ValueError(f"{self.name}: all {self.ports} ports are taken")

    def port_guid(self, port=1):
        """As ibsim gives them: a switch has one for all ports, a CA's follow its node GUID."""
        return self.guid if self.switch else self.guid + port

    def to(self, other):
        """This node's ports that are cabled to `other` (a name), in order."""
        return [p for p, c in sorted(self.cables.items()) if c.peer(self)[0].name == other]


class Cable:
    def __init__(self, a, ap, b, bp, width, speed):
        self.a, self.ap, self.b, self.bp, self.width, self.speed = a, ap, b, bp, width, speed

    def peer(self, node):
        return (self.b, self.bp) if node is self.a else (self.a, self.ap)


class Net:
    """Nodes by name and the cables between them; the first node is where clients are attached."""

    def __init__(self):
        self.nodes = {}
        self.cables = []

    def _add(self, name, desc, guid, ports, switch):
        if name in self.nodes:
            raise ValueError(f"two nodes named {name}")
        if len(name) > 31:
            raise ValueError(f"{name}: ibsim takes at most 31 characters in SIM_HOST")
        node = self.nodes[name] = Node(name, desc or name, guid, ports, switch)
        return node

    def add_ca(self, name, desc=None, ports=1, guid=None):
        n = sum(not x.switch for x in self.nodes.values())
        return self._add(name, desc, guid or CA_GUID + (n + 1) * 16, ports, False)

    def add_switch(self, name, desc=None, ports=36, guid=None):
        n = sum(x.switch for x in self.nodes.values())
        return self._add(name, desc, guid or SWITCH_GUID + (n + 1) * 256, ports, True)

    def cable(self, a, b, ap=None, bp=None, width=4, speed="EDR"):
        """Joins two nodes (names), at the given or the first free ports."""
        if width not in WIDTHS or speed not in SPEEDS:
            raise ValueError(f"ibsim knows no {width}x{speed}")
        a, b = self.nodes[a], self.nodes[b]
        ap, bp = ap or a.free_port(), bp or b.free_port()
        if ap in a.cables or bp in b.cables:
            raise ValueError(f"{a.name}[{ap}] or {b.name}[{bp}] is taken")
        c = Cable(a, ap, b, bp, width, speed)
        a.cables[ap] = b.cables[bp] = c
        self.cables.append(c)
        return c

    def __getitem__(self, name):
        return self.nodes[name]

    @property
    def first(self):
        return next(iter(self.nodes.values()))

    @property
    def hosts(self):
        return [n for n in self.nodes.values() if not n.switch]

    @property
    def switches(self):
        return [n for n in self.nodes.values() if n.switch]

    @property
    def ports(self):
        return sum(n.ports + n.switch for n in self.nodes.values())

    def text(self):
        out = ["# generated fabric, for ibsim"]
        for n in self.nodes.values():
            kind, key = ("Switch", "switchguid") if n.switch else ("Ca", "caguid")
            out += ["", f"{key}=0x{n.guid:016x}"]
            tail = f" {'enhanced' if n.esp0 else 'base'} port 0 lid 0 lmc 0" if n.switch else ""
            out.append(f'{kind}\t{n.ports} "{n.name}"\t\t# "{n.desc}"{tail}')
            for p, c in sorted(n.cables.items()):
                peer, pp = c.peer(n)
                own = "" if n.switch else "lid 0 lmc 0 "
                out.append(f'[{p}]\t"{peer.name}"[{pp}]\t\t# {own}"{peer.desc}" lid 0 {c.width}x{c.speed}')
        return "\n".join(out) + "\n"

    def capabilities(self):
        """Overlay rules that give each port what a device of its cable's width and speed supports: ibsim 0.10
        has every port support 1x to 12x and up to HDR, so that every link would look narrowed and slowed."""
        kinds = [(c.width, c.speed) for c in self.cables]
        if not kinds:
            return []
        usual = max(sorted(set(kinds)), key=kinds.count)

        def supported(width, speed):
            ext = {"FDR": 1, "EDR": 3, "HDR": 7}.get(speed, 0)
            legacy = {"SDR": 1, "DDR": 3}.get(speed, 7)
            widths = {1: 1, 2: 17, 4: 3, 8: 7, 12: 11}[width]
            return f"set LinkWidthSupported={widths} LinkSpeedSupported={legacy} LinkSpeedExtSupported={ext}"

        rules = [f"attr=PortInfo : {supported(*usual)}"]
        for c in self.cables:
            if (c.width, c.speed) != usual:
                for n, p in ((c.a, c.ap), (c.b, c.bp)):
                    rules.append(f"guid=0x{n.guid:016x} port={p} attr=PortInfo : {supported(c.width, c.speed)}")
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
        net.add_ca(f"gpu-{h + 1:03}", f"gpu-{h + 1:03} mlx5_0")
    for i in range(storage):
        net.add_ca(f"oss-{i + 1:02}", f"oss-{i + 1:02} mlx5_0")
    for i in range(logins):
        net.add_ca(f"login-{i + 1:02}", f"login-{i + 1:02} mlx5_0")
    for kind, count in (("leaf", leaves), ("spine", spines)):
        for i in range(count):
            net.add_switch(f"{kind}-{i + 1:02}", ports=switch_ports)

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
    p = argparse.ArgumentParser(description="Writes a two-level fat tree as a net file for ibsim.")
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


if __name__ == "__main__":
    main()
