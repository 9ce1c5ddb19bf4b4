# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Runs of ibqos on a simulated fabric whose metrics a real node_exporter and a real Prometheus take. `make check-extra`
installs what these tests need (scripts/deps.sh --for-extra); without it they fail, and do not pass over anything."""
import os
import time

import pytest

from kit import monitoring, policy, run, sim
from kit.looks import LACKS
from tools import netgen

SHAPE = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=1)
CONF = dict(qos="TRUE", qos_sl2vl="0,1,2,0,0,0,0,0,0,0,0,0,0,0,0,0", qos_vlarb_low="0:10,1:70,2:20", qos_vlarb_high="0:0",
            qos_high_limit="0")


@pytest.fixture(scope="session")
def fab(tmp_path_factory):
    with sim.Fabric(tmp_path_factory.mktemp("monitored"), netgen.fat_tree(**SHAPE)) as f:
        f.opensm(options=CONF)
        f.policy_path = policy.write(f, f.sms[0])
        yield f


@pytest.fixture(scope="session")
def monitored(fab, tmp_path_factory):
    """Each command run once or more on a fabric with something wrong, scraped: (folder of textfiles, Prometheus)."""
    folder = tmp_path_factory.mktemp("textfiles")
    fab.rules("node=leaf-01 port=1 attr=SL2VL : set SL1=0", "node=leaf-01 port=2 attr=PortInfo : set LinkWidthActive=1",
              "attr=PortCounters : set PortXmitData=1000 PortRcvData=1000 PortXmitWait=0", *LACKS)
    conf = fab.sms[0].config
    state = fab.path("audit.state")
    fab.ibqos("verify", "--opensm-conf", conf, "--paths", "--fabric", "rail-1", "--metrics", folder / "verify.prom").ok(2)
    now = int(time.time())
    for when in (now - 3600, now):
        fab.ibqos("audit", "--counters", "--state", state, "--now", str(when), "--fabric", "rail-1", "--all", "--metrics",
                  folder / "audit.prom").ok(2)
    full = 300 * 12_500_000_000 // 4  # what 4x EDR can send in five minutes, in words of 4 bytes
    counts = ["attr=PortSamplesControl : status=0 answer set OptionMask=0x200000000000000", "attr=PortXmitDataSLExt : status=0 answer",
              "attr=PortXmitDataSL : status=0xc answer", "attr=PortVLXmitWaitCounters : status=0xc answer",
              "attr=PortCounters : set PortXmitData=1000 PortRcvData=1000", *LACKS[:-1]]
    for when, busy in ((now - 300, []), (now, [f"node=leaf-01 port=1 attr=PortXmitDataSLExt : set XmtDataSL0={full // 2} XmtDataSL1={full // 3}"])):
        fab.rules(*counts, *busy)
        fab.ibqos("audit", "--counters", "--shares", "--policy", fab.policy_path, "--state", fab.path("shares.state"), "--all", "--now",
                  str(when), "--fabric", "rail-1", "--label", "set=shares", "--metrics", folder / "shares.prom").ok(0, 1, 2, 3)
    log = fab.path("nccl.log")
    with open(log, "w", encoding="ascii") as f:
        f.write("gpu-01:1:1 [0] a.cc:1 NCCL WARN NET/IB: Got completion from peer 10.0.0.2<1> with status=12 opcode=0 len=0 vendor err 129 (Send) hca mlx5_0\n"
                "gpu-01:1:1 [0] a.cc:1 NCCL WARN NET/IB : mlx5_0:1 Got async error event: port error\n")
    fab.ibqos("job", "log", log, "--metrics", folder / "job-log.prom").ok(2)
    port = os.path.join(fab.path("sys"), "class/infiniband/mlx5_0/ports/1")
    device = os.path.join(fab.path("sys"), "class/infiniband/mlx5_0/device")
    os.makedirs(port)
    os.makedirs(device)
    for where, texts in ((port, {"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "400 Gb/sec (4X NDR)", "lid": "0x1",
                                 "link_layer": "InfiniBand"}),
                         (device, {"current_link_speed": "32.0 GT/s PCIe", "current_link_width": "16"})):
        for name, text in texts.items():
            with open(os.path.join(where, name), "w", encoding="ascii") as f:
                f.write(text + "\n")
    fab.ibqos("job", "host", "--sysfs", fab.path("sys"), "--metrics", folder / "job-host.prom").ok(0, 1, 2, 3)
    fab.rules()
    node = monitoring.exporter(str(tmp_path_factory.mktemp("exporter")), folder)
    try:
        prom = monitoring.Prometheus(str(tmp_path_factory.mktemp("prometheus")), monitoring.scraping(node.url))
        try:
            run.deadline(30, "a scrape and rules of it", lambda: prom.query("ibqos:port_findings:named"),
                         alive=lambda: prom.process.poll() is None, evidence=prom.said)
            time.sleep(2)  # every group has been evaluated on it
            prom.node = node
            yield folder, prom
        finally:
            prom.stop()
    finally:
        node.stop()
