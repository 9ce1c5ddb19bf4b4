# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Every policy that is shipped: linted, compiled, applied on real OpenSM, verified clean."""
import glob
import os
import re

import pytest

from kit import policy, run

SHIPPED = sorted(glob.glob(os.path.join(run.TOP, "policies", "*.yaml")))


def test_there_are_some():
    assert SHIPPED


@pytest.mark.parametrize("path", SHIPPED, ids=[os.path.basename(p) for p in SHIPPED])
def test_shipped_policy(up, path):
    f, sm = up(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=1)
    with open(path, encoding="utf-8") as p:
        text = p.read()
    # as shipped, but for the paths of OpenSM's files
    head = re.split(r"^opensm:", text, flags=re.M)[0]
    ours = f.path("policy.yaml")
    with open(ours, "w", encoding="utf-8") as p:
        p.write(head + "".join(policy.text(sm, ()).partition("opensm:")[1:]))
    f.ibqos("lint", path).ok()
    plan = f.ibqos("plan", ours, "--format", "json").ok().json
    assert all(c["share_guaranteed"] >= c["share_wanted"] - 2 for c in plan["classes"])
    f.ibqos("apply", ours, "--state-dir", f.path("state")).ok()
    f.ibqos("verify", ours).ok()
    assert not [line for line in sm.log().splitlines() if "ERR AC" in line]
