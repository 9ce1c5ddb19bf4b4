# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A real OpenSM on a simulated fabric: own folder, own config, never near an adapter."""
import itertools
import os
import re
import shutil
import signal
import socket
import subprocess

from kit import run

_number = itertools.count(1)
ETC = "/etc/opensm"
# for a master and a standby: the one is missed within a second or two of its end
PAIR = {"sminfo_polling_timeout": "500", "polling_retry_number": "2", "sweep_interval": "2"}
# what an admin's own file would hold before ibqos: nothing about QoS but that it is off
PLAIN = {
    "log_flags": "0x03",
    "force_log_flush": "TRUE",
    "qos": "FALSE",
    "max_op_vls": "5",
    "sweep_interval": "10",
    "console": "off",
}
# Run in a mount namespace of its own: binds pairs of paths, then becomes the program. Only that one is preloaded.
COVER = """set -e
while [ "$1" != -- ]; do mount --bind "$1" "$2"; shift 2; done
shift
LD_PRELOAD=$KIT_PRELOAD exec "$@"
"""


class OpenSM:
    """options: keys of opensm.conf (qos="TRUE", qos_sl2vl="0,1,..."; None leaves one out); rules: the overlay's
    rules in OpenSM's own process, that is, a fabric of other capabilities; host: the node it runs on; args: more
    arguments.

    config=False: -F names a file that does not exist. etc=True: no -F; a folder of this OpenSM covers
    /etc/opensm (in a mount namespace of its own) and config tells whether an opensm.conf is in it.
    log: "file" (-f and a path), "stdout" (-f stdout), None (no -f: the config's log_file).
    policy, partitions: text of those files as they stand when it starts; without it there is none.
    overlay=False: without it, so that nothing is logged or recorded of what it sets.
    mounts: {path: folder that covers it, for this OpenSM alone}. program: another file than Debian's, named opensm
    (versioned())."""

    def __init__(self, fabric, options=None, rules=(), host=None, args=(), config=True, etc=False, log="file",
                 policy=None, partitions=None, mounts=None, program="opensm", overlay=True, **more):
        self.fabric, self.host, self.args, self._log, self.program = fabric, host, list(args), log, program
        self._overlay = overlay
        self.dir = os.path.join(fabric.dir, f"opensm-{next(_number)}")
        os.mkdir(self.dir)
        self.etc = self.path("etc") if etc else None
        self.mounts = dict(mounts or {})
        if etc:
            os.mkdir(self.etc)
            self.mounts[ETC] = self.etc
        files = self.etc or self.dir
        self.config, self.log_file = os.path.join(files, "opensm.conf"), self.path("opensm.log")
        self.policy, self.partitions = (os.path.join(files, f"{n}.conf") for n in ("qos-policy", "partitions"))
        self.sent_file = self.path("sent")
        self.rules_file = self.path("rules")
        self.options = dict(PLAIN, log_file=self.log_file, qos_policy_file=self.policy, dump_files_dir=self.dir,
                            partition_config_file=self.partitions)
        self.options.update(options or {}, **more)
        self.rules(*rules)
        for path, text in ((self.policy, policy), (self.partitions, partitions)):
            if text is not None:
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)
        if config:
            self.write_config()
        self._out = open(self.path("opensm.out"), "ab")
        self._start()

    # --- the process ---

    def _start(self):
        env = self.fabric.env(host=self.host, role="sm", rules=self.rules_file, log=self.sent_file,
                              overlay=self._overlay)
        env["OSM_TMP_DIR"] = env["OSM_CACHE_DIR"] = self.dir
        argv = [self.program, *([] if self.etc else ["-F", self.config]),
                *{"file": ["-f", self.log_file], "stdout": ["-f", "stdout"], None: []}[self._log], *self.args]
        if self.mounts:
            env["KIT_PRELOAD"] = env.pop("LD_PRELOAD")
            covers = [x for path, folder in self.mounts.items() for x in (folder, path)]
            argv = ["unshare", "-m", "sh", "-c", COVER, "cover", *covers, "--", *argv]
        self._before = (self.sweeps(), self.dumped(), len(self.log()))
        self.process = run.start(argv, cwd=self.dir, env=env, stdin=subprocess.DEVNULL, stdout=self._out,
                                 stderr=subprocess.STDOUT)
        try:
            run.deadline(10, "opensm with the simulator's library", self._simulated, alive=self.alive,
                         evidence=self.evidence)
        except BaseException:  # pytest's own time limit too
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
        if not re.search(r"/opensm$", maps, re.M) or "libibumad" not in maps:
            return False
        if "libumad2sim" not in maps:
            raise run.KitError("opensm runs without libumad2sim: killed")
        return True

    def kill(self):
        """SIGKILL: no word to the fabric, no log flushed."""
        self.process.kill()
        self.process.wait()

    def pause(self):
        """Stopped as a whole: it answers nothing, and keeps signals until resume()."""
        os.kill(self.pid, signal.SIGSTOP)
        self._wait(5, "stopped", self.paused)

    def paused(self):
        if not self.alive():
            return False
        with open(f"/proc/{self.pid}/stat", encoding="ascii", errors="replace") as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "T"

    def resume(self):
        """OpenSM takes SIGCONT for a SIGHUP (main.c)."""
        os.kill(self.pid, signal.SIGCONT)

    def restart(self, wait=True, grace=True):
        """Ends it (grace=False: by SIGKILL) and starts it again with the files that are there now."""
        if not grace:
            self.kill()
        run.end(self.process)
        self._start()
        if wait:
            self.wait_up()
        return self

    def stop(self):
        """OpenSM goes before its ibsim: without it, it ignores SIGTERM. One that was paused goes too."""
        if self.paused():
            self.resume()
        clean = run.end(self.process)
        self._out.close()
        return clean

    def inside(self):
        """Words that run a program where this OpenSM's mounts are (Fabric.ibqos(before=...))."""
        return ["nsenter", "-m", f"--wd={self.fabric.dir}", "-t", str(self.pid)]

    def cover(self, path, folder):
        """From now on it sees `folder` at `path`; for one that was started with mounts (or etc)."""
        run.run(["nsenter", "-m", "-t", str(self.pid), "mount", "--bind", folder, path]).ok()

    # --- its files ---

    def write_config(self, **changes):
        """Writes opensm.conf whole, with `changes` (None takes a key out). It is read at hup()."""
        self.options.update(changes)
        run.replace(self.config, [f"{k} {v}" for k, v in self.options.items() if v is not None])

    def files(self):
        """What its config and its qos-policy file hold."""
        texts = []
        for path in (self.config, self.policy):
            with open(path, "rb") as file:
                texts.append(file.read())
        return texts

    def rules(self, *lines):
        """Replaces the overlay's rules in OpenSM's own process; the ports' capabilities stay."""
        run.replace(self.rules_file, [*self.fabric.capabilities, *lines])

    def slow(self, milliseconds, what="attr=PortInfo method=get"):
        """Makes its sweeps slow: each of these answers comes later. 0: as fast as ever."""
        self.rules(*([f"{what} : delay={milliseconds}"] if milliseconds else []))

    # --- what it says ---

    def log(self):
        try:
            with open(self.path("opensm.out") if self._log == "stdout" else self.log_file, encoding="utf-8",
                      errors="replace") as f:
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

    def dumped(self):
        """When it wrote its subnet list last, at the end of a heavy sweep that went well (osm_dump_all):
        tells where the log is not flushed. In ns; 0 if never."""
        try:
            return os.stat(self.path("opensm-subnet.lst")).st_mtime_ns
        except FileNotFoundError:
            return 0

    def _wait(self, seconds, what, ready):
        return run.deadline(seconds, f"opensm: {what}", ready, alive=self.alive, evidence=self.evidence)

    def wait_sweep(self, number, seconds=60):
        self._wait(seconds, f"sweep {number}", lambda: self.sweeps() >= number)

    def wait_up(self, seconds=60):
        """Until a sweep of this process has ended well, by its log or, where that is late, its dump."""
        sweeps, dumped, _ = self._before
        self._wait(seconds, "subnet up", lambda: self.sweeps() > sweeps or self.dumped() > dumped)

    def state(self):
        """MASTER, STANDBY, DISCOVERING or NOT-ACTIVE, as this process last said; None: nothing yet."""
        found = re.findall(r"-> (?:.*: )?Entering ([A-Z-]+) state$", self.log()[self._before[2]:], re.M)
        return found[-1] if found else None

    def wait_state(self, *states, seconds=60):
        self._wait(seconds, " or ".join(states), lambda: self.state() in states)

    def engine(self):
        """The routing engine that the last sweep used."""
        found = re.findall(r"-> (?:.*: )?(\S+) tables configured on all switches$", self.log(), re.M)
        return found[-1] if found else None

    def hup(self, wait=True):
        """Makes OpenSM read its files again; returns when a heavy sweep begun after that has ended. For that no
        sweep may be in progress when it is called."""
        sweeps, dumped = self.sweeps(), self.dumped()
        os.kill(self.pid, signal.SIGHUP)
        if wait:
            self._wait(60, "sweep after SIGHUP", lambda: self.sweeps() > sweeps or self.dumped() > dumped)
        return self

    def console(self, command, seconds=10):
        """What the loopback console answers (options console="loopback", console_port=free_port())."""
        with self._wait(seconds, "console", self._connect) as s:
            s.settimeout(seconds)
            text = b""
            # one line after another: it waits for the socket, not for what its stdio has read ahead
            for prompts, line in ((1, command), (2, "quit")):
                while text.count(b"OpenSM $ ") < prompts and (part := s.recv(65536)):
                    text += part
                s.sendall(line.encode() + b"\n")
            while part := s.recv(65536):  # only then does it take the next session
                text += part
        return text.decode(errors="replace").split("OpenSM $ ")[1]

    def _connect(self):
        try:
            return socket.create_connection(("127.0.0.1", int(self.options["console_port"])), 5)
        except ConnectionRefusedError:
            return None

    def sent(self):
        """What it has set so far (counts come when it has stopped)."""
        from kit import sim
        return sim.Sent(self.sent_file)


def versioned(folder, version):
    """A copy of Debian's OpenSM that says it has another version: the program it is, by another name. It may be
    as long as the true one, with NULs behind."""
    path = os.path.join(folder, "opensm")
    with open(shutil.which("opensm") or "/usr/sbin/opensm", "rb") as f:
        program = f.read()
    true, new = b"OpenSM 3.3.23\0", b"OpenSM " + version.encode() + b"\0"
    if program.count(true) != 1 or len(new) > len(true):
        raise run.KitError("cannot give OpenSM another version")
    os.makedirs(folder, exist_ok=True)
    with open(path, "wb") as f:
        f.write(program.replace(true, new.ljust(len(true), b"\0")))
    os.chmod(path, 0o755)
    return path


def free_port():
    """A TCP port of the loopback that is free now."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]
