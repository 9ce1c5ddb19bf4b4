# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""job check --site: the adapters that NCCL_IB_HCA takes against those of the site's fabrics."""
import itertools
import random

import pytest

SITE = """version: 1
fabrics:
  - {name: rail0, port: {ca: a}, adapters: [mlx5_0, mlx5_4]}
  - {name: rail1, port: {ca: b}, adapters: [mlx5_1, mlx5_10]}
  - {name: rail2, port: {ca: c}, adapters: ["mlx5_2:1"]}
  - {name: storage, port: {ca: d}}
"""
ALL = "=mlx5_0,mlx5_4,mlx5_1,mlx5_10,mlx5_2:1"


@pytest.fixture
def check(ibqos, tmp_path):
    """check(environment or several, *options, site=text) -> {(code, what, got)}; .result, .used"""
    class Found(set):
        pass

    def call(envs, *args, site=SITE, codes=(0, 1, 2, 3)):
        path = tmp_path / "site.yaml"
        path.write_text(site, encoding="utf-8")
        files = []
        for i, env in enumerate([envs] if isinstance(envs, str) else envs):
            file = tmp_path / f"host{i}.env"
            file.write_text(env, encoding="utf-8")
            files += ["--env-file", file]
        r = ibqos("job", "check", "--no-conf", *files, "--site", path, *args, "--format", "json").ok(*codes)
        found = Found((f["code"], f["what"], f["got"]) for f in r.json["findings"] if f["code"].startswith("job-rail"))
        found.result = r
        found.used = [x["used"] for x in r.json["rails"]] if "rails" in r.json else None
        return found

    return call


def test_as_the_site_has_it(check):
    found = check(f"NCCL_IB_HCA={ALL}\nNCCL_CROSS_NIC=0\n", codes=(0,))
    assert not found and found.used == ["all", "all", "all"]
    assert [(x["fabric"], x["adapters"]) for x in found.result.json["rails"]] == [
        ("rail0", "mlx5_0; mlx5_4"), ("rail1", "mlx5_1; mlx5_10"), ("rail2", "mlx5_2:1")]
    assert not check("NCCL_CROSS_NIC=0\n", codes=(0,))  # all are taken
    # storage is left out by '^', which is right
    assert not check("NCCL_IB_HCA=^=mlx5_9\nNCCL_CROSS_NIC=0\n", codes=(0,))


def test_names_of_no_fabric(check):
    found = check("NCCL_IB_HCA=" + ALL + ",mlx5_9,mlx5_2:2\nNCCL_CROSS_NIC=0\n", codes=(1,))
    assert {(c, g) for c, _, g in found} == {("job-rail-none", "mlx5_9"), ("job-rail-none", "mlx5_2:2")}
    # by its beginning it takes what is there
    assert not check("NCCL_IB_HCA=mlx5\nNCCL_CROSS_NIC=0\n")


def test_left_out(check):
    found = check("NCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_10\nNCCL_CROSS_NIC=0\n", codes=(1,))
    assert {(c, g) for c, _, g in found} == {("job-rail-missing", "without mlx5_4 of rail0; without mlx5_2:1 of rail2")}
    assert found.used == ["some", "all", "none"]
    # mlx5_1 without '=' takes mlx5_10 too
    assert check("NCCL_IB_HCA=mlx5_1\n").used == ["none", "all", "none"]
    assert check("NCCL_IB_HCA==mlx5_1\n").used == ["none", "some", "none"]
    assert check("NCCL_IB_HCA=^=mlx5_2:1\n").used == ["all", "all", "none"]
    assert check("NCCL_IB_HCA=^=mlx5_2:2\n").used == ["all", "all", "all"]


def test_order_is_a_note(check):
    found = check("NCCL_IB_HCA==mlx5_2,mlx5_0,mlx5_4,mlx5_1,mlx5_10\nNCCL_CROSS_NIC=0\n", codes=(0,))
    assert {(c, g) for c, _, g in found} == {("job-rail-order", "rail2; rail0; rail1")}
    # within a fabric there is none
    assert not check("NCCL_IB_HCA==mlx5_4,mlx5_1,mlx5_0,mlx5_10,mlx5_2\nNCCL_CROSS_NIC=0\n", codes=(0,))


def test_rail_numbers_of_the_newest(check):
    env = "NCCL_IB_HCA==mlx5_0:1:0,mlx5_4:1:0,mlx5_1:1:0,mlx5_10:1:0,mlx5_2:1:2\nNCCL_CROSS_NIC=0\n"
    assert {(c, g) for c, _, g in check(env, codes=(1,))} == {("job-rail-number", "number 0 of rail0 and rail1")}
    assert not check(env, "--nccl", "2.28.9")
    assert not check(env.replace("mlx5_1:1:0", "mlx5_1:1:1").replace("mlx5_10:1:0", "mlx5_10:1:1"), codes=(0,))


@pytest.mark.parametrize("value, severity", [("1", "warning"), ("2", "note"), (None, "note"), ("", "note"), ("0", None), ("0x0", None)])
def test_across_fabrics(check, value, severity):
    set_to = "" if value is None else f"NCCL_CROSS_NIC={value}\n"
    found = check(f"NCCL_IB_HCA={ALL}\n{set_to}")
    told = [(f["what"], f["severity"], f["wanted"]) for f in found.result.json["findings"] if f["code"] == "job-rail-cross"]
    what = f"NCCL_CROSS_NIC={value}" if value is not None else "NCCL_CROSS_NIC is not set"
    assert told == ([(what, severity, "NCCL_CROSS_NIC=0")] if severity else [])
    # one fabric alone has nothing to cross
    assert not [x for x in check(f"NCCL_IB_HCA==mlx5_0,mlx5_4\n{set_to}") if x[0] == "job-rail-cross"]


def test_hosts_use_different_fabrics(check):
    two, other = "NCCL_IB_HCA==mlx5_0,mlx5_1\nNCCL_CROSS_NIC=0\n", "NCCL_IB_HCA==mlx5_0\nNCCL_CROSS_NIC=0\n"
    found = check([two, other, two], codes=(1,))
    assert ("job-rail-hosts", "NCCL_IB_HCA==mlx5_0", "rail0") in found
    (f,) = [f for f in found.result.json["findings"] if f["code"] == "job-rail-hosts"]
    assert (f["severity"], f["wanted"]) == ("warning", "rail0; rail1") and f["file"].endswith("host1.env")
    assert found.used == ["some", "some", "none", "some", "none", "none", "some", "some", "none"]
    # the same fabrics by other adapters are the same fabrics
    assert not [x for x in check([two, two, "NCCL_IB_HCA==mlx5_4,mlx5_10\nNCCL_CROSS_NIC=0\n"]) if x[0] == "job-rail-hosts"]
    found = check([two, "NCCL_IB_HCA==mlx5_2\n", two], codes=(2,))
    (f,) = [f for f in found.result.json["findings"] if f["code"] == "job-rail-hosts"]
    assert (f["severity"], f["got"], f["detail"]) == ("critical", "rail2", "no fabric in common with most hosts")


def test_what_is_not_known(check, ibqos, tmp_path):
    assert {c for c, _, _ in check("NCCL_IB_HCA=mlx5\n", "--link-layer", "ethernet", codes=(3,))} == {"job-rail-unknown"}
    found = check("NCCL_IB_HCA=mlx5_0\n", site="version: 1\nall_active_ports: true\n", codes=(3,))
    assert {(c, g) for c, _, g in found} == {("job-rail-unknown", "no fabric of the site has 'adapters'")}
    script = tmp_path / "job.sh"
    script.write_text("export NCCL_IB_HCA=$(choose)\nexport NCCL_CROSS_NIC=0\n", encoding="utf-8")
    (tmp_path / "site.yaml").write_text(SITE, encoding="utf-8")
    r = ibqos("job", "check", "--no-conf", "--site", tmp_path / "site.yaml", script, "--format", "json").ok(3)
    assert [x["used"] for x in r.json["rails"]] == [None] * 3
    script.write_text("export NCCL_IB_HCA==mlx5_0,mlx5_1\nexport NCCL_CROSS_NIC=$(choose)\n", encoding="utf-8")
    r = ibqos("job", "check", "--no-conf", "--site", tmp_path / "site.yaml", script, "--format", "json").ok(3)
    assert [f["what"] for f in r.json["findings"] if f["code"] == "job-rail-unknown"] == ["NCCL_CROSS_NIC=(not known)"]
    assert "cannot read site" in ibqos("job", "check", "--no-conf", "--site", tmp_path / "none", script).ok(3).stderr


def test_adapters_of_this_host(ibqos, tmp_path):
    """An adapter for storage that is taken as nothing names the others."""
    for name in ("mlx5_0", "mlx5_2", "mlx5_7"):
        port = tmp_path / "sys" / "class" / "infiniband" / name / "ports" / "1"
        port.mkdir(parents=True)
        for key, value in (("state", "4: ACTIVE"), ("phys_state", "5: LinkUp"), ("link_layer", "InfiniBand"), ("rate", "400 Gb/sec (4X NDR)")):
            (port / key).write_text(value + "\n", encoding="ascii")
    (tmp_path / "site.yaml").write_text(SITE, encoding="utf-8")
    (tmp_path / "e").write_text("NCCL_CROSS_NIC=0\n", encoding="utf-8")

    def look(env):
        (tmp_path / "e").write_text(env + "NCCL_CROSS_NIC=0\n", encoding="utf-8")
        r = ibqos("job", "check", "--no-conf", "--site", tmp_path / "site.yaml", "--sysfs", tmp_path / "sys", "--env-file", tmp_path / "e",
                  "--format", "json").ok(0, 1)
        return [(f["what"], f["got"]) for f in r.json["findings"] if f["code"] == "job-rail-none"]

    assert look("") == [("NCCL_IB_HCA is not set", "mlx5_7:1")]
    assert look("NCCL_IB_HCA=mlx5\n") == [("NCCL_IB_HCA=mlx5", "mlx5_7:1")]
    assert look("NCCL_IB_HCA==mlx5_0,mlx5_7\n") == [("NCCL_IB_HCA==mlx5_0,mlx5_7", "mlx5_7")]  # once
    assert look("NCCL_IB_HCA=^mlx5_7\n") == []


def takes(text, name, port):
    """As NCCL's parseStringList and matchIfList are written, in a few lines."""
    inverted = text.startswith("^")
    text = text[inverted:]
    exact = text.startswith("=")
    items = [i.split(":") for i in text[exact:].split(",") if i and i[0] != ":"]
    if not items:
        return not inverted
    hit = any((name == i[0] if exact else name.startswith(i[0])) and (len(i) < 2 or i[1] == "" or int(i[1]) == port) for i in items)
    return hit != inverted


def test_against_a_model_of_the_list(check):
    rng = random.Random(11)
    adapters = {"rail0": ["mlx5_0", "mlx5_4"], "rail1": ["mlx5_1", "mlx5_10"], "rail2": ["mlx5_2:1"]}
    names = ["mlx5_0", "mlx5_1", "mlx5_10", "mlx5_2", "mlx5_2:1", "mlx5_2:2", "mlx5_4", "mlx5_4:1", "mlx5", "mlx5_3", ""]
    for _ in range(60):
        text = rng.choice(["", "^", "=", "^="]) + ",".join(rng.choices(names, k=rng.randint(1, 4)))
        used = []
        for fabric in adapters.values():
            taken = [any(takes(text, a.partition(":")[0], p) for p in ([int(a.partition(":")[2])] if ":" in a else range(1, 5)))
                     for a in fabric]
            used.append("all" if all(taken) else "some" if any(taken) else "none")
        assert check(f"NCCL_IB_HCA={text}\n").used == used, text


def test_faults_of_adapters_in_the_site_file(ibqos, tmp_path):
    path = tmp_path / "site.yaml"
    for bad, what in ((["mlx5_0:0"], "range"), (["mlx5 0"], "range"), (["a:255"], "range"), ([":1"], "range"), (["a:1:2"], "range")):
        path.write_text(f"version: 1\nfabrics:\n  - {{name: a, adapters: {bad}}}\n", encoding="utf-8")
        (f,) = ibqos("lint", "--site", path, "--format", "json").ok(2).json["findings"]
        assert (f["code"], f["line"], f["what"]) == ("site-fault", 3, "key 'adapters'") and what in f["detail"]
    for a, b in itertools.product(("m", "m:1"), repeat=2):
        path.write_text(f"version: 1\nfabrics:\n  - {{name: a, port: {{ca: x}}, adapters: ['{a}']}}\n"
                        f"  - {{name: b, port: {{ca: y}}, adapters: [other, '{b}']}}\n", encoding="utf-8")
        (f,) = ibqos("lint", "--site", path, "--format", "json").ok(2).json["findings"]
        assert (f["line"], f["what"], f["wanted"]) == (4, "key 'adapters' of fabric 'b'", "adapters that no other fabric has")
    path.write_text("version: 1\nfabrics:\n  - {name: a, port: {ca: x}, adapters: ['m:1']}\n"
                    "  - {name: b, port: {ca: y}, adapters: ['m:2', m1]}\n", encoding="utf-8")
    r = ibqos("lint", "--site", path, "--format", "json").ok(0)
    assert [f["adapters"] for f in r.json["fabrics"]] == ["m:1", "m:2; m1"]
