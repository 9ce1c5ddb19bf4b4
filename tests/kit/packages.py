# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Building packages of the tree, installing them in an empty Debian root (scripts/empty-root.sh), and lists of what is where."""
import glob
import os
import re
import subprocess

from kit import run

EMPTY_ROOT = os.path.join(run.TOP, "scripts", "empty-root.sh")
PACKAGER = {"DEBFULLNAME": "A Packager", "DEBEMAIL": "packager@example.org"}
# of the shell that started the tests, nothing of which may matter to a package
NOT_OURS = re.compile(r"OUT|MODE|CFLAGS|CPPFLAGS|LDFLAGS|CC|DESTDIR|PREFIX|[A-Z]+DIR|MAKE.*|MFLAGS|SOURCE_DATE_EPOCH|DEB_.*|RPMBUILD_OPTIONS|IBQOS_.*")


def call(argv, env=None, cwd=run.TOP, timeout=900, ok=True, **kwargs):
    """Runs a tool without a terminal; fails with all that it said. env: variables beside those of a plain shell."""
    plain = {k: v for k, v in os.environ.items() if not NOT_OURS.fullmatch(k)}
    r = subprocess.run([str(a) for a in argv], env={**plain, **(env or {})}, cwd=cwd, timeout=timeout, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", check=False, **kwargs)
    if ok and r.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, argv))}: exit {r.returncode}\n{r.stdout[-6000:]}\n{r.stderr[-6000:]}")
    return r


def debs(folder):
    """{package: path} of the packages built under OUT."""
    return {os.path.basename(p).split("_")[0]: p for p in glob.glob(os.path.join(folder, "packages", "*.deb"))}


def build_debs(out, tree=run.TOP, env=None, wrap=()):
    """make deb as documented, without the unit tests, which have run elsewhere. -> {package: path}"""
    call([*wrap, "make", "-s", "deb", f"OUT={out}"], cwd=tree,
         env={"DEB_BUILD_OPTIONS": f"nocheck parallel={os.cpu_count()}", **PACKAGER, **(env or {})})
    return debs(out)


class Root:
    """An empty Debian root, which ends with remove(); see scripts/empty-root.sh for what is fenced off in there."""

    def __init__(self, path):
        self.path = str(path)

    def make(self):
        call([EMPTY_ROOT, "make", self.path])
        return self

    def run(self, *argv, ok=True, offline=True, options=(), timeout=600):
        """A command in there, without network unless offline=False."""
        return call([EMPTY_ROOT, "run", self.path, *(["--offline"] if offline else []), *options, "--", *argv], ok=ok, timeout=timeout)

    def sh(self, text, **kwargs):
        return self.run("sh", "-ec", text, **kwargs)

    def files(self, but=()):
        """What is there: files, links and folders; not what `but` says, nor caches, logs and records of the package tools."""
        skip = ("/dev", "/proc", "/sys", "/run", "/tmp", "/root", "/var/log", "/var/cache", "/var/lib/dpkg", "/var/lib/apt", "/etc/ld.so.cache",
                *but)
        found = set()
        for folder, folders, names in os.walk(self.path):
            inside = folder[len(self.path):]
            folders[:] = [d for d in folders if f"{inside}/{d}" not in skip]
            found.update(f"{inside}/{n}" for n in (*folders, *names) if f"{inside}/{n}" not in skip)
        return found

    def remove(self):
        call([EMPTY_ROOT, "remove", self.path])


def summed(paths):
    """Lists of files for golden texts: of pages and guides, which come and go, one line stands for all."""
    lines = set()
    for p in paths:
        p = re.sub(r"/man8/ibqos-[a-z-]+\.8", "/man8/ibqos-*.8", p)
        p = re.sub(r"/docs/[^/]+$", "/docs/*", p)
        p = re.sub(r"/policies/[^/]+\.yaml$", "/policies/*.yaml", p)
        lines.add(p)
    return "".join(line + "\n" for line in sorted(lines))


def golden(name, text):
    """Compares with tests/packaging/golden/NAME; IBQOS_GOLDEN_UPDATE=1 writes it."""
    path = os.path.join(run.TOP, "tests", "packaging", "golden", name)
    if os.environ.get("IBQOS_GOLDEN_UPDATE"):
        run.replace(path, text.splitlines())
    with open(path, encoding="utf-8") as f:
        assert text == f.read()
