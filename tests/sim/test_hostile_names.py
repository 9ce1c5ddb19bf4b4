# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Node descriptions that their hosts' owners chose to harm: harmless in every command, every format, every file that is left."""
import os

import pytest

from kit import hostile, looks, policy, sim
from tools import netgen

FORMS = ("text", "json", "html")
MEASURED = ("prometheus", "nagios")
SLOW = "attr=PortInfo : set LinkWidthActive=1"


def rules(guid, name):
    data = [f"byte{i}=0x{b:x}" for i, b in enumerate(name.ljust(64, b"\0")[:64])]
    return [f"guid=0x{guid:x} attr=NodeDesc : set " + " ".join(data[i:i + 32]) for i in (0, 32)]  # a rule has 40 at most


@pytest.fixture(scope="module")
def fab(tmp_path_factory):
    """Each node has a name of hostile.NAMES for who reads it (OpenSM reads no names); some have findings."""
    f = sim.Fabric(tmp_path_factory.mktemp("hostile"), netgen.fat_tree(leaves=3, spines=2, hosts_per_leaf=8, uplinks=1, storage=1))
    try:
        sm = f.opensm(options={"qos": "TRUE"})
        nodes = list(f.net.nodes.values())
        assert len(nodes) >= len(hostile.NAMES)
        f.named = sum((rules(n.guid, name) for n, name in zip(nodes, hostile.NAMES.values())), [])
        f.worse = [*looks.LACKS, "prob=0.3 " + SLOW, "attr=SL2VL port=1 : set SL1=3", "attr=PortCounters : set SymbolErrorCounter=4000"]
        f.rules(*f.worse)
        f.plain = {}
        yield f, sm
    finally:
        f.stop()


def commands(f, path, folder):
    """Of every command what it tells of nodes, with its exit codes left open: what is checked is what it says."""
    host, other = (f"0x{n.guid:x}" for n in list(f.net.nodes.values())[-2:])
    snap = os.path.join(folder, "a.snap")
    return [
        ("discover",), ("audit",), ("audit", "--all"), ("audit", "--counters", "--state", os.path.join(folder, "state")),
        ("verify", path), ("verify", "--all", path), ("verify", "--paths", path), ("plan", "--explain", path),
        ("trace", host, other, "--policy", path, "--class", "training"), ("snapshot", snap), ("audit", "--from", snap),
        ("discover", "--from", snap), ("diff", snap, snap), ("maintenance", "drain", host),
        ("maintenance", "begin", "m1", "--state-dir", os.path.join(folder, "m")), ("maintenance", "list", "--state-dir", os.path.join(folder, "m")),
        ("maintenance", "end", "m1", "--state-dir", os.path.join(folder, "m")),
        ("verify", "--hosts", "gpu-[001-002]", path), ("verify", "--node", "\x1b[2Jno such\x9b", path),
    ]


def swept(folder):
    """All that was left in files, but snapshots, which are packed."""
    for at, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(at, name), "rb") as f:
                data = f.read()
            if not data.startswith(b"IBQOSNAP"):
                yield os.path.join(at, name), data


@pytest.mark.parametrize("form", FORMS + MEASURED)
def test_every_command(fab, tmp_path, form):
    f, sm = fab
    path = policy.write(f, sm)
    pages = []
    for names in ("plain", "hostile"):
        f.rules(*(f.named if names == "hostile" else []), *f.worse)
        folder = tmp_path / names
        folder.mkdir()
        for args in commands(f, path, str(folder)):
            if form in MEASURED and args[0] not in ("audit", "verify", "discover"):
                continue
            r = f.ibqos(*args, "--format", form, "-d", seed=7)
            assert r.returncode in (0, 1, 2, 3), r
            text = r.raw.decode("utf-8")  # strictly
            if names == "plain":
                pages.append(text)
            hostile.check(text, form, args, pages if form == "html" and names == "hostile" else None)
            hostile.harmless(r.stderr, args)
            assert len(text) > 0, r
        for name, data in swept(folder):
            hostile.harmless(data.decode("utf-8").replace("\t", " "), name)


def test_they_are_read_at_all(fab):
    """What cannot be shown stands as U+FFFD; all else is as its owner wrote it."""
    f, _ = fab
    f.rules(*f.named)
    r = f.ibqos("discover", "--format", "json", "--all").ok(0, 1, 3)
    told = set(hostile.strings(r.json))
    for want in ("<script>alert(1)</script>", "\"'`\\\"\\\\' OR '1'='1", "%s%n%x%5000d", "before", "../../../../etc/cron.d/x",
                 "\ufffd[31m" + "A" * 59, "B" * 62 + "\ufffd" * 2, "leaf\ufffd-01" + "\ufffd" * 4):
        assert want in told, (want, sorted(told))
    # by both walkers alike
    other = f.ibqos("discover", "--format", "json", "--all", "--walker", "libibnetdisc")
    assert [x for x in hostile.strings(other.json) if "script" in x] and set(hostile.strings(other.json["nodes"])) == set(hostile.strings(r.json["nodes"]))


def test_apply_and_history(fab, tmp_path):
    """What is kept of a change, and told of it later; names of its user and fabric are strangers' too."""
    f, sm = fab
    path = policy.write(f, sm)
    state = tmp_path / "state"
    f.rules(*f.named)
    bad = hostile.NAMES["title"].decode("latin-1")
    env = {"SUDO_USER": bad}
    args = ("--state-dir", state, "--fabric", f"<script>{bad}\n", "-d")
    for command in (("apply", path), ("history",), ("rollback",), ("history",)):
        for form in ("json",) if command[0] in ("apply", "rollback") else FORMS:
            r = f.ibqos(*command, *(args if command[0] != "history" else ("--state-dir", state)), "--format", form, env=env)
            hostile.check(r.raw.decode("utf-8"), form, command)
            hostile.harmless(r.stderr, command)
    kept = list(swept(state))
    assert len(kept) > 8
    for name, data in kept:
        if "opensm.conf" not in name:
            hostile.harmless(data.decode("utf-8").replace("\t", " "), name)


def test_tickets_labels_and_paths(fab, tmp_path):
    """Text of the command line that ends in outputs and files."""
    f, _ = fab
    f.rules(*f.named, *f.worse)
    state = tmp_path / "state"
    evil = "\x1b]0;x\x07\"<script>\n\u202e\u200b"
    r = f.ibqos("audit", "--counters", "--state", state, "--format", "json", "--label", f"job={evil}", "--metrics", tmp_path / "m", seed=7)
    hostile.check(r.raw.decode("utf-8"), "json", "labels")
    hostile.check((tmp_path / "m").read_text(encoding="utf-8"), "prometheus", "labels")
    # a place as it is shown, which nobody can type otherwise
    places = [x for x in r.json["findings"] if x["node_guid"] and x["severity"] != "note"]
    at = f"{places[0]['node_guid']}[{places[0]['port']}]" if places[0]["port"] else places[0]["node_guid"]
    for form in FORMS:
        r = f.ibqos("ack", places[0]["code"], at, "--ticket", f"OPS {evil}", "--until", "2099-01-01", "--state", state, "--format", form)
        hostile.check(r.raw.decode("utf-8"), form, "ack")
        hostile.harmless(r.stderr, "ack")
        hostile.check(f.ibqos("audit", "--counters", "--state", state, "--format", form, seed=7).raw.decode("utf-8"), form, "acknowledged")
    hostile.harmless(state.read_text(encoding="utf-8").replace("\t", " "), "state")
    odd = tmp_path / evil.replace("/", "")
    odd.write_text("version: [\n", encoding="utf-8")
    for command in (("lint",), ("audit", "--policy"), ("verify",), ("audit", "--from"), ("discover", "--node-name-map"), ("audit", "--baseline"),
                    ("verify", "--opensm-conf"), ("job", "log"), ("job", "check", "--policy"), ("diff", odd)):
        for form in FORMS:
            r = f.ibqos(*command, odd, "--format", form)
            hostile.harmless(r.stderr, command)
            if r.raw:
                hostile.check(r.raw.decode("utf-8"), form, command)
