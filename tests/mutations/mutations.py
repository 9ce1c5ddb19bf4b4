#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""make mutations: plants faults in the program, one at a time, and says which unit tests see them.

A fault that no test sees is a test that is missing. Each row names a file, a text that stands in it
exactly once, what it becomes, and the unit tests that are about it. Rows are faults that would give a
wrong verdict, not all that could be changed.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

VERIFY = ["test_verify", "test_verify_expect", "test_verify_unknown"]

ROWS = [  # (what it is, file, text, becomes, unit tests)
    ("verify: one in-port is not compared", "src/check/verify_ask.c",
     "	if (memcmp(data, expect_sl2vl(", "	if (in_port == 2 || memcmp(data, expect_sl2vl(", VERIFY),
    ("verify: the last in-port is not asked", "src/check/expect.c",
     "is_switch ? node->ports + 1 : 1", "is_switch ? node->ports : 1", VERIFY),
    ("verify: second VLArb blocks are skipped", "src/check/verify_ask.c",
     "return expect_vlarb(&v->expect, expect, step, unused) > 0;",
     "return step % 2 == 0 && expect_vlarb(&v->expect, expect, step, unused) > 0;", VERIFY),
    ("verify: second VLArb blocks are not compared", "src/check/verify_ask.c",
     "	if (i == length)\n		return;", "	if (i == length || block % 2)\n		return;", VERIFY),
    ("verify: a timeout counts as an answer", "src/check/verify_ask.c",
     "	state->ended[item][answer->outcome]++;",
     "	state->ended[item][answer->outcome == MAD_TIMED_OUT ? MAD_ANSWERED : answer->outcome]++;", VERIFY),
    ("verify: a refusal counts as an answer", "src/check/verify_ask.c",
     "	state->ended[item][answer->outcome]++;",
     "	state->ended[item][answer->outcome == MAD_STATUS ? MAD_ANSWERED : answer->outcome]++;", VERIFY),
    ("verify: weights are not compared", "src/check/verify_ask.c",
     " || wanted[i].weight != got[i].weight", "", VERIFY),
    ("expect: tables of other switch ports on port 0", "src/check/expect.c",
     "	if (type == QOS_PORT_SW0 && in_port != 0)", "	if (0)", VERIFY),
    ("expect: what 64 entries leave behind is forgotten", "src/check/expect.c",
     "	if (!expect_leftover(port, block))", "	if (1)", VERIFY),
    ("expect: a port of one VL has arbitration", "src/check/expect.c",
     "	if (!one_vl) { /* vlarb", "	if (1) { /* vlarb", VERIFY),
    ("expect: high limit of ports with one VL", "src/check/expect.c",
     "one_vl ? 0 : expect->config", "expect->config", VERIFY),
    ("arbitration: packets of a turn rounded down", "src/qos/arbitrate.c",
     "	return (a + b - 1) / b;", "	return a / b ? a / b : 1;", ["test_qos_arbitrate"]),
    ("exit code: unknown is worse than critical", "src/cmd/session.c",
     "[IBQOS_EXIT_UNKNOWN] = 2, [IBQOS_EXIT_CRITICAL] = 3", "[IBQOS_EXIT_UNKNOWN] = 3, [IBQOS_EXIT_CRITICAL] = 2",
     ["pytest:tests/cli/test_bad_input.py"]),
]


def call(*argv, env=None):
    return subprocess.run(argv, cwd=None, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False)


def failed_tests(tree, out, tests):
    """Names of the tests that fail; a test program that does not end by itself counts as one."""
    names = []
    for test in tests:
        if test.startswith("pytest:"):
            made = call("make", "-s", "-C", tree, f"OUT={out}", "all", "tools")
            if made.returncode:
                sys.exit(made.stdout)
            env = dict(os.environ, IBQOS_BIN=f"{out}/ibqos", IBQOS_OVERLAY=f"{out}/tests/overlay.so")
            r = call(sys.executable, "-m", "pytest", "-q", "-x", "--timeout", "120", os.path.join(tree, test[7:]), env=env)
            names += re.findall(r"^FAILED \S*::(\S+)", r.stdout, re.M)
            continue
        made = call("make", "-s", "-C", tree, f"OUT={out}", f"{out}/tests/{test}")
        if made.returncode:
            sys.exit(made.stdout)
        r = call("timeout", "120", f"{out}/tests/{test}")
        found = sorted(set(re.findall(r"^\[  FAILED  \] (?!.*test\(s\))(?:.*: )?(\w+)$", r.stdout, re.M)))
        names += [f"{test}: {name}" for name in found] or ([test] if r.returncode else [])
    return names


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("only", nargs="*", help="words: rows whose description has one of them")
    a = p.parse_args()
    rows = [r for r in ROWS if not a.only or any(word in r[0] for word in a.only)]
    survived = 0
    with tempfile.TemporaryDirectory(prefix="ibqos-mutations-") as folder:
        tree, out = os.path.join(folder, "tree"), os.path.join(folder, "out")
        shutil.copytree(TOP, tree, ignore=shutil.ignore_patterns("build", ".git", "__pycache__"))
        sound = failed_tests(tree, out, sorted({t for r in rows for t in r[4]}))
        if sound:
            print("mutations: these fail without any fault:", *sound, sep="\n  ")
            return 1
        for what, name, text, becomes, tests in rows:
            path = os.path.join(tree, name)
            with open(path, encoding="utf-8") as f:
                whole = f.read()
            if whole.count(text) != 1:
                print(f"mutations: {what}: the text stands {whole.count(text)} times in {name}, not once")
                survived += 1
                continue
            with open(path, "w", encoding="utf-8") as f:
                f.write(whole.replace(text, becomes))
            names = failed_tests(tree, out, tests)
            with open(path, "w", encoding="utf-8") as f:
                f.write(whole)
            survived += not names
            print(f"{what}: " + (f"{len(names)} tests, {names[0]} first" if names else "NO TEST SEES IT"), flush=True)
    print(f"{len(rows) - survived} of {len(rows)} faults seen")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
