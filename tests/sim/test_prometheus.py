# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Metrics of real runs are what JSON says of the same run; each metric there is comes of some run; a run that was not done,
or not whole, never looks clean. tests/monitoring asks promtool and a Prometheus."""
import collections
import os
import re
import signal

import pytest

from kit import policy, prometheus, run, sim
from kit.looks import LACKS
from tools import netgen

SHAPE = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=1)
CONF = dict(qos="TRUE", qos_sl2vl="0,1,2,0,0,0,0,0,0,0,0,0,0,0,0,0", qos_vlarb_low="0:10,1:70,2:20", qos_vlarb_high="0:0",
            qos_high_limit="0")


@pytest.fixture(scope="module")
def fab(tmp_path_factory):
    with sim.Fabric(tmp_path_factory.mktemp("metrics"), netgen.fat_tree(**SHAPE)) as f:
        f.opensm(options=CONF)
        yield f


@pytest.fixture
def both(fab, tmp_path):
    """Runs ibqos once; gives its JSON and its metrics."""
    def call(*args, rules=(), codes=(0,), **kwargs):
        fab.rules(*rules)
        path = tmp_path / "m.prom"
        r = fab.ibqos(*args, "--format", "json", "--metrics", path, **kwargs).ok(*codes)
        return r.json, prometheus.read(path)
    return call


def compare(j, m):
    """What every command's metrics have."""
    command = {"command": j["command"]}
    assert all(("command", j["command"]) in have for f in m.families.values() for have in f["samples"])
    assert m.one("ibqos_up", **command) == ("error" not in j)
    assert m.one("ibqos_exit_status") == j["exit"]
    assert m.by("ibqos_verdict", "verdict") == {v: v == j["verdict"] for v in ("clean", "warning", "critical", "unknown")}
    by_severity = collections.Counter(f["severity"] for f in j["findings"])
    assert m.by("ibqos_findings", "severity") == {s: by_severity[s] for s in ("note", "warning", "unknown", "critical")}
    by_code = collections.Counter((f["code"], f["severity"], f["class"] or "") for f in j["findings"])
    assert {tuple(dict(have).get(k, "") for k in ("code", "severity", "class")): n
            for have, n in m.values("ibqos_findings_by_code").items()} == by_code
    by_port = collections.Counter((f["node_guid"], str(f["port"] if f["port"] is not None else ""), f["code"], f["severity"],
                                   f["class"] or "") for f in j["findings"] if f["node_guid"])
    assert {tuple(dict(have).get(k, "") for k in ("node_guid", "port", "code", "severity", "class")): n
            for have, n in m.values("ibqos_port_findings").items()} == by_port
    names = {(f["node_guid"], str(f["port"] if f["port"] is not None else "")): f["node"] for f in j["findings"] if f["node_guid"]}
    info = {(d["node_guid"], d.get("port", "")): d["node"] for d in map(dict, m.values("ibqos_port_info"))}
    assert {k: info.get(k) for k in names} == names
    for table, about in (("coverage", "tables"), ("sm_coverage", "sm"), ("routes_coverage", "forwarding"),
                         ("counters_coverage", "counters")):
        assert m.by("ibqos_queries", "item", about=about) == {row["item"]: row["asked"] for row in j.get(table, [])}
        for key, outcome in (("answered", "answered"), ("status", "refused"), ("timed_out", "timed_out"), ("not_asked", "not_asked")):
            assert m.by("ibqos_queries_ended", "item", about=about, outcome=outcome) == {r["item"]: r[key] for r in j.get(table, [])}


def conf(fab):
    return ["--opensm-conf", fab.sms[0].config]


DIFFERS = ["node=leaf-01 port=1 attr=SL2VL : set SL1=0", "node=gpu-002 attr=VLArb mod=0x10000 : set entry1=1:1"]


def test_verify(fab, both):
    j, m = both("verify", *conf(fab))
    compare(j, m)
    assert m.one("ibqos_ports_verified") == j["ports"]["looked_at"] > 0 == m.one("ibqos_ports_differing")
    assert (m.one("ibqos_sm_master"), m.one("ibqos_sm_qos_enabled")) == (1, 1)
    assert m.one("ibqos_fabric_switches") == 3 and not m.values("ibqos_port_findings")
    j, m = both("verify", *conf(fab), "--fabric", 'rail "1"\\', rules=DIFFERS, codes=(2,))
    compare(j, m)
    assert m.one("ibqos_ports_differing", fabric='rail "1"\\') == 2
    leaf = f"0x{fab.net['leaf-01'].guid:016x}"
    assert m.values("ibqos_port_findings", node_guid=leaf, port=1, code="sl2vl-differs")
    d, = [dict(have) for have in m.values("ibqos_port_info", node_guid=leaf, port=1)]
    assert (d["node"], d["peer"], d["peer_port"]) == ("leaf-01", "gpu-001 mlx5_0", "1")


def test_audit(both):
    j, m = both("audit", rules=["node=leaf-01 port=1 attr=PortInfo : set LinkWidthActive=1"], codes=(2,))
    compare(j, m)
    assert m.one("ibqos_links_slow") == j["links"]["slow"] == 1 and m.one("ibqos_links_audited") == j["links"]["looked_at"]


def test_bit_errors_and_waiting_by_port(fab, both, tmp_path):
    """As test_counters.py plants them: 281.25e9 ticks of 8 bytes in 300 s of 12.5e9 bytes a second are 60 %; 60 symbol errors
    in 300 s at 103.125 Gb/s."""
    t0, state = 1_700_000_000, tmp_path / "state"
    zeros = ("SymbolErrorCounter LinkErrorRecoveryCounter LinkDownedCounter PortRcvErrors PortRcvRemotePhysicalErrors PortRcvSwitchRelayErrors "
             "PortXmitDiscards PortXmitConstraintErrors PortRcvConstraintErrors LocalLinkIntegrityErrors ExcessiveBufferOverrunErrors "
             "VL15Dropped PortXmitWait QP1Dropped").replace(" ", "=0 ") + "=0"
    quantum = ["node=leaf-* attr=NodeInfo : set DevId=0xd2f0 VendorId=0x2c9", "attr=PortSamplesControl : answer status=0 set Tick=7",
               "attr=ClassPortInfo : set CapMask2=2", f"attr=PortCountersExtended : set PortXmitData=1000 PortRcvData=1000 {zeros}",
               *LACKS[:-1]]
    bad = ["node=leaf-01 port=2 attr=PortCountersExtended : set PortXmitWait=281250000000 SymbolErrorCounter=60"]

    def audit(when, *args, rules=(), codes=(0,)):
        return both("audit", "--counters", "--state", state, "--now", str(when), *args, rules=[*quantum, *rules], codes=codes)
    _, m = audit(t0)
    assert m.one("ibqos_port_measures_omitted") == 0 and not m.values("ibqos_port_bit_error_ratio")
    j, m = audit(t0 + 300, rules=bad, codes=(2,))
    leaf = f"0x{fab.net['leaf-01'].guid:016x}"
    assert [(x["node_guid"], x["port"], x["ber"]) for x in j["port_measures"]] == [(leaf, 2, "bad")]
    assert m.one("ibqos_port_xmit_wait_ratio", node_guid=leaf, port=2) == pytest.approx(0.6)
    bits = 103.125e9 * 300
    assert m.one("ibqos_port_bit_error_ratio", node_guid=leaf, port=2) == pytest.approx(60 / bits, rel=1e-5)
    # 60 were seen: 95 % of Poisson's below 74.39 (chi-squared of 122 degrees of freedom, halved)
    assert m.one("ibqos_port_bit_error_ratio_upper", node_guid=leaf, port=2) == pytest.approx(74.39 / bits, rel=1e-3)
    d, = map(dict, m.values("ibqos_port_info", node_guid=leaf, port=2))
    assert d["node"] == "leaf-01"
    # each, on request: where nothing was seen the upper bound is 3 errors in the bits that passed
    _, m = audit(t0 + 600, "--all", rules=bad, codes=(2,))
    gpu = f"0x{fab.net['gpu-001'].guid:016x}"
    assert m.one("ibqos_port_bit_error_ratio", node_guid=gpu, port=1) == 0
    assert m.one("ibqos_port_bit_error_ratio_upper", node_guid=gpu, port=1) == pytest.approx(2.9957 / (2 * bits), rel=1e-3)
    assert len(m.values("ibqos_port_bit_error_ratio")) == 2 * len(fab.net.cables)


def shares(fab, both, state, written):
    """One busy port, on which training has too little; as test_shares.py has it."""
    devices = ["attr=PortCounters : set PortXmitData=1000 PortRcvData=1000",
               f"attr=PortSamplesControl : status=0 answer set OptionMask={1 << 57 | 1 << 23:#x}", "attr=PortXmitDataSLExt : status=0 answer", *LACKS[:-1],
               "attr=PortXmitDataSL : status=0xc answer", "attr=PortVLXmitWaitCounters : status=0 answer"]
    full = 300 * 12_500_000_000 // 4
    sent = "node=leaf-01 port=2 attr=PortXmitDataSLExt : set " + " ".join(
        f"XmtDataSL{sl}={int(full * x)}" for sl, x in ((0, .1), (1, .2), (2, .65)))
    waits = "node=leaf-01 port=2 attr=PortVLXmitWaitCounters : set " + " ".join(f"PortVLXmitWait{vl}=9" for vl in range(8))
    args = ["audit", "--counters", "--shares", "--policy", written, "--state", state, "--all", "--now"]
    both(*args, "1700000000", rules=devices, codes=(0, 1, 2, 3))
    return both(*args, "1700000300", rules=[*devices, sent, waits], codes=(0, 1, 2, 3))


def test_shares(fab, both, tmp_path):
    j, m = shares(fab, both, tmp_path / "state", policy.write(fab, fab.sms[0], name="shares.yaml"))
    assert m.one("ibqos_classes_below_share") == j["shares"]["low"] == 1 and m.one("ibqos_share_ports", look="busy") == 1
    leaf = f"0x{fab.net['leaf-01'].guid:016x}"
    had = m.by("ibqos_class_share_ratio", "class", node_guid=leaf, port=2)
    assert {c: round(v, 3) for c, v in had.items()} == {"training": 0.211, "storage": 0.684, "other": 0.105}
    assert m.one("ibqos_class_promised_ratio", **{"class": "training"}) == pytest.approx(0.7, abs=0.02)


def test_format_and_output_are_the_same(fab, tmp_path):
    """--format prometheus, to standard output and to a file."""
    fab.rules(*DIFFERS)
    r = fab.ibqos("verify", *conf(fab), "--format", "prometheus", "--metrics", tmp_path / "m").ok(2)
    fab.ibqos("verify", *conf(fab), "--format", "prometheus", "--output", tmp_path / "o").ok(2)
    for text in (r.stdout, (tmp_path / "m").read_text(), (tmp_path / "o").read_text()):
        m = prometheus.Metrics(text)
        assert m.one("ibqos_ports_differing") == 2 and m.by("ibqos_findings", "severity")["critical"] == 2
    assert sorted(os.listdir(tmp_path)) == ["m", "o"]


def test_what_does_not_answer_is_seen(fab, both):
    """Part of the fabric silent: the run ends, and says that it is not whole."""
    j, m = both("verify", *conf(fab), "-t", "50", "--retries", "0", codes=(3,), rules=["node=gpu-003 attr=SL2VL : timeout"])
    compare(j, m)
    assert m.one("ibqos_up") == 1 and m.by("ibqos_verdict", "verdict")["unknown"] == 1
    assert m.by("ibqos_findings", "severity")["unknown"] > 0
    assert sum(m.values("ibqos_queries_ended", outcome="timed_out").values()) > 0


def test_a_run_that_failed(fab, both):
    for args in (["verify", "/nonexistent.yaml"], ["audit", "-C", "no-such"], ["verify", "--opensm-conf", "/nonexistent"],
                 ["audit", "--hosts", "nobody"]):
        j, m = both(*args, codes=(3,))
        assert m.one("ibqos_up") == 0 and m.one("ibqos_exit_status") == 3, args
        assert "critical" not in m.by("ibqos_findings", "severity"), args  # none so far is not none
        assert m.one("ibqos_last_run_timestamp_seconds") > 1.7e9


def test_a_run_that_was_stopped(up, tmp_path):
    """By a signal: the metrics are written, and say so. Killed: those of before stay, whole."""
    fab, _ = up(options=CONF, **SHAPE)  # of its own: the simulator does not know of a program's death
    path = tmp_path / "m.prom"
    fab.rules("attr=SL2VL : timeout")
    for number, killed in ((signal.SIGTERM, 0), (signal.SIGKILL, 1)):
        if killed:
            fab.rules()
            fab.ibqos("verify", *conf(fab), "--metrics", path).ok()
            fab.rules("attr=SL2VL : timeout")
        before = path.read_text() if killed else None
        p = run.start([run.binary(), "verify", *conf(fab), "--metrics", str(path), "-t", "2000"], env=fab.env(), cwd=fab.dir)
        try:
            run.deadline(10, "a MAD", lambda: os.path.exists(f"/proc/{p.pid}/fd") and waits(p.pid))
            p.send_signal(number)
            p.wait(30)
        finally:
            run.end(p)
        if killed:
            assert path.read_text() == before
        assert prometheus.read(path).one("ibqos_up") == killed


def waits(pid):
    """It is well into its run: its policy and fabric are read when nothing but time passes."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return f.read().rsplit(")", 1)[1].split()[0] == "S"


def test_unwritable(fab, tmp_path):
    fab.rules()
    r = fab.ibqos("verify", *conf(fab), "--metrics", tmp_path / "no" / "m.prom").ok(3)
    assert "cannot write" in r.stderr and "m.prom" in r.stderr and "verdict: clean" in r.stdout


def test_every_metric_comes_of_some_run(fab, both, ibqos, tmp_path):
    """So that a key that was renamed in a report is seen here, and none is in the table for nothing."""
    with open(os.path.join(run.TOP, "src/report/prometheus_metrics.def"), encoding="utf-8") as f:
        metrics = dict(re.findall(r'^PROM_METRIC\((\w+), "(\w+)",', f.read(), re.M))
    with open(os.path.join(run.TOP, "src/report/prometheus_rules.c"), encoding="utf-8") as f:
        rules = f.read()
    written = policy.write(fab, fab.sms[0])
    with open(written, "a", encoding="utf-8") as f:
        f.write("links:\n  - {name: hosts, ends: [{node_type: ca}], speed: EDR}\n")
    state = tmp_path / "state"
    log = tmp_path / "log"
    with open(os.path.join(run.TOP, "tests/golden/nccl-logs/nccl-2.28.9-default.log"), "rb") as f:
        log.write_bytes(f.read() + b"gpu-01:1:1 [0] a.cc:1 NCCL WARN NET/IB: Got completion from peer 10.0.0.2<1> with status=12 "
                        b"opcode=0 len=0 vendor err 129 (Send) hca mlx5_0\n"
                        b"gpu-01:1:1 [0] a.cc:1 NCCL WARN NET/IB : mlx5_0:1 Got async error event: port error\n"
                        b"gpu-01:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB/SHARP [RO]; OOB eth0:10.0.0.1<0>\n"
                        b"gpu-01:1:2 [0] NCCL INFO NET/IB: [0] mlx5_0:uverbs0:1/IB provider=Mlx5 speed=400000 context=0x1 pciPath=/x ar=0\n")
    snap = tmp_path / "a.snap"
    fab.rules()
    fab.ibqos("snapshot", snap).ok(0, 1, 3)
    any_code = (0, 1, 2, 3)
    quiet = [*LACKS, "attr=PortCounters : set PortXmitData=1000 PortRcvData=1000 PortXmitWait=0"]
    seen = [both("verify", *conf(fab), "--paths", rules=DIFFERS, codes=any_code)[1],
            both("verify", written, "--sm-records", "1", rules=DIFFERS, codes=any_code)[1],
            both("verify", *conf(fab), "--sample", "1/2", "--rotate", tmp_path / "rotation", codes=any_code)[1],
            both("verify", *conf(fab), "--hosts", "gpu-001", codes=any_code)[1],
            both("audit", "--from", snap, codes=any_code)[1],
            both("audit", "--baseline", snap, "--policy", written, "--counters", "--state", state, "--now", "1700000000", "--all",
                 rules=quiet, codes=any_code)[1],
            both("audit", "--counters", "--state", state, "--now", "1700003600", "--all", rules=quiet, codes=any_code)[1]]
    seen.append(shares(fab, both, tmp_path / "state-of-shares", written)[1])
    r = ibqos("job", "log", log, "--format", "prometheus").ok(*any_code)
    seen.append(prometheus.Metrics(r.stdout))
    root = tmp_path / "sys"
    port = root / "class/infiniband/mlx5_0/ports/1"
    port.mkdir(parents=True)
    for name, text in (("state", "4: ACTIVE"), ("phys_state", "5: LinkUp"), ("rate", "400 Gb/sec (4X NDR)"), ("lid", "0x1"),
                       ("sm_lid", "0x1"), ("link_layer", "InfiniBand")):
        (port / name).write_text(text + "\n")
    (root / "class/infiniband/mlx5_0/device").mkdir()
    for name, text in (("current_link_speed", "32.0 GT/s PCIe"), ("current_link_width", "16"), ("max_link_speed", "32.0 GT/s PCIe"),
                       ("max_link_width", "16")):
        (root / "class/infiniband/mlx5_0/device" / name).write_text(text + "\n")
    host = prometheus.Metrics(ibqos("job", "host", "--sysfs", root, "--format", "prometheus").ok(*any_code).stdout)
    seen.append(host)
    assert host.one("ibqos_host_port_rate_bytes_per_second", adapter="mlx5_0", port=1) == 400e9 / 8
    assert host.one("ibqos_host_port_active", adapter="mlx5_0", port=1) == 1
    names = {name for m in seen for name in m.families}
    assert set(metrics.values()) - names == set()
    labels = {(name, *sorted(have)) for m in seen for name, family in m.families.items() for have in family["samples"]}
    for symbol, text in re.findall(r'^\tLABELLED\("\w*", "\w+", (\w+), "(.*)"\),', rules, re.M):
        wanted = set(re.findall(r'(\w+)=\\"([^"]*)\\"', text))
        assert wanted and any(row[0] == metrics[symbol] and wanted <= set(row[1:]) for row in labels), (symbol, text)
    for text in re.findall(r'^\tMADS\("\w+", "(.*)"\),', rules, re.M):
        wanted = set(re.findall(r'(\w+)=\\"([^"]*)\\"', text))
        assert len(wanted) == 2 and any(row[0] == "ibqos_mads" and wanted <= set(row[1:]) for row in labels), text


def test_nagios(fab, tmp_path):
    """One line, exit codes as plugins have them."""
    form = r"IBQOS (OK|WARNING|CRITICAL|UNKNOWN) - [^|\n]+ \|( \w+=[\d.]+s?)+\n"
    fab.rules()
    assert re.fullmatch(form, fab.ibqos("verify", *conf(fab), "--format", "nagios").ok(0).stdout)[1] == "OK"
    fab.rules(*DIFFERS)
    r = fab.ibqos("verify", *conf(fab), "--format", "nagios").ok(2)
    assert re.fullmatch(form, r.stdout)[1] == "CRITICAL" and "sl2vl-differs (drifted) at leaf-01[1]" in r.stdout
    assert " critical=2 " in r.stdout and " ports_differ=2 " in r.stdout and " unanswered=0 " in r.stdout
    fab.rules("node=gpu-003 attr=SL2VL : timeout")
    r = fab.ibqos("verify", *conf(fab), "--format", "nagios", "-t", "50", "--retries", "0").ok(3)
    assert re.fullmatch(form, r.stdout)[1] == "UNKNOWN" and " unanswered=0 " not in r.stdout
    fab.rules()
    r = fab.ibqos("audit", "-C", "no|such", "--format", "nagios").ok(3)
    assert re.fullmatch(form, r.stdout)[1] == "UNKNOWN"
