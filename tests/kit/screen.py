# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What a terminal shows after all that was written to it: letters, CR, LF, erasing to the end of a line, colours."""
import re

from kit import run

PIECE = re.compile(r"\033\[([0-9;]*)([A-Za-z])|([\r\n])|([^\r\n\033]+)|(\033)")


def lines(output, rows, columns):
    """Its lines without blanks behind and empty ones at the end. What this terminal does not know is an error."""
    found, at, column = [[]], 0, 0
    for m in PIECE.finditer(output):
        if m[5]:
            raise run.KitError(f"a sequence that is none: {output[m.start():m.start() + 20]!r}")
        if m[3] == "\r":
            column = 0
        elif m[3] == "\n":
            at += 1
            if at == len(found):
                found.append([])
        elif m[2] == "K" and m[1] in ("", "0"):
            del found[at][column:]
        elif m[2] == "m":
            continue
        elif m[2]:
            raise run.KitError(f"a sequence that is not known: {m[0]!r}")
        else:
            for c in m[4]:
                if column == columns:
                    at, column = at + 1, 0
                    if at == len(found):
                        found.append([])
                found[at] += [" "] * (column - len(found[at]))
                found[at][column:column + 1] = [c]
                column += 1
    text = ["".join(line).rstrip() for line in found]
    while text and not text[-1]:
        text.pop()
    assert len(text) <= 10 * rows
    return text
