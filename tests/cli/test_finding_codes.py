# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Every finding that the program can make is looked for by some test, and is made somewhere."""
import os
import re

from kit import run


def texts(folder, *endings):
    for at, _, names in os.walk(os.path.join(run.TOP, folder)):
        for name in names:
            if name.endswith(endings) and "fuzz" not in at:
                with open(os.path.join(at, name), encoding="utf-8") as f:
                    yield f.read()


def codes():
    with open(os.path.join(run.TOP, "include", "ibqos", "finding_codes.def"), encoding="utf-8") as f:
        return re.findall(r'^FINDING_CODE\((\w+), "([a-z0-9-]+)", [A-Z]+,', f.read(), re.M)


def words(*where):
    return set(re.findall(r"[\w-]+", "\n".join(texts(*where))))


def test_every_code_is_in_a_test():
    found, tests = codes(), words("tests", ".py", ".c", ".h")
    assert len(found) > 100
    assert not [code for symbol, code in found if not {f"FINDING_{symbol}", code} & tests]


def test_every_code_is_made_by_the_program():
    source = words("src", ".c")
    assert not [code for symbol, code in codes() if f"FINDING_{symbol}" not in source]


def test_codes_are_named_as_their_symbols():
    assert not [(symbol, code) for symbol, code in codes() if symbol.lower().replace("_", "-") != code]
