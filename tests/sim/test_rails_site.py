# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""ibqos rails --site: simulated rails with an OpenSM each, looked at by workers and compared with each other."""
import os
import re

import pytest

from kit import run
from kit.sites import Site
from tools import netgen_rails as gen

COUNT = 3
SHAPE = dict(leaves=1, spines=0, switch_ports=8, speed="EDR")
ADAPTERS = {f"rail{i}": {"adapters": [f"mlx5_{i}"]} for i in range(COUNT)}


def plan(hosts=3):
    return gen.members(gen.hosts("gpu-", hosts), range(COUNT))


@pytest.fixture
def rails(up, tmp_path):
    """Factory: rails(members by rail, keys of each fabric) -> Site of rail0, rail1, ..., all up."""
    def start(members, own=None):
        nets = gen.site(members, **SHAPE)
        return Site(tmp_path, {f"rail{i}": up(net=net)[0] for i, net in enumerate(nets)}, {"timeout": 120}, own)
    return start


def found(r):
    return sorted((x["code"], x["fabric"] or "", x["wanted"] or "", x["got"] or "") for x in r.json["findings"] if x["severity"] != "note")


def test_compared_with_each_other(rails):
    """As files of snapshots would be; a host that lacks a rail, and one whose cables are exchanged."""
    members = plan(4)
    members[1].remove(("gpu-002", "mlx5_1"))
    members[0].remove(("gpu-003", "mlx5_0")), members[0].append(("gpu-003", "mlx5_2"))
    members[2].remove(("gpu-003", "mlx5_2")), members[2].append(("gpu-003", "mlx5_0"))
    site = rails(members)
    r = site.ibqos("rails", "--format", "json").ok(1)
    assert [(x["rail"], x["hosts"], x["from"]) for x in r.json["rails"]] == [("rail0", 4, "now"), ("rail1", 3, "now"), ("rail2", 4, "now")]
    assert r.json["fabric"] is None and r.json["compared"]["tables"] > 0
    assert found(r) == [("rail-host-missing", "", "all of the 3 rails that others of its kind are in", "no adapter there"),
                        ("rail-host-wrong", "", "mlx5_2 in rail2; mlx5_0 in rail0", "mlx5_2 in rail0; mlx5_0 in rail2")]
    # the same by files
    folder = os.path.join(site.dir, "snaps")
    site.ibqos("snapshot", folder).ok(0)
    by_files = run.run([run.binary(), "rails", "--format", "json", *(f"{n}={folder}/{n}.snap" for n in site.fabrics)]).ok(1)
    assert by_files.json["findings"] == [{k: v for k, v in x.items() if k != "fabric"} for x in r.json["findings"]]
    assert by_files.json["compared"] == r.json["compared"]
    # two of them
    r = site.ibqos("rails", "--fabric", "rail0,rail2", "--format", "json").ok(1)
    assert [x["rail"] for x in r.json["rails"]] == ["rail0", "rail2"]


def test_the_site_file_goes_before_what_most_have(rails):
    """Two of three hosts have cables exchanged: by their number they would be right."""
    members = plan()
    for host in ("gpu-001", "gpu-002"):
        members[0].remove((host, "mlx5_0")), members[0].append((host, "mlx5_1"))
        members[1].remove((host, "mlx5_1")), members[1].append((host, "mlx5_0"))
    site = rails(members, ADAPTERS)
    r = site.ibqos("rails", "--format", "json").ok(1)
    assert [(x["code"], x["what"], x["detail"]) for x in r.json["findings"] if x["severity"] != "note"] == [
        ("rail-host-wrong", "host gpu-001", "the two are exchanged"), ("rail-host-wrong", "host gpu-002", "the two are exchanged")]
    assert r.json["compared"]["hosts_odd"] == 2
    without = Site(site.dir, site.fabrics, {"timeout": 120})
    (x,) = [x for x in without.ibqos("rails", "--format", "json").ok(1).json["findings"] if x["severity"] != "note"]
    assert (x["code"], x["what"]) == ("rail-host-wrong", "host gpu-003")


def test_ports_of_two_fabrics_exchanged_in_the_site_file(rails):
    """All hosts are alike: told once, as the site file's fault and not as one of each host's cables; and who is otherwise by itself."""
    members = plan(5)
    members[0].remove(("gpu-005", "mlx5_0")), members[0].append(("gpu-005", "mlx5_2"))
    members[2].remove(("gpu-005", "mlx5_2")), members[2].append(("gpu-005", "mlx5_0"))
    swapped = {"rail0": {"adapters": ["mlx5_1"]}, "rail1": {"adapters": ["mlx5_0"]}, "rail2": {"adapters": ["mlx5_2"]}}
    site = rails(members, swapped)
    r = site.ibqos("rails", "--format", "json").ok(1)
    wrong = [(x["code"], x["what"], x["wanted"], x["got"], x["detail"]) for x in r.json["findings"] if x["code"].endswith("-wrong")]
    assert sorted(wrong) == [
        ("rail-host-wrong", "host gpu-005", "mlx5_2 in rail2; mlx5_1 in rail0; mlx5_0 in rail1",
         "mlx5_2 in rail0; mlx5_1 in rail1; mlx5_0 in rail2",
         "all of its adapters: they may only be numbered in another order than those of the others"),
        ("rail-site-wrong", "4 of the 5 hosts that have mlx5_0, the first gpu-001", "mlx5_0 in rail1; mlx5_1 in rail0",
         "mlx5_0 in rail0; mlx5_1 in rail1", "the two are exchanged, on each of them")]
    assert r.json["compared"]["hosts_odd"] == 5
    (x,) = [x for x in r.json["findings"] if x["code"] == "rail-site-wrong"]
    assert "site file" in x["title"] and "ports" in x["advice"]


def test_few_tables_unanswered_are_unknown(rails):
    """However few they are, live and from files: each device that did not answer is named, with its rail."""
    site = rails(plan(6))
    site.fabrics["rail1"].rules("node=gpu-003 attr=SL2VL : answer status=0xc", "node=gpu-005 attr=VLArb : timeout")
    site.fabrics["rail2"].rules("node=leaf-01-r2 attr=SL2VL : answer status=0xc")
    wanted = [("rail1", "gpu-003 mlx5_1", 1, "rail rail1, SL2VL", "no answer"),
              ("rail1", "gpu-005 mlx5_1", 1, "rail rail1, VLArb low, VLArb high", "no answer"),
              ("rail2", None, None, "rail rail2", "not known: SL2VL of switch ports to adapters")]
    r = site.ibqos("rails", "--format", "json").ok(3)
    got = [(x["fabric"], x["node"], x["port"], x["what"], x["got"]) for x in r.json["findings"] if x["code"] == "rail-tables-unknown"]
    assert sorted(got, key=str) == wanted
    folder = os.path.join(site.dir, "snaps")
    site.ibqos("snapshot", folder).ok(3)
    by_files = run.run([run.binary(), "rails", "--format", "json", *(f"{n}={folder}/{n}.snap" for n in site.fabrics)]).ok(3)
    got = [(x["node"], x["port"], x["what"], x["got"]) for x in by_files.json["findings"] if x["code"] == "rail-tables-unknown"]
    assert sorted(got, key=str) == sorted((x[1:] for x in wanted), key=str)
    nagios = site.ibqos("rails", "--format", "nagios").ok(3).stdout
    assert "rail1 2 rail-tables-unknown" in nagios


def test_a_host_alone_is_held_to_the_site_file(rails):
    members = [[("login", "mlx5_0"), ("gpu-001", "mlx5_0")], [("login", "mlx5_1"), ("gpu-001", "mlx5_2")],
               [("login", "mlx5_2"), ("gpu-001", "mlx5_1")]]
    r = rails(dict(enumerate(members)), ADAPTERS).ibqos("rails", "--format", "json").ok(3)
    (x,) = [x for x in r.json["findings"] if x["code"] == "rail-host-wrong"]
    assert (x["what"], x["detail"]) == ("host gpu-001", "the two are exchanged")
    assert "no host could be compared" in r.stderr and r.json["compared"]["hosts_odd"] == 1


def test_a_fabric_that_cannot_be_read(rails):
    """Is named and unknown; the others are compared."""
    members = plan(4)
    members[2].remove(("gpu-002", "mlx5_2"))
    site = rails(members, {"rail1": {"via": ["false"]}})
    r = site.ibqos("rails", "--format", "json").ok(3)
    (x,) = [x for x in r.json["findings"] if x["code"] == "site-no-answer"]
    assert x["fabric"] == "rail1" and "status 1 without a snapshot" in x["detail"]
    assert [x["rail"] for x in r.json["rails"]] == ["rail0", "rail2"]
    assert [(x["code"], x["node"], x["what"]) for x in r.json["findings"] if x["code"] == "rail-host-missing"] == [
        ("rail-host-missing", "gpu-002", "rail rail2")]
    # then no two are left
    site = Site(site.dir, site.fabrics, own={"rail1": {"via": ["false"]}, "rail2": {"via": ["true"]}})
    r = site.ibqos("rails", "--format", "json").ok(3)
    assert sorted(x["fabric"] for x in r.json["findings"] if x["code"] == "site-no-answer") == ["rail1", "rail2"]
    assert "fewer than two" in r.stderr and "rails" not in r.json


def test_what_did_not_answer_is_told_by_rail(rails):
    site = rails(plan())
    site.fabrics["rail1"].rules("node=gpu-001 attr=PortInfo : timeout")
    r = site.ibqos("rails", "--format", "json").ok(3)
    assert "rail1" in {x["fabric"] for x in r.json["findings"]}
    assert {x["fabric"] for x in r.json["findings"]} <= {"rail1", None}


def test_a_snapshot_to_standard_output(up, tmp_path):
    fabric = up(net=gen.site(plan(), **SHAPE)[0])[0]
    r = fabric.run("sh", "-c", f"'{run.binary()}' snapshot --fabric r0 -o 1 - >'{tmp_path}/a.snap'; echo status $? >&2")
    assert re.search(r"status 0$", r.stderr, re.M) and r.stdout == ""
    assert run.run([run.binary(), "snapshot", "--show", tmp_path / "a.snap", "--format", "json"]).ok(0).json["snapshot"]["of"] == "r0"
    r = fabric.run("sh", "-c", f"'{run.binary()}' snapshot --format json --output '{tmp_path}/report' - | wc -c")
    assert int(r.stdout) > 1000 and '"snapshot"' in (tmp_path / "report").read_text(encoding="utf-8")


def test_usage(ibqos, tmp_path):
    assert "exclude each other" in ibqos("rails", "--site", tmp_path / "s", "a.snap").ok(3).stderr
    assert "cannot read site" in ibqos("rails", "--site", tmp_path / "s").ok(3).stderr
    (tmp_path / "s").write_text("version: 1\nfabrics: [{name: a, via: [sh, -c, 'echo IBQOSNAP', x]}, {name: b, via: [sh, -c, 'kill -9 $$']}, "
                                "{name: c, via: [echo, hello]}]\n", encoding="utf-8")
    r = ibqos("rails", "--site", tmp_path / "s", "--format", "json").ok(3)
    why = {x["fabric"]: x["detail"] for x in r.json["findings"] if x["code"] == "site-no-answer"}
    assert set(why) == {"a", "b", "c"}
    assert "signal 9" in why["b"] and "no answer of ibqos" in why["c"]
    assert "no fabric of the site is called 'x'" in ibqos("rails", "--site", tmp_path / "s", "--fabric", "x,a").ok(3).stderr
