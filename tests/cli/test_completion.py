# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Completion in real shells, as `make install` puts it there. What must be proposed is what --help lists."""
import os
import re

import pytest

from kit import run, shells, terminal


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """{"bash": its data folder, "zsh": its folder of functions} of an installation."""
    top = str(tmp_path_factory.mktemp("installed"))
    out = os.path.dirname(run.binary())
    for shell, name in (("bash", "share/bash-completion/completions/ibqos"), ("zsh", "share/zsh/site-functions/_ibqos")):
        os.makedirs(os.path.dirname(f"{top}/{name}"))
        with open(f"{top}/{name}", "wb") as f:
            f.write(run.run([os.path.join(out, "ibqos"), f"--completion={shell}"]).ok().raw)
    return {"bash": f"{top}/share", "zsh": f"{top}/share/zsh/site-functions"}


SHELLS = {"bash": shells.bash, "zsh": shells.zsh}
shell = pytest.mark.parametrize("shell", list(SHELLS))


def ask(installed, shell, cwd, *lines):
    return {line: sorted(set(words)) for line, words in SHELLS[shell](installed[shell], list(lines), str(cwd)).items()}


def help_of(*words):
    return run.run([run.binary(), *words, "--help"]).ok().stdout


def commands_of(text):
    return re.findall(r"^  ([a-z][a-z-]*) ", text.split("\nCommands:\n")[1].split("\n\n")[0], re.M)


def all_commands():
    """[(words...)] of all that have options of their own."""
    found = []
    for name in commands_of(help_of()):
        if name == "help":  # has the names of the others
            continue
        text = help_of(name)
        found += [(name, sub) for sub in commands_of(text)] if "\nCommands:\n" in text else [(name,)]
    return found


def options_of(text):
    """{long name: does it take a value}"""
    return {m[1]: bool(m[2]) for m in re.finditer(r"^  (?:-.,|   ) --([A-Za-z_0-9-]+)(=?)", text.split("\nExamples:\n")[0], re.M)}


@shell
def test_commands(installed, shell, tmp_path):
    asked = ("ibqos help ", "ibqos help job ", "ibqos help maintenance be", "ibqos help audit ", "ibqos help --", "ibqos h")
    got = ask(installed, shell, tmp_path, "ibqos ", "ibqos a", "ibqos -v ", "ibqos job ", "ibqos maintenance ", "ibqos --", "ibqos job --", *asked)
    assert got["ibqos h"] == ["help", "history"]
    assert got["ibqos help "] == [c for c in got["ibqos "] if c != "help"] and got["ibqos help job "] == got["ibqos job "]
    assert got["ibqos help maintenance be"] == ["begin"] and got["ibqos help audit "] == got["ibqos help --"] == []
    assert got["ibqos "] == got["ibqos -v "] == sorted(commands_of(help_of()))
    assert got["ibqos a"] == ["ack", "apply", "audit"]
    assert got["ibqos job "] == sorted(commands_of(help_of("job")))
    assert got["ibqos maintenance "] == sorted(commands_of(help_of("maintenance")))
    assert got["ibqos --"] == sorted(f"--{o}" for o in options_of(help_of()))
    assert got["ibqos job --"] == ["--help"]


@shell
def test_options_are_those_of_help(installed, shell, tmp_path):
    lines = {f"ibqos {' '.join(c)} --": sorted(f"--{o}" for o in options_of(help_of(*c))) for c in all_commands()}
    assert len(lines) > 20 and all(len(words) > 5 for words in lines.values())
    got = ask(installed, shell, tmp_path, *lines)
    assert {line: [w.rstrip("=") for w in words] for line, words in got.items()} == lines


@shell
def test_each_option_completes(installed, shell, tmp_path):
    """From all but the last letter of its name."""
    lines = {}
    for c in all_commands():
        names = options_of(help_of(*c))
        lines |= {f"ibqos {' '.join(c)} --{n[:-1]}": sorted(f"--{o}" for o in names if o.startswith(n[:-1])) for n in names}
    assert len(lines) > 400
    got = ask(installed, shell, tmp_path, *lines)
    assert {line: [w.rstrip("=") for w in words] for line, words in got.items()} == lines


WORDS = {
    "format": ["html", "json", "nagios", "prometheus", "text"],
    "walker": ["libibnetdisc", "native"],
    "link-layer": ["ethernet", "infiniband"],
    "form": ["kubernetes", "nccl-conf", "openmpi", "shell", "slurm"],
    "since": ["last"],
    "color": ["always", "auto", "never"],
}


@shell
def test_values_that_are_known(installed, shell, tmp_path, ibqos):
    lines = {}
    for c in all_commands():
        for name, valued in options_of(help_of(*c)).items():
            if name in WORDS:
                assert valued
                lines[f"ibqos {' '.join(c)} --{name} "] = lines[f"ibqos {' '.join(c)} --{name}="] = WORDS[name]
    assert len(lines) > 50
    lines["ibqos job env --stack ucx,nv"] = ["ucx,nvshmem"]
    got = ask(installed, shell, tmp_path, *lines)
    if shell == "zsh":  # which adds to what is there
        got["ibqos job env --stack ucx,nv"] = [f"ucx,{w}" for w in got["ibqos job env --stack ucx,nv"]]
    assert got == lines
    for line, words in lines.items():  # and each is taken
        if line.endswith(" ") and "since" not in line:
            for w in words:
                assert "takes one of" not in ibqos(*line.split()[1:], w).stderr


@shell
def test_codes_to_acknowledge(installed, shell, tmp_path):
    with open(os.path.join(run.TOP, "include", "ibqos", "finding_codes.def"), encoding="utf-8") as f:
        codes = sorted(re.findall(r'^FINDING_CODE\(\w+,\s*"([a-z0-9-]+)"', f.read(), re.M))
    assert len(codes) > 100
    got = ask(installed, shell, tmp_path, "ibqos ack ", "ibqos ack link-ber-h", "ibqos ack --ticket T link-ber-h", "ibqos ack link-ber-high ")
    assert got == {"ibqos ack ": codes, "ibqos ack link-ber-h": ["link-ber-high"], "ibqos ack --ticket T link-ber-h": ["link-ber-high"],
                   "ibqos ack link-ber-high ": []}


@shell
def test_files_by_kind(installed, shell, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    for name in ("a.yaml", "b.yml", "c.snap", "d.db_csv", "e.log"):
        (home / name).write_text("")
    (home / "folder").mkdir()
    got = ask(installed, shell, home, "ibqos lint ", "ibqos verify -C mlx5_0 ", "ibqos audit --policy ", "ibqos audit --baseline=", "ibqos diff ",
              "ibqos diff c.snap ", "ibqos job log e.log ", "ibqos apply --stage ", "ibqos lint a.yaml ", "ibqos discover ", "ibqos audit --output ")
    folders = {line: sorted(w.rstrip("/") for w in words) for line, words in got.items()}
    policies, states, every = ["a.yaml", "b.yml"], ["c.snap", "d.db_csv"], ["a.yaml", "b.yml", "c.snap", "d.db_csv", "e.log", "folder"]
    # bash has folders beside files of a kind, zsh where there are none
    def without(line):
        return [w for w in folders[line] if w != "folder"]
    assert without("ibqos lint ") == without("ibqos verify -C mlx5_0 ") == without("ibqos audit --policy ") == policies
    assert without("ibqos audit --baseline=") == without("ibqos diff ") == without("ibqos diff c.snap ") == states
    assert folders["ibqos job log e.log "] == folders["ibqos audit --output "] == every
    assert folders["ibqos apply --stage "] == ["folder"]
    # where no argument is left zsh proposes options
    assert not [w for line in ("ibqos lint a.yaml ", "ibqos discover ") for w in folders[line] if shell == "bash" or not w.startswith("-")]


@shell
def test_changes_and_maintenances(installed, shell, tmp_path):
    """Of the folder that --state-dir names; a name that a shell would obey is only a name."""
    for name in ("history/20261130T101112Z", "history/20261201T000000Z", "maintenance/swap-12", "maintenance/$(touch evil)"):
        (tmp_path / "state" / name).mkdir(parents=True)
    got = ask(installed, shell, tmp_path, "ibqos rollback --state-dir state --to ", "ibqos history --state-dir=state 20261201",
              "ibqos confirm --state-dir none ", "ibqos maintenance end --state-dir state sw", "ibqos maintenance end --state-dir state ",
              "ibqos maintenance begin --state-dir state ")
    assert got["ibqos rollback --state-dir state --to "] == ["20261130T101112Z", "20261201T000000Z"]
    assert got["ibqos history --state-dir=state 20261201"] == ["20261201T000000Z"]
    assert got["ibqos maintenance end --state-dir state sw"] == ["swap-12"]
    assert got["ibqos confirm --state-dir none "] == got["ibqos maintenance begin --state-dir state "] == []
    assert len(got["ibqos maintenance end --state-dir state "]) == 2
    assert not (tmp_path / "evil").exists()


def test_typed_in_bash(installed, tmp_path):
    """With a Tab, on a terminal: readline's own words, and the file found by bash-completion alone."""
    env = dict(os.environ, XDG_DATA_DIRS=installed["bash"], XDG_DATA_HOME=str(tmp_path), HOME=str(tmp_path), TERM="dumb", LC_ALL="C",
               PS1="ready> ")
    (tmp_path / "ibqos").write_text('#!/bin/sh\necho "run with: $*"\n')
    (tmp_path / "ibqos").chmod(0o755)
    env["PATH"] = f"{tmp_path}:{env['PATH']}"
    env.pop("BASH_COMPLETION_USER_DIR", None)
    with terminal.Terminal(["bash", "--norc", "-i"], columns=200, env=env, cwd=tmp_path) as t:
        t.write(b". /usr/share/bash-completion/bash_completion\nPS1='ready> '\n")
        t.wait_for(lambda: t.output.count(b"ready> ") >= 2, "bash")
        t.write(b"ibqos ver\t --samp\t 5% --format=js\t\n")
        t.wait_for(lambda: b"run with: verify --sample 5% --format=json" in t.output, "completed and run")


def test_unknown_shell(ibqos):
    r = ibqos("--completion=fish").ok(3)
    assert r.stdout == "" and r.stderr == "ibqos: --completion takes bash or zsh, not 'fish'\n"
