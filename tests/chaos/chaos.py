#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Chaos: random faults against ibqos on a simulated fabric with real OpenSM. What is done comes from the seed alone
(step n of a seed is always the same choice, as far as what it needs is there); when it happens varies. Everything is
logged with its time; docs/testing.md tells what must hold. Exit: 0 all held, 1 not, 3 could not run.

IBQOS_BIN and IBQOS_OVERLAY choose the build, as for pytest; a sanitizer build is welcome."""
import argparse
import collections
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TESTS)

from chaos import judge, truth  # noqa: E402
from chaos.world import POLICIES, World  # noqa: E402
from kit import run  # noqa: E402

READERS = (("-t", "30", "--retries", "1"), ("-t", "50", "--retries", "3"), ("-t", "100", "--retries", "2"),
           ("-t", "60", "--retries", "2", "--directed-route"))
SILENT = ("gpu-002", "gpu-005", "oss-01", "spine-02", "leaf-02")
STEPS = ("preflight:", "backup:", "install:", "converge:", "rollback:", "reloaded OpenSM")
# verify, audit, plan, discover do not touch files; apply does the most and is hurt the most
COMMANDS = {"apply": 5, "rollback": 1.5, "verify": 4, "audit": 2, "plan": 2, "discover": 1}
WRITE = ("apply", "rollback")
# a standby with files of its own, and edits of others, are part of the chaos: said, with consent given
CONSENT = ["--standby-later", "--include-pending"]
CONSENTED = {"apply-standby-later", "apply-pending-edits"}



def well(r):
    """Nothing but what consent was given to."""
    report = judge.parsed(r)
    said = {f["code"] for f in report["findings"] if f["severity"] != "note"} if report else None
    return r.returncode == 0 or (r.returncode == 1 and said is not None and said <= CONSENTED)


class Chaos:
    def __init__(self, seed, folder, verbose):
        self.seed, self.dir, self.verbose = seed, folder, verbose
        self.begin = time.monotonic()
        self.log = open(os.path.join(folder, "chaos.log"), "w", encoding="utf-8")
        self.faults, self.verdicts = collections.Counter(), collections.Counter()
        self.steps = self.bad = self.strays = self.lost_edits = self.own_deaths = 0
        self.edit_mark = self.edited = None  # of an edit that another admin made during the run that is judged
        self.current = "first"  # the policy that was applied last
        self.kept = {}  # files of history as they were first seen
        self.skipped = []
        self.world = World(os.path.join(folder, "fabric"), self.say, random.Random(f"{seed}/world"),
                           self.faults)
        if self.world.mounts is not True or not self.world.etc.mounted:
            self.skipped.append(f"full disks: no tmpfs here ({self.world.mounts})")

    def say(self, text):
        line = f"{time.monotonic() - self.begin:8.3f} {text}"
        self.log.write(line + "\n")
        self.log.flush()
        if self.verbose:
            print(line, flush=True)

    def fail(self, what, r=None):
        self.bad += 1
        self.say(f"FAILED: {what}")
        if not self.verbose:
            print(f"seed {self.seed}, step {self.steps}: FAILED: {what[:500]}", flush=True)
        if r is not None:
            self.say(f"  {' '.join(r.argv)}\n  exit {r.returncode} after {r.seconds:.2f} s, killed by us: {r.killed}\n"
                     f"-- stdout\n{r.stdout.decode(errors='replace')}\n-- stderr\n{r.stderr}")

    # --- start and end ---

    def start(self):
        w = self.world
        w.sm.start()
        if not w.sm.wait_sweep(0, 60):
            raise run.KitError(f"OpenSM does not come up: {w.sm.path('opensm.log')}")
        self.tables = {}
        for name, path in w.policies.items():
            r = w.ibqos(["plan", path, "--format", "json"], 1)
            if r.returncode != 0:
                raise run.KitError(f"plan {name} on a calm fabric: exit {r.returncode}\n{r.stdout}\n{r.stderr}")
            self.tables[name] = truth.tables_of(judge.parsed(r))
        self.say(f"start: {len(w.net.nodes)} nodes, {len(w.net.cables)} cables, standby on {w.standby.host}")

    def finish(self):
        """Faults lifted, the history can be gone back to, and the first policy can be applied."""
        w = self.world
        self.say("the end: all faults lifted")
        w.calm()
        self.history_stands()
        self.go_back()
        for args in (["apply", w.policies["five"], *CONSENT], ["apply", w.policies["high"], *CONSENT], ["rollback"]):
            versions = judge.Versions(w)
            r = w.ibqos([*args, "--format", "json", "--deadline", "40", *self.state()], 1)
            self.common(r, args[0], versions)
            if not well(r):
                self.fail(f"after the chaos {args[0]} fails", r)
        if differ := truth.differences(truth.read(w), truth.tables_of_config(w.files()[0]), w.net):
            self.fail(f"after the chaos and a rollback, ports hold other tables: {differ}")
        versions = judge.Versions(w)
        r = w.ibqos(["apply", w.policies["first"], *CONSENT, "--format", "json", "--deadline", "40", *self.state()], 1)
        self.common(r, "apply", versions)
        if not well(r):
            self.fail("after the chaos the first policy cannot be applied", r)
        for command in (["verify", w.policies["first"]], ["audit"]):
            r = w.ibqos([*command, "--format", "json"], 1)
            if r.returncode != 0:
                self.fail(f"after the chaos {command[0]} is not clean", r)
        differ = truth.differences(truth.read(w), self.tables["first"], w.net)
        if differ:
            self.fail(f"after the chaos ports hold other tables: {differ}")
        if left := [p for p in w.temporaries() if p.startswith(w.etc.path)]:
            self.fail(f"the last apply left what killed ones had left: {left}")

    def go_back(self):
        """The files of some history folder put back by hand, as an admin would."""
        w, rng = self.world, random.Random(f"{self.seed}/back")
        whole = [h for h in w.histories() if (conf := judge.read(f"{h}/old-opensm.conf")) and
                 judge.qos_of(conf) == b"TRUE" and judge.read(f"{h}/old-qos-policy.conf")]
        if not whole:
            self.say("no history folder with QoS on to go back to")
            return
        folder = rng.choice(whole)
        for name, path in (("old-opensm.conf", w.sm.config), ("old-qos-policy.conf", w.sm.policy)):
            shutil.copyfile(f"{folder}/{name}", path)
        for _ in range(2):
            before = w.sm.sweeps()
            w.sm.hup()
            w.sm.wait_sweep(before, 30)
        r = w.ibqos(["verify", "--opensm-conf", w.sm.config, "--format", "json"], 1)
        differ = truth.differences(truth.read(w), truth.tables_of_config(w.files()[0]), w.net)
        self.say(f"gone back to {os.path.basename(folder)}: verify {r.returncode}")
        if differ or judge.criticals(r):
            self.fail(f"gone back to {folder}, ports hold other tables: {differ}", r)

    # --- history ---

    def history_stands(self):
        """What was kept once stays as it is."""
        for folder in self.world.histories():
            for name in os.listdir(folder):
                if name.startswith(("old-", "new-")):
                    path = os.path.join(folder, name)
                    text = judge.read(path)
                    if self.kept.setdefault(path, text) != text:
                        self.fail(f"{path} has changed since it was made")
        for path in self.kept:
            if not os.path.exists(path):
                self.fail(f"{path} is gone")

    def state(self):
        return ["--state-dir", self.world.state.path]

    # --- faults between the runs ---

    def fault(self, rng):
        """One change to the world; None where it cannot be now."""
        w = self.world
        kinds = {"noise": 4, "noise-off": 2, "plant": 4, "plant-off": 2, "sm-noise": 2, "sm-noise-off": 2, "unlink": 2,
                 "relink": 3, "hup": 2, "sm-end": 1.5, "sm-start": 4, "standby-start": 2, "standby-end": 1, "edit": 2, "rules": 1,
                 "full": 1, "full-off": 2, "calm": 2}
        kind = rng.choices(list(kinds), list(kinds.values()))[0]
        what = getattr(self, "do_" + kind.replace("-", "_"))(rng)
        if what is None:
            return
        if not kind.endswith(("-off", "-start")) and kind not in ("relink", "calm"):
            self.faults[kind] += 1
        self.say(f"  {kind}: {what}")
        w.sm.reap()

    def do_calm(self, _):
        """Now and then all is well, so that applies come through and have something to change again."""
        self.world.calm()
        return "all faults lifted"

    def do_noise(self, rng):
        p = rng.choice((0.02, 0.05, 0.1, 0.2))
        lines = [f"class=smp prob={p} : timeout", f"class=smp prob={p} : delay={rng.choice((5, 40, 120))}",
                 # of tables alone: no kernel hands an answer out twice, and libibnetdisc 44 frees twice if one does
                 f"attr={rng.choice(('SL2VL', 'VLArb'))} prob={p} : "
                 f"{rng.choice(('duplicate=1', 'duplicate=3', 'reorder=4', 'foreign=2', 'late=150'))}",
                 f"class=smp prob={p} : status={rng.choice(('0x1c', '0x04', '0x0c'))}"]
        self.world.noise = rng.sample(lines, rng.choice((1, 1, 2, 3)))
        self.world.push_rules()
        return " | ".join(self.world.noise)

    def do_noise_off(self, _):
        if not self.world.noise:
            return None
        self.world.noise = []
        self.world.push_rules()
        return "readers hear well"

    def do_plant(self, rng):
        w = self.world
        kind = rng.choice(("table", "silent", "slow"))
        if kind == "silent":
            where = rng.choice(SILENT)
        elif kind == "slow":
            where = rng.randrange(1, len(w.net.cables))
        else:
            node, port = rng.choice(sorted((c.a.name, c.ap) if rng.random() < 0.5 else (c.b.name, c.bp)
                                           for c in w.net.cables))
            where = (node, port, rng.randrange(1, w.net[node].ports + 1) if w.net[node].switch else 0)
        w.plant = (kind, where)
        w.push_rules()
        return f"{kind} {w.cable_name(where) if kind == 'slow' else where}"

    def do_plant_off(self, _):
        if not self.world.plant:
            return None
        self.world.plant = None
        self.world.push_rules()
        return "nothing planted"

    def do_sm_noise(self, rng):
        w = self.world
        if rng.random() < 0.3:
            w.sm_silent, w.sm_noise = rng.choice(SILENT), []
        else:
            p, method = rng.choice((0.05, 0.1, 0.2)), rng.choice(("", "method=set ", "method=get "))
            fate = rng.choice(("timeout", "timeout", "delay=30", "status=0x1c"))
            w.sm_silent, w.sm_noise = None, [f"class=smp {method}prob={p} : {fate}"]
        w.push_sm_rules()
        return w.sm_silent or w.sm_noise[0]

    def do_sm_noise_off(self, _):
        w = self.world
        if not w.sm_noise and not w.sm_silent:
            return None
        w.sm_noise, w.sm_silent = [], None
        w.push_sm_rules()
        return "OpenSM hears well"

    def do_unlink(self, rng):
        w = self.world
        i = rng.randrange(1, len(w.net.cables))  # 0 is the host's that looks
        if i in w.unlinked or len(w.unlinked) > 3:
            return None
        w.unlink(i)
        return w.cable_name(i)

    def do_relink(self, rng):
        w = self.world
        if not w.unlinked:
            return None
        i = rng.choice(sorted(w.unlinked))
        w.relink(i)
        return w.cable_name(i)

    def do_hup(self, _):
        if not self.world.sm.alive():
            return None
        self.world.sm.hup()
        return "OpenSM"

    def do_sm_end(self, rng):
        if not self.world.sm.alive():
            return None
        number = rng.choice((signal.SIGKILL, signal.SIGTERM))
        self.world.sm.kill(number)
        return signal.Signals(number).name

    def do_sm_start(self, rng):
        w, wait = self.world, rng.choice((0.3, 2, 20))
        if w.sm.alive():
            return None
        before = w.sm.sweeps()
        w.sm.start()
        return f"{'up' if w.sm.wait_sweep(before, wait) else 'not up'} after at most {wait} s"

    def do_standby_start(self, rng):
        if self.world.standby.alive():
            return None
        self.world.standby.start()
        time.sleep(rng.choice((0.1, 1.5)))
        return self.world.standby.host

    def do_standby_end(self, rng):
        if not self.world.standby.alive():
            return None
        number = rng.choice((signal.SIGKILL, signal.SIGTERM))
        self.world.standby.kill(number)
        return signal.Signals(number).name

    def do_edit(self, rng):
        return self.world.edit(rng)[0]

    def do_rules(self, rng):
        """Another admin puts the qos-policy file of an earlier apply in place, and tells OpenSM nothing."""
        w = self.world
        kept = [h for h in w.histories() if judge.read(f"{h}/new-qos-policy.conf")]
        if not kept or not w.files()[1]:
            return None
        folder = rng.choice(kept)
        try:
            shutil.copyfile(f"{folder}/new-qos-policy.conf", w.sm.policy + ".admin")
            os.rename(w.sm.policy + ".admin", w.sm.policy)
        except OSError as e:
            if os.path.exists(w.sm.policy + ".admin"):
                os.unlink(w.sm.policy + ".admin")
            return f"failed: {e}"
        return os.path.basename(folder)

    def do_full(self, rng):
        folder, leave = rng.choice((self.world.etc, self.world.state)), rng.choice((0, 0, 1, 2, 3, 5, 7))
        if not folder.mounted:
            return None
        folder.fill(leave)
        return f"{os.path.basename(folder.path)} but {leave} pages"

    def do_full_off(self, rng):
        full = [f for f in (self.world.etc, self.world.state) if f.full()]
        if not full:
            return None
        rng.choice(full).empty()
        return "room again"

    # --- runs ---

    def meanwhile(self, rng, command):
        """Events for one run, and what they may change: a set of "links", "sm", "edit", "rules" and others."""
        events, touched, w = [], set(), self.world
        when = (rng.choice(STEPS), rng.choice((0, 0.001, 0.003, 0.01, 0.05, 0.3))) if command in WRITE and \
            rng.random() < 0.7 else rng.choice((0.005, 0.02, 0.05, 0.1, 0.3, 0.8, 2.0))
        if rng.random() < (0.4 if command in WRITE else 0.1):
            number = rng.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
            events.append((when, f"ibqos gets {signal.Signals(number).name}", w.killer(number)))
            when = rng.choice((0.1, 0.5, 1.5))
        if rng.random() < (0.45 if command in WRITE else 0.2):
            kind = rng.choice(("hup", "sm-end", "unlink", "relink", "noise", "noise-off", "full", "full-off", "edit"))
            touched.add({"unlink": "links", "relink": "links", "sm-end": "sm", "noise": "rules", "noise-off": "rules",
                         "edit": "edit"}.get(kind, kind))
            inner = random.Random(rng.random())

            def act(_, __):
                if kind == "edit":
                    what, self.edit_mark = w.edit(inner)
                    self.edited = w.files()[0]
                else:
                    what = getattr(self, "do_" + kind.replace("-", "_"))(inner)
                if what is not None:
                    self.faults[f"{kind} meanwhile"] += 1
                self.say(f"      {what}")

            events.append((when, kind, act))
        return events, touched

    def step(self):
        self.steps += 1
        rng, w = random.Random(f"{self.seed}/{self.steps}"), self.world
        self.say(f"step {self.steps}")
        command = rng.choices(list(COMMANDS), list(COMMANDS.values()))[0]
        if command in WRITE and rng.random() < 0.4:  # one that gets far, for what is done to it then
            self.do_calm(rng)
            self.say(f"  calm before {command}")
        else:
            for _ in range(rng.choice((1, 1, 2, 3))):
                self.fault(rng)
        for sm in (w.sm, w.standby):
            if (code := sm.reap()) is not None:
                self.own_deaths += 1
                self.say(f"  {sm.name} ended by itself: {code}")
        time.sleep(rng.choice((0, 0, 0.2, 0.6)))
        name = rng.choice(list(POLICIES))
        if command != "apply" and rng.random() < 0.7:
            name = self.current
        events, touched = self.meanwhile(rng, command)
        args = [command, *([w.policies[name]] if command in ("apply", "verify", "plan") else []), *rng.choice(READERS),
                "--format", "json"]
        if command == "apply":
            args += CONSENT
        if command in WRITE:
            args += ["-v", "--deadline", str(rng.choice((3, 5))), *self.state()]
            args += ["--allow-incomplete"] if rng.random() < 0.3 else []
        look = command in ("apply", "rollback", "verify")
        before = truth.read(w) if look else None
        versions, linked = judge.Versions(w), w.linked_ports()
        self.sa_before = self.sa_right(name, before) if command == "verify" else None
        standby, noise = w.standby.alive(), bool(w.noise)
        r = w.ibqos(args, rng.randrange(1 << 30), events)
        after = truth.read(w) if look else None
        told = judge.parsed(r)
        self.say(f"  {command} {name}: exit {r.returncode} after {r.seconds:.2f} s" + (
            f": {sorted({f['code'] for f in told['findings'] if f['severity'] != 'note'})}" if told else ""))
        if r.killed:
            self.faults[f"ibqos {signal.Signals(r.killed).name}"] += 1
        if judge.by_simulator(r) or (r.killed and r.returncode == -r.killed):
            self.verdicts[f"{command} killed"] += 1
        else:
            self.verdicts[f"{command} {judge.NAMES.get(r.returncode, r.returncode)}"] += 1
        self.common(r, command, versions)
        quiet = not r.meanwhile or not touched & {"links", "sm", "rules"}
        if r.returncode in judge.NAMES:
            self.planted(r, command, quiet, noise, before, after)
            getattr(self, "judge_" + command)(r, name, before, after, touched if r.meanwhile else set(),
                                              linked & w.linked_ports(), standby or w.standby.alive())

    def common(self, r, command, versions):
        for what in judge.ended_well(r) + judge.agrees(r):
            self.fail(f"{command}: {what}", r)
        mark, edited, self.edit_mark, self.edited = self.edit_mark, self.edited, None, None
        bad, now = judge.files_whole(versions, r, command, mark, edited)
        for what in bad:
            self.fail(f"{command}: {what}", r)
        if mark and mark not in (self.world.files()[0] or b""):
            self.lost_edits += 1
            print(f"seed {self.seed}, step {self.steps}: an edit was lost to {command}", flush=True)
            self.say(f"  another admin's edit {mark.decode()!r} is gone from opensm.conf")
        if command in WRITE and r.returncode in judge.NAMES:
            for what in judge.apply_agrees(r, now):
                self.fail(f"{command}: {what}", r)
        bad, left = judge.no_strays(versions, r)
        for what in bad:
            self.fail(f"{command}: {what}", r)
        if left:
            self.strays += len(left)
            self.say(f"  left by the killed run: {sorted(left)}")
        self.history_stands()

    def planted(self, r, command, quiet, noise, before, after):
        """What was there from start to end must show."""
        w = self.world
        if not w.plant or not quiet:
            return
        kind, where = w.plant
        seen = {"silent": ("discover", "audit", "verify", "plan", "apply", "rollback"), "table": ("verify", "apply"),
                "slow": ("audit",)}[kind]
        if command not in seen:
            return
        if kind == "silent" and where not in w.routes():
            return
        if kind == "table":
            node, port, _ = where
            if any(s.get(node, {}).get(port, {"state": 1})["state"] == 1 for s in (before, after)):
                return
        if kind == "slow" and (where in w.unlinked or not {w.net.cables[where].a.name,
                                                           w.net.cables[where].b.name} & set(w.routes())):
            return
        if r.returncode in (0, 1):
            self.fail(f"{command}: exit {r.returncode}, but {w.plant} was there all the time", r)
        if command in WRITE or noise or r.killed or kind == "silent":
            return
        code = {"table": "sl2vl-differs", "slow": "link-speed-low"}[kind]
        places = {where[:2]} if kind == "table" else {(n.name, p) for c in (w.net.cables[where],)
                                                      for n, p in ((c.a, c.ap), (c.b, c.bp))}
        told = {judge.place(f, w.net) for f in judge.criticals(r) if f["code"] == code}
        if not told & places:
            self.fail(f"{command}: {w.plant} was there all the time and is not named", r)

    def judge_verify(self, r, name, before, after, touched, linked, standby):
        sa = [self.sa_before, self.sa_right(name, after)]
        if sa == [False, False] and r.returncode in (0, 1) and not touched and not standby:
            self.fail(f"verify {name}: exit {r.returncode}, but the SA gives its traffic class another SL", r)
        differ = [truth.differences(s, self.tables[name], self.world.net) for s in (before, after)]
        for what in judge.verified_truly(r, self.world.net, *differ, self.world.plant,
                                         sa == [True, True] and not touched and not standby):
            self.fail(f"verify {name}: {what}", r)
        if not touched & {"links"}:
            for what in judge.not_missed(r, linked, *differ, before, after):
                self.fail(f"verify {name}: {what}", r)

    def judge_apply(self, r, name, _, after, touched, linked, standby):
        if r.returncode not in (0, 1) or touched & {"edit"} or standby:
            return
        differ = truth.differences(after, self.tables[name], self.world.net)
        if wrong := [p for p in differ if p in linked]:
            self.fail(f"apply {name}: exit {r.returncode}, but ports hold other tables: {wrong[:3]}", r)
        self.current = name
        if r.returncode == 0 and self.world.sm.alive() and not touched and self.sa_right(name, after) is False:
            self.fail(f"apply {name}: clean, but the SA gives its traffic class another SL", r)

    def judge_rollback(self, r, _, __, after, touched, linked, standby):
        """Exit 0: the ports hold what the config in place says."""
        if r.returncode != 0 or touched or standby:
            return
        tables = truth.tables_of_config(self.world.files()[0])
        if wrong := [p for p in truth.differences(after, tables, self.world.net) if p in linked]:
            self.fail(f"rollback: exit 0, but ports hold other tables: {wrong[:3]}", r)

    def sa_right(self, name, state):
        """Whether path records of each class's traffic class carry its SL: whether OpenSM has read the rules. None:
        it did not say."""
        w = self.world
        lids = [p["lid"] for n in ("gpu-001", "leaf-01") if n in state for p in list(state[n].values())[:1]]
        right = None if len(lids) < 2 else True
        for c in POLICIES[name]:
            if right is None or "nccl_ib_tc" not in c:
                continue
            try:
                q = w.fabric.run("saquery", "--slid", lids[0], "--dlid", lids[1], "-Q", c["nccl_ib_tc"], "PR",
                                 env={"IBQOS_OVERLAY_RULES": w.plain_rules}, timeout=10)
                m = re.search(r"\bsl\.+0x(\w+)", q.stdout)
            except run.KitError as e:
                self.say(f"  saquery: {str(e)[:200]}")
                m = None
            right = None if m is None else right and int(m[1], 16) == c["sl"]
        return right

    def judge_audit(self, r, *_):
        w = self.world
        ends = set()
        if w.plant and w.plant[0] == "slow":
            c = w.net.cables[w.plant[1]]
            ends = {(c.a.name, c.ap), (c.b.name, c.bp)}
        for f in judge.criticals(r):
            if f["code"] != "link-speed-low" or judge.place(f, w.net) not in ends:
                self.fail(f"audit: critical without a cause: {f}", r)

    def judge_plan(self, r, *_):
        if found := judge.criticals(r):
            self.fail(f"plan: critical without a cause: {found}", r)

    def judge_discover(self, r, *_):
        if found := judge.criticals(r):
            self.fail(f"discover: critical without a cause: {found}", r)

    # --- the whole ---

    def run(self, seconds, steps):
        try:
            self.start()
            end = time.monotonic() + seconds
            while time.monotonic() < end and (not steps or self.steps < steps):
                self.step()
            self.finish()
        except (run.KitError, AssertionError, OSError) as e:
            self.fail(f"the run itself: {e}\n{traceback.format_exc()}")
        finally:
            if self.bad:  # what was on a tmpfs is gone with it
                for name in ("etc", "state"):
                    shutil.copytree(self.world.fabric.path(name), os.path.join(self.dir, name), dirs_exist_ok=True)
            self.world.stop()

    def summary(self):
        def counts(c):
            return ", ".join(f"{k} {c[k]}" for k in sorted(c)) or "none"

        text = (f"seed {self.seed}: {self.steps} steps in {time.monotonic() - self.begin:.0f} s\n"
                f"  faults: {counts(self.faults)}\n  runs: {counts(self.verdicts)}\n"
                f"  temporary files left by killed runs: {self.strays}; edits lost to an apply at work: "
                f"{self.lost_edits}; OpenSMs that ended by themselves: {self.own_deaths}\n")
        text += "".join(f"  SKIPPED: {s}\n" for s in self.skipped)
        return text + f"  {'PASS' if self.bad == 0 else f'FAIL ({self.bad})'}: seed {self.seed}"


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("--seed", type=int, default=int(time.time()) % 100000, help="default: the time of day")
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--steps", type=int, default=0, help="end after so many steps (default: by time alone)")
    p.add_argument("--verbose", action="store_true", help="show the log as it grows")
    p.add_argument("--keep", action="store_true", help="keep the folder although all held")
    p.add_argument("--figures", metavar="FILE", help="append the figures as a line of JSON")
    a = p.parse_args()
    if reason := run.fence():
        print(f"chaos: {reason}", file=sys.stderr)
        return 3
    for tool, option in (("ASAN", "exitcode=99:detect_leaks=1"), ("LSAN", "exitcode=99:print_suppressions=0"),
                         ("UBSAN", "print_stacktrace=1")):
        file = os.path.join(TESTS, "tools", f"{tool.lower()}.supp")
        os.environ.setdefault(f"{tool}_OPTIONS", option + (f":suppressions={file}" if os.path.exists(file) else ""))
    folder = tempfile.mkdtemp(prefix=f"ibqos-chaos-{a.seed}-")
    os.mkdir(os.path.join(folder, "fabric"))
    chaos = Chaos(a.seed, folder, a.verbose)
    chaos.run(a.seconds, a.steps)
    print(chaos.summary())
    if a.figures:
        with open(a.figures, "a", encoding="ascii") as f:
            f.write(json.dumps({"seed": a.seed, "steps": chaos.steps, "faults": chaos.faults, "runs": chaos.verdicts,
                                "strays": chaos.strays, "lost_edits": chaos.lost_edits, "failed": chaos.bad}) + "\n")
    if chaos.bad:
        print(f"  log: {folder}/chaos.log (the last lines)")
        with open(os.path.join(folder, "chaos.log"), encoding="utf-8") as f:
            print("".join(f.readlines()[-40:]))
    elif not a.keep:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if chaos.bad else 0


if __name__ == "__main__":
    sys.exit(main())
