# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""job host: a host's adapters in a folder that looks like sysfs."""
import pytest


class Sysfs:
    """Eight rails of 400 Gb/s on PCIe 5.0 x16, all well."""

    def __init__(self, root, rails=8):
        self.root = root
        for n in range(rails):
            self.hca(f"mlx5_{n}")
        for module in ("nvidia", "nvidia_peermem"):
            (root / "module" / module).mkdir(parents=True)

    def hca(self, name, layer="InfiniBand", rate="400 Gb/sec (4X NDR)"):
        for path, text in (("hca_type", "MT4129"), ("board_id", "MT_0000000838"), ("fw_ver", "28.39.1002"),
                           ("device/current_link_speed", "32.0 GT/s PCIe"), ("device/current_link_width", "16"),
                           ("device/max_link_speed", "32.0 GT/s PCIe"), ("device/max_link_width", "16"),
                           ("ports/1/state", "4: ACTIVE"), ("ports/1/phys_state", "5: LinkUp"), ("ports/1/rate", rate),
                           ("ports/1/link_layer", layer), ("ports/1/lid", "0x21"), ("ports/1/sm_lid", "0x1"),
                           ("ports/1/pkeys/0", "0xffff"), ("ports/1/pkeys/1", "0x0000")):
            self.set(name, path, text)

    def set(self, name, path, text):
        file = self.root / "class" / "infiniband" / name / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")


@pytest.fixture
def sysfs(tmp_path):
    return Sysfs(tmp_path / "sys")


@pytest.fixture
def host(ibqos, sysfs):
    def call(*args, code):
        r = ibqos("job", "host", "--sysfs", sysfs.root, *args, "--format", "json").ok(code)
        return [(f["code"], f["severity"], f["what"], f["wanted"], f["got"], f["detail"]) for f in r.json["findings"]]

    return call


def test_all_well(host, sysfs, ibqos):
    assert not host(code=0)
    assert not host("--adapters", "8", "--rate", "400", "--hca", "=mlx5_0,mlx5_7:1", code=2)[1:]  # two of eight adapters count
    r = ibqos("job", "host", "--sysfs", sysfs.root, "--format", "json").ok(0)
    assert len(r.json["ports"]) == 8 and r.json["peermem"] is True
    assert r.json["ports"][3] == {"adapter": "mlx5_3", "port": 1, "link_layer": "InfiniBand", "state": "ACTIVE", "lid": 33,
                                  "rate": "400 Gb/sec (4X NDR)", "pcie_gbps": 504.123, "type": "MT4129", "firmware": "28.39.1002"}


def test_port_down(host, sysfs):
    sysfs.set("mlx5_3", "ports/1/state", "1: DOWN")
    sysfs.set("mlx5_3", "ports/1/phys_state", "2: Polling")
    down = ("mlx5_3:1", "ACTIVE", "DOWN, physically Polling", None)
    assert host(code=1) == [("job-host-port", "warning", *down)]
    assert host("--hca", "mlx5", code=2) == [("job-host-port", "critical", *down)]
    assert not host("--hca", "^=mlx5_3", code=0)
    assert host("--adapters", "8", code=2)[0] == ("job-host-adapters", "critical", "infiniband", "8 with an active port", "7 of 8", None)


def test_no_subnet_manager(host, sysfs):
    sysfs.set("mlx5_0", "ports/1/state", "2: INIT")
    assert host(code=2) == [("job-host-port", "critical", "mlx5_0:1", "ACTIVE", "INIT, physically LinkUp",
                             "the link is up: no subnet manager has set it up")]


def test_rates(host, sysfs):
    sysfs.set("mlx5_5", "ports/1/rate", "200 Gb/sec (4X HDR)")
    assert host(code=2) == [("job-host-rate", "critical", "mlx5_5:1", "400 Gb/s, as mlx5_0:1 has", "200 Gb/sec (4X HDR)", None)]
    assert not host("--rate", "200", code=0)
    assert len(host("--rate", "800", code=2)) == 8
    sysfs.set("mlx5_5", "hca_type", "MT4123")  # of another kind: nothing to compare it with
    assert not host(code=0)
    sysfs.set("mlx5_5", "ports/1/rate", "100 Gb/sec (1X NDR)")
    assert host(code=1)[0][:3] == ("job-host-rate", "warning", "mlx5_5:1")
    sysfs.set("mlx5_5", "ports/1/rate", "200 Gb/sec (2X NDR)")
    assert host(code=0)[0][:3] == ("job-host-rate", "note", "mlx5_5:1")
    sysfs.set("mlx5_5", "ports/1/rate", "")
    assert host(code=3) == [("job-host-unread", "unknown", "mlx5_5:1", None, "no rate: not told", None)]


def test_pcie(host, sysfs):
    sysfs.set("mlx5_2", "device/current_link_width", "8")
    assert host(code=2) == [("job-host-pcie", "critical", "mlx5_2", "400 Gb/s for its ports", "32 GT/s x8: 252.1 Gb/s",
                             "the adapter can do 32 GT/s x16")]
    sysfs.set("mlx5_2", "device/max_link_width", "8")
    assert host(code=2)[0][5] is None  # the adapter itself is too narrow
    sysfs.set("mlx5_2", "device/current_link_width", "16")
    sysfs.set("mlx5_2", "device/max_link_width", "16")
    sysfs.set("mlx5_2", "device/max_link_speed", "64.0 GT/s PCIe")
    assert host(code=0)[0][:3] == ("job-host-pcie", "note", "mlx5_2")  # it could be faster, and need not
    sysfs.set("mlx5_2", "device/current_link_speed", "Unknown")
    assert host(code=0)[0][:3] == ("job-host-unread", "note", "mlx5_2")


def test_two_ports_of_one_adapter(host, sysfs):
    """Both need PCIe."""
    for path, text in (("state", "4: ACTIVE"), ("phys_state", "5: LinkUp"), ("rate", "400 Gb/sec (4X NDR)"), ("pkeys/0", "0xffff"),
                       ("link_layer", "InfiniBand"), ("lid", "0x1"), ("sm_lid", "0x1")):
        sysfs.set("mlx5_0", f"ports/2/{path}", text)
    assert host(code=2)[0][2:5] == ("mlx5_0", "800 Gb/s for its ports", "32 GT/s x16: 504.1 Gb/s")
    assert not host("--hca", "mlx5_0:1", code=0)


def test_firmware(host, sysfs):
    sysfs.set("mlx5_4", "fw_ver", "28.36.1010")
    assert host(code=1) == [("job-host-firmware", "warning", "mlx5_4", "28.39.1002, as mlx5_0 has", "28.36.1010", None)]
    sysfs.set("mlx5_4", "board_id", "DEL0000000001")
    assert not host(code=0)


def test_pkeys(host, sysfs):
    for n in range(8):
        sysfs.set(f"mlx5_{n}", "ports/1/pkeys/1", "0x8001")
    assert not host("--pkey-index", "1", code=0)
    sysfs.set("mlx5_1", "ports/1/pkeys/1", "0x0001")
    assert host("--pkey-index", "1", code=2)[0] == (
        "job-pkey-index", "critical", "mlx5_1:1", "a full member at index 1", "0x0001, a limited member", "index 0 has 0xffff")
    assert {f[4] for f in host("--pkey-index", "2", code=2)} == {"a table of 2 entries"}
    sysfs.set("mlx5_1", "ports/1/pkeys/1", "0x0000")
    assert host("--pkey-index", "1", code=2)[0][4] == "an empty entry"


def test_peermem(host, sysfs):
    (sysfs.root / "module/nvidia_peermem").rmdir()
    assert [f[:3] for f in host(code=0)] == [("job-host-peermem", "note", "nvidia_peermem")]
    (sysfs.root / "module/nvidia").rmdir()
    assert not host(code=0)


def test_ethernet_beside_it(host, sysfs):
    sysfs.hca("mlx5_8", layer="Ethernet", rate="25 Gb/sec (1X EDR)")
    assert not host(code=0)
    assert host("--link-layer", "ethernet", code=1)[0][:3] == ("job-host-rate", "warning", "mlx5_8:1")


def test_no_adapter(ibqos, tmp_path):
    r = ibqos("job", "host", "--sysfs", tmp_path, "--format", "json").ok(2)
    assert [(f["code"], f["got"]) for f in r.json["findings"]] == [("job-host-adapters", "0 of 0")]
    (tmp_path / "class").write_text("")
    assert "cannot read" in ibqos("job", "host", "--sysfs", tmp_path).ok(3).stderr
    for args in (("--rate", "0"), ("--adapters", "x"), ("--pkey-index", "65536"), ("extra",)):
        ibqos("job", "host", *args).ok(3)


def check(ibqos, sysfs, tmp_path, env, *args, code):
    (tmp_path / "env").write_text(env)
    r = ibqos("job", "check", "--env-file", tmp_path / "env", "--no-conf", "--sysfs", sysfs.root, *args, "--format", "json").ok(code)
    return r, [(f["code"], f["what"], f["got"]) for f in r.json["findings"]]


def test_environment_against_the_host(ibqos, sysfs, tmp_path):
    for n in range(8):
        sysfs.set(f"mlx5_{n}", "ports/1/pkeys/1", "0x8001" if n else "0x0001")
    assert check(ibqos, sysfs, tmp_path, "NCCL_IB_HCA==mlx5_1\nNCCL_IB_PKEY=1\n", code=0)[1] == []
    assert check(ibqos, sysfs, tmp_path, "NCCL_IB_PKEY=1\n", code=2)[1] == [
        ("job-pkey-index", "NCCL_IB_PKEY=1", "a limited member of the 2 entries of mlx5_0:1")]
    assert check(ibqos, sysfs, tmp_path, "NCCL_IB_PKEY=5\n", code=2)[1] == [
        ("job-pkey-index", "NCCL_IB_PKEY=5", "none of the 2 entries of mlx5_0:1")]
    assert [c for c, *_ in check(ibqos, sysfs, tmp_path, "NCCL_IB_HCA==mlx5_00\n", code=2)[1]] == ["job-hca-none"]
    sysfs.set("mlx5_0", "ports/1/pkeys/0", "0x7fff")
    assert check(ibqos, sysfs, tmp_path, "", code=2)[1] == [
        ("job-pkey-index", "NCCL_IB_PKEY, 0 by default", "a limited member of the 2 entries of mlx5_0:1")]


def test_link_layer_of_the_host(ibqos, tmp_path):
    sysfs = Sysfs(tmp_path / "roce", rails=0)
    sysfs.hca("mlx5_0", layer="Ethernet")
    assert check(ibqos, sysfs, tmp_path, "", code=0)[0].json["link_layer"] == "ethernet"
    assert check(ibqos, sysfs, tmp_path, "", "--link-layer", "ib", code=0)[0].json["link_layer"] == "infiniband"
    sysfs.hca("mlx5_1")  # both: not told by the host
    assert check(ibqos, sysfs, tmp_path, "", code=0)[0].json["link_layer"] == "infiniband"


UNKNOWN = {"ports/1/state": 3, "ports/1/rate": 3, "ports/1/link_layer": 3, "ports/1/pkeys/0": 3, "ports/1/sm_lid": 1,
           "device/current_link_speed": 0, "device/current_link_width": 0}


@pytest.mark.parametrize("content", [None, "", "no number\x00\x1b[31m", "-1", "99999999999999999999"], ids=str)
@pytest.mark.parametrize("path", UNKNOWN)
def test_files_that_do_not_tell(ibqos, sysfs, path, content):
    """What is missing or cannot be is never clean: unknown, or worse; PCIe, which virtual functions do not tell, a note."""
    sysfs.set("mlx5_3", path, content or "")
    if content is None:
        (sysfs.root / "class/infiniband/mlx5_3" / path).unlink()
    r = ibqos("job", "host", "--sysfs", sysfs.root, "--format", "json").ok(0, 1, 2, 3)
    assert b"\x1b" not in r.raw and b"\0" not in r.raw
    found = [f for f in r.json["findings"] if f["what"].startswith("mlx5_3")]
    if content in (None, "", "no number\x00\x1b[31m"):
        assert r.json["exit"] == UNKNOWN[path] and found
    elif "sm_lid" not in path and "device" not in path:
        assert r.json["exit"] in (2, 3) and (found or path == "ports/1/rate")
