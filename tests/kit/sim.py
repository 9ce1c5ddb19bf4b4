# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A simulated fabric: one ibsim with its own socket name and folder, and programs attached to it."""
import contextlib
import itertools
import os
import re
import subprocess

from kit import opensm as opensm_
from kit import run
from tools import netgen

_number = itertools.count(1)


class Sent:
    """What a program sent, from the overlay's log: counts, each Set as the text of its line, and how many answers a rule told."""

    def __init__(self, path):
        self.gets = self.others = self.sets = self.told = 0
        self.lines, self.summaries = [], 0
        with open(path, encoding="ascii") as f:
            for line in f:
                if line.startswith("told "):
                    self.told += 1
                elif line.startswith("set "):
                    self.lines.append(line.strip())
                elif m := re.fullmatch(r"sent gets=(\d+) sets=(\d+) others=(\d+)\n", line):
                    self.summaries += 1
                    self.gets += int(m[1])
                    self.sets += int(m[2])
                    self.others += int(m[3])
                else:
                    raise run.KitError(f"{path}: not a line of the overlay: {line!r}")


class Fabric:
    def __init__(self, folder, net, console=False, capabilities=True):
        self.dir = str(folder)
        self.net = net
        # what every program sees of this fabric, OpenSM too
        self.capabilities = net.capabilities() if capabilities and isinstance(net, netgen.Net) else []
        self.net_file = self.path("fabric.net")
        if isinstance(net, str):  # a net file as text
            with open(self.net_file, "w", encoding="ascii") as f:
                f.write(net)
        else:
            net.write(self.net_file)
        self.socket = f"ibqos-{os.getpid()}-{next(_number)}"
        self.sms = []
        self._console = console
        self._prompts = 0
        self.rules_file = self.path("rules")
        self.record_file = self.path("record")
        self.rules("")
        self._start()

    def path(self, name):
        return os.path.join(self.dir, name)

    # --- ibsim ---

    def _start(self):
        sizes = []
        if isinstance(self.net, netgen.Net) and len(self.net.nodes) > 200:
            n = self.net
            sizes = ["-N", len(n.nodes) + 8, "-S", len(n.switches) + 8, "-P", n.ports + 64, "-L", 49151]
        argv = ["ibsim", "-s", *([] if self._console else ["-n"]), *map(str, sizes), self.net_file]
        self._out = open(self.path("ibsim.out"), "wb")
        env = self._plain_env()
        self.ibsim = run.start(argv, cwd=self.dir, env=env, stdout=self._out, stderr=subprocess.STDOUT,
                               stdin=subprocess.PIPE if self._console else subprocess.DEVNULL)
        nodes = len(self.net.nodes) if isinstance(self.net, netgen.Net) else 0
        run.deadline(20 + nodes / 50, "ibsim", self._listening, alive=lambda: self.ibsim.poll() is None, evidence=self.output)

    def _listening(self):
        # an abstract name is shown with '@' for its NULs
        with open("/proc/net/unix", encoding="ascii", errors="replace") as f:
            names = [line.split()[-1].rstrip("@") for line in f]
        return all(f"@{self.socket}:{s}" in names for s in ("ctl", "out0", "out9"))

    def output(self):
        self._out.flush()
        with open(self.path("ibsim.out"), encoding="utf-8", errors="replace") as f:
            return f.read()

    def console(self, *commands):
        """ibsim console commands (Unlink, ReLink, Clear, Error, PerformanceSet, ...): fabric(console=True).
        Names of nodes go in quotes: Unlink "leaf-01"[36]. Returns what ibsim printed."""
        assert self._console, "fabric(console=True)"
        said = ""
        for c in commands:
            before = self.output()
            self.ibsim.stdin.write(c.encode() + b"\n")
            self.ibsim.stdin.flush()
            run.deadline(10, f"ibsim console: {c}", lambda: self.output()[len(before):].count("sim> ") >= 1,
                         alive=lambda: self.ibsim.poll() is None, evidence=self.output)
            said += self.output()[len(before):]
        if any(word in said for word in ("skipped", "unknown", "not found")):
            raise run.KitError(f"ibsim console: {commands}: {said}")
        return said

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """OpenSMs first. All that is asked for here is done, whatever fails on the way."""
        with contextlib.ExitStack() as last_first:
            last_first.callback(self._out.close)
            last_first.callback(run.end, self.ibsim, 2.0)
            if self.ibsim.stdin:
                last_first.callback(self.ibsim.stdin.close)
            for sm in self.sms:
                last_first.callback(sm.stop)

    # --- rules for the programs that read the fabric ---

    def rules(self, *lines):
        """Replaces the overlay's rules of all readers of this fabric; those that run see it at once.
        The ports' capabilities stay, and come first."""
        run.replace(self.rules_file, [*self.capabilities, *lines])

    # --- programs attached to it ---

    def _plain_env(self):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("IBQOS_OVERLAY", "SIM_", "IBSIM_", "LD_PRELOAD"))}
        env["IBSIM_SOCKNAME"] = self.socket
        return env

    def env(self, host=None, role="reader", rules=None, log=None, seed=None, overlay=True):
        """The environment of a program attached to this fabric."""
        env = self._plain_env()
        sim = run.simulator_library()
        env["LD_PRELOAD"] = f"{run.overlay()}:{sim}" if overlay else sim
        env["OSM_TMP_DIR"] = env["OSM_CACHE_DIR"] = self.dir
        if not host and isinstance(self.net, netgen.Net):
            host = self.net.first.name  # where ibsim would attach it; said, libumad2sim prints no line about it
        if host:
            env["SIM_HOST"] = host
        env["IBQOS_OVERLAY_RULES"] = rules or self.rules_file
        env["IBQOS_OVERLAY_NET"] = self.net_file
        env["IBQOS_OVERLAY_RECORD"] = self.record_file
        env["IBQOS_OVERLAY_ROLE"] = role
        if log:
            env["IBQOS_OVERLAY_LOG"] = log
        if seed is not None:
            env["IBQOS_OVERLAY_SEED"] = str(seed)
        return env

    def run(self, *argv, host=None, timeout=60, log=None, seed=None, env=None, stdin=None):
        """Any program of libibumad; its working folder is the fabric's."""
        if not os.path.exists(run.overlay()):
            raise run.KitError(f"{run.overlay()} is not built: make tools")
        e = self.env(host=host, log=log, seed=seed)
        e.update(env or {})
        return run.run(argv, timeout=timeout, cwd=self.dir, env=e, stdin=stdin)

    def tool(self, *argv, **kwargs):
        """A program of infiniband-diags."""
        return self.run(*argv, **kwargs)

    def ibqos(self, *args, before=(), binary=None, **kwargs):
        """ibqos; its result also tells what it sent (result.sent). A Set fails the test in any case.
        before: words before it, such as opensm.inside(), which runs it in that OpenSM's mount namespace.
        binary: another than run.binary()."""
        if not os.path.exists(run.binary()):
            raise run.KitError(f"{run.binary()} is not built: make")
        log = self.path(f"sent-{next(_number)}")
        open(log, "w", encoding="ascii").close()
        r = self.run(*before, binary or run.binary(), *args, log=log, **kwargs)
        r.sent = Sent(log)
        assert r.sent.sets == 0 and not r.sent.lines, f"ibqos sent a Set: {r.sent.lines}\n{r}"
        return r

    def opensm(self, wait="up", **kwargs):
        """Starts an OpenSM on this fabric and waits until the subnet is up, or wait="STANDBY" or another state of
        its own, or None. Two need nodes of their own (host=)."""
        sm = opensm_.OpenSM(self, **kwargs)
        self.sms.append(sm)
        if wait == "up":
            sm.wait_up()
        elif wait:
            sm.wait_state(wait)
        return sm
