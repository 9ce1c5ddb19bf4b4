# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Policies for tests, for the OpenSM of a simulated fabric."""

TRAINING = {"name": "training", "sl": 1, "nccl_ib_tc": 41, "share": "70%"}
STORAGE = {"name": "storage", "sl": 2, "share": "20%"}
OTHER = {"name": "other", "sl": 0, "default": "true", "share": "10%"}


def text(sm, classes=(TRAINING, STORAGE, OTHER), **top):
    """A policy as YAML; `sm` is an OpenSM of the kit, or None for OpenSM's default paths."""
    lines = ["version: 1", "classes:"]
    for c in classes:
        lines += [f"  {'- ' if i == 0 else '  '}{k}: {v}" for i, (k, v) in enumerate(c.items())]
    lines += [f"{k}: {v}" for k, v in top.items()]
    if sm:
        lines += ["opensm:", f"  config: {sm.config}", f"  qos_policy: {sm.policy}", f"  log: {sm.log_file}"]
    return "\n".join(lines) + "\n"


def write(fabric, sm, classes=(TRAINING, STORAGE, OTHER), name="policy.yaml", **top):
    """Writes it into the fabric's folder and returns its path."""
    path = fabric.path(name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text(sm, classes, **top))
    return path


def codes(result):
    """The findings of a JSON report, as {code: [finding, ...]}."""
    found = {}
    for f in result.json["findings"]:
        found.setdefault(f["code"], []).append(f)
    return found
