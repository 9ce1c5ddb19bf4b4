# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""ibqos merge: parts of a fabric are read as the whole, fabrics stay apart by name; whatever the order, however often."""
import itertools
import json
import random
import struct
import zlib

import pytest

from kit import looks, opensm, policy, snapfile
from tools import netgen_rails as gen

SHAPE = dict(leaves=3, spines=2, hosts_per_leaf=2, uplinks=1, storage=0, switch_ports=8)


def cut(snap, keep, later=0):
    """A part of a snapshot: what one sees who reaches the nodes `keep` alone (a set of rows). Links to others end in a gap. Written
    by docs/snapshot-format.md alone."""
    part = {k: [dict(r) for r in v] if k in snapfile.TABLES else v for k, v in snap.items()}
    ports, at = {}, 0
    for n, row in enumerate(snap["NODE"]):
        count = snap["DATA"][row["node_info"]][3] + 1
        if n in keep:
            ports.update({at + i: len(ports) + i for i in range(count)})
        at += count
    part["NODE"] = [dict(snap["NODE"][n]) for n in sorted(keep)]
    part["PORT"], part["GAPS"] = [], []
    for old, new in sorted(ports.items()):
        row = dict(snap["PORT"][old])
        if row["peer"] != snapfile.NONE:
            row["peer"] = ports.get(row["peer"], snapfile.NONE)
            if row["peer"] == snapfile.NONE:
                part["GAPS"].append({"port": new, "reason": 0})
        part["PORT"].append(row)
    part["ANSW"] = [dict(r, port=ports[r["port"]]) for r in snap["ANSW"] if r["port"] in ports]
    looker = snap["META"][0]["from_node"]
    part["META"][0]["from_node"] = sorted(keep).index(looker) if looker in keep else snapfile.NONE
    if looker not in keep:
        part["META"][0]["from_port"] = 0
    taken, = struct.unpack("<Q", snap["head"][16:24])
    part["head"] = snap["head"][:16] + struct.pack("<Q", taken + later) + snap["head"][24:]
    return part


def said(r):
    """What a command says of a fabric, but for the file and the time."""
    out = dict(r.json)
    for key in ("from", "taken", "mads", "policy", *looks.HEAD):
        out.pop(key, None)
    out["findings"] = [x for x in out["findings"] if x["code"] not in ("merge-differs", "merge-filled")]
    return out


@pytest.fixture
def whole(up, tmp_path):
    f, _ = up(**SHAPE)
    path = tmp_path / "whole.snap"
    f.ibqos("snapshot", "--counters", path).ok(0, 3)
    return path


def test_parts_are_the_whole(whole, ibqos, tmp_path):
    """Random parts that together have each node, each link and each answer."""
    snap = snapfile.read(whole)
    nodes = len(snap["NODE"])
    ends, at = [], 0
    for n, row in enumerate(snap["NODE"]):
        ends += [n] * (snap["DATA"][row["node_info"]][3] + 1)
    links = [(ends[i], ends[p["peer"]]) for i, p in enumerate(snap["PORT"]) if p["peer"] not in (snapfile.NONE,)]
    looker = snap["META"][0]["from_node"]
    wanted = {c: said(ibqos(*c, "--from", whole, "--format", "json")) for c in (("discover",), ("audit",), ("audit", "--counters"))}
    for seed in range(4):
        rng = random.Random(seed)
        parts = [set(), set(), set()]
        for a, b in links:  # each link is whole in one of them
            parts[rng.randrange(3)].update((a, b))
        parts[0].add(looker)
        parts = [p for p in parts if p]
        paths = []
        for i, keep in enumerate(parts):
            paths.append(tmp_path / f"part{seed}-{i}.snap")
            snapfile.write(paths[-1], cut(snap, keep, later=-i))
        assert set.union(*parts) == set(range(nodes))
        merged = tmp_path / f"merged{seed}.snap"
        r = ibqos("merge", "--format", "json", merged, *paths).ok(0, 1)
        (row,) = r.json["fabrics"]
        assert (row["parts"], row["nodes"], row["links_differ"], row["answers_differ"]) == (len(parts), nodes, 0, 0), seed
        for command, want in wanted.items():
            assert said(ibqos(*command, "--from", merged, "--format", "json")) == want, (seed, command)
        # made one snapshot again, it has the very answers
        flat = tmp_path / f"flat{seed}.snap"
        ibqos("snapshot", "--from", merged, flat).ok(0, 3)
        assert snapfile.answers(snapfile.read(flat)) == snapfile.answers(snap)
        a, b = snapfile.read(flat), snap
        assert [b["STRS"][n["name"]] for n in b["NODE"]] == [a["STRS"][n["name"]] for n in a["NODE"]]
        assert [p["peer"] for p in a["PORT"]] == [p["peer"] for p in b["PORT"]] and a["GAPS"] == b["GAPS"]


def test_order_and_repetition_leave_no_trace(whole, ibqos, tmp_path):
    snap = snapfile.read(whole)
    nodes = range(len(snap["NODE"]))
    paths = [tmp_path / f"p{i}.snap" for i in range(3)]
    for i, path in enumerate(paths):
        snapfile.write(path, cut(snap, {n for n in nodes if n % 3 != i}, later=i))
    out = set()
    for i, order in enumerate(itertools.permutations(paths)):
        ibqos("merge", tmp_path / f"m{i}", *order).ok(0, 1)
        out.add((tmp_path / f"m{i}").read_bytes())
    assert len(out) == 1
    # merged again with what is in it already, in steps, alone
    ibqos("merge", tmp_path / "a", tmp_path / "m0", paths[1]).ok(0, 1)
    ibqos("merge", tmp_path / "b", paths[2], paths[0]).ok(0, 1)
    ibqos("merge", tmp_path / "c", tmp_path / "b", paths[1]).ok(0, 1)
    ibqos("merge", tmp_path / "d", tmp_path / "m0").ok(0, 1)
    for name in "acd":
        assert (tmp_path / name).read_bytes() in out
    # one snapshot alone is itself
    ibqos("merge", tmp_path / "e", whole, whole).ok(0)
    assert (tmp_path / "e").read_bytes() == whole.read_bytes()


def test_the_newest_counts(whole, ibqos, tmp_path):
    """Where two have the same differently the newest counts, in any order, and it is said."""
    snap = snapfile.read(whole)
    new = cut(snap, set(range(len(snap["NODE"]))), later=100)
    sl2vl = next(r for r in new["ANSW"] if r["attribute"] == 0x17 and r["outcome"] == 0)
    new["DATA"] = new["DATA"] + [b"\x11\x11\x11\x11\x11\x11\x11\x11"]
    where = (sl2vl["port"], 0, 0x17, sl2vl["modifier"])
    changed = sl2vl["count"]
    sl2vl["value"] = len(new["DATA"]) - 1
    snapfile.write(tmp_path / "new.snap", new)
    for order in ([whole, tmp_path / "new.snap"], [tmp_path / "new.snap", whole]):
        r = ibqos("merge", "--format", "json", tmp_path / "m", *order).ok(0)
        (x,) = r.json["findings"]
        assert (x["code"], x["severity"], r.json["fabrics"][0]["answers_differ"]) == ("merge-differs", "note", changed)
        r = ibqos("discover", "--from", tmp_path / "m", "--format", "json").ok(0)
        assert [x["code"] for x in r.json["findings"]] == ["merge-differs"]
        r = ibqos("diff", whole, tmp_path / "m", "--format", "json").ok(0, 1, 2)  # by its path: which of the two
        assert [x["what"] for x in r.json["findings"] if x["code"] == "merge-differs"] == [str(tmp_path / "m")]
        ibqos("snapshot", "--from", tmp_path / "m", tmp_path / "flat").ok(0, 3)
        assert snapfile.answers(snapfile.read(tmp_path / "flat"))[where] == (0, b"\x11" * 8)


@pytest.mark.parametrize("what, count", (("narrow", 1), ("cables", 2), ("table", 1)))
def test_of_one_second_nobody_knows_the_newer(whole, ibqos, tmp_path, what, count):
    """Two of one second that contradict: unknown in any order, however it is read; what goes on by itself does not count."""
    snap = snapfile.read(whole)
    new = cut(snap, set(range(len(snap["NODE"]))))
    new["DATA"] = list(new["DATA"])
    port = next(i for i, r in enumerate(new["PORT"]) if r["peer"] != snapfile.NONE and r["info"])
    row = new["PORT"][port]

    def info(at, mask):
        """The port's PortInfo with a byte changed, as a new item."""
        data = bytearray(new["DATA"][row["info"]])
        data[at] ^= mask
        new["DATA"].append(bytes(data))
        return len(new["DATA"]) - 1

    row["info"] = info(28, 0x7f)  # LocalPortNum: of who asks
    snapfile.write(tmp_path / "same.snap", new)
    ibqos("merge", tmp_path / "m", whole, tmp_path / "same.snap").ok(0)
    if what == "narrow":
        row["info"] = info(31, 3)  # LinkWidthActive: 4x becomes 1x
    elif what == "cables":  # two are exchanged
        far = row["peer"]
        other = next(i for i, r in enumerate(new["PORT"]) if r["peer"] != snapfile.NONE and not {i, r["peer"]} & {port, far})
        end = new["PORT"][other]["peer"]
        for a, b in ((port, end), (other, far)):
            new["PORT"][a]["peer"], new["PORT"][b]["peer"] = b, a
    else:
        run = next(r for r in new["ANSW"] if r["attribute"] == 0x17 and r["outcome"] == 0)
        new["DATA"].append(b"\x11" * 8)
        run.update(value=len(new["DATA"]) - 1, count=1)
    snapfile.write(tmp_path / "new.snap", new)
    for order in ([whole, tmp_path / "new.snap"], [tmp_path / "new.snap", whole]):
        r = ibqos("merge", "--format", "json", tmp_path / "m", *order).ok(3)
        assert [x["severity"] for x in r.json["findings"] if x["code"] == "merge-undecided"] == ["unknown"]
        assert r.json["fabrics"][0]["undecided"] == count
        r = ibqos("audit", "--from", tmp_path / "m", "--format", "json").ok(2, 3)
        assert "merge-undecided" in [x["code"] for x in r.json["findings"]]
    for later in (1, 3600):  # seconds apart the newest counts
        for part in (snap, new):
            snapfile.write(tmp_path / "later.snap", cut(part, set(range(len(snap["NODE"]))), later=later))
            other = whole if part is new else tmp_path / "new.snap"
            r = ibqos("merge", "--format", "json", tmp_path / "m", other, tmp_path / "later.snap").ok(0)
            assert r.json["fabrics"][0]["undecided"] == 0


def test_an_answer_counts_before_none(whole, ibqos, tmp_path):
    """One that did not answer later still has what it said before; a cable that is gone later is gone."""
    snap = snapfile.read(whole)
    new = cut(snap, set(range(len(snap["NODE"]))), later=100)
    for r in new["ANSW"]:
        if r["attribute"] == 0x18:
            r.update(outcome=2, value=4)
    lacking = sum(r["count"] for r in new["ANSW"] if r["attribute"] == 0x18)
    snapfile.write(tmp_path / "new.snap", new)
    r = ibqos("merge", "--format", "json", tmp_path / "m", tmp_path / "new.snap", whole).ok(0)
    for one in (r, ibqos("audit", "--from", tmp_path / "m", "--format", "json")):  # and it is said
        f, = [x for x in one.json["findings"] if x["code"] == "merge-filled"]
        assert f["got"].startswith(f"{lacking} ") and "within 100 s" in f["detail"] and f["severity"] == "note"
    assert r.json["fabrics"][0]["filled"] == lacking
    ibqos("snapshot", "--from", tmp_path / "m", tmp_path / "flat").ok(0, 3)
    assert snapfile.answers(snapfile.read(tmp_path / "flat")) == snapfile.answers(snap)
    i = next(i for i, p in enumerate(new["PORT"]) if p["peer"] != snapfile.NONE)
    j = new["PORT"][i]["peer"]
    for port in (i, j):
        info = bytearray(new["DATA"][new["PORT"][port]["info"]].ljust(64, b"\0"))
        info[32], info[33] = info[32] & 0xf0 | 1, info[33] & 0x0f | 0x20  # Down, Polling
        new["DATA"] = new["DATA"] + [bytes(info).rstrip(b"\0")]
        new["PORT"][port].update(peer=snapfile.NONE, info=len(new["DATA"]) - 1)
    snapfile.write(tmp_path / "new.snap", new)
    r = ibqos("merge", "--format", "json", tmp_path / "m", tmp_path / "new.snap", whole).ok(0)
    assert r.json["fabrics"][0]["links_differ"] == 1
    links = ibqos("discover", "--from", tmp_path / "m", "--format", "json").json["links"]
    assert len(links) == len(ibqos("discover", "--from", whole, "--format", "json").json["links"]) - 1


@pytest.mark.parametrize("silent", ["attr=PortInfo", ""])
def test_an_old_answer_hides_no_silence(up, ibqos, tmp_path, silent):
    """A device that is silent now is not clean by what it said long ago: such are no parts of one state."""
    f, _ = up(**SHAPE)
    f.ibqos("snapshot", tmp_path / "a.snap").ok(0, 3)
    f.rules(f"node={[n.name for n in f.net.nodes.values() if not n.switch][-1]} {silent} : timeout")
    f.ibqos("snapshot", tmp_path / "new.snap", "-t", "100").ok(3)
    snap, m = snapfile.read(tmp_path / "a.snap"), tmp_path / "m"
    new, = struct.unpack("<Q", snapfile.read(tmp_path / "new.snap")["head"][16:24])
    taken, = struct.unpack("<Q", snap["head"][16:24])
    for age, code in ((3600, 0), (3601, 3), (400 * 86400, 3)):
        snapfile.write(tmp_path / "old.snap", cut(snap, set(range(len(snap["NODE"]))), later=new - taken - age))
        m.unlink(missing_ok=True)
        r = ibqos("merge", "--format", "json", m, tmp_path / "old.snap", tmp_path / "new.snap").ok(code)
        assert m.exists() == (code == 0)
        if code == 0:
            f, = [x for x in r.json["findings"] if x["code"] == "merge-filled"]
            assert "within 3600 s" in f["detail"]
        else:
            assert f"{age} s apart" in r.stderr
    # a file that was written before this was known
    ibqos("merge", m, f"a={tmp_path / 'old.snap'}", f"b={tmp_path / 'new.snap'}").ok(2)
    data = bytearray(m.read_bytes())
    at = data.index(b"\x01\0b", 16)
    parts = [(tmp_path / n).read_bytes() for n in ("new.snap", "old.snap")]
    head = data[:16] + b"".join(b"\x01\0a" + struct.pack("<Q", len(p)) for p in parts)
    assert at < len(head)
    m.write_bytes(head + struct.pack("<I", zlib.crc32(head)) + b"".join(parts))
    for command in ("audit", "discover"):
        assert f"{400 * 86400} s apart" in ibqos(command, "--from", m).ok(3).stderr


@pytest.fixture
def rails(fabric, tmp_path):
    paths = []
    for i, net in enumerate(gen.site(gen.members(gen.hosts("gpu-", 4), range(3)), leaves=2, spines=1, switch_ports=8, speed="EDR")):
        f = fabric(net=net)
        f.opensm()
        paths.append(tmp_path / f"rail{i}.snap")
        f.ibqos("snapshot", "--fabric", f"r{i}", paths[-1]).ok(0)
    return paths


def test_fabrics_stay_apart(rails, ibqos, tmp_path):
    m = tmp_path / "site.snap"
    r = ibqos("merge", "--format", "json", m, *rails).ok(0)
    assert [(x["fabric"], x["parts"]) for x in r.json["fabrics"]] == [("r0", 1), ("r1", 1), ("r2", 1)]
    for i, path in enumerate(rails):
        assert said(ibqos("audit", "--from", m, "--fabric", f"r{i}", "--format", "json")) == \
            said(ibqos("audit", "--from", path, "--fabric", f"r{i}", "--format", "json"))
        ibqos("snapshot", "--from", m, "--fabric", f"r{i}", tmp_path / "one").ok(0)
        assert (tmp_path / "one").read_bytes() == path.read_bytes()
    assert "no fabric 'r9' is in it, but r0, r1, r2" in ibqos("audit", "--from", m, "--fabric", "r9").ok(3).stderr
    # rails compares those of one file
    one = ibqos("rails", "--format", "json", m).ok(0)
    assert [x["rail"] for x in one.json["rails"]] == ["r0", "r1", "r2"]
    assert [x["code"] for x in one.json["findings"]] == ["rail-prefix"]


def test_names(rails, ibqos, tmp_path):
    m = tmp_path / "m"
    nameless = []
    for i, path in enumerate(rails):
        snap = snapfile.read(path)
        snap["META"][0]["label"] = 0
        nameless.append(tmp_path / f"n{i}.snap")
        snapfile.write(nameless[-1], snap)
    r = ibqos("merge", m, *nameless).ok(3)
    assert "give names, NAME=FILE" in r.stderr and not m.exists()
    r = ibqos("merge", "--format", "json", m, *(f"plane{i}={p}" for i, p in enumerate(nameless))).ok(0)
    assert [x["fabric"] for x in r.json["fabrics"]] == ["plane0", "plane1", "plane2"]
    # one that has switches in common with a named one is of that one
    r = ibqos("merge", "--format", "json", m, rails[0], rails[1], nameless[1]).ok(0)
    assert [(x["fabric"], x["parts"]) for x in r.json["fabrics"]] == [("r0", 1), ("r1", 2)]
    r = ibqos("merge", "--format", "json", m, rails[0], f"other={nameless[0]}").ok(2)
    assert [(x["code"], x["what"]) for x in r.json["findings"]] == [("rail-same-fabric", "other and r0")]
    r = ibqos("merge", "--format", "json", m, f"x={rails[0]}", f"x={rails[1]}").ok(1, 3)  # in one second: two subnet managers of one fabric
    assert [(x["code"], x["what"]) for x in r.json["findings"] if x["code"] != "merge-undecided"] == [("merge-apart", "x")]
    assert "its fabrics have names already" in ibqos("merge", tmp_path / "mm", f"y={m}", rails[2]).ok(3).stderr


def test_broken_files(rails, ibqos, tmp_path):
    m = tmp_path / "m"
    ibqos("merge", m, *rails).ok(0)
    good, bad = m.read_bytes(), tmp_path / "bad"
    for at in [*range(0, 64), *range(64, len(good), 97)]:
        bad.write_bytes(good[:at] + bytes([good[at] ^ 0x41]) + good[at + 1:])
        r = ibqos("discover", "--from", bad, "--fabric", "r1").ok(3)
        assert "cannot read" in r.stderr, at
    for size in (0, 7, 8, 16, 20, 40, len(good) // 2, len(good) - 1):
        bad.write_bytes(good[:size])
        assert "cannot read" in ibqos("discover", "--from", bad, "--fabric", "r1").ok(3).stderr, size
    assert "not a snapshot" in ibqos("merge", tmp_path / "x", __file__).ok(3).stderr


def test_usage(ibqos, tmp_path):
    for args in ([], ["x"], ["--from", "x", "y", "z"]):
        assert ibqos("merge", *args).ok(3).stderr
