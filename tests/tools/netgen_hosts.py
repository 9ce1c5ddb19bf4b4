# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What hangs on the switches of a fabric: hosts with one or more adapters, storage, logins, SHARP aggregation
nodes, routers.

A host with several adapters is one CA node an adapter, as mlx5 devices are, all with the system image GUID of the
first; descriptions are those of the rdma-ndd service: "gpu-001 mlx5_3". A two-port adapter is one CA node with two
ports, as mlx4 devices are: "gpu-001 mlx4_0".
"""
VENDOR = 0x02c9
ADAPTER, SWITCH, AGGREGATION = 0x101b, 0xd2f0, 0xcf09
SHARP = "Mellanox Technologies Aggregation Node"


def add_host(net, host, homes, role="gpu", **link):
    """homes[a][p]: the switch that port p + 1 of adapter a is cabled to. Returns the CA nodes."""
    made = []
    for a, switches in enumerate(homes):
        device = f"mlx{5 if len(switches) == 1 else 4}_{a}"
        name = host if len(homes) == 1 else f"{host}-{device}"
        made.append(net.add_ca(name, f"{host} {device}", ports=len(switches), role=role, host=host, vendor=VENDOR,
                               device=ADAPTER, sysimg=made[0].guid if made else None))
        for p, s in enumerate(switches):
            net.cable(name, s, ap=p + 1, **link)
    return made


def digits(count, least):
    return max(least, len(str(count)))


def populate(net, seats, hosts_per_seat, adapters=1, ca_ports=1, storage=0, logins=0, **link):
    """Hosts gpu-NNN fill seat after seat; oss-NN and login-NN, with one adapter each, are then dealt out over the
    switches. A seat is a list of switches: adapter a of a seat's hosts is cabled to switch a of the seat, starting
    again where there are fewer; with two-port adapters, port p of adapter a to switch a * 2 + p."""
    total, width = len(seats) * hosts_per_seat, digits(len(seats) * hosts_per_seat, 3)
    for h in range(total):
        seat = seats[h // hosts_per_seat]
        add_host(net, f"gpu-{h + 1:0{width}}", [[seat[(a * ca_ports + p) % len(seat)] for p in range(ca_ports)]
                                                for a in range(adapters)], **link)
    switches = list(dict.fromkeys(s for seat in seats for s in seat))
    others = [(role, i, count) for role, count in (("oss", storage), ("login", logins)) for i in range(count)]
    for n, (role, i, count) in enumerate(others):
        add_host(net, f"{role}-{i + 1:0{digits(count, 2)}}", [[switches[n % len(switches)]]], role=role, **link)


def add_sharp(net, switches=None, **link):
    """An aggregation node in each of the switches (names; default all): a CA with the switch's own system image
    GUID and all the same description, on one port more than the front panel has."""
    for name in switches or [n.name for n in net.switches]:
        s = net[name]
        s.ports += 1
        net.add_ca(f"an-{name}", SHARP, guid=s.guid + 8, role="sharp", vendor=VENDOR, device=AGGREGATION,
                   sysimg=s.sysimg)
        net.cable(f"an-{name}", name, bp=s.ports, **link)
    return net


def add_router(net, name, switches, **link):
    """A router with one port on each of the switches. ibsim takes it (Rt in its net file) and answers for it as for
    a CA of another node type: no RouterInfo, no subnet behind it."""
    node = net.add_router(name, f"{name} router", ports=len(switches), role="router", vendor=VENDOR, device=0xd2f8)
    for p, s in enumerate(switches):
        net.cable(name, s, ap=p + 1, **link)
    return node
