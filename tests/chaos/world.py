# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The world of a chaos run: a fabric, up to two OpenSMs, folders that can be full, and the faults in force."""
import collections
import ctypes
import glob
import os
import shutil
import signal
import subprocess
import time

from chaos.manager import Manager, Slots
from kit import policy, run, sim
from tools import netgen

SHAPE = dict(leaves=2, spines=2, hosts_per_leaf=3, uplinks=1, storage=1, switch_ports=12)
CLONE_NEWNS, MS_REC_PRIVATE = 0x00020000, 0x4000 | 0x40000
PAGE = 4096

HIGH = dict(policy.TRAINING, priority="high")
POLICIES = {
    "first": (policy.TRAINING, policy.STORAGE, policy.OTHER),
    "shares": (dict(policy.TRAINING, share="50%"), dict(policy.STORAGE, share="40%"), policy.OTHER),
    "class41": (dict(policy.TRAINING, nccl_ib_tc=45), policy.STORAGE, policy.OTHER),  # other rules, the same tables
    "high": (HIGH, policy.STORAGE, policy.OTHER),
    "two": ({"name": "training", "sl": 3, "nccl_ib_tc": 41, "share": "80%"}, dict(policy.OTHER, share="20%")),
    "five": ({"name": "a", "sl": 1, "nccl_ib_tc": 41, "share": "40%"}, {"name": "b", "sl": 4, "share": "20%"},
             {"name": "c", "sl": 5, "share": "20%"}, {"name": "d", "sl": 6, "share": "10%"}, policy.OTHER),
}


def private_mounts():
    """A mount namespace of this process's own. True, or why it cannot be."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0 or libc.mount(b"none", b"/", None, MS_REC_PRIVATE, None) != 0:
        return os.strerror(ctypes.get_errno())
    return True


class Folder:
    """A folder that can be full: a tmpfs of its own where that may be."""

    def __init__(self, path, pages, mounts):
        self.path, self.mounted = path, False
        os.mkdir(path)
        if mounts is True:
            self.mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={pages * PAGE}", "none", path],
                                          check=False).returncode == 0
        self._filler = os.path.join(path, "filler")

    def fill(self, leave):
        """Takes all space but `leave` pages."""
        assert self.mounted
        self.empty()
        with open(self._filler, "wb") as f:
            free = os.statvfs(self.path).f_bfree - leave
            while free > 0:
                try:
                    os.posix_fallocate(f.fileno(), 0, free * PAGE)
                    break
                except OSError:  # somebody else took room meanwhile
                    free -= 1

    def empty(self):
        if self.full():
            os.unlink(self._filler)

    def full(self):
        return os.path.exists(self._filler)


class Run:
    """One run of ibqos: what came out, and what was done to it meanwhile."""

    def __init__(self, argv):
        self.argv, self.returncode, self.stdout, self.stderr, self.seconds = argv, None, b"", "", 0.0
        self.killed = None  # the signal that was sent, if it came before its end
        self.hung = False
        self.meanwhile = []


class World:
    def __init__(self, folder, say, rng, faults):
        self.dir, self.say = folder, say
        self.mounts = private_mounts()
        self.net = netgen.fat_tree(**SHAPE)
        self.fabric = sim.Fabric(folder, self.net, console=True)
        self.slots = Slots(self.fabric)
        self.plain_rules = self.fabric.path("rules-plain")
        run.replace(self.plain_rules, self.fabric.capabilities)
        self.etc = Folder(self.fabric.path("etc"), 64, self.mounts)
        self.state = Folder(self.fabric.path("state"), 4096, self.mounts)
        self.sm = Manager(self, "sm-1", "gpu-001", self.etc.path, sm_priority="10")
        os.mkdir(self.fabric.path("etc-2"))
        self.standby = Manager(self, "sm-2", rng.choice(["gpu-003", "oss-01"]), self.fabric.path("etc-2"),
                               sm_priority="5", qos="TRUE", qos_sl2vl="0,2,1,0,0,0,0,0,0,0,0,0,0,0,0,0")
        self.policies = {name: policy.write(self.fabric, None, classes, f"{name}.yaml", opensm=self._opensm())
                         for name, classes in POLICIES.items()}
        self.unlinked = set()  # indexes of cables
        self.noise, self.plant, self.sm_noise, self.sm_silent = [], None, [], None
        self.faults = faults
        self.edits = 0
        self._number = 0

    def _opensm(self):
        return f"{{config: {self.sm.config}, qos_policy: {self.sm.policy}, log: {self.sm.log_file}}}"

    # --- the fabric ---

    def cable_name(self, i):
        c = self.net.cables[i]
        return f"{c.a.name}[{c.ap}]-{c.b.name}[{c.bp}]"

    def unlink(self, i):
        c = self.net.cables[i]
        self.fabric.console(f'Unlink "{c.a.name}"[{c.ap}]')
        self.unlinked.add(i)

    def relink(self, i):
        c = self.net.cables[i]
        self.fabric.console(f'ReLink "{c.a.name}"[{c.ap}]')
        self.unlinked.discard(i)

    def routes(self):
        """Directed routes from the first node to all that cables lead to."""
        first = self.net.first
        found, queue = {first.name: []}, collections.deque([first])
        while queue:
            node = queue.popleft()
            if not node.switch and node is not first:
                continue
            for port, cable in sorted(node.cables.items()):
                peer = cable.peer(node)[0]
                if self.net.cables.index(cable) not in self.unlinked and peer.name not in found:
                    found[peer.name] = [*found[node.name], port]
                    queue.append(peer)
        return found

    def linked_ports(self):
        return {(n.name, p) for i, c in enumerate(self.net.cables) if i not in self.unlinked
                for n, p in ((c.a, c.ap), (c.b, c.bp))}

    # --- rules ---

    def plant_lines(self):
        if self.plant is None:
            return []
        kind, where = self.plant
        if kind == "silent":
            return [f"node={where} : timeout"]
        if kind == "table":
            node, port, in_port = where
            # VL 14: no policy here uses it, and no port runs so many VLs
            mod = in_port << 8 | port if self.net[node].switch else 0
            return [f"node={node} attr=SL2VL mod=0x{mod:x} : set SL1=14"]
        c = self.net.cables[where]
        return [f"guid=0x{n.guid:016x} port={p} attr=PortInfo : set LinkSpeedExtActive=1"
                for n, p in ((c.a, c.ap), (c.b, c.bp))]

    def push_rules(self):
        # the last fate wins, so silence stands behind the noise
        self.fabric.rules(*self.noise, *self.plant_lines())

    def push_sm_rules(self):
        self.sm.rules(*self.sm_noise, *([f"node={self.sm_silent} : timeout"] if self.sm_silent else []))

    # --- files ---

    def files(self):
        """(opensm.conf, qos-policy.conf) as they are; None: missing."""
        both = []
        for path in (self.sm.config, self.sm.policy):
            try:
                with open(path, "rb") as f:
                    both.append(f.read())
            except FileNotFoundError:
                both.append(None)
        return tuple(both)

    def histories(self):
        return sorted(glob.glob(os.path.join(self.state.path, "history", "*")))

    def temporaries(self):
        """Files of ibqos that should not outlive a run."""
        return {os.path.join(d, n) for top in (self.etc.path, self.state.path) for d, _, names in os.walk(top)
                for n in names if n.startswith(".ibqos-")}

    def edit(self, rng):
        """Another admin's editor: reads opensm.conf, changes a line or adds one, replaces the file. Its mark, or None
        where the disk is full."""
        self.edits += 1
        mark = f"# edit {self.edits}".encode()
        text = self.files()[0]
        line = rng.choice([b"", b"max_wire_smps %d " % rng.randrange(4, 9), b"qos_high_limit %d " % rng.randrange(9),
                           b"qos_vlarb_low 0:4,1:4 "]) + mark
        lines = text.rstrip(b"\n").split(b"\n")
        lines.insert(rng.randrange(len(lines) + 1), line)
        new = self.sm.config + ".admin"
        try:
            with open(new, "wb") as f:
                f.write(b"\n".join(lines) + b"\n")
            os.rename(new, self.sm.config)
        except OSError as e:
            if os.path.exists(new):
                os.unlink(new)
            return f"failed: {e}", None
        return line.decode(), mark

    # --- programs ---

    def ibqos(self, args, seed, events=(), deadline=90.0):
        """Runs ibqos to its end. events: (when, what, action), each done once while it runs: `when` is seconds
        after the start, or (text, seconds) after stderr has the text. An action returns True where it killed."""
        self._number += 1
        log, out, err = (self.fabric.path(f"{n}-{self._number}") for n in ("sent", "out", "err"))
        open(log, "w", encoding="ascii").close()
        argv = [run.binary(), *args]
        env = self.fabric.env(log=log, seed=seed)
        r = Run(argv)
        begin = time.monotonic()
        with open(out, "wb") as o, open(err, "wb") as e:
            p = run.start(argv, cwd=self.fabric.dir, env=env, stdin=subprocess.DEVNULL, stdout=o, stderr=e)
            try:
                self._watch(r, p, begin, list(events), err, deadline)
            finally:
                if p.poll() is None:
                    p.kill()
                    p.wait()
        r.seconds = time.monotonic() - begin
        r.returncode = p.returncode
        with open(out, "rb") as o, open(err, "rb") as e:
            r.stdout, r.stderr = o.read(), e.read().decode(errors="replace")
        r.sent = sim.Sent(log)
        for path in (log, out, err):
            os.unlink(path)
        for left in glob.glob(self.fabric.path(f"sys-{p.pid}")):
            shutil.rmtree(left, ignore_errors=True)  # umad2sim's, of a client that was killed
        self.slots.free()
        return r

    def _watch(self, r, p, begin, events, err, deadline):
        seen = {}
        while p.poll() is None:
            now = time.monotonic()
            if now - begin > deadline:
                r.hung = True
                return
            with open(err, "rb") as e:
                text = e.read().decode(errors="replace")
            for event in list(events):
                when, what, action = event
                if isinstance(when, tuple):
                    if when[0] not in text:
                        continue
                    at = seen.setdefault(event, now) + when[1]
                else:
                    at = begin + when
                if now < at or p.poll() is not None:
                    continue
                events.remove(event)
                self.say(f"    meanwhile, after {now - begin:.3f} s: {what}")
                r.meanwhile.append(what)
                action(r, p)
            time.sleep(0.001)

    @staticmethod
    def killer(number):
        def act(r, p):
            if p.poll() is None:
                r.killed = number
                os.kill(p.pid, number)
        return act

    # --- the end ---

    def calm(self):
        """Lifts every fault and brings the first OpenSM up on the whole fabric."""
        self.noise, self.plant, self.sm_noise, self.sm_silent = [], None, [], None
        self.push_rules()
        self.push_sm_rules()
        self.etc.empty()
        self.state.empty()
        for i in sorted(self.unlinked):
            self.relink(i)
        self.standby.kill(signal.SIGTERM)
        self.sm.reap()
        if not self.sm.alive():
            self.sm.start()
        if not self.sweep_twice(6):
            # the simulator has no timers: a question to an SM that died is never over, and OpenSM waits for it
            self.say("  OpenSM hangs in a sweep: started anew")
            self.faults["sm hung"] += 1
            self.sm.kill()
            self.sm.start()
            if not self.sweep_twice(40):
                raise run.KitError(f"OpenSM does not come up on a calm fabric: {self.sm.path('opensm.log')}")

    def sweep_twice(self, seconds):
        for _ in range(2):
            before = self.sm.sweeps()
            self.sm.hup()
            if not self.sm.wait_sweep(before, seconds):
                return False
        return True

    def stop(self):
        for sm in (self.standby, self.sm):
            sm.kill(signal.SIGTERM)
        self.fabric.stop()
        for folder in (self.etc, self.state):
            if folder.mounted:
                subprocess.run(["umount", "-l", folder.path], check=False)
