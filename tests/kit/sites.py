# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A site of simulated fabrics: a site file whose fabrics are each reached `via` the environment of theirs, as env(1) gives it."""
import itertools
import json
import os

from kit import run
from kit.sim import Sent

_number = itertools.count(1)
NEEDED = ("LD_PRELOAD", "IBSIM_SOCKNAME", "SIM_HOST", "IBQOS_OVERLAY_RULES", "IBQOS_OVERLAY_NET", "IBQOS_OVERLAY_RECORD",
          "IBQOS_OVERLAY_ROLE", "IBQOS_OVERLAY_LOG")


class Site:
    """Fabrics by name, in order. more: keys of all of them; own: {name: keys of that one}; log: what workers send is kept."""

    def __init__(self, folder, fabrics, more=None, own=None, log=True):
        self.dir, self.fabrics = str(folder), fabrics
        self.file = os.path.join(self.dir, f"site-{next(_number)}.yaml")
        self.logs = {name: os.path.join(self.dir, f"sent-{name}-{next(_number)}") for name in fabrics}
        entries = []
        for name, fabric in fabrics.items():
            env = fabric.env(log=self.logs[name] if log else None)
            via = ["env", *(f"{k}={env[k]}" for k in NEEDED if k in env)]
            entries.append({"name": name, "via": via, **(more or {}), **(own or {}).get(name, {})})
        # JSON is YAML
        with open(self.file, "w", encoding="utf-8") as f:
            json.dump({"version": 1, "name": "test", "fabrics": entries}, f, indent=1)

    def argv(self, command, *args):
        return [run.binary(), command, "--site", self.file, *map(str, args)]

    def ibqos(self, command, *args, **kwargs):
        """Runs it; what the workers sent is looked at: never a Set."""
        for log in self.logs.values():
            open(log, "w", encoding="ascii").close()
        r = run.run(self.argv(command, *args), cwd=self.dir, **kwargs)
        r.sent = {name: Sent(log) for name, log in self.logs.items()}
        assert not any(s.sets for s in r.sent.values()), str(r)
        return r
