# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Random policies, one after the other on one real OpenSM: each is loaded without an error and every port holds it.
IBQOS_CASES (a factor) as for the unit tests: 20 gives 60 policies."""
import os
import random
import re

import pytest

from kit import policy

POLICIES = max(1, int(3 * float(os.environ.get("IBQOS_CASES") or 1)))
SEED = 20261130


def classes(rng):
    """Up to 8 classes, as many as the fabric has VLs; whole percents that add up to 100 at most."""
    count = rng.randint(1, 8)
    cuts = sorted(rng.sample(range(1, 100), count - 1))
    shares = [b - a for a, b in zip([0] + cuts, cuts + [100])]
    if count > 1 and rng.random() < 0.3:  # something is left over
        shares[0] = max(1, shares[0] // 2)
    sls, tcs = rng.sample(range(16), count), rng.sample(range(1, 256), count)
    default, style = rng.randrange(count), rng.randrange(3)
    made = []
    for i in range(count):
        c = dict(name=f"c{i}", sl=sls[i], share=f"{shares[i]}%")
        if rng.random() < 0.5:
            c["nccl_ib_tc"] = tcs[i]
        if style == 1 and rng.random() < 0.5:
            c["priority"] = "high"
        elif style == 2 and i == 0 and count > 1:
            c["min_latency"] = "true"
        if i == default:
            c["default"] = "true"
        made.append(c)
    return made


@pytest.mark.timeout(60 + 30 * POLICIES)
def test_random_policies_on_opensm(up):
    f, sm = up(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=1)
    rng = random.Random(SEED)
    for n in range(POLICIES):
        path = policy.write(f, sm, classes(rng), name=f"policy-{n}.yaml")
        # warnings: a share that no table gives, a change that holds traffic up; never more
        r = f.ibqos("apply", path, "--format", "json", "--state-dir", f.path("state")).ok(0, 1)
        assert r.json["apply"]["reached"] == "done", r
        r = f.ibqos("verify", path, "--format", "json").ok(0, 1)
        assert {x["code"] for x in r.json["findings"] if x["severity"] != "note"} <= {"plan-share-missed"}, r
        errors = [line for line in sm.log().splitlines() if re.search(r" ERR |Syntax error", line)]
        assert not errors, (open(path, encoding="utf-8").read(), errors[:5])
