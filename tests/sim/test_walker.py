# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""ibqos's own walker against libibnetdisc, its reference: the same report on every fabric, whole or with faults,
as far as libibnetdisc can tell. Where they differ, and why: docs/discovery.md."""
import re

import pytest

from tools import netgen_cases


def seen(f, command, walker, *args):
    """What a command says, in both formats; but for the counts of MADs, most of which libibnetdisc cannot tell."""
    text = f.ibqos(command, "--walker", walker, "--all", *args)
    r = f.ibqos(command, "--walker", walker, "--format", "json", *args)
    whole = {k: v for k, v in r.json.items() if k != "mads"}
    return r.returncode, whole, text.returncode, re.sub(r"\nMADs:\n(  .*\n)+", "", text.stdout)


def both_see_the_same(f, command, *args):
    native, reference = (seen(f, command, w, *args) for w in ("native", "libibnetdisc"))
    assert native == reference
    return native[1]


@pytest.mark.parametrize("case", netgen_cases.CASES, ids=str)
def test_same_fabric_of_each_shape(fabric, case):
    """Without an SM: no LIDs, links in Init."""
    f = fabric(net=case.make())
    report = both_see_the_same(f, "discover")
    assert (len(report["nodes"]), len(report["links"])) == (case.cas + case.switches + case.routers, case.cables)
    assert [x["code"] for x in report["findings"]] == ["no-sm"]
