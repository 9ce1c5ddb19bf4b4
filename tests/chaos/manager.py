# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""An OpenSM that can die and come back with the same files, beside others; and ibsim's client slots, which dead
clients keep (ibsim has ten)."""
import os
import signal
import socket
import struct
import subprocess

from kit import run

CONNECT_SLOTS, DISCONNECT, SET_ISSM, MAGIC = 10, 2, 9, 0xdeadbeef


class Slots:
    """ibsim hands out the lowest free slot. Those that no living SM holds are freed as a client's own clean
    end would have done; only while nothing else is attached."""

    def __init__(self, fabric):
        self.fabric, self.held = fabric, {}
        self._number = 0

    def _control(self, slot, kind, data=b""):
        self._number += 1
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            s.settimeout(5)
            s.bind(f"\0{self.fabric.socket}:chaos{os.getpid()}-{self._number}\0")
            s.sendto(struct.pack("=IIII64s", MAGIC, slot, kind, len(data), data), f"\0{self.fabric.socket}:ctl\0")
            s.recv(200)
        finally:
            s.close()

    def free(self):
        for slot in range(CONNECT_SLOTS):
            if slot not in self.held.values():
                self._control(slot, DISCONNECT)

    def take(self, manager):
        """Before a manager starts: the slot that it will get."""
        self.free()
        self.held[manager] = min(set(range(CONNECT_SLOTS)) - set(self.held.values()))

    def drop(self, manager):
        """A manager has ended, however: its port is no SM's any more (as the kernel does when the fd closes)."""
        slot = self.held.pop(manager, None)
        if slot is not None:
            self._control(slot, SET_ISSM, struct.pack("=i", 0))
            self._control(slot, DISCONNECT)


class Manager:
    def __init__(self, world, name, host, etc, **options):
        self.world, self.name, self.host, self.etc = world, name, host, etc
        self.dir = world.fabric.path(name)
        os.mkdir(self.dir)
        self.config, self.policy = os.path.join(etc, "opensm.conf"), os.path.join(etc, "qos-policy.conf")
        self.log_file, self.rules_file = self.path("opensm.log"), self.path("rules")
        self.process, self.ours = None, True
        keys = {"log_flags": "0x03", "force_log_flush": "TRUE", "qos": "FALSE", "max_op_vls": "5",
                "sweep_interval": "5", "console": "off", "transaction_timeout": "50", "transaction_retries": "3",
                "sminfo_polling_timeout": "300", "polling_retry_number": "2", "log_file": self.log_file,
                "qos_policy_file": self.policy, "dump_files_dir": self.dir,
                "partition_config_file": self.path("partitions.conf"), **options}
        run.replace(self.config, [f"{k} {v}" for k, v in keys.items()])
        self.rules()

    def path(self, name):
        return os.path.join(self.dir, name)

    def rules(self, *lines):
        run.replace(self.rules_file, [*self.world.fabric.capabilities, *lines])

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def _simulated(self):
        # a program that is already opensm but has no libumad2sim would open the machine's adapter
        try:
            with open(f"/proc/{self.process.pid}/maps", encoding="utf-8") as f:
                maps = f.read()
        except OSError:
            return False
        if "/opensm\n" not in maps or "libibumad" not in maps:
            return False
        if "libumad2sim" not in maps:
            raise run.KitError("opensm runs without libumad2sim: killed")
        return self._takes_hup()

    def _takes_hup(self):
        """Before it has set its handlers, SIGHUP ends it."""
        try:
            with open(f"/proc/{self.process.pid}/status", encoding="ascii", errors="replace") as f:
                caught = next(line.split()[1] for line in f if line.startswith("SigCgt:"))
        except (OSError, StopIteration):
            return False
        return int(caught, 16) & 1 << (signal.SIGHUP - 1) != 0

    def start(self):
        f = self.world.fabric
        self.world.slots.take(self)
        env = f.env(host=self.host, role="sm", rules=self.rules_file)
        env["OSM_TMP_DIR"] = env["OSM_CACHE_DIR"] = self.dir
        self.ours = False
        with open(self.path("opensm.out"), "ab") as out:
            self.process = run.start(["opensm", "-F", self.config, "-f", self.log_file], cwd=self.dir, env=env,
                                     stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        try:
            run.deadline(20, "opensm with the simulator's library", self._simulated, alive=self.alive)
        except run.KitError:
            self.kill()
            raise

    def sweeps(self):
        try:
            with open(self.log_file, encoding="utf-8", errors="replace") as f:
                return f.read().count("SUBNET UP")
        except FileNotFoundError:
            return 0

    def wait_sweep(self, above, seconds):
        """True once more than `above` sweeps have ended well."""
        try:
            run.deadline(seconds, "sweep", lambda: self.sweeps() > above, alive=self.alive)
            return True
        except run.KitError:
            return False

    def send(self, number):
        if self.alive():
            os.kill(self.process.pid, number)

    def hup(self):
        self.send(signal.SIGHUP)

    def kill(self, number=signal.SIGKILL):
        """Ends it and waits; what it held at ibsim is given back."""
        if self.process is None:
            return
        self.ours = True
        self.send(number)
        run.end(self.process)
        self.world.slots.drop(self)
        self.process = None

    def reap(self):
        """Whether it has ended without being told to; then it counts as not running."""
        if self.process is None or self.alive():
            return None
        code = self.process.returncode
        self.world.slots.drop(self)
        self.process = None
        return None if self.ours else code
