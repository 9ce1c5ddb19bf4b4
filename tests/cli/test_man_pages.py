# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Manual pages and program say the same: each command has a page, each page all options that its command's --help
lists, with their arguments and defaults, and no other."""
import glob
import os
import re

import docutils.core
import docutils.nodes
import pytest

from kit import run

MAN = os.path.join(run.TOP, "docs", "man")
PAGES = sorted(os.path.basename(p)[:-len(".rst")] for p in glob.glob(os.path.join(MAN, "*.rst")))
SECTIONS = ["SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"]
COMMAND = re.compile(r"^  ([a-z][a-z-]*) +\S", re.M)  # in the list of --help


def tree(page):
    path = os.path.join(MAN, page + ".rst")
    with open(path, encoding="utf-8") as f:
        return docutils.core.publish_doctree(f.read(), path, settings_overrides={"halt_level": 2, "report_level": 2})


def sections(node):
    return {s[0].astext(): s for s in node.children if isinstance(s, docutils.nodes.section)}


def documented(node):
    """{long name: (short name or None, argument or None, text)} of the options below a node"""
    found = {}
    for item in node.findall(docutils.nodes.option_list_item):
        names, argument = {}, None
        for option in item[0]:
            name = option[0].astext()
            names[name.startswith("--")] = name
            if len(option) > 1:
                argument = option[1].astext().strip(" <>")
        assert True in names and names[True] not in found, item.astext()
        found[names[True]] = (names.get(False), argument, " ".join(item[1].astext().split()))
    return found


def helped(text):
    """The same of what --help prints."""
    found, last = {}, None
    for line in text.split("\nExamples:\n")[0].splitlines():
        if m := re.match(r" {2,6}(?:(-\w), )?(--[A-Za-z_][\w-]*)(?:=(\S+))?(?: +(.*))?$", line):
            last = m[2]
            found[last] = [m[1], m[3], m[4] or ""]
        elif last and re.match(r" {10,}\S", line):
            found[last][2] += " " + line.strip()
        else:
            last = None
    return {k: tuple(v) for k, v in found.items()}


def compare(where, page, program):
    assert sorted(page) == sorted(program), where
    for name, (short, argument, text) in program.items():
        assert page[name][:2] == (short, argument), (where, name)
        if m := re.search(r"\(default:? ([^) ]+)", text):
            assert re.search(rf"default:? {re.escape(m[1].rstrip(',;'))}", page[name][2]), (where, name, text, page[name][2])


def commands(ibqos, *group):
    text = ibqos(*group, "--help").ok().stdout
    return [c for c in COMMAND.findall(text[text.index("Commands:"):].split("\n\n")[0]) if c != "help"]


def test_each_command_has_a_page_and_the_overview_names_it(ibqos):
    have = commands(ibqos)
    assert len(have) >= 16 and {"discover", "verify", "job"} <= set(have)
    assert {p[len("ibqos-"):-len(".8")] for p in PAGES if p.startswith("ibqos-") and p.endswith(".8")} == set(have)
    overview = sections(tree("ibqos.8"))
    listed = [re.match(r"ibqos-([a-z]+)\(8\)", t.astext())[1] for t in overview["COMMANDS"].findall(docutils.nodes.term)]
    assert sorted(listed) == sorted(have)
    also = overview["SEE ALSO"].astext()
    assert all(f"ibqos-{c}(8)" in also for c in have)


@pytest.mark.parametrize("page", [p for p in PAGES if p.startswith("ibqos-") and p.endswith(".8")])
def test_options_are_those_of_the_program(ibqos, page):
    command = page[len("ibqos-"):-len(".8")]
    parts = sections(tree(page))
    assert [s for s in SECTIONS if s in parts] == SECTIONS, page
    text = ibqos(command, "--help").ok().stdout
    if "\nCommands:\n" not in text:
        compare(page, documented(parts["OPTIONS"]), helped(text))
        return
    # a table of commands: the title of each part of OPTIONS names those that have it, or 'all'
    own = commands(ibqos, command)
    named = {title: re.split(r"[, ]+", title) for title in sections(parts["OPTIONS"])}
    assert not [t for t, words in named.items() if not set(words) & {"all", *own}]
    for sub in own:
        page_has = {}
        for title, part in sections(parts["OPTIONS"]).items():
            if sub in named[title] or "all" in named[title]:
                page_has.update(documented(part))
        compare(f"{page} {sub}", page_has, helped(ibqos(command, sub, "--help").ok().stdout))


def test_options_before_the_command(ibqos):
    page = documented(sections(tree("ibqos.8"))["OPTIONS"])
    text = ibqos("--help").ok().stdout
    compare("ibqos.8", page, helped(text[text.index("\nOptions before"):]))
    for long, (short, _, _) in page.items():
        if long not in ("--help", "--version"):
            # both are taken: what is wrong then is the command
            for name in (long, short):
                assert "unknown command 'nothing'" in ibqos(name, "nothing").ok(3).stderr


def test_each_format_is_told(ibqos):
    names = re.search(r"takes one of ([a-z, ]+), not", ibqos("discover", "--format", "nothing").ok(3).stderr)[1].split(", ")
    text = documented(sections(tree("ibqos-discover.8"))["OPTIONS"])["--format"][2]
    assert len(names) > 4 and not [n for n in names if not re.search(rf"\b{n}\b", text)]


def test_pages_that_are_referred_to_are_there():
    have = {*PAGES, "ibqos-findings.7"}
    for page in PAGES:
        with open(os.path.join(MAN, page + ".rst"), encoding="utf-8") as f:
            text = f.read()
        for name, section in re.findall(r"(ibqos(?:-[a-z]+)?)(?:\*\*)?\\? ?\((\d)\)", text):
            assert f"{name}.{section}" in have, (page, name)
        for path in re.findall(r"\bdocs/[\w./-]+\.\w+", text):
            assert os.path.exists(os.path.join(run.TOP, path)), (page, path)
