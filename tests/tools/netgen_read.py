# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A reader of net files that knows nothing of the generator, for tests of what it writes."""
import collections
import re


class Read:
    """A net file: nodes {name: (kind, ports, desc, guid, sysimg, devid)}, ports {(name, port): (name, port)}."""

    def __init__(self, text):
        self.nodes, self.ports, self.rate = {}, {}, {}
        said = {}
        for line in text.splitlines():
            if m := re.fullmatch(r"(vendid|devid|sysimgguid|caguid|switchguid|rtguid)=0x([0-9a-f]+)", line):
                said[m[1][-4:] if m[1].endswith("guid") and m[1] != "sysimgguid" else m[1]] = int(m[2], 16)
            elif m := re.match(r'(Ca|Switch|Rt)\t(\d+) "(.*?)"\t\t# "(.*?)"', line):
                name = m[3]
                assert name not in self.nodes
                self.nodes[name] = (m[1], int(m[2]), m[4], said["guid"], said.pop("sysimgguid", said["guid"]),
                                    said.get("devid"))
            elif m := re.match(r'\[(\d+)\]\t"(.*?)"\[(\d+)\]\t\t.*# .*"(.*)" lid 0 (\d+)x(\w+)$', line):
                at = name, int(m[1])
                assert at not in self.ports, f"port used twice: {at}"
                self.ports[at] = m[2], int(m[3])
                self.rate[at] = int(m[5]), m[6]
            else:
                assert not line or line.startswith("#") or re.fullmatch(r"(width|speed|extspeed)=\d+", line), line
        for at, to in self.ports.items():
            assert self.ports.get(to) == at and at[0] != to[0] and self.rate[at] == self.rate[to]
            assert 1 <= at[1] <= self.nodes[at[0]][1]
        self.cables = {frozenset(x) for x in self.ports.items()}
        self.peers = collections.defaultdict(list)
        for (n, _), (m, _) in sorted(self.ports.items()):
            self.peers[n].append(m)

    def count(self, kind):
        return sum(n[0] == kind for n in self.nodes.values())

    def is_switch(self, name):
        return self.nodes[name][0] == "Switch"

    def reached(self, start):
        """What a packet reaches from here: only switches pass it on. {name: hops}"""
        seen, todo = {start: 0}, collections.deque([start])
        while todo:
            n = todo.popleft()
            for m in self.peers[n] if n == start or self.is_switch(n) else ():
                if m not in seen:
                    seen[m] = seen[n] + 1
                    todo.append(m)
        return seen

    def degrees(self, prefix):
        """{(links to end nodes, links to switches)} of the switches so named."""
        return {(sum(not self.is_switch(m) for m in self.peers[n]), sum(map(self.is_switch, self.peers[n])))
                for n in self.nodes if n.startswith(prefix)}

    def min_cut(self, left, right):
        """Links that must be cut to part the end nodes `left` from `right` (augmenting paths, one link each)."""
        flow, total = collections.Counter(), 0
        cap = collections.Counter((n, m) for n in self.peers for m in self.peers[n])
        while True:
            before, todo, end = {n: None for n in left}, collections.deque(left), None
            while todo and end is None:
                n = todo.popleft()
                for m in self.peers[n]:
                    if m not in before and cap[n, m] - flow[n, m] > 0:
                        before[m] = n
                        if m in right:
                            end = m
                            break
                        todo.append(m)
            if end is None:
                return total
            total += 1
            while before[end] is not None:
                flow[before[end], end] += 1
                flow[end, before[end]] -= 1
                end = before[end]
