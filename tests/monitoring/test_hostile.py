# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Names as a hostile device may have them, in metrics and in the line for Nagios: nothing gets out of its label."""
import random
import subprocess

import pytest

from kit import prometheus, run, snapfile

NASTY = [b'"', b"\\", b'\\"', b"\n", b'"} 1\nibqos_up{command="verify"} 1\n', b"\xff\xfe", b"\x1b[2J\x1b]0;x\x07", b"\xe2\x80\xae", b"\xc2\x9b",
         b"|", b"' | critical=0", b"\r\n", b"\x00", b"{}", b"#", b"# HELP ibqos_up x", b"\t", b"<script>alert(1)</script>", b"$(reboot)",
         "spürbar".encode(), b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"%s%n", b",a=\"b\""]


@pytest.fixture(scope="module")
def snap(fab, tmp_path_factory):
    """A snapshot with findings at several ports."""
    path = tmp_path_factory.mktemp("snap") / "a.snap"
    fab.rules("node=leaf-01 attr=PortInfo : set LinkWidthActive=1", "node=gpu-002 attr=SL2VL : set SL1=3")
    fab.ibqos("snapshot", path).ok(0, 1, 3)
    fab.rules()
    return snapfile.read(path)


def promtool(text):
    r = subprocess.run(["promtool", "check", "metrics"], input=text.encode(), capture_output=True, timeout=60)
    assert (r.returncode, r.stderr) == (0, b""), r


@pytest.mark.parametrize("seed", range(3))
def test_names(fab, ibqos, snap, tmp_path, seed):
    draw = random.Random(seed)
    hostile = dict(snap)

    def name():
        return b"".join(draw.choice(NASTY) for _ in range(draw.randint(1, 6)))[:64]
    hostile["STRS"] = [name() if s else s for s in snap["STRS"]]
    path = tmp_path / "h.snap"
    snapfile.write(path, hostile)
    conf = fab.sms[0].config
    for args in (["audit"], ["audit", "--all"], ["discover"], ["verify", "--opensm-conf", conf]):
        metrics = tmp_path / "m.prom"
        line = ibqos(*args, "--from", path, "--format", "nagios", "--metrics", metrics, *(() if args[0] == "discover" else ("--fabric", 'a"\\\n'))).ok(0, 1, 2, 3)
        m = prometheus.read(metrics)
        promtool(m.text)
        assert line.stdout.count("\n") == 1 == line.stdout.count("|") and line.stdout.startswith("IBQOS "), line
        assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in line.stdout[:-1] + m.text.replace("\n", "")), args
        assert m.one("ibqos_up") in (0, 1)
        same = ibqos(*args, "--from", path, "--format", "prometheus").ok(0, 1, 2, 3)
        promtool(same.stdout)
        if args[0] == "audit":
            assert m.values("ibqos_port_findings") and m.values("ibqos_port_info"), line


def test_log(ibqos, tmp_path):
    """What a job writes into its log."""
    draw = random.Random(1)
    log = tmp_path / "log"
    with open(log, "wb") as f:
        for _ in range(300):
            junk = b"".join(draw.choice(NASTY) for _ in range(3)).replace(b"\n", b"").replace(b"\x00", b"")
            f.write(b"gpu-01%s:1:1 [0] a.cc:1 NCCL WARN NET/IB: Got completion from peer 10.0.0.2<1> with status=12 opcode=0 len=0 vendor err %d "
                    b"(Send) hca mlx5_0%s\n" % (junk.replace(b" ", b""), draw.randint(1, 9), junk))
            f.write(b"gpu-01:1:1 [0] a.cc:1 NCCL WARN NET/IB : mlx5_0:1 Got async error event: %s\n" % junk)
    r = ibqos("job", "log", log, "--format", "prometheus").ok(0, 1, 2, 3)
    promtool(r.stdout)
    assert prometheus.Metrics(r.stdout).values("ibqos_nccl_async_events_total")


def test_sysfs(ibqos, tmp_path):
    for i, junk in enumerate(NASTY):
        port = tmp_path / f"{i}/class/infiniband/mlx5_0/ports/1"
        port.mkdir(parents=True)
        for name in ("state", "phys_state", "rate", "lid", "link_layer"):
            (port / name).write_bytes(junk + b"4: ACTIVE" + junk)
        (tmp_path / f"{i}/class/infiniband/mlx5_0/fw_ver").write_bytes(junk)
        r = run.run([run.binary(), "job", "host", "--sysfs", tmp_path / str(i), "--format", "prometheus"])
        promtool(r.stdout)
        prometheus.parse(r.stdout)
