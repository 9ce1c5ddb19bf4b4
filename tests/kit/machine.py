# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A machine with OpenSM on a simulated fabric, as the documentation speaks of it: /etc/opensm, /etc/ibqos, /var/lib/ibqos and
/var/log are its own, and nothing outside it sees its processes.

It is a mount and a PID namespace. In place of what a machine has and this one lacks stand `systemctl` (start and restart of
opensm@..., with the command line of Debian's unit) and `sudo` (which only runs what follows it). Programs of InfiniBand are
found by name, with the simulator's library. What is left out is in docs/testing.md, "Documentation"."""
import os
import shutil
import stat

from kit import looks, run, sim
from tools import netgen

OWN = ("/etc", "/var/lib", "/var/log", "/var/cache")
INSTALLED = "/usr/local/share"
PROGRAMS = ("smpquery", "saquery", "sminfo", "ibnetdiscover", "iblinkinfo", "ibqueryerrors", "perfquery")
# gpu-002's cable has lost three lanes
FAULTS = ("node=gpu-002 attr=PortInfo : set LinkWidthActive=1", "node=leaf-01 port=2 attr=PortInfo : set LinkWidthActive=1")

HOLDER = """set -e
while [ "$1" != -- ]; do mount --bind "$1" "$2"; shift 2; done
mount -t proc proc /proc
echo ready >"$2"
while :; do
	sleep 1000 &
	wait $!  # for all that ends in here
done
"""
SYSTEMCTL = """#!/bin/bash
# For tests: starts OpenSM as Debian's opensm@.service does, and waits until its first sweep is over.
case "$1 $2" in
"start opensm@"* | "restart opensm@"*) ;;
*)
	echo "systemctl of the tests: it cannot '$*'" >&2
	exit 1
	;;
esac
if [ -e DIR/opensm.pid ]; then
	kill "$(cat DIR/opensm.pid)"
	for ((i = 0; i < 600; i++)); do
		kill -0 "$(cat DIR/opensm.pid)" 2>/dev/null || break
		sleep 0.05
	done
	rm -f DIR/opensm.pid
fi
rm -f DIR/tmp/opensm-subnet.lst
setsid DIR/bin/opensm --guid GUID --log_file /var/log/opensm.GUID.log >>DIR/opensm.out 2>&1 </dev/null &
echo $! >DIR/opensm.pid
for ((i = 0; i < 1200; i++)); do
	[ -s DIR/tmp/opensm-subnet.lst ] && exit 0
	kill -0 "$(cat DIR/opensm.pid)" 2>/dev/null || break
	sleep 0.05
done
echo "systemctl of the tests: OpenSM brought no subnet up" >&2
cat DIR/opensm.out >&2
exit 1
"""


def possible():
    """Why a machine cannot be had here, or None."""
    if os.getuid() != 0:
        return "needs root"
    if run.run(["unshare", "-m", "-p", "-f", "sh", "-c", "mount -t proc proc /proc"]).returncode != 0:
        return "needs mount and PID namespaces"
    return None


class Machine:
    """state: 'bare' (OpenSM runs, without a config), 'fresh' (with the config that it writes itself, and a policy in
    /etc/ibqos), 'applied' (the policy is in force), 'faults' (and a cable is bad)."""

    def __init__(self, folder, state="bare"):
        self.dir = str(folder)
        self.net = netgen.fat_tree(leaves=4, spines=2, hosts_per_leaf=6, storage=2)
        self.fabric = sim.Fabric(folder, self.net)
        self.holder = None
        try:
            self._build()
            self.rules()
            self.shell("systemctl start opensm@port1").ok()
            if state != "bare":
                self.shell("opensm -c /etc/opensm/opensm.conf && systemctl restart opensm@port1").ok()
                shutil.copy(os.path.join(run.TOP, "policies", "training-first.yaml"), self.host_path("/etc/ibqos/policy.yaml"))
            if state in ("applied", "faults"):
                self.shell("ibqos apply /etc/ibqos/policy.yaml").ok()
            if state == "faults":
                self.rules(*FAULTS)
        except BaseException:
            self.stop()
            raise

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def host_path(self, path):
        """Where a file of the machine is for everybody else."""
        for own in OWN:
            if path.startswith(own + "/"):
                return self.path("root" + own) + path[len(own):]
        return os.path.join(self.path("home"), path)

    def rules(self, *lines):
        """As Fabric.rules(); counters that ibsim does not know are refused, since it hands such queries to OpenSM, which dies."""
        self.fabric.rules(*looks.LACKS, *lines)

    def write(self, path, text):
        path = self.host_path(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def _program(self, name, text):
        path = self.path("bin", name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)

    def _attached(self, name, program, **kwargs):
        """A program on the fabric: only it has the simulator's library."""
        env = self.fabric.env(**kwargs)
        names = ("LD_PRELOAD", "IBSIM_SOCKNAME", "SIM_HOST", *(k for k in env if k.startswith("IBQOS_OVERLAY_")))
        words = " ".join(f"{k}='{env[k]}'" for k in names)
        # where the simulator leaves its files, and where dumps go
        self._program(name, f"#!/bin/sh\nexec env OSM_TMP_DIR={self.path('tmp')} OSM_CACHE_DIR={self.path('tmp')} {words} {program} \"$@\"\n")

    def _build(self):
        for name in ("bin", "home", "tmp"):
            os.mkdir(self.path(name))
        shutil.copytree("/etc", self.path("root/etc"), symlinks=True, ignore=lambda folder, names: [
            n for n in names if n in ("ssl", "alternatives", "opensm", "ibqos", "infiniband-diags") or not (
                os.path.islink(os.path.join(folder, n)) or os.path.isdir(os.path.join(folder, n)) or os.path.isfile(os.path.join(folder, n)))])
        for own in ("/etc/opensm", "/etc/ibqos", "/var/lib/ibqos", "/var/log", "/var/cache/opensm"):
            os.makedirs(self.path("root" + own))
        self.sent_file = self.path("sent")
        open(self.sent_file, "w", encoding="ascii").close()
        rules = self.path("sm-rules")
        run.replace(rules, self.fabric.capabilities)
        self._attached("ibqos", run.binary(), log=self.sent_file)
        self._attached("opensm", shutil.which("opensm") or "/usr/sbin/opensm", role="sm", rules=rules, log=self.path("sm-sent"))
        for name in PROGRAMS:
            self._attached(name, shutil.which(name) or f"/usr/sbin/{name}")
        self._program("sudo", "#!/bin/sh\nexec \"$@\"\n")
        guid = f"0x{self.net.first.guid + 1:016x}"  # of its port
        self._program("systemctl", SYSTEMCTL.replace("DIR", self.dir).replace("GUID", guid))
        pairs = [x for own in OWN for x in (self.path("root" + own), own)]
        if not os.path.exists(f"{INSTALLED}/ibqos"):  # else it is what `make install` has put there
            shutil.copytree(os.path.join(run.TOP, "policies"), self.path("root" + INSTALLED, "ibqos", "policies"))
            pairs += [self.path("root" + INSTALLED), INSTALLED]
        ready = self.path("ready")
        self.holder = run.start(["unshare", "-m", "-p", "-f", "--kill-child", "sh", "-c", HOLDER, "holder", *pairs, "--", ready],
                                cwd=self.dir, env=self._env(), stdin=-3, stdout=-3)
        run.deadline(30, "namespaces of a machine", lambda: os.path.exists(ready) and self._inside(),
                     alive=lambda: self.holder.poll() is None)

    def _inside(self):
        """The process that is number 1 in there."""
        with open(f"/proc/{self.holder.pid}/task/{self.holder.pid}/children", encoding="ascii") as f:
            return f.read().split()

    def _env(self):
        env = self.fabric._plain_env()
        env["PATH"] = f"{self.path('bin')}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        env["HOME"] = self.path("home")
        env["LC_ALL"] = "C.UTF-8"
        env.pop("SUDO_USER", None)
        return env

    def shell(self, command, timeout=120):
        """A command line as somebody types it as root; stdout has both streams."""
        # -r: where this is itself in a chroot, its namespace's root is another
        return run.run(["nsenter", "-m", "-p", "-r", "-t", self._inside()[0], "bash", "-c",
                        f"exec 2>&1\ncd {self.path('home')} || exit\n{command}"], timeout=timeout, env=self._env())

    def stop(self):
        if self.holder:
            run.end(self.holder, 0.1)  # all processes in there go with it
        self.fabric.stop()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.stop()
        if kind is None:
            sent = sim.Sent(self.sent_file)
            assert sent.sets == 0 and not sent.lines, f"ibqos sent a Set: {sent.lines}"
