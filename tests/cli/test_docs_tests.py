# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Every test that docs/testing.md and docs/security.md name is there."""
import glob
import os
import re

from kit import run


def defined():
    """{file name, with its folder and without: names of its tests}"""
    found = {}
    for path in glob.glob(os.path.join(run.TOP, "tests", "*", "test_*.[pc]*")):
        with open(path, encoding="utf-8") as f:
            names = set(re.findall(r"^(?:def|static void) (test_\w+)\(", f.read(), re.M))
        for key in (os.path.basename(path), "/".join(path.split("/")[-2:])):
            found.setdefault(key, set()).update(names)
    return found


def test_tests_that_are_named_are_there():
    tests, missing, named = defined(), [], 0
    text = ""
    for name in ("testing.md", "security.md"):
        with open(os.path.join(run.TOP, "docs", name), encoding="utf-8") as f:
            text += f.read()
    for line in text.splitlines():
        file = None
        for word in re.findall(r"`([^`]+)`", line) if line.startswith("|") else ():
            m = re.fullmatch(r"(?:((?:\w+/)?test_\w+\.(?:py|c)))?(?:::)?(test_\w+)?(\.\.\.)?(\[.*\])?", word)
            if not m or not (m[1] or m[2]) or not (file or m[1]):
                continue
            file = m[1] or file
            named += 1
            name, more = m[2], m[3]
            there = file in tests and (not name or name in tests[file] or (more and any(t.startswith(name) for t in tests[file])))
            if not there:
                missing.append((file, word))
    assert named > 100 and not missing, missing
