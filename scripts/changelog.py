#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""CHANGELOG.md as packages want it: changelog.py deb | rpm | version.

A version that is not yet released is one of the time of the sources (SOURCE_DATE_EPOCH), 0.1.0~20261130120000, so that each build
upgrades the one before it, and the release all of them. DEBFULLNAME and DEBEMAIL say who packs it."""
import datetime
import os
import re
import sys
import textwrap

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEADING = re.compile(r"## (\d[\w.]*) \((not yet released|\d{4}-\d\d-\d\d)\)")


def read():
    """[(version, date, [entry, ...])], the newest first."""
    found = []
    with open(os.path.join(TOP, "CHANGELOG.md"), encoding="utf-8") as f:
        lines = f.read().splitlines()
    source = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    for n, line in enumerate(lines, 1):
        if line.startswith("## "):
            m = HEADING.fullmatch(line)
            if not m:
                sys.exit(f"changelog.py: CHANGELOG.md:{n}: no '## VERSION (YYYY-MM-DD)' nor '(not yet released)'")
            if m[2] == "not yet released":
                found.append((m[1] + source.strftime("~%Y%m%d%H%M%S"), source, []))
            else:
                found.append((m[1], datetime.datetime.fromisoformat(m[2] + "T12:00:00+00:00"), []))
        elif line.startswith("- "):
            found[-1][2].append(line[2:])
        elif line.startswith("  ") and found and found[-1][2]:
            found[-1][2][-1] += " " + line.strip()
    if not found:
        sys.exit("changelog.py: CHANGELOG.md has no version")
    return found


def main(form):
    os.environ.setdefault("SOURCE_DATE_EPOCH", "0")
    who = f"{os.environ.get('DEBFULLNAME', 'ibqos authors')} <{os.environ.get('DEBEMAIL', 'ibqos@localhost')}>"
    versions = read()
    if form == "version":
        print(versions[0][0])
        return
    for n, (version, date, entries) in enumerate(versions):
        if n:
            print()
        if form == "deb":
            print(f"ibqos ({version}-1) unstable; urgency=medium\n")
            for entry in entries:
                print(textwrap.fill(entry, 78, initial_indent="  * ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False))
            print(f"\n -- {who}  {date:%a, %d %b %Y %H:%M:%S} +0000")
        else:
            print(f"* {date:%a %b %d %Y} {who} - {version}-1")
            for entry in entries:
                # a macro would be expanded
                print(textwrap.fill(entry.replace("%", "%%"), 78, initial_indent="- ", subsequent_indent="  ", break_long_words=False,
                                    break_on_hyphens=False))


if len(sys.argv) != 2 or sys.argv[1] not in ("deb", "rpm", "version"):
    sys.exit("usage: changelog.py deb | rpm | version")
main(sys.argv[1])
