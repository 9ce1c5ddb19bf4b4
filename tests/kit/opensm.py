# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A real OpenSM on a simulated fabric: own folder, own config, never near an adapter."""
import itertools
import os
import signal
import subprocess

from kit import run

_number = itertools.count(1)
# what an admin's own file would hold before ibqos: nothing about QoS but that it is off
PLAIN = {
    "log_flags": "0x03",
    "force_log_flush": "TRUE",
    "qos": "FALSE",
    "max_op_vls": "5",
    "sweep_interval": "10",
    "console": "off",
}


class OpenSM:
    """options: keys of opensm.conf (qos="TRUE", qos_sl2vl="0,1,..."); rules: the overlay's rules in OpenSM's own
    process, that is, a fabric of other capabilities; host: the node it runs on; args: more arguments."""

    def __init__(self, fabric, options=None, rules=(), host=None, args=(), config=True, **more):
        self.fabric = fabric
        self.dir = os.path.join(fabric.dir, f"opensm-{next(_number)}")
        os.mkdir(self.dir)
        self.config, self.log_file = self.path("opensm.conf"), self.path("opensm.log")
        self.policy, self.partitions = self.path("qos-policy.conf"), self.path("partitions.conf")
        self.sent_file = self.path("sent")
        self.rules_file = self.path("rules")
        self.options = dict(PLAIN, log_file=self.log_file, qos_policy_file=self.policy, dump_files_dir=self.dir,
                            partition_config_file=self.partitions)
        self.options.update(options or {}, **more)
        self.rules(*rules)
        if config:
            self.write_config()
        self._out = open(self.path("opensm.out"), "wb")
        env = fabric.env(host=host, role="sm", rules=self.rules_file, log=self.sent_file)
        env["OSM_TMP_DIR"] = env["OSM_CACHE_DIR"] = self.dir
        argv = ["opensm", "-F", self.config, "-f", self.log_file, *args]
        self.process = run.start(argv, cwd=self.dir, env=env, stdin=subprocess.DEVNULL, stdout=self._out,
                                 stderr=subprocess.STDOUT)
        try:
            run.deadline(10, "opensm with the simulator's library", self._simulated, alive=self.alive,
                         evidence=self.evidence)
        except run.KitError:
            self.process.kill()
            self.process.wait()
            raise

    def path(self, name):
        return os.path.join(self.dir, name)

    @property
    def pid(self):
        return self.process.pid

    def alive(self):
        return self.process.poll() is None

    def _simulated(self):
        # a program that is already opensm but has no libumad2sim would open the machine's adapter
        try:
            with open(f"/proc/{self.pid}/maps", encoding="utf-8") as f:
                maps = f.read()
        except OSError:
            return False
        if "/opensm" not in maps or "libibumad" not in maps:
            return False
        if "libumad2sim" not in maps:
            raise run.KitError("opensm runs without libumad2sim: killed")
        return True

    def write_config(self, **changes):
        """Writes opensm.conf whole, with `changes` (None takes a key out). It is read at hup()."""
        for k, v in changes.items():
            if v is None:
                self.options.pop(k, None)
            else:
                self.options[k] = str(v)
        run.replace(self.config, [f"{k} {v}" for k, v in self.options.items()])

    def rules(self, *lines):
        """Replaces the overlay's rules in OpenSM's own process; the ports' capabilities stay."""
        run.replace(self.rules_file, [*self.fabric.capabilities, *lines])

    def log(self):
        try:
            with open(self.log_file, encoding="utf-8", errors="replace") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def evidence(self):
        self._out.flush()
        with open(self.path("opensm.out"), encoding="utf-8", errors="replace") as f:
            out = f.read()
        return f"-- exit {self.process.poll()}\n-- opensm.log\n{self.log()[-4000:]}\n-- output\n{out[-4000:]}"

    def sweeps(self):
        """How many sweeps have ended well so far."""
        return self.log().count("SUBNET UP")

    def wait_sweep(self, number, seconds=60):
        run.deadline(seconds, f"opensm: sweep {number}", lambda: self.sweeps() >= number, alive=self.alive,
                     evidence=self.evidence)

    def wait_up(self, seconds=60):
        self.wait_sweep(1, seconds)

    def hup(self, wait=True):
        """Makes OpenSM read its files again; returns when a heavy sweep begun after that has ended."""
        before = self.sweeps()
        os.kill(self.pid, signal.SIGHUP)
        if wait:
            self.wait_sweep(before + 1)
        return self

    def sent(self):
        """What it has set so far (counts come when it has stopped)."""
        from kit import sim
        return sim.Sent(self.sent_file)

    def stop(self):
        """OpenSM goes before its ibsim: without it, it ignores SIGTERM."""
        clean = run.end(self.process)
        self._out.close()
        return clean
