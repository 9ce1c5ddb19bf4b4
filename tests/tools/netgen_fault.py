# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Faults planted in a fabric, each described so that a test can name exactly the ports concerned.

plant(net, seed, kinds) changes `net` (missing, moved, swapped cables, absent hosts, another radix) or gives overlay
rules (narrowed and slowed links, which a net file cannot hold: OpenSM would raise them), and returns one Fault a kind,
in the order asked for. The same net, seed and kinds give the same faults. No two faults share a port, a bundle of
parallel cables or a host. Everything that is left still reaches everything else, and the host where clients are
attached has no structural fault. Links inside a chassis can go missing or slow; nobody can move them.
"""
import random
from dataclasses import dataclass

from tools.netgen import EXT_CODE, SPEEDS, WIDTH_CODE, speed_code

# structure first: a link that is narrowed is then one that is still there
KINDS = ("host-missing", "moved-cable", "swapped-cables", "crossed-bundle", "missing-cable", "short-bundle",
         "other-radix", "narrow-link", "slow-link")
RADICES = (8, 12, 16, 18, 20, 24, 32, 36, 40, 48, 64, 80, 128)
NARROWER = {2: (1,), 4: (1,), 8: (4, 1), 12: (4, 1)}  # what a device of that width supports besides (netgen)


@dataclass(frozen=True)
class End:
    """One port of a device, with all the names that a report may use for it."""
    node: str  # in the net file
    desc: str
    guid: int
    port: int

    @property
    def key(self):
        return self.guid, self.port

    def __str__(self):
        return f'"{self.desc}"[{self.port}]'


@dataclass(frozen=True)
class Fault:
    """ends: the ports that a report has to name, no others. gone and new: cables against the fabric without faults,
    as pairs of ends. wanted and got: of the link or device as a report should say it; code: of the finding where
    ibqos has one today. nodes: what is missing (host-missing: its CA nodes) or changed (other-radix)."""
    kind: str
    ends: tuple
    gone: tuple = ()
    new: tuple = ()
    nodes: tuple = ()
    wanted: str = ""
    got: str = ""
    code: str = ""
    rules: tuple = ()

    @property
    def keys(self):
        """{(node GUID, port)} of the ends."""
        return {e.key for e in self.ends}

    @property
    def console(self):
        """ibsim console commands that do the same to a fabric that runs (cables only)."""
        if self.kind == "other-radix":
            raise ValueError("ibsim cannot change the ports of a switch that is there")
        return tuple(f'Unlink "{a.node}"[{a.port}]' for a, _ in self.gone) + tuple(
            f'Link "{a.node}"[{a.port}] "{b.node}"[{b.port}]' for a, b in self.new)

    def __str__(self):
        text = f"{self.kind}: {', '.join(map(str, self.ends))}"
        return text + (f", {self.wanted} wanted, {self.got} there" if self.wanted else "")


def rules(faults):
    """For Fabric.rules()."""
    return [r for f in faults for r in f.rules]


def plant(net, seed, kinds):
    for k in kinds:
        if k not in KINDS:
            raise ValueError(f"no fault {k!r}: {', '.join(KINDS)}")
    planter = _Planter(net, seed)
    planted = {i: planter.plant(kinds[i]) for i in sorted(range(len(kinds)), key=lambda i: KINDS.index(kinds[i]))}
    return [planted[i] for i in range(len(kinds))]


def _end(node, port):
    return End(node.name, node.desc, node.guid, port)


def _pair(cable):
    return tuple(_end(n, p) for n, p in cable.ends)


def _cabling(pairs):
    return " and ".join(f"{a} to {b}" for a, b in pairs)


def _is_isl(cable):
    return cable.a.switch and cable.b.switch


class _Planter:
    def __init__(self, net, seed):
        self.net, self.random = net, random.Random(seed)
        self.used = set()  # (GUID, port) of a cable's ends, names of nodes and of machines
        self.home = net.first.host

    def plant(self, kind):
        fault = getattr(self, "_" + kind.replace("-", "_"))()
        if fault is None:
            raise ValueError(f"this fabric has no place (left) for the fault {kind}")
        return fault

    # --- choosing ---

    def _shuffled(self, things):
        things = list(things)
        self.random.shuffle(things)
        return things

    def _siblings(self, cable):
        """The cables between the same two nodes, itself among them, in the order of its first node's ports."""
        return [cable.a.cables[p] for p in cable.a.to(cable.b.name)]

    def _free(self, cable):
        ends = (cable.a, cable.b)
        return (not self.used & self._keys(cable)
                and all(n.name not in self.used and n.host not in self.used for n in ends)
                and all(n.kind != "router" and n.role != "sharp" for n in ends))

    def _keys(self, *cables):
        """The ports of these and of the cables beside them."""
        return {(n.guid, p) for c in cables for s in self._siblings(c) for n, p in s.ends}

    def _cables(self, which=lambda c: True):
        return self._shuffled(c for c in self.net.cables if self._free(c) and which(c))

    def _movable(self, cable):
        inside = getattr(cable.a, "chassis", 0) == getattr(cable.b, "chassis", 1)
        return not inside and self.home not in (cable.a.host, cable.b.host)

    # --- changing ---

    def _recabled(self, old, new):
        """Replaces cables by others at given ports, if all is still joined then: the new cables, or None."""
        order = list(self.net.cables)
        keys = self._keys(*old)
        for c in old:
            self.net.remove(c)
        made = [self.net.cable(a.name, b.name, ap, bp, old[0].width, old[0].speed) for (a, ap), (b, bp) in new]
        if self.net.connected():
            self.used |= keys | self._keys(*made)
            return made
        for c in made:
            self.net.remove(c)
        for c in old:
            c.a.cables[c.ap] = c.b.cables[c.bp] = c
        self.net.cables[:] = order
        return None

    # --- kinds ---

    def _removed(self, kind, cables):
        for c in cables:
            n = len(self._siblings(c))
            if self._recabled([c], []) is not None:
                return Fault(kind, _pair(c), gone=(_pair(c),), wanted=f"{n} cable{'s' * (n > 1)}",
                             got=f"{n - 1} cable{'s' * (n > 2)}" if n > 1 else "none")
        return None

    def _missing_cable(self):
        """Between two switches that have no other, if there are such."""
        cables = self._cables(_is_isl)
        return self._removed("missing-cable", sorted(cables, key=lambda c: len(self._siblings(c)) > 1))

    def _short_bundle(self):
        return self._removed("short-bundle", self._cables(lambda c: _is_isl(c) and len(self._siblings(c)) > 1))

    def _moved_cable(self):
        """One end is in another switch of the same role, at a port that was free."""
        for c in self._cables(self._movable):
            for (fixed, fp), (moved, mp) in self._shuffled([c.ends, c.ends[::-1]]):
                if not moved.switch:
                    continue
                others = [n for n in self.net.switches if n.role == moved.role and n is not moved and n is not fixed
                          and n.name not in self.used and self._empty(n)]
                for to in self._shuffled(others):
                    new = self._recabled([c], [((fixed, fp), (to, self._empty(to)))])
                    if new:
                        old = _pair(c)
                        ends = _end(fixed, fp), _end(moved, mp), _end(to, new[0].bp)
                        return Fault("moved-cable", ends, gone=(old,), new=(_pair(new[0]),),
                                     wanted=str(ends[1]), got=str(ends[2]))
        return None

    def _empty(self, node):
        """The first port without a cable, now and before; 0: none."""
        return next((p for p in range(1, node.ports + 1)
                     if p not in node.cables and (node.guid, p) not in self.used), 0)

    def _swap(self, kind, first, seconds):
        (a1, p1), (b1, q1) = first.ends
        for second in seconds:
            for (a2, p2), (b2, q2) in (second.ends, second.ends[::-1]):
                same = (a1.role, a1.kind, b1.role, b1.kind) == (a2.role, a2.kind, b2.role, b2.kind)
                crossed = (a1 is a2 and b1 is b2) if kind == "crossed-bundle" else (
                    a1 is not a2 and b1 is not b2 and a1 is not b2 and a2 is not b1)
                if not same or not crossed or first.kind != second.kind:
                    continue
                new = self._recabled([first, second], [((a1, p1), (b2, q2)), ((a2, p2), (b1, q1))])
                if new:
                    gone, new = (_pair(first), _pair(second)), tuple(map(_pair, new))
                    return Fault(kind, gone[0] + gone[1], gone=gone, new=new, wanted=_cabling(gone), got=_cabling(new))
        return None

    def _swapped_cables(self):
        """Two cables of one kind have exchanged their far ends: of two adapters of one host, if hosts have several
        on different switches, else of two hosts, or of two pairs of switches."""
        cables = self._cables(self._movable)
        for first in cables:
            seconds = [c for c in cables if c is not first and not set(self._siblings(c)) & set(self._siblings(first))]
            host = next((n.host for n in (first.a, first.b) if n.kind == "ca"), None)
            seconds.sort(key=lambda c: host not in (c.a.host, c.b.host))
            fault = self._swap("swapped-cables", first, seconds)
            if fault:
                return fault
        return None

    def _crossed_bundle(self):
        """Two cables between the same two switches have exchanged their far ends: every count stays the same."""
        for first in self._cables(lambda c: _is_isl(c) and self._movable(c)):
            fault = self._swap("crossed-bundle", first, [c for c in self._siblings(first) if c is not first])
            if fault:
                return fault
        return None

    def _host_missing(self):
        """Powered off or taken away, with all its adapters."""
        machines = {}
        for n in self.net.nodes.values():
            if n.kind == "ca" and n.role != "sharp" and n.host != self.home:
                machines.setdefault(n.host, []).append(n)
        for host in self._shuffled(machines):
            cables = [c for n in machines[host] for c in n.cables.values()]
            if not cables or not all(map(self._free, cables)):
                continue
            self.used |= self._keys(*cables) | {host}
            for n in machines[host]:
                self.net.remove_node(n.name)
            # named at the switch: where it was
            ends = tuple(e for c in cables for e, (n, _) in zip(_pair(c), c.ends) if n.switch)
            return Fault("host-missing", ends, gone=tuple(map(_pair, cables)),
                         nodes=tuple(n.name for n in machines[host]), wanted=host, got="nothing")
        return None

    def _other_radix(self):
        free = self._shuffled(n for n in self.net.switches if n.name not in self.used)
        free.sort(key=lambda n: any((n.guid, p) in self.used for p in range(1, n.ports + 1)))
        for n in free:
            more = next((r for r in RADICES if r > n.ports), n.ports + 4)
            before, n.ports = n.ports, more
            self.used.add(n.name)
            return Fault("other-radix", (_end(n, 0),), nodes=(n.name,), wanted=f"{before} ports", got=f"{more} ports")
        return None

    def _degraded(self, kind, code, cable, wanted, got, fields):
        self.used |= self._keys(cable)
        ends = _pair(cable)
        return Fault(kind, ends, wanted=wanted, got=got, code=code,
                     rules=tuple(f"guid=0x{e.guid:016x} port={e.port} attr=PortInfo : set {fields}" for e in ends))

    def _narrow_link(self):
        for c in self._cables(lambda c: c.width in NARROWER):
            width = self.random.choice(NARROWER[c.width])
            return self._degraded("narrow-link", "link-width-low", c, f"{c.width}x", f"{width}x",
                                  f"LinkWidthActive={WIDTH_CODE[width]}")
        return None

    def _slow_link(self):
        """By one or two steps; FDR10 shows in another attribute and is left out on both sides."""
        ladder = [s for s in SPEEDS if s != "FDR10"]
        for c in self._cables(lambda c: c.speed in ladder[1:]):
            at = ladder.index(c.speed)
            speed = ladder[max(0, at - self.random.choice((1, 2)))]
            legacy, ext = speed_code(speed)
            fields = f"LinkSpeedActive={legacy}" + (f" LinkSpeedExtActive={ext}" if c.speed in EXT_CODE else "")
            return self._degraded("slow-link", "link-speed-low", c, c.speed, speed, fields)
        return None
