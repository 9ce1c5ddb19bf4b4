# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The Debian packages, installed by apt in an empty Debian root, used there, upgraded, removed, purged."""
import os
import re

import pytest

from kit import packages, run

pytestmark = pytest.mark.timeout(1200)
NAMES = ("ibqos", "ibqos-doc", "ibqos-opensm-plugin")
# what the tests look with; systemd never runs there
TOOLS = ["man-db", "systemd", "bash-completion", "zsh"]
APT = ["apt-get", "-q", "-y", "-o", "Acquire::Retries=3", "--no-install-recommends"]


@pytest.fixture(scope="module")
def root(debs, tmp_path_factory):
    """An empty root that has the packages' files in /debs, and installed what they depend on, but not them."""
    r = packages.Root(tmp_path_factory.mktemp("root") / "root").make()
    try:
        os.mkdir(f"{r.path}/debs")
        for name in NAMES:
            packages.call(["cp", debs[name], f"{r.path}/debs/{name}.deb"])
        said = r.run(*APT, "-s", "install", *(f"/debs/{name}.deb" for name in NAMES)).stdout
        r.needs = [n for n in re.findall(r"^Inst (\S+)", said, re.M) if n not in NAMES]
        # the simulation asked nobody; only this needs the network
        r.run(*APT, "install", *r.needs, *TOOLS, offline=False)
        r.before = r.files()
        yield r
    finally:
        r.remove()


def install(root):
    root.run(*APT, "install", *(f"/debs/{name}.deb" for name in NAMES))


@pytest.fixture(scope="module")
def installed(root):
    install(root)
    return root


def test_lintian_is_clean(debs):
    changes, = [os.path.join(os.path.dirname(debs["ibqos"]), n) for n in os.listdir(os.path.dirname(debs["ibqos"])) if n.endswith(".changes")]
    r = packages.call(["lintian", "--allow-root", "--no-cfg", "--display-info", "--fail-on", "error,warning,info", changes], ok=False)
    assert r.returncode == 0 and not re.search(r"^[EWI]: ", r.stdout, re.M), r.stdout + r.stderr


def test_source_package_is_clean(tmp_path):
    """make deb-source: lintian finds nothing, and it unpacks to a tree with its packaging."""
    dsc = packages.call(["make", "-s", "deb-source", f"OUT={tmp_path}"], env=packages.PACKAGER).stdout.splitlines()[-1]
    r = packages.call(["lintian", "--allow-root", "--no-cfg", "--display-info", "--fail-on", "error,warning,info", dsc], ok=False)
    assert r.returncode == 0 and not re.search(r"^[EWI]: ", r.stdout, re.M), r.stdout + r.stderr
    packages.call(["dpkg-source", "--no-check", "-x", dsc, tmp_path / "x"])
    assert (tmp_path / "x/debian/rules").exists() and (tmp_path / "x/src/main.c").exists()


def test_what_is_in_them(debs):
    found = []
    for name in NAMES:
        for line in packages.call(["dpkg-deb", "-c", debs[name]]).stdout.splitlines():
            mode, owner, _, _, _, path = line.split(None, 5)
            assert owner == "root/root"
            if not path.endswith("/") or path in ("./etc/ibqos/", "./var/lib/ibqos/"):
                found.append(f"{name} {mode} {path[1:].replace('x86_64-linux-gnu', 'TRIPLET')}")
    packages.golden("deb.txt", packages.summed(f.replace(".8.gz", ".8") for f in found))
    field = {n: packages.call(["dpkg-deb", "-f", debs["ibqos"], n]).stdout for n in ("Depends", "Suggests", "Recommends")}
    assert re.search(r"libibumad3 \(>= [\d.]+\)", field["Depends"]) and "opensm" not in field["Depends"] + field["Recommends"]
    assert "PIE" in packages.call(["sh", "-c", f'dpkg-deb --fsys-tarfile "{debs["ibqos"]}" | tar -xO ./usr/sbin/ibqos | file -']).stdout.replace("pie", "PIE")


def test_apt_brings_what_is_needed_and_no_subnet_manager(root, installed):
    assert {"libibnetdisc5", "libibumad3", "libyaml-0-2"} <= set(root.needs)
    assert root.run("dpkg-query", "-W", "-f", "${db:Status-Abbrev}", "ibqos").stdout == "ii "
    assert not os.path.exists(f"{root.path}/usr/sbin/opensm")


def test_program_works(installed):
    assert re.fullmatch(r"ibqos \d+\.\d+\.\d+\n", installed.run("ibqos", "--version").stdout.splitlines(True)[0])
    r = installed.sh("set -- /usr/share/ibqos/policies/*.yaml; for p; do ibqos lint $p >/tmp/lint || echo $p: $?; done; echo $#")
    assert int(r.stdout.splitlines()[-1]) >= 5 and len(r.stdout.splitlines()) == 1, r.stdout
    # no adapter: it says that it could not look, and not that all is well
    assert installed.run("ibqos", "discover", ok=False).returncode == 3


def test_manual_pages_render(installed):
    pages = sorted(os.path.basename(p)[:-3] for p in installed.run("dpkg", "-L", "ibqos").stdout.split() if "/man/" in p and p.endswith(".gz"))
    assert {"ibqos.8", "ibqos-policy.5", "ibqos-findings.7"} <= set(pages)
    r = installed.run(
        "sh", "-ec", 'export MANWIDTH=110; for p; do man --warnings=w "${p##*.}" "${p%.*}" >/tmp/page; grep -c . /tmp/page; done', "sh", *pages)
    assert r.stderr == "" and [n for n in r.stdout.split() if int(n) < 10] == [] and len(r.stdout.split()) == len(pages)
    assert re.search(r"IBQOS\(8\)|ibqos\(8\)", installed.run("man", "ibqos").stdout)


def test_units_are_sound_and_off(installed):
    units = [p for n in ("ibqos", "ibqos-opensm-plugin") for p in installed.run("dpkg", "-L", n).stdout.split() if p.startswith("/lib/systemd/system/")]
    assert len([u for u in units if re.search(r"\.\w+$", u)]) == 6
    for unit in units:
        if unit.endswith((".service", ".timer", ".socket")):
            r = installed.run("systemd-analyze", "verify", "--man=yes", unit)
            assert r.stdout + r.stderr == "", r.stderr
    for unit in ("ibqos-verify.timer", "ibqos-audit.timer", "ibqos-poke.socket"):
        assert installed.run("systemctl", "is-enabled", unit, ok=False).stdout.strip() == "disabled"
    assert not [f for f in installed.files() - installed.before if f.startswith("/etc/systemd/")]


def test_completion(installed):
    script = """
        . /usr/share/bash-completion/bash_completion
        _completion_loader ibqos
        complete -p ibqos
        function=$(complete -p ibqos | sed 's/.*-F \\([^ ]*\\).*/\\1/')
        try() {
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMPREPLY=()
            COMP_POINT=${#COMP_LINE}
            "$function" ibqos "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
            echo "${COMPREPLY[*]}"
        }
        try ibqos ver
        try ibqos audit --coun
    """
    r = installed.run("bash", "-c", script)
    lines = r.stdout.splitlines()
    assert lines[0].endswith(" ibqos") and "verify" in lines[1].split() and "--counters" in lines[2].split(), r.stdout + r.stderr
    assert installed.run("zsh", "-fc", "autoload -U compinit; compinit -D -u; print $_comps[ibqos]").stdout == "_ibqos\n"


def test_upgrade_and_removal(root, installed, tmp_path):
    """The next version keeps what an admin edited and enabled; removal keeps what may be needed again, purge only the way back."""
    edited = f"{root.path}/etc/default/ibqos"
    with open(edited, "a", encoding="ascii") as f:
        f.write("IBQOS_POLICY=/etc/ibqos/mine.yaml\n")
    root.run("systemctl", "enable", "ibqos-verify.timer")
    for name in NAMES:
        packages.call(["dpkg-deb", "-R", f"{root.path}/debs/{name}.deb", tmp_path / name])
        control = tmp_path / name / "DEBIAN/control"
        control.write_text(re.sub(r"(?m)^(Version: .*)|(ibqos \(= )([^)]*)", lambda m: f"{m[1]}+1" if m[1] else f"{m[2]}{m[3]}+1", control.read_text()))
        packages.call(["dpkg-deb", "--root-owner-group", "-b", tmp_path / name, f"{root.path}/debs/{name}.next.deb"])
    root.run(*APT, "install", *(f"/debs/{name}.next.deb" for name in NAMES))
    assert root.run("dpkg-query", "-W", "-f", "${Version}", "ibqos").stdout.endswith("+1")
    with open(edited, encoding="ascii") as f:
        assert f.read().endswith("IBQOS_POLICY=/etc/ibqos/mine.yaml\n")
    assert root.run("systemctl", "is-enabled", "ibqos-verify.timer").stdout == "enabled\n"
    assert not [f for f in root.files() if ".dpkg-" in f]

    state = f"{root.path}/var/lib/ibqos"
    os.makedirs(f"{state}/history/1", mode=0o700)
    for path in ("history/1/old-opensm.conf", "verify.json", "audit.json", "audit.state", "rotation"):
        with open(f"{state}/{path}", "w", encoding="ascii") as f:
            f.write("x\n")
    root.run(*APT, "remove", *NAMES)
    assert os.path.exists(edited) and os.path.exists(f"{state}/audit.state") and not os.path.exists(f"{root.path}/usr/sbin/ibqos")
    said = root.run(*APT, "purge", *NAMES).stdout
    assert "left, OpenSM's files from before changes" in said
    assert root.files() - root.before == {"/var/lib/ibqos", "/var/lib/ibqos/history", "/var/lib/ibqos/history/1", "/var/lib/ibqos/history/1/old-opensm.conf",
                                          *(f"/debs/{name}.next.deb" for name in NAMES)}
    packages.call(["rm", "-r", state])

    install(root)
    assert root.files() - root.before > {"/usr/sbin/ibqos", "/var/lib/ibqos"}
    said = root.run(*APT, "purge", *NAMES).stdout
    assert "left, " not in said
    assert root.files() - root.before == {f"/debs/{name}.next.deb" for name in NAMES}


def test_autopkgtest_runs_the_demo(debs, tmp_path):
    """debian/tests/demo as autopkgtest(1) would run it, by the program in the package, on this machine, where it is not installed."""
    packages.call(["dpkg-deb", "-x", debs["ibqos"], tmp_path / "x"])
    r = packages.call(["sh", "contrib/debian/tests/demo"], env={"AUTOPKGTEST_TMP": tmp_path, "IBQOS_BIN": tmp_path / "x/usr/sbin/ibqos"})
    assert "as expected" in r.stdout and "NOT AS EXPECTED" not in r.stdout
    with open(os.path.join(run.TOP, "contrib/debian/tests/control"), encoding="utf-8") as f:
        assert f.read().startswith("Tests: demo\n")
