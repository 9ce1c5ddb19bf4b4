# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The line of progress: what it says while work lasts, that nothing of it is left, and that it is nowhere else."""
import re

import pytest

from kit import looks, policy, run, screen, terminal

SMALL = {"leaves": 2, "spines": 1, "hosts_per_leaf": 2, "storage": 0}
SLOW = ["--mad-rate", "400"]  # some seconds
LINE = re.compile(r"ibqos: ([a-z ]+): (\d+)(?: of (\d+) \((\d+) %\))? answers(?:, (\d+) a second)?(?:, about (\d+) (?:s|min|h) more|, how many are to come is not known)?")


def watched(f, *args, columns=120, rows=200, code=0, env=(), **kwargs):
    """The terminal after a run with all output on it."""
    environment = {k: v for k, v in f.env().items() if k not in ("COLUMNS", "NO_COLOR", "TERM")}
    with terminal.Terminal([run.binary(), *map(str, args)], rows=rows, columns=columns, cwd=f.dir, env={**environment, "TERM": "xterm", **dict(env)}, **kwargs) as t:
        got = t.end(100)
        assert code in (None, got), (got, t.output)
        return t.output.decode()


def lines_of(output):
    return [m for part in output.split("\r") if (m := LINE.match(part))]


def said(lines):
    """A screen without what differs from run to run: when it was, and MADs, of which some are sent again on a loaded machine."""
    parts = "\n".join(lines).rstrip().split("\n\n")
    return [re.sub(r"^looked: .*", "", p, flags=re.M) for p in parts if not p.startswith("MADs:")]


@pytest.fixture
def fabric_and_policy(up):
    f, sm = up(options={"qos": "TRUE"}, **SMALL)
    return f, policy.write(f, sm)


def test_verify_on_a_terminal(fabric_and_policy):
    """Parts in turn; counts go up to what there is; the screen is in the end that of a run without a line."""
    f, path = fabric_and_policy
    output = watched(f, "verify", path, *SLOW, code=2)
    shown = lines_of(output)
    assert "reading tables" in {m[1] for m in shown}
    for what in {m[1] for m in shown}:
        done = [int(m[2]) for m in shown if m[1] == what]
        assert done == sorted(done)
    tables = [m for m in shown if m[1] == "reading tables"]
    total = {int(m[3]) for m in tables}
    coverage = f.ibqos("verify", path, "--format", "json").ok(2).json["coverage"]
    assert total == {sum(c["asked"] for c in coverage if c["item"] in ("SL2VL", "VLArb"))}
    assert all(int(m[2]) <= int(m[3]) and abs(int(m[4]) - 100 * int(m[2]) / int(m[3])) <= 1 for m in tables)
    assert any(m[6] for m in tables)
    end = screen.lines(output, 200, 120)
    assert not [line for line in end if "answers" in line and "ibqos:" in line]
    assert said(end) == said(screen.lines(watched(f, "verify", path, code=2), 200, 120))


@pytest.mark.parametrize("args,part,rate", [
    (["discover"], "discovering", 30),
    (["audit", "--counters", "--state", "state"], "reading counters", 30),
    (["snapshot", "out.snap"], "reading tables", 400),
    (["maintenance", "begin", "one", "--state-dir", ".", "--no-counters"], "reading tables", 400),
])
def test_other_commands(fabric_and_policy, args, part, rate):
    f, _ = fabric_and_policy
    f.rules(*looks.LACKS)
    output = watched(f, *args, "--mad-rate", rate, code=None)
    shown = lines_of(output)
    assert part in {m[1] for m in shown}
    # how much there is of a discovery nobody knows, and it is said so
    assert all((m[3] is None) == (m[1] == "discovering") for m in shown)
    assert not [line for line in screen.lines(output, 200, 120) if " answers" in line]


def test_questions_to_the_administrator(fabric_and_policy):
    """How many there are is known before the first: of paths, and of records of tables, which are asked for some at a time."""
    f, path = fabric_and_policy
    f.rules("class=sa attr=0x35 : delay=1500")
    output = watched(f, "verify", path, "--mad-rate", 250, code=2)
    asked = {c["item"]: c["asked"] for c in f.ibqos("verify", path, "--format", "json").ok(2).json["sm_coverage"]}
    for what, total in (("asking for paths", asked["PathRecord"]), ("asking for records of tables", asked["SL2VL record"] + asked["VLArb record"])):
        shown = [m for m in lines_of(output) if m[1] == what]
        assert shown and {int(m[3]) for m in shown} == {total}, what
        done = [int(m[2]) for m in shown]
        assert done == sorted(done) and done[-1] <= total
    assert max(int(m[2]) for m in lines_of(output) if m[1] == "asking for records of tables") > 128  # more than are asked for at once
    assert not [line for line in screen.lines(output, 300, 120) if line.startswith("ibqos: ") and " answers" in line]


def test_libibnetdisc_tells_nothing(fabric_and_policy):
    """So there is no figure; what it says itself is written over the line."""
    f, _ = fabric_and_policy
    text = "discovering by libibnetdisc, how far is not known"
    output = watched(f, "discover", "--walker", "libibnetdisc")
    assert f"\ribqos: {text}\033[K\r" in output and text not in "\n".join(screen.lines(output, 200, 120))
    assert text not in watched(f, "discover", "--walker", "libibnetdisc", "-q")
    assert f.ibqos("discover", "--walker", "libibnetdisc").ok(0).stderr == ""
    f.rules("node=gpu-002 attr=NodeDesc : timeout")
    output = watched(f, "discover", "--walker", "libibnetdisc", "-t", "50", "--retries", "1", code=3)
    assert not [line for line in screen.lines(output, 200, 120) if "how far" in line]


@pytest.mark.parametrize("args,env", [([], {"TERM": "dumb"}), (["-q"], {})])
def test_no_line(fabric_and_policy, args, env):
    f, path = fabric_and_policy
    assert "\r\033[K" not in (out := watched(f, "verify", path, *SLOW, *args, code=2, env=env)) and not lines_of(out)


def test_nothing_for_short_work(fabric_and_policy):
    f, _ = fabric_and_policy
    # the very first answers of work that is stopped at once are as short as work gets
    output = watched(f, "discover", "--mad-rate", "0")
    assert not lines_of(output) or "\r" in output  # a loaded machine may take longer than a second: then it is wiped
    assert not [line for line in screen.lines(output, 200, 120) if " answers" in line]


def test_elsewhere_messages_with_v_only(fabric_and_policy):
    f, path = fabric_and_policy
    assert f.ibqos("verify", path, *SLOW).ok(2).stderr == ""
    r = f.ibqos("verify", path, "-v", "--mad-rate", "150").ok(2)
    found = re.findall(r"^ibqos: (?:discovering|reading ports|reading tables): \d+.*answers.*$", r.stderr, re.M)
    assert found and "\r" not in r.stderr and "\033" not in r.stderr + r.stdout


def test_a_narrow_terminal(fabric_and_policy):
    """The line never takes two: what does not fit is not shown."""
    f, path = fabric_and_policy
    output = watched(f, "verify", path, *SLOW, columns=40, code=2)
    assert lines_of(output) or "ibqos: reading" in output
    for part in re.findall(r"\r(ibqos: [^\r\n\033]*)", output):
        assert len(part) < 40
    assert not [line for line in screen.lines(output, 400, 40) if "answers" in line and line.startswith("ibqos:")]


def test_messages_stand_alone(fabric_and_policy):
    """Debugging messages come while a line stands there: each is on a line of its own."""
    f, path = fabric_and_policy
    f.rules("node=gpu-002 attr=NodeDesc : timeout")
    output = watched(f, "verify", path, "-d", *SLOW, "-t", "50", "--retries", "1", code=2)
    assert lines_of(output)
    for line in screen.lines(output, 400, 120):
        assert line.count("ibqos: ") <= 1 and " answers" not in line
