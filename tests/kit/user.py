# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Another user's run of ibqos: words before the command, and a place that every user gets at."""
import os
import shutil
import tempfile

from kit import run, sim

UID, GID = 48611, 48612  # of nobody else


def becomes(uid=UID, gid=GID, groups=()):
    """The words that make a program one of this user; root's capabilities go with it."""
    supplementary = ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
    return ["setpriv", "--reuid", str(uid), "--regid", str(gid), *supplementary, "--"]


class Open:
    """A folder below /tmp that any user may read, with copies of the programs, as checkouts and pytest's folders are root's."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="ibqos-user-", dir="/tmp")
        os.chmod(self.dir, 0o755)
        self.binary = self.copy(run.binary(), "ibqos", 0o755)
        self.overlay = self.copy(run.overlay(), "overlay.so", 0o644)

    def path(self, name):
        return os.path.join(self.dir, name)

    def copy(self, source, name, mode):
        shutil.copy(source, self.path(name))
        os.chmod(self.path(name), mode)
        return self.path(name)

    def folder(self, name, uid=0, gid=0, mode=0o755):
        os.mkdir(self.path(name))
        os.chown(self.path(name), uid, gid)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def fabric(self, net):
        """A simulated fabric whose files any user gets at; libumad2sim makes folders where a program runs."""
        folder = self.folder("fabric", mode=0o1777)
        f = sim.Fabric(folder, net)
        for name in os.listdir(folder):
            os.chmod(os.path.join(folder, name), 0o644)
        return f

    def ibqos(self, f, *args, before=(), env=None, **kwargs):
        """As Fabric.ibqos(), by the copies."""
        log = f.path("sent.log")
        with open(log, "w", encoding="ascii"):
            pass
        for name in (log, f.record_file):
            if os.path.exists(name):
                os.chmod(name, 0o666)
        e = {"LD_PRELOAD": f"{self.overlay}:{run.simulator_library()}", **(env or {})}
        r = f.run(*before, self.binary, *args, log=log, env=e, **kwargs)
        r.sent = sim.Sent(log)
        assert r.sent.sets == 0 and not r.sent.lines, f"ibqos sent a Set: {r.sent.lines}\n{r}"
        return r

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.dir)
