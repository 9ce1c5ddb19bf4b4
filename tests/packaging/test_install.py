# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""make install, as a packager and as an admin use it, of the build that the other tests run."""
import os
import re

import pytest

from kit import packages, run

pytestmark = pytest.mark.timeout(600)
OUT = os.path.dirname(os.path.abspath(run.binary()))


@pytest.fixture(scope="module")
def built():
    """What is installed is up to date, so that an installation writes to DESTDIR alone."""
    packages.call(["make", "-s", f"-j{os.cpu_count()}", f"OUT={OUT}", "all", "man", "completion", "plugin"])


def make(*targets, wrap=(), **variables):
    return packages.call([*wrap, "make", "-s", f"OUT={OUT}", *targets, *(f"{k}={v}" for k, v in variables.items())])


def listed(folder):
    """{path: mode} of files."""
    return {os.path.join(d, n)[len(str(folder)):]: os.lstat(os.path.join(d, n)).st_mode & 0o7777
            for d, _, names in os.walk(folder) for n in names}


def text(folder, path):
    with open(str(folder) + path, encoding="utf-8") as f:
        return f.read()


def test_destdir(built, tmp_path):
    """All files, with their modes; as a user who may not change owners, without any network."""
    make("install", "install-plugin", DESTDIR=tmp_path / "to", wrap=["unshare", "--net", "setpriv", "--bounding-set=-all", "--inh-caps=-all"])
    found = listed(tmp_path / "to")
    packages.golden("install.txt", packages.summed(f"{mode:o} {path}" for path, mode in found.items()))
    pages = {n for n in os.listdir(os.path.join(run.TOP, "docs", "man")) if n.endswith(".rst")}
    assert {os.path.basename(p) for p in found if "/share/man/" in p} == {n[:-4] for n in pages} | {"ibqos-findings.7"}
    guides = {n for n in os.listdir(os.path.join(run.TOP, "docs")) if n.endswith(".md")}
    assert guides <= {os.path.basename(p) for p in found if "/doc/ibqos/docs/" in p}
    r = packages.call(["/bin/sh", "-c", f"{tmp_path}/to/usr/local/sbin/ibqos --version && cmp {tmp_path}/to/usr/local/sbin/ibqos {OUT}/ibqos"])
    assert r.stdout.startswith("ibqos ")


def test_umask_of_who_installs_does_not_matter(built, tmp_path):
    make("install", DESTDIR=tmp_path, wrap=["sh", "-c", 'umask 077; exec "$@"', "sh"])
    assert {mode for mode in listed(tmp_path).values()} == {0o644, 0o755}
    for d, folders, _ in os.walk(tmp_path):
        for f in folders:
            assert os.stat(os.path.join(d, f)).st_mode & 0o777 == 0o755, os.path.join(d, f)


def test_folders_can_be_chosen(built, tmp_path):
    """Each variable moves what it says, and what names paths names those."""
    to = dict(PREFIX="/opt/p", SBINDIR="/opt/s", LIBDIR="/opt/l", LIBEXECDIR="/opt/e", DATADIR="/opt/d", MANDIR="/opt/m", DOCDIR="/opt/o",
              UNITDIR="/opt/u", SYSCONFDIR="/opt/c", DEFAULTDIR="/opt/f", LOCALSTATEDIR="/opt/v", BASHCOMPDIR="/opt/b", ZSHCOMPDIR="/opt/z")
    make("install", "install-plugin", DESTDIR=tmp_path, **to)
    tops = {p.split("/")[2] for p in listed(tmp_path)}
    assert tops == {"s", "l", "e", "d", "m", "o", "u", "f", "b", "z"}
    assert os.path.isdir(f"{tmp_path}/opt/c/ibqos") and os.path.isdir(f"{tmp_path}/opt/v/lib/ibqos")
    for unit in ("ibqos-verify.service", "ibqos-audit.service"):
        assert " /opt/s/ibqos -q " in text(tmp_path, f"/opt/u/{unit}")
        assert "EnvironmentFile=-/opt/f/ibqos\n" in text(tmp_path, f"/opt/u/{unit}")
    assert "ExecStart=/opt/e/ibqos-poked " in text(tmp_path, "/opt/u/ibqos-poke.service")
    assert text(tmp_path, "/opt/o/examples/cron.d/ibqos").count(" /opt/s/ibqos -q ") == 4  # two of them for a site
    assert "ExecStart=/usr/bin/flock --wait 1500 --conflict-exit-code 3 /run/ibqos/lock /opt/s/ibqos -q audit --counters --site " in text(
        tmp_path, "/opt/o/examples/systemd/site-audit.conf")
    assert text(tmp_path, "/opt/o/examples/nagios/nrpe.cfg").count("=/usr/bin/sudo /opt/s/ibqos ") == 4
    for path in listed(tmp_path):
        if not re.match(r"/opt/(m|[sle]|o/docs)/|/opt/o/\w+\.md$", path):  # programs, and texts that speak of others
            assert not re.search(r"/usr/local/(sbin|libexec)/|/etc/default/ibqos", text(tmp_path, path)), path


def test_uninstall_leaves_nothing(built, tmp_path):
    where = dict(DESTDIR=tmp_path, PREFIX="/usr")
    make("install", "install-plugin", **where)
    folders = {d for d, _, _ in os.walk(tmp_path)}
    assert make("uninstall", "uninstall-plugin", **where).stdout == ""
    assert listed(tmp_path) == {}
    gone = {d for d in folders if not os.path.exists(d)}
    assert all("ibqos" in d for d in gone)  # no folder of others
    assert not [d for d in folders - gone if "ibqos" in os.path.relpath(d, tmp_path)]


def test_what_an_admin_edited_stays(built, tmp_path):
    where = dict(DESTDIR=tmp_path, PREFIX="/usr")
    make("install", **where)
    for path in ("/etc/default/ibqos", "/etc/ibqos/policy.yaml", "/var/lib/ibqos/history/1/old-opensm.conf"):
        os.makedirs(os.path.dirname(f"{tmp_path}{path}"), exist_ok=True)
        with open(f"{tmp_path}{path}", "a", encoding="ascii") as f:
            f.write("# mine\n")
    make("install", **where)
    assert text(tmp_path, "/etc/default/ibqos").endswith("# mine\n")
    r = make("uninstall", **where)
    assert set(listed(tmp_path)) == {"/etc/default/ibqos", "/etc/ibqos/policy.yaml", "/var/lib/ibqos/history/1/old-opensm.conf"}
    assert [line.rsplit(": ", 1)[1] for line in r.stdout.splitlines()] == [f"{tmp_path}{p}" for p in ("/etc/default/ibqos", "/etc/ibqos", "/var/lib/ibqos")]


ODD = ["/a b", "/a&b", "/a|b", "/a;b", "/a'b", '/a"b', "/a\\b", "/a`id`", "/a(b", "/a)b", "/a*", "/a%n", "a/b", "./a", "~/a"]


@pytest.mark.parametrize("variable, path, target", [*(("PREFIX", p, "install") for p in ODD), *((v, "/a b", t) for v in (
    "SBINDIR", "SYSCONFDIR", "DESTDIR") for t in ("install", "uninstall")), ("PREFIX", "a/b", "uninstall"), ("DESTDIR", "a", "install-plugin")])
def test_odd_paths_are_refused_before_anything(tmp_path, variable, path, target):
    """One sentence, and nothing is built, written or removed."""
    where = {"DESTDIR": tmp_path / "to", variable: f"{tmp_path}/to{path}" if path.startswith("/") and variable == "DESTDIR" else path}
    r = packages.call(["make", "-s", f"OUT={OUT}", target, *(f"{k}={v}" for k, v in where.items())], ok=False)
    assert r.returncode != 0 and r.stdout == "" and len(r.stderr.splitlines()) == 1
    assert f"cannot {target}: not an absolute path of letters, digits and /._+:~@=,- alone: {variable}" in r.stderr
    assert os.listdir(tmp_path) == [] and not os.path.exists(os.path.join(run.TOP, "a"))


def test_unusual_paths_that_are_taken(built, tmp_path):
    make("install", "install-plugin", DESTDIR=tmp_path, PREFIX="/o-p.t/x+1:2~@=,b")
    assert " /o-p.t/x+1:2~@=,b/sbin/ibqos -q " in text(tmp_path, "/o-p.t/x+1:2~@=,b/lib/systemd/system/ibqos-audit.service")
    make("uninstall", "uninstall-plugin", DESTDIR=tmp_path, PREFIX="/o-p.t/x+1:2~@=,b")
    assert listed(tmp_path) == {}


@pytest.mark.parametrize("by", ["environment", "command line"])
def test_flags_of_a_packager_come_last(tmp_path, by):
    flags = {"CPPFLAGS": "-DTHEIRS", "CFLAGS": "-O1 -fstack-clash-protection", "LDFLAGS": "-Wl,-z,now"}
    argv = ["make", "-n", "V=1", f"OUT={tmp_path}/out", "all", "plugin"]
    r = packages.call(argv, env=flags) if by == "environment" else packages.call(argv + [f"{k}={v}" for k, v in flags.items()])
    compiled = [line for line in r.stdout.splitlines() if " -c -o " in line]
    assert len(compiled) > 50
    for line in compiled:
        assert line.index("-Iinclude") < line.index("-DTHEIRS")
        assert line.index(" -O2 ") < line.index(" -O1 ") and "-std=c17" in line and "-fstack-clash-protection" in line
    linked = [line for line in r.stdout.splitlines() if re.search(r" -o \S+/(ibqos|libibqospoke\.so|ibqos-poked) ", line)]
    assert len(linked) == 3 and all("-Wl,-z,now" in line and "-fstack-clash-protection" in line for line in linked)
    # theirs in place of ours, or none where it could not work
    assert "-D_FORTIFY_SOURCE=2" in compiled[0]
    for theirs in ({"CPPFLAGS": "-D_FORTIFY_SOURCE=3"}, {"CFLAGS": "-O0"}):
        assert "-D_FORTIFY_SOURCE=2" not in packages.call(argv, env=theirs).stdout
