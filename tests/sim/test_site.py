# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Many fabrics at once: a simulated rail each with an OpenSM of its own, one run of ibqos, what it says by rail."""
import json
import os
import signal
import subprocess

import pytest

from kit import run
from kit.sites import Site
from tools import netgen

POLICY = """version: 1
classes:
  - {name: training, sl: 1, share: 70%}
  - {name: other, sl: 0, share: 30%, default: true}
"""


def rail(number, hosts=2):
    """A fabric of two hosts and a switch, with GUIDs that no other rail has."""
    net = netgen.Net()
    leaf = net.add_switch("leaf", f"rail{number}-leaf", guid=0xB83FD20300000100 + (number + 1) * 0x100000)
    for h in range(hosts):
        net.add_ca(f"gpu-{h + 1}", f"gpu-{h + 1} mlx5_{number}", guid=0x0C42A10300000010 + (number + 1) * 0x100000 + h * 16)
    for h in range(hosts):
        net.connect(f"gpu-{h + 1}", 1, leaf.name, h + 1)
    return net


@pytest.fixture
def rails(up, tmp_path):
    """Factory: rails(3) -> Site of rail0, rail1, rail2, all up; more and own as of Site."""

    def start(count, more=None, own=None, names=None):
        fabrics = {n: up(net=rail(i))[0] for i, n in enumerate(names or [f"rail{i}" for i in range(count)])}
        return Site(tmp_path, fabrics, more, own)

    return start


def by_fabric(r):
    return {f["fabric"]: f for f in r.json["fabrics"]}


def found(r):
    return sorted({(f["fabric"], f["code"]) for f in r.json["findings"]})


def test_faults_are_told_by_rail(rails):
    site = rails(3)
    site.fabrics["rail1"].rules("node=gpu-1 port=1 attr=PortInfo : set LinkWidthActive=1")
    site.fabrics["rail2"].rules("node=gpu-2 attr=PortInfo : drop")
    r = site.ibqos("audit", "--format", "json").ok(2)
    assert [f["fabric"] for f in r.json["fabrics"]] == ["rail0", "rail1", "rail2"]
    print(found(r))
    print(r.stdout)
    assert 0
