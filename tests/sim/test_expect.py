# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Nodes that were replaced, and changes that were expected: what of the difference is no news, and what did not happen."""
import collections

import pytest

from kit import sim
from tools import netgen_tree

RANK = 0x5000000  # added to a GUID: a device that was not there before


def swap(net, *names):
    """Other devices in place of these, at the same cables."""
    for name in names:
        net[name].guid += RANK
        net[name].sysimg = net[name].guid


def shape():
    return netgen_tree.tree2(radix=36, leaves=8, spines=6, hosts_per_leaf=8)


def hosts_of(net, leaf):
    return [n for n in net[leaf].peers() if not n.switch]


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    """Snapshots of what each of these does to the shape, taken once each."""
    made = {}

    def of(name, change=lambda net: None):
        if name not in made:
            net = shape()
            change(net)
            with sim.Fabric(tmp_path_factory.mktemp(name), net) as f:
                f.opensm(options={"routing_engine": "minhop"})
                path = f.path("snap")
                f.ibqos("snapshot", path).ok(0)
            made[name] = path, net
        return made[name]

    return of


def told(result):
    """(code, node) of what is no note."""
    return collections.Counter((x["code"], x["node"]) for x in result.json["findings"] if x["severity"] != "note")


def both(ibqos, states, name, change):
    before, _ = states("before")
    after, net = states(name, change)
    return before, after, net


@pytest.mark.parametrize("names", [["leaf-03"], ["spine-02"], ["leaf-03", "spine-02"], ["gpu-010"],
                                   ["leaf-03", "spine-02", "spine-03", "gpu-010"]])
def test_replaced_is_one_finding(ibqos, states, names):
    before, after, net = both(ibqos, states, "swap-" + "-".join(names), lambda net: swap(net, *names))
    r = ibqos("diff", before, after, "--format", "json").ok(1)
    assert told(r) == {("node-replaced", net[n].desc): 1 for n in names}
    for x in r.json["findings"]:
        if x["code"] == "node-replaced":
            new = int(x["node_guid"], 16)
            assert (int(x["wanted"], 16), int(x["got"], 16)) == (new - RANK, new)
    changes = r.json["changes"]
    assert changes["nodes_replaced"] == len(names) and changes["links"] == len(net.cables)
    assert changes["nodes_gone"] == changes["nodes_new"] == changes["links_gone"] == changes["links_moved"] == 0


def test_replaced_under_another_name_and_with_a_cable_fewer(ibqos, states):
    def change(net):
        swap(net, "leaf-03")
        net["leaf-03"].desc = "leaf-03-new"
        net.remove(net["leaf-03"].cables[net["leaf-03"].to("spine-01")[0]])

    before, after, _ = both(ibqos, states, "renamed-swap", change)
    r = ibqos("diff", before, after, "--format", "json").ok(2)
    gone = [x for x in r.json["findings"] if x["code"] == "link-gone"]
    assert set(told(r)) == {("node-replaced", "leaf-03-new"), ("node-renamed", "leaf-03-new"), ("link-gone", gone[0]["node"])}
    assert {gone[0]["node"], gone[0]["peer"]} == {"leaf-03", "spine-01"}


def test_another_host_at_the_cable_is_not_the_same(ibqos, states):
    def change(net):
        swap(net, "gpu-010")
        net["gpu-010"].desc = "gpu-999 mlx5_0"

    before, after, _ = both(ibqos, states, "another-host", change)
    r = ibqos("diff", before, after, "--format", "json").ok(2)
    assert told(r) == {("node-gone", "gpu-010 mlx5_0"): 1, ("node-new", "gpu-999 mlx5_0"): 1}


def write(path, *lines, head="version: 1"):
    path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    return path


def work(net):
    """A night's work: a leaf goes, a spine is swapped, hosts become faster, one is renamed, a cable moves."""
    for n in hosts_of(net, "leaf-08"):
        net.remove_node(n.name)
    net.remove_node("leaf-08")
    swap(net, "spine-02")
    for n in hosts_of(net, "leaf-02"):
        n.cables[1].speed = "HDR"
    net["gpu-001"].desc = "gpu-901 mlx5_0"
    host = hosts_of(net, "leaf-04")[0]
    net.remove(host.cables[1])
    net.cable(host.name, "leaf-05", bp=10)
    net.add_ca("gpu-500", "gpu-500 mlx5_0")
    net.cable("gpu-500", "leaf-07", bp=11)


def phrases(net):
    fast = [n.name for n in hosts_of(net, "leaf-02")]
    moved = [n for n in net.hosts if 10 in net["leaf-05"].cables and n in [net["leaf-05"].cables[10].peer(net["leaf-05"])[0]]][0]
    return ["leaf-08 down", "spine-02 replaced", "fast gets 4x HDR", "gpu-001 mlx5_0 renamed to gpu-901 mlx5_0",
            f"{moved.name} moved", "gpu-500 new"], fast


def test_all_that_was_expected_happened(ibqos, states, tmp_path):
    before, after, net = both(ibqos, states, "work", work)
    r = ibqos("diff", before, after, "--format", "json").ok(2)
    assert sum(told(r).values()) > 20
    lines, fast = phrases(net)
    file = write(tmp_path / "changes.yaml", "changes:", *(f"  - {x}" for x in lines), "groups:",
                 "  fast:", *(f"    - {n}" for n in fast))
    r = ibqos("diff", before, after, "--expect", file, "--format", "json")
    assert told(r) == {}, r
    r.ok(0)
    rows = {x["change"]: x for x in r.json["expected"]}
    assert set(rows) == set(lines) and all(x["meant"] == x["happened"] > 0 for x in rows.values()), rows
    assert rows["leaf-08 down"]["explains"] == 1 + len(hosts_of(shape(), "leaf-08"))
    assert all("expected: " in x["detail"] and "changes.yaml:" in x["detail"] for x in r.json["findings"]
               if x["code"] != "routes-changed")
    assert ibqos("diff", before, after, "--expect", file).ok(0).stdout.count("leaf-08 down") >= 1


@pytest.mark.parametrize("left_out", range(6))
def test_what_was_not_expected_stays_a_finding(ibqos, states, tmp_path, left_out):
    before, after, net = both(ibqos, states, "work", work)
    lines, fast = phrases(net)
    file = write(tmp_path / "changes.yaml", "groups:", "  fast:", *(f"    - {n}" for n in fast), "changes:",
                 *(f"  - {x}" for i, x in enumerate(lines) if i != left_out))
    r = ibqos("diff", before, after, "--expect", file, "--format", "json").ok(1, 2)
    codes = {x["code"] for x in r.json["findings"] if x["severity"] != "note"}
    expected = [{"node-gone"}, {"node-replaced"}, {"capability-changed"}, {"node-renamed"}, {"link-moved"}, {"node-new"}]
    assert codes == expected[left_out], r


MISSING = [
    ("leaf-01 down", "leaf-01", "it is still there, with 26 links"),
    ("leaf-01[1] down", "leaf-01", "the link is still there"),
    ("leaf-01[10] down", "leaf-01", "no link was there before"),
    ("gpu-001 replaced", "gpu-001 mlx5_0", "it is the same node as before"),
    ("gpu-002 new", "gpu-002 mlx5_0", "it was there before"),
    ("gpu-777 new", None, "nothing of this name is there, before or after"),
    ("gpu-[001-003] down", "gpu-003 mlx5_0", "it is still there, with 1 links"),
    ("gpu-[001,778] new", None, "no node is called 'gpu-778', before or after"),
    ("gpu-001 renamed to x", "gpu-001 mlx5_0", "gpu-001 mlx5_0"),
    ("leaf-0* moved", "leaf-03", "no cable of it leads elsewhere than before"),
    ("gpu-004 gets NDR", "gpu-004 mlx5_0", "4x EDR"),
    ("leaf-01[20] gets 2x", "leaf-01", "4x EDR"),
    ("leaf-01[11] gets 2x", "leaf-01", "no link is there"),
    ("all gets tables", None, "no table of it has changed"),
]


def test_what_did_not_happen_is_a_finding(ibqos, states, tmp_path):
    before, _ = states("before")
    file = write(tmp_path / "c", "changes:", *(f"- {change}" for change, _, _ in MISSING))
    r = ibqos("diff", before, before, "--expect", file, "--format", "json").ok(2)
    found = [(x["what"], x["node"], x["got"]) for x in r.json["findings"]]
    assert {x["code"] for x in r.json["findings"]} == {"expected-change-missing"}
    for wanted in MISSING:
        assert wanted in found, (wanted, [x for x in found if x[0] == wanted[0]])
    assert all(x["happened"] == 0 and x["meant"] > 0 for x in r.json["expected"])


def test_a_link_that_went(ibqos, states, tmp_path):
    def change(net):
        net.remove(net["leaf-06"].cables[net["leaf-06"].to("spine-04")[0]])

    before, after, _ = both(ibqos, states, "a-link", change)
    leaf = shape()["leaf-06"]
    here = leaf.to("spine-04")[0]
    port = leaf.cables[here].peer(leaf)[1]
    for subject in (f"spine-04[{port}]", f"leaf-06[{here}]"):
        file = write(tmp_path / "c", f"changes: ['{subject} down']")
        ibqos("diff", before, after, "--expect", file).ok(0)
    file = write(tmp_path / "c", f"changes: ['spine-04[{port + 1}] down']")
    r = ibqos("diff", before, after, "--expect", file, "--format", "json").ok(2)
    assert {x[0] for x in told(r)} == {"link-gone", "expected-change-missing"}


FAULTS = """versions: 1
version: 2
groups:
  a: []
  a: x
  b: {c: d}
  h: gpu-[001-
changes:
  - leaf-01
  - leaf-01 explodes
  - x: down
  - down
  - gpu-[1-2 down
  - leaf-01 gets
  - leaf-01 gets 4x 2x
  - leaf-01 gets fast
  - leaf-01 renamed to
""", [1, 2, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17]


def test_faults_of_a_change_file(ibqos, states, tmp_path):
    before, _ = states("before")
    file = tmp_path / "c"
    file.write_text(FAULTS[0], encoding="utf-8")
    r = ibqos("diff", before, before, "--expect", file, "--format", "json").ok(2)
    assert [(x["code"], x["line"]) for x in r.json["findings"]] == [("changes-fault", n) for n in FAULTS[1]]
    assert all(x["column"] > 0 and x["file"] == str(file) for x in r.json["findings"])
    assert "expected" not in r.json
    for text, code in (("", "changes-syntax"), ("a: [", "changes-syntax"), ("version: 1\n", "changes-fault"),
                       ("[]", "changes-fault"), ("version: 1\nchanges: 3\n", "changes-fault"), ("changes: []", "changes-fault"),
                       ("version: 1\nchanges: [&a 'x down']\n", "changes-syntax")):
        file.write_text(text, encoding="utf-8")
        r = ibqos("diff", before, before, "--expect", file, "--format", "json").ok(2)
        assert {x["code"] for x in r.json["findings"]} == {code}, text
    assert "cannot read" in ibqos("diff", before, before, "--expect", tmp_path / "none").ok(3).stderr
