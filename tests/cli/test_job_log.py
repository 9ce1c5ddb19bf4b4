# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""job log: real logs of NCCL 2.28.9 (tests/golden/nccl-logs), written ones, files of all kinds."""
import gzip
import os
import re
import subprocess

import pytest

from kit import policy, prometheus, run

LOGS = os.path.join(run.TOP, "tests", "golden", "nccl-logs")
PREFIX = "gpu-01:100:100 [0] NCCL INFO "
GOOD = "".join(PREFIX + line + "\n" for line in (
    "NCCL version 2.28.9+cuda13.0", "NET/IB: [0] mlx5_0:uverbs0:1/IB provider=Mlx5 speed=400000 context=0x1 pciPath=/sys ar=1",
    "NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>", "Using network IB", "NCCL_IB_SL set by environment to 1.",
    "NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'",
    "ncclCommInitRankConfig comm 0x1 rank 0 nranks 16 cudaDev 0 nvmlDev 0 busId 60 commId 0x1 - Init COMPLETE",
    "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA", "Connected all rings, use ring PXN 0 GDR 1"))


def findings(r):
    return [(f["code"], f["severity"], f["what"], f["line"]) for f in r.json["findings"]]


@pytest.fixture
def log(ibqos, tmp_path):
    """log(text or bytes, *options) -> result in JSON"""

    def call(text, *args, name="job.log", codes=(0, 1, 2, 3)):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return ibqos("job", "log", path, *args, "--format", "json").ok(*codes)

    return call


def test_default(ibqos):
    """Two GPUs of one host: sockets chosen, and nothing goes over them."""
    r = ibqos("job", "log", f"{LOGS}/nccl-2.28.9-default.log", "--format", "json").ok(1)
    assert findings(r) == [("job-log-socket", "warning", "host", 13)]
    f, = r.json["findings"]
    assert f["got"] == "2 processes, none with a channel over it" and f["detail"] == "no adapter with an active port was found"
    assert (r.json["lines"], r.json["nccl_lines"]) == (143, 141)
    assert [(p["process"], p["rank"], p["ranks"], p["nccl"], p["network"], p["channels_net"], p["channels_local"])
            for p in r.json["processes"]] == [("host:567", 0, 2, "2.28.9", "Socket", 0, 24), ("host:568", 1, 2, "2.28.9", "Socket", 0, 24)]
    assert r.json["settings"] == [{"name": "NCCL_NVLS_ENABLE", "value": "0", "processes": 2}]


def test_socket(ibqos):
    r = ibqos("job", "log", f"{LOGS}/nccl-2.28.9-socket.log", "--format", "json").ok(2)
    assert findings(r) == [("job-log-socket", "critical", "host", 13)]
    assert [(p["channels_net"], p["channels_socket"], p["channels_gdr"]) for p in r.json["processes"]] == [(4, 4, 0), (4, 4, 0)]
    host, = r.json["hosts"]
    assert (host["host"], host["processes"], host["network"], host["channels_net"]) == ("host", 2, "Socket", 8)


def test_cr_in_a_setting(ibqos):
    r = ibqos("job", "log", f"{LOGS}/nccl-2.28.9-conf.log", "--format", "json").ok(2)
    assert findings(r) == [("job-value-text", "critical", "NCCL_SOCKET_IFNAME=lo", 2), ("job-log-no-interface", "critical", "host", 4),
                           ("job-log-untold", "note", None, None)]
    assert "with a CR behind it" in r.json["findings"][1]["detail"]


def test_no_such_interface(ibqos):
    r = ibqos("job", "log", f"{LOGS}/nccl-2.28.9-badif.log", "--format", "json").ok(2)
    assert findings(r)[0] == ("job-log-no-interface", "critical", "host", 3)
    assert r.json["findings"][0]["detail"] == "NCCL_SOCKET_IFNAME is eth77"


def test_no_network(ibqos):
    r = ibqos("job", "log", f"{LOGS}/nccl-2.28.9-forceib.log", "--format", "json").ok(2)
    assert findings(r) == [("job-log-no-network", "critical", "host", 10)]
    assert r.json["findings"][0]["got"] == "2 processes"


def test_a_good_job(log):
    r = log(GOOD, codes=(0,))
    assert r.json["adapters"] == [{"host": "gpu-01", "adapter": "mlx5_0:1", "link_layer": "infiniband", "gbps": 400, "gdr": "enabled"}]
    assert r.json["hosts"][0]["channels_gdr"] == 1


CAUSES = [
    ("NET/IB : No device found.", "no adapter with an active port was found"),
    ("NCCL_IB_HCA set to =mlx5_9\nNET/IB : No device found.", "NCCL_IB_HCA==mlx5_9"),
    ("NCCL_IB_DISABLE set by environment to 1.", "NCCL_IB_DISABLE is set"),
    ("NCCL_NET set by environment to Socket.", "NCCL_NET says so"),
    ("Failed to open libibverbs.so[.1]", "libibverbs cannot be opened"),
    ("", "not in the log"),
]


@pytest.mark.parametrize("lines,text", CAUSES, ids=range(len(CAUSES)))
def test_causes_of_sockets(log, lines, text):
    every = [*filter(None, lines.split("\n")), "Using network Socket", "Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0"]
    r = log("".join(f"{PREFIX}{line}\n" for line in every), codes=(2,))
    assert [f["code"] for f in r.json["findings"]] == ["job-log-socket"] and text in r.json["findings"][0]["detail"]


# messages added to a good job: codes, severity, what stands in the finding
RULES = [
    ("WARN", "NET/IB: Got completion from peer 10.0.0.2<1> with status=12 opcode=0 len=0 vendor err 129 (Send) hca mlx5_0",
     "job-log-completion", "critical", "transport retry counter exceeded"),
    ("WARN", "NET/IB : Got completion from peer 10.0.0.2<1> with error 5, opcode 0, len 0, vendor err 249",
     "job-log-completion", "note", "consequence"),
    ("WARN", "NET/IB: Got completion from peer 10.0.0.2<1> with status=4 opcode=0 len=0 vendor err 81 (Recv) hca mlx5_0",
     "job-log-completion", "critical", "not the fabric"),
    ("WARN", "NET/IB : mlx5_0:1 Got non-fatal async event: port error(10)", "job-log-async", "warning", "port error"),
    ("WARN", "NET/IB : mlx5_0:1 Got async error event: client reregistration event", "job-log-async", "note", "client"),
    ("WARN", "NET/IB : mlx5_0:1 async fatal event: local catastrophic error", "job-log-async", "critical", "catastrophic"),
    ("WARN", "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1, curr state INIT, next state RTR",
     "job-log-modify-qp", "critical", "110 Connection timed out"),
    ("WARN", "Warning: remote FLID configured as zero even when endpoints are on different subnets, using dlid as fallback",
     "job-log-flid", "warning", "FLID"),
    ("WARN", "Cuda failure 2 'out of memory'", "job-log-warning", "warning", "out of memory"),
    ("INFO", "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE ; OOB a:1<0>", "job-log-mixed", "warning", "gpu-01"),
    ("INFO", "Channel 01/0 : 0[0] -> 8[0] [send] via NET/IB/0", "job-log-no-gdr", "warning", "1 of 2 channels"),
    ("INFO", "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'", "job-log-no-gdr", "warning", "mlx5_0:1"),
    ("INFO", "NCCL_IB_SL set by environment to 2.", "job-hosts-differ", "warning", "in 1"),
]


@pytest.mark.parametrize("level,line,code,severity,text", RULES, ids=range(len(RULES)))
def test_rule(log, level, line, code, severity, text):
    prefix = PREFIX if level == "INFO" else "gpu-01:100:101 [0] net_ib.cc:1 NCCL WARN "
    r = log(GOOD + f"{prefix}{line}\n", codes=({"note": 0, "warning": 1, "critical": 2}[severity],))
    f, = r.json["findings"]
    assert (f["code"], f["severity"]) == (code, severity)
    assert text in " ".join(str(f[k]) for k in ("what", "wanted", "got", "detail"))


def test_hosts_that_differ(log):
    def host(n, **change):
        text = GOOD.replace("gpu-01", f"gpu-{n:02}")
        for old, new in change.items():
            text = text.replace({"speed": "speed=400000", "version": "2.28.9", "sl": "to 1."}[old], new)
        return text

    r = log(host(1) + host(2) + host(3, speed="speed=200000"), codes=(1,))
    assert findings(r) == [("job-log-devices-differ", "warning", "gpu-03", None)]
    assert r.json["findings"][0]["got"] == "mlx5_0:1/IB 200 Gb/s"
    assert findings(log(host(1) + host(2, version="2.27.7"), codes=(1,))) == [("job-log-versions-differ", "warning", "gpu-02", 13)]
    r = log(host(1) + host(2) + host(3, sl="to 0."), codes=(1,))
    assert findings(r) == [("job-hosts-differ", "warning", "NCCL_IB_SL", 23)]


def test_what_a_log_does_not_tell(log):
    assert findings(log("epoch 1\nepoch 2\n", codes=(3,))) == [("job-log-untold", "unknown", None, None)]
    assert findings(log("", codes=(3,))) == [("job-log-untold", "unknown", None, None)]
    only_warnings = "gpu-01:1:1 [0] a.cc:1 NCCL WARN odd\n"
    assert {c for c, *_ in findings(log(only_warnings, codes=(3,)))} == {"job-log-untold", "job-log-warning"}
    no_net = "".join(line + "\n" for line in GOOD.splitlines() if "speed=" not in line and "GPU Direct" not in line)
    assert findings(log(no_net, codes=(0,))) == [("job-log-net", "note", None, None)]


def test_class(log, tmp_path):
    (tmp_path / "policy.yaml").write_text(policy.text(None), encoding="utf-8")
    args = ("--policy", tmp_path / "policy.yaml", "--class", "training")
    assert not findings(log(GOOD, *args, codes=(0,)))
    r = log(GOOD.replace("to 1.", "to 2."), *args, codes=(1,))
    assert findings(r) == [("job-sl-other", "warning", "NCCL_IB_SL=2", 5)]
    r = log(GOOD.replace("NCCL_IB_SL set", "NCCL_IB_QPS_PER_CONNECTION set"), *args, codes=(1,))
    assert findings(r) == [("job-sl-unset", "warning", "NCCL_IB_SL", None)]


def test_interleaved_ranks(log):
    """Eight ranks' lines, one each in turn, and through srun -l and mpirun --tag-output: the same result."""
    ranks = [GOOD.replace(":100:", f":{n}:").replace("rank 0 ", f"rank {n} ").splitlines() for n in range(8)]
    mixed = [line for lines in zip(*ranks) for line in lines]
    plain = log("\n".join(mixed), codes=(0,)).json["processes"]
    assert [(p["process"], p["rank"], p["channels_gdr"]) for p in plain] == [(f"gpu-01:{n}", n, 1) for n in range(8)]
    assert log("\n".join(f"{i % 8}: {line}" for i, line in enumerate(mixed)), codes=(0,)).json["processes"] == plain
    assert log("\n".join(f"[1,{i % 8}]<stdout>:{line}" for i, line in enumerate(mixed)), codes=(0,)).json["processes"] == plain
    assert log("\r\n".join(mixed) + "\r\n", codes=(0,)).json["processes"] == plain


def test_files(ibqos, log, tmp_path):
    whole = log(GOOD).json
    packed = gzip.compress(GOOD.encode())
    assert log(packed).json["processes"] == whole["processes"]
    two = gzip.compress(GOOD[:300].encode()) + gzip.compress(GOOD[300:].encode())
    assert log(two, codes=(0,)).json["processes"] == whole["processes"]
    assert log(two + bytes(512), codes=(0,)).json["processes"] == whole["processes"]
    r = log(packed[:-20], codes=(3,))
    assert {c for c, *_ in findings(r)} >= {"job-log-cut"}
    log(packed[:5] + b"\xff" * 40, codes=(3,))
    r = ibqos("job", "log", "-", "--format", "json", stdin=GOOD.encode()).ok(0)
    assert r.json["processes"] == whole["processes"]
    one, other = tmp_path / "a", tmp_path / "b"
    one.write_text(GOOD)
    other.write_text(GOOD.replace("gpu-01", "gpu-02"))
    assert len(ibqos("job", "log", one, other, "--format", "json").ok(0).json["hosts"]) == 2
    r = ibqos("job", "log", one, tmp_path / "none", "--format", "json").ok(3)
    assert "cannot read" in r.json["error"] and len(r.json["hosts"]) == 1
    assert ibqos("job", "log", tmp_path, "--format", "json").ok(3)
    r = ibqos("job", "log", tmp_path / "none", "--format", "json").ok(3)
    assert "cannot read" in r.json["error"] and r.json["findings"] == []  # of no log nothing is said
    ibqos("job", "log").ok(3)
    ibqos("job", "log", one, "--class", "x").ok(3)


def test_metrics(log, tmp_path):
    text = GOOD + ("gpu-01:100:101 [0] a.cc:1 NCCL WARN NET/IB: Got completion from peer 10.0.0.2<1> with status=12 opcode=0 len=0 "
                   "vendor err 129 (Send) hca mlx5_0\n") * 3 + "gpu-01:1:1 [0] a.cc:1 NCCL WARN NET/IB : mlx5_0:1 Got async error event: a\"b\\c\n"
    log(text, "--metrics", tmp_path / "m.prom", codes=(2,))
    text_of = prometheus.read(tmp_path / "m.prom").text
    values = [line.replace('command="job log",', "") for line in text_of.splitlines() if "_total{" in line]
    assert values == ['ibqos_nccl_warnings_total{host="gpu-01"} 4',
                      'ibqos_nccl_completion_errors_total{host="gpu-01",hca="mlx5_0",status="12"} 3',
                      'ibqos_nccl_async_events_total{fatal="0",host="gpu-01",hca="mlx5_0:1",event="a\\"b\\\\c"} 1']
    log(text, "--metrics", tmp_path / "no" / "m.prom", codes=(2, 3))
    # a policy that cannot be read ends the run, and the metrics say so
    log(text, "--metrics", tmp_path / "m.prom", "--policy", tmp_path / "none", "--class", "training", codes=(3,))
    assert prometheus.read(tmp_path / "m.prom").one("ibqos_up") == 0


def test_errors_that_prometheus_would_take_for_one_are_one(log, tmp_path):
    """Two with other vendor codes have the same labels: a file with both would be refused whole."""
    line = "gpu-01:1:1 [0] a.cc:1 NCCL WARN NET/IB: Got completion from peer 10.0.0.2<1> with status=12 opcode=0 len=0 vendor err {} (Send) hca mlx5_0\n"
    log(GOOD + line.format(129) + line.format(130) * 2, "--metrics", tmp_path / "m.prom", codes=(2,))
    assert prometheus.read(tmp_path / "m.prom").one("ibqos_nccl_completion_errors_total") == 3


def test_constant_memory(tmp_path):
    """48 MB take no more memory than 4 MB."""
    with open(f"{LOGS}/nccl-2.28.9-default.log", "rb") as f:
        text = f.read()
    assert peak(tmp_path, text, (48 << 20) // len(text)) < peak(tmp_path, text, (4 << 20) // len(text)) + 1024


def peak(tmp_path, text, times):
    """Largest resident size in KiB, once all has been read but the end."""
    p = run.start([run.binary(), "job", "log", "-", "--output", str(tmp_path / "out")], stdin=subprocess.PIPE)
    try:
        for _ in range(times):
            p.stdin.write(text)
        p.stdin.flush()
        with open(f"/proc/{p.pid}/status", encoding="ascii") as f:
            most = int(re.search(r"VmHWM:\s+(\d+) kB", f.read())[1])
        p.stdin.close()
        assert p.wait(60) == 1
        return most
    finally:
        run.end(p)


def test_more_than_is_kept(log):
    """Hosts, adapters of a host, kinds of warnings beyond what there is room for: told, and what is kept is right."""
    hosts = "".join(f"h{i}:{i}:1 [0] NCCL INFO Using network IB\n" for i in range(66000))
    r = log(hosts, codes=(3,))
    assert len(r.json["hosts"]) == 65536 == len(r.json["processes"]) and r.json["nccl_lines"] == 65536
    cut, = [f for f in r.json["findings"] if f["code"] == "job-log-cut"]
    assert "464 lines not counted" in cut["got"]
    devices = PREFIX + "NET/IB : Using " + " ".join(f"[{i}]mlx5_{i}:1/IB" for i in range(300)) + "\n"
    enabled = "".join(PREFIX + f"NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_{i}'\n" for i in (0, 255, 256))
    r = log(devices + enabled + PREFIX + "Using network IB\n", codes=(3,))
    assert len(r.json["adapters"]) == 256 and [d["adapter"] for d in r.json["adapters"] if d["gdr"] == "enabled"] == ["mlx5_0:1", "mlx5_255:1"]
    warnings = "".join(f"h:1:1 [0] f.cc:{i} NCCL WARN x\n" for i in range(17000))
    r = log(warnings, codes=(3,))
    assert len(r.json["events"]) == 16384 and r.json["hosts"][0]["warnings"] == 17000


def test_counts_are_typed(log):
    """What a monitor needs stands in the report as numbers, by host, adapter and status."""
    warn = "gpu-01:100:101 [0] a.cc:1 NCCL WARN "
    r = log(GOOD + (warn + "NET/IB: Got completion from peer 10.0.0.2<1> with status=12 opcode=0 len=0 vendor err 129 (Send) hca mlx5_0\n") * 3
            + warn + "NET/IB : mlx5_0:1 Got async error event: port error\n", codes=(2,))
    assert [(e["host"], e["adapter"], e["kind"], e["status"], e["vendor"], e["count"], e["line"]) for e in r.json["events"]] == [
        ("gpu-01", "mlx5_0", "failed transfer", 12, 129, 3, 10), ("gpu-01", "mlx5_0:1", "event", None, None, 1, 13)]
    host, = r.json["hosts"]
    assert (host["warnings"], host["completions"], host["events"]) == (4, 3, 1)


def test_speed_and_failover(log):
    """What NCCL does not call a warning: a port that changed its speed, a transfer that went on over another port."""
    r = log(GOOD + PREFIX + "NET/IB : mlx5_0:1 speed change detected: 400000 -> 200000 Mbps\n" + PREFIX
            + "NET/IB: f: Got completion with error (devIndex=1, wc->status=(IBV_WC_RETRY_EXC_ERR)12, wc->opcode=(IBV_WC_SEND)0)\n", codes=(2,))
    assert [(f["code"], f["severity"], f["line"]) for f in r.json["findings"]] == [
        ("job-log-completion", "critical", 11), ("job-log-async", "warning", 10)]
