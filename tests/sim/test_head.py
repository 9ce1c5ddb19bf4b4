# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The head of a report: when it was made, by what, from where and by which policy, in text, JSON and HTML; and what --redact hides is not in it."""
import calendar
import os
import re
import socket
import time

import pytest

from kit import looks, policy, sim
from tools import netgen

SHAPE = {"leaves": 2, "spines": 1, "hosts_per_leaf": 2, "storage": 0}


def write(f, sm):
    path = f.path("a<b>.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(policy.text(sm, name="first"))
    return path


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    with sim.Fabric(tmp_path_factory.mktemp("head"), netgen.fat_tree(**SHAPE)) as f:
        sm = f.opensm(options={"qos": "TRUE"})
        path = write(f, sm)
        f.rules(*looks.LACKS)
        f.ibqos("snapshot", "--policy", path, "before.snap").ok(0)
        yield f, path


def seconds(text):
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


COMMANDS = [["discover"], ["verify", "POLICY"], ["plan", "POLICY"], ["audit"], ["audit", "--policy", "POLICY", "--counters", "--state", "state"],
            ["trace", "gpu-001", "gpu-003"], ["trace", "gpu-001", "gpu-003", "--policy", "POLICY", "--class", "training"],
            ["snapshot", "--policy", "POLICY", "out.snap"], ["maintenance", "drain", "leaf-01"],
            ["maintenance", "begin", "NAME", "--state-dir", ".", "--no-counters", "--policy", "POLICY"]]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda w: " ".join(w[:2]))
def test_live(there, words):
    f, path = there
    host, first = socket.gethostname(), f.net.first
    version = f.ibqos("--version").ok().stdout.split()[1]

    def call(form):
        return f.ibqos(*(path if w == "POLICY" else w.replace("NAME", f"of-{form}") for w in words), "--format", form)

    before = int(time.time())
    got = call("json").json
    run = got["run"]
    assert before <= seconds(run.pop("began")) <= time.time() and got["ibqos"] == version
    lid = next(n["lid"] for n in f.ibqos("discover", "--format", "json").json["nodes"] if n["name"] == first.desc)
    named = {"policy": path, "policy_name": "first"} if "POLICY" in words else {}
    assert run == {"source": "live", "host": host, "device": "ibsim0", "port": 1, "port_guid": f"0x{first.port_guid(1):016x}", "lid": lid,
                   "subnet_prefix": "fe80::", **named}
    lines = call("text").stdout.split("\n")
    wanted = [rf"looked: [0-9T:-]+Z from {re.escape(host)} ibsim0/1, LID {lid}, subnet fe80::",
              re.escape(f"by: ibqos {version}" + (f", policy {path} (first)" if named else "")), ""]
    assert all(re.fullmatch(w, li) for w, li in zip(wanted, lines)), lines[:4]
    page = call("html").stdout
    assert re.search(rf"Z from {re.escape(host)} ibsim0/1, LID {lid}, subnet fe80::", page) and f"ibqos {version}" in page
    assert "a<b>.yaml" not in page and bool(named) == ("a&lt;b&gt;.yaml (first)" in page)


def test_another_port(there):
    """Of the port that was named, as the kernel has it."""
    f, _ = there
    node = next(n for n in f.net.nodes.values() if n.name.startswith("gpu-003"))
    run = f.ibqos("discover", "-C", "ibsim0", "-P", "1", "--format", "json", host=node.name).json["run"]
    assert run["port_guid"] == f"0x{node.port_guid(1):016x}" and run["lid"] > 1


def test_a_file(there):
    """A file tells when it is of; where this machine is, is not of its matter."""
    f, path = there
    taken = f.ibqos("snapshot", "--show", "before.snap", "--format", "json").ok().json["snapshot"]["taken"]
    got = f.ibqos("verify", "--from", "before.snap", path, "--format", "json").json
    assert {k: v for k, v in got["run"].items() if k != "began"} == {"source": "file", "policy": path, "policy_name": "first"}
    assert (got["from"], got["taken"]) == ("before.snap", taken)
    text = f.ibqos("audit", "--from", "before.snap").ok(0).stdout
    assert re.match(rf"looked: [0-9T:-]+Z at a file\nby: ibqos \S+\nfrom: before.snap\ntaken: {taken}\n\n", text)
    with open(f.path("found.txt"), "w", encoding="utf-8") as file:
        file.write(f.tool("ibnetdiscover").ok().stdout)
    os.utime(f.path("found.txt"), (1_700_000_000, 1_700_000_000))
    got = f.ibqos("discover", "--from", "found.txt", "--format", "json").json
    assert (got["run"]["source"], got["from"], got["from_written"]) == ("file", "found.txt", "2023-11-14T22:13:20Z")


@pytest.mark.parametrize("form", ["text", "json", "html"])
@pytest.mark.parametrize("source", [[], ["--from", "before.snap"]], ids=["live", "file"])
def test_what_redact_hides(there, form, source):
    """No name and no GUID of the fabric, nor which machine looked: not of the snapshot that is made, nor of what is said of it later."""
    f, _ = there
    text = f.ibqos("snapshot", *source, "--redact", "map", "hidden.snap", "--format", form).ok(0).stdout
    text += f.ibqos("audit", "--from", "hidden.snap", "--format", form).ok(3).stdout
    hidden = [n.desc for n in f.net.nodes.values()] + [f"{n.guid + p:016x}" for n in f.net.nodes.values() for p in range(3)]
    assert not [h for h in hidden if h in text] and "ibsim0" not in text and "subnet" not in text.replace("subnet manager", "")
    assert f" {socket.gethostname()} " not in text and '"host"' not in text


def test_quiet_has_none(there):
    f, path = there
    assert "looked:" not in f.ibqos("verify", path, "-q").stdout and '"looked"' in f.ibqos("verify", path, "-q", "--format", "json").stdout
