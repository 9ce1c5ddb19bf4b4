# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Tests that the documentation names exist."""
import os
import re

from kit import run


def folder_of(name):
    for folder in ("sim", "cli", "unit", "fuzz"):
        path = os.path.join(run.TOP, "tests", folder, name)
        if os.path.exists(path):
            return path
    return None


def named():
    """(file, test): `test_x.py::test_y`, `::test_z` of the same file, `test_x.c test_y` not looked into."""
    with open(os.path.join(run.TOP, "docs/testing.md"), encoding="utf-8") as f:
        text = f.read()
    file = None
    for name, test in re.findall(r"`((?:(?:unit|sim|cli)/)?test_\w+\.(?:py|c))?(?:::(test_\w+))?[^`\n]*`", text):
        file = name or file
        if name or test:
            yield (file or "").rsplit("/", 1)[-1], test


def test_tests_that_are_named_are_there():
    count = 0
    for file, test in named():
        path = folder_of(file)
        assert path, file
        count += 1
        if test and path.endswith(".py"):
            with open(path, encoding="utf-8") as f:
                assert re.search(rf"^def {test}\w*\(", f.read(), re.M), (file, test)
    assert count > 80
