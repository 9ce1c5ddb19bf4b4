# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Blocks of commands in the documentation, and whether what they print is what stands there.

A block that is run has a comment before it, in Markdown or reStructuredText:

    <!-- run: fabric=applied exit=0,2 -->        .. run: fabric=applied exit=0,2

fabric= begins with a new machine in that state (kit.machine); without it the one of the block before goes on. exit= is
the exit status of each command in turn, or one for all (default 0). Lines with '$ ' before them are commands, what
follows is what they print: '…' stands for any part of a line, or alone for any lines. What shows nothing is
not compared. In a block without '$ ' each line is a command. Other comments: <!-- file: PATH --> puts the block there;
<!-- rules: RULE; RULE --> gives the fabric these rules of the overlay from here on."""
import os
import re
import shlex

from kit import run

DIRECTIVE = re.compile(r"\s*(?:<!--\s*|\.\. )(run|file|rules|root):\s*(.*?)\s*(?:-->)?\s*$")


class Block:
    def __init__(self, path, line, kind, text, directive, words):
        self.path, self.line, self.kind, self.text = path, line, kind, text
        self.directive, self.words = directive, words  # None: no comment before it

    @property
    def where(self):
        return f"{os.path.relpath(self.path, run.TOP)}:{self.line}"

    @property
    def options(self):
        return dict(w.split("=", 1) for w in self.words.split())

    def steps(self):
        """[(command, what is shown or None)]"""
        lines = self.text.split("\n")
        found = []
        if not any(li.startswith("$ ") for li in lines):
            return [(c, None) for c in joined(lines)]
        for li in lines:
            if li.startswith("$ "):
                found.append((li[2:], []))
            elif found and found[-1][0].endswith("\\") and not found[-1][1]:
                found[-1] = (found[-1][0][:-1] + li.strip(), [])
            elif found:
                found[-1][1].append(li.rstrip())
        return [(c, shown if any(shown) else None) for c, shown in found]

    def exits(self):
        codes = [int(c) for c in self.options.get("exit", "0").split(",")]
        steps = len(self.steps())
        codes = codes * steps if len(codes) == 1 else codes
        if len(codes) != steps:
            raise run.KitError(f"{self.where}: {len(codes)} exit codes for {steps} commands")
        return codes


def joined(lines):
    """Commands of a script: lines, with those that go on by '\\' put together; no empty ones, no comments."""
    text = "\n".join(lines).replace("\\\n", " ")
    return [li.strip() for li in text.split("\n") if li.strip() and not li.strip().startswith("#")]


def blocks(path):
    """All blocks of code of a document, in order; a comment for a block that is not there is an error."""
    with open(path, encoding="utf-8") as f:
        lines = f.read().split("\n")
    rst = path.endswith(".rst")
    found, pending, i = [], None, 0

    def add(kind, first, body):
        nonlocal pending
        body = [li.rstrip() for li in body]
        while body and not body[-1]:
            body.pop()
        width = min((len(li) - len(li.lstrip()) for li in body if li), default=0)
        found.append(Block(path, first, kind, "\n".join(li[width:] for li in body), *(pending or (None, ""))))
        pending = None

    before_blank, list_indent = True, 0
    while i < len(lines):
        line = lines[i]
        if m := DIRECTIVE.match(line):
            if pending:
                raise run.KitError(f"{path}:{i + 1}: two comments for one block")
            if m[1] == "rules":
                found.append(Block(path, i + 1, "rules", "", "rules", m[2]))
            else:
                pending = (m[1], m[2])
            i, before_blank = i + 1, True
            continue
        if not rst and (m := re.match(r"\s*```(\w*)\s*$", line)):
            end = next(j for j in range(i + 1, len(lines)) if lines[j].strip() == "```")
            add(m[1], i + 2, lines[i + 1:end])
            i = end + 1
            continue
        if m := re.match(r"\s*(?:[-*]|\d+\.) +", line):
            list_indent = len(m[0])
        elif line and not line.startswith(" "):
            list_indent = 0
        literal = line.rstrip().endswith("::") and not line.lstrip().startswith("..") if rst else \
            before_blank and line.startswith(" " * (list_indent + 4))
        if literal:
            j = i + 1 if rst else i
            base = len(line) - len(line.lstrip()) if rst else list_indent + 3
            body = []
            while j < len(lines) and (not lines[j].strip() or len(lines[j]) - len(lines[j].lstrip()) > base):
                body.append(lines[j])
                j += 1
            while body and not body[0].strip():
                body.pop(0)
            if body:
                add("", j - len(body) + 1, body)
            i, before_blank = j, True
            continue
        before_blank = not line.strip()
        i += 1
    if pending:
        raise run.KitError(f"{path}: a comment without a block: {pending}")
    return found


def fits(shown, printed):
    """Whether lines that were printed are those shown."""
    parts = [r"(?:[^\n]*\n)*" if li.strip() == "…" else ".*".join(re.escape(x) for x in li.split("…")) + "\n" for li in shown]
    text = "".join(li.rstrip() + "\n" for li in printed.rstrip("\n").split("\n"))
    return re.fullmatch("".join(parts), text) is not None


def check(machine, block):
    """Runs a block on a machine."""
    if block.directive == "file":
        machine.write(block.words, block.text + "\n")
        return
    for (command, shown), code in zip(block.steps(), block.exits()):
        r = machine.shell(command)
        assert r.returncode == code, f"{block.where}: exit status {code} was expected: {r}"
        while shown and not shown[-1]:
            shown.pop()
        assert shown is None or fits(shown, r.stdout), f"{block.where}: other output than shown:\n" + "\n".join(shown) + f"\n--\n{r}"


def words(line):
    """The commands of a line of shell, as words; what cannot be split is left out."""
    line = re.sub(r"\s#.*$", "", line)
    try:
        lexer = shlex.shlex(re.sub(r'["\']?\$\(|<\(', " ; ", line).replace(')"', " ; ").replace(")", " ; "), posix=True, punctuation_chars=";|&<>")
        lexer.whitespace_split, lexer.commenters = True, ""
        parts = list(lexer)
    except ValueError:
        return []
    found, now = [], []
    for p in [*parts, ";"]:
        if re.fullmatch(r"[;|&]+", p):
            found.append(now)
            now = []
        else:
            now.append(p)
    return [w for w in found if w]


def ibqos_calls(block):
    """Words of each call of ibqos in a block, without what stands for something else (…) and redirections."""
    found = []
    for command, _ in block.steps():
        for w in words(command):
            w = w[1:] if w[0] in ("sudo", "exec") else w
            if not w or w[0] != "ibqos":
                continue
            cut = next((i for i, x in enumerate(w) if re.fullmatch(r"\d?[<>]+", x)), len(w))
            found.append([x for x in w[1:cut] if x not in ("…", "...")])
    return found
