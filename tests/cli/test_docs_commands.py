# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What README, guides and manual pages name is there: commands with their options, findings, files."""
import glob
import os
import re

import pytest

from kit import docs, run

MARKDOWN = sorted(os.path.relpath(p, run.TOP) for p in (
    *glob.glob(os.path.join(run.TOP, "*.md")), *glob.glob(os.path.join(run.TOP, "docs", "*.md")), *glob.glob(os.path.join(run.TOP, "contrib", "**", "*.md"), recursive=True)))
PAGES = sorted(os.path.relpath(p, run.TOP) for p in glob.glob(os.path.join(run.TOP, "docs", "man", "*.rst")))


def text(document):
    with open(os.path.join(run.TOP, document), encoding="utf-8") as f:
        return f.read()


def calls(document):
    """Words of each ibqos that a document tells one to type: in blocks, and in the running text between backquotes."""
    found = [w for b in docs.blocks(os.path.join(run.TOP, document)) if b.kind in ("", "sh", "console", "bash") for w in docs.ibqos_calls(b)]
    mark = "``" if document.endswith(".rst") else "`"
    for span in re.findall(rf"(?<!`){mark}((?:sudo )?ibqos [^`]+){mark}(?!`)", re.sub(r"```.*?```", "", text(document), flags=re.S)):
        found += docs.ibqos_calls(docs.Block(document, 0, "", " ".join(span.split()), None, ""))
    return [w for w in found if w]


def test_enough_is_looked_at():
    assert sum(len(calls(d)) for d in (*MARKDOWN, *PAGES)) > 150 and len(PAGES) > 17


# words that stand for something of a certain form
VALUES = {"COMMAND": "verify", "DATE": "2036-12-15", "HOST:SHA256": "sm2:" + 64 * "0"}


@pytest.mark.parametrize("document", [d for d in (*MARKDOWN, *PAGES) if calls(d)])
def test_commands_are_understood(ibqos, document):
    """Options are read from left to right, and --help behind them ends the program: one that it does not know ends it before."""
    for words in calls(document):
        group = 2 if words[0] in ("job", "maintenance") else 1
        if words[0].isupper() or len(words) < group:  # COMMAND; `ibqos job`
            words = ["--help"] if words[0].isupper() else [words[0]]
        if words[-1].startswith("-") and "=" not in words[-1]:  # an option alone, whose value is not said
            assert re.search(rf"{re.escape(words.pop())}\b", ibqos(*words, "--help").ok().stdout), (document, words)
        r = ibqos(*(VALUES.get(w, w) for w in words), "--help")
        assert r.returncode == 0 and (r.stdout.startswith("Usage:") or words[0].startswith("-")), (document, words, r)


def codes():
    with open(os.path.join(run.TOP, "include", "ibqos", "finding_codes.def"), encoding="utf-8") as f:
        return set(re.findall(r'FINDING_CODE\(\w+,\s*"([a-z0-9-]+)"', f.read()))


# names of the same form that are no findings
OTHER = {"job-id", "link-layer", "node-name-map", "opensm-conf", "qos-policy", "port-name", "policy-docs", "qos-ulps", "qos-match-rule",
         "qos-setup", "qos-level", "qos-class", "port-guid", "port-group", "vlarb-caps", "check-extra", "qos-match-rules"}


def test_findings_are_there():
    have, named, wrong = codes(), 0, []
    families = {c.split("-")[0] for c in have}
    for document in MARKDOWN:
        for span in re.findall(r"`([a-z][a-z0-9]*(?:-[a-z0-9]+)+)`", text(document)):
            if span.split("-")[0] in families and span not in OTHER:
                named += 1
                if span not in have:
                    wrong.append((document, span))
    assert named > 100 and not wrong, wrong


# of NCCL, of UCX, of what is built, a form
ELSEWHERE = {"src/transport/net_ib/", "src/uct/ib/mlx5/ib_mlx5.c", "tests/ibqos-fault", "tests/fuzz/fuzz_NAME.c"}


def test_files_are_there():
    wrong = []
    for document in MARKDOWN:
        folder = os.path.dirname(os.path.join(run.TOP, document))
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text(document)):
            if not re.match(r"\w+:", target) and not os.path.exists(os.path.join(folder, target)):
                wrong.append((document, target))
        for name in re.findall(r"`((?:docs|tests|contrib|scripts|policies|src|include)/[\w./-]+)`", text(document)):
            if name not in ELSEWHERE and not os.path.exists(os.path.join(run.TOP, name)) and not os.path.exists(os.path.join(folder, name)):
                wrong.append((document, name))
    assert not wrong, wrong


PROMISED = {"docs/packaging.md"}


def test_documents_that_sources_name_are_there():
    files = run.run(["git", "-c", f"safe.directory={run.TOP}", "-C", run.TOP, "ls-files", "--", "include", "src", "mk", "scripts", "contrib", "Makefile"]).ok().stdout.split()
    named = {(m, f) for f in files for m in re.findall(r"\bdocs/[\w./-]+\.(?:md|json|rst)\b", text(f))}
    assert len(files) > 300 and len(named) > 10
    assert not [x for x in named if x[0] not in PROMISED and not os.path.exists(os.path.join(run.TOP, x[0]))]
