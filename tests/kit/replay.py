# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The Sets that an OpenSM sent (kit.sim.Sent), replayed in their order: what each port held at each moment."""
import re

LINE = re.compile(r"set class=0x81 attr=0x(0017|0018) mod=0x(\w+) dr=([\d,]+) data=(\w+)$")


class Port:
    def __init__(self):
        self.maps, self.low, self.high = {}, None, set()

    def held_up(self):
        """(SL, VL) of each SL whose VL has weight in neither table, as far as all of them were set."""
        if self.low is None:
            return set()
        return {(sl, vl) for table in self.maps.values() for sl, vl in enumerate(table)
                if vl != 15 and vl not in self.low | self.high}


def weighted(data):
    return {data[i] & 15 for i in range(0, 64, 2) if data[i + 1]}


def held_up(sent, skip=0):
    """All (route, port, SL, VL) that were held up at some moment after the first `skip` Sets. A route is a
    switch's or a CA's; ports of a CA are 0."""
    ports, found = {}, set()
    for number, line in enumerate(sent.lines):
        m = LINE.match(line)
        if not m:
            continue
        mod, data = int(m[2], 16), bytes.fromhex(m[4])
        out = mod & 0xff
        port = ports.setdefault((m[3], out), Port())
        if m[1] == "0017":
            port.maps[mod >> 8 & 0xff] = [n for b in data[:8] for n in (b >> 4, b & 15)]
        elif mod >> 16 in (1, 3):
            setattr(port, "low" if mod >> 16 == 1 else "high", weighted(data))
        if number >= skip:
            found |= {(m[3], out, sl, vl) for sl, vl in port.held_up()}
    return found
