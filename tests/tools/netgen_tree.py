# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Fat trees of two and three levels, of any radix and oversubscription, and rail-optimised ones.

Ports: on a leaf, hosts from port 1 on and uplinks from the last port downwards; on a switch above it, links down from
port 1 on and up from the last downwards. A pair of switches has its parallel links side by side.
"""
from tools.netgen import Net
from tools.netgen_hosts import SWITCH, VENDOR, digits, populate


def split(radix, ratio):
    """(ports down, ports up) of a switch at this ratio, exactly; what does not go into it stays free."""
    down, up = ratio
    unit = radix // (down + up)
    if not unit or down < 1 or up < 1:
        raise ValueError(f"{radix} ports cannot be split {down}:{up}")
    return unit * down, unit * up


def share(ports, switches, what):
    if switches < 1 or ports % switches:
        raise ValueError(f"{ports} ports cannot be dealt out over {switches} {what} evenly")
    return ports // switches


def add_switches(net, role, count, radix, level, least=2):
    names = [f"{role}-{i + 1:0{digits(count, least)}}" for i in range(count)]
    for n in names:
        net.add_switch(n, ports=radix, role=role, vendor=VENDOR, device=SWITCH).level = level
    return names


def uplinks(net, below, above, bundle, **link):
    """Cables each switch of `below` to each of `above`, from its last free port downwards."""
    for b in below:
        top = next(p for p in range(net[b].ports, 0, -1) if p not in net[b].cables)
        for i, a in enumerate(above):
            for u in range(bundle):
                net.cable(b, a, ap=top - i * bundle - u, **link)


def seats_of(leaves, ca_ports):
    """Where hosts sit: on one leaf, or with two-port adapters on a pair of leaves."""
    if ca_ports == 1:
        return [[s] for s in leaves]
    if ca_ports != 2 or len(leaves) % 2:
        raise ValueError("two-port adapters need an even number of leaves")
    return [leaves[i:i + 2] for i in range(0, len(leaves), 2)]


def fill(net, leaves, down, hosts_per_leaf, adapters, ca_ports, storage, logins, link):
    others = -(-(storage + logins) // len(leaves))
    each = (down - others) // adapters if hosts_per_leaf is None else hosts_per_leaf
    if each < 0 or each * adapters + others > down:
        raise ValueError(f"a leaf has {down} ports down: not enough for {each} hosts of {adapters} adapters "
                         f"and {others} others")
    populate(net, seats_of(leaves, ca_ports), each, adapters, ca_ports, storage, logins, **link)


def tree2(radix=36, ratio=(1, 1), leaves=None, spines=None, hosts_per_leaf=None, spine_radix=None, adapters=1,
          ca_ports=1, storage=0, logins=0, speed="EDR", isl_speed=None, width=4, isl_width=None):
    """Two levels. ratio: (2, 1) is an oversubscription of 2:1 at the leaves. Without numbers the largest one.
    With ca_ports=2 each host is on a pair of leaves, and hosts_per_leaf counts a pair's."""
    down, up = split(radix, ratio)
    spines = up if spines is None else spines
    spine_radix = spine_radix or radix
    bundle = share(up, spines, "spines")
    leaves = spine_radix // bundle if leaves is None else leaves
    if leaves * bundle > spine_radix:
        raise ValueError(f"{leaves} leaves need {leaves * bundle} ports of each spine")
    net = Net()
    low = add_switches(net, "leaf", leaves, radix, 1)
    high = add_switches(net, "spine", spines, spine_radix, 2)
    uplinks(net, low, high, bundle, speed=isl_speed or speed, width=isl_width or width)
    fill(net, low, down, hosts_per_leaf, adapters, ca_ports, storage, logins, dict(speed=speed, width=width))
    return net


def tree3(radix=36, ratio=(1, 1), spine_ratio=(1, 1), pods=None, leaves_per_pod=None, spines_per_pod=None, cores=None,
          hosts_per_leaf=None, adapters=1, ca_ports=1, storage=0, logins=0, speed="EDR", isl_speed=None, width=4,
          isl_width=None):
    """Three levels: pods of leaves and spines, spine s of each pod on the cores of group s. Without numbers the
    largest one: radix 36 gives 11,664 hosts on 648 leaves, 648 spines, 324 cores."""
    down, up = split(radix, ratio)
    spine_down, spine_up = split(radix, spine_ratio)
    spines_per_pod = up if spines_per_pod is None else spines_per_pod
    bundle = share(up, spines_per_pod, "spines of a pod")
    leaves_per_pod = spine_down // bundle if leaves_per_pod is None else leaves_per_pod
    if leaves_per_pod * bundle > spine_down:
        raise ValueError(f"{leaves_per_pod} leaves need {leaves_per_pod * bundle} ports down of a pod's spine")
    cores = spines_per_pod * spine_up if cores is None else cores
    group = share(cores, spines_per_pod, "core groups")
    core_bundle = share(spine_up, group, "cores of a group")
    pods = radix // core_bundle if pods is None else pods
    if pods * core_bundle > radix:
        raise ValueError(f"{pods} pods need {pods * core_bundle} ports of each core")
    net = Net()
    low = add_switches(net, "leaf", pods * leaves_per_pod, radix, 1)
    middle = add_switches(net, "spine", pods * spines_per_pod, radix, 2)
    high = add_switches(net, "core", cores, radix, 3)
    isl = dict(speed=isl_speed or speed, width=isl_width or width)
    for p in range(pods):
        mine = middle[p * spines_per_pod:(p + 1) * spines_per_pod]
        uplinks(net, low[p * leaves_per_pod:(p + 1) * leaves_per_pod], mine, bundle, **isl)
        for s, name in enumerate(mine):
            uplinks(net, [name], high[s * group:(s + 1) * group], core_bundle, **isl)
    fill(net, low, down, hosts_per_leaf, adapters, ca_ports, storage, logins, dict(speed=speed, width=width))
    return net


def rail(units=2, hosts_per_unit=4, rails=8, spines=4, bundle=1, cores=0, radix=36, storage=0, logins=0, speed="EDR",
         isl_speed=None, width=4, isl_width=None):
    """Rail-optimised: a unit has one leaf a rail, leaf-UU-rR, and adapter r of each of its hosts is on the leaf of
    rail r. cores=0: all leaves on the same `spines`. Else each rail has `spines` of its own, and the cores join the
    rails into one fabric."""
    if not 1 <= rails <= 8:
        raise ValueError("1 to 8 rails")
    net = Net()
    isl = dict(speed=isl_speed or speed, width=isl_width or width)
    leaves = [[f"leaf-{u + 1:0{digits(units, 2)}}-r{r}" for r in range(rails)] for u in range(units)]
    for seat in leaves:
        for r, name in enumerate(seat):
            node = net.add_switch(name, ports=radix, role="leaf", vendor=VENDOR, device=SWITCH)
            node.level, node.rail = 1, r
    if not cores:
        uplinks(net, [s for seat in leaves for s in seat], add_switches(net, "spine", spines, radix, 2), bundle, **isl)
    else:
        middle = []
        for r in range(rails):
            middle.append([f"spine-{s + 1:0{digits(spines, 2)}}-r{r}" for s in range(spines)])
            for name in middle[-1]:
                node = net.add_switch(name, ports=radix, role="spine", vendor=VENDOR, device=SWITCH)
                node.level, node.rail = 2, r
            uplinks(net, [seat[r] for seat in leaves], middle[-1], bundle, **isl)
        uplinks(net, [s for m in middle for s in m], add_switches(net, "core", cores, radix, 3), bundle, **isl)
    populate(net, leaves, hosts_per_unit, rails, 1, storage, logins, speed=speed, width=width)
    return net
