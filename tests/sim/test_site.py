# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Many fabrics at once: simulated rails with an OpenSM each, one run of ibqos, what it says by rail. What workers that
answer badly do is in tests/cli/test_site_workers.py."""
import json
import os
import signal
import subprocess

import pytest

from kit import policy, run
from kit.sim import Sent
from kit.sites import Site
from tools import netgen

POLICY = """version: 1
classes:
  - {name: training, sl: 1, share: 70%}
  - {name: other, sl: 0, share: 30%, default: true}
"""
COUNT = int(os.environ.get("IBQOS_RAILS", "3"))  # eight in make check-extra


def rail(number, hosts=2):
    """Hosts at one switch, with GUIDs that no other rail has."""
    net = netgen.Net()
    net.add_switch("leaf", f"rail{number}-leaf", guid=0xB83FD20300000100 + (number + 1) * 0x100000)
    for h in range(hosts):
        net.add_ca(f"gpu-{h + 1}", f"gpu-{h + 1} mlx5_{number}", guid=0x0C42A10300000010 + (number + 1) * 0x100000 + h * 16)
        net.cable(f"gpu-{h + 1}", "leaf", 1, h + 1)
    return net


@pytest.fixture
def rails(up, tmp_path):
    """Factory: rails() -> Site of rail0, rail1, ..., all up; more and own as of Site."""

    def start(count=COUNT, more=None, own=None):
        site = Site(tmp_path, {f"rail{i}": up(net=rail(i))[0] for i in range(count)}, more, own)
        return site

    return start


def by_fabric(r):
    return {f["fabric"]: f for f in r["fabrics"]}


def found(r):
    return {(f["fabric"], f["code"]) for f in r["findings"]}


def test_faults_are_told_by_rail(rails, tmp_path):
    site = rails()
    site.fabrics["rail0"].rules("node=gpu-1 attr=PortInfo : set LinkWidthActive=1", "node=leaf port=1 attr=PortInfo : set LinkWidthActive=1")
    site.fabrics["rail1"].rules("node=gpu-2 attr=PortInfo : timeout")
    site.fabrics["rail2"].rules("attr=NodeDesc node=gpu-1 : timeout")
    r = site.ibqos("audit", "--format", "json").ok(2).json
    assert [f["fabric"] for f in r["fabrics"]] == [f"rail{i}" for i in range(COUNT)]
    assert {f["fabric"] for f in r["findings"]} == {"rail0", "rail1", "rail2"}
    verdicts = {n: f["verdict"] for n, f in by_fabric(r).items()}
    assert verdicts["rail0"] == "critical" and verdicts["rail1"] == "unknown" and verdicts["rail2"] == "unknown"
    assert all(verdicts[f"rail{i}"] == "clean" for i in range(3, COUNT))
    # the right finding at the right place, and nothing of the others, not even a note
    planted = {("rail0", "link-width-low", "gpu-1 mlx5_0", 1), ("rail1", "port-info-missing", "gpu-2 mlx5_1", 1),
               ("rail2", "node-info-incomplete", f"0x{site.fabrics['rail2'].net['gpu-1'].guid:016x}", None)}
    assert {(f["fabric"], f["code"], f["node"], f["port"]) for f in r["findings"]} == planted and len(r["findings"]) == 3
    # each rail as a run about it alone says it: the same findings, the same exit status
    for name, fabric in site.fabrics.items():
        alone = fabric.ibqos("audit", "--fabric", name, "--format", "json")
        assert by_fabric(r)[name]["exit"] == alone.returncode
        assert [{k: v for k, v in f.items() if k != "fabric"} for f in r["findings"] if f["fabric"] == name] == alone.json["findings"]
        for key in ("links", "fabric_found"):
            assert by_fabric(r)[name].get(key) == alone.json.get(key)
    # and narrowed down to one it says the same of it
    r = site.ibqos("audit", "--fabric", "rail1", "--format", "json").ok(3).json
    assert list(by_fabric(r)) == ["rail1"] and {f for f, _ in found(r)} == {"rail1"}


def test_policies_files_and_snapshots(rails, tmp_path):
    """plan, verify, counters with a state of each rail, a set of snapshots, two sets compared, looked at instead of the fabric."""
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY, encoding="utf-8")
    site = rails(2, more={"policy": str(path), "state": str(tmp_path / "{fabric}.state"), "history": str(tmp_path / "{fabric}-history"),
                          "opensm": {"host": "mgmt"}})
    r = site.ibqos("plan", "--format", "json").json
    assert [f["classes"][0]["name"] for f in r["fabrics"]] == ["training"] * 2 and all("on another host" in f["opensm_files"] for f in r["fabrics"])
    assert all(by_fabric(r)[n]["ports_today"]["looked_at"] > 0 for n in ("rail0", "rail1"))
    alone = site.fabrics["rail0"].ibqos("plan", "--opensm-config", "none", "--explain", "--format", "json", "--fabric", "rail0", path).json
    assert set(by_fabric(r)["rail0"]) - {"opensm_host", "seconds"} <= set(alone) and "explain" in by_fabric(r)["rail0"]
    assert "shares of a link" in site.ibqos("plan", "--explain").stdout and "shares of a link" not in site.ibqos("plan").stdout
    r = site.ibqos("verify", "--format", "json").ok(2, 3).json
    assert {f["fabric"] for f in r["findings"]} == {"rail0", "rail1"} and all(f["ports"]["differ"] > 0 for f in r["fabrics"])
    site.ibqos("audit", "--counters")
    assert (tmp_path / "rail0.state").exists() and (tmp_path / "rail1.state").exists()
    before, after = tmp_path / "before", tmp_path / "after"
    site.ibqos("snapshot", before).ok(0, 3)
    assert sorted(os.listdir(before)) == ["rail0.snap", "rail1.snap"]
    site.fabrics["rail1"].rules("attr=PortInfo : set LinkWidthActive=1")
    site.ibqos("snapshot", after).ok(0, 3)
    r = site.ibqos("diff", before, after, "--format", "json").ok(2).json
    assert {f["fabric"] for f in r["findings"] if f["severity"] == "critical"} == {"rail1"}
    site.fabrics["rail1"].stop()
    r = site.ibqos("audit", "--from", after, "--format", "json").ok(2).json
    assert ("rail1", "link-width-low") in found(r) and not [f for f in r["findings"] if f["fabric"] == "rail0" and f["code"] == "link-width-low"]


def test_files_are_staged_for_each_fabric(rails, tmp_path):
    """A folder each, with what to do, as apply --stage of each alone; where OpenSM runs elsewhere, the policy and what to do there."""
    site = rails(2)
    fabrics = site.fabrics
    path = policy.write(fabrics["rail0"], None)
    own = {"rail0": {"opensm": {"config": fabrics["rail0"].sms[0].config}, "history": str(tmp_path / "history")},
           "rail1": {"opensm": {"host": "mgmt2", "config": "/etc/opensm/r1.conf"}}}
    site = Site(tmp_path, fabrics, own=own)
    with open(fabrics["rail0"].sms[0].config, "rb") as f:
        before = f.read()
    staged = tmp_path / "staged"
    r = site.ibqos("apply", "--stage", staged, path, "--format", "json").ok(0, 1).json
    assert [f["apply"]["outcome"] for f in r["fabrics"]] == ["staged: the files are written elsewhere"] * 2
    with open(fabrics["rail0"].sms[0].config, "rb") as f:
        assert f.read() == before
    assert sorted(os.listdir(staged / "rail0")) == ["opensm.conf", "qos-keys.conf", "qos-policy.conf"]
    alone = fabrics["rail0"].ibqos("apply", "--stage", tmp_path / "alone", "--fabric", "rail0", "--opensm-config",
                                   fabrics["rail0"].sms[0].config, path, "--state-dir", tmp_path / "history", "--format", "json").ok(0, 1).json
    assert by_fabric(r)["rail0"]["to_do"].replace(f"{staged}/rail0", "IT") == alone["to_do"].replace(f"{tmp_path}/alone", "IT")
    for name in os.listdir(staged / "rail0"):
        assert (staged / "rail0" / name).read_text() == (tmp_path / "alone" / name).read_text()
    assert os.listdir(staged / "rail1") == ["policy.yaml"]
    with open(path, encoding="utf-8") as f:
        assert (staged / "rail1" / "policy.yaml").read_text() == f.read()
    other = by_fabric(r)["rail1"]
    assert (other["opensm_host"], other["opensm_config"]) == ("mgmt2", "/etc/opensm/r1.conf")
    assert f"copy {staged}/rail1/policy.yaml there" in other["to_do"] and "ibqos apply policy.yaml" in other["to_do"]
    assert "--site needs --stage" in site.ibqos("apply", path).ok(3).stderr
    for words in (["--opensm-config", "none"], ["--site", site.file, "--stage", "x", "--standby", "sm2:" + 64 * "0"]):
        fabrics["rail0"].ibqos("apply", path, *words).ok(3)


def test_two_ports_of_one_fabric_are_told(up, tmp_path):
    fabric = up(net=rail(0))[0]
    site = Site(tmp_path, {"a": fabric, "b": fabric})
    r = site.ibqos("audit", "--format", "json").ok(1).json
    assert [(f["fabric"], f["code"], f["what"]) for f in r["findings"]] == [("b", "site-same-fabric", "the same nodes as of fabric 'a'")]


def test_active_ports_of_the_host(up, tmp_path):
    """The port that the site does not name, found by itself; a port by its GUID."""
    fabric = up(net=rail(0))[0]
    path = tmp_path / "ports.yaml"
    path.write_text("version: 1\nall_active_ports: true\n", encoding="utf-8")
    r = fabric.run(run.binary(), "discover", "--site", path, "--format", "json").ok(0).json
    assert [f["fabric"] for f in r["fabrics"]] == ["ibsim0-1"] and len(r["fabrics"][0]["nodes"]) == 3
    guid = f"0x{fabric.net.first.port_guid():016x}"
    fabric.ibqos("discover", "--port-guid", guid).ok(0)
    assert "no adapter here has a port of GUID" in fabric.ibqos("discover", "--port-guid", "0x9").ok(3).stderr


def test_what_a_second_port_found_is_told(up, tmp_path):
    """The fabric is told once: what the second port did not get is not lost with it."""
    fabric = up(net=rail(0))[0]
    path, clean = tmp_path / "ports.yaml", tmp_path / "clean"
    clean.write_text("".join(f"{line}\n" for line in fabric.capabilities), encoding="ascii")
    path.write_text(json.dumps({"version": 1, "all_active_ports": True, "fabrics": [{"name": "x", "via": ["env", f"IBQOS_OVERLAY_RULES={clean}"]}]}),
                    encoding="utf-8")
    fabric.rules("node=gpu-2 attr=PortInfo : timeout")
    alone = fabric.ibqos("audit", "--format", "json").ok(3).json
    r = fabric.run(run.binary(), "audit", "--site", path, "--format", "json").ok(3).json
    assert [(f["fabric"], f["verdict"], f.get("same_fabric_as")) for f in r["fabrics"]] == [("x", "clean", None), ("ibsim0-1", "unknown", "x")]
    assert {f["code"] for f in r["findings"] if f["fabric"] == "ibsim0-1"} == {f["code"] for f in alone["findings"]} | {"site-same-fabric"}
    fabric.rules()
    r = fabric.run(run.binary(), "audit", "--site", path, "--format", "json").ok(0).json
    assert [(f["fabric"], f["code"]) for f in r["findings"]] == [("ibsim0-1", "site-same-fabric")]


class Running:
    """A run of many rails that is held by slow answers of one attribute: all of them, or longest one of them, once it waits for one."""

    def __init__(self, site, attribute="PortInfo", argv=("audit", "--retries", "0", "-t", "400"), one=None):
        self.site, self.needed = site, {one} if one else set(site.fabrics)
        for name, f in site.fabrics.items():
            f.rules(f"attr={attribute} : tell delay={1000 if name == one else 100 if one else 300}")
        for log in site.logs.values():
            open(log, "w", encoding="ascii").close()
        self.process = run.start(site.argv(*argv, "--format", "json", "-o", "1"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=site.dir)
        # all at the same time: were it one after the other, this would never be
        self.workers = run.deadline(60, "workers side by side", self.all_of_them, alive=lambda: self.process.poll() is None)

    def all_of_them(self):
        found = {}
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as f:
            children = f.read().split()
        for pid in children:
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    words = f.read().decode(errors="replace").split("\0")
            except OSError:
                continue
            # env(1) has become ibqos
            name = [w.partition("=")[2] for w in words if w.startswith("--fabric=")]
            if name and os.path.basename(words[0]) == os.path.basename(run.binary()):
                found[name[0]] = int(pid)
        ready = all(n in found and Sent(self.site.logs[n]).told for n in self.needed)
        return found if ready else None

    def end(self):
        for f in self.site.fabrics.values():
            f.rules("")
        try:
            out, err = self.process.communicate(timeout=100)
        finally:
            if self.process.poll() is None:
                self.process.kill()
        return self.process.returncode, json.loads(out), err.decode(errors="replace")


# Attributes that verify asks for: the first of all, in the middle of discovery, when all nodes are known
MOMENTS = ("NodeInfo", "PortInfo", "VLArb")


class Killed:
    """Verify runs of a site of which something is killed in the middle; the others must tell what they tell when nothing is."""

    def __init__(self, site, policy_path):
        self.site, self.argv = site, ("verify", policy_path, "--retries", "1", "-t", "1500")
        whole = site.ibqos(*self.argv, "--format", "json").ok(2, 3).json
        self.whole = {n: (f["exit"], self.of(whole, n)) for n, f in by_fabric(whole).items()}
        assert all(f["ports"]["differ"] > 0 for f in whole["fabrics"])

    @staticmethod
    def of(r, name):
        return [f for f in r["findings"] if f["fabric"] == name]

    def run(self, moment, name, kill):
        """The fabric's part, and its findings."""
        running = Running(self.site, moment, self.argv, name)
        kill(running)
        code, r, err = running.end()
        told = by_fabric(r)
        for other in set(told) - {name}:
            assert (told[other]["exit"], self.of(r, other)) == self.whole[other] and "error" not in told[other], (moment, other, r)
        assert code == 2 == r["exit"]  # what the others found is critical, and goes before unknown
        return told[name], self.of(r, name), err


@pytest.fixture
def killed(rails, tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY, encoding="utf-8")
    # the simulator's library waits for a simulator that is gone without end: the worker is then given up
    return Killed(rails(own={"rail2": {"timeout": 10}}), path)


def test_a_worker_killed_in_mid_run(killed):
    for moment in MOMENTS:
        part, found_there, _ = killed.run(moment, "rail0", lambda r: os.kill(r.workers["rail0"], signal.SIGKILL))
        assert (part["exit"], part["error"]) == (3, "it was ended by signal 9 (Killed)"), moment
        assert [(f["code"], f["severity"]) for f in found_there] == [("site-no-answer", "unknown")], moment


def test_an_opensm_killed_in_mid_run(killed):
    fabric = killed.site.fabrics["rail1"]
    for moment in MOMENTS:
        part, found_there, err = killed.run(moment, "rail1", lambda r: fabric.sms[-1].kill())
        # its ports are as they were, and it is unknown what it would do
        assert "error" not in part and [f for f in found_there if f["severity"] == "unknown"], (moment, found_there, err)
        fabric.opensm()


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_simulator_killed_in_mid_run(killed, moment):
    part, found_there, err = killed.run(moment, "rail2", lambda r: killed.site.fabrics["rail2"].ibsim.kill())
    severities = {f["severity"] for f in found_there} | ({"unknown"} if part.get("error") else set())
    assert "unknown" in severities, (part, err)
    # what was answered before counts: tables that differ are critical, which goes before unknown
    assert severities == {"unknown"} or moment == "VLArb"
    assert part["exit"] == (2 if "critical" in severities else 3)


def test_a_lost_fabric_alone_is_exit_3(rails):
    """Where nothing else is found, what is not known is the exit status."""
    running = Running(rails(2))
    os.kill(running.workers["rail1"], signal.SIGKILL)
    code, r, _ = running.end()
    assert code == 3 == r["exit"] and {n: f["verdict"] for n, f in by_fabric(r).items()} == {"rail0": "clean", "rail1": "unknown"}
    assert found(r) == {("rail1", "site-no-answer")}


def test_stop_in_mid_run(rails):
    running = Running(rails(2))
    running.process.send_signal(signal.SIGINT)
    code, r, _ = running.end()
    # one may have come to its end before the signal
    assert code == 3 and "stopped by a signal" in json.dumps(r) and {f["verdict"] for f in r["fabrics"]} <= {"unknown", "clean"}
    assert not any(os.path.exists(f"/proc/{pid}") for pid in running.workers.values())
