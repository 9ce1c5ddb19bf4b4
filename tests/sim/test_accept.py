# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""snapshot --accept: the baseline changes after it was looked at, whole or not at all, and its history is kept."""
import fcntl
import os
import pty
import re
import subprocess

import pytest

from kit import run, sim
from tools import netgen_tree


def shape(hosts=3):
    return netgen_tree.tree2(radix=8, leaves=3, spines=2, hosts_per_leaf=hosts)


@pytest.fixture(scope="module")
def snaps(tmp_path_factory):
    """Snapshots: as it was, with two hosts fewer, and of another fabric."""
    made = {}
    for name in ("good", "fewer", "other", "cut"):
        net = shape()
        if name == "fewer":
            net.remove_node("gpu-005")
            net.remove_node("gpu-009")
        if name == "other":
            for n in net.nodes.values():
                n.guid += 0x5000000
                n.sysimg = n.guid
        with sim.Fabric(tmp_path_factory.mktemp(name), net) as f:
            f.opensm()
            made[name] = f.path("snap")
            f.ibqos("snapshot", made[name]).ok(0)
    return made


def read(path):
    with open(path, "rb") as f:
        return f.read()


@pytest.fixture
def base(tmp_path, snaps):
    path = tmp_path / "base" / "good.snap"
    path.parent.mkdir()
    path.write_bytes(read(snaps["good"]))
    return path


def copies(base):
    return sorted(x for x in os.listdir(base.parent) if re.fullmatch(r"good\.snap\.\d{8}T\d{6}Z(-\d\d)?", x))


def test_accepted_after_review(ibqos, snaps, base):
    r = ibqos("snapshot", "--accept", snaps["fewer"], "--baseline", base, "--format", "json").ok(2, 3)
    assert "add --yes" in r.stderr and not r.json["baseline"]["accepted"] and read(base) == read(snaps["good"])
    assert {x["code"] for x in r.json["findings"]} >= {"node-gone"} and copies(base) == []
    assert [x["code"] for x in ibqos("audit", "--from", snaps["fewer"], "--baseline", base, "--format", "json").json["findings"]
            if x["severity"] == "critical"] == ["node-gone"] * 2
    r = ibqos("snapshot", "--accept", snaps["fewer"], "--baseline", base, "--yes", "--format", "json").ok(0)
    assert r.json["baseline"]["accepted"] and r.json["changes"]["nodes_gone"] == 2
    assert read(base) == read(snaps["fewer"])
    copy, = copies(base)
    assert read(base.parent / copy) == read(snaps["good"]) and r.json["baseline"]["kept"] == str(base.parent / copy)
    line, = read(f"{base}.log").decode().splitlines()
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \S+.* on \S+ accepted ", line) and snaps["fewer"] in line and copy in line
    # which audit then takes
    assert not [x for x in ibqos("audit", "--from", snaps["fewer"], "--baseline", base, "--format", "json").json["findings"]
                if x["severity"] == "critical"]


def test_the_first_one(ibqos, snaps, tmp_path):
    base = tmp_path / "good.snap"
    r = ibqos("snapshot", "--accept", snaps["good"], "--baseline", base, "--format", "json").ok(0)
    assert r.json["baseline"]["accepted"] and read(base) == read(snaps["good"]) and copies(base) == []


def test_history_has_a_bound(ibqos, snaps, base):
    names = ("fewer", "good") * 4
    for i, name in enumerate(names):
        ibqos("snapshot", "--accept", snaps[name], "--baseline", base, "--yes", "--keep", "3").ok(0)
        assert len(copies(base)) == min(i + 1, 3)
    assert len(read(f"{base}.log").splitlines()) == len(names)
    assert [read(base.parent / c) for c in copies(base)] == [read(snaps[n]) for n in ("good", "fewer", "good")][::-1] or \
        [read(base.parent / c) for c in copies(base)] == [read(snaps[n]) for n in ("fewer", "good", "fewer")]
    (base.parent / "good.snap.mine").write_bytes(b"x")
    (base.parent / "good.snap.20260101T000000Z.txt").write_bytes(b"x")
    ibqos("snapshot", "--accept", snaps["fewer"], "--baseline", base, "--yes", "--keep", "0").ok(0)
    assert copies(base) == [] and (base.parent / "good.snap.mine").exists()
    assert (base.parent / "good.snap.20260101T000000Z.txt").exists()


def test_what_cannot_be_a_baseline(ibqos, snaps, base, tmp_path):
    text = tmp_path / "text"
    text.write_text("vendid=0x2c9\n", encoding="ascii")
    damaged = tmp_path / "damaged"
    damaged.write_bytes(read(snaps["fewer"])[:-20])
    for new, words in ((snaps["other"], "another fabric"), (text, ""), (damaged, "cannot read"), (tmp_path / "none", "No such file"),
                       (tmp_path, "")):
        r = ibqos("snapshot", "--accept", new, "--baseline", base, "--yes").ok(3)
        assert words in r.stderr, r
        assert read(base) == read(snaps["good"]) and copies(base) == []
    for words in (("--accept", snaps["good"]), ("--baseline", base), ("--accept", snaps["good"], "--baseline", base, "more")):
        ibqos("snapshot", *words).ok(3)


def everything(master):
    """What was written to a terminal, in however many pieces it comes."""
    said = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # EIO: nobody has it open any more
            return said.decode()
        if not piece:
            return said.decode()
        said += piece


def test_on_a_terminal_it_asks(snaps, base):
    for answer, accepted in ((b"n\n", False), (b"\n", False), (b"y\n", True)):
        master, slave = pty.openpty()
        p = subprocess.Popen([run.binary(), "snapshot", "--accept", snaps["fewer"], "--baseline", str(base)], stdin=slave,
                             stdout=subprocess.PIPE, stderr=slave)
        os.write(master, answer)
        out = p.communicate(timeout=30)[0].decode()
        os.close(slave)
        said = everything(master)
        os.close(master)
        assert "node is not there any more" in out and "[y/N]" in said
        assert (read(base) == read(snaps["fewer"])) == accepted and p.returncode == (0 if accepted else 3), (out, said)


def test_one_at_a_time(ibqos, snaps, base):
    with open(f"{base}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "at this moment" in ibqos("snapshot", "--accept", snaps["fewer"], "--baseline", base, "--yes").ok(3).stderr
    ibqos("snapshot", "--accept", snaps["fewer"], "--baseline", base, "--yes").ok(0)


def test_cut_short_anywhere(snaps, base, tmp_path):
    """Killed or without room at any step: the baseline is whole, the old or the new one, and the old one is not lost."""
    trace = tmp_path / "trace"
    words = [run.fault_binary(), "snapshot", "--accept", snaps["fewer"], "--baseline", base, "--yes"]
    run.run(words, env={**os.environ, "IBQOS_FAULT_TRACE": str(trace)}).ok(0)
    numbers = [int(line.split()[0]) for line in trace.read_text().splitlines()]
    assert len(numbers) > 4
    for n in numbers:
        for action in ("kill", "ENOSPC"):
            for x in os.listdir(base.parent):
                os.unlink(base.parent / x)
            base.write_bytes(read(snaps["good"]))
            r = run.run(words, env={**os.environ, "IBQOS_FAULT": f"{n}:{action}"})
            assert r.returncode in (0, 2, 3, -9)  # 2: what has changed, which was not accepted
            assert read(base) in (read(snaps["good"]), read(snaps["fewer"]))
            if read(base) == read(snaps["fewer"]):
                assert read(snaps["good"]) in [read(base.parent / c) for c in copies(base)]
            if r.returncode == 0:
                assert read(base) == read(snaps["fewer"])
            run.run(words).ok(0)
