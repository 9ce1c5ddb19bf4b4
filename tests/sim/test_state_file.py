# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The state file of audit under everything that can be done to it: many at once, held, full disks, other clocks, hostile bytes. What
was there is there afterwards, or a finding says why not."""
import fcntl
import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from kit import sim
from kit.looks import DATA, HOST, HOUR, LEAF, SHAPE, T0, Look, at, found, ports
from tools import netgen


@pytest.fixture(scope="module")
def fab(tmp_path_factory):
    with sim.Fabric(tmp_path_factory.mktemp("state"), netgen.fat_tree(**SHAPE)) as f:
        f.opensm()
        yield f


@pytest.fixture
def look(fab, tmp_path):
    return Look(fab, tmp_path)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def ack(fab, look, code, place, ticket, until=T0 + 9 * HOUR):
    return fab.ibqos("ack", code, place, "--ticket", ticket, "--until", str(until), "--state", look.state, "--now", str(T0 + HOUR))


def test_many_acks_and_audits_at_once(fab, look):
    """Sixty acknowledgements by eight people, while audits read, judge and write: none is lost, and the counters are the last ones."""
    look(T0, DATA).ok(0)
    codes = ("link-flaps", "link-ber-high", "link-width-low", "port-discards", "counter-saturated", "link-recoveries",
             "link-receive-errors", "port-overrun", "port-constraint", "link-speed-low")
    wanted = [(code, name, port) for code in codes for name in ("leaf-01", "leaf-02", "spine-01") for port in (1, 2)]
    failed, over = [], threading.Event()

    def audits():
        n = 0
        while not over.is_set() or n < 3:
            n += 1
            r = look.again(T0 + 60 + n)
            if r.returncode != 0:
                failed.append(r)
        return n

    with ThreadPoolExecutor(9) as pool:
        auditing = pool.submit(audits)
        done = list(pool.map(lambda w: ack(fab, look, w[0], f"{w[1]}[{w[2]}]", f"T-{w[0]}-{w[1]}-{w[2]}"), wanted))
        over.set()
        count = auditing.result()
    assert not failed, failed[0]
    for r in done:
        r.ok(0)
    text = read(look.state)
    tickets = set(re.findall(r"^ack \S+ \S+ \S+ \d+ (\S+) \d+ \S+$", text, re.M))
    assert tickets == {f"T-{c}-{n}-{p}" for c, n, p in wanted} and text.count("\nack ") == len(wanted) == 60
    assert {int(x) for x in re.findall(r"^port (?:\S+ ){6}(\d+)", text, re.M)} == {T0 + 60 + count}
    look(T0 + 9 * HOUR - 1, DATA).ok(0)
    assert read(look.state).count("\nack ") == 60  # until they expire


def test_audits_at_once(fab, tmp_path):
    """Six looks at one time with one file: one after the other; the later ones find the earlier one's values, and nothing is amiss."""
    look = Look(fab, tmp_path)
    look(T0, DATA).ok(0)
    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(lambda n: look.again(T0 + 300), range(6)))
    for r in results:
        assert r.ok(0).json["findings"] == [], r
    state = read(look.state)
    assert state.count("\nport ") == ports(fab) and re.search(r"^written (\d+)$", state, re.M)[1] == str(T0 + 300)


def test_held_by_another(fab, look):
    """A run that holds the lock is waited for; what it wrote meanwhile is what the other one goes on with."""
    look(T0, DATA).ok(0)
    with open(look.state + ".lock", "a", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(ack, fab, look, "link-flaps", "leaf-01[2]", "T-1")
            with pytest.raises(TimeoutError):
                waiting.result(0.5)
            text = read(look.state).replace("end ", "ack link-flaps 0x5 - 1800000000 T-0\nend ")
            text = re.sub(r"end (\d+)", lambda m: f"end {int(m[1]) + 1}", text)
            with open(look.state + ".new", "w", encoding="ascii") as file:
                file.write(text)
            os.replace(look.state + ".new", look.state)
            fcntl.flock(lock, fcntl.LOCK_UN)
            waiting.result(60).ok(0)
    assert sorted(re.findall(r"^ack (?:\S+ ){4}(\S+)", read(look.state), re.M)) == ["T-0", "T-1"]


def test_a_symbolic_link_has_the_lock_of_its_target(fab, look, tmp_path):
    look(T0, DATA).ok(0)
    os.symlink(look.state, tmp_path / "link")
    other = Look(fab, tmp_path)
    other.state = str(tmp_path / "link")
    other(T0 + 60, DATA).ok(0)
    assert os.path.islink(other.state) and sorted(p for p in os.listdir(tmp_path) if p.endswith(".lock")) == ["state.lock"]


HOSTILE = [
    ("a directory", None), ("/dev/null", None),
    ("a port read in the future", lambda t: re.sub(r"^(port (?:\S+ ){6})\d+", r"\g<1>1099511627775", t, count=1, flags=re.M)),
    ("cut at a line", lambda t: t[:t.rindex("port ")]),
    ("a line twice", lambda t: t.replace("\nwritten", "\nlabel %\nwritten", 1)),
    ("a value beyond 64 bits", lambda t: re.sub(r"^(port (?:\S+ ){7})\S+", r"\g<1>99999999999999999999", t, count=1, flags=re.M)),
    ("NUL bytes", lambda t: t.replace("label", "lab\0el", 1)),
    ("spaces", lambda t: t.replace("port ", "port  ", 1)),
    ("only the first line", lambda t: t.split("\n")[0] + "\n"),
    ("more behind the end", lambda t: t + "x"),
]


@pytest.mark.parametrize("name,change", HOSTILE, ids=[n for n, _ in HOSTILE])
def test_hostile(fab, look, tmp_path, name, change):
    """Told, left as it is, and never clean; ack refuses it as well."""
    look(T0, DATA).ok(0)
    if change is None:
        look.state = "/dev/null" if name == "/dev/null" else str(tmp_path)
        text = None
    else:
        text = change(read(look.state))
        with open(look.state, "w", encoding="utf-8") as file:
            file.write(text)
    r = look(T0 + 300, DATA).ok(3)
    assert [c for c, *_ in found(r)] == ["state-broken"], r
    ack(fab, look, "link-flaps", "leaf-01[2]", "T").ok(3)
    assert text is None or read(look.state) == text
    assert not os.path.exists("/dev/null.lock")


def test_clock_that_goes_back_and_on(look):
    """While it is behind, nothing is judged or written; then it goes on as if nothing had been."""
    look(T0 + HOUR, DATA, at(LEAF, "attr=PortCounters : set VL15Dropped=5")).ok(0)
    before = read(look.state)
    for now in (T0, T0 + HOUR - 1, 1):
        assert [c for c, *_ in found(look(now, DATA).ok(3))] == ["state-clock"]
    assert read(look.state) == before
    r = look(T0 + HOUR + 300, DATA, at(LEAF, "attr=PortCounters : set VL15Dropped=60")).ok(1)
    assert found(r) == [("port-vl15-dropped", *LEAF, "VL15Dropped")] and "55 in 5 min" in r.json["findings"][0]["got"]


def test_no_room_for_the_state(fab, look, tmp_path):
    """The disk is full, or the folder is gone: what was found is told, the old state stays, and the run does not end clean."""
    look(T0, DATA).ok(0)
    before = read(look.state)
    small = tmp_path / "small"
    small.mkdir()
    inside = f'mount -t tmpfs -o size=4k,nr_inodes=8 tmpfs {small} && head -c 4096 /dev/zero >{small}/full; exec "$@"'
    r = fab.ibqos("audit", "--counters", "--state", str(small / "state"), "--now", str(T0 + 300), "--format", "json",
                  before=["unshare", "-m", "sh", "-c", inside, "sh"])
    assert r.returncode == 3 and "cannot write" in r.stderr and r.json["counters"]["read"] == ports(fab), r
    assert read(look.state) == before
    look.state = str(tmp_path / "nowhere" / "state")
    assert "cannot lock" in look(T0 + 300, DATA).ok(3).stderr
    assert HOST
