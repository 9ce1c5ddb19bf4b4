# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What must hold after each run of ibqos, whatever was done to it. Each check returns sentences, one a fault found."""
import json
import os
import re

CODES = {"clean": 0, "warning": 1, "critical": 2, "unknown": 3}
NAMES = {v: k for k, v in CODES.items()}
TABLE_CODES = {"sl2vl-differs": "sl2vl", "vlarb-differs": "vlarb", "high-limit-differs": "high-limit"}
PARTS = 10  # not-applied: all but one of so many ports hold other tables, at least
MARK = b"# set by ibqos"


def parsed(r):
    """The JSON report, or None where the run was killed or told nothing."""
    try:
        return json.loads(r.stdout)
    except ValueError:
        return None


def by_simulator(r):
    """libumad2sim ends a program that a signal meets while it attaches."""
    return r.killed is not None and re.search(r"ibpanic: \[\d+\] sim_|cannot init umad2sim", r.stderr) is not None


def ended_well(r):
    """No crash, no sanitizer's word, no hang, no Set."""
    bad = []
    if by_simulator(r):
        return bad
    if r.hung:
        bad.append(f"hung: had to be killed after {r.seconds:.0f} s")
    elif r.returncode < 0 and -r.returncode != r.killed:
        bad.append(f"died of signal {-r.returncode}")
    elif r.returncode >= 0 and r.returncode not in NAMES:
        bad.append(f"exit code {r.returncode}")
    if re.search(r"ERROR: \w*Sanitizer|: runtime error: |LeakSanitizer", r.stderr):
        bad.append("sanitizer report")
    if r.sent.sets or r.sent.lines:
        bad.append(f"sent a Set: {r.sent.lines}")
    return bad


def agrees(r):
    """Exit code, verdict and findings tell the same."""
    if r.hung or r.returncode not in NAMES or by_simulator(r):
        return []
    report = parsed(r)
    if report is None:
        return [f"exit {r.returncode}, but what it printed is no JSON: {r.stdout[-200:]!r}"]
    bad = []
    if report.get("verdict") != NAMES[r.returncode]:
        bad.append(f"exit {r.returncode}, but verdict {report.get('verdict')!r}")
    severities = {f["severity"] for f in report["findings"]}
    if "critical" in severities and r.returncode != 2:
        bad.append(f"critical findings, but exit {r.returncode}")
    if r.returncode == 2 and "critical" not in severities:
        bad.append("exit 2 without a critical finding")
    if r.returncode == 0 and severities - {"note"}:
        bad.append(f"exit 0 with findings: {sorted(severities)}")
    if r.returncode == 1 and severities & {"critical", "unknown"}:
        bad.append(f"exit 1 with findings: {sorted(severities)}")
    return bad


def criticals(r):
    report = parsed(r)
    return [f for f in report["findings"] if f["severity"] == "critical"] if report else []


def place(finding, net):
    """(node, port) of a finding. By GUID: a lost NodeDescription leaves no name."""
    names = {n.guid: n.name for n in net.nodes.values()}
    return names.get(int(finding["node_guid"] or "0", 16)), finding["port"]


def not_applied_truly(f, differ_before, differ_after):
    """One critical for the whole fabric, "DIFFER of LOOKED-AT ports hold other tables": nearly all,
    and no more than did before or after."""
    said = re.fullmatch(r"(\d+) of (\d+) ports hold other tables", f["got"] or "")
    if not said:
        return [f"not-applied without its numbers: {f}"]
    differ, ports = map(int, said.groups())
    tables = set(TABLE_CODES.values())
    true = {at for d in (differ_before, differ_after) for at, kinds in d.items() if kinds & tables}
    bad = []
    if differ > ports or PARTS * differ < (PARTS - 1) * ports:
        bad.append(f"not-applied, but that is not nearly all: {f}")
    if differ > len(true):
        bad.append(f"not-applied of {differ} ports, but at most {len(true)} held other tables: {sorted(true)[:3]}: {f}")
    return bad


def verified_truly(r, net, differ_before, differ_after, plant, sa_right):
    """No critical about a table that is right at the device, nor about an SA that answers as the policy wants."""
    bad = []
    for f in criticals(r):
        kind = TABLE_CODES.get(f["code"])
        node, port = place(f, net)
        if f["code"] in ("sm-qos-off", "sa-sl-differs"):
            if sa_right:
                bad.append(f"{f['code']}, but the SA answers right: {f}")
        elif f["code"] == "not-applied":
            bad += not_applied_truly(f, differ_before, differ_after)
        elif kind is None:
            bad.append(f"critical {f['code']} without a cause: {f}")
        elif kind not in differ_before.get((node, port), set()) | differ_after.get((node, port), set()):
            if not (plant and plant[0] == "table" and plant[1][:2] == (node, port) and kind == "sl2vl"):
                bad.append(f"{f['code']} at {node} port {port}, but the device holds what it should: {f}")
    return bad


def not_missed(r, ports, differ_before, differ_after, state_before, state_after):
    """No clean verdict where a port held other tables before and after, the same ones both times."""
    if r.returncode not in (0, 1):
        return []
    missed = []
    for at in set(differ_before) & set(differ_after) & ports:
        node, port = at
        tables = [{k: s[node][port][k] for k in ("sl2vl", "low", "high")} for s in (state_before, state_after)]
        both = differ_before[at] & differ_after[at] & {"sl2vl", "vlarb"}
        if both and tables[0] == tables[1]:
            missed.append(at)
    return [f"exit {r.returncode}, but {len(missed)} ports hold other tables: {sorted(missed)[:3]}"] if missed else []


# --- files ---


def without_qos(text):
    """opensm.conf without its `qos` key and without the mark of added keys."""
    if text is None:
        return None
    lines = [line for line in text.split(b"\n") if line.split()[:1] != [b"qos"] and line.strip() != MARK]
    return b"\n".join(lines).rstrip(b"\n")


def qos_of(text):
    values = [line.split()[1:2] for line in text.split(b"\n") if line.split()[:1] == [b"qos"]]
    return values[-1][0] if values and values[-1] else None


def steps_of(folder):
    """The configs with tables in between that a change goes over."""
    found = (read(os.path.join(folder, f"step-{n}-opensm.conf")) for n in (1, 2)) if folder else ()
    return [text for text in found if text is not None]


def _conf_names(conf, old, new, command, steps=()):
    """Which versions it is; more than one where they are the same bytes. Going back writes `qos` explicitly."""
    back = new if command == "rollback" else old
    names = {"step"} if conf in steps else set()
    names |= {name for name, text in (("old", old), ("new", new)) if conf == text and (name == "old" or new is not None)}
    if conf and back and without_qos(conf) == without_qos(back) and qos_of(conf) in (b"TRUE", b"FALSE"):
        names.add("new" if command == "rollback" else "old with qos written")
    return names


def _rules_names(rules, old, new, command):
    # before an apply there may have been none
    return {name for name, text in (("old", old), ("new", new))
            if rules == text and (name == "old" or new is not None or command == "rollback")}


class State:
    """Which versions the two files are."""

    def __init__(self, conf, rules):
        self.conf, self.rules = conf, rules
        self.known = bool(conf and rules)
        self.untouched = "old" in conf and "old" in rules
        self.old = bool(conf & {"old", "old with qos written"}) and "old" in rules
        self.new = "new" in conf and "new" in rules

    def as_before(self, conf, rules, unfinished):
        """Whether they are what this run found: after one that was cut short, that is not the old version."""
        self.known = bool((conf or self.conf) and (rules or self.rules))
        self.untouched = self.untouched or (conf and rules)
        self.old = self.old or (conf and rules)
        self.half = unfinished  # a failure to write may leave what was half there half there

    def __str__(self):
        return (f"opensm.conf {' = '.join(sorted(self.conf)) or 'neither old nor new'}, "
                f"qos-policy.conf {' = '.join(sorted(self.rules)) or 'neither old nor new'}")


class Versions:
    """What the two files were before a run, and what its history says it meant them to become."""

    def __init__(self, world):
        self.world, self.before, self.histories = world, world.files(), set(world.histories())
        self.temporaries = world.temporaries()
        self.unfinished = self._unfinished()

    def _unfinished(self):
        """The old files of a change that was cut short on its way there or back, whose files are in place, all or half:
        those are what the next apply goes back to. None: there is no such thing."""
        journals = {h: read(os.path.join(h, "journal")) or b"" for h in self.histories}
        ends = (b"rolled back", b"taken up", b"not installed")
        # what the last line says: a way back begins anew behind "done"
        done = {h: (re.findall(rb"(?m)^\S+ (?:done (.*)|.*)\n", j) or [b""])[-1] for h, j in journals.items()}
        folder = max((h for h, j in journals.items() if b" install " in j and not done[h].startswith(ends)), default=None)
        if not folder or (done[folder] and not done[folder].startswith(b"roll back failed")):
            return None
        old, new = (tuple(read(os.path.join(folder, f"{kind}-{n}")) for n in ("opensm.conf", "qos-policy.conf"))
                    for kind in ("old", "new"))
        conf = _conf_names(self.before[0], old[0], new[0], "apply", steps_of(folder))
        return old if conf and self.before[1] in (old[1], new[1]) else None

    def history(self, command, r):
        """The folder that the run made, or, for rollback, undoes; None: there is none."""
        made = set(self.world.histories()) - self.histories
        if command != "rollback":
            return made.pop() if len(made) == 1 else None
        report = parsed(r)
        if report:
            return report.get("apply", {}).get("history")
        # killed: it can only have been at work on one whose new files were in place
        fits = [h for h in self.histories if self.before == tuple(
            read(os.path.join(h, n)) for n in ("new-opensm.conf", "new-qos-policy.conf"))
            or self.before[0] in steps_of(h)]
        return max(fits, default=None)


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except FileNotFoundError:
        return None


def kept_whole(folder, before):
    """The old files in a history folder are those from before, whole; it may lack some only if the run was stopped
    or failed before it touched anything."""
    bad, whole = [], True
    for name, text in zip(("opensm.conf", "qos-policy.conf"), before):
        got = read(os.path.join(folder, f"old-{name}"))
        missing = read(os.path.join(folder, f"old-{name}.missing"))
        if got is None and missing is None:
            whole = False
        elif got != text or (missing is not None) != (text is None):
            bad.append(f"{folder}/old-{name} is not what was there before")
        if read(os.path.join(folder, f"new-{name}")) is None:
            whole = False
    return bad, whole


def files_whole(versions, r, command, edit_mark=None, edited=None):
    """(faults found, what the files are now). edited: opensm.conf just after another admin's edit."""
    world, (old_conf, old_rules) = versions.world, versions.before
    conf, rules = world.files()
    folder = versions.history(command, r)
    new_conf = new_rules = None
    bad, whole = [], True
    made = set(world.histories()) - versions.histories
    if len(made) > (command == "apply"):
        bad.append(f"one {command} made {len(made)} history folders")
    if folder and command == "apply":
        kept = tuple(read(os.path.join(folder, n)) for n in ("old-opensm.conf", "old-qos-policy.conf"))
        if edited is not None and kept[0] == edited:
            old_conf = edited  # it was edited before it was read
        if kept == versions.unfinished:
            old_conf, old_rules = kept
        bad, whole = kept_whole(folder, (old_conf, old_rules))
        new_conf, new_rules = (read(os.path.join(folder, n)) for n in ("new-opensm.conf", "new-qos-policy.conf"))
    elif folder and command == "rollback":  # the files before that apply are the new ones
        new_conf, new_rules = (read(os.path.join(folder, n)) for n in ("old-opensm.conf", "old-qos-policy.conf"))
    if edit_mark and conf and old_conf != edited:  # another admin's line, added meanwhile, is whole or not there
        conf = _without_edit(conf, edit_mark, old_conf, new_conf)
    now = State(_conf_names(conf, old_conf, new_conf, command, steps_of(folder)), _rules_names(rules, old_rules, new_rules, command))
    now.as_before(conf in (versions.before[0], edited), rules == versions.before[1],
                  (old_conf, old_rules) == versions.unfinished)
    if not now.known:
        bad.append(f"a file is neither old nor new: {now}")
    if (command not in ("apply", "rollback") or not whole or not folder) and not now.untouched:
        bad.append(f"files were changed without a whole history: {now}")
    return bad, now


def _without_edit(conf, mark, old, new):
    """Takes the edited line out again. An edit that changed a key in place of adding one is not made here."""
    lines = conf.split(b"\n")
    left = b"\n".join(line for line in lines if not line.endswith(mark))
    return left if left in (old, new) or without_qos(left) == without_qos(old) else conf


def apply_agrees(r, now):
    """What apply or rollback says of the files is what they are."""
    report = parsed(r)
    if report is None or not now.known:
        return []
    a = report.get("apply")
    codes = {f["code"] for f in report["findings"]}
    if a is None:
        return [] if now.untouched else [f"told nothing, but {now}"]
    bad = []
    if (a["unchanged"] or a["reached"] in ("preflight", "backup")) and not now.untouched:
        bad.append(f"reached {a['reached']}, nothing to do {a['unchanged']}, but {now}")
    if "rollback" in r.argv[1:2]:
        if a["rolled_back"] and not now.new:
            bad.append(f"says rolled back, but {now}")
        if r.returncode == 0 and not a["rolled_back"]:
            bad.append("exit 0, but not rolled back")
        return bad
    if a["installed"] and not a["unchanged"] and "apply-rollback-failed" not in codes and not now.new:
        bad.append(f"says installed, but {now}")
    if a["rolled_back"] and not now.old:
        bad.append(f"says rolled back, but {now}")
    if not a["installed"] and "apply-rollback-failed" not in codes and not now.old and not now.half:
        bad.append(f"says not installed, but {now}")
    if r.returncode == 0 and not a["installed"]:
        bad.append("exit 0, but not installed")
    return bad


def no_strays(versions, r):
    """No temporary file left by a run that ended by itself. (faults, files that a killed one left)"""
    left = versions.world.temporaries() - versions.temporaries
    if left and not r.hung and r.returncode >= 0:
        return [f"temporary files left: {sorted(left)}"], set()
    return [], left
