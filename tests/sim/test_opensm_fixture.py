# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What kit/opensm.py can do with an OpenSM: tests of ibqos may rest on it only as far as these hold."""
import os
import re
import signal
import time

import pytest

from kit import opensm, run
from tools import netgen

SMALL = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=1)
ETC_BEFORE = sorted(os.listdir(opensm.ETC)) if os.path.isdir(opensm.ETC) else None


@pytest.fixture(autouse=True)
def the_machines_own_etc_stays():
    yield
    assert (sorted(os.listdir(opensm.ETC)) if os.path.isdir(opensm.ETC) else None) == ETC_BEFORE


def operational_vls(f, *at):
    text = f.tool("smpquery", "-D", "portinfo", *at).ok().stdout
    return re.search(r"^OperVLs:\.*(.*)$", text, re.M)[1]


# --- start and end ---


def test_kill_and_restart_with_the_same_files(up):
    f, sm = up(options={"qos": "TRUE", "qos_sl2vl": ",".join(["3"] * 16)}, **SMALL)
    first, config = sm.pid, open(sm.config, encoding="ascii").read()
    sm.kill()
    assert not sm.alive() and sm.state() == "MASTER"
    sm.restart()
    assert sm.pid != first and sm.alive() and sm.state() == "MASTER"
    assert open(sm.config, encoding="ascii").read() == config
    assert "| 3| 3| 3|" in f.tool("smpquery", "-D", "sl2vl", "0", "1").ok().stdout


@pytest.mark.parametrize("grace", [True, False])
def test_restart_reads_the_files_of_now(up, grace):
    f, sm = up(**SMALL)
    sm.write_config(max_op_vls=2)
    sm.restart(grace=grace)
    assert operational_vls(f, "0", "1") == "VL0-1"


def test_paused_it_keeps_the_signal(up):
    f, sm = up(options={"qos": "TRUE"}, **SMALL)
    sweeps = sm.sweeps()
    sm.pause()
    sm.write_config(qos_sl2vl=",".join(["2"] * 16))
    sm.hup(wait=False)
    time.sleep(0.3)
    assert sm.sweeps() == sweeps and "| 2| 2| 2|" not in f.tool("smpquery", "-D", "sl2vl", "0", "1").ok().stdout
    sm.resume()
    sm.wait_sweep(sweeps + 1)
    assert not sm.paused() and "| 2| 2| 2|" in f.tool("smpquery", "-D", "sl2vl", "0", "1").ok().stdout


def test_paused_it_still_ends(up):
    _, sm = up(**SMALL)
    sm.pause()
    assert sm.stop(), "had to be killed"


def test_nothing_is_left_when_a_test_fails(tmp_path):
    """A test that fails with two OpenSMs, one of them paused, and one that runs into its time limit."""
    test = tmp_path / "test_that_fails.py"
    test.write_text(f"""
import time
SMALL = {SMALL!r}

def start(up, f, sm):
    b = f.opensm(wait="STANDBY", host="gpu-002")
    b.pause()
    with open({str(tmp_path / 'pids')!r}, "a") as out:
        print(f.ibsim.pid, sm.pid, b.pid, file=out)

def test_fails(up):
    start(up, *up(**SMALL))
    assert False

def test_hangs(up):
    start(up, *up(**SMALL))
    time.sleep(60)
""")
    tests = os.path.join(run.TOP, "tests")
    r = run.run(["/usr/bin/python3", "-m", "pytest", "-q", "-c", os.path.join(tests, "pytest.ini"), "-p", "conftest",
                 "--rootdir", tmp_path, "--basetemp", tmp_path / "t", "--timeout", "4", test],
                env=dict(os.environ, PYTHONPATH=tests))
    pids = [int(p) for p in (tmp_path / "pids").read_text().split()]
    assert r.returncode == 1 and len(pids) == 6 and "2 failed" in r.stdout and "rror at teardown" not in r.stdout, r

    def gone(pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
                return stat.read().rsplit(")", 1)[1].split()[0] == "Z"
        except FileNotFoundError:
            return True

    assert all(gone(p) for p in pids)


def test_opensm_that_does_not_start_fails_at_once(fabric):
    f = fabric(**SMALL)
    begin = time.monotonic()
    with pytest.raises(run.KitError, match="its process ended"):
        f.opensm(host="no-such-node")
    assert time.monotonic() - begin < 5


# --- master and standby ---


def test_master_and_standby_by_priority(fabric):
    f = fabric(**SMALL)
    a = f.opensm(options=opensm.PAIR, sm_priority=5)
    b = f.opensm(wait="STANDBY", host="gpu-002", options=opensm.PAIR, sm_priority=3)
    assert (a.state(), b.state()) == ("MASTER", "STANDBY")
    assert "priority 5 state 3 SMINFO_MASTER" in f.tool("sminfo").ok().stdout
    a.kill()
    b.wait_state("MASTER")
    b.wait_up()
    assert "priority 3 state 3 SMINFO_MASTER" in f.tool("sminfo", host="gpu-003").ok().stdout


def test_a_higher_priority_takes_over_from_a_living_master(fabric):
    f = fabric(**SMALL)
    a = f.opensm(options=opensm.PAIR, sm_priority=3)
    b = f.opensm(host="gpu-002", options=opensm.PAIR, sm_priority=5)
    assert b.state() == "MASTER"
    a.wait_state("STANDBY")
    assert a.alive() and "priority 5 state 3 SMINFO_MASTER" in f.tool("sminfo").ok().stdout


# --- started in other ways ---


def test_without_any_config_file(fabric):
    """-d 2 flushes the log, which without a config nothing else does."""
    f = fabric(**SMALL)
    sm = f.opensm(etc=True, config=False, args=["-d", "2"])
    assert sm.sweeps() == 1 and os.listdir(sm.etc) == []
    # a file that comes later is not read (osm_subnet.c: no config_file then)
    sm.write_config(max_op_vls=1)
    sm.hup()
    assert operational_vls(f, "0", "1") == "VL0-7"
    sm.restart()
    assert operational_vls(f, "0", "1") == "VL0"


def test_with_a_name_of_a_file_that_is_not_there(fabric):
    f = fabric(**SMALL)
    sm = f.opensm(config=False, args=["-d", "2"])
    sm.write_config(max_op_vls=1)
    sm.hup()
    assert operational_vls(f, "0", "1") == "VL0-7"


def test_default_config_path_in_a_namespace_of_its_own(fabric):
    f = fabric(**SMALL)
    sm = f.opensm(etc=True, max_op_vls=1)
    assert operational_vls(f, "0", "1") == "VL0" and os.listdir(sm.etc) == ["opensm.conf"]
    assert f.run(*sm.inside(), "ls", opensm.ETC).ok().stdout == "opensm.conf\n"
    sm.write_config(qos="TRUE", qos_sl2vl=",".join(["0"] * 16))
    sm.hup()
    assert "| 0| 0| 0|" in f.tool("smpquery", "-D", "sl2vl", "0", "1").ok().stdout


@pytest.mark.parametrize("sm", [dict(log="stdout"), dict(log=None)], ids=["stdout", "by-config"])
def test_where_the_log_goes(up, sm):
    _, sm = up(sm=sm, **SMALL)
    assert sm.state() == "MASTER" and sm.sweeps() == 1
    sm.hup()
    assert sm.sweeps() == 2


def test_log_that_is_not_flushed(up):
    """The sweep's end shows in the dump while the log keeps it back."""
    _, sm = up(options={"force_log_flush": "FALSE"}, **SMALL)
    before = sm.dumped()
    assert sm.sweeps() == 0 and before > 0
    sm.hup()
    assert sm.sweeps() == 0 and sm.dumped() > before


def test_policy_and_partitions_that_are_there_from_the_start(up):
    _, sm = up(sm=dict(policy="qos-levels\nnonsense\n", partitions="nonsense\n"), options={"qos": "TRUE"}, **SMALL)
    assert "ERR AC03" in sm.log() and re.search("parse error", sm.log(), re.I)


@pytest.mark.parametrize("engine", ["updn", "dnup", "ftree", "dor", "lash", "dfsssp", "nue", "sssp"])
def test_routing_engines(up, engine):
    """A fat tree with its spine as root: each of these gets on with it, none falls back to minhop."""
    f, sm = up(options={"routing_engine": f"{engine},no_fallback", "qos": "TRUE"}, **SMALL)
    assert sm.engine() == engine
    text = f.tool("ibroute", "-G", f"0x{f.net['leaf-01'].guid:x}").ok().stdout
    assert text.count("Channel Adapter") == len(f.net.hosts)


def test_torus_2qos_on_a_torus(fabric, tmp_path):
    """3 x 3 switches, a host each; the torus needs its own file that names links of the first switch."""
    net = netgen.Net()
    for i in range(9):
        net.add_ca(f"gpu-{i + 1:03}")
    for i in range(9):
        net.add_switch(f"t-{i % 3}{i // 3}", ports=8)
    for i in range(9):
        net.cable(f"gpu-{i + 1:03}", f"t-{i % 3}{i // 3}")
    for i in range(9):
        x, y = i % 3, i // 3
        net.cable(f"t-{x}{y}", f"t-{(x + 1) % 3}{y}")
        net.cable(f"t-{x}{y}", f"t-{x}{(y + 1) % 3}")
    guid = {name: f"0x{node.guid:x}" for name, node in net.nodes.items()}
    torus = tmp_path / "torus-2QoS.conf"
    torus.write_text("torus 3 3 1\n" f"xp_link {guid['t-00']} {guid['t-10']}\n" f"yp_link {guid['t-00']} {guid['t-01']}\n")
    f = fabric(net=net)
    sm = f.opensm(routing_engine="torus-2QoS,no_fallback", qos="TRUE", torus_config=torus)
    assert sm.engine() == "torus-2QoS"


@pytest.mark.parametrize("code,vls", [(1, "VL0"), (2, "VL0-1"), (3, "VL0-3"), (4, "VL0-7"), (5, "VL0-7")])
def test_max_op_vls(up, code, vls):
    f, _ = up(options={"max_op_vls": code}, **SMALL)
    assert operational_vls(f, "0", "1") == operational_vls(f, "0,1", "36") == vls


def test_lmc(up):
    f, _ = up(options={"lmc": 1}, **SMALL)
    text = f.tool("smpquery", "-D", "portinfo", "0", "1").ok().stdout
    assert re.search(r"^LMC:\.*1$", text, re.M)


def test_console(up):
    f, sm = up(options={"console": "loopback", "console_port": opensm.free_port(), "qos": "TRUE"}, **SMALL)
    assert re.search(r"^qos TRUE$", sm.console("dump_conf"), re.M)
    assert re.search(r"SM State *: *Master", sm.console("status"), re.I)
    sweeps = sm.sweeps()
    sm.console("resweep heavy")
    sm.wait_sweep(sweeps + 1)


# --- a sweep in progress ---


def test_slow_sweep(up):
    _, sm = up(**SMALL)
    sm.slow(40)
    sweeps, begin = sm.sweeps(), time.monotonic()
    sm.hup(wait=False)
    time.sleep(0.2)
    assert sm.sweeps() == sweeps
    sm.wait_sweep(sweeps + 1)
    assert time.monotonic() - begin > 0.4
    sm.slow(0)
    begin = time.monotonic()
    sm.hup()
    assert time.monotonic() - begin < 0.4


def test_sigcont_is_a_hup_to_opensm(up):
    _, sm = up(**SMALL)
    sweeps = sm.sweeps()
    os.kill(sm.pid, signal.SIGCONT)
    sm.wait_sweep(sweeps + 1)


# --- the files of others ---


def test_a_folder_covered_for_one_opensm_alone(fabric, tmp_path):
    f = fabric(**SMALL)
    shown, hidden = tmp_path / "shown", tmp_path / "hidden"
    shown.mkdir()
    hidden.mkdir()
    (shown / "policy.conf").write_text("qos-levels\nqos-level\nname: default\nsl: 0\nend-qos-level\nend-qos-levels\n")
    (hidden / "policy.conf").write_text("nonsense\n")
    sm = f.opensm(qos="TRUE", qos_policy_file=shown / "policy.conf", mounts={str(shown): str(shown)})
    assert "ERR AC0" not in sm.log()
    sm.cover(shown, hidden)
    sm.hup()
    assert "ERR AC03" in sm.log() and "nonsense" not in (shown / "policy.conf").read_text()


def test_an_opensm_that_is_lost_to_another_is_missed(fabric):
    """ibsim loses what it sends to one that is starting or gone; the overlay times it, else the other waits for ever."""
    f = fabric(**SMALL)
    a = f.opensm(options=opensm.PAIR, sm_priority=5)
    b = f.opensm(wait="STANDBY", host="gpu-002", options=opensm.PAIR, sm_priority=3)
    a.hup()
    b.pause()
    sweeps = a.sweeps()
    a.hup(wait=False)
    a.wait_sweep(sweeps + 1, seconds=10)
    b.kill()
    a.hup()
