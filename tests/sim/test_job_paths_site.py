# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""job check --hosts --site: a job's paths in each fabric that it takes adapters of, by a worker through that fabric's own port."""
import os

import pytest

from kit import routes, run
from kit.sites import Site
from tools import netgen_rails as gen

COUNT = 3
SHAPE = dict(leaves=2, spines=1, uplinks=1, switch_ports=8, speed="EDR")
ADAPTERS = {f"rail{i}": {"adapters": [f"mlx5_{i}"]} for i in range(COUNT)}
ALL = "NCCL_IB_SL=1\nNCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_2\nNCCL_CROSS_NIC=0\n"
HOSTS = ("--hosts", "gpu-[001-004]")


class JobSite(Site):
    """check(environment, *options): from a host that has no InfiniBand port of its own."""

    def check(self, env, *args, by=None):
        path = os.path.join(self.dir, "job.env")
        with open(path, "w", encoding="ascii") as out:
            out.write(env)
        argv = ["job", "check", "--no-conf", "--env-file", path, "--site", self.file, *map(str, args)]
        for log in self.logs.values():
            open(log, "w", encoding="ascii").close()
        return by.ibqos(*argv) if by else run.run([run.binary(), *argv])


@pytest.fixture
def rails(up, tmp_path):
    def start(members=None, own=ADAPTERS):
        nets = gen.site(members or gen.members(gen.hosts("gpu-", 4), range(COUNT)), **SHAPE)
        fabrics = {f"rail{i}": up(net=net, options={"qos": "TRUE"})[0] for i, net in enumerate(nets)}
        for f in fabrics.values():
            f.rules(*routes.FIXED)
        return JobSite(tmp_path, fabrics, {"timeout": 120}, own)
    return start


def by_fabric(r):
    return sorted((x["code"], x["fabric"]) for x in r.json["findings"] if x["severity"] != "note")


def test_each_fabric_of_the_job(rails):
    """The fault in one fabric is found from anywhere, live and in snapshots; the others are clean and all were looked at."""
    site = rails()
    json = (*HOSTS, "--format", "json")
    r = site.check(ALL, *json).ok(0)
    assert by_fabric(r) == []
    assert [(x["fabric"], x["adapters_looked_at"], len(x["paths"])) for x in r.json["fabrics"]] == [
        (f"rail{i}", f"mlx5_{i}", 8) for i in range(COUNT)]
    assert {p["from"].split()[1] for p in r.json["fabrics"][2]["paths"]} == {"mlx5_2[1]"}
    site.fabrics["rail2"].rules(*routes.FIXED, 'node="gpu-002 mlx5_2" attr=SL2VL : set SL1=15')
    r = site.check(ALL, *json).ok(2)
    # two paths begin at this port, and it is one port
    assert by_fabric(r) == [("path-sl-dropped", "rail2")]
    assert [x["verdict"] for x in r.json["fabrics"]] == ["clean", "clean", "critical"]
    assert "critical: rail2: gpu-002 mlx5_2[1]" in site.check(ALL, *HOSTS).ok(2).stdout
    folder = os.path.join(site.dir, "snaps")
    site.ibqos("snapshot", folder).ok(0)
    kept = site.check(ALL, *json, "--from", folder).ok(2)
    assert by_fabric(kept) == by_fabric(r)
    assert [x["paths"] for x in kept.json["fabrics"]] == [x["paths"] for x in r.json["fabrics"]]
    # only what the job takes is looked at
    r = site.check("NCCL_IB_SL=1\nNCCL_IB_HCA==mlx5_0,mlx5_1\nNCCL_CROSS_NIC=0\n", *json).ok(1)
    assert [x["fabric"] for x in r.json["fabrics"]] == ["rail0", "rail1"] and by_fabric(r) == [("job-rail-missing", None)]


def test_what_was_not_looked_at(rails):
    """A fabric whose worker fails, one that is not asked for, an adapter that no host has there: each is unknown, none is clean."""
    site = rails()
    json = (*HOSTS, "--format", "json")
    r = site.check(ALL, *json, "--fabric", "rail0,rail2").ok(3)
    assert [(x["code"], x["fabric"], x["got"]) for x in r.json["findings"]] == [("job-paths-left", "rail1", "mlx5_1")]
    broken = JobSite(site.dir, site.fabrics, own={n: dict(o, **({"via": ["false"]} if n == "rail1" else {})) for n, o in ADAPTERS.items()})
    r = broken.check(ALL, *json).ok(3)
    assert by_fabric(r) == [("site-no-answer", "rail1")] and len(r.json["fabrics"]) == 3
    more = JobSite(site.dir, site.fabrics, own=dict(ADAPTERS, rail0={"adapters": ["mlx5_0", "mlx5_4"]}))
    r = more.check(ALL.replace("mlx5_0", "mlx5_0,mlx5_4"), *json).ok(3)
    assert [(x["code"], x["fabric"], x["got"]) for x in r.json["findings"]] == [("job-paths-left", "rail0", "mlx5_4")]
    # through one port alone, as without the site file
    for r in (site.check(ALL, *json, "-C", "ibsim0", by=site.fabrics["rail0"]),
              site.fabrics["rail0"].ibqos("job", "check", "--no-conf", "--env-file", os.path.join(site.dir, "job.env"), *json)):
        r.ok(3)
        assert [(x["code"], x["got"]) for x in r.json["findings"] if x["severity"] != "note"] == [("job-paths-left", "mlx5_1; mlx5_2")]
        assert r.json["adapters_looked_at"] == "mlx5_0" and len(r.json["paths"]) == 8


def test_a_fabric_that_is_not_the_jobs(rails):
    """Without `adapters`, and without the job's hosts: nothing is missing there."""
    members = gen.members(gen.hosts("gpu-", 4), range(2))
    members[2] = [(h, "mlx5_0") for h in gen.hosts("oss-", 4, digits=2)]
    site = rails(members, {k: v for k, v in ADAPTERS.items() if k != "rail2"})
    r = site.check("NCCL_IB_SL=1\nNCCL_IB_HCA==mlx5_0,mlx5_1\nNCCL_CROSS_NIC=0\n", *HOSTS, "--format", "json").ok(0)
    assert [x["adapters_looked_at"] for x in r.json["fabrics"]] == ["mlx5_0", "mlx5_1", "none: the hosts have no port there"]


def test_adapters_of_the_host(rails, tmp_path):
    """Without a list and a site the adapters that this host has and NCCL would take, down ones and Ethernet apart."""
    site = rails()
    for name, layer, state in (("mlx5_0", "InfiniBand", "4: ACTIVE"), ("mlx5_1", "InfiniBand", "4: ACTIVE"),
                               ("mlx5_2", "InfiniBand", "1: DOWN"), ("mlx5_9", "Ethernet", "4: ACTIVE")):
        port = tmp_path / "sys" / "class" / "infiniband" / name / "ports" / "1"
        port.mkdir(parents=True)
        (port / "link_layer").write_text(layer + "\n", encoding="ascii")
        (port / "state").write_text(state + "\n", encoding="ascii")
    (tmp_path / "job.env").write_text("NCCL_IB_SL=1\n", encoding="ascii")
    r = site.fabrics["rail0"].ibqos("job", "check", "--no-conf", "--env-file", tmp_path / "job.env", "--sysfs", tmp_path / "sys",
                                    "--link-layer", "ib", *HOSTS, "--format", "json").ok(3)
    assert [(x["got"], x["detail"]) for x in r.json["findings"] if x["code"] == "job-paths-left"] == [
        ("mlx5_1:1", "the hosts have no active port of them in this fabric")]
