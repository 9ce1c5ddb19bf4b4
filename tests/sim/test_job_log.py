# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""job log --from, --state: failed transfers tied to links of the same adapter, switch port, peer; and to nothing else."""
import os

import pytest

from kit import sim
from kit.looks import LACKS
from tools import netgen

SHAPE = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=0, switch_ports=8)
T0 = 1_700_000_000
SLOW = ["node=gpu-002* port=1 attr=PortInfo : set LinkWidthActive=1", "node=leaf-01 port=2 attr=PortInfo : set LinkWidthActive=1"]
FORMATS = {  # of NCCL 2.12, 2.20, 2.22, 2.28, 2.30
    "2.12": "NET/IB : Got completion from peer {peer} with error {status}, opcode 0, len 0, vendor err 129",
    "2.20": "NET/IB : Got completion from peer {peer} with status={status} opcode=0 len=0 vendor err 129 (Send)",
    "2.22": "NET/IB: Got completion from peer {peer} with status={status} opcode=0 len=0 vendor err 129 (Send) hca {hca}",
    "2.28": "NET/IB: Got completion from peer {peer} with status=IBV_WC_RETRY_EXC_ERR({status}) opcode=IBV_WC_SEND(0) reqSize=0 "
            "vendor_err=129 req_type=Send hca {hca}",
    "2.30": "NET/IB: Got completion from peer {peer} with status=IBV_WC_RETRY_EXC_ERR({status}) opcode=IBV_WC_SEND(0) vendor_err=129  "
            "hca {hca}",
}


@pytest.fixture(scope="module")
def fab(tmp_path_factory):
    with sim.Fabric(tmp_path_factory.mktemp("joblog"), netgen.fat_tree(**SHAPE)) as f:
        f.opensm()
        yield f


class Logs:
    """A log of one job, with a snapshot (clean or slow) and a state file of the same fabric."""

    def __init__(self, f, path):
        self.f, self.path = f, path

    def snapshot(self, *rules):
        self.f.rules(*rules)
        at = str(self.path / "snap")
        self.f.ibqos("snapshot", at).ok(0, 3)
        return at

    def state(self, *rules, now=T0, args=()):
        self.f.rules(*LACKS, *rules)
        at = str(self.path / "state")
        self.f.ibqos("audit", "--counters", "--state", at, "--now", str(now), *args, env={"IBQOS_OVERLAY_NOW": str(now)}).ok(0, 1, 2, 3)
        return at

    def read(self, lines, *args):
        at = str(self.path / "job.log")
        with open(at, "w", encoding="utf-8") as out:
            for host, text in lines:
                warn = "net.cc:1 NCCL WARN " if "Got " in text or "Call to" in text else "NCCL INFO "
                out.write(f"{host}:100:101 [0] {warn}{text}\n")
        r = self.f.ibqos("job", "log", at, *args, "--format", "json").ok(0, 1, 2, 3)
        self.links = r.json.get("links")
        return r


def hello(host, number):
    return (host, f"NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.{number}<0>")


def failed(host, peer="10.0.0.9<4000>", hca="mlx5_0", status=12, version="2.22"):
    return (host, FORMATS[version].format(peer=peer, hca=hca, status=status))


def tied(r):
    return sorted((x["what"], x["node"], x["port"], x["severity"]) for x in r.json["findings"] if x["code"] == "job-log-link")


@pytest.fixture
def logs(fab, tmp_path):
    return Logs(fab, tmp_path)


@pytest.mark.parametrize("version", FORMATS)
def test_a_slow_link_of_the_same_adapter(logs, version):
    """Each format of the facts; before 2.22 the adapter is not named, so all of the host are meant (here it has one)."""
    snap = logs.snapshot(*SLOW)
    r = logs.read([failed("gpu-002", version=version), failed("gpu-002", version=version)], "--from", snap)
    assert tied(r) == [("link-width-low at gpu-002 mlx5_0[1]", "gpu-002 mlx5_0", 1, "critical")]
    link, = logs.links
    assert (link["host"], link["status"], link["times"], link["switch"], link["switch_port"]) == ("gpu-002", 12, 2, "leaf-01", 2)
    assert link["of"] == ("one of these" if version < "2.22" else "itself") and link["from"] == snap
    f, = [x for x in r.json["findings"] if x["code"] == "job-log-link"]
    assert "failed with status 12" in f["detail"] and "job.log line 1" in f["detail"] and (f["peer"], f["peer_port"]) == ("leaf-01", 2)
    assert int(f["node_guid"], 16) and r.json["exit"] == 2


@pytest.mark.parametrize("status", [4, 5, 9, 10, 12, 13, 19])
def test_status(logs, status):
    """Any status, but that of what was flushed behind another failure."""
    snap = logs.snapshot(*SLOW)
    r = logs.read([failed("gpu-002", status=status)], "--from", snap)
    assert len(tied(r)) == (status != 5)
    assert {x["status"] for x in logs.links} == ({status} if status != 5 else set())


def test_another_host_s_link_is_not_blamed(logs):
    snap = logs.snapshot(*SLOW)
    r = logs.read([failed("gpu-001"), failed("gpu-003")], "--from", snap)
    assert not tied(r) and [(x["host"], x["finding"]) for x in logs.links] == [("gpu-001", "nothing"), ("gpu-003", "nothing")]


def test_the_peer_s_link(logs):
    """The peer is known by the address that its own lines tell."""
    snap = logs.snapshot(*SLOW)
    r = logs.read([hello("gpu-001", 1), hello("gpu-002", 2), failed("gpu-001", "10.0.0.2<999>")], "--from", snap)
    assert tied(r) == [("link-width-low at gpu-002 mlx5_0[1]", "gpu-002 mlx5_0", 1, "critical")]
    assert [(x["of"], x["node"], x["finding"]) for x in logs.links] == [
        ("itself", "gpu-001 mlx5_0", "nothing"), ("its peer", "gpu-002 mlx5_0", "link-width-low")]
    # an address that two hosts tell is nobody's
    r = logs.read([hello("gpu-001", 1), hello("gpu-002", 2), hello("gpu-003", 2), failed("gpu-001", "10.0.0.2<999>")], "--from", snap)
    assert not tied(r)
    r = logs.read([("gpu-002", "Bootstrap: Using eth0:10.0.0.2<0>"), failed("gpu-001", "10.0.0.2<999>")], "--from", snap)
    assert len(tied(r)) == 1


def test_events_and_queue_pairs(logs):
    snap = logs.snapshot(*SLOW)
    lines = [("gpu-002", "NET/IB : mlx5_0:1 Got async error event: port error"),
             ("gpu-002", "NET/IB : mlx5_0:1 Got non-fatal async event: client reregistration(17)"),
             ("gpu-002", "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1, curr state INIT, next state RTR")]
    r = logs.read(lines, "--from", snap)
    assert len(tied(r)) == 2 and all(x["status"] is None for x in logs.links)


def test_a_port_that_is_down(logs):
    snap = logs.snapshot("node=gpu-002* port=1 attr=PortInfo : set LinkState=1 PhysLinkState=2")
    r = logs.read([failed("gpu-002")], "--from", snap)
    assert ("port-down at gpu-002 mlx5_0[1]", "gpu-002 mlx5_0", 1, "critical") in tied(r)


def test_hosts_and_adapters_that_are_not_there(logs):
    snap = logs.snapshot(*SLOW)
    r = logs.read([failed("gpu-099"), failed("gpu-002", hca="mlx5_7")], "--from", snap)
    assert [x["what"] for x in r.json["findings"] if x["code"] == "job-log-untied"] == ["gpu-099 mlx5_0"]
    # no node of the host has that adapter's name: all are meant, and that is told
    assert len(tied(r)) == 1 and [x["of"] for x in logs.links] == ["one of these"]
    r = logs.read([failed("gpu-002")], "--from", str(logs.path / "none"))
    assert r.json["verdict"] in ("unknown", "critical") and "cannot read" in r.json["error"] and "links" not in r.json
    r = logs.read([failed("gpu-002")], "--state", str(logs.path / "none"))
    assert "cannot read" in r.json["error"]


def test_state_file(logs):
    """Findings since when, and counters that grew less than an audit tells."""
    logs.state(*SLOW)
    grown = [*SLOW, "node=leaf-01 port=2 attr=PortCounters : set LinkDownedCounter=1"]
    state = logs.state(*grown, now=T0 + 3600)
    r = logs.read([failed("gpu-002"), failed("gpu-001")], "--state", state)
    assert ("link-width-low at gpu-002 mlx5_0[1]", "gpu-002 mlx5_0", 1, "critical") in tied(r)
    links = {(x["host"], x["finding"]): x for x in logs.links}
    assert links["gpu-002", "link-width-low"]["first_seen"] == "2023-11-14T22:13:20Z"
    assert links["gpu-002", "counters"]["got"] == "LinkDownedCounter 1" and links["gpu-002", "counters"]["where"] == "leaf-01[2]"
    assert ("gpu-001", "nothing") in links and not any(host == "gpu-001" and code != "nothing" for host, code in links)
    both = logs.read([failed("gpu-002")], "--state", state, "--from", logs.snapshot())
    assert {x["from"]: x["finding"] for x in logs.links}[str(logs.path / "snap")] == "nothing" and tied(both)


def test_a_broken_state_file(logs):
    path = logs.path / "state"
    path.write_text("nonsense\n")
    r = logs.read([failed("gpu-002")], "--state", path)
    assert "cannot use" in r.json["error"] and "state-broken" in {x["code"] for x in r.json["findings"]}
    assert path.read_text() == "nonsense\n" and os.listdir(logs.path)
