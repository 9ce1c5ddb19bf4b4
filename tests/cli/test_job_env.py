# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""job env: each form as its launcher takes it."""
import os
import shutil
import subprocess

import pytest
import yaml

from kit import policy

INFINIBAND = {"NCCL_IB_SL": "1", "UCX_IB_SL": "1", "OMPI_MCA_btl_openib_ib_service_level": "1", "NVSHMEM_IB_SL": "1",
              "EP_OVERRIDE_RDMA_SL": "1", "MC_IB_SL": "1", "MC_IB_TC": "41"}
ETHERNET = {"NCCL_IB_TC": "41", "UCX_IB_TRAFFIC_CLASS": "41", "NVSHMEM_IB_TRAFFIC_CLASS": "41", "MC_IB_TC": "41"}


@pytest.fixture
def env(ibqos, tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(policy.text(None), encoding="utf-8")
    return lambda *args, name="training": ibqos("job", "env", "--policy", path, "--class", name, *args)


@pytest.mark.parametrize("layer,wanted", [("infiniband", INFINIBAND), ("ethernet", ETHERNET)])
def test_shell(env, layer, wanted):
    """A shell that runs the output has exactly these, and nothing is printed."""
    text = env("--link-layer", layer).ok(0).stdout
    out = subprocess.run(["sh", "-euc", text + "\nenv"], env={}, capture_output=True, check=True, text=True).stdout
    got = dict(line.split("=", 1) for line in out.splitlines())
    got.pop("PWD", None)
    assert got == wanted
    assert "# NCCL_IB_TC (nccl): not set: on InfiniBand" in text or layer == "ethernet"


def test_kubernetes(env):
    got = yaml.safe_load(env("--form", "kubernetes").ok(0).stdout)
    assert {e["name"]: e["value"] for e in got["env"]} == INFINIBAND
    assert all(type(e["value"]) is str for e in got["env"])  # a number is refused by Kubernetes


def test_slurm(env):
    out = env("--form", "slurm").ok(0).stdout
    assert out.startswith("--export=ALL,") and out.count("\n") == 1 and " " not in out
    assert dict(p.split("=") for p in out.strip().split(",")[1:]) == INFINIBAND


def test_openmpi(env):
    words = env("--form", "openmpi").ok(0).stdout.split()
    assert words[::2] == ["-x"] * len(INFINIBAND)
    assert dict(w.split("=") for w in words[1::2]) == INFINIBAND


def test_nccl_conf(env):
    """Only NCCL reads it, and before 2.26 a comment with '=' would set a variable."""
    lines = env("--form", "nccl-conf").ok(0).stdout.splitlines()
    assert [line for line in lines if not line.startswith("#")] == ["NCCL_IB_SL=1"]
    assert not [line for line in lines if line.startswith("#") and "=" in line]
    assert any("UCX_IB_SL" in line for line in lines)


def test_stacks(env):
    assert env("--stack", "nccl", "--form", "slurm").ok(0).stdout == "--export=ALL,NCCL_IB_SL=1\n"
    assert env("--stack", "nccl,ucx", "--form", "slurm").ok(0).stdout == "--export=ALL,NCCL_IB_SL=1,UCX_IB_SL=1\n"
    assert env("--stack", "sharp", "--form", "slurm").ok(0).stdout == ""
    for bad in ("", "nccl,", "nccll", "nccl ucx"):
        env("--stack", bad).ok(3)


def test_a_class_without_traffic_class(env):
    rows = {(r["stack"], r["name"]): r for r in env("--format", "json", name="other").ok(0).json["settings"]}
    assert rows["nccl", "NCCL_IB_SL"]["value"] == "0" and ("mooncake", "MC_IB_TC") not in rows
    rows = env("--format", "json", "--link-layer", "roce", name="storage").ok(0).json["settings"]
    assert not [r for r in rows if r["value"] is not None]
    assert "names no nccl_ib_tc" in next(r["why"] for r in rows if r["name"] == "NCCL_IB_TC")


def test_sharp_is_not_known(env):
    row, = (r for r in env("--format", "json").ok(0).json["settings"] if r["stack"] == "sharp")
    assert row["value"] is None and row["why"].startswith("not known")


def test_nothing_on_stdout_when_it_fails(env, ibqos, tmp_path):
    """A shell may be about to run it."""
    r = env(name="trainig").ok(3)
    assert r.stdout == "" and "it has training, storage, other" in r.stderr
    bad = tmp_path / "bad.yaml"
    bad.write_text(policy.text(None).replace("sl: 2", "sl: 1"), encoding="utf-8")
    r = ibqos("job", "env", "--policy", bad, "--class", "training").ok(2)
    assert r.stdout == "" and "ibqos lint" in r.stderr
    r = ibqos("job", "env", "--policy", tmp_path / "none", "--class", "training").ok(3)
    assert r.stdout == "" and "cannot read policy" in r.stderr
    for args in ((), ("--policy", bad), ("--class", "a"), ("--policy", bad, "--class", "a", "--form", "csh"),
                 ("--policy", bad, "--class", "a", "--link-layer", "omnipath")):
        assert ibqos("job", "env", *args).ok(3).stdout == ""


def test_output_file(env, tmp_path):
    path = tmp_path / "env.sh"
    assert env("--output", path, "--form", "slurm").ok(0).stdout == ""
    assert path.read_text().startswith("--export=ALL,NCCL_IB_SL=1,")
    assert env("--output", tmp_path / "no" / "such", "--form", "slurm").ok(3).stdout == ""
    assert env("--output", "/dev/full").ok(3)


def test_job_commands(ibqos):
    assert "env" in ibqos("job", "--help").ok(0).stdout
    assert "unknown command 'job nothing'" in ibqos("job", "nothing").ok(3).stderr
    assert ibqos("job").ok(3).stdout == ""
    assert "--form" in ibqos("job", "env", "--help").ok(0).stdout


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_eval_in_bash(env):
    out = env().ok(0).stdout
    got = subprocess.run(["bash", "-euc", 'eval "$1"; echo $NCCL_IB_SL$UCX_IB_SL', "x", out], capture_output=True, text=True,
                         env={"PATH": os.environ["PATH"]}, check=True).stdout
    assert got == "11\n"
