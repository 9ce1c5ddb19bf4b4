# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""audit against what the policy expects of links, and against a baseline: each verdict is a code of its own."""
import pytest

HEAD = """version: 1
classes:
  - {name: all, sl: 0, share: 100%, default: true}
links:
"""
SMALL = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=0)


def audit(f, code, *args):
    return f.ibqos("audit", "--format", "json", *args).ok(code)


def told(r):
    return sorted((x["code"], x.get("wanted"), x.get("got")) for x in r.json["findings"])


def ports(f, name, fields):
    """Rules: all links of an adapter, seen from both ends."""
    port, cable = next(iter(f.net[name].cables.items()))
    peer, peer_port = cable.peer(f.net[name])
    return [f"node={n} port={p} attr=PortInfo : set {fields}" for n, p in ((name, port), (peer.name, peer_port))]


@pytest.fixture
def links(up):
    f, _ = up(**SMALL)

    def write(text):
        path = f.path("links.yaml")
        with open(path, "w", encoding="ascii") as out:
            out.write(HEAD + text)
        return path

    return f, write


def test_declared_width_of_a_split_link_is_right(links):
    f, write = links
    f.rules(*ports(f, "gpu-002", "LinkWidthActive=16 LinkWidthSupported=19 LinkWidthEnabled=19"))
    assert told(audit(f, 2)) == [("link-width-low", "4x", "2x")]
    path = write("  - {name: hosts, ends: [{node_type: ca, node: 'gpu-002*'}, {node_type: switch}], width: 2x}\n")
    r = audit(f, 0, "--policy", path)
    assert told(r) == [] and r.json["links"]["below_can"] == 1  # the verdict stands, and is no finding


def test_what_both_ends_claim_is_less_than_the_policy_expects(links):
    f, write = links
    f.rules(*ports(f, "gpu-002", "LinkWidthActive=16 LinkWidthSupported=17 LinkWidthEnabled=17"),
            *ports(f, "gpu-003", "LinkSpeedExtActive=1 LinkSpeedExtSupported=1 LinkSpeedExtEnabled=1"))
    assert told(audit(f, 0)) == []  # nothing that a capability shows
    path = write("  - {name: hosts, ends: [{node_type: ca}], speed: EDR, width: 4x}\n")
    r = audit(f, 2, "--policy", path)
    assert told(r) == [("link-speed-below-policy", "EDR", "FDR"), ("link-width-below-policy", "4x", "2x")]
    assert "link class 'hosts'" in r.json["findings"][0]["detail"]


def test_told_to_run_slower(links):
    f, _ = links
    f.rules(*ports(f, "gpu-002", "LinkSpeedExtActive=1 LinkSpeedExtEnabled=1"),
            *ports(f, "gpu-003", "LinkWidthActive=1 LinkWidthEnabled=1"))
    assert told(audit(f, 2)) == [("link-speed-limited", "EDR", "FDR"), ("link-width-limited", "4x", "1x")]


def test_exception_holds_until_its_day(links):
    f, write = links
    f.rules(*ports(f, "gpu-002", "LinkSpeedExtActive=1"))
    path = write("  - name: hosts\n    ends: [{node_type: ca}]\n    speed: EDR\n    exceptions:\n"
                 "      - {node: 'gpu-002*', speed: FDR, reason: TICKET-7, until: 2026-03-31}\n"
                 "      - {node: 'gpu-999*', reason: gone, until: 2026-03-31}\n")
    r = audit(f, 0, "--policy", path, "--as-of", "2026-03-31")
    assert told(r) == [("link-exception-unused", None, None)] and r.json["links"]["excepted"] == 1
    r = audit(f, 2, "--policy", path, "--as-of", "2026-04-01")
    assert told(r) == [("link-exception-expired", None, "until 2026-03-31"), ("link-exception-unused", None, None),
                       ("link-speed-low", "EDR", "FDR")]
    expired = next(x for x in r.json["findings"] if x["code"] == "link-exception-expired")
    assert "TICKET-7" in expired["detail"] and expired["file"] == path and expired["line"] == 9
    # what the exception allows is its own measure
    f.rules(*ports(f, "gpu-002", "LinkSpeedExtActive=0"))
    assert ("link-speed-low", "FDR", "QDR") in told(audit(f, 2, "--policy", path, "--as-of", "2026-03-31"))


def test_class_without_links(links):
    f, write = links
    path = write("  - {name: hosts, ends: [{node: 'other*'}], speed: EDR}\n")
    assert told(audit(f, 1, "--policy", path)) == [("link-class-empty", None, None)]
    assert "--as-of" in f.ibqos("audit", "--as-of", "2026-02-30").ok(3).stderr
    bare = write("  - {name: all}\n").replace("links.yaml", "bare.yaml")
    with open(bare, "w", encoding="ascii") as out:
        out.write(HEAD.replace("links:\n", ""))
    assert "no 'links'" in f.ibqos("audit", "--policy", bare).ok(3).stderr


def test_capability_lost_since_the_baseline(links):
    f, _ = links
    f.ibqos("snapshot", f.path("before.snap")).ok()
    audit(f, 0, "--baseline", f.path("before.snap"))
    f.rules(*ports(f, "gpu-002", "LinkWidthActive=16 LinkWidthSupported=17 LinkWidthEnabled=17"))
    assert told(audit(f, 1)) == [("sibling-link-slow", "4x EDR", "2x EDR")]  # one of four hosts
    r = audit(f, 2, "--baseline", f.path("before.snap"))
    assert told(r) == [("link-width-lost", "4x", "2x")] and r.json["links"]["lost"] == 1
    f.rules(*ports(f, "gpu-002", "LinkSpeedExtActive=1 LinkSpeedExtSupported=1 LinkSpeedExtEnabled=1"))
    assert told(audit(f, 2, "--baseline", f.path("before.snap"))) == [("link-speed-lost", "EDR", "FDR")]
    # ibnetdiscover's text as the baseline has what the links ran
    with open(f.path("before.txt"), "w", encoding="ascii") as out:
        f.rules()
        out.write(f.tool("ibnetdiscover").ok().stdout)
    f.rules(*ports(f, "gpu-002", "LinkWidthActive=16 LinkWidthSupported=17 LinkWidthEnabled=17"))
    assert told(audit(f, 2, "--baseline", f.path("before.txt"))) == [("link-width-lost", "4x", "2x")]
    f.ibqos("audit", "--baseline", f.path("not-there")).ok(3)
