# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Links: what audit names is what was planted, and iblinkinfo agrees."""
import re

from kit import policy


def ends(finding):
    return {(finding["node"], finding["port"]), (finding["peer"], finding["peer_port"])}


def plant(f):
    """One link between switches narrowed to 1x, one host's slowed to FDR, seen from both ends."""
    leaf = f.net["leaf-01"]
    port = leaf.to("spine-02")[0]
    peer = leaf.cables[port].peer(leaf)[1]
    f.rules(f"node=leaf-01 port={port} attr=PortInfo : set LinkWidthActive=1",
            f"node=spine-02 port={peer} attr=PortInfo : set LinkWidthActive=1",
            "node=gpu-003 attr=PortInfo : set LinkSpeedExtActive=1",
            "node=leaf-01 port=3 attr=PortInfo : set LinkSpeedExtActive=1")
    return {("leaf-01", port), ("spine-02", peer)}, {("gpu-003 mlx5_0", 1), ("leaf-01", 3)}


def test_clean_fabric_raises_nothing(up):
    f, _ = up()
    r = f.ibqos("audit", "--format", "json").ok(0)
    assert r.json["findings"] == [] and r.json["links"]["looked_at"] == len(f.net.cables)


def test_exactly_the_two_bad_links_worst_first(up):
    f, _ = up()
    narrow, slow = plant(f)
    r = f.ibqos("audit", "--format", "json").ok(2)
    findings = r.json["findings"]
    assert [x["code"] for x in findings] == ["link-width-low", "link-speed-low"]  # 75 Gb/s lost, then 45
    assert ends(findings[0]) == narrow and (findings[0]["wanted"], findings[0]["got"]) == ("4x", "1x")
    assert ends(findings[1]) == slow and (findings[1]["wanted"], findings[1]["got"]) == ("EDR", "FDR")
    # infiniband-diags says the same
    assert f.tool("iblinkinfo").ok().stdout.count("Could be 4X") == 2
    text = f.ibqos("audit").ok(2).stdout
    assert "leaf-01" in text and "spine-02" in text and "gpu-003" in text


def test_ndr_and_xdr_are_decoded(up):
    f, _ = up(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=0)
    # NDR: LinkSpeedExt bit 3 (IBA 14.2.5.6); CapabilityMask2 bit 10 IsLinkSpeedNDRSupported
    f.capabilities = []
    ndr = "LinkSpeedExtActive=8 LinkSpeedExtSupported=15 LinkSpeedExtEnabled=15 LinkWidthSupported=3 CapMask=0x0251c848 CapabilityMask2=0x0430"
    f.rules(f"attr=PortInfo : set {ndr}")
    r = f.ibqos("discover", "--format", "json").ok()
    assert {(x["speed"], x["width"], x["gbps"]) for x in r.json["links"]} == {("NDR", "4x", 400)}
    f.ibqos("audit").ok()
    # one link of them at HDR
    f.rules(f"attr=PortInfo : set {ndr}", "node=gpu-002 attr=PortInfo : set LinkSpeedExtActive=4",
            "node=leaf-01 port=2 attr=PortInfo : set LinkSpeedExtActive=4")
    findings = f.ibqos("audit", "--format", "json").ok(2).json["findings"]
    assert [(x["code"], x["wanted"], x["got"]) for x in findings] == [("link-speed-low", "NDR", "HDR")]


def test_discover_finds_what_ibnetdiscover_finds(up):
    f, _ = up()
    r = f.ibqos("discover", "--format", "json").ok().json
    text = f.tool("ibnetdiscover").ok().stdout
    assert sum(n["type"] == "switch" for n in r["nodes"]) == text.count("\nSwitch\t")
    assert sum(n["type"] == "adapter" for n in r["nodes"]) == text.count("\nCa\t")
    for guid, name in re.findall(r'^switchguid=0x(\w+).*\n.*# "(.*?)"', text, re.M):
        assert {n["name"] for n in r["nodes"] if int(n["node_guid"], 16) == int(guid, 16)} == {name}
    pairs = {frozenset({(x["node"], x["port"]), (x["peer"], x["peer_port"])}) for x in r["links"]}
    assert pairs == {frozenset({(c.a.desc, c.ap), (c.b.desc, c.bp)}) for c in f.net.cables}


def test_node_name_map(up):
    f, _ = up(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=0)
    with open(f.path("names"), "w", encoding="ascii") as names:
        names.write(f'# ours\n0x{f.net["leaf-01"].guid:016x} "rack 7 top"\n0x1 "not here"\n')
    r = f.ibqos("discover", "--node-name-map", f.path("names"), "--format", "json").ok().json
    assert "rack 7 top" in {n["name"] for n in r["nodes"]} and "leaf-01" not in {n["name"] for n in r["nodes"]}
    assert '"rack 7 top"' in f.tool("ibnetdiscover", "--node-name-map", f.path("names")).ok().stdout


def test_options_of_infiniband_diags(up):
    f, _ = up(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=0)
    r = f.ibqos("discover", "-C", "ibsim0", "-P", "1", "-t", "200", "-o", "1", "--format", "json").ok().json
    assert len(r["nodes"]) == 7
    assert "no-such" in f.ibqos("discover", "-C", "no-such").ok(3).stderr


def test_no_subnet_manager(fabric):
    f = fabric(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=0)
    r = f.ibqos("discover", "--format", "json").ok(3)
    assert "no-sm" in policy.codes(r) and len(r.json["nodes"]) == 7


def test_dead_subnet_manager_is_seen(up):
    f, sm = up(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=0)
    for command in ("discover", "audit"):
        f.ibqos(command).ok()
    sm.stop()
    for command in ("discover", "audit"):
        r = f.ibqos(command, "-t", "50", "--retries", "1", "--format", "json").ok(3)
        assert [x["code"] for x in r.json["findings"]] == ["sm-silent"], command


LACKING = "LinkSpeedExtActive=0 LinkSpeedExtSupported=0 LinkSpeedExtEnabled=0"


def port_infos(r):
    return r.json["mads"]["discovery_sent"]


def test_extended_speeds_only_for_who_asks_for_them(up):
    """SMSupportExtendedSpeeds (AttributeModifier bit 31): devices that leave the fields empty without it are asked again with it, others are not."""
    f, _ = up()
    usual = f.ibqos("audit", "--format", "json").ok(0)
    # one switch and one host: their ports are asked twice, and what they run is known
    leaf = f.net["leaf-01"]
    f.rules(f"node=leaf-01 attr=PortInfo bit31=0 : set {LACKING}", f"node=gpu-002 attr=PortInfo bit31=0 : set {LACKING}")
    r = f.ibqos("audit", "--format", "json").ok(0)
    assert r.json["findings"] == [] and port_infos(r) == port_infos(usual) + len(leaf.cables) + 1
    links = f.ibqos("discover", "--format", "json").ok(0).json["links"]
    assert {x["speed"] for x in links} == {"EDR"}
    # slow is slow there too
    f.rules(f"node=leaf-01 attr=PortInfo bit31=0 : set {LACKING}",
            "node=gpu-002 attr=PortInfo bit31=1 : set LinkSpeedExtActive=1", f"node=gpu-002 attr=PortInfo bit31=0 : set {LACKING}",
            "node=leaf-01 port=2 attr=PortInfo bit31=1 : set LinkSpeedExtActive=1")
    x, = f.ibqos("audit", "--format", "json").ok(2).json["findings"]
    assert (x["code"], x["wanted"], x["got"]) == ("link-speed-low", "EDR", "FDR") and ends(x) == {("gpu-002 mlx5_0", 1), ("leaf-01", 2)}
    # in a snapshot as well
    path = f.path("snapshot")
    f.ibqos("snapshot", path).ok(0)
    y, = f.ibqos("audit", "--format", "json", "--from", path).ok(2).json["findings"]
    assert (y["code"], ends(y)) == (x["code"], ends(x))


def test_a_device_that_refuses_the_bit_has_no_extended_speeds(up):
    """A device older than they are is believed; one that does not answer is not known."""
    f, _ = up()
    f.rules(f"node=gpu-002 attr=PortInfo bit31=0 : set {LACKING}", "node=gpu-002 attr=PortInfo bit31=1 : status=0x1c")
    x, = f.ibqos("audit", "--format", "json").ok(3).json["findings"]  # the ends disagree
    assert x["code"] == "link-undecoded" and sorted(x["got"].replace(" here", "").replace(" at the other end", "").split(", ")) == ["EDR", "QDR"]
    f.rules(f"node=gpu-002 attr=PortInfo bit31=0 : set {LACKING}", "node=gpu-002 attr=PortInfo bit31=1 : status=0x1c",
            f"node=leaf-01 port=2 attr=PortInfo : set {LACKING}")
    x, = f.ibqos("audit", "--format", "json").ok(1).json["findings"]  # both run QDR, all that they can; their siblings can more
    assert (x["code"], x["wanted"], x["got"]) == ("sibling-link-slow", "4x EDR", "4x QDR")
    f.rules(f"node=gpu-002 attr=PortInfo bit31=0 : set {LACKING}", "node=gpu-002 attr=PortInfo bit31=1 : timeout")
    r = f.ibqos("audit", "--format", "json", "-t", "50").ok(3)
    assert [(x["code"], x["node"], x["what"]) for x in r.json["findings"]] == [
        ("speed-unanswered", "gpu-002 mlx5_0", "PortInfo, with extended speeds")]
