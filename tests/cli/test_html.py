# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""--format html of every command that needs no fabric: the same verdict and exit status as the text, in a sound page."""
import pytest

from kit import dumps, looks, run
from kit.page import Page
from tools import netgen

POLICY = """version: 1
classes:
  - {name: training, sl: 1, nccl_ib_tc: 96, share: 60%}
  - {name: other, sl: 0, share: 40%, default: true}
"""


@pytest.fixture
def files(tmp_path):
    def put(name, text):
        (tmp_path / name).write_text(text, encoding="utf-8")
    for name, storage in (("a.topo", 2), ("b.topo", 1)):
        put(name, dumps.ibnetdiscover(netgen.fat_tree(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=storage)))
    put("policy.yaml", POLICY)
    put("bad.yaml", POLICY.replace("60%", "<b>") + "x: [\n")
    put("nccl.log", "gpu-01:1:1 [0] a.cc:1 NCCL WARN NET/IB: Got completion from peer 10.0.0.2<1> with status=12 opcode=0 len=0 vendor err 129 (Send) hca mlx5_0\n")
    put("job.sh", "export NCCL_IB_TC=96\nexport NCCL_IB_SL=1\n")
    put("conf", "qos TRUE\n")
    return tmp_path


COMMANDS = {
    "lint": ["lint", "policy.yaml"],
    "lint with faults": ["lint", "bad.yaml"],
    "discover": ["discover", "--from", "a.topo"],
    "audit": ["audit", "--from", "a.topo"],
    "verify": ["verify", "--from", "a.topo", "--opensm-conf", "conf"],
    "diff": ["diff", "a.topo", "b.topo"],
    "trace": ["trace", "gpu-001", "gpu-002", "--from", "a.topo"],
    "job check": ["job", "check", "job.sh", "--policy", "policy.yaml", "--class", "training"],
    "job env": ["job", "env", "--policy", "policy.yaml", "--class", "training"],
    "job log": ["job", "log", "nccl.log"],
    "job host": ["job", "host", "--sysfs", "sys"],
    "history": ["history", "--state-dir", "state"],
    "maintenance list": ["maintenance", "list", "--state-dir", "state"],
    "maintenance drain": ["maintenance", "drain", "leaf-01", "--from", "a.topo"],
}


@pytest.mark.parametrize("name", list(COMMANDS))
def test_a_page_of_each_command(ibqos, files, name):
    args = COMMANDS[name]
    text = ibqos(*args, cwd=files).ok(0, 1, 2, 3)
    assert "Try `ibqos" not in text.stderr, text
    r = ibqos(*args, "--format", "html", cwd=files).ok(text.returncode)
    page = Page(r.stdout)
    command = page.texts["h1"][0]
    assert command.startswith("ibqos " + args[0]) and page.texts["title"][0].endswith(": " + command)
    verdict = [line for line in text.stdout.splitlines() if line.startswith("verdict: ")]
    if verdict:
        assert page.texts["p.verdict"] == verdict
    words = {0: "clean", 1: "warning", 2: "critical", 3: "unknown"}
    assert page.texts["title"][0].startswith(words[r.returncode]) and ("data-exit", str(r.returncode)) in page.attributes
    assert page.tags["script"] == 1 and page.tags["style"] == 1 and "link" not in page.tags and "img" not in page.tags
    # the same in a file, replaced whole; standard output is silent then
    (files / "out.html").write_text("old")
    again = ibqos(*args, "--format", "html", "--output", "out.html", cwd=files).ok(text.returncode)
    assert again.stdout == "" and [p.name for p in files.iterdir() if "out.html" in p.name] == ["out.html"]
    if name != "discover":  # has its seconds
        assert looks.at_any_time((files / "out.html").read_text(encoding="utf-8")) == looks.at_any_time(r.stdout)


def test_diff_says_what_changed_what_was_expected_and_what_did_not_happen(ibqos, files):
    (files / "changes.yaml").write_text("version: 1\nchanges:\n  - oss-02 down\n  - gpu-001 down\n", encoding="utf-8")
    r = ibqos("diff", "a.topo", "b.topo", "--expect", "changes.yaml", "--format", "html", cwd=files).ok(2)
    page = Page(r.stdout)
    assert page.tables["t-expected"][1:] == [["3", "oss-02 down", "1", "1", "1"], ["4", "gpu-001 down", "1", "0", "0"]]
    each = {(row[1], row[9]) for row in page.tables["t-findings"][1:]}
    assert {("note", "node-gone"), ("critical", "expected-change-missing")} <= each
    told = dict(zip(page.texts["dt"], page.texts["dd"]))
    assert (told["nodes gone"], told["expected changes of"]) == ("1", "changes.yaml")
    assert any("oss-02" in h and "node-gone" in h for h in page.texts["h4"])


def test_output_that_cannot_be_written(ibqos, files):
    r = ibqos("lint", "policy.yaml", "--format", "html", "--output", "no/such/folder.html", cwd=files).ok(3)
    assert "cannot write no/such/folder.html" in r.stderr
    full = run.run([run.binary(), "lint", files / "policy.yaml", "--format", "html"], cwd="/", timeout=60)
    assert Page(full.stdout).texts["p.verdict"]
