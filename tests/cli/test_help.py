# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""--help and its examples, `ibqos help`, and what is said to names that are none."""
import os
import re
import shlex

import pytest

from kit import run, terminal


def commands():
    """Full names of all commands that have options of their own."""
    found = []
    for name in listed(run.run([run.binary(), "--help"]).ok().stdout):
        if name == "help":
            continue
        text = run.run([run.binary(), name, "--help"]).ok().stdout
        found += [f"{name} {sub}" for sub in listed(text)] if "\nCommands:\n" in text else [name]
    return found


def listed(text):
    return re.findall(r"^  ([a-z][a-z-]*) ", text.split("\nCommands:\n")[1].split("\n\n")[0], re.M)


def examples(command):
    """Lines of examples at the end of a command's help."""
    text = run.run([run.binary(), *command.split(), "--help"]).ok().stdout
    body = text.split("\nExamples:\n")[1].replace(" \\\n", "")
    lines = re.findall(r"^  (ibqos .*)\n        \S.*$", body, re.M)
    assert len(body.splitlines()) == 2 * len(lines), body
    return lines


def test_each_help_ends_with_examples():
    names = commands()
    assert len(names) > 24
    for name in names:
        lines = examples(name)
        assert 2 <= len(lines) <= 4 or name in ("rails", "merge"), name
        assert all(line.startswith(f"ibqos {name}") for line in lines), name


def test_each_example_parses(ibqos, tmp_path):
    """Whatever comes of it here, where there is no fabric, it is not the command line."""
    (tmp_path / "bw").mkdir()
    for name in commands():
        for line in examples(name):
            r = ibqos(*shlex.split(line)[1:])
            assert "Try `" not in r.stderr and "unknown command" not in r.stderr, str(r)
            assert r.returncode in (0, 1, 2, 3)


def test_help_as_a_command(ibqos):
    for name in ("verify", "job", "job env", "maintenance", "maintenance end"):
        assert ibqos("help", *name.split()).ok().stdout == ibqos(*name.split(), "--help").ok().stdout
    assert "help" in listed(ibqos("--help").ok().stdout)
    for words in ([], ["help"], ["--help"], ["-h"]):
        assert ibqos("help", *words).ok().stdout == ibqos("--help").ok().stdout
    assert "did you mean 'help'" in ibqos("hlep").ok(3).stderr
    assert "did you mean 'verify'" in ibqos("help", "verfy").ok(3).stderr


def test_alone_it_helps(ibqos):
    r = ibqos().ok(3)
    assert r.stdout == "" and "Commands:" in r.stderr and "ibqos help COMMAND" in r.stderr


@pytest.mark.parametrize("words,near", [
    (["verfy"], "verify"), (["aduit"], "audit"), (["disc"], "discover"), (["Plan"], "plan"), (["job", "evn"], "env"),
    (["maintenance", "ends"], "end"), (["verify", "--formt=json"], "--format"), (["audit", "--contuers"], "--counters"),
    (["lint", "--sugest-sl", "x"], "--suggest-sl"), (["job", "env", "--clas", "x", "--polcy", "y"], "--policy"),
])
def test_what_may_have_been_meant(ibqos, words, near):
    r = ibqos(*words).ok(3)
    assert f"did you mean '{near}'" in r.stderr and r.stdout == ""


@pytest.mark.parametrize("words", [["nothing"], ["x"], [""], ["job", "nothing"], ["verify", "--nothing"], ["verify", "--x"], ["verify", "--" + "x" * 5000]])
def test_nothing_near(ibqos, words):
    assert "did you mean" not in ibqos(*words).ok(3).stderr


@pytest.mark.parametrize("words", [
    ["ack", "--ticket", "--formt", "a", "b", "--until", "2036-01-01", "--state", "s"],  # a value, whatever it looks like
    ["lint", "--", "--formt"], ["lint", "--form", "json", "x"], ["verify", "-C", "--polic", "x"],  # behind --; a beginning; of -C
])
def test_not_taken_for_options(ibqos, words):
    r = ibqos(*words).ok(3)
    assert "did you mean" not in r.stderr and "unrecognized" not in r.stderr


def on_a_terminal(columns, *words):
    env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "ARGP_HELP_FMT")}
    with terminal.Terminal([run.binary(), *words, "--help"], rows=100, columns=columns, env={**env, "TERM": "xterm"}) as t:
        assert t.end(30) == 0
        return t.output.decode().replace("\r\n", "\n").split("\n")


@pytest.mark.parametrize("columns,most", [(60, 59), (80, 79), (200, 99)])
def test_as_wide_as_the_terminal(columns, most):
    """Options' texts are broken where the terminal ends, and not much later than lines are read well."""
    longest = 0
    for name in ("audit", "verify", "job log", "ack"):
        lines = on_a_terminal(columns, *name.split())
        lines = lines[:lines.index("Examples:")]
        assert not [li for li in lines if len(li) > most and " " in li.strip()], name  # a path is not broken
        longest = max(longest, *map(len, lines))
    assert longest > most - 8


def test_no_line_is_wider_than_usual():
    for words in ([], *(name.split() for name in [*commands(), "job", "maintenance"])):
        r = run.run([run.binary(), *words, "--help"]).ok()
        assert not [li for li in r.stdout.split("\n") if len(li) > 79], words


def test_an_option_stays_with_its_value():
    for name in commands():
        text = run.run([run.binary(), *name.split(), "--help"]).ok().stdout.split("\nExamples:\n")[1]
        assert not re.search(r" --[a-z-]+ \\\n +[^- ]", text), name
