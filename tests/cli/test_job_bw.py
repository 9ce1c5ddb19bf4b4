# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""job bw-plan and bw-read: the plan run by a shell whose ssh writes down what it was asked; outputs of perftest."""
import itertools
import os
import stat
import subprocess

import pytest

from kit import policy

OUTPUT = """---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF\t\tDevice         : mlx5_0
 Number of qps   : 4\t\tTransport type : IB
 Connection type : RC\t\tUsing SRQ      : OFF
 Mtu             : 4096[B]
 Link type       : IB
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 1048576    233440           0.00               391.64\t\t     0.046687
---------------------------------------------------------------------------------------
"""


@pytest.fixture
def plan(ibqos, tmp_path):
    """Runs a plan; gives what ssh was asked, as [(host, command)], in the order in which it ended."""
    (tmp_path / "policy.yaml").write_text(policy.text(None), encoding="utf-8")
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in (("ssh", f'#!/bin/sh\necho "$1|$2" >>{tmp_path}/asked\n'), ("sleep", "#!/bin/sh\n")):
        (tools / name).write_text(text)
        (tools / name).chmod(stat.S_IRWXU)

    def call(*args):
        text = ibqos("job", "bw-plan", *args).ok(0).stdout
        (tmp_path / "asked").write_text("")
        subprocess.run(["sh", "-eu", "-c", text], cwd=tmp_path, check=True, env={"PATH": f"{tools}:{os.environ['PATH']}"}, timeout=60)
        return [tuple(line.split("|")) for line in (tmp_path / "asked").read_text().splitlines()]

    return call


def test_neighbours(plan, tmp_path):
    asked = plan("--hosts", "n[1-4]", "--hca", "mlx5_0,mlx5_1", "--seconds", "3")
    command = "timeout 33 ib_write_bw -F -d {} -q 4 -s 1048576 -D 3 --report_gbits"
    assert sorted(asked) == sorted((host, command.format(rail) + server) for rail in ("mlx5_0", "mlx5_1")
                                   for host, server in (("n1", ""), ("n2", " n1"), ("n3", ""), ("n4", " n3")))
    assert sorted(f for f in os.listdir(tmp_path) if f.endswith(".bw")) == sorted(
        f"{a}-{b}-{rail}.bw" for rail in ("mlx5_0", "mlx5_1") for a, b in (("n1", "n2"), ("n3", "n4")))


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8])
def test_all_pairs_once(plan, tmp_path, count):
    asked = plan("--hosts", f"n[1-{count}]", "--hca", "mlx5_0", "--all-pairs")
    wanted = {frozenset(p) for p in itertools.combinations([f"n{i + 1}" for i in range(count)], 2)}
    met = [frozenset(p) for p in ((host, command.split()[-1]) for host, command in asked if command.split()[-1].startswith("n"))]
    assert len(met) == len(wanted) and set(met) == wanted


def test_a_round_has_each_host_once(ibqos):
    text = ibqos("job", "bw-plan", "--hosts", "n[1-7]", "--hca", "a", "--all-pairs").ok(0).stdout
    rounds = [[line.split()[1:3] for line in part.splitlines() if line.startswith("pair n")] for part in text.split("# a, round")[1:]]
    assert len(rounds) == 7
    for r in rounds:
        hosts = [h for pair in r for h in pair]
        assert len(hosts) == 6 and len(set(hosts)) == 6


def test_class(plan, tmp_path):
    of_class = ("--policy", tmp_path / "policy.yaml", "--class", "training", "--hosts", "a,b", "--hca", "mlx5_0")
    assert all(" -S 1" in command and "tclass" not in command for _, command in plan(*of_class))
    assert all(" --tclass=41" in command and " -S" not in command for _, command in plan(*of_class, "--link-layer", "roce"))


def test_an_odd_host_is_not_left_out(plan):
    assert {host for host, _ in plan("--hosts", "a,b,c", "--hca", "x")} == {"a", "b", "c"}


def test_bad_plans(ibqos):
    for hosts, hca in (("a", "x"), ("a,b;reboot", "x"), ("a,$(b)", "x"), ("a,-oProxyCommand=b", "x"), ("a,b", "x y"), ("a,b", "x'")):
        r = ibqos("job", "bw-plan", "--hosts", hosts, "--hca", hca).ok(3)
        assert r.stdout == "", (hosts, hca)
    ibqos("job", "bw-plan", "--hosts", "a,b").ok(3)


@pytest.fixture
def read(ibqos, tmp_path):
    """read({name: text}, *options, code=) -> findings"""
    (tmp_path / "policy.yaml").write_text(policy.text(None), encoding="utf-8")

    def call(files, *args, code):
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        r = ibqos("job", "bw-read", *[tmp_path / name for name in files], *args, "--format", "json").ok(code)
        call.results = r.json["results"]
        return [(f["code"], os.path.basename(f["file"]), f["got"]) for f in r.json["findings"]]

    return call


def test_a_good_result(read):
    assert read({"a.bw": OUTPUT}, "--rate", "400", code=0) == []
    row, = read.results
    assert (row["adapter"], row["gbps"], row["bytes"], row["mtu"]) == ("mlx5_0", 391.64, 1048576, 4096)


def test_below_the_rate(read):
    # 90 % of 400 Gb/s, of which 4096 of 4122 bytes are payload: 357.7
    assert read({"a.bw": OUTPUT.replace("391.64", "357.80")}, "--rate", "400", code=0) == []
    assert read({"a.bw": OUTPUT.replace("391.64", "357.60")}, "--rate", "400", code=2) == [("job-bw-low", "a.bw", "357.6 Gb/s")]
    assert read({"a.bw": OUTPUT.replace("391.64", "357.60")}, "--rate", "400", "--floor", "80", code=0) == []


def test_share_of_a_busy_link(read, tmp_path):
    args = ("--rate", "400", "--policy", tmp_path / "policy.yaml", "--class", "training")
    assert read({"a.bw": OUTPUT.replace("391.64", "260.00")}, *args, "--busy", code=0) == []  # 70 % of it: 250.4
    assert read({"a.bw": OUTPUT.replace("391.64", "250.00")}, *args, "--busy", code=2)[0][0] == "job-bw-low"
    assert read({"a.bw": OUTPUT.replace("391.64", "260.00")}, *args, code=2)[0][0] == "job-bw-low"


def test_units_and_tables(read):
    mib = OUTPUT.replace("Gb/sec", "MiB/sec").replace("391.64", "46687.00")
    assert read({"a.bw": mib}, "--rate", "400", code=0) == [] and read.results[0]["gbps"] == pytest.approx(391.64, abs=0.01)
    qos = OUTPUT.replace("#bytes     #it", "#bytes    #sl      #it").replace("1048576    233440", "1048576    1           233440")
    assert read({"a.bw": qos}, "--rate", "400", code=0) == []
    several = OUTPUT.replace(" 1048576 ", " 2    5000    0.02    0.01    0.5\n 1048576 ")
    assert read({"a.bw": several}, "--rate", "400", code=0) == [] and read.results[0]["bytes"] == 1048576


def test_no_result(read):
    failed = OUTPUT.split(" #bytes")[0] + " Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\n"
    assert read({"a.bw": failed}, code=3) == [("job-bw-unread", "a.bw", " Failed status 12: wr_id 0 syndrom 0x81")]
    assert read({"a.bw": ""}, code=3) == [("job-bw-unread", "a.bw", "nothing")]
    assert read({"a.bw": "Couldn't connect to n1:18515\n"}, code=3)[0][2] == "Couldn't connect to n1:18515"


def test_pairs_beside_each_other(read):
    files = {f"{n}.bw": OUTPUT for n in "abcd"}
    files["c.bw"] = OUTPUT.replace("391.64", "196.10")
    assert read(files, code=1) == [("job-bw-differs", "c.bw", "196.1 Gb/s")]


def test_bad_usage(ibqos, tmp_path):
    for args in ((), ("a", "--rate", "0"), ("a", "--busy"), ("a", "--floor", "101"), ("a", "--class", "x")):
        ibqos("job", "bw-read", *args).ok(3)
    assert "cannot read" in ibqos("job", "bw-read", tmp_path / "none").ok(3).stderr
