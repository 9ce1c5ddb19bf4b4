# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A page of a site, by workers that each drew their fabric: in headless Chromium, and held against the pages of each fabric alone."""
import re

import pytest
from selenium.webdriver.common.keys import Keys

from kit import figures, policy
from kit.page import Page
from kit.sites import Site
from tools import netgen_rails as gen

SHAPE = dict(leaves=2, spines=1, uplinks=1, switch_ports=8, speed="EDR")
RAILS = ("rail0", "rail1")


@pytest.fixture
def site(up, tmp_path):
    nets = gen.site(gen.members(gen.hosts("gpu-", 4), range(2)), **SHAPE)
    fabrics = {name: up(net=net)[0] for name, net in zip(RAILS, nets)}
    leaf = next(n for n in nets[1].switches if 1 in n.cables and n.cables[1].peer(n)[0].kind == "ca")
    fabrics["rail1"].rules(f"node={leaf.name} port=1 attr=PortInfo : set LinkWidthActive=1")
    text = tmp_path / "policy.yaml"
    text.write_text(policy.text(None), encoding="utf-8")
    return Site(tmp_path, fabrics, more={"policy": str(text)})


def pictures(text, name=None):
    """{key: markup} of a page, names of places as they are on a page of that fabric alone."""
    start = f'<section id="r-{name}--' if name else '<section id="r-'
    found = {m[1]: m[2] for m in re.finditer(re.escape(start) + r'(figure_\w+)">.*?<figure>\n(.*?)\n</figure>', text, re.S)}
    return {k: v.replace(f"{name}--", "") for k, v in found.items()} if name else found


@pytest.mark.parametrize("args", [("audit",), ("plan",), ("discover",)], ids=lambda a: a[0])
def test_each_fabric_has_its_pictures(site, args):
    together = site.ibqos(*args, "--format", "html").ok(0, 1, 2, 3).stdout
    Page(together)
    for name, fabric in site.fabrics.items():
        words = [args[0], f"{site.dir}/policy.yaml", *args[1:]] if args[0] == "plan" else args
        alone = fabric.ibqos(*words, "--format", "html").ok(0, 1, 2, 3).stdout
        mine, its = pictures(together, name), pictures(alone)
        assert mine == its and {"figure_topology", "figure_ports"} <= set(mine) and ("figure_shares" in mine) == (args[0] == "plan")
        figures.Ports(figures.read(mine["figure_ports"]))
    ids = re.findall(r' id="([^"]*)"', together)
    assert len(ids) == len(set(ids))


def test_views_and_what_is_told_by_fabric(site, chromium, tmp_path):
    path = tmp_path / "site.html"
    path.write_bytes(site.ibqos("audit", "--format", "html").ok(2).raw)
    b = chromium().open(path)
    shown = "return [...document.querySelectorAll('#r-' + arguments[0] + '--figure_ports ul.v')].filter(e => e.checkVisibility()).map(e => e.classList[2])"
    b.one("label[for=rail1--fm-speed]").click()
    assert b.js(shown, "rail0") == ["v-findings"] and b.js(shown, "rail1") == ["v-speed"]
    for name in RAILS:
        svg = b.all(f"#r-{name}--figure_ports svg.fm-s")[0]
        b.js("arguments[0].focus()", svg)
        b.keys(Keys.ARROW_RIGHT)
        told = b.one(f"#r-{name}--figure_ports .fm-told").text
        assert told.split("[")[0].endswith(f"-r{name[-1]}") and ("critical" in told) == (name == "rail1"), told
    rows = b.js("return [...document.querySelectorAll('#t-summary tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
    assert [r[:2] for r in rows] == [["rail0", "clean"], ["rail1", "critical"]]
    first = b.js("return [...document.querySelectorAll('main h2')].map(e => e.textContent)")
    assert first[:2] == ["fabrics", "findings"] and first[2:6] == ["rail0: topology", "rail0: ports of switches", "rail1: topology", "rail1: ports of switches"]
    b.shot("site")
