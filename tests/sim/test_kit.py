# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The kit itself: other tests may rest on it only as far as these hold."""
import errno
import glob
import os
import re
import signal
import time

import pytest

from kit import run
from tools import netgen

CLIENT = os.path.join(run.TOP, "tests/tools/umad_client.py")
SMALL = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=1)


def links(text):
    """iblinkinfo's lines of links that are up, as (node, port, width, rate): switches and CAs."""
    node, found = None, []
    for line in text.splitlines():
        if m := re.match(r"(?:CA|Switch): (?:0x\w+ )?(.*?):$", line):
            node = m[1]
        elif m := re.match(r"\s*(?:0x\w+\s+)?\d+\s+(\d+)\[..\] ==\(\s*(\d+X)\s+([\d.]+ Gbps) Active", line):
            found.append((node, int(m[1]), m[2], m[3]))
    return found


def field(text, name):
    return re.search(rf"^{name}:\.*(.*)$", text, re.M)[1]


# --- OpenSM on a fabric ---


def test_opensm_brings_up_every_link(up):
    f, sm = up()
    r = f.tool("iblinkinfo").ok()
    # each cable is listed from both ends
    assert len(links(r.stdout)) == 2 * len(f.net.cables) == 2 * (24 + 2 + 16)
    assert {(w, s) for _, _, w, s in links(r.stdout)} == {("4X", "25.78125 Gbps")}
    assert "Could be" not in r.stdout
    assert sm.alive()


def test_hup_reads_the_config_again(up):
    f, sm = up(options={"qos": "TRUE", "qos_sl2vl": ",".join(["0"] * 16)}, **SMALL)
    # libibmad's LID 0 cannot be asked; a directed route works wherever OpenSM is
    assert re.search(r"\| 0\| 0\| 0\| 0\|", f.tool("smpquery", "-D", "sl2vl", "0", "1").ok().stdout)
    sm.write_config(qos_sl2vl="0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,3")
    sm.hup()
    assert re.search(r"\| 0\| 1\| 2\| 3\| 0\|", f.tool("smpquery", "-D", "sl2vl", "0", "1").ok().stdout)


def test_stops_clean_and_leaves_nothing(tmp_path):
    from kit import sim
    folder = tmp_path / "f"
    folder.mkdir()
    f = sim.Fabric(folder, netgen.fat_tree(**SMALL))
    sm = f.opensm()
    assert sm.stop(), "OpenSM had to be killed"
    f.stop()
    assert f.ibsim.poll() is not None and sm.process.poll() is not None
    assert not glob.glob(f"{f.dir}/sys-*") and not glob.glob(f"{sm.dir}/sys-*")
    with open("/proc/net/unix", encoding="ascii", errors="replace") as sockets:
        assert f.socket not in sockets.read()


def test_fabrics_side_by_side(up):
    a, _ = up(**SMALL)
    b, _ = up(leaves=3, spines=2, hosts_per_leaf=2, uplinks=1, storage=0)
    # the first again, after the second came up
    assert a.tool("ibnetdiscover").ok().stdout.count("\nCa\t") == 5
    assert b.tool("ibnetdiscover").ok().stdout.count("\nCa\t") == 6


def test_a_dead_parent_takes_its_children_along(tmp_path):
    script = (f"import sys; sys.path.insert(0, {os.path.join(run.TOP, 'tests')!r})\n"
              "from kit import run, sim; from tools import netgen; import os, signal\n"
              f"f = sim.Fabric({str(tmp_path)!r}, netgen.fat_tree(leaves=1, spines=1, hosts_per_leaf=1, storage=0))\n"
              "sm = f.opensm(); print(f.ibsim.pid, sm.pid, flush=True)\n"
              "os.kill(os.getpid(), signal.SIGKILL)\n")
    r = run.run(["/usr/bin/python3", "-c", script])
    pids = [int(p) for p in r.stdout.split()]
    assert r.returncode == -signal.SIGKILL and len(pids) == 2, r

    def gone(pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
                return stat.read().rsplit(")", 1)[1].split()[0] == "Z"
        except FileNotFoundError:
            return True

    run.deadline(5, "children", lambda: all(gone(p) for p in pids))


def test_console_unlinks(up):
    f, sm = up(console=True, **SMALL)
    assert len(links(f.tool("iblinkinfo").ok().stdout)) == 2 * 7
    f.console('Unlink "gpu-002"[1]')
    sm.hup()
    assert len(links(f.tool("iblinkinfo").ok().stdout)) == 2 * 6
    with pytest.raises(run.KitError):
        f.console("Unlnk everything")


# --- fences ---


def test_overlay_refuses_to_run_without_the_simulator(fabric):
    f = fabric(**SMALL)
    r = f.run("/bin/true", env={"LD_PRELOAD": run.overlay()})
    assert r.returncode == -signal.SIGABRT and "libumad2sim.so is not loaded" in r.stderr


def test_opensm_without_the_simulator_is_killed(fabric, monkeypatch, tmp_path):
    """As if the loader had only warned. No real OpenSM here: a stand-in that has libibumad and waits."""
    source = tmp_path / "stand_in.c"
    source.write_text("#include <unistd.h>\nint umad_init(void);\nint main(void)\n{\n\treturn umad_init() + pause();\n}\n")
    run.run(["gcc", source, "-o", tmp_path / "opensm", "-libumad"]).ok()
    f = fabric(**SMALL)
    env = f.env
    monkeypatch.setattr(f, "env", lambda **k: {**env(**k), "LD_PRELOAD": "", "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    with pytest.raises(run.KitError, match="without libumad2sim"):
        f.opensm()
    assert not f.sms


def test_programs_that_hang_are_killed(fabric):
    f = fabric(**SMALL)
    with pytest.raises(run.KitError, match="did not end within 0.5 s"):
        f.run("sleep", "30", timeout=0.5)


# --- the overlay: answers changed ---


def test_narrowed_and_slowed_links(up):
    f, _ = up()
    leaf, spine = f.net["leaf-01"], f.net["spine-02"]
    port = leaf.to("spine-02")[0]
    peer = leaf.cables[port].peer(leaf)[1]
    f.rules(f"node=leaf-01 port={port} attr=PortInfo : set LinkWidthActive=1",
            f"node=spine-02 port={peer} attr=PortInfo : set LinkWidthActive=1",
            "node=gpu-003 attr=PortInfo : set LinkSpeedExtActive=1",
            "node=leaf-01 port=3 attr=PortInfo : set LinkSpeedExtActive=1")
    found = links(f.tool("iblinkinfo").ok().stdout)
    odd = {x for x in found if x[2:] != ("4X", "25.78125 Gbps")}
    assert odd == {("leaf-01", port, "1X", "25.78125 Gbps"), (spine.desc, peer, "1X", "25.78125 Gbps"),
                   ("gpu-003 mlx5_0", 1, "4X", "14.0625 Gbps"), ("leaf-01", 3, "4X", "14.0625 Gbps")}
    assert f.tool("iblinkinfo").ok().stdout.count("Could be 4X") == 2


def test_rules_change_while_the_fabric_runs(up):
    f, _ = up(**SMALL)
    for width in ("1X", "4X", "2X"):
        f.rules(f"attr=PortInfo : set LinkWidthActive={dict(zip(('1X', '4X', '2X'), (1, 2, 16)))[width]}")
        assert {x[2] for x in links(f.tool("iblinkinfo").ok().stdout)} == {width}


def test_sl2vl_and_vlarb_of_one_port(up):
    f, _ = up(options={"qos": "TRUE"}, **SMALL)
    f.rules("node=leaf-01 port=36 attr=SL2VL mod=0x0124 : set SL0=1 SL1=0 SL15=15",
            "node=leaf-01 port=36 attr=VLArb mod=0x00010024 : set entry0=3:200 byte3=0x11")
    text = f.tool("smpquery", "-D", "sl2vl", "0,1", "36").ok().stdout
    rows = {m[1]: m[2] for m in re.finditer(r"in +(\d+), out 36: \|(.*)\|", text)}
    assert rows["1"].split("|")[:2] == [" 1", " 0"] and rows["1"].split("|")[15] == "15"
    assert rows["2"].split("|")[:2] == [" 0", " 1"]
    text = f.tool("smpquery", "-D", "vlarb", "0,1", "36").ok().stdout
    vls, weights = [re.findall(r"0x(\w+)", line) for line in text.splitlines() if line.startswith(("VL ", "WEIGHT"))][:2]
    assert (vls[0], weights[0], weights[1]) == ("3", "C8", "11"), text


def test_lid_addressed_queries_reach_the_rules(up):
    f, _ = up(**SMALL)
    f.rules('node="gpu-002*" attr=PortInfo : set LinkWidthActive=1', 'node=leaf-02 attr=PortInfo port=1 : set LMC=3')
    text = f.tool("ibnetdiscover").ok().stdout
    lid = re.search(r'"gpu-002 mlx5_0" lid (\d+)', text)[1]
    other = re.search(r'"gpu-001 mlx5_0" lid (\d+)', text)[1]
    leaf2 = re.search(r'"leaf-02" .*port 0 lid (\d+)', text)[1]
    assert field(f.tool("smpquery", "portinfo", lid, "1").ok().stdout, "LinkWidthActive") == "1X"
    assert field(f.tool("smpquery", "portinfo", other, "1").ok().stdout, "LinkWidthActive") == "4X"
    assert field(f.tool("smpquery", "portinfo", leaf2, "1").ok().stdout, "LMC") == "3"
    assert field(f.tool("smpquery", "portinfo", leaf2, "2").ok().stdout, "LMC") == "0"


def test_counters(up):
    f, _ = up(**SMALL)
    f.rules("node=leaf-01 port=36 attr=PortCounters : set SymbolErrorCounter=77 PortXmitDiscards=5")
    lid = re.search(r'"leaf-01" .*port 0 lid (\d+)', f.tool("ibnetdiscover").ok().stdout)[1]
    text = f.tool("perfquery", lid, "36").ok().stdout
    assert (field(text, "SymbolErrorCounter"), field(text, "PortXmitDiscards")) == ("77", "5")
    assert field(f.tool("perfquery", lid, "1").ok().stdout, "SymbolErrorCounter") == "0"


def test_node_description(up):
    f, _ = up(**SMALL)
    f.rules('node=gpu-002 attr=NodeDesc : set NodeDesc="renamed # host"')
    assert '"renamed # host"' in f.tool("ibnetdiscover").ok().stdout


# --- the overlay: silence, errors, time ---


def test_a_node_that_times_out(up):
    f, _ = up(**SMALL)
    f.rules("node=gpu-002 : timeout")
    begin = time.monotonic()
    r = f.tool("iblinkinfo", "-t", "50")
    assert time.monotonic() - begin < 20
    assert "gpu-002 mlx5_0:" not in r.stdout and "gpu-001 mlx5_0:" in r.stdout


def client(f, way, timeout, *attributes):
    """(attribute, MAD status, umad status) of each answer, then when and how the waiting ended."""
    lines = f.run("/usr/bin/python3", CLIENT, way, timeout, *attributes).ok().stdout.split("\n")[:-1]
    rows = [line.split() for line in lines]
    return [tuple(r[1:]) for r in rows[:-1]], [float(r[0]) for r in rows], int(rows[-1][1])


@pytest.mark.parametrize("way", ["recv", "poll"])
def test_silence_is_silence(fabric, way):
    f = fabric(**SMALL)
    f.rules("node=gpu-001 attr=PortInfo : drop")
    # three answers, of which one is swallowed; then the whole wait passes, and no longer
    answers, at, code = client(f, way, 300, "0x11", "0x15", "0x10")
    assert answers == [("0x0011", "0x0", "0"), ("0x0010", "0x0", "0")] and code == -errno.ETIMEDOUT
    assert at[1] < 0.15 and 0.29 < at[-1] < 0.8
    # a swallowed answer alone does not look ready, and restarts no clock
    answers, at, code = client(f, way, 200, "0x15", "0x15", "0x15")
    assert not answers and 0.19 < at[-1] < 0.4 and code == -errno.ETIMEDOUT


def test_receive_without_waiting(fabric):
    f = fabric(**SMALL)
    f.rules("attr=PortInfo : drop")
    _, at, code = client(f, "peek", 0, "0x15")
    assert at[-1] < 0.1 and code == -errno.EWOULDBLOCK


@pytest.mark.parametrize("way", ["recv", "poll"])
def test_timeout_is_the_kernels(fabric, way):
    f = fabric(**SMALL)
    f.rules("attr=PortInfo : timeout")
    # the request comes back with ETIMEDOUT after its 100 ms, also to one who would wait for ever
    answers, at, code = client(f, way, 400, "0x15")
    assert answers == [("0x0015", "0x0", str(errno.ETIMEDOUT))] and 0.09 < at[0] < 0.3
    assert code == -errno.ETIMEDOUT


@pytest.mark.parametrize("way", ["recv", "poll"])
def test_delay_and_duplicates(fabric, way):
    f = fabric(**SMALL)
    f.rules("attr=NodeInfo : delay=150", "attr=NodeDesc : duplicate=2")
    answers, at, _ = client(f, way, 300, "0x11", "0x10", "0x15")
    assert sorted(a[0] for a in answers) == ["0x0010"] * 3 + ["0x0011", "0x0015"]
    assert answers[-1][0] == "0x0011" and 0.14 < at[len(answers) - 1] < 0.29


def test_status(fabric):
    f = fabric(**SMALL)
    f.rules("node=gpu-001 attr=VLArb : status=0x1c", "attr=SL2VL mod=0 : status=0x0c")
    answers, _, _ = client(f, "recv", 100, "0x18", "0x17", "0x10")
    assert answers == [("0x0018", "0x1c", "0"), ("0x0017", "0xc", "0"), ("0x0010", "0x0", "0")]


def test_probability_is_seeded(up):
    f, _ = up(**SMALL)
    f.rules("attr=PortInfo prob=0.5 : set LMC=5")

    def draw(seed):
        return [field(f.tool("smpquery", "-D", "portinfo", "0", "1", seed=seed).ok().stdout, "LMC")]

    assert draw(1) == draw(1)
    assert {x for s in range(12) for x in draw(s)} == {"0", "5"}


# --- the overlay in OpenSM: the record, lost and refused Sets ---


def test_vl_high_limit_comes_from_opensms_set(up):
    f, sm = up(options={"qos": "TRUE", "qos_high_limit": "17", "qos_swe_high_limit": "23"}, **SMALL)

    def limits():
        return [field(f.tool("smpquery", "-D", "portinfo", *at).ok().stdout, "VLHighLimit")
                for at in (("0", "1"), ("0,1", "1"), ("0,1,36,2", "36"))]

    assert limits() == ["17", "23", "23"]
    sm.write_config(qos_swe_high_limit="4")
    sm.hup()
    assert limits() == ["17", "4", "4"]
    # without the record the simulator's own value shows: 0
    assert field(f.run("smpquery", "-D", "portinfo", "0,1", "1", env={"IBQOS_OVERLAY_RECORD": ""}).ok().stdout,
                 "VLHighLimit") == "0"


def test_vl_high_limit_without_a_set_stays_the_simulators(up):
    f, _ = up(options={"qos": "FALSE"}, **SMALL)
    assert field(f.tool("smpquery", "-D", "portinfo", "0,1", "1").ok().stdout, "VLHighLimit") == "0"


def test_a_refused_set_leaves_the_device_as_it_was(up):
    leaf = "node=leaf-01 port=36 attr=SL2VL method=set"
    f, sm = up(options={"qos": "TRUE", "qos_sl2vl": ",".join(["2"] * 16)}, rules=[f"{leaf} : status=0x1c"], **SMALL)

    def row(port):
        text = f.tool("smpquery", "-D", "sl2vl", "0,1", port).ok().stdout
        return re.search(rf"in  1, out +{port}: \|(.*)\|", text)[1].split("|")[:3]

    assert row("36") == [" 0", " 1", " 2"] and row("1") == [" 2", " 2", " 2"]
    assert "ERR 3111" in sm.log()
    sm.rules()
    sm.hup()
    assert row("36") == [" 2", " 2", " 2"]


def test_a_lost_set_times_out_in_opensm(up):
    f, sm = up(options={"qos": "TRUE", "qos_sl2vl": ",".join(["2"] * 16), "transaction_timeout": "50",
                        "transaction_retries": "1"},
               rules=["node=leaf-01 port=36 attr=SL2VL method=set : timeout"], **SMALL)
    text = f.tool("smpquery", "-D", "sl2vl", "0,1", "36").ok().stdout
    assert re.search(r"in  1, out 36: \| 0\| 1\| 2\|", text)
    assert "ERR 3113" in sm.log()


def test_opensm_sees_other_capabilities(up):
    f, sm = up(options={"qos": "TRUE"}, rules=["node=gpu-* attr=PortInfo : set VLCap=2"], **SMALL)
    # OpenSM took the smaller of both ends for the link: VL0-1
    assert field(f.tool("smpquery", "-D", "portinfo", "0", "1").ok().stdout, "OperVLs") == "VL0-1"
    assert field(f.tool("smpquery", "-D", "portinfo", "0,1", "36").ok().stdout, "OperVLs") == "VL0-7"


# --- what was sent ---


def test_log_counts_opensms_sets(up):
    f, sm = up(**SMALL)
    assert sm.stop()
    sent = sm.sent()
    assert sent.summaries == 1 and sent.gets > 0
    assert sent.sets == len(sent.lines) > 20
    assert any("attr=0x0015" in line and "dr=0,1" in line for line in sent.lines)


def test_log_of_a_reader_has_no_set(up):
    f, _ = up(**SMALL)
    log = f.path("sent")
    f.tool("smpquery", "-D", "nodeinfo", "0", log=log).ok()
    from kit import sim
    sent = sim.Sent(log)
    assert (sent.gets, sent.sets, sent.lines, sent.summaries) == (1, 0, [], 1)


def test_log_shows_a_readers_set(up):
    f, _ = up(**SMALL)
    log = f.path("sent")
    f.tool("perfquery", "-R", "1", "1", log=log)  # clears counters: a Set
    from kit import sim
    assert len(sim.Sent(log).lines) == 1


# --- wrong rules end the process, so that no test passes by a typo ---


@pytest.mark.parametrize("rule, why", [
    ("node=leaf-01 atr=PortInfo : drop", "unknown word 'atr=PortInfo'"),
    ("node=leaf-1 : drop", "no node in the net file is named 'leaf-1'"),
    ("guid=0x1 : drop", "no node in the net file has the GUID '0x1'"),
    ("attr=PortInfos : drop", "unknown attribute 'PortInfos'"),
    ("attr=PortInfo : set LinkWidthActiv=1", "unknown field 'LinkWidthActiv'"),
    ("attr=PortInfo : set LinkWidthActive=1x", "bad number '1x'"),
    ("attr=PortInfo : set LinkWidthActive=256", "does not fit its field: '256'"),
    ("attr=PortInfo : set", "no FIELD=VALUE behind 'set'"),
    ("attr=SL2VL : set SL16=1", "unknown field 'SL16'"),
    ("attr=VLArb : set entry0=16:1", "not VL:WEIGHT '16:1'"),
    ("attr=PortCounters class=smp : drop", "the attribute is of another class than 'smp'"),
    ("node=leaf-01 drop", "unknown word 'drop'"),
    ("node=leaf-01 :", "no action in the rule"),
    ("node=leaf-01 : set LMC=1", "set needs attr="),
    ("method=put : drop", "unknown method 'put'"),
    ("prob=1.5 : drop", "not a probability '1.5'"),
    ("port=255 : drop", "bad number '255'"),
    ("port : drop", "needs a value: 'port'"),
    (": drop=1", "takes no value: 'drop=1'"),
    (': status="0x1c', "quote not closed"),
])
def test_wrong_rules_abort(fabric, rule, why):
    f = fabric(**SMALL)
    f.rules(rule)
    r = f.tool("smpquery", "-D", "nodeinfo", "0")
    assert r.returncode == -signal.SIGABRT, r
    assert why in r.stderr


def test_a_mad_for_an_unknown_device_aborts(fabric):
    # ibsim takes the LID from the file and answers; the overlay has seen nobody set it
    f = fabric(net=netgen.fat_tree(**SMALL).text().replace("lid 0 lmc 0", "lid 7 lmc 0", 1))
    f.tool("smpquery", "portinfo", "7", "1").ok()
    f.rules("node=leaf-01 attr=PortInfo : drop")
    r = f.tool("smpquery", "portinfo", "7", "1")
    assert r.returncode == -signal.SIGABRT and "cannot tell which device" in r.stderr, r


# --- the generator ---


def test_generator_is_stable_and_complete():
    a, b = netgen.fat_tree(), netgen.fat_tree()
    assert a.text() == b.text()
    assert len(a.hosts) == 26 and len(a.switches) == 6 and len(a.cables) == 26 + 4 * 2 * 2
    guids = [n.port_guid(p) for n in a.hosts for p in range(1, n.ports + 1)] + [n.guid for n in a.nodes.values()]
    assert len(set(guids)) == len(guids)
    for c in a.cables:
        assert c.peer(c.a) == (c.b, c.bp) and c.peer(c.b) == (c.a, c.ap)


def test_generator_command_line(tmp_path):
    r = run.run(["/usr/bin/python3", os.path.join(run.TOP, "tests/tools/netgen.py"), "--leaves", "3", "--logins", "2"])
    assert r.ok().stdout == netgen.fat_tree(leaves=3, logins=2).text()
    r = run.run(["/usr/bin/python3", os.path.join(run.TOP, "tests/tools/netgen.py"), "--switch-ports", "6"])
    assert r.returncode == 2 and "taken" in r.stderr


def test_larger_fabric_than_ibsims_defaults(fabric):
    f = fabric(net=netgen.fat_tree(leaves=18, spines=9, hosts_per_leaf=18, uplinks=2, storage=0))
    assert f.tool("ibnetdiscover").ok().stdout.count("\nCa\t") == 324


def test_slower_links_are_ibsims(fabric):
    net = netgen.fat_tree(**SMALL)
    net.add_ca("old-01")
    net.cable("old-01", "leaf-01", width=1, speed="QDR")
    f = fabric(net=net)
    text = f.tool("smpquery", "-D", "portinfo", "0,1", str(net["leaf-01"].to("old-01")[0])).ok().stdout
    assert field(text, "LinkWidthActive") == "1X" and field(text, "LinkWidthSupported") == "1X"
    assert field(text, "LinkSpeedActive") == "10.0 Gbps"
