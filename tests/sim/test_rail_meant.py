# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Several rails, an OpenSM each, all on one host: what changes one of them asks that one's ports, and the commands that are
printed are about that one."""
import os

import pytest

from kit import policy
from tools import netgen_rails as gen

SHAPE = dict(leaves=1, spines=0, switch_ports=8, speed="EDR")


class Rail:
    def __init__(self, f, sm):
        self.f, self.sm = f, sm
        self.policy = policy.write(f, sm)
        self.state = ("--state-dir", f.path("state"))

    def files(self):
        texts = []
        for path in (self.sm.config, self.sm.policy):
            with open(path, "rb") as file:
                texts.append(file.read())
        return texts

    def ibqos(self, command, *args, through=None):
        """through: the rail that the default port of this host is in."""
        return (through or self).f.ibqos(command, *args, "--format", "json", *self.state)

    def apply(self, *args, through=None):
        return self.ibqos("apply", self.policy, *args, through=through)

    def change(self):
        """The newest of its history."""
        return sorted(os.listdir(self.f.path("state/history")))[-1]


@pytest.fixture
def rails(up):
    """Factory: rails(count) -> as many Rails, up; their GUIDs differ."""
    def start(count=2):
        nets = gen.site(gen.members(gen.hosts("gpu-", 2), range(count)), **SHAPE)
        return [Rail(*up(net=net)) for net in nets]
    return start


def serious(r):
    return {x["code"] for x in r.json["findings"] if x["severity"] != "note"}


def not_master(r, rail):
    (x,) = policy.codes(r)["apply-not-master"]
    assert x["file"] == rail.sm.config and f"process {rail.sm.pid} " in x["wanted"] and "not in this fabric" in x["detail"]


def test_a_rollback_through_the_port_of_another_rail(rails):
    """The other rail's ports hold the old tables anyway: nothing would be proved by them."""
    one, other = rails()
    one.apply().ok()
    new, sweeps = one.files(), one.sm.sweeps()
    r = one.ibqos("rollback", through=other).ok(3)
    assert serious(r) == {"apply-not-master"} and not r.json["apply"]["rolled_back"]
    not_master(r, one)
    assert one.files() == new and one.sm.sweeps() == sweeps
    r = one.ibqos("rollback", "--to", one.change(), through=other).ok(3)
    assert serious(r) == {"apply-not-master"} and one.files() == new
    # and it can be undone still
    assert one.ibqos("rollback").ok().json["apply"]["rolled_back"]


def test_the_timer_through_the_port_of_another_rail(rails):
    one, other = rails()
    one.apply().ok()
    journal = one.f.path(f"state/history/{one.change()}/journal")
    with open(journal, "a", encoding="ascii") as j:
        j.write("2026-11-30T00:00:00Z confirm waiting until 2026-11-30T00:10:00Z, by timer x\n")
    new = one.files()
    r = one.ibqos("rollback", "--unconfirmed", one.change(), through=other).ok(2)
    assert serious(r) == {"apply-not-master", "apply-not-undone"} and one.files() == new
    r = one.ibqos("rollback", "--unconfirmed", one.change()).ok()
    assert r.json["apply"]["rolled_back"]


def test_a_killed_apply_is_not_taken_up_through_the_port_of_another_rail(rails):
    one, other = rails()
    one.apply().ok()
    journal = one.f.path(f"state/history/{one.change()}/journal")
    with open(journal, encoding="ascii") as j:
        lines = j.readlines()
    (last,) = (i for i, line in enumerate(lines) if " install writing" in line)
    with open(journal, "w", encoding="ascii") as j:
        j.writelines(lines[:last + 1])
    kept, new = lines[:last + 1], one.files()
    for command in (("apply", one.policy), ("rollback",)):
        r = one.ibqos(*command, through=other).ok(3)
        assert serious(r) == {"apply-not-master"} and one.files() == new
        with open(journal, encoding="ascii") as j:
            assert j.readlines() == kept
    one.apply().ok()


def test_waiting_at_the_port_of_another_rail(rails):
    one, other = rails()
    # the other one's ports hold what is waited for
    with open(other.policy, encoding="utf-8") as f:
        assert f.read().split("opensm:")[0] == policy.text(None)
    other.apply().ok()
    r = one.apply("--wait-only", through=other).ok(3)
    assert serious(r) == {"apply-not-master"}
    not_master(r, one)
    # said to be elsewhere, the one here is not meant
    r = one.apply("--wait-only", "--opensm-config", "none", through=other).ok()
    assert r.json["apply"]["outcome"] == "every port holds the tables"
    r = one.apply("--wait-only", "--deadline", "1").ok(2)
    assert "apply-lag" in serious(r)
