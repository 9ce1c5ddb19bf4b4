# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What README, guides and manual pages tell one to type is typed here, on a simulated fabric, and prints what they show."""
import glob
import os

import pytest

from kit import docs, machine, run

DOCUMENTS = sorted(os.path.relpath(p, run.TOP) for p in (
    os.path.join(run.TOP, "README.md"), *glob.glob(os.path.join(run.TOP, "docs", "*.md")), *glob.glob(os.path.join(run.TOP, "docs", "man", "*.rst"))))
RUN = [d for d in DOCUMENTS if any(b.directive == "run" for b in docs.blocks(os.path.join(run.TOP, d)))]

pytestmark = pytest.mark.skipif(machine.possible() is not None, reason=str(machine.possible()))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("document", RUN)
def test_document(document, tmp_path):
    there, number = None, 0
    try:
        for block in docs.blocks(os.path.join(run.TOP, document)):
            if block.directive in (None, "root"):  # those in an empty root: tests/docs/test_empty_root.py
                continue
            if block.directive == "run" and "fabric" in block.options:
                if there:
                    there.__exit__(None)
                number += 1
                (tmp_path / str(number)).mkdir()
                there = machine.Machine(tmp_path / str(number), block.options["fabric"])
            if block.directive == "rules":
                there.rules(*(r.strip() for r in block.words.split(";") if r.strip()))
            else:
                docs.check(there, block)
        there.__exit__(None)
        there = None
    finally:
        if there:
            there.stop()
