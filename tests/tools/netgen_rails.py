# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Sites of several rails: a fabric each, and hosts with an adapter in each, named as rdma-ndd names them."""
from tools.netgen import CA_GUID, SWITCH_GUID, Net

RAIL = 1 << 24  # GUIDs of one rail apart from those of the next


def fabric(rail, members, leaves=3, spines=2, uplinks=1, switch_ports=64, speed="NDR"):
    """One rail: a tree of two levels. members: (host, adapter) of each adapter in it, in order, dealt out over the leaves."""
    net = Net()
    for i, (host, adapter) in enumerate(members):
        name = host if not adapter or host not in net.nodes else f"{host}.{adapter}"
        net.add_ca(name, f"{host} {adapter}".strip(), guid=CA_GUID + rail * RAIL + (i + 1) * 16, role="gpu", host=host)
    for kind, base, count in (("leaf", 1, leaves), ("spine", leaves + 1, spines)):
        for i in range(count):
            net.add_switch(f"{kind}-{i + 1:02}-r{rail}", ports=switch_ports, role=kind, guid=SWITCH_GUID + rail * RAIL + (base + i) * 256)
    for i, node in enumerate(list(net.role("gpu"))):
        net.cable(node.name, f"leaf-{i % leaves + 1:02}-r{rail}", speed=speed)
    for l in range(leaves):
        for s in range(spines):
            net.bundle(f"leaf-{l + 1:02}-r{rail}", f"spine-{s + 1:02}-r{rail}", uplinks, ap=switch_ports - (s + 1) * uplinks + 1,
                       speed=speed)
    return net


def hosts(stem, count, digits=3, first=1):
    return [f"{stem}{first + i:0{digits}}" for i in range(count)]


def members(names, rails, device="mlx5_"):
    """{rail: [(host, adapter)]}: adapter r of each host in rail r."""
    return {r: [(h, f"{device}{r}") for h in names] for r in rails}


def together(*parts):
    out = {}
    for part in parts:
        for rail, who in part.items():
            out.setdefault(rail, []).extend(who)
    return out


def site(plan, **shape):
    """Nets of all rails of a plan: {rail: [(host, adapter)]}."""
    return [fabric(r, plan[r], **shape) for r in sorted(plan)]
