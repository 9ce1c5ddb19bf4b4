# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""ibnetdiscover's text as a source: what real ibnetdiscover writes of a fabric gives the fabric that is there."""
import re

import pytest

from tools import netgen_cases, netgen_tree

CASES = {c.name: c for c in netgen_cases.CASES}


def write(f, text, name="fabric.txt"):
    path = f.path(name)
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return path


def links(report):
    return {frozenset(((x["node_guid"], x["port"]), (x["peer_guid"], x["peer_port"]))): (x["width"], x["speed"])
            for x in report["links"]}


def nodes(report):
    return [{k: v for k, v in n.items() if k != "active_ports"} for n in report["nodes"]]


@pytest.mark.parametrize("name", ["tree2-guests", "tree2-two-port", "tree2-12x", "torus-3x3-bundles", "rail4-cores"])
def test_round_trip(fabric, name):
    f = fabric(net=CASES[name].make())
    f.opensm(options={"routing_engine": "updn"})
    live = f.ibqos("discover", "--format", "json").ok(0).json
    text = f.tool("ibnetdiscover").ok().stdout
    path = write(f, text)
    r = f.ibqos("discover", "--format", "json", "--from", path).ok(3)
    assert r.sent.gets == 0
    assert nodes(r.json) == nodes(live) and links(r.json) == links(live)
    assert [x["code"] for x in r.json["findings"]] == ["source-lacks"]
    assert all(x["state"] is None and x["vls"] is None for x in r.json["links"])
    # as others pass it on
    for changed in (b"\xef\xbb\xbf" + text.encode(), text.replace("\n", "\r\n"),
                    "[root@head ~]# ibnetdiscover\nibwarn: [12] mad_rpc: _do_madrpc failed; dport (DR path 0,1,2)\n" + text,
                    text + "[root@head ~]# \n", re.sub(r"^\[(\d+)\]\t", r"[\1](1/\1)\t", text, flags=re.M)):
        again = f.ibqos("discover", "--format", "json", "--from", write(f, changed)).ok(3).json
        assert nodes(again) == nodes(live) and links(again) == links(live)


def test_what_it_lacks_is_unknown(up):
    f, _ = up(leaves=2, spines=1)
    path = write(f, f.tool("ibnetdiscover").ok().stdout)
    r = f.ibqos("audit", "--from", path, "--format", "json").ok(3).json
    assert r["links"]["looked_at"] == 0 and r["links"]["unknown"] == len(f.net.cables)
    assert r["fabric_found"]["active_ports"] is None
    f.ibqos("snapshot", "--show", path).ok(3)


def test_broken_ones_are_refused(up, ibqos):
    f, _ = up(leaves=2, spines=1)
    text = f.tool("ibnetdiscover").ok().stdout
    lines = text.splitlines()
    ports = [i for i, line in enumerate(lines) if line.startswith("[1]")]
    heads = [i for i, line in enumerate(lines) if line.startswith("Switch")]

    def refused(changed, line, message):
        path = write(f, changed)
        r = ibqos("discover", "--from", path).ok(3)
        assert re.search(rf"{re.escape(path)}:{line}:\d+: .*{message}", r.stderr), r

    def at(i, old, new):
        assert old in lines[i]
        return "\n".join([*lines[:i], lines[i].replace(old, new, 1), *lines[i + 1:]])
    refused(at(ports[0], "[1]", "[99]"), ports[0] + 1, "no port of the node, which has 36")
    refused(at(ports[0], "[1]", "[1"), ports[0] + 1, "no port of the node")
    refused(at(ports[0], '"', ""), ports[0] + 1, "no peer as in")
    refused(at(heads[0], "S-", "X-"), heads[0] + 1, "no node as in")
    refused(text + text, len(lines) + heads[0] + 1, "a second time")
    cut = "\n".join(lines[:heads[1]])
    refused(cut, r"\d+", "is not in the file: it may be cut off")
    assert "neither a snapshot" in ibqos("discover", "--from", write(f, "nothing of the kind\n")).ok(3).stderr


def test_all_faults_at_once(up, ibqos):
    """Each line that is bad is told, and not what only follows from it: ports below a node that cannot be read, links to it."""
    f, _ = up(leaves=2, spines=1)
    lines = f.tool("ibnetdiscover").ok().stdout.splitlines()
    ports = [i for i, line in enumerate(lines) if line.startswith("[1]")]
    heads = [i for i, line in enumerate(lines) if line.startswith("Switch")]
    lines[ports[-1]] = lines[ports[-1]].replace("[1]", "[1", 1)
    lines[heads[0]] = lines[heads[0]].replace("S-", "X-", 1)
    lines[ports[-2]] = lines[ports[-2]].replace('"', "", 1)
    path = write(f, "\n".join(lines))
    r = ibqos("discover", "--from", path).ok(3)
    told = {int(n) for n in re.findall(rf"{re.escape(path)}:(\d+):", r.stderr)}
    assert told == {ports[-1] + 1, ports[-2] + 1, heads[0] + 1} and r.stderr.count("cannot read") == 3, r
