# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""-q of what changes a fabric: the outcome, what is to be done by hand, findings and the verdict, and nothing else; and what `history`
says of changes by policies with and without a name."""
import os
import re

import pytest

from kit import policy, run

SMALL = {"leaves": 2, "spines": 1, "hosts_per_leaf": 2, "storage": 0}


@pytest.fixture
def there(up):
    f, sm = up(options={"qos": "TRUE"}, **SMALL)
    return f, sm, policy.write(f, sm)


def parts(text):
    return text.rstrip("\n").split("\n\n")


def test_apply_stage(there):
    f, sm, path = there
    r = f.ibqos("apply", "--stage", "staged", path, "-q").ok(0)
    outcome, to_do, *findings, verdict = parts(r.stdout)
    assert outcome == "outcome: staged: the files are written elsewhere" and r.stderr == ""
    lines = to_do.split("\n")
    assert lines[0] == "to be done, by hand or by another tool:" and f"cp staged/opensm.conf {sm.config}" in lines
    assert lines[-1] == f"ibqos apply --wait-only {path}"
    assert all("(plan-mixture)" in x.split("\n")[0] for x in findings) and verdict.startswith("verdict: clean")
    assert os.path.exists(f.path("staged/opensm.conf")) and run.run(["grep", "-c", "^qos_max_vls", sm.config]).returncode == 1
    with open(f.path("report"), "w", encoding="utf-8"):
        pass
    f.ibqos("apply", "--stage", "again", path, "-q", "--output", "report").ok(0)
    with open(f.path("report"), encoding="utf-8") as file:  # a file is quiet too
        assert parts(file.read())[0] == outcome


def test_apply_and_rollback(there):
    f, _, path = there
    for command, outcome in ((("apply", path), "applied"), (("rollback",), "rolled back")):
        r = f.ibqos(*command, "-q", "--state-dir", "s").ok(0)
        first, *findings, verdict = parts(r.stdout)
        assert first == f"outcome: {outcome}" and verdict.startswith("verdict: clean") and r.stderr == ""
        assert all(re.match(r"(\S+: )?note: ", x) for x in findings)
    r = f.ibqos("rollback", "-q", "--state-dir", "s").ok(3)  # there is nothing more
    outcome, finding, verdict = parts(r.stdout)
    assert outcome == "outcome: refused, nothing was touched" and "(apply-no-history)" in finding and verdict == "verdict: unknown (1 unknown)"


def test_history_names_policies(there):
    """By the name that one has, else by its file alone."""
    f, sm, path = there
    named = f.path("named.yaml")
    with open(named, "w", encoding="utf-8") as file:
        file.write(policy.text(sm, ({**policy.TRAINING, "share": "60%"}, {**policy.STORAGE, "share": "30%"}, policy.OTHER), name="second-try"))
    for p in (path, named):
        f.ibqos("apply", p, "--state-dir", "s").ok(0)
    second, first = f.ibqos("history", "--state-dir", "s", "--format", "json").ok(0).json["history"]
    assert (first["policy"], second["policy"]) == (path, "second-try")
    text = f.ibqos("history", "--state-dir", "s").ok(0).stdout
    assert [re.search(rf"{x['id']} .*", text)[0].split()[3] for x in (first, second)] == [path, "second-try"]
    whole = [f.ibqos("history", x["id"], "--state-dir", "s", "--format", "json").ok(0).json["change"] for x in (first, second)]
    assert [(w["policy"], w["policy_path"]) for w in whole] == [(None, path), ("second-try", named)]
    f.ibqos("rollback", "--to", first["id"], "--state-dir", "s", "-q").ok(0, 3)
    assert f.ibqos("history", "--state-dir", "s", "-q").ok(0).stdout == "verdict: clean\n"
