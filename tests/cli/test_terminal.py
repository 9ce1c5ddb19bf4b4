# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What stands on a terminal, and what does not stand anywhere else: colour, width, -q."""
import os
import re

import pytest

from kit import dumps, looks, run, terminal
from tools import netgen

SGR = re.compile(r"\033\[[0-9;]*m")
POLICY = """version: 1
classes:
  - {name: training, sl: 1, share: 70%}
  - {name: other, sl: 0, share: 30%, default: true}
"""
BAD = POLICY.replace("sl: 1", "sl: 16")
# nothing of the environment of who runs the tests
PLAIN = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "TERM")}


def on_terminal(*args, env=(), columns=80, code=None, cwd=None):
    """What ibqos wrote to a terminal, with plain ends of lines."""
    with terminal.Terminal([run.binary(), *args], columns=columns, env={**PLAIN, "TERM": "xterm", **dict(env)}, cwd=cwd) as t:
        got = t.end()
        assert code is None or got == code, (got, t.output)
        return t.output.decode().replace("\r\n", "\n")


def elsewhere(*args, env=(), code=None, cwd=None):
    r = run.run([run.binary(), *args], env={**PLAIN, **dict(env)}, cwd=cwd)
    assert code is None or r.returncode == code, str(r)
    return r.stdout


@pytest.fixture
def bad(tmp_path):
    (tmp_path / "bad.yaml").write_text(BAD)
    return tmp_path / "bad.yaml"


@pytest.fixture
def dump(tmp_path):
    """ibnetdiscover's text of a small fabric."""
    path = tmp_path / "fabric.net"
    path.write_text(dumps.ibnetdiscover(netgen.fat_tree(leaves=2, spines=1, hosts_per_leaf=2)))
    return path


# --- colour ---

def test_colour_on_a_terminal(bad):
    """Bold red for the severity and the verdict, reset behind each; without it the same letters as in a pipe."""
    text = on_terminal("lint", bad, columns=200, code=2)
    assert "\033[1;31merror\033[0m: " in text and "verdict: \033[1;31mcritical\033[0m (1 critical" in text
    assert re.sub(r"\s+", " ", SGR.sub("", text)) == re.sub(r"\s+", " ", elsewhere("lint", bad, code=2))
    assert set(SGR.findall(text)) <= {"\033[1;31m", "\033[1;35m", "\033[1;36m", "\033[1;32m", "\033[0m"}
    assert "verdict: \033[1;32mclean\033[0m" in on_terminal("history", "--state-dir", bad.parent)


@pytest.mark.parametrize("env,args,coloured", [
    ({}, [], True),
    ({"NO_COLOR": "1"}, [], False),
    ({"NO_COLOR": ""}, [], True),  # no-color.org: not an empty string
    ({"NO_COLOR": "0"}, [], False),  # regardless of its value
    ({"NO_COLOR": "1"}, ["--color=always"], True),  # an option is the user's last word
    ({"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, [], False),
    ({"CLICOLOR": "0"}, [], False),
    ({"CLICOLOR": "0", "CLICOLOR_FORCE": "1"}, [], True),
    ({"TERM": "dumb"}, [], False),
    ({"TERM": ""}, [], False),
    ({"TERM": "dumb"}, ["--color=always"], True),
    ({}, ["--color=never"], False),
    ({}, ["--color=auto"], True),
    ({}, ["--format", "json", "--color=always"], False),
    ({}, ["--format", "html", "--color=always"], False),
    ({}, ["--format", "nagios"], False),
])
def test_when_there_is_colour_on_a_terminal(bad, env, args, coloured):
    assert ("\033[" in on_terminal("lint", *args, bad, env=env, code=2)) == coloured


@pytest.mark.parametrize("env,args,coloured", [
    ({}, [], False),
    ({"TERM": "xterm"}, [], False),
    ({}, ["--color=always"], True),  # for less -R
    ({"CLICOLOR_FORCE": "1"}, [], True),
    ({"CLICOLOR_FORCE": "0"}, [], False),
    ({"CLICOLOR_FORCE": ""}, [], False),
    ({"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, [], False),
    ({"CLICOLOR_FORCE": "1"}, ["--color=never"], False),
    ({"CLICOLOR_FORCE": "1"}, ["--format", "json"], False),
])
def test_when_there_is_colour_in_a_pipe(bad, env, args, coloured):
    assert ("\033[" in elsewhere("lint", *args, bad, env=env, code=2)) == coloured


@pytest.mark.parametrize("args", [[], ["--color=always"]])
def test_no_colour_in_files(bad, tmp_path, args):
    for form in ("text", "json", "html"):
        on_terminal("lint", bad, "--format", form, "--output", tmp_path / "out", *args, env={"CLICOLOR_FORCE": "1"}, code=2)
        assert b"\033" not in (tmp_path / "out").read_bytes()
    assert (tmp_path / "out").stat().st_size > 100


def test_bad_value(bad):
    r = run.run([run.binary(), "lint", "--color=sometimes", bad]).ok(3)
    assert "--color takes one of auto, always, never, not 'sometimes'" in r.stderr


# --- width ---

def rows_of(text, heading):
    """Lines of a table, without its title."""
    return text.split(f"{heading}:\n")[1].split("\n\n")[0].splitlines()


def test_tables_fit_the_terminal(dump):
    """Whatever its width: no line wider, no word lost or broken, each row's cells at the same columns."""
    wide = looks.at_any_time(elsewhere("discover", "--from", dump))
    words = sorted(wide.split())
    for columns in (200, 100, 80, 72):
        text = SGR.sub("", on_terminal("discover", "--from", dump, columns=columns))
        for table in ("nodes", "links"):
            assert max(len(line.rstrip()) for line in rows_of(text, table)) <= columns, (columns, table)
        assert sorted(looks.at_any_time(text).split()) == words, columns
    assert rows_of(SGR.sub("", on_terminal("discover", "--from", dump, columns=200)), "links") == rows_of(wide, "links")


def test_too_narrow_for_its_words(dump):
    """Words stay whole: the terminal breaks the lines then."""
    text = SGR.sub("", on_terminal("discover", "--from", dump, columns=24))
    assert sorted(looks.at_any_time(text).split()) == sorted(looks.at_any_time(elsewhere("discover", "--from", dump)).split())
    assert re.search(r"^0x[0-9a-f]{16}\b|\b0x[0-9a-f]{16}\b", text, re.M)


def test_columns_goes_before_what_the_terminal_says(dump):
    def widest(**kwargs):
        return max(len(line.rstrip()) for line in rows_of(SGR.sub("", on_terminal("discover", "--from", dump, **kwargs)), "links"))
    assert widest(columns=72, env={"COLUMNS": "200"}) > 72
    assert widest(columns=200, env={"COLUMNS": "72"}) <= 72
    for nonsense in ("", "0", "-5", "x", "99999999999"):
        assert widest(columns=72, env={"COLUMNS": nonsense}) <= 72
    # a terminal that does not say: 80
    assert 72 < widest(columns=0) <= 80


def test_no_width_elsewhere(dump, tmp_path):
    plain = looks.at_any_time(elsewhere("discover", "--from", dump))
    assert looks.at_any_time(elsewhere("discover", "--from", dump, env={"COLUMNS": "40"})) == plain
    on_terminal("discover", "--from", dump, "--output", tmp_path / "out", columns=40)
    assert looks.at_any_time((tmp_path / "out").read_text()) == plain


def test_wide_and_combining_characters(tmp_path):
    """Names of any script stand in columns: measured by what the terminal shows."""
    text = dumps.ibnetdiscover(netgen.fat_tree(leaves=2, spines=1, hosts_per_leaf=2))
    names = ["\u670d\u52a1\u5668-1", "cafe\u0301-2", "\ud55c\uae00-3"]
    for n, name in enumerate(names, 1):
        text = text.replace(f"gpu-00{n} mlx5_0", name)
    (tmp_path / "fabric.net").write_text(text)

    def columns_of(line):
        """Where the terminal has each character: East Asian wide 2, combining 0."""
        import unicodedata
        at, found = 0, []
        for c in line:
            found.append(at)
            at += 0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        return found

    for text in (elsewhere("discover", "--from", tmp_path / "fabric.net"), SGR.sub("", on_terminal("discover", "--from", tmp_path / "fabric.net"))):
        rows = rows_of(text, "links")
        ends = {columns_of(row)[row.index(" 4x") + 1] for row in rows if " 4x" in row}
        assert len(ends) == 1 and all(name in text for name in names)


# --- quiet ---

def test_quiet_leaves_findings_and_verdict(bad, dump):
    text = elsewhere("lint", "-q", bad, code=2)
    assert re.fullmatch(r"\S+bad\.yaml:3:\d+: error: .*\n(?:.*\n)*\nverdict: critical \(1 critical.*\)\n", text)
    loud = elsewhere("discover", "--from", dump)
    text = elsewhere("discover", "-q", "--from", dump)
    assert loud.endswith(text) and text.startswith(f"{dump}: unknown: ")
    good = bad.parent / "good.yaml"
    good.write_text(POLICY)
    assert elsewhere("lint", "--quiet", good).splitlines()[-1].startswith("verdict: ")
    assert "classes:" not in elsewhere("lint", "--quiet", good)


@pytest.mark.parametrize("level", ["-q", "-v", "-d"])
@pytest.mark.parametrize("args", [["discover", "--from", "dump"], ["audit", "--from", "dump"], ["lint", "bad"],
                                  ["diff", "dump", "dump"], ["maintenance", "drain", "leaf-01", "--from", "dump"]])
def test_levels_change_no_exit_status_and_no_json(bad, dump, level, args):
    args = [{"bad": bad, "dump": dump}.get(a, a) for a in args]
    plain = run.run([run.binary(), *args, "--format", "json"])
    other = run.run([run.binary(), *args, "--format", "json", level])
    assert (other.returncode, looks.timeless(other.json, "mads")) == (plain.returncode, looks.timeless(plain.json, "mads"))
    assert run.run([run.binary(), *args, level]).returncode == run.run([run.binary(), *args]).returncode == plain.returncode


def test_quiet_still_tells_errors(ibqos, tmp_path):
    r = ibqos("lint", "-q", tmp_path / "missing.yaml").ok(3)
    assert "missing.yaml" in r.stderr and r.stdout == "verdict: unknown\n"
