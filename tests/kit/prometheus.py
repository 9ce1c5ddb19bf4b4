# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Prometheus' text format 0.0.4, read as strictly as node_exporter's textfile collector does and a bit more."""
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"'


def unescape(text):
    return re.sub(r'\\(.)', lambda m: {"n": "\n"}.get(m[1], m[1]), text)


def parse(text):
    """{name: {"type":, "help":, "samples": {frozenset of (label, value): number}}}; AssertionError for what is wrong."""
    assert text.endswith("\n") and "\r" not in text
    text.encode("utf-8")
    found, at = {}, None
    for line in text[:-1].split("\n"):
        if m := re.fullmatch(rf"# HELP ({NAME}) (\S.*)", line):
            assert m[1] not in found, f"{m[1]} comes twice"
            at = found[m[1]] = {"help": m[2], "type": None, "samples": {}}
            name = m[1]
        elif m := re.fullmatch(rf"# TYPE ({NAME}) (gauge|counter)", line):
            assert m[1] == name and at["type"] is None and not at["samples"], line
            at["type"] = m[2]
        else:
            m = re.fullmatch(rf"({NAME})(?:\{{((?:{LABEL},?)*)\}})? (\S+)", line)
            assert m and m[1] == name and at["type"], line
            pairs = re.findall(LABEL, m[2] or "")
            assert ",".join(f'{k}="{v}"' for k, v in pairs) == (m[2] or ""), line
            labels = frozenset((k, unescape(v)) for k, v in pairs)
            assert len(labels) == len({k for k, _ in pairs}) == len(pairs), f"a label twice: {line}"
            assert labels not in at["samples"], f"a sample twice: {line}"
            at["samples"][labels] = float(m[5])
    for name, family in found.items():
        assert family["type"] and family["samples"], name
        assert name.endswith("_total") == (family["type"] == "counter"), name
        assert not {"gauge", "counter"} & set(name.split("_")), name  # promtool's word
    return found


class Metrics:
    def __init__(self, text):
        self.text, self.families = text, parse(text)

    def values(self, name, **labels):
        """{labels left over as a frozenset: value} of the samples that have these labels ("": without it)."""
        wanted = {(k, str(v)) for k, v in labels.items() if v != ""}
        without = {k for k, v in labels.items() if v == ""}
        return {frozenset(have - wanted): value for have, value in self.families.get(name, {"samples": {}})["samples"].items()
                if wanted <= have and not without & {k for k, _ in have}}

    def one(self, name, **labels):
        found = self.values(name, **labels)
        assert len(found) == 1, (name, labels, found)
        return next(iter(found.values()))

    def by(self, name, label, **labels):
        """{value of one label: number}, of samples that have nothing else left but command and fabric."""
        return {dict(have).get(label, ""): value for have, value in self.values(name, **labels).items()}


def read(path):
    with open(path, encoding="utf-8") as f:
        return Metrics(f.read())
