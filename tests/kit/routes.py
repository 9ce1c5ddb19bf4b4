# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Paths and dependencies of channels by brute force: pair by pair, from what ibroute prints, with no code of ibqos."""
import re

# What ibsim does not know of: the vendor's word that routing is not adaptive, asked of switches with its vendor ID.
FIXED = ("attr=0xff20 : answer", "attr=NodeInfo : set VendorId=0x2c9")


def ibtracert(f, a, b):
    """[(node GUID, in-port, out-port)] from one port GUID to another, by infiniband-diags; None: it found no way."""
    r = f.tool("ibtracert", "-G", f"0x{a:x}", f"0x{b:x}")
    if r.returncode != 0:
        return None
    lines = r.stdout.splitlines()
    guids = [int(re.search(r"^From \w+ \{0x(\w+)\}", lines[0])[1], 16)]
    ins, outs = [0], []
    for line in lines[1:-1]:
        m = re.fullmatch(r"\[(\d+)\] -> (\w+) port \{0x(\w+)\}\[(\d+)\] lid .*", line)
        outs.append(int(m[1]))
        guids.append(int(m[3], 16))
        ins.append(int(m[4]))
    return list(zip(guids, ins, outs))


class Model:
    """A fabric's tables. sl2vl(switch, in, out, sl) -> VL; hosts' own ports keep what the SL says. vls: run by links."""

    def __init__(self, f, vls=8):
        self.net, self.vls, self.lfts, self.lid = f.net, vls, {}, {}
        self.planted = {}  # (switch name, in, out, sl): VL
        for s in self.net.switches:
            text = f.tool("ibroute", "-n", "-G", f"0x{s.guid:x}").ok().stdout
            self.lfts[s.name] = {int(lid, 16): int(port) for lid, port in re.findall(r"^0x(\w{4}) (\d{3})", text, re.M)}

    @staticmethod
    def lids(f):
        """LIDs by port GUID."""
        text = f.tool("ibroute", "-G", f"0x{f.net.switches[0].guid:x}").ok().stdout
        return {int(guid, 16): int(lid, 16) for lid, guid in re.findall(r"^0x(\w{4}) .*portguid 0x(\w+):", text, re.M)}

    def vl(self, switch, inp, out, sl):
        return self.planted.get((switch, inp, out, sl), (sl if sl < 15 else 7) % self.vls)

    def walk(self, start, lid, owner):
        """From a node to a LID of node `owner`: [(switch, in, out)] and what becomes of it."""
        node, inp = start, 0
        hops = []
        if not start.switch:
            node, inp = start.cables[1].peer(start)
        while True:
            if (node, inp) in [h[:2] for h in hops] or node in [h[0] for h in hops]:
                return hops, "loop"
            out = self.lfts[node.name].get(lid)
            if out is None:
                return hops, "unset"
            if out == 0:
                return hops, "arrived" if node is owner else "misrouted"
            if out not in node.cables:
                return hops, "down"
            hops.append((node, inp, out))
            peer, port = node.cables[out].peer(node)
            if not peer.switch:
                return hops, "arrived" if peer is owner else "misrouted"
            node, inp = peer, port

    def judge(self, lids, data, management=(0,)):
        """Counts by LFT, by SL, and the graph of dependencies {channel: set of channels}."""
        hosts = [n for n in self.net.nodes.values() if not n.switch]
        switches = list(self.net.switches)
        by_lft, by_sl, graph = {"arrive": 0, "dead": 0}, {sl: {"arrive": 0, "dead": 0} for sl in data}, {}
        for a in hosts + switches:
            for b in hosts + switches:
                if a is b or (a.switch and b.switch):
                    continue
                hops, end = self.walk(a, lids[b.port_guid()], b)
                both = not a.switch and not b.switch
                if both:
                    by_lft["arrive" if end == "arrived" else "dead"] += 1
                if end != "arrived":
                    continue
                for sl in sorted(set(management) | (set(data) if both else set())):
                    fine = self.depend(hops, sl, graph)
                    if both and sl in data:
                        by_sl[sl]["arrive" if fine else "dead"] += 1
        return by_lft, by_sl, graph

    def depend(self, hops, sl, graph):
        before = None
        for node, inp, out in hops:
            vl = self.vl(node.name, inp, out, sl)
            if vl == 15 or vl >= self.vls:
                return False
            channel = (node.name, out, vl) if node.cables[out].peer(node)[0].switch else None
            if before and channel:
                graph.setdefault(before, set()).add(channel)
                graph.setdefault(channel, set())
            before = channel
        return True


def circles(graph):
    """Length of the shortest circle of each group of channels that reach each other, by walking from each."""
    reach = {}
    for start in graph:
        seen, todo = set(), list(graph[start])
        while todo:
            node = todo.pop()
            if node not in seen:
                seen.add(node)
                todo += graph[node]
        reach[start] = seen
    left, lengths = {n for n in graph if n in reach[n]}, []
    while left:
        first = next(iter(left))
        group = {n for n in reach[first] if first in reach[n]}
        left -= group
        best = None
        for start in group:
            step, distance = {start}, 0
            while step:
                distance += 1
                step = {m for n in step for m in graph[n] if m in group}
                if start in step:
                    best = min(best or distance, distance)
                    break
        lengths.append(best)
    return sorted(lengths)
