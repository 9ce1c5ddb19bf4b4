# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""job check: every rule, on InfiniBand and RoCE, by version; where environments come from."""
import json
import os
import re
import subprocess
import time

import pytest

from kit import policy, run

RECIPE = """NCCL_IB_TC=41
NCCL_IB_GID_INDEX=3
NCCL_IB_TIMEOUT=22
NCCL_IB_QPS_PER_CONNECTION=4
NCCL_NET_GDR_LEVEL=2
NCCL_IB_HCA=mlx5
NCCL_SOCKET_IFNAME=eth0
"""


@pytest.fixture
def check(ibqos, tmp_path):
    """check(environment, *options, policy=None or text) -> {(code, what): finding}, and .result"""
    (tmp_path / "policy.yaml").write_text(policy.text(None), encoding="utf-8")

    class Found(dict):
        pass

    def call(env, *args, name="training", text=None, codes=(0, 1, 2, 3), **kwargs):
        path = tmp_path / "job.env"
        path.write_bytes(env if isinstance(env, bytes) else env.encode())
        if text is not None:
            (tmp_path / "policy.yaml").write_text(text, encoding="utf-8")
        of_class = ("--policy", tmp_path / "policy.yaml", "--class", name) if name else ()
        r = ibqos("job", "check", "--env-file", path, "--no-conf", *of_class, *args, "--format", "json", **kwargs).ok(*codes)
        found = Found(((f["code"], f["what"]), f) for f in r.json["findings"])
        found.result = r
        return found

    return call


def test_recipe_on_infiniband(check):
    found = check(RECIPE, codes=(1,))
    assert set(found) == {
        ("job-sl-unset", "NCCL_IB_SL"), ("job-tc-without-sl", "NCCL_IB_TC=41"), ("job-tc-becomes-sl", "NCCL_IB_TC=41"),
        ("job-tc-ecn", "NCCL_IB_TC=41"), ("job-no-effect", "NCCL_IB_GID_INDEX=3"), ("job-hca-prefix", "NCCL_IB_HCA=mlx5"),
        ("job-gdr-level", "NCCL_NET_GDR_LEVEL=2"), ("job-ifname", "NCCL_SOCKET_IFNAME=eth0")}
    unset = found["job-sl-unset", "NCCL_IB_SL"]
    assert unset["wanted"] == "NCCL_IB_SL=1, for class training" and unset["detail"] == "SL 0 is the class other"
    sl = found["job-tc-becomes-sl", "NCCL_IB_TC=41"]
    assert (sl["line"], sl["column"], sl["severity"]) == (1, 1, "warning") and sl["got"].startswith("SL 9 ")
    assert found["job-tc-ecn", "NCCL_IB_TC=41"]["got"] == "DSCP 10, ECN 1 (ECT(1))"
    assert found["job-gdr-level", "NCCL_NET_GDR_LEVEL=2"]["got"] == "PXB"
    sls, = found.result.json["sls"]
    assert (sls["sl"], sls["from"], sls["gin_sl"], sls["gin_from"]) == (0, "default", 9, "NCCL_IB_TC")


def test_recipe_on_roce(check):
    found = check(RECIPE, "--link-layer", "ethernet", codes=(1,))
    assert set(found) == {
        ("job-tc-ecn", "NCCL_IB_TC=41"), ("job-gid-fixed", "NCCL_IB_GID_INDEX=3"), ("job-hca-prefix", "NCCL_IB_HCA=mlx5"),
        ("job-gdr-level", "NCCL_NET_GDR_LEVEL=2"), ("job-ifname", "NCCL_SOCKET_IFNAME=eth0")}
    assert "sls" not in found.result.json


def test_the_article(check):
    """docs/article.md has this recipe, and its advice is clean; every code that it names is one."""
    with open(os.path.join(run.TOP, "docs", "article.md"), encoding="utf-8") as f:
        article = f.read()
    blocks = ["".join(line.strip() + "\n" for line in part.splitlines() if line.startswith("    NCCL_"))
              for part in article.split("\n\n")]
    recipe, infiniband, roce = [b for b in blocks if b]
    assert recipe == RECIPE
    assert not check(infiniband, codes=(0,))
    text = policy.text(None).replace("nccl_ib_tc: 41", "nccl_ib_tc: 104")
    assert not check(roce, "--link-layer", "ethernet", text=text, codes=(0,))
    with open(os.path.join(run.TOP, "include", "ibqos", "finding_codes.def"), encoding="utf-8") as f:
        codes = set(re.findall(r'"(job-[a-z-]+)"', f.read()))
    named = set(re.findall(r"`(job-[a-z-]+)`", article))
    assert len(named) > 10 and named <= codes


def test_what_job_env_prints_is_clean(ibqos, check, tmp_path):
    check("")
    for layer in ("infiniband", "ethernet"):
        made = ibqos("job", "env", "--policy", tmp_path / "policy.yaml", "--class", "training", "--link-layer", layer,
                     "--form", "slurm").ok(0).stdout
        env = "\n".join(made.strip().split(",")[1:])
        assert {c for c, _ in check(env, "--link-layer", layer, codes=(0,))} <= {"job-tc-ecn"}


# one rule a line: environment, options, code, text that must stand in the finding's words
RULES = [
    ("NCCL_IB_SL=17", (), "job-sl-range", "SL 1"),
    ("NCCL_IB_SL=-2", (), "job-sl-range", "SL 14"),
    ("NCCL_IB_SL=-1", ("--nccl", "2.25.1"), "job-sl-range", "SL 15"),
    ("NCCL_IB_SL=2", (), "job-sl-other", "SL 2 is the class storage"),
    ("NCCL_IB_SL=5", (), "job-sl-other", "default class other"),
    ("", ("--traffic-class", "3"), "job-sl-other", "trafficClass"),
    ("", ("--traffic-class", "106"), "job-sl-range", "10"),
    ("NCCL_IB_SL=1", ("--traffic-class", "3"), "job-env-wins", "trafficClass 3"),
    ("NCCL_IB_SL=1", ("--traffic-class", "3", "--nccl", "2.25.1"), "job-no-effect", "before 2.26"),
    ("NCCL_IB_FIFO_TC=8", (), "job-tc-without-sl", "SL 0"),
    ("NCCL_IB_SL=1\nNCCL_IB_TC=8", (), "job-no-effect", "the SL is what counts"),
    ("NCCL_IB_TC=106", ("--gin",), "job-tc-becomes-sl", "SL 10"),
    ("NCCL_GIN_IB_TC=104", ("--gin",), "job-tc-becomes-sl", "SL 8"),
    ("NCCL_IB_TC=300", (), "job-tc-range", "44"),
    ("NCCL_IB_TC=40", ("--link-layer", "roce"), "job-tc-other", "DSCP 10"),
    ("", ("--link-layer", "roce"), "job-tc-unset", "NCCL_IB_TC=41"),
    ("NCCL_IB_ADAPTIVE_ROUTING=0", (), "job-ar-off", ""),
    ("UCX_IB_AR_ENABLE=yes", (), "job-ucx-ar", "UCX_IB_SL=1"),
    ("UCX_IB_SL=1", (), "job-ucx-only", "NCCL_IB_SL=1"),
    ("UCX_IB_TRAFFIC_CLASS=41", ("--link-layer", "roce"), "job-ucx-only", "NCCL_IB_TC=41"),
    ("UCX_IB_SL=2", (), "job-sl-other", "UCX_IB_SL=1"),
    ("NVSHMEM_IB_ENABLE_IBGDA=1", (), "job-stack-sl-unset", "NVSHMEM_IB_SL=1"),
    ("", ("--stack", "nvshmem"), "job-stack-sl-unset", "NVSHMEM_IB_SL=1"),
    ("MC_IB_TC=4", (), "job-stack-sl-unset", "MC_IB_SL=1"),
    ("", ("--stack", "deepep"), "job-stack-sl-unset", "SL 3"),
    ("NCCL_IB_SL=1\nEP_OVERRIDE_RDMA_SL=3", (), "job-env-wins", "SL 3"),
    ("OMPI_MCA_btl_openib_ib_service_level=4", (), "job-sl-other", "service_level=1"),
    ("NCCL_IB_TIMEOUT=0", (), "job-timeout-range", "1 to 31"),
    ("NCCL_IB_TIMEOUT=33", (), "job-timeout-range", "5 bits: 1"),
    ("NCCL_IB_TIMEOUT=14", (), "job-timeout-low", "0.0671 s"),
    ("NCCL_IB_RETRY_CNT=15", (), "job-retry-range", "3 bits: 7"),
    ("NCCL_IB_QPS_PER_CONNECTION=0", (), "job-qps-range", "1 to 128"),
    ("NCCL_IB_PKEY=0x8001", (), "job-pkey-index", "a P_Key, not an index"),
    ("NCCL_IB_HCA=mlx5_1", (), "job-hca-prefix", "=mlx5_1"),
    ("NCCL_IB_HCA=^mlx5_1", (), "job-hca-prefix", "^=mlx5_1"),
    ("NCCL_IB_HCA==mlx5_0, mlx5_1", (), "job-hca-syntax", "blanks"),
    ("NCCL_IB_HCA==^mlx5_0", (), "job-hca-syntax", "the name '^mlx5_0'"),
    ("NCCL_IB_HCA==mlx5_0,=mlx5_1", (), "job-hca-syntax", "once"),
    ("NCCL_IB_HCA=\"=mlx5_0\"", (), "job-hca-syntax", "quotes"),
    ("NCCL_IB_HCA==mlx5_0:a", (), "job-hca-syntax", "port 0"),
    ("NCCL_IB_HCA==" + ",".join(f"m{i}" for i in range(33)), (), "job-hca-syntax", "the first 32 of 33"),
    ("NCCL_IB_HCA==" + ",".join(f"m{i}" for i in range(17)), ("--nccl", "2.18.3"), "job-hca-syntax", "the first 16 of 17"),
    ("NCCL_IB_HCA=^", (), "job-hca-none", ""),
    ("NCCL_IB_ROCE_VERSION_NUM=2", (), "job-no-effect", "RoCE"),
    ("NCCL_IB_DISABLE=1", (), "job-ib-off", "NET/Socket"),
    ("NCCL_NET=socket", (), "job-ib-off", "NET/Socket"),
    ("NCCL_IBEXT_DISABLE=1", (), "job-ibext-alone", ""),
    ("NCCL_IB_SERVICE_LEVEL=1", (), "job-name-unknown", "no release"),
    ("NCCL_IB_GDR_LEVEL=2", (), "job-name-unknown", "NCCL_NET_GDR_LEVEL"),
    ("NCCL_IB_FIFO_TC=4", ("--nccl", "2.21.5"), "job-name-unknown", "2.22.3"),
    ("NCCL_IB_SL=\"1\"", (), "job-value-number", "quotes"),
    ("NCCL_IB_SL=one", (), "job-value-number", "0"),
    ("NCCL_IB_TIMEOUT=022", (), "job-value-number", "18: a leading zero"),
    ("NCCL_IB_SL=1,", (), "job-value-number", "1: the rest"),
    ("NCCL_IB_SL=1 # class", (), "job-value-rest", "1"),
    ("NCCL_IB_SL=1\r", (), "job-value-rest", "1"),
    ("NCCL_IB_SL=99999999999999999999", (), "job-value-number", "default"),
    ("NCCL_IB_SL=1\nNCCL_IB_SL=2", (), "job-conf-double", "first"),
    ("NCCL_SOCKET_IFNAME=lo\r", (), "job-value-text", "CR"),
    ("NCCL_SOCKET_IFNAME==\"eth0\"", (), "job-value-text", "quotes"),
    ("NCCL_DEBUG_FILE=~/log", (), "job-value-text", "'~'"),
    ("NCCL_NET_GDR_LEVEL=pix", (), "job-value-text", "none of the levels"),
    ("NCCL_COLLNET_ENABLE=1", (), "job-sharp", ""),
    ("NCCL_ALGO=CollNetChain", (), "job-sharp", ""),
    ("", ("--stack", "sharp"), "job-sharp", ""),
    ("NCCL_ENV_PLUGIN=x", (), "job-plugin", ""),
    ("NCCL_DEBUG=INFO", (), "job-log-net", ""),
    ("NCCL_DEBUG=INFO\nNCCL_DEBUG_SUBSYS=^NET", (), "job-log-net", ""),
]


@pytest.mark.parametrize("env,args,code,text", RULES, ids=lambda v: str(v)[:40] if not isinstance(v, tuple) else None)
def test_rule(check, env, args, code, text):
    found = [f for (c, _), f in check(env, *args).items() if c == code]
    assert found, f"{code} not found"
    for f in found:  # which setting, where, and what to do about it; the whole environment has no line
        assert f["what"] and f["file"] and f["title"] and f["advice"], f
        assert f["line"] or "=" not in f["what"] or f["what"].startswith("trafficClass"), f
    assert any(text in " ".join(str(f[k]) for k in ("what", "wanted", "got", "detail")) for f in found), found


# what must not be told
GOOD = [
    ("NCCL_IB_SL=1", ()), ("NCCL_IB_SL=0x1", ()), ("NCCL_IB_SL= 1", ()), ("NCCL_IB_SL=1\nNCCL_IB_SL=1", ()),
    ("NCCL_IB_SL=1\nNCCL_IB_HCA==mlx5_0:1,mlx5_1", ()), ("NCCL_IB_SL=1\nNCCL_IB_HCA=^=mlx5_0", ()),
    ("NCCL_IB_SL=1\nNCCL_IB_PKEY=3\nNCCL_IB_TIMEOUT=22\nNCCL_IB_RETRY_CNT=7", ()),
    ("NCCL_IB_SL=1\nNCCL_DEBUG=INFO\nNCCL_DEBUG_SUBSYS=INIT,ENV,NET", ()), ("NCCL_IB_SL=1\nNCCL_DEBUG=WARN", ()),
    ("NCCL_IB_SL=1\nNCCL_ENV_PLUGIN=none\nNCCL_NET_GDR_LEVEL=PIX", ()), ("NCCL_IB_SL=1\nUCX_IB_SL=1\nNVSHMEM_IB_SL=1", ()),
    ("", ("--traffic-class", "1")), ("NCCL_IB_SL=1\nNCCL_IB_DISABLE=0\nNCCL_COLLNET_ENABLE=0", ()),
    ("NCCL_IB_TC=40", ("--link-layer", "roce", "--nccl", "2.20.5", "--class", "storage")),
    ("NCCL_IB_SL=2", ("--class", "storage")), ("", ("--class", "other")),
    ("NCCL_IB_SL=1\nNCCL_SOCKET_IFNAME=^lo,docker", ()),
]


@pytest.mark.parametrize("env,args", GOOD, ids=[str(i) for i in range(len(GOOD))])
def test_nothing_to_tell(check, env, args):
    assert not check(env, *args, codes=(0,))


def test_by_version(check):
    """The SL of NCCL and of its GIN, as each release resolves them."""
    env = "NCCL_IB_TC=106\n"
    table = [("2.25.1", 0, None), ("2.26.2", 5, None), ("2.28.7", 5, 0), ("2.29.7", 5, 0), ("2.30.3", 5, 5), ("2.30.7", 5, 10)]
    for version, sl, gin in table:
        r, = check(env, "--nccl", version, "--traffic-class", "5", name=None).result.json["sls"]
        assert (version, r["sl"], r["gin_sl"]) == (version, sl, gin)
    for version, *_ in table:
        r, = check("NCCL_IB_SL=3\n" + env, "--nccl", version, "--traffic-class", "5", name=None).result.json["sls"]
        assert (r["sl"], r["gin_sl"]) == (3, None if version < "2.28" else 3)


def test_match_rules_do_not_reach_nccl(check):
    text = policy.text(None).replace("nccl_ib_tc: 41", "nccl_ib_tc: 41\n    match: [{service: lustre}]")
    found = check("", text=text, codes=(2,))
    assert ("job-rule-only", "NCCL_IB_SL") in found


def test_dropped_sl(check):
    found = check("NCCL_IB_SL=7", text=policy.text(None, unused_sls="drop"))
    assert found["job-sl-dropped", "NCCL_IB_SL=7"]["got"] == "SL 7, which no class has"


def test_exact_tables(check):
    """SL 3 is VL 3, which has no weight; SL 4 is VL 15."""
    text = policy.text(None, tables="")
    text = text.replace("tables: ", "tables:\n  ca:\n    sl2vl: 0,1,2,3,15,0,0,0,0,0,0,0,0,0,0,0\n"
                        "    vlarb_high: 0:0\n    vlarb_low: 0:64,1:192,2:64\n    high_limit: 0\n")
    assert ("job-sl-starved", "NCCL_IB_SL=3") in check("NCCL_IB_SL=3", text=text)
    assert ("job-sl-dropped", "NCCL_IB_SL=4") in check("NCCL_IB_SL=4", text=text)
    assert {c for c, _ in check("NCCL_IB_SL=2", text=text)} == {"job-sl-other"}


def test_routing_engine(check, tmp_path):
    conf = tmp_path / "opensm.conf"
    text = policy.text(None) + f"opensm:\n  config: {conf}\n"
    for engine, wrong in (("minhop", False), ("ftree,updn", False), ("dfsssp", True), ("ftree, torus-2QoS", True)):
        conf.write_text(f"routing_engine {engine}\n")
        found = check("NCCL_IB_SL=1", text=text)
        assert (("job-engine-owns-sl", "NCCL_IB_SL=1") in found) == wrong, engine


def test_adaptive_routing_by_the_file(check, tmp_path):
    """By OpenSM's file alone: known where an adaptive engine and a mask of SLs stand there, else unknown."""
    conf = tmp_path / "opensm.conf"
    text = policy.text(None) + f"opensm:\n  config: {conf}\n"
    for lines, told, known in (("routing_engine ar_updn\nar_sl_mask 0x0002\n", False, "yes"),
                               ("routing_engine ar_updn\nar_sl_mask 0x0005\n", True, "not this SL"),
                               ("routing_engine minhop,ar_ftree\nar_sl_mask 5\n", True, "not this SL"),
                               ("routing_engine updn\nar_sl_mask 0x0005\n", False, None),
                               ("routing_engine ar_updn\n", False, None), ("ar_sl_mask 0x0005\n", False, None),
                               ("routing_engine ar_updn\nar_sl_mask all\n", False, None)):
        conf.write_text(lines)
        found = check("NCCL_IB_SL=1", text=text)
        assert (("job-ar-sl", "NCCL_IB_SL=1") in found) == told, lines
        assert [s["adaptive_routing"] for s in found.result.json["sls"]] == [known], lines
        assert not {c for c, _ in check("NCCL_IB_SL=1\nNCCL_IB_ADAPTIVE_ROUTING=0", text=text)} - {"job-ar-off"}
    conf.write_text("routing_engine ar_updn\nar_sl_mask 0xfffe\n")
    found = check("", text=text)
    assert found["job-ar-sl", "SL 0"]["got"] == f"ar_sl_mask 0xfffe in {conf}"


def test_hosts_compared(ibqos, tmp_path):
    for name, text in (("a", "NCCL_IB_SL=1\nNCCL_IB_HCA==mlx5_0\n"), ("b", "NCCL_IB_SL=1\nNCCL_IB_HCA==mlx5_0\n"),
                       ("c", "NCCL_IB_SL=2\nNCCL_IB_HCA==mlx5_0\n"), ("d", "NCCL_IB_HCA==mlx5_0\n")):
        (tmp_path / name).write_text(text)
    files = [a for n in "abcd" for a in ("--env-file", tmp_path / n)]
    r = ibqos("job", "check", *files, "--format", "json").ok(1)
    found = [(os.path.basename(f["file"]), f["line"], f["what"], f["wanted"], f["got"]) for f in r.json["findings"]]
    assert {f["code"] for f in r.json["findings"]} == {"job-hosts-differ"}
    assert found == [("c", 1, "NCCL_IB_SL", "1, as most hosts have", "2"), ("d", None, "NCCL_IB_SL", "1, as most hosts have", "unset")]
    assert "sender's counts" in r.json["findings"][0]["detail"]
    r = ibqos("job", "check", *files, "--nccl", "2.20.5", "--format", "json").ok(1)
    assert "each end" in r.json["findings"][0]["detail"]


@pytest.fixture
def root(tmp_path):
    """A root with /etc/nccl.conf and a home."""
    top = tmp_path / "root"
    (top / "etc").mkdir(parents=True)
    (top / "home/u").mkdir(parents=True)
    (top / "home/passwd").mkdir(parents=True)
    (top / "etc/passwd").write_text(f"u:x:{os.getuid()}:0::/home/passwd:/bin/sh\n")
    (top / "etc/nccl.conf").write_text("NCCL_IB_SL=3\nNCCL_IB_TIMEOUT=20\n")
    (top / "home/u/.nccl.conf").write_text("NCCL_IB_SL=2\n")
    (top / "home/passwd/.nccl.conf").write_text("NCCL_IB_SL=4\n")
    (top / "named").write_text("NCCL_IB_SL=5\n")
    return top


def counting(r):
    return {s["name"]: s["value"] for s in r.json["settings"] if s["counts"]}


def test_conf_files(ibqos, root, tmp_path):
    env = tmp_path / "env"

    def settings(text, *args):
        env.write_text(text)
        return counting(ibqos("job", "check", "--env-file", env, "--root", root, *args, "--format", "json").ok(0, 1, 2))

    assert settings("HOME=/home/u\n") == {"NCCL_IB_SL": "2", "NCCL_IB_TIMEOUT": "20"}
    assert settings("HOME=/home/u\n", "--nccl", "2.29.7")["NCCL_IB_SL"] == "4"  # the home of passwd
    assert settings("")["NCCL_IB_SL"] == "3"
    assert settings("HOME=/home/u\nNCCL_IB_SL=9\n")["NCCL_IB_SL"] == "9"
    named = "HOME=/home/u\nNCCL_CONF_FILE=/named\n"
    assert settings(named)["NCCL_IB_SL"] == "5"
    assert settings(named, "--nccl", "2.22.3")["NCCL_IB_SL"] == "4"  # not read before 2.23
    assert settings("HOME=/home/u\nNCCL_CONF_FILE=\n")["NCCL_IB_SL"] == "2"
    assert settings("HOME=/home/u\nNCCL_IB_SL=9\n", "--no-conf") == {"NCCL_IB_SL": "9"}


def test_conf_findings(ibqos, root, tmp_path):
    env = tmp_path / "env"

    def found(text, *args):
        env.write_text(text)
        r = ibqos("job", "check", "--env-file", env, "--root", root, *args, "--format", "json")
        return {(f["code"], f["line"]): f for f in r.json["findings"]}

    (root / "etc/nccl.conf").write_bytes(b"# c\nexport NCCL_IB_SL=1\nNCCL_IB_TIMEOUT=\"22\"\nNCCL_IB_TC = 4\nNCCL_SOCKET_IFNAME=lo\r\n"
                                         b"NCCL_IB_PKEY=0\nNCCL_IB_PKEY=1\nNCCL_IB_GID_INDEX\n")
    f = found("", "--nccl", "2.28.9")
    assert {k for k in f if k[0].startswith("job-conf") or k[0].startswith("job-value")} == {
        ("job-conf-key", 2), ("job-value-number", 3), ("job-conf-key", 4), ("job-value-text", 5), ("job-conf-double", 7),
        ("job-conf-line", 8)}
    assert f["job-conf-key", 2]["wanted"] == "NCCL_IB_SL=1"
    assert ("job-value-text", 5) not in found("")  # from 2.30.3 the CR goes
    f = found("NCCL_IB_PKEY=7\nNCCL_IB_TIMEOUT=\n")
    assert f["job-conf-hidden", 6]["got"] == "7, from the environment"
    assert f["job-empty", 2]["got"] == "NCCL's default"
    for path, text in (("/none", "No such file"), ("~/c", "'~' is not expanded"), ("/etc", "no file")):
        f = found(f"NCCL_CONF_FILE={path}\n")["job-conf-missing", 1]
        assert text in f"{f['got']} {f['detail']}"


def test_own_environment(ibqos, root):
    env = dict(os.environ, NCCL_IB_SL="6", HOME="/home/u")
    r = ibqos("job", "check", "--root", root, "--format", "json", env=env).ok(0, 1, 2)
    assert counting(r) == {"NCCL_IB_SL": "6", "NCCL_IB_TIMEOUT": "20"}


def test_a_process(ibqos, tmp_path):
    (tmp_path / "c").write_text("NCCL_IB_TIMEOUT=21\n")
    env = {"NCCL_IB_SL": "7", "NCCL_CONF_FILE": "c", "PATH": os.environ["PATH"]}
    p = run.start(["sleep", "60"], env=env, cwd=tmp_path)
    try:
        run.deadline(10, "exec of sleep", lambda: "sleep" in open(f"/proc/{p.pid}/cmdline").read())
        r = ibqos("job", "check", "--pid", p.pid, "--format", "json").ok(0, 1, 2)
        assert counting(r)["NCCL_IB_SL"] == "7" and counting(r)["NCCL_IB_TIMEOUT"] == "21"
    finally:
        run.end(p)
    r = ibqos("job", "check", "--pid", p.pid, "--format", "json").ok(3)
    assert "cannot read" in r.stderr
    assert [(f["code"], f["file"]) for f in r.json["findings"]] == [("job-unread", None)]


def test_scripts(ibqos, tmp_path):
    (tmp_path / "policy.yaml").write_text(policy.text(None), encoding="utf-8")
    script = tmp_path / "run.sbatch"
    script.write_text("#!/bin/bash\n#SBATCH -N 4\nexport NCCL_IB_SL=2\nexport NCCL_IB_HCA=mlx5_1\nNCCL_IB_TIMEOUT=22\nsrun ./train\n")
    args = ("--policy", tmp_path / "policy.yaml", "--class", "training", "--no-conf", "--format", "json")
    r = ibqos("job", "check", script, *args).ok(1)
    assert [(f["code"], f["line"], f["column"]) for f in r.json["findings"]] == [
        ("job-sl-other", 3, 8), ("job-hca-prefix", 4, 8), ("job-not-exported", 5, 1)]
    script.write_text("export NCCL_IB_SL=$SL\n")
    r = ibqos("job", "check", script, *args).ok(3)
    assert [f["code"] for f in r.json["findings"]] == ["job-sl-unknown"] and r.json["sls"][0]["sl"] is None
    script.write_text("export NCCL_IB_SL=1\nif x; then export NCCL_IB_SL=2; fi\n")
    r = ibqos("job", "check", script, *args).ok(1)
    assert {f["code"] for f in r.json["findings"]} == {"job-script-several", "job-sl-other"}
    r = ibqos("job", "check", tmp_path / "none", *args).ok(3)
    assert "cannot read" in r.stderr
    assert [(f["code"], f["severity"], f["file"], f["got"]) for f in r.json["findings"]] == [
        ("job-unread", "unknown", str(tmp_path / "none"), "No such file or directory")]
    # neither are what is no text scripts that set nothing
    for content in (b"\x7fELF\x02\x01\x01\x00\n", "export NCCL_IB_SL=1\n".encode("utf-16")):
        (tmp_path / "binary").write_bytes(content)
        r = ibqos("job", "check", tmp_path / "binary", *args).ok(3)
        assert "cannot read" in r.stderr and "job-sl-unset" not in r.stdout


def test_conf_file_of_a_script(ibqos, root, tmp_path):
    script = tmp_path / "run.sh"
    script.write_text("export NCCL_CONF_FILE=$HOME/x\n")
    r = ibqos("job", "check", script, "--root", root, "--format", "json").ok(3)
    assert [(f["code"], f["line"]) for f in r.json["findings"]] == [("job-conf-unread", 1)]
    script.write_text("export NCCL_CONF_FILE=/named\n")
    assert counting(ibqos("job", "check", script, "--root", root, "--format", "json").ok(0))["NCCL_IB_SL"] == "5"


def test_long_lines(ibqos, root, tmp_path):
    (tmp_path / "env").write_text("")
    (root / "etc/nccl.conf").write_text("NCCL_IB_HCA==mlx5_0," + "x" * 5000 + "\n" + "K" * 1500 + "=1\n")

    def long(*args):
        r = ibqos("job", "check", "--env-file", tmp_path / "env", "--root", root, *args, "--format", "json")
        return [(f["line"], f["column"], f["got"]) for f in r.json["findings"] if f["code"] == "job-conf-long"]

    assert long() == [(1, 1, "cut after 4095 bytes; the rest is read as a line of its own"), (2, 1, "key cut after 1023 bytes")]
    assert long("--nccl", "2.29.7") == [(1, 1, "value cut after 1023 bytes"), (2, 1, "key cut after 1023 bytes")]
    assert "outside its buffer" in long("--nccl", "2.22.3")[1][2]


def test_bad_usage(ibqos, tmp_path):
    for args in (("--class", "a"), ("--policy", "a"), ("--nccl", "2.11.4"), ("--nccl", "new"), ("--pid", "0"), ("--pid", "x"),
                 ("--pid", "1", "--env-file", "a"), ("--stack", "none"), ("--traffic-class", "-1"), ("--link-layer", "opa")):
        assert ibqos("job", "check", *args).ok(3).stdout == ""
    r = ibqos("job", "check", "--env-file", tmp_path / "none", "--format", "json").ok(3)
    assert "cannot read" in r.json["error"] and r.json["verdict"] == "unknown"


def test_hostile_values(check):
    """What comes from a process may have anything in it: none of it reaches the terminal."""
    found = check(b"NCCL_IB_HCA=\x1b[31m\xff\nNCCL_IB_SL=\x07\n")
    assert b"\x1b" not in found.result.raw and b"\xff" not in found.result.raw


MANY = 100000
SCRIPTS = {  # every kind of file, with as many settings as no job has
    "export.sh": lambda i: f"export NCCL_X{i}=1\n",
    "same.sh": lambda i: f"export NCCL_IB_SL={i % 3}\n",
    "variables.sh": lambda i: f"NCCL_X{i}=1\n",
    "both.sh": lambda i: f"NCCL_X{i}=1; export NCCL_X{i}\n",
    "list.yaml": lambda i: f"- NCCL_X{i}=1\n",
    "line.yaml": lambda i: ("{" if i == 0 else ", ") + f"NCCL_X{i}: 1" + ("}" if i == MANY - 1 else ""),
    "quotes.py": lambda i: "'\\'" + "\\'" * 10,
    "Dockerfile": lambda i: f"ENV NCCL_X{i}=1\n",
    "run.dockerfile": lambda i: f"RUN export NCCL_X{i}=1\n",
    "job.env": lambda i: f"NCCL_IB_X{i}=1\n",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_many_settings(ibqos, tmp_path, name):
    """Ends at all: each of these took minutes to hours where names were looked for one by one."""
    (tmp_path / name).write_text("".join(map(SCRIPTS[name], range(MANY))))
    args = ("--env-file", tmp_path / name) if name == "job.env" else (tmp_path / name,)
    ibqos("job", "check", *args, "--no-conf", "--output", "/dev/null").ok(0, 1)


def test_deep_yaml(ibqos, tmp_path):
    (tmp_path / "deep.yaml").write_text("[" * 1000000)
    r = ibqos("job", "check", tmp_path / "deep.yaml", "--no-conf", "--format", "json").ok(3)
    assert [(f["code"], f["got"]) for f in r.json["findings"]] == [("job-script-syntax", "nested deeper than 1000 levels")]


def test_stopped(ibqos, tmp_path):
    """A signal ends a check, wherever it is: here while scripts are read."""
    (tmp_path / "long.sh").write_text("export NCCL_IB_SL=1\n" * 200000)
    p = run.start([run.binary(), "job", "check", "--no-conf", "--format", "json"] + [str(tmp_path / "long.sh")] * 400,
                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        time.sleep(0.3)
        p.terminate()
        out, err = p.communicate(timeout=60)
    finally:
        run.end(p)
    assert p.returncode == 3 and b"stopped by a signal" in err and json.loads(out)["verdict"] == "unknown"


def test_pipes(ibqos, tmp_path):
    """An environment or a script as a shell's <(...) gives it; one without an end is refused, and so is a folder."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for args, text in ((("--env-file", fifo), b"NCCL_IB_SL=3\n"), (("--env-file", fifo), b"NCCL_IB_SL=3\0HOME=/\0"),
                       ((fifo,), b"export NCCL_IB_SL=3\n")):
        p = run.start(["sh", "-c", 'cat "$1" >"$2"', "sh", "/dev/stdin", str(fifo)], stdin=subprocess.PIPE)
        try:
            p.stdin.write(text)
            p.stdin.close()
            r = ibqos("job", "check", *args, "--no-conf", "--format", "json").ok(0)
        finally:
            run.end(p)
        assert [(s["name"], s["value"]) for s in r.json["settings"]] == [("NCCL_IB_SL", "3")]
    assert ibqos("job", "check", "--env-file", "/dev/null", "--no-conf", "--format", "json").ok(0).json["settings"] == []
    assert "too large" in ibqos("job", "check", "--env-file", "/dev/zero", "--no-conf").ok(3).stderr
    assert "Is a directory" in ibqos("job", "check", "--env-file", tmp_path, "--no-conf").ok(3).stderr


HOSTILE_CONF = b"\xef\xbb\xbfNCCL_IB_SL=1\r\nNCCL_IB_TC=\x0041\nNCCL_IB_HCA=\0\n\0\nNCCL_DEBUG=INFO\r\n" + b"A" * 5000 + b"=1\nNCCL_IB_SL"


def test_hostile_conf(ibqos, root):
    """NUL, CR, a byte order mark, no end: by every version what the C library leaves, nothing of it at the terminal."""
    for own in root.rglob(".nccl.conf"):
        own.unlink()
    (root / "etc/nccl.conf").write_bytes(HOSTILE_CONF)
    for version, keeps_cr in (("2.12.7", True), ("2.29.7", True), ("2.30.7", False)):
        r = ibqos("job", "check", "--env-file", "/dev/null", "--root", root, "--nccl", version, "--format", "json").ok(2)
        values = counting(r)
        assert "NCCL_IB_SL" not in values and values["NCCL_IB_TC"] == ""
        assert ("NCCL_DEBUG=INFO" in [f["what"] for f in r.json["findings"] if f["code"] == "job-value-text"]) == keeps_cr
        assert {f["code"] for f in r.json["findings"]} >= {"job-conf-key", "job-conf-line"}
        assert b"\0" not in r.raw and b"\xef\xbb\xbf" not in r.raw


def test_broken_outputs(tmp_path):
    """A reader that goes, a disk that is full: exit status 3 at least, and no signal; each command."""
    (tmp_path / "policy.yaml").write_text(policy.text(None), encoding="utf-8")
    (tmp_path / "job.env").write_text("NCCL_IB_SL=1\n")
    log = os.path.join(run.TOP, "tests", "golden", "nccl-logs", "nccl-2.28.9-default.log")
    commands = (("check", "--no-conf", "--env-file", tmp_path / "job.env"), ("log", log), ("host", "--sysfs", tmp_path),
                ("env", "--policy", tmp_path / "policy.yaml", "--class", "training"),
                ("bw-plan", "--hosts", "a,b", "--hca", "mlx5_0"), ("bw-read", log))
    for command in commands:
        argv = [run.binary(), "job", *map(str, command)]
        with open("/dev/full", "wb") as full:
            p = run.start(argv, stdout=full, stderr=subprocess.PIPE)
            err = p.communicate(timeout=60)[1]
        assert p.returncode in (2, 3) and b"No space left" in err, (command, p.returncode, err)
        read, write = os.pipe()
        os.close(read)
        p = run.start(argv, stdout=write, stderr=subprocess.PIPE)
        os.close(write)
        err = p.communicate(timeout=60)[1]
        assert p.returncode in (2, 3) and b"Broken pipe" in err, (command, p.returncode, err)
        p = run.start(argv + ["--output", "/dev/full"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert p.communicate(timeout=60)[1] and p.returncode in (2, 3), command
