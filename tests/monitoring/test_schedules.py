# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What contrib/ has for schedules and other programs, run as it stands against the simulated fabric; only paths are others."""
import json
import os
import re
import shlex
import subprocess

import pytest
import yaml

from kit import prometheus, run
from kit.looks import LACKS
from kit.monitoring import CONTRIB

UNITS = ["ibqos-verify", "ibqos-audit"]
DIFFERS = ["node=leaf-01 port=1 attr=SL2VL : set SL1=0"]


def text(*path):
    with open(os.path.join(CONTRIB, *path), encoding="utf-8") as f:
        return f.read()


@pytest.fixture
def here(fab, tmp_path):
    """Replaces the paths of a machine by those of this test."""
    fab.rules(*LACKS)
    for folder in ("var/lib/prometheus/node-exporter", "var/lib/ibqos", "run/ibqos", "run/lock"):
        (tmp_path / folder).mkdir(parents=True)

    def call(line):
        line = line.replace("/etc/ibqos/policy.yaml", fab.policy_path).replace("/etc/ibqos/site.yaml", str(tmp_path / "site.yaml"))
        for path in ("/var/lib/prometheus/node-exporter", "/var/lib/ibqos", "/run/ibqos", "/run/lock"):
            line = line.replace(path, str(tmp_path) + path)
        return re.sub(r"(/usr/bin/sudo )?/usr/local/sbin/ibqos(?=[ \"])", run.binary(), line)
    (tmp_path / "site.yaml").write_text(json.dumps({"version": 1, "fabrics": [
        {"name": "rail0", "policy": fab.policy_path, "state": str(tmp_path / "{fabric}.state"), "opensm": {"host": "mgmt"}}]}), encoding="utf-8")
    call.textfiles = tmp_path / "var/lib/prometheus/node-exporter"
    yield call
    fab.rules()


# --- systemd ---

def unit(name, *drop_ins):
    """{key: [values]} of a unit file; an empty value takes back what stands before it."""
    found = {}
    for line in "\n".join(text("systemd", n) for n in (name, *drop_ins)).splitlines():
        if "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            found[key] = found.get(key, []) + [value] if value else []
    return found


def command(name, here, options="", drop_ins=()):
    """ExecStart's words, as systemd makes them."""
    found = unit(name + ".service", *drop_ins)
    line, = found["ExecStart"]
    env = dict(re.findall(r"(\w+)=(\S+)", " ".join(found["Environment"])), STATE_DIRECTORY="/var/lib/ibqos")
    line = re.sub(r"\$\{(\w+)\}", lambda m: env[m[1]], line)
    return shlex.split(here(re.sub(r"\$\w+", options, line)))


@pytest.mark.parametrize("name", UNITS)
def test_units_are_sound(name):
    for end in ("service", "timer"):
        r = subprocess.run(["systemd-analyze", "verify", "--man=no", f"{CONTRIB}/systemd/{name}.{end}"], capture_output=True, text=True,
                           timeout=30)
        assert r.returncode == 0 and r.stderr == "", r
    r = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=25", "--no-pager", f"{CONTRIB}/systemd/{name}.service"],
                       capture_output=True, text=True, timeout=30)
    assert r.returncode == 0, r.stdout[-400:]
    r = subprocess.run(["systemd-analyze", "calendar", unit(name + ".timer")["OnCalendar"][0]], capture_output=True, timeout=30)
    assert r.returncode == 0 and unit(name + ".timer")["RandomizedDelaySec"]
    assert unit(name + ".service")["SuccessExitStatus"] == ["1 2"]


@pytest.mark.parametrize("name", UNITS)
def test_services_run(fab, here, name):
    r = fab.run(*command(name, here)).ok(0, 2)
    assert r.stdout == ""
    m = prometheus.read(here.textfiles / f"{name}.prom")
    assert m.one("ibqos_up") == 1 and m.one("ibqos_exit_status") == r.returncode
    assert os.stat(here.textfiles / f"{name}.prom").st_mode & 0o777 == 0o644  # node_exporter is another user


@pytest.mark.parametrize("name", UNITS)
def test_services_of_a_site(fab, here, name, tmp_path):
    """The drop-in is sound, takes back what is of one fabric, and leaves the network to ssh."""
    drop_in = name.replace("ibqos-", "site-") + ".conf"
    folder = tmp_path / "units" / f"{name}.service.d"
    folder.mkdir(parents=True)
    (tmp_path / "units" / f"{name}.service").write_text(text("systemd", f"{name}.service"), encoding="utf-8")
    (folder / "site.conf").write_text(text("systemd", drop_in), encoding="utf-8")
    r = subprocess.run(["systemd-analyze", "verify", "--man=no", str(tmp_path / "units" / f"{name}.service")], capture_output=True, text=True,
                       timeout=30)
    assert r.returncode == 0 and r.stderr == "", r
    found = unit(f"{name}.service", drop_in)
    assert found["ConditionPathExists"] == ["/etc/ibqos/site.yaml"] and found["IPAddressDeny"] == []
    assert found["RestrictAddressFamilies"] == ["AF_UNIX", "AF_INET AF_INET6"] and len(found["ExecStart"]) == 1
    r = fab.run(*command(name, here, drop_ins=(drop_in,))).ok(0, 2)
    assert r.stdout == ""
    m = prometheus.read(here.textfiles / f"{name}.prom")
    assert m.by("ibqos_up", "fabric")["rail0"] == 1
    assert (tmp_path / "rail0.state").exists() == (name == "ibqos-audit")


def test_service_finds_what_differs(fab, here):
    fab.rules(*DIFFERS)
    fab.run(*command("ibqos-verify", here, "--all")).ok(2)
    assert prometheus.read(here.textfiles / "ibqos-verify.prom").by("ibqos_verdict", "verdict")["critical"] == 1


def test_service_has_capabilities_enough(fab, here, tmp_path):
    """With those alone that the unit leaves it: the same findings, and it writes into a folder of another user."""
    caps = [c.lower().removeprefix("cap_") for c in unit("ibqos-verify.service")["CapabilityBoundingSet"][0].split()]
    os.chown(here.textfiles, 65534, 65534)
    os.chmod(here.textfiles, 0o755)
    argv = command("ibqos-verify", here)
    bounded = ["setpriv", "--no-new-privs", "--bounding-set=-all" + "".join(f",+{c}" for c in caps), "--inh-caps=-all"]
    a, b = fab.run(*argv), None
    plain = prometheus.read(here.textfiles / "ibqos-verify.prom")
    b = fab.run(*bounded, *argv)
    assert a.returncode == b.returncode and b.stderr == a.stderr
    poor = prometheus.read(here.textfiles / "ibqos-verify.prom")
    assert poor.values("ibqos_findings_by_code") == plain.values("ibqos_findings_by_code")
    assert poor.one("ibqos_last_run_timestamp_seconds") >= plain.one("ibqos_last_run_timestamp_seconds")


def test_one_run_at_a_time(fab, here, tmp_path):
    argv = command("ibqos-verify", here)
    lock = argv[argv.index(next(w for w in argv if w.endswith("/lock")))]
    argv[argv.index("1500")] = "0.1"
    with open(lock, "w", encoding="ascii") as f:
        holder = run.start(["flock", str(lock), "sleep", "60"])
        try:
            run.deadline(10, "the lock", lambda: subprocess.run(["flock", "-n", str(lock), "true"], timeout=10).returncode != 0)
            assert fab.run(*argv).returncode == 3
        finally:
            run.end(holder)
            f.close()
    assert not (here.textfiles / "ibqos-verify.prom").exists()


# --- cron ---

def cron_lines(begin):
    return [line.lstrip("#") for line in text("cron.d", "ibqos").splitlines() if re.match(begin + r"[\d*]", line)]


@pytest.mark.parametrize("begin", ["", "#"])  # of one fabric; of a site
def test_cron(fab, here, begin):
    assert len(cron_lines(begin)) == 2 and all(("--site" in line) == (begin == "#") for line in cron_lines(begin))
    for line in cron_lines(begin):
        fields = line.split(None, 6)
        assert all(re.fullmatch(r"[\d*/,-]+", f) for f in fields[:5]) and fields[5] == "root"
        said = line.split(None, 6)[6]
        assert not re.search(r"(?<!\\)%", said)  # a bare % ends the command
        said = said.replace("\\%", "%").replace("sleep $((RANDOM % 1200))", "echo $((RANDOM % 1200)) >/dev/null")
        r = fab.run("bash", "-c", here(said)).ok(0, 2)
        assert r.stdout == "" and r.stderr == ""  # or cron mails each hour
    assert sorted(os.listdir(here.textfiles)) == ["ibqos-audit.prom", "ibqos-verify.prom"]
    assert text("cron.d", "ibqos").endswith("\n")


# --- Nagios, Icinga ---

def test_nrpe(fab, here):
    lines = dict(re.findall(r"^command\[(\w+)\]=(.*)$", text("nagios", "nrpe.cfg"), re.M))
    assert set(lines) == {"check_ibqos_verify", "check_ibqos_audit", "check_ibqos_site_verify", "check_ibqos_site_audit"}
    for line in lines.values():
        r = fab.run("sh", "-c", here(line)).ok(0, 2)
        assert re.fullmatch(r"IBQOS (OK|CRITICAL) - [^|\n]+\|[^|\n]+\n", r.stdout), r


def test_icinga(fab, here):
    """The words that Icinga makes of the definition."""
    conf = text("nagios", "icinga2.conf")
    assert conf.count("{") == conf.count("}") and conf.count('"') % 2 == 0
    base = re.findall(r'"([^"]*)"', re.search(r"command = \[(.*?)\]", conf)[1])
    assert base[1:] == ["/usr/local/sbin/ibqos", "$ibqos_command$"]
    services = re.findall(r'vars\.ibqos_command = "(\w+)"(?:\n\s*vars\.ibqos_policy = "(\S+)")?', conf)
    assert [s for s, _ in services] == ["verify", "audit", "verify", "audit"] and '"--site" = "$ibqos_site$"' in conf
    assert re.findall(r"assign where host\.vars\.(\w+)", conf) == ["ibqos", "ibqos", "ibqos_site", "ibqos_site"]
    for name, path in services[:2]:
        words = [run.binary(), name, "--format", "nagios", "--fabric", "rail-1", *([here(path)] if path else [])]
        assert "- " + name + " of rail-1" in fab.run(*words).ok(0, 2).stdout
    for name, path in services[2:]:
        assert not path
        words = [run.binary(), name, "--format", "nagios", "--site", here("/etc/ibqos/site.yaml")]
        assert re.match(f"IBQOS (OK|CRITICAL) - {name}: ", fab.run(*words).ok(0, 2).stdout)


# --- batch systems ---

@pytest.fixture
def host(tmp_path):
    """A host's /sys, and programs that a script of Slurm calls, which write down how."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("logger", "scontrol"):
        (tools / name).write_text(f'#!/bin/sh\necho "{name} $*" >>{tmp_path}/called\n[ {name} != scontrol ] || cat {tmp_path}/node 2>/dev/null || :\n')
        (tools / name).chmod(0o755)

    def call(script, state="4: ACTIVE", reason=None, options="--adapters 1"):
        port = tmp_path / "sys/class/infiniband/mlx5_0/ports/1"
        port.mkdir(parents=True, exist_ok=True)
        for name, said in (("state", state), ("phys_state", "5: LinkUp"), ("rate", "400 Gb/sec (4X NDR)"), ("lid", "0x1"),
                           ("sm_lid", "0x1"), ("link_layer", "InfiniBand")):
            (port / name).write_text(said + "\n")
        (port / "pkeys").mkdir(exist_ok=True)
        (port / "pkeys/0").write_text("0xffff\n")
        (tmp_path / "called").write_text("")
        (tmp_path / "node").write_text(f"NodeName=gpu-1 State=IDLE{' Reason=' + reason if reason else ''}\n")
        (tmp_path / "defaults").write_text(f'IBQOS_HOST_OPTIONS="--sysfs {tmp_path}/sys {options}"\n')
        env = {"PATH": f"{tools}:{os.environ['PATH']}", "IBQOS": run.binary(), "IBQOS_DEFAULTS": str(tmp_path / "defaults"),
               "SLURMD_NODENAME": "gpu-1", "SLURM_JOB_ID": "77"}
        r = run.run(["sh", os.path.join(CONTRIB, "slurm", script)], env=env)
        return r.returncode, (tmp_path / "called").read_text()
    return call


def test_slurm_prolog(host):
    code, called = host("prolog-ibqos.sh", state="1: DOWN")
    assert code == 1 and "job 77 not started: IBQOS CRITICAL" in called
    assert host("prolog-ibqos.sh")[0] == 0
    code, called = host("prolog-ibqos.sh", options="--no-such-option")  # it could not look: no reason to drain
    assert code == 0 and "logger" in called


def test_slurm_health_check(host):
    code, called = host("healthcheck-ibqos.sh", state="1: DOWN")
    assert code == 0 and re.search(r"scontrol update NodeName=gpu-1 State=DRAIN Reason=ibqos: IBQOS CRITICAL - job host: [\w, -]+", called), called
    _, called = host("healthcheck-ibqos.sh", state="1: DOWN", reason="broken fan")
    assert "update" not in called
    _, called = host("healthcheck-ibqos.sh", reason="ibqos: IBQOS CRITICAL [root@2026-01-01]")
    assert "State=RESUME" in called
    _, called = host("healthcheck-ibqos.sh", reason="broken fan")
    assert "update" not in called


def test_kubernetes(tmp_path, ibqos):
    pod = yaml.safe_load(text("kubernetes", "init-container.yaml"))
    c, = pod["spec"]["initContainers"]
    security = c["securityContext"]
    assert security["runAsNonRoot"] and security["readOnlyRootFilesystem"] and security["capabilities"] == {"drop": ["ALL"]}
    assert all(m["readOnly"] for m in c["volumeMounts"])
    assert {m["name"] for m in c["volumeMounts"]} <= {v["name"] for v in pod["spec"]["volumes"]}
    # its command, on hosts with eight adapters, and with seven
    for up, code in ((8, 0), (7, 1)):
        root = tmp_path / str(up)
        for i in range(8):
            port = root / f"class/infiniband/mlx5_{i}/ports/1"
            (port / "pkeys").mkdir(parents=True)
            (port / "pkeys/0").write_text("0xffff\n")
            for name, said in (("state", "4: ACTIVE" if i < up else "1: DOWN"), ("phys_state", "5: LinkUp"),
                               ("rate", "400 Gb/sec (4X NDR)"), ("lid", "0x1"), ("sm_lid", "0x1"), ("link_layer", "InfiniBand")):
                (port / name).write_text(said + "\n")
        line, = c["args"]
        line = line.replace("ibqos job host", f"{run.binary()} job host --sysfs {root}")
        assert run.run([*c["command"], line]).returncode == code, up


def test_scripts_are_sound():
    folder = os.path.join(CONTRIB, "slurm")
    scripts = [os.path.join(folder, name) for name in os.listdir(folder)]
    r = subprocess.run(["shellcheck", *scripts], capture_output=True, text=True, timeout=60)
    assert len(scripts) == 2 and r.returncode == 0, r.stdout
    assert all(os.access(s, os.X_OK) for s in scripts)
