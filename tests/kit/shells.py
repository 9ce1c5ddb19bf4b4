# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What real shells propose for a command line: bash with bash-completion, and zsh."""
import os
import re

from kit import run, terminal

BASH = r"""
. /usr/share/bash-completion/bash_completion
__load_completion ibqos || exit 99
COMP_TYPE=9 COMP_KEY=9
while IFS= read -r COMP_LINE; do
	COMP_POINT=${#COMP_LINE} COMPREPLY=()
	IFS=$'\1' read -r -d $'\2' -a COMP_WORDS
	[[ ${#COMP_WORDS[@]} -gt 0 ]] || COMP_WORDS=('')
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	read -r # the rest of the line
	_ibqos ibqos "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" 2>&1
	printf '%s\n' "${COMPREPLY[@]}"
	echo .
done
"""


def readline_words(line):
    """As readline parts a line without quotes: '=' and ':' are words of their own, and the last word may be empty."""
    words = re.findall(r"[=:]+|[^\s=:]+", line)
    return words + [""] if line.endswith((" ", "=", ":")) else words


def bash(folder, lines, cwd):
    """{line: words} by the completion that stands below `folder`, as bash-completion finds it."""
    asked = "".join(f"{line}\n" + "\1".join(readline_words(line)) + "\1\2\n" for line in lines)
    env = dict(os.environ, XDG_DATA_DIRS=folder, XDG_DATA_HOME=f"{folder}/none", HOME=str(cwd), LC_ALL="C")
    env.pop("BASH_COMPLETION_USER_DIR", None)
    r = run.run(["bash", "--norc", "-c", BASH], stdin=asked.encode(), env=env, cwd=cwd).ok()
    answers, block = [], []
    for text in r.stdout.splitlines():
        if text == ".":
            answers.append([w for w in block if w])
            block = []
        else:
            block.append(text)
    assert len(answers) == len(lines), str(r)
    return dict(zip(lines, answers))


# What is proposed is written down; a line is asked about by ^T behind it.
ZSH = r"""
PS1= PS2= LISTMAX=100000; unsetopt zle_bracketed_paste prompt_cr prompt_sp beep
fpath=(%(folder)s $fpath)
autoload -Uz compinit && compinit -u -D
zstyle ':completion:*' completer _complete
compadd() {
	if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
		builtin compadd "$@"
		return
	fi
	local -a proposed
	builtin compadd -O proposed "$@"
	[[ $#proposed -eq 0 ]] || print -rl -- $proposed >>%(answers)s
	builtin compadd "$@"
}
zle -C propose list-choices _main_complete
ask() { zle propose; BUFFER=; print . >>%(answers)s }
zle -N ask
bindkey '^T' ask
print . >>%(answers)s
"""


def zsh(folder, lines, cwd):
    """The same by the function _ibqos in `folder`."""
    answers = os.path.join(cwd, ".answers")
    start = os.path.join(cwd, ".start")
    with open(start, "w", encoding="utf-8") as f:
        f.write(ZSH % {"folder": folder, "answers": answers})
    open(answers, "w", encoding="utf-8").close()

    def told():
        with open(answers, encoding="utf-8", errors="replace") as f:
            return f.read().splitlines()

    env = dict(os.environ, TERM="dumb", HOME=str(cwd), LC_ALL="C.UTF-8")
    found = {}
    with terminal.Terminal(["zsh", "-f", "-i"], rows=200, columns=400, env=env, cwd=cwd) as t:
        t.write(f" . {start}\n".encode())
        t.wait_for(lambda: told().count(".") == 1, "zsh")
        for n, line in enumerate(lines):
            before = len(told())
            t.write(line.encode() + b"\x14")
            t.wait_for(lambda: told().count(".") == n + 2, line)
            found[line] = told()[before:-1]
    os.unlink(answers)
    os.unlink(start)
    return found
