# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Strange but legal fabrics: audit without a baseline says nothing of them, or what is said here."""
import random

import pytest
from tools.netgen import Net
from tools.netgen_hosts import SWITCH, VENDOR, add_host
from tools.netgen_tree import add_switches, rail, tree2, uplinks


def host(net, kind, number, leaf, **link):
    add_host(net, f"{kind}-{number:03}", [[leaf]], **link)


def in_rows(net, rows, kind="gpu", **link):
    """rows: {leaf: hosts}: numbers go on from leaf to leaf."""
    number = 0
    for leaf, count in rows.items():
        for _ in range(count):
            number += 1
            host(net, kind, number, leaf, **link)
    return net


def leaves(count, first=1):
    return [f"leaf-{n:02}" for n in range(first, first + count)]


def two_generations():
    """HDR leaves with CPUs, NDR leaves of another model with GPUs and twice the cables, on the same spines."""
    net = Net()
    low = add_switches(net, "leaf", 4, 40, 1)
    new = [net.add_switch(f"qleaf-{i}", ports=64, role="leaf", vendor=VENDOR, device=0xd2f2).name for i in range(1, 5)]
    high = add_switches(net, "spine", 4, 64, 2)
    uplinks(net, low, high, 2, speed="HDR")
    uplinks(net, new, high, 4, speed="NDR")
    in_rows(net, dict.fromkeys(low, 8), "cpu", speed="HDR")
    return in_rows(net, dict.fromkeys(new, 10), speed="NDR")


def half_of_the_hosts_faster():
    net = tree2(radix=16, leaves=8, spines=4, hosts_per_leaf=6, speed="EDR", isl_speed="HDR")
    for c in net.cables:
        if c.a.switch != c.b.switch and "leaf-05" <= (c.a.name if c.a.switch else c.b.name):
            c.speed = "HDR"
    return net


def drained(count):
    net = tree2(radix=16, leaves=8, spines=4, hosts_per_leaf=6)
    for leaf in leaves(count, 3):
        for n in [n.name for n in net[leaf].peers() if not n.switch]:
            net.remove_node(n)
    return net


def half_populated():
    return in_rows(tree2(radix=24, leaves=8, spines=4, hosts_per_leaf=0),
                   dict(zip(leaves(8), (12, 12, 12, 12, 12, 6, 6, 3))))


def numbers_reserved():
    """Twelve numbers a rack, of which some have seven hosts."""
    net = tree2(radix=24, leaves=8, spines=4, hosts_per_leaf=0)
    for i, leaf in enumerate(leaves(8)):
        for h in range(12 if i % 3 else 7):
            host(net, "gpu", i * 12 + h + 1, leaf)
    return net


def joined(by):
    """Two fabrics of four leaves and four spines."""
    net = Net()
    low, high = add_switches(net, "leaf", 8, 36, 1), add_switches(net, "spine", 8, 36, 2)
    uplinks(net, low[:4], high[:4], 2)
    uplinks(net, low[4:], high[4:], 2)
    in_rows(net, dict.fromkeys(low, 8))
    if by == "spines":
        for i in range(4):
            net.cable(high[i], high[4 + i])
    elif by == "one cable":
        net.cable(high[0], high[4])
    elif by == "leaves to spines":
        for i in range(2):
            net.cable(low[i], high[4 + i])
    else:
        net.add_switch("gw-01", ports=36, role="gw", vendor=VENDOR, device=SWITCH)
        for s in high:
            net.cable(s, "gw-01")
    return net


def storage_leaves():
    """Of the same model as the others, with twice the cables up and a quarter of the hosts."""
    net = Net()
    low, high = add_switches(net, "leaf", 8, 40, 1), add_switches(net, "spine", 4, 40, 2)
    uplinks(net, low[:6], high, 2)
    uplinks(net, low[6:], high, 4)
    in_rows(net, dict.fromkeys(low[:6], 16))
    return in_rows(net, dict.fromkeys(low[6:], 4), "oss")


def one_switch(without=()):
    net = Net()
    in_rows(net, dict.fromkeys(add_switches(net, "sw", 1, 40, 1), 20))
    for n in without:
        net.remove_node(f"gpu-{n:03}")
    return net


def two_hosts():
    net = Net()
    net.add_ca("a", "a mlx5_0")
    net.add_ca("b", "b mlx5_0")
    net.cable("a", "b")
    return net


def odd_and_even():
    """Odd numbers on one leaf of a rack, even ones on the other."""
    net = tree2(radix=24, leaves=8, spines=4, hosts_per_leaf=0)
    for n in range(64):
        host(net, "gpu", n + 1, f"leaf-{n // 16 * 2 + n % 2 + 1:02}")
    return net


def last_of_each_row_elsewhere():
    net = tree2(radix=24, leaves=8, spines=4, hosts_per_leaf=0)
    for n in range(56):
        host(net, "gpu", n + 1, f"leaf-{n // 8 + 1 if n % 8 < 7 else 8:02}")
    return net


def heads_on_the_first():
    net = tree2(radix=24, leaves=6, spines=4, hosts_per_leaf=0)
    for n in range(3):
        host(net, "head", n + 1, "leaf-01")
    return in_rows(net, dict(zip(leaves(6), (9, 12, 12, 12, 12, 12))))


def rows_of_any_length(seed, *, exchanged=None):
    draw = random.Random(seed)
    net = in_rows(tree2(radix=40, leaves=8, spines=4, hosts_per_leaf=0), {leaf: draw.randint(13, 17) for leaf in leaves(8)})
    for a, b in [exchanged] if exchanged else []:
        ends = [net[f"gpu-{n:03}"].cables[1].peer(net[f"gpu-{n:03}"]) for n in (a, b)]
        for n in (a, b):
            net.remove(net[f"gpu-{n:03}"].cables[1])
        for n, (switch, port) in zip((a, b), ends[::-1]):
            net.cable(f"gpu-{n:03}", switch.name, 1, port)
    return net


def without_an_adapter():
    net = rail(units=2, hosts_per_unit=6, rails=4, spines=4)
    for n in ("gpu-003-mlx5_3", "gpu-009-mlx5_3"):
        net.remove_node(n)
    return net


LEGAL = {
    "two generations": two_generations, "half of the hosts faster": half_of_the_hosts_faster, "one leaf drained": lambda: drained(1),
    "three leaves drained": lambda: drained(3), "racks half full": half_populated, "numbers reserved": numbers_reserved,
    **{f"joined by {by}": lambda by=by: joined(by) for by in ("spines", "one cable", "leaves to spines", "a gateway")},
    "storage leaves": storage_leaves, "one switch": one_switch, "one switch with empty ports": lambda: one_switch((5, 11)),
    "two hosts": two_hosts, "odd and even": odd_and_even, "last of each row elsewhere": last_of_each_row_elsewhere,
    "heads on the first": heads_on_the_first, "an adapter less": without_an_adapter,
    **{f"rows of any length {seed}": lambda seed=seed: rows_of_any_length(seed) for seed in range(3)},
}


def told(f, **more):
    found = f.ibqos("audit", "--format", "json", **more).ok(0, 1, 2, 3).json["findings"]
    return [x for x in found if x["code"] not in ("no-sm", "link-not-active")]


@pytest.mark.parametrize("name", LEGAL)
def test_nothing_is_said(fabric, name):
    assert told(fabric(net=LEGAL[name]())) == []


def test_cables_of_a_switch_to_itself(fabric):
    net = tree2(radix=16, leaves=6, spines=4, hosts_per_leaf=5)
    loop = [f'[{a}]\t"leaf-02"[{b}]\t\t# "leaf-02" lid 0 4xEDR' for a, b in ((7, 8), (8, 7))]
    lines = []
    for line in net.text().splitlines():
        lines += [line, *(loop if line.startswith("Switch") and '"leaf-02"' in line else ())]
    f = fabric(net="\n".join(lines) + "\n")
    f.capabilities = net.capabilities()
    f.rules()
    assert told(f, host="gpu-001") == []


def test_a_spine_with_half_the_cables_is_one_finding(fabric):
    """By design or for want of a board: each leaf has two cables to the others and one to it."""
    net = Net()
    low, high = add_switches(net, "leaf", 8, 36, 1), add_switches(net, "spine", 4, 40, 2)
    uplinks(net, low, high[:3], 2)
    uplinks(net, low, high[3:], 1)
    x, = told(fabric(net=in_rows(net, dict.fromkeys(low, 8))))
    assert (x["code"], x["node"], x["peer"]) == ("sibling-cable-missing", "spine-04", None)
    assert (x["what"], x["wanted"], x["got"]) == ("cables to each switch below it", "2 cables", "1 cable")


def test_exchanged_where_rows_have_any_length(fabric):
    """The hosts at the ends of rows stay where they are."""
    x, = told(fabric(net=rows_of_any_length(0, exchanged=(21, 40))))
    assert (x["code"], x["what"]) == ("sibling-host-moved", "two cables, exchanged")
    assert {w.split()[0] for w in x["wanted"].split(", ")} == {"gpu-021", "gpu-040"}
