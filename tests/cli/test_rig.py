# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The scripts that start tests count honestly: what fails, dies, runs nothing or says nothing is a failure."""
import os

import pytest

from kit import run

SCRIPTS = os.path.join(run.TOP, "scripts")
PASSES = "echo '[  PASSED  ] 3 test(s).'\n"
FAILS = "echo '[  PASSED  ] 2 test(s).'\necho '[  FAILED  ] 1 test(s), listed below:'\nexit 1\n"


def program(path, text):
    path.write_text("#!/bin/bash\n" + text)
    path.chmod(0o755)
    return path


@pytest.fixture
def lib(tmp_path):
    """lib(text, **env): runs text after lib.sh, then total."""

    def call(text, **env):
        script = program(tmp_path / "script", f"set -u\n. {SCRIPTS}/lib.sh\n{text}\ntotal\n")
        return run.run([str(script)], cwd=tmp_path, env={**os.environ, **env})

    return call


@pytest.mark.parametrize("text, last, code", [
    (PASSES, "3 passed, 0 failed", 0),
    (FAILS, "2 passed, 1 failed", 1),
    ("exit 0\n", "0 passed, 1 failed", 1),          # ran nothing
    (PASSES + "exit 139\n", "3 passed, 1 failed", 1),  # died after its tests
    (PASSES + "kill -SEGV $$\n", "3 passed, 1 failed", 1),
    ("echo '[  SKIPPED ] 3 test(s), listed below:'\n" + PASSES, "3 passed, 0 failed, 3 skipped", 0),
])
def test_a_unit_program_is_counted(lib, tmp_path, text, last, code):
    (tmp_path / "unit").mkdir()
    program(tmp_path / "unit" / "test_x", text)
    r = lib("unit_tests unit")
    assert (r.stdout.splitlines()[-1], r.returncode) == (last, code)


def test_no_unit_program_is_a_failure(lib, tmp_path):
    (tmp_path / "unit").mkdir()
    r = lib("unit_tests unit")
    assert (r.stdout.splitlines()[-1], r.returncode) == ("0 passed, 1 failed", 1)


def test_a_unit_program_that_is_left_out_is_said(lib, tmp_path):
    (tmp_path / "unit").mkdir()
    program(tmp_path / "unit" / "test_x", PASSES)
    program(tmp_path / "unit" / "test_y", FAILS)
    r = lib("unit_tests unit", UNIT_SKIP="test_z test_y")
    assert (r.stdout.splitlines()[-1], r.returncode) == ("3 passed, 0 failed, 1 skipped", 0)


def test_a_unit_program_runs_under_another(lib, tmp_path):
    (tmp_path / "unit").mkdir()
    program(tmp_path / "unit" / "test_x", PASSES)
    checker = program(tmp_path / "checker", '"$@"\nexit 99\n')
    r = lib("unit_tests unit", UNIT_UNDER=f"{checker}")
    assert (r.stdout.splitlines()[-1], r.returncode) == ("3 passed, 1 failed", 1)


def test_a_step_is_what_its_command_says(lib):
    r = lib("step good true\nstep bad sh -c 'echo the reason; exit 3'")
    assert r.stdout.splitlines()[-1] == "1 passed, 1 failed" and "the reason" in r.stdout and r.returncode == 1


@pytest.mark.parametrize("text, last", [
    ("echo '5 passed, 0 failed, 2 skipped'\n", "5 passed, 0 failed, 2 skipped"),
    ("echo '5 passed, 1 failed'\nexit 1\n", "5 passed, 1 failed"),
    ("echo 'all is well'\n", "0 passed, 1 failed"),
    ("echo '5 passed, 0 failed'\nexit 1\n", "5 passed, 1 failed"),
])
def test_the_counts_of_a_script_are_added(lib, tmp_path, text, last):
    inner = program(tmp_path / "inner", text)
    r = lib(f"counted {inner}")
    assert r.stdout.splitlines()[-1] == last


# --- fuzz.sh ---

def fuzzer(runs, code=0, more=""):
    return f"""printf '#9\\tDONE   cov: 321 ft: 1 corp: 7/1b exec/s: 0 rss: 1Mb\\n' >&2
{more}
echo 'stat::number_of_executed_units: {runs}' >&2
echo 'stat::peak_rss_mb: 60' >&2
exit {code}
"""


@pytest.fixture
def fuzz(tmp_path):
    def call(text, *names, **env):
        program(tmp_path / "fuzz_policy", text)
        return run.run([os.path.join(SCRIPTS, "fuzz.sh"), str(tmp_path), "1", *(names or ["policy"])], cwd=tmp_path,
                       env={**os.environ, **env})

    return call


def test_a_fuzzer_is_counted(fuzz):
    r = fuzz(fuzzer(5000)).ok()
    assert r.stdout.splitlines()[-1] == "1 passed, 0 failed"
    assert "5000 runs, 321 edges, corpus 7 of " in r.stdout


@pytest.mark.parametrize("text", [fuzzer(5000, code=77), fuzzer(99), "exit 0\n", "kill -ABRT $$\n"])
def test_a_fuzzer_that_fails_or_hardly_runs(fuzz, text):
    r = fuzz(text)
    assert r.stdout.splitlines()[-1] == "0 passed, 1 failed" and r.returncode == 1


def test_the_failing_input_is_named(fuzz):
    found = "echo 'a.c:1: does not hold: x' >&2; echo \"artifact_prefix='p'; Test unit written to /d/policy-crash-1\" >&2"
    r = fuzz(fuzzer(5000, code=77, more=found))
    assert "a.c:1: does not hold: x" in r.stdout and "input: /d/policy-crash-1" in r.stdout


def test_no_such_fuzzer(fuzz):
    r = fuzz(fuzzer(5000), "policy", "nothing")
    assert r.returncode == 1 and "passed" not in r.stdout and "fuzz_nothing" in r.stderr


def test_every_fuzzer_has_a_corpus():
    folder = os.path.join(run.TOP, "tests", "fuzz")
    names = {f[5:-2] for f in os.listdir(folder) if f.startswith("fuzz_") and f.endswith(".c")}
    assert names == set(os.listdir(os.path.join(folder, "corpus")))
    assert set(os.listdir(os.path.join(folder, "dict"))) <= names
