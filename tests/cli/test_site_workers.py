# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Workers of a site that answer badly or not at all: each loses its own fabric, by name, and nothing else."""
import array
import fcntl
import json
import os
import re
import signal
import subprocess
import termios
import time

import pytest

from kit import run, screen, terminal
from kit.page import Page

HEAD = '{"ibqos_answer":1,"ibqos":"0.1.0","command":"discover","fabric":"%s"}'
GOOD = ['["s","fabric_found","fabric"]', '["f","switches","switches",7,0,null]', '["S"]',
        '["t","links","links",[["node_guid",null,4,null,0],["gbps","rate",2,"Gb/s",0]]]',
        '["r",[{"g":"0x0c42a10300000010"},100.0]]', '["r",[[],null]]', '["T"]',
        '["F",{"code":"link-width-low","severity":"critical","guid":"0x0c42a10300000010","port":1,"name":"gpu-1",'
        '"wanted":"4x","got":"1x","weight":75.5}]', '["e",2,false]']


class Fakes:
    """A site whose fabrics are answered by what stands in files: answer(name, *lines, exit=2, do="")."""

    def __init__(self, folder):
        self.dir, self.entries = str(folder), []

    def answer(self, name, *lines, exit=2, do="", end="\n", **more):
        path = os.path.join(self.dir, f"answer-{name}")
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + end)
        self.entries.append({"name": name, "via": ["sh", "-c", f"cat {path}; {do or 'true'}; exit {exit}", "sh"], **more})
        return self

    def good(self, name):
        return self.answer(name, HEAD % name, *GOOD)

    @property
    def file(self):
        path = os.path.join(self.dir, "site.yaml")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"version": 1, "fabrics": self.entries}, f)
        return path


@pytest.fixture
def fakes(tmp_path):
    return Fakes(tmp_path)


def test_a_parent_that_ignores_ends_of_children(fakes):
    """What a daemon has left ignored is inherited: how the workers ended must be known all the same."""
    fakes.good("rail0").answer("rail1", do="kill -9 $$")
    r = subprocess.run([run.binary(), "discover", "--site", fakes.file, "--format", "json"], capture_output=True, text=True, timeout=60,
                       check=False, preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert [(f["fabric"], f["exit"]) for f in json.loads(r.stdout)["fabrics"]] == [("rail0", 2), ("rail1", 3)], r.stderr


def test_what_a_worker_finds_open(fakes, tmp_path):
    """Standard input, output and errors: no other worker's answer, which it could change."""
    fakes.good("rail0")
    for name in ("rail1", "rail2"):
        fakes.answer(name, HEAD % name, *GOOD, do=f"ls -l /proc/self/fd > {tmp_path}/open-{name}")
    r = run.run([run.binary(), "discover", "--site", fakes.file, "--format", "json"]).ok(2)
    assert [f["exit"] for f in r.json["fabrics"]] == [2, 2, 2]
    for name in ("rail1", "rail2"):
        lines = [line.split() for line in (tmp_path / f"open-{name}").read_text().splitlines() if "->" in line]
        assert [at[-3] for at in lines if not at[-1].endswith("/fd")] == ["0", "1", "2"], lines


def test_an_answer_that_says_it_is_not_whole(fakes):
    """Its findings could not all be told: the fabric is not clean, neither is its line."""
    fakes.answer("rail0", HEAD % "rail0", '["e",0,true]', exit=0).good("rail1")
    r = run.run([run.binary(), "discover", "--site", fakes.file, "--format", "json"]).ok(2)
    assert [(f["fabric"], f["exit"], f["verdict"]) for f in r.json["fabrics"]] == [("rail0", 3, "unknown"), ("rail1", 2, "critical")]
    assert [(f["fabric"], f["verdict"]) for f in r.json["summary"]] == [("rail0", "unknown"), ("rail1", "critical")]


def test_a_good_answer_is_told_in_every_format(fakes, ibqos):
    fakes.good("rail0").good("rail1")
    r = ibqos("discover", "--site", fakes.file, "--format", "json").ok(2)
    assert [(f["fabric"], f["fabric_found"]["switches"], f["exit"], f["verdict"]) for f in r.json["fabrics"]] == [
        ("rail0", 7, 2, "critical"), ("rail1", 7, 2, "critical")]
    assert r.json["fabrics"][0]["links"] == [{"node_guid": "0x0c42a10300000010", "gbps": 100.0}, {"node_guid": None, "gbps": None}]
    assert [(f["fabric"], f["code"], f["node"], f["port"], f["wanted"], f["got"]) for f in r.json["findings"]] == [
        ("rail0", "link-width-low", "gpu-1", 1, "4x", "1x"), ("rail1", "link-width-low", "gpu-1", 1, "4x", "1x")]
    assert r.json["findings"][0]["advice"] and r.json["fabric"] is None
    text = ibqos("discover", "--site", fakes.file).ok(2).stdout
    assert "== rail0 ==" in text and "critical: rail1: gpu-1[1]: " in text and "verdict: critical (2 critical)" in text
    metrics = ibqos("discover", "--site", fakes.file, "--format", "prometheus", "--label", "site=a").ok(2).stdout
    assert 'ibqos_fabric_switches{command="discover",site="a",fabric="rail1"} 7' in metrics
    assert 'ibqos_exit_status{command="discover",site="a",fabric="rail0"} 2' in metrics
    assert 'ibqos_findings{command="discover",site="a",fabric="rail0",severity="critical"} 1' in metrics
    assert 'ibqos_port_findings{command="discover",site="a",fabric="rail0",node_guid="0x0c42a10300000010",port="1",' in metrics
    assert [line for line in metrics.splitlines() if line.startswith("ibqos_port_findings_omitted")] == [
        f'ibqos_port_findings_omitted{{command="discover",site="a",fabric="{name}"}} 0' for name in ("rail0", "rail1")]
    page = ibqos("discover", "--site", fakes.file, "--format", "html").ok(2).stdout
    assert 'id="r-rail0--links"' in page and 'id="r-rail1--links"' in page and "rail1: gpu-1[1]" in page
    assert page.count("<td>rail0: gpu-1[1]") == page.count("<td>rail1: gpu-1[1]") == 1  # in the table of each finding
    line = ibqos("discover", "--site", fakes.file, "--format", "nagios").ok(2).stdout
    assert line.startswith("IBQOS CRITICAL - discover: rail0 link-width-low at gpu-1[1], rail1 link-width-low at gpu-1[1] |")
    assert " rail1_switches=7" in line


def test_findings_without_a_metric_are_counted_by_fabric(fakes, ibqos):
    """1,000 of all have one, the worst first; what is over is counted for its own fabric."""
    finding = '["F",{"code":"link-width-low","severity":"%s","guid":"0x0c42a103000%05x","port":1,"name":"gpu-1","wanted":"4x","got":"1x","weight":1}]'
    fakes.answer("rail0", HEAD % "rail0", *(finding % ("critical", i) for i in range(700)), '["e",2,false]')
    fakes.answer("rail1", HEAD % "rail1", *(finding % ("warning", i) for i in range(800)), '["e",1,false]', exit=1)
    metrics = ibqos("discover", "--site", fakes.file, "--format", "prometheus").ok(2).stdout.splitlines()
    counted = {name: sum(line.startswith(f'ibqos_port_findings{{command="discover",fabric="{name}"') for line in metrics) for name in ("rail0", "rail1")}
    assert counted == {"rail0": 700, "rail1": 300}
    assert [line for line in metrics if line.startswith("ibqos_port_findings_omitted")] == [
        'ibqos_port_findings_omitted{command="discover",fabric="rail0"} 0', 'ibqos_port_findings_omitted{command="discover",fabric="rail1"} 500']


def test_the_line_of_progress(fakes, tmp_path):
    """On a terminal: how many have ended, and the names of those that have not; nothing of it is left."""
    gate = tmp_path / "gate"
    fakes.good("rail0").answer("rail1", HEAD % "rail1", *GOOD, do=f"echo slow >&2; while ! test -e {gate}; do sleep 0.1; done")
    env = {**{k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "TERM")}, "TERM": "xterm"}
    with terminal.Terminal([run.binary(), "discover", "--site", fakes.file], rows=100, columns=100, env=env) as t:
        t.wait_for(lambda: re.search(rb"ibqos: discover: 1 of 2 fabrics done, \d+ s; still rail1", t.output), "a line")
        gate.touch()
        assert t.end() == 2
    lines = screen.lines(t.output.decode(), 100, 100)
    assert "rail1: slow" in lines and not [line for line in lines if "fabrics done" in line]
    r = run.run([run.binary(), "discover", "--site", fakes.file]).ok(2)
    assert "fabrics done" not in r.stderr
    gate.unlink()
    fakes.entries = []
    fakes.answer("rail0", "IBQOSNAP").answer("rail1", "IBQOSNAP", do=f"while ! test -e {gate}; do sleep 0.1; done")
    with terminal.Terminal([run.binary(), "rails", "--site", fakes.file], rows=100, columns=100, env=env) as t:
        t.wait_for(lambda: re.search(rb"ibqos: rails: 1 of 2 fabrics done, \d+ s; still rail1", t.output), "a line")
        gate.touch()
        assert t.end() == 3
    assert not [line for line in screen.lines(t.output.decode(), 100, 100) if "fabrics done" in line]


BAD = {
    "nothing": ((), {"end": ""}, "ended with status 2 without an answer"),
    "garbage": (("hello",), {}, "is no answer of ibqos, but 'hello'"),
    "binary": (("\x1b[2J\x00",), {}, "is no answer of ibqos"),
    "cut-off": ((HEAD % "x", *GOOD[:-1]), {}, "cut off behind line 9"),
    "cut-line": ((HEAD % "x", *GOOD[:3], GOOD[3][:40]), {"end": ""}, "cut off in line 5"),
    "newer": ((HEAD.replace("1,", "2,", 1) % "x", *GOOD), {}, "format 2 of ibqos 0.1.0"),
    "other-fabric": ((HEAD % "y", *GOOD), {}, "answers 'discover' about fabric 'y'"),
    "no-json": ((HEAD % "x", "{", *GOOD), {}, "line 2 of its answer has no JSON"),
    "two-values": ((HEAD % "x", '["S"]["S"]', *GOOD), {}, "line 2 of its answer has no JSON"),
    "unknown-call": ((HEAD % "x", '["z"]', *GOOD), {}, "line 2 of its answer has what this ibqos does not know"),
    "unknown-code": ((HEAD % "x", '["F",{"code":"new-one","severity":"critical"}]', *GOOD), {}, "a code that this ibqos does not know"),
    "bad-row": ((HEAD % "x", *GOOD[:4], '["r",[1]]', *GOOD[4:]), {}, "line 6 of its answer has a row that is none"),
    "bad-key": ((HEAD % "x", '["f","a b",null,1,0,null]', *GOOD), {}, "line 2 of its answer has a field that is none"),
    "escape": ((HEAD % "x", '["f","a","\\u001b[2J",1,0,null]', *GOOD), {}, "line 2 of its answer has a field that is none"),
    "more": ((HEAD % "x", *GOOD, *GOOD), {}, "more behind its end"),
    "other-exit": ((HEAD % "x", *GOOD), {"exit": 0}, "ended with status 0, but its answer says 2"),
    "killed": ((HEAD % "x", *GOOD), {"do": "kill -9 $$"}, "ended by signal 9"),
    "late": ((HEAD % "x", *GOOD), {"do": "sleep 60", "timeout": 1}, "no answer came in 1 s"),
    "open": ((HEAD % "x", *GOOD[:-1]), {"do": "sleep 60 & true"}, "cut off"),
    "ssh-like": ((), {"end": "", "exit": 255, "do": "echo Permission denied >&2"}, "status 255 without an answer: Permission denied"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_answer_loses_its_own_fabric_only(fakes, ibqos, kind):
    lines, more, why = BAD[kind]
    fakes.good("rail0").answer("x", *lines, **more).good("rail2")
    r = ibqos("discover", "--site", fakes.file, "--format", "json").ok(2)
    verdicts = {f["fabric"]: (f["verdict"], f.get("error")) for f in r.json["fabrics"]}
    assert verdicts["rail0"] == verdicts["rail2"] == ("critical", None)
    assert verdicts["x"][0] == "unknown" and why in verdicts["x"][1], verdicts
    lost = [f for f in r.json["findings"] if f["fabric"] == "x"]
    assert [(f["code"], f["severity"]) for f in lost] == [("site-no-answer", "unknown")] and why in lost[0]["detail"]
    assert len(r.json["findings"]) == 3
    # nothing of a broken answer is anywhere
    assert "links" not in [f for f in r.json["fabrics"] if f["fabric"] == "x"][0]
    if "Permission" in why:
        assert "x: Permission denied\n" in r.stderr
    text = ibqos("discover", "--site", fakes.file, "--format", "prometheus").ok(2).stdout
    assert 'ibqos_up{command="discover",fabric="x"} 0' in text and 'ibqos_up{command="discover",fabric="rail2"} 1' in text


FAILED = '["f","error",null,"no adapter is called \'mlx5_9\'",-1,null]'


def test_an_answer_that_nothing_could_be_looked_at_is_none(fakes, ibqos):
    """Only single fields are in it: the reason is a finding, in every format, and the fabric has not answered."""
    fakes.good("rail0").answer("x", HEAD % "x", '["f","policy",null,"/p",-1,null]', FAILED, '["e",3,false]', exit=3, do="echo ibqos: no such adapter >&2")
    r = ibqos("discover", "--site", fakes.file, "--format", "json").ok(2).json
    assert [(f["fabric"], f["answered"]) for f in r["summary"]] == [("rail0", True), ("x", False)]
    (lost,) = [f for f in r["findings"] if f["fabric"] == "x"]
    assert (lost["code"], lost["severity"], lost["detail"]) == ("site-no-answer", "unknown", "no adapter is called 'mlx5_9'")
    assert lost["got"] == "ibqos: no such adapter"
    assert [(f["verdict"], f["exit"], f.get("error")) for f in r["fabrics"]] == [("critical", 2, None), ("unknown", 3, lost["detail"])]
    text = ibqos("discover", "--site", fakes.file).ok(2).stdout
    assert re.search(r"^x +unknown +no$", text, re.M) and "unknown: x: fabric was not looked at" in text and "no adapter is called 'mlx5_9'" in text
    assert "no adapter is called" in ibqos("discover", "--site", fakes.file, "--format", "html").ok(2).stdout.split('id="r-findings"')[0]
    assert "x site-no-answer" in ibqos("discover", "--site", fakes.file, "--format", "nagios").ok(2).stdout.splitlines()[0]
    metrics = ibqos("discover", "--site", fakes.file, "--format", "prometheus").ok(2).stdout
    assert 'ibqos_up{command="discover",fabric="x"} 0' in metrics
    assert 'ibqos_findings{command="discover",fabric="x",severity="unknown"} 1' in metrics
    # alone it is the exit status
    fakes.entries = fakes.entries[1:]
    assert ibqos("discover", "--site", fakes.file, "--format", "json").ok(3).json["verdict"] == "unknown"


def test_an_answer_that_is_not_all_that_was_asked_for(fakes, ibqos):
    fakes.answer("x", HEAD % "x", *GOOD[:-2], FAILED, '["e",3,false]', exit=3)
    r = ibqos("discover", "--site", fakes.file, "--format", "json").ok(3).json
    assert [f["answered"] for f in r["summary"]] == [True] and r["fabrics"][0]["links"]
    assert [(f["code"], f["severity"], f["detail"]) for f in r["findings"]] == [("site-not-whole", "unknown", "no adapter is called 'mlx5_9'")]


PICTURE = ('<div class="fm"><p>1 &amp; 2 &lt;b&gt;</p>\n<input type="radio" name="fm-view" class="fm-findings" id="fm-findings" checked>'
           '<label for="fm-findings">x</label><svg class="fm-s" role="img" aria-labelledby="fm-t0 fm-t1" width="10" height="10" data-rows="0-3">'
           '<title id="fm-t0">t</title><path class="c k-ok" d="M0 5h10"/></svg></div>')
NO_PICTURES = ["<script>x</script>", "<div><script/></div>", "<img src=x>", '<div onclick="x">x</div>', '<div style="x">x</div>', '<p><a href="#x">x</a></p>',
               '<svg class="c"><use href="#x"/></svg>', '<svg xmlns="x"></svg>', "<div>", "</div>", "</figure></section>", "<div></p></div>", "<p>x</p></p>",
               "<DIV></DIV>", "<div ></div>", "<div/>", "<!-- x -->", "<!doctype html>", "<?x?>", "<![CDATA[x]]>", "a > b", "&#60;", "&nbsp;", "&", "<",
               "<p", "<p class", '<p class="', '<p class="c', '<p class="c"', '<table class="data"></table>', '<p class="verdict critical">x</p>',
               '<p class="c finding">x</p>', "<p class=c>x</p>", "<p class='c'>x</p>", '<p class>x</p>', '<p hidden="x">x</p>', '<p id="a b&quot;c">x</p>',
               '<p id="A">x</p>', '<p id="a\nb">x</p>', '<svg width="1000000000"></svg>', '<svg height="100%"></svg>', '<p data-a="<b>">x</p>',
               '<p data-a="&x;">x</p>', "<p>\x1b[2J</p>", "<p>\u202e</p>", "<p>\x7f</p>", "<section></section>", "<form></form>", "<title>x</title><textarea>",
               '<input type="image">x<template>', "<foreignObject></foreignObject>", "<g" * 9, "<g>" * 33 + "</g>" * 33, '<p data-A="x">x</p>']


def test_pictures_are_part_of_the_page(fakes, ibqos):
    """Of each fabric, names of places in them told apart; other formats go without."""
    for name in ("rail0", "rail1"):
        fakes.answer(name, HEAD % name, json.dumps(["p", "figure_ports", "ports", PICTURE]), *GOOD)
    page = ibqos("discover", "--site", fakes.file, "--format", "html").ok(2).stdout
    Page(page)
    for name in ("rail0", "rail1"):
        drawn = PICTURE.replace("fm-view", f"{name}--fm-view").replace('id="fm', f'id="{name}--fm').replace('for="fm', f'for="{name}--fm').replace(
            '"fm-t0 fm-t1"', f'"{name}--fm-t0 {name}--fm-t1"')
        assert page.count(drawn) == 1 and page.count(f'<section id="r-{name}--figure_ports">') == 1
    ids = re.findall(r' id="([^"]*)"', page)
    assert len(ids) == len(set(ids))
    assert "figure" not in ibqos("discover", "--site", fakes.file, "--format", "json").ok(2).stdout
    # two of one name: neither the page's places nor its contents have it twice
    fakes.entries = []
    fakes.answer("x", HEAD % "x", *[json.dumps(["p", "links", "links", "<p>x</p>"])] * 2, *GOOD)
    page = ibqos("discover", "--site", fakes.file, "--format", "html").ok(2).stdout
    assert sorted(re.findall(r'<section id="(r-x--links[^"]*)"', page)) == ["r-x--links", "r-x--links_2", "r-x--links_3"]


def test_what_is_no_picture_loses_its_own_fabric(fakes, ibqos):
    """Whatever a worker hands back as one: no mark of it gets onto the page, and the other fabrics are told."""
    for i, markup in enumerate(NO_PICTURES):
        fakes.answer(f"x{i}", HEAD % f"x{i}", json.dumps(["p", "figure_x", "x", markup]), *GOOD)
    for i, call in enumerate([["p", "figure_x", None, "x"], ["p", "a b", "x", "x"], ["p", "figure_x", "x", 1], ["p", "figure_x", "x"],
                              ["p", "figure_x", "\x1b[2J", "x"]]):
        fakes.answer(f"y{i}", HEAD % f"y{i}", json.dumps(call), *GOOD)
    fakes.good("rail0")
    page = ibqos("discover", "--site", fakes.file, "--format", "html").ok(2).stdout
    p = Page(page)
    lost = [row for row in p.tables["t-findings"][1:] if "site-no-answer" in row]
    assert len(lost) == len(NO_PICTURES) + 5 and "line 2 of its answer has a picture that is none" in lost[0][7], lost[:1]
    assert "figure_x" not in page and "<figure" not in page and page.count("<script") == 1 and 'id="r-rail0--links"' in page


@pytest.mark.skipif("ASAN_OPTIONS" in os.environ, reason="each of millions of comparisons would look at the whole of both strings")
def test_counts_beyond_reason(fakes, ibqos):
    """Fields are compared one by one: too many are refused; as many as are taken end soon, with names made up to be in the way too."""
    end = '["e",0,false]'
    same = ['["f","a",null,1,0,null]'] * 2040
    fakes.answer("many", HEAD % "many", *['["f","a",null,1,0,null]'] * 4097, end, exit=0)
    fakes.answer("most", HEAD % "most", *(f'["f","a_{i}",null,1,0,null]' for i in range(2042, 4080)), *same, end, exit=0)
    fakes.answer("bare", HEAD % "bare", '["t","a","a",[["b",null,0,null,0]]]', '["r",["x"]]', '["T"]', end, exit=0)
    for form in ("json", "text"):
        r = ibqos("discover", "--site", fakes.file, "--format", form, timeout=100).ok(3)
        assert "line 4098 of its answer has more fields and tables than any command has" in r.stdout
        assert "line 2 of its answer has a table for people without a column for them" in r.stdout
        if form == "json":
            assert [f["verdict"] for f in r.json["fabrics"]] == ["unknown", "clean", "unknown"]
            assert {k for k in r.json["fabrics"][1] if k.startswith("a")} >= {"a", "a_2042"}
            assert sum(k == "a" or k.startswith("a_") for k in r.json["fabrics"][1]) == 4078


def test_all_lost_is_exit_3(fakes, ibqos):
    fakes.entries = [{"name": "a", "via": ["/no/such/command"]}, {"name": "b", "via": ["false"]}]
    r = ibqos("discover", "--site", fakes.file, "--format", "json").ok(3)
    assert [f["error"] for f in r.json["fabrics"]] == ["/no/such/command: No such file or directory",
                                                       "it ended with status 1 without an answer: it said nothing"]


def test_endless_workers_are_ended(fakes, ibqos):
    fakes.good("rail0")
    fakes.entries += [{"name": "yes", "via": ["yes"]},
                      {"name": "loud", "timeout": 2, "via": ["sh", "-c", "yes message >&2", "sh"]}]
    r = ibqos("discover", "--site", fakes.file, "--format", "json").ok(2)
    assert [f["verdict"] for f in r.json["fabrics"]] == ["critical", "unknown", "unknown"]
    assert r.stderr.count("loud: message\n") == 2000 and r.stderr.count("loud: more messages, not shown\n") == 1


def test_messages_are_whole_lines_behind_the_name(fakes, ibqos):
    fakes.answer("rail0", HEAD % "rail0", *GOOD, do="printf 'one\\ntw' >&2; sleep 0.1; printf 'o\\033[2J\\nthree' >&2")
    fakes.answer("rail1", HEAD % "rail1", *GOOD, do="for i in 1 2 3 4 5; do echo line $i >&2; done")
    lines = ibqos("discover", "--site", fakes.file).ok(2).stderr.splitlines()
    assert [x for x in lines if x.startswith("rail0")] == ["rail0: one", "rail0: two\ufffd[2J", "rail0: three"]
    assert [x for x in lines if x.startswith("rail1")] == [f"rail1: line {i}" for i in range(1, 6)]


def test_some_fabrics_by_name(fakes, ibqos):
    fakes.good("rail0").good("rail1").good("rail2")
    r = ibqos("discover", "--site", fakes.file, "--fabric", "rail2,rail0", "--format", "json").ok(2)
    assert [f["fabric"] for f in r.json["fabrics"]] == ["rail0", "rail2"]
    r = ibqos("discover", "--site", fakes.file, "--fabric", "rail0,rail9", "--format", "json").ok(3)
    assert "fabrics" not in r.json and "no fabric of the site is called 'rail9'" in r.stderr


def test_what_is_about_one_fabric_is_refused(fakes, ibqos, tmp_path):
    fakes.good("rail0")
    for argv in (["discover", "-C", "mlx5_0"], ["discover", "--Ca=mlx5_0"], ["discover", "-P1"], ["audit", "--state", "/s"], ["audit", "--baseline", "/b"],
                 ["verify", "--sample", "1/3", "--rotate", "/r"], ["discover", "-y", "prompt"], ["verify", "--opensm-conf", "/c"]):
        r = ibqos(*argv, "--site", fakes.file).ok(3)
        assert "is about one fabric, --site about many" in r.stderr or "workers have no terminal" in r.stderr, str(r)
    assert "no policy" in ibqos("verify", "--site", fakes.file).ok(3).stderr
    assert "no folder" in ibqos("snapshot", "--site", fakes.file).ok(3).stderr
    assert "no two folders" in ibqos("diff", "--site", fakes.file, tmp_path).ok(3).stderr
    assert "cannot read site" in ibqos("discover", "--site", tmp_path / "none").ok(3).stderr
    assert "workers have no terminal" in ibqos("rails", "--site", fakes.file, "-y", "prompt").ok(3).stderr
    assert "files are not asked" in ibqos("rails", "a.snap", "b.snap", "--retries", "0").ok(3).stderr
    assert "--timeout takes a whole number" in ibqos("rails", "--site", fakes.file, "-t", "0").ok(3).stderr
    # and a site with a fault is exit 2, as a policy is
    with open(fakes.file, "w", encoding="utf-8") as f:
        f.write("version: 1\n")
    fault = os.path.join(fakes.dir, "fault.yaml")
    os.rename(os.path.join(fakes.dir, "site.yaml"), fault)
    assert "site-fault" in ibqos("discover", "--site", fault).ok(2).stdout


def words(tmp_path, ibqos, entry, *argv):
    """The words that a fabric's worker is started with."""
    path, out = tmp_path / "words.yaml", tmp_path / "words"
    path.write_text(json.dumps({"version": 1, "fabrics": [{
        **entry, "via": entry.get("via") or ["sh", "-c", f"printf '%s\\n' \"$@\" >{out}", "sh"]}]}), encoding="utf-8")
    ibqos(*argv, "--site", path).ok(3)
    return out.read_text(encoding="utf-8").splitlines()


def test_words_of_a_worker(tmp_path, ibqos):
    entry = {"name": "r", "policy": "/p", "baseline": "/b", "state": "/s", "rotation": "/ro", "node_name_map": "/n", "guid2mkey": "/g",
             "opensm": {"config": "/o"}, "history": "/h", "port": {"ca": "mlx5_0", "port": 1}}
    common = ["--Ca=mlx5_0", "--Port=1", "--node-name-map=/n", "--guid2mkey=/g"]
    got = words(tmp_path, ibqos, entry, "verify", "-t", "500", "--sample=1/3", "-v")
    assert got[0] == os.path.realpath(run.binary())
    assert got[1:] == ["verify", "--format=calls", "--fabric=r", "--verbose", "--timeout=500", "--sample=1/3", *common,
                       "--opensm-config=/o", "--state-dir=/h", "--rotate=/ro", "--", "/p"]
    got = words(tmp_path, ibqos, entry, "audit", "--counters", "--all", "--format", "json", "--since", "last")
    assert got[1:] == ["audit", "--format=calls", "--fabric=r", "--counters", "--all", "--since=last", *common, "--links-of=/p",
                       "--baseline=/b", "--state=/s", "--"]
    got = words(tmp_path, ibqos, entry, "audit", "--policy", "/mine", "--node-name-map", "/m")
    assert got[1:] == ["audit", "--format=calls", "--fabric=r", "--policy=/mine", "--node-name-map=/m",
                       "--Ca=mlx5_0", "--Port=1", "--guid2mkey=/g", "--baseline=/b", "--state=/s", "--"]
    elsewhere = {"name": "r", "port": {"guid": 0x11}, "opensm": {"host": "mgmt"}, "program": "/opt/ibqos"}
    got = words(tmp_path, ibqos, elsewhere, "plan", "/theirs")
    assert got == ["/opt/ibqos", "plan", "--format=calls", "--fabric=r", "--port-guid=0x0000000000000011", "--opensm-config=none",
                   "--", "/theirs"]
    got = words(tmp_path, ibqos, entry, "rails", "-t500", "--retries", "0", "-o", "4", "--mad-rate=100", "--node-name-map", "/m")
    assert got[1:] == ["snapshot", "--fabric=r", "--timeout=500", "--retries=0", "--outstanding_smps=4", "--mad-rate=100", "--node-name-map=/m",
                       "--Ca=mlx5_0", "--Port=1", "--guid2mkey=/g", "--", "-"]
    got = words(tmp_path, ibqos, entry, "snapshot", "--counters", tmp_path / "set")
    assert got[1:] == ["snapshot", "--format=calls", "--fabric=r", "--counters", *common, "--policy=/p", "--",
                       f"{tmp_path}/set/r.snap"]


def test_ssh_gets_words_that_a_shell_leaves_whole(tmp_path, ibqos):
    """ssh(1) joins its words with blanks and gives them to a shell."""
    (tmp_path / "ssh").write_text("#!/bin/sh\nshift\nexec sh -c \"$*\"\n", encoding="utf-8")
    os.chmod(tmp_path / "ssh", 0o755)
    out = tmp_path / "words"
    (tmp_path / "remote").write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" >{out}\n", encoding="utf-8")
    os.chmod(tmp_path / "remote", 0o755)
    entry = {"name": "r", "via": [str(tmp_path / "ssh"), "host"], "program": str(tmp_path / "remote"), "policy": "/a b'c$(id)"}
    assert words(tmp_path, ibqos, entry, "verify")[-1] == "/a b'c$(id)"


def test_signals_end_all_workers(fakes, tmp_path):
    """SIGTERM: they are asked to end, and the run says so. SIGKILL: they end by themselves."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
        pids = [tmp_path / f"pid-{number}-{i}" for i in range(3)]
        fakes.entries = [{"name": f"r{i}", "via": ["sh", "-c", f"cd {p.parent}; echo $$ >t{i}; mv t{i} {p.name}; exec sleep 300", "sh"]}
                         for i, p in enumerate(pids)]
        p = run.start([run.binary(), "discover", "--site", fakes.file, "--format", "json"], stdout=subprocess.PIPE,
                      stderr=subprocess.DEVNULL)
        try:
            run.deadline(30, "workers", lambda: all(x.exists() for x in pids),
                         alive=lambda: p.poll() is None)
            p.send_signal(number)
            out, _ = p.communicate(timeout=60)
        finally:
            if p.poll() is None:
                p.kill()
        children = [int(x.read_text()) for x in pids]
        run.deadline(30, "end of the workers", lambda: not any(alive(c) for c in children))
        if number == signal.SIGKILL:
            continue
        assert p.returncode == 3
        report = json.loads(out)
        assert [f["verdict"] for f in report["fabrics"]] == ["unknown"] * 3 and "stopped by a signal" in json.dumps(report)


def waiting(pipe):
    """Bytes in a pipe that nobody has read."""
    number = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, number)
    return number[0]


def test_a_stop_while_answers_are_put_together(fakes):
    """Nobody reads the report, so it stands in its middle, all workers having ended: it ends early, and says so."""
    rows = ['["r",[{"g":"0x%016x"},100.0]]' % i for i in range(1, 40000)]
    for name in ("a", "b"):
        fakes.answer(name, HEAD % name, *GOOD[:4], *rows, '["T"]', '["e",0,false]', exit=0)
    p = run.start([run.binary(), "discover", "--site", fakes.file, "--format", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        run.deadline(60, "a pipe that is full", lambda: waiting(p.stdout) >= 60000, alive=lambda: p.poll() is None)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=60)
    finally:
        run.end(p)
    assert p.returncode == 3 and b"stopped by a signal: the result is not whole" in err
    assert len(out) < 1_000_000 and out.count(b'"verdict":"unknown"') == 5, out[-2000:]  # of both, in the summary, of the whole


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def peak(p):
    """The most memory that a process had, in KiB, as seen until it ended: its resource usage would have Python's in it, whose
    memory it was a copy of before exec()."""
    most = 0
    while p.poll() is None:
        with open(f"/proc/{p.pid}/status", encoding="ascii") as f:
            most = max([most] + [int(kib) for kib in re.findall(r"VmHWM:\s+(\d+)", f.read())])
        time.sleep(0.002)
    assert most > 0
    return most


def test_a_large_answer_is_streamed(fakes, tmp_path, ibqos):
    """Tables as of 11,664 hosts: memory does not grow with what workers hand back."""
    rows = ['["r",[{"g":"0x%016x"},100.0]]' % i for i in range(1, 60000)]
    peaks = []
    for count in (100, len(rows)):
        fakes.entries = []
        for name in ("a", "b"):
            fakes.answer(name, HEAD % name, *GOOD[:4], *rows[:count], *GOOD[4:])
        out = tmp_path / "out.json"
        site = fakes.file
        with open(out, "wb") as to:
            p = run.start([run.binary(), "discover", "--site", site, "--format", "json"], stdout=to, stderr=subprocess.PIPE)
            peaks.append(peak(p))
        assert p.returncode == 2, p.stderr.read()
        p.stderr.close()
        assert len(json.loads(out.read_text())["fabrics"][1]["links"]) == count + 2
    if "ASAN_OPTIONS" in os.environ:
        return  # what is freed stays in AddressSanitizer's quarantine
    assert peaks[1] < peaks[0] + 4096, peaks  # KiB; the answers are 2 x 2.5 MB
