# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Every finding that the program can make is looked for by some test, and is made somewhere."""
import os
import re
import subprocess

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


def test_manual_page_has_every_code(ibqos, tmp_path):
    """ibqos-findings(7) is a page of man, and has each code with its severity, meaning and remedy, word for word."""
    with open(os.path.join(run.TOP, "include", "ibqos", "finding_codes.def"), encoding="utf-8") as f:
        rows = re.findall(r'^FINDING_CODE\(\w+, "([^"]+)", ([A-Z]+),\s+((?:"(?:[^"\\]|\\.)*"\s*)+),\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)',
                          f.read(), re.M)
    assert len(rows) == len(codes())
    (tmp_path / "f.rst").write_text(ibqos("lint", "--findings").ok().stdout, encoding="utf-8")
    subprocess.run(["rst2man", "--halt=warning", tmp_path / "f.rst", tmp_path / "f.7"], check=True)
    text = " ".join((tmp_path / "f.rst").read_text(encoding="utf-8").split())

    def plain(strings):
        joined = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', strings)).replace('\\"', '"')
        parts = joined.split("`")
        return "``".join(p if i % 2 else re.sub(r"([\\\\*_|<>])", r"\\\1", p) for i, p in enumerate(parts))

    for code, severity, title, advice in rows:
        wanted = f"**{code}** ({severity.lower()}) Means: {plain(title)}. Remedy: {plain(advice)}."
        assert " ".join(wanted.split()) in text, wanted
