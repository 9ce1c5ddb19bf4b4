# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Several rails, an OpenSM each, all on one host: what changes one of them asks that one's ports, and the commands that are
printed are about that one."""
import os
import re
import shlex
import shutil
import subprocess

import pytest

from kit import policy
from kit.sites import Site
from tools import netgen_rails as gen

SHAPE = dict(leaves=1, spines=0, switch_ports=8, speed="EDR")


class Rail:
    def __init__(self, f, sm):
        self.f, self.sm = f, sm
        self.policy = policy.write(f, sm)
        self.state = ("--state-dir", f.path("state"))

    def files(self):
        return self.sm.files()

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


def test_the_history_tells_whose_change_each_is(rails):
    """Two OpenSMs in one history."""
    one, other = rails()
    one.apply().ok()
    other.f.ibqos("apply", other.policy, *one.state).ok()
    rows = one.ibqos("history").ok().json["history"]
    assert [x["opensm_config"] for x in rows] == [other.sm.config, one.sm.config]
    assert one.ibqos("history", rows[1]["id"]).ok().json["change"]["opensm_config"] == one.sm.config
    text = one.f.ibqos("history", *one.state).ok().stdout
    assert all(re.search(rf"^ *{re.escape(x['id'])} .* {re.escape(x['opensm_config'])}$", text, re.M) for x in rows), text


def test_what_an_apply_with_another_history_left_there(rails):
    """OpenSM has read it: that it is not in this history is all that is known."""
    (one,) = rails(1)
    one.apply().ok()
    two = policy.write(one.f, one.sm, [policy.TRAINING, dict(policy.OTHER, share="30%")], name="two.yaml")
    one.f.ibqos("apply", two, "--state-dir", one.f.path("second")).ok()
    r = one.apply().ok(3)
    found = policy.codes(r)["apply-pending-edits"]
    assert serious(r) == {"apply-pending-edits"} and {x["file"] for x in found} == {one.sm.config, one.sm.policy}
    for x in found:
        assert x["detail"].startswith(f"not in this history, {one.state[1]}/history") and "--state-dir" in x["detail"]
        assert "since OpenSM last read" not in x["title"]
    # with the history that it is in
    one.f.ibqos("apply", one.policy, "--state-dir", one.f.path("second")).ok()


# --- commands that are printed ---


def words(line):
    """A printed ibqos command, without its first word."""
    first, *rest = shlex.split(line)
    assert first == "ibqos"
    return rest


def lines(r, start):
    return [line for line in r.json["to_do"].splitlines() if line.startswith(start)]


def test_what_the_run_was_told_is_in_the_commands(rails, tmp_path):
    """Pasted where the default port and the policy's own config are another rail's, they are about this one all the same."""
    one, other = rails()
    keys = tmp_path / "guid2mkey"
    keys.write_text("")
    keys.chmod(0o600)
    path = tmp_path / "policy.yaml"
    path.write_text(f"{policy.text(None)}opensm:\n  config: {other.sm.config}\n")
    asked = ["-P1", "--opensm-config", one.sm.config, "--guid2mkey", str(keys), "-t", "900", "--fabric=rail 3", *one.state]
    r = one.f.ibqos("apply", path, "--stage", tmp_path / "s", "--format", "json", "-q", *asked).ok()
    (wait,) = lines(r, "ibqos apply")
    assert wait == (f"ibqos apply --wait-only -P 1 --opensm-config {one.sm.config} --guid2mkey {keys} -t 900 --fabric 'rail 3' "
                    f"--state-dir {one.state[1]} {path}")
    assert f"kill -HUP {one.sm.pid}\n" in r.json["to_do"]
    other.apply().ok()
    refused = other.f.ibqos(*words(wait), "--format", "json").ok(3)
    assert serious(refused) == {"apply-not-master"}
    not_master(refused, one)
    # the steps, then that line, where it is meant to be
    subprocess.run(["sh", "-e", "-c", r.json["to_do"].replace(wait, "")], check=True, timeout=60)
    assert one.f.ibqos(*words(wait), "--format", "json").ok().json["apply"]["outcome"] == "every port holds the tables"


def test_a_site_tells_each_fabric_its_own_commands(rails, tmp_path):
    pair = rails()
    keys = tmp_path / "guid2mkey"
    keys.write_text("")
    keys.chmod(0o600)
    own = {f"rail{i}": {"port": {"ca": "ibsim0", "port": 1}, "guid2mkey": str(keys), "history": rail.state[1],
                        "opensm": {"config": rail.sm.config}} for i, rail in enumerate(pair)}
    path = policy.write(pair[0].f, None, name="bare.yaml")
    site = Site(tmp_path, {f"rail{i}": rail.f for i, rail in enumerate(pair)}, {"timeout": 120, "policy": path}, own)
    r = site.ibqos("apply", "--stage", tmp_path / "s", "--allow-drop").ok()
    waits = [line for line in r.stdout.splitlines() if line.startswith("ibqos apply --wait-only")]
    assert len(waits) == 2
    for i, (rail, line) in enumerate(zip(pair, waits)):
        assert line == (f"ibqos apply --wait-only --fabric rail{i} --allow-drop -C ibsim0 -P 1 --guid2mkey {keys} --opensm-config "
                        f"{rail.sm.config} --state-dir {rail.state[1]} {path}")
        refused = pair[1 - i].f.ibqos(*words(line), "--deadline", "1", "--format", "json").ok(3)
        not_master(refused, rail)


def reload_of(r):
    """The printed commands that reload an OpenSM, of a run that found none of this config here."""
    text = r.json["to_do"]
    return text[text.index("# where it runs:"):text.index("ibqos apply --wait-only")]


def test_one_of_several_opensms_of_a_host_is_reloaded(rails, tmp_path):
    """What is printed for another host names the OpenSM by its config; the others of that host are let be."""
    one, other = rails()
    elsewhere = tmp_path / "it's there.conf"
    shutil.copy(one.sm.config, elsewhere)
    r = one.apply("--opensm-config", str(elsewhere), "--stage", tmp_path / "s").ok()
    text = reload_of(r)
    name = shlex.quote(str(elsewhere)).replace("\"'\"", "\\'")
    assert name in text
    # there it is none's
    p = subprocess.run(["sh", "-e", "-c", text], capture_output=True, text=True, timeout=60)
    assert p.returncode == 1 and "no OpenSM was started with" in p.stderr
    before = other.sm.sweeps()
    sweeps = one.sm.sweeps()
    subprocess.run(["sh", "-e", "-c", text.replace(name, one.sm.config)], check=True, timeout=60)
    one.sm.wait_sweep(sweeps + 1)
    # a sweep of the other that began later is seen to be its own: it was not told before
    other.sm.hup()
    assert other.sm.sweeps() == before + 1
