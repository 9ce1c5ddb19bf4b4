# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""scripts/deps.sh and the fence, in mount namespaces where the machine looks as the test needs it."""
import os
import shutil
import stat
import subprocess

import pytest

from kit import run

SCRIPTS = os.path.join(run.TOP, "scripts")


def can_unshare():
    return os.getuid() == 0 and shutil.which("unshare") is not None and subprocess.run(
        ["unshare", "-m", "true"], check=False, capture_output=True).returncode == 0


pytestmark = pytest.mark.skipif(not can_unshare(), reason="needs root and mount namespaces")

# a machine with one InfiniBand port
ADAPTER = """mount -t tmpfs none /sys/class
mkdir -p /sys/class/infiniband/mlx5_0/ports/1
echo LAYER > /sys/class/infiniband/mlx5_0/ports/1/link_layer
"""


@pytest.fixture
def machine(tmp_path):
    """machine(prepare, argv, missing=[packages], as_root=True): runs argv after `prepare`, with stand-ins for
    dpkg-query (all but `missing` is installed) and apt-get (writes down what it was asked and what it saw)."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()

    def stand_in(name, text):
        p = bin_ / name
        p.write_text("#!/bin/bash\n" + text)
        p.chmod(p.stat().st_mode | stat.S_IXUSR)

    def call(prepare, argv, missing=(), uid="0", apt_fails=False):
        stand_in("dpkg-query", "shift 3\nfor p; do\ncase $p in " + "".join(f"{m}) echo \"un $p\"; continue ;; " for m in missing) +
                 "esac\necho \"ii $p\"\ndone\n")
        stand_in("id", f"echo {uid}\n")
        stand_in("apt-get", f"""echo "$@" >> {tmp_path}/apt
[ "$2" = update ] || [ "$1" = update ] || {{
readlink /etc/systemd/system/opensm.service > {tmp_path}/mask
/usr/sbin/policy-rc.d; echo $? > {tmp_path}/policy
exit {1 if apt_fails else 0}; }}
""")
        script = f"set -e\n{prepare}\nexport PATH={bin_}:$PATH\nset +e\n\"$@\"\ncode=$?\n" + \
            f"ls -A /usr/sbin > {tmp_path}/sbin-after\nexit $code\n"
        r = run.run(["unshare", "-m", "bash", "-c", script, "bash", *argv], cwd=tmp_path)
        r.saw = lambda name: (tmp_path / name).read_text().strip() if (tmp_path / name).exists() else None
        return r

    return call


FRESH = "mount -t tmpfs none /etc/systemd/system\nmount -t tmpfs none /usr/sbin\n"
DEPS = os.path.join(SCRIPTS, "deps.sh")


def test_nothing_to_do_is_silent(machine):
    r = machine("", [DEPS, "--for-tests"]).ok()
    assert (r.stdout, r.stderr, r.saw("apt")) == ("", "", None)


def test_opensm_cannot_start_while_it_is_installed(machine):
    r = machine(FRESH, [DEPS], missing=["opensm", "gcc"]).ok()
    assert r.saw("mask") == "/dev/null" and r.saw("policy") == "101"
    update, install = r.saw("apt").splitlines()
    assert "update" in update and install.split()[-2:] == ["gcc", "opensm"] and "--no-install-recommends" in install
    assert r.stdout.count("masked opensm.service") == 1
    assert "policy-rc.d" not in r.saw("sbin-after")


def test_a_failed_install_is_shown_and_cleaned_up(machine):
    r = machine(FRESH, [DEPS], missing=["opensm"], apt_fails=True)
    assert r.returncode == 1 and "apt-get failed" in r.stderr
    assert "policy-rc.d" not in r.saw("sbin-after")


def test_somebodys_policy_stays(machine):
    own = FRESH + "printf '#!/bin/sh\\nexit 104\\n' > /usr/sbin/policy-rc.d\nchmod 755 /usr/sbin/policy-rc.d\n"
    r = machine(own, [DEPS], missing=["opensm"]).ok()
    assert r.saw("policy") == "104" and "policy-rc.d" in r.saw("sbin-after")


def test_other_packages_touch_no_service(machine):
    r = machine(FRESH, [DEPS, "--for-extra"], missing=["cppcheck"]).ok()
    assert r.saw("mask") == "" and r.saw("policy") == "127"
    assert r.saw("apt").splitlines()[1].endswith(" cppcheck")


def test_no_install_beside_infiniband(machine):
    r = machine(FRESH + ADAPTER.replace("LAYER", "InfiniBand"), [DEPS], missing=["opensm"])
    assert r.returncode == 1 and r.saw("apt") is None
    assert "nothing is installed" in r.stderr and "systemctl mask opensm.service" in r.stderr


def test_ethernet_adapters_are_no_obstacle(machine):
    machine(FRESH + ADAPTER.replace("LAYER", "Ethernet"), [DEPS], missing=["opensm"]).ok()


def test_without_root_the_command_is_printed(machine):
    r = machine("", [DEPS, "--for-tests"], missing=["ibsim-utils"], uid="1000")
    assert r.returncode == 1 and r.saw("apt") is None and f"as root run: {DEPS} --for-tests" in r.stderr


def test_the_fence_hides_hardware(machine, tmp_path):
    probe = tmp_path / "probe.sh"
    probe.write_text(f"#!/bin/bash\nself=$(realpath \"$0\")\n. {SCRIPTS}/lib.sh\nfence \"$@\"\n"
                     "echo \"sees [$(ls -A /sys/class/infiniband)] args $*\"\n")
    probe.chmod(0o755)
    r = machine(ADAPTER.replace("LAYER", "InfiniBand"), ["bash", probe, "a b", "c"]).ok()
    assert r.stdout == "sees [] args a b c\n"
    r = machine("", ["bash", probe, "x"]).ok()
    assert r.stdout == "sees [] args x\n"
    # claimed, but not true
    r = machine(ADAPTER.replace("LAYER", "InfiniBand") + "export IBQOS_TESTS_IN_NAMESPACE=1\n", ["bash", probe])
    assert r.returncode == 1 and "is not hidden" in r.stderr
    r = machine(ADAPTER.replace("LAYER", "InfiniBand"), ["bash", probe], uid="1000")
    assert r.returncode == 1 and "only as root" in r.stderr


def test_pytest_itself_refuses_beside_hardware(machine):
    r = machine(ADAPTER.replace("LAYER", "InfiniBand"),
                ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
                 os.path.join(run.TOP, "tests/sim/test_kit.py"), "-k", "generator_is_stable"])
    assert r.returncode == 3 and "never come" in r.stdout + r.stderr
