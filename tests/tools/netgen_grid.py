# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Direct networks, where every switch has hosts: torus, mesh, ring, dragonfly; and dragonfly+, whose groups are small
fat trees. Hosts from port 1 on, then links in the order told at each shape."""
import itertools

from tools.netgen import Net
from tools.netgen_hosts import SWITCH, VENDOR, populate
from tools.netgen_tree import add_switches, uplinks


def _switch(net, name, radix, role="switch", **more):
    node = net.add_switch(name, ports=radix, role=role, vendor=VENDOR, device=SWITCH)
    for k, v in more.items():
        setattr(node, k, v)
    return name


def torus(dims=(4, 4), hosts_per_switch=1, bundle=1, wrap=True, radix=36, adapters=1, storage=0, logins=0, speed="EDR",
          isl_speed=None, width=4, isl_width=None):
    """sw-X-Y(-Z) at each place; link to the next in each dimension in turn, `bundle` times. wrap=False: a mesh. A
    dimension of 2 has one such link only, as both ways round are the same; one of 1 has none."""
    if any(d < 1 for d in dims):
        raise ValueError("a dimension is 1 at least")
    net, isl = Net(), dict(speed=isl_speed or speed, width=isl_width or width)
    places = list(itertools.product(*map(range, dims)))
    name = {at: _switch(net, "sw-" + "-".join(map(str, at)), radix, place=at) for at in places}
    for at in places:
        for d, size in enumerate(dims):
            if size == 1 or (at[d] + 1 == size and (not wrap or size == 2)):
                continue
            to = at[:d] + ((at[d] + 1) % size,) + at[d + 1:]
            for b in range(bundle):
                # both directions of a dimension have ports of their own, the same on every switch
                base = hosts_per_switch * adapters + 2 * bundle * d + 1
                net.cable(name[at], name[to], ap=base + b, bp=base + bundle + b, **isl)
    populate(net, [[name[at]] for at in places], hosts_per_switch, adapters, 1, storage, logins, speed=speed, width=width)
    return net


def ring(switches=6, hosts_per_switch=2, bundle=1, **more):
    """A torus of one dimension; the other arguments are the torus'."""
    return torus((switches,), hosts_per_switch, bundle, **more)


def _global_pairs(groups, links, what):
    """For each pair of groups its share of global links, evenly: `links` of each group over the groups - 1 others."""
    if groups < 2 or links % (groups - 1):
        raise ValueError(f"{links} {what} of a group cannot be dealt out over {groups - 1} other groups evenly")
    return links // (groups - 1)


def _global_links(net, groups, per_pair, owner, **link):
    """owner(g, n): the switch that has global link n of group g. Links of a group go to the groups behind it in turn:
    the n-th to group g + 1 + n, so that every switch has its share of near and far ones."""
    for rank in range(per_pair):
        for a in range(groups):
            for b in range(a + 1, groups):
                net.cable(owner(a, rank * (groups - 1) + b - a - 1), owner(b, rank * (groups - 1) + groups - b + a - 1),
                          **link)


def dragonfly(groups=None, switches=4, global_links=1, hosts_per_switch=2, radix=36, adapters=1, storage=0, logins=0,
              speed="EDR", isl_speed=None, width=4, isl_width=None):
    """Groups of switches, all joined to all in the group; global_links of each switch go to other groups, evenly.
    Without a number of groups the largest: switches * global_links + 1, one link between two groups."""
    ends = switches * global_links
    groups = ends + 1 if groups is None else groups
    per_pair = _global_pairs(groups, ends, "global links")
    net, isl = Net(), dict(speed=isl_speed or speed, width=isl_width or width)
    name = [[_switch(net, f"sw-g{g}-{s}", radix, group=g) for s in range(switches)] for g in range(groups)]
    populate(net, [[s] for group in name for s in group], hosts_per_switch, adapters, 1, storage, logins, speed=speed,
             width=width)
    for group in name:
        for a, b in itertools.combinations(group, 2):
            net.cable(a, b, **isl)
    _global_links(net, groups, per_pair, lambda g, n: name[g][n // global_links], **isl)
    return net


def dragonfly_plus(groups=3, leaves=2, spines=2, global_links=1, hosts_per_leaf=2, radix=36, adapters=1, storage=0,
                   logins=0, speed="EDR", isl_speed=None, width=4, isl_width=None):
    """Groups are two-level trees; global_links of each spine go to other groups, evenly. Hosts on leaves only."""
    per_pair = _global_pairs(groups, spines * global_links, "global links")
    net, isl = Net(), dict(speed=isl_speed or speed, width=isl_width or width)
    low = add_switches(net, "leaf", groups * leaves, radix, 1)
    high = add_switches(net, "spine", groups * spines, radix, 2)
    for g in range(groups):
        uplinks(net, low[g * leaves:(g + 1) * leaves], high[g * spines:(g + 1) * spines], 1, **isl)
    _global_links(net, groups, per_pair, lambda g, n: high[g * spines + n // global_links], **isl)
    populate(net, [[s] for s in low], hosts_per_leaf, adapters, 1, storage, logins, speed=speed, width=width)
    return net
