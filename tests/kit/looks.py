# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Looks at counters: audits of one fabric with one state file, at times of the test's own (IBQOS_OVERLAY_NOW for the devices, --now
for ibqos)."""
import re

HEAD = ("run", "looked", "looked_by")  # of a report in JSON: when, from where and by what it was

SHAPE = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=0, switch_ports=8)
HOUR, DAY = 3600, 86400
T0 = 1_700_000_000
# leaf-01's port to gpu-002, and gpu-002's own
LEAF, HOST = ("leaf-01", 2), ("gpu-002 mlx5_0", 1)
# what the simulator does not know, a device refuses
LACKS = [f"attr={a} : answer status=0xc" for a in ("PortExtendedSpeedsCounters", "PortRcvErrorDetails",
                                                           "PortXmitDiscardDetails", "PortSamplesControl")]
DATA = "attr=PortCounters : set PortXmitData=1000 PortRcvData=1000"


class Look:
    """Audits of one fabric with one state file."""

    def __init__(self, f, path):
        self.f, self.state = f, str(path / "state")

    def __call__(self, now, *rules, args=(), counters=True):
        self.f.rules(*LACKS, *rules)
        return self.again(now, args, counters)

    def again(self, now, args=(), counters=True):
        """By the rules that are there: also beside others."""
        words = ["--counters"] if counters else []
        return self.f.ibqos("audit", *words, "--state", self.state, "--now", str(now), "--format", "json", *args,
                            env={"IBQOS_OVERLAY_NOW": str(now)})


def found(r, notes=False):
    return [(x["code"], x["node"], x["port"], x["what"]) for x in r.json["findings"] if notes or x["severity"] != "note"]


def notes(r):
    return [(x["code"], x["node"], x["what"]) for x in r.json["findings"] if x["severity"] == "note"]


def at(place, rule):
    return f"node={place[0].split()[0]}* port={place[1]} {rule}"


def ports(f):
    return 2 * len(f.net.cables)


def at_any_time(text):
    """A report or page in which no second is told."""
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", text)


def timeless(report, *more):
    """A report without when and from where it is, and without the members `more`: JSON as a dict, or text."""
    if isinstance(report, str):
        return re.sub(r"^looked: .*\nby: .*\n\n?", "", report, flags=re.M)
    return {k: v for k, v in report.items() if k not in (*HEAD, *more)}
