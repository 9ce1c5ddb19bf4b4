# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What the floors ask: the Gets of a discovery, of counters and of verify, known beforehand from what discover found."""
import collections

NODE_DESC, NODE_INFO, SWITCH_INFO, PORT_INFO = 0x10, 0x11, 0x12, 0x15
CLASS_PORT_INFO, PORT_COUNTERS, PORT_COUNTERS_EXT = 0x01, 0x12, 0x1d


def walk(report, start):
    """The Gets of a walk from the adapter `start` (its GUID): (attribute, modifier, route)."""
    nodes = {n["node_guid"]: n for n in report["nodes"]}
    links = collections.defaultdict(dict)
    for x in report["links"]:
        links[x["node_guid"]][x["port"]] = x["peer_guid"], x["peer_port"]
        links[x["peer_guid"]][x["peer_port"]] = x["node_guid"], x["port"]
    yield NODE_INFO, 0, ()
    todo, met = collections.deque([(start, 1, ())]), {start}
    while todo:
        guid, came, route = todo.popleft()
        yield NODE_DESC, 0, route
        if nodes[guid]["type"] == "switch":
            yield SWITCH_INFO, 0, route
            for port in range(nodes[guid]["ports"] + 1):
                yield PORT_INFO, port, route
        else:
            yield PORT_INFO, came, route
            if route:
                continue
        for port, (peer, there) in sorted(links[guid].items()):
            if route and port == came:
                continue
            further = route + (port,)
            yield NODE_INFO, 0, further
            if peer not in met:
                met.add(peer)
                todo.append((peer, there, further))
            elif nodes[peer]["type"] != "switch":
                yield PORT_INFO, there, further


def counters(report):
    """The Gets of counters at both ends of each link, adapters being of one port here: (attribute, port, LID)."""
    lids = {n["node_guid"]: n["lid"] for n in report["nodes"]}
    for guid in sorted(lids):
        yield CLASS_PORT_INFO, 0, lids[guid]
    ends = {(x[a], x[b]) for x in report["links"] for a, b in (("node_guid", "port"), ("peer_guid", "peer_port"))}
    for attribute in (PORT_COUNTERS, PORT_COUNTERS_EXT):
        for guid, port in sorted(ends):
            yield attribute, port, lids[guid]


def tables(report):
    """"lid in out" of every SL2VL table of the links' switch ports, switch by switch in turn; and those ports."""
    switches = {n["node_guid"]: n for n in report["nodes"] if n["type"] == "switch"}
    active = {}
    for link in report["links"]:
        for guid, port in ((link["node_guid"], link["port"]), (link["peer_guid"], link["peer_port"])):
            if guid in switches:
                active.setdefault(guid, []).append(port)
    per_switch = [[f"{switches[g]['lid']} {i} {o}" for o in sorted(ports) for i in range(switches[g]["ports"] + 1)]
                  for g, ports in sorted(active.items())]
    longest = max(map(len, per_switch))
    ports = [(switches[g]["lid"], p) for g, found in sorted(active.items()) for p in sorted(found)]
    return [p[i] for i in range(longest) for p in per_switch if i < len(p)], ports


def write(path, lines):
    """Writes lines; gives their number."""
    count = 0
    with open(path, "w", encoding="ascii") as out:
        for line in lines:
            out.write(line + "\n")
            count += 1
    return count


def walk_lines(report, start):
    for attribute, modifier, route in walk(report, start):
        yield " ".join(map(str, ("dr", attribute, modifier, len(route), *route)))


def counter_lines(report):
    for attribute, port, lid in counters(report):
        yield f"pma {attribute} {port} {lid}"
