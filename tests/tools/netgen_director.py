# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Director switches: a chassis of line and spine boards, each with a switch chip, that to discovery are switches of
their own with one system image GUID and descriptions that tell chassis and board, as MLNX-OS writes them."""
from tools.netgen import Net
from tools.netgen_hosts import SWITCH, VENDOR, digits, populate
from tools.netgen_tree import add_switches, share


def add_director(net, name, lines=4, spines=2, chip_ports=36, model="CS7520", **link):
    """Adds a chassis; half of the ports of a line board's chip are outside, the other half goes to its spine boards.
    Nodes NAME-LNN and NAME-SNN, described MF0;NAME:MODEL/L01/U1. Returns the names of the line chips."""
    inside = chip_ports // 2
    bundle = share(inside, spines, "spine boards")
    if lines * bundle > chip_ports:
        raise ValueError(f"{lines} line boards need {lines * bundle} ports of a spine board")
    made, first = {"L": [], "S": []}, None
    for board, count in (("L", lines), ("S", spines)):
        for i in range(count):
            number = f"{board}{i + 1:0{digits(count, 2)}}"
            node = net.add_switch(f"{name}-{number}", f"MF0;{name}:{model}/{number}/U1", ports=chip_ports,
                                  role="line" if board == "L" else "board", vendor=VENDOR, device=SWITCH, sysimg=first)
            first = first or node.guid
            node.chassis, node.level = name, 2 if board == "L" else 3
            made[board].append(node.name)
    for n in made["L"]:
        for i, s in enumerate(made["S"]):
            net.bundle(n, s, bundle, ap=chip_ports - inside + 1 + i * bundle, **link)
    return made["L"]


def director(chassis=1, lines=4, spines=2, chip_ports=36, leaves=0, leaf_radix=36, hosts=4, adapters=1, storage=0,
             logins=0, model="CS7520", speed="EDR", isl_speed=None, width=4, isl_width=None):
    """leaves=0: one chassis, `hosts` on each of its line boards. Else `leaves` edge switches, each with `hosts` hosts
    and one cable to every line board of every chassis."""
    net, isl = Net(), dict(speed=isl_speed or speed, width=isl_width or width)
    boards = [add_director(net, f"dir-{c + 1}", lines, spines, chip_ports, model, **isl) for c in range(chassis)]
    host = dict(speed=speed, width=width)
    if not leaves:
        if chassis != 1:
            raise ValueError("several chassis are joined by leaves: leaves=")
        populate(net, [[s] for s in boards[0]], hosts, adapters, 1, storage, logins, **host)
        return net
    low = add_switches(net, "leaf", leaves, leaf_radix, 1)
    for leaf in low:
        for i, line in enumerate(line for b in boards for line in b):
            net.cable(leaf, line, ap=leaf_radix - i, **isl)
    populate(net, [[s] for s in low], hosts, adapters, 1, storage, logins, **host)
    return net
