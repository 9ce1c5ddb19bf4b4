# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Files of OpenSM as others write them: ibqos and the real OpenSM take and refuse the same ones."""
import re

import pytest

from kit import foreign

TINY = dict(leaves=1, spines=0, hosts_per_leaf=2, uplinks=0, storage=0)
PARTS = 4


def write(path, text):
    with open(path, "wb") as f:
        f.write(text.encode())


def after(sm, path, text, refused):
    """Writes a file, has OpenSM read it, and tells whether it refused it."""
    write(path, text)
    before = len(sm.log())
    sm.hup()
    if not re.search(refused, sm.log()[before:]):
        sm.hup()  # the sweep whose end was seen may have begun before the file was written
    return bool(re.search(refused, sm.log()[before:]))


def verdict(f, option, path, code):
    r = f.ibqos("lint", option, path, "--format", "json")
    assert r.returncode in (0, 1, 2), str(r)
    found = [x for x in r.json["findings"] if x["code"] == code]
    assert len(found) <= 1 and (not found or found[0]["line"] > 0), str(r)
    return not found


def numbered(files):
    assert len({name for name, _, _ in files}) == len(files)
    return files


@pytest.mark.parametrize("part", range(PARTS))
def test_policies_are_taken_and_refused_as_by_opensm(up, part):
    f, sm = up(**TINY, options={"qos": "TRUE"}, sm={"policy": foreign.LEVELS})
    wrong = []
    for name, text, taken in numbered(foreign.POLICIES)[part::PARTS]:
        # a good one between, whose first comment takes back what a bad one left in the lexer
        assert not after(sm, sm.policy, foreign.LEVELS, "ERR AC0[1346]"), name
        real = not after(sm, sm.policy, text, "ERR AC0[1346]")
        ours = verdict(f, "--qos-policy", sm.policy, "opensm-rules-refused")
        if not real == ours == taken:
            wrong.append((name, f"OpenSM {real}, ibqos {ours}, expected {taken}"))
    assert not wrong


def test_partitions_are_taken_and_refused_as_by_opensm(up):
    f, sm = up(**TINY, options={"qos": "TRUE"}, sm={"partitions": foreign.ALL})
    wrong = []
    for name, text, taken in numbered(foreign.PARTITIONS):
        real = not after(sm, sm.partitions, text, "Partition configuration in error")
        ours = verdict(f, "--partitions", sm.partitions, "opensm-partitions-refused")
        if not real == ours == taken:
            wrong.append((name, f"OpenSM {real}, ibqos {ours}, expected {taken}"))
    assert not wrong
