# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The pictures in headless Chromium: what is shown in which view, told of a cell, in both themes, on paper, without JavaScript; a
fabric of 11,664 hosts."""
import re

import pytest
from selenium.webdriver.common.keys import Keys

from kit import figures

SHOWN = "return [...document.querySelectorAll('.fm .v')].filter(e => getComputedStyle(e).display !== 'none').map(e => e.classList[e.classList.length - 1])"
# lightness of the stroke of some class of cells
STROKE = ("return getComputedStyle(document.querySelector('.fm ' + arguments[0])).stroke.match(/[\\d.]+/g).slice(0, 3).map(Number)"
          ".reduce((a, b) => a + b) / 765")


@pytest.mark.parametrize("script", [True, False])
def test_views(chromium, page, script):
    b = chromium(script=script).open(page("fabric", 6))
    for view in figures.VIEWS:
        b.one(f"label[for=fm-{view}]").click()
        assert set(b.js(SHOWN)) == {f"v-{view}"}
    assert bool(b.all("svg.fm-s[tabindex]")) == script
    assert len(b.all("svg#tp-all .tp-n")) == 45 and len(b.all("svg#tp-all .tp-e")) == 108
    assert not b.js("return document.querySelector('#fm-table').checkVisibility()")
    b.one(".fm > .fig-table > summary").click()
    assert b.js("return document.querySelector('#fm-table').checkVisibility()") and len(b.all("#fm-table tbody tr")) == 45


def test_what_is_told_of_a_cell(chromium, page):
    """Each cell of one row by the keyboard, and one by the mouse: what stands in the data is told."""
    path = page("fabric", 6)
    with open(path, encoding="utf-8") as f:
        drawn = figures.Ports(figures.read(f.read()))
    b = chromium().open(path)
    svg, told = b.all("svg.fm-s")[0], b.one(".fm-told")
    assert told.get_attribute("aria-live") == "polite"
    b.js("arguments[0].focus()", svg)
    guid, name, peers = drawn.guids[0], drawn.names[0], drawn.peers()
    for port in range(1, 7):
        b.keys(Keys.ARROW_RIGHT)
        peer, there = peers[guid, port]
        said = told.text
        assert said.startswith(f"{name}[{port}] to {peer}[{there}]: "), said
        assert drawn.legend["findings"][drawn.cells["findings"][guid, port]][0] in said
        assert drawn.legend["errors"][drawn.cells["errors"][guid, port]][0] in said
    b.keys(Keys.ARROW_RIGHT)  # there is no seventh
    assert told.text == said
    b.keys(Keys.ARROW_DOWN)
    assert told.text.startswith(f"{drawn.names[1]}[6] to ")
    for _ in range(6):
        b.keys(Keys.ARROW_LEFT)
    assert told.text == f"{drawn.names[1]} as a whole: no finding"
    b.js("const r = arguments[0].getBoundingClientRect(); arguments[0].dispatchEvent(new MouseEvent('mousemove', "
         "{bubbles: true, clientX: r.left + 166 + 2 * 11 + 5, clientY: r.top + 16 + 2 * 12 + 6}))", svg)
    assert told.text.startswith(f"{drawn.names[2]}[3] to ")
    assert len(b.all(".fm-at")) == 1


def test_themes_and_paper(chromium, page):
    path = page("fabric", 12)
    light, dark = chromium().open(path), chromium(dark=True).open(path)
    for cells in ("path.k-crit", "path.k-warn", "path.k-what", "path.k-ok"):
        assert light.js(STROKE, cells) < 0.5 < dark.js(STROKE, cells), cells
    for b, name in ((light, "light"), (dark, "dark")):
        b.js("document.querySelector('.tp').scrollIntoView()")
        b.shot(f"topology-{name}")
        b.js("document.querySelector('.fm').scrollIntoView()")
        b.shot(f"ports-{name}")
    dark.emulate("print", dark=True)
    assert dark.js(STROKE, "path.k-crit") < 0.5
    assert not dark.one(".fm-told").is_displayed() and not dark.one("label[for=fm-speed]").is_displayed()
    assert set(dark.js(SHOWN)) == {"v-findings"}


def test_no_sign_is_colour_alone(chromium, page):
    """Each class of cells differs from each other one in its sign or in the height of its stroke; lines with findings are thick."""
    b = chromium().open(page("fabric", 12))
    for view in ("findings", "waiting", "errors"):
        looks = b.js("return [...document.querySelectorAll('ul.v-" + view + " li')].map(li => { const c = li.querySelector('.c'), s = "
                     "getComputedStyle(c); return [s.strokeWidth, s.strokeDasharray, li.querySelector('.sign').getAttribute('d')] })")
        assert len(looks) >= 3 and len({tuple(x) for x in looks}) == len(looks), looks
    widths = dict(b.js("return [...document.querySelectorAll('.tp-e path.tp-l')].map(p => [p.classList[p.classList.length - 1], "
                       "parseFloat(getComputedStyle(p).strokeWidth)])"))
    assert widths["k-ok"] < widths["k-crit"] and widths["k-ok"] < widths["k-warn"]


def test_each_picture_has_a_name(chromium, page):
    b = chromium().open(page("fabric", 12))
    tree = b.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    images = [n.get("name", {}).get("value", "") for n in tree if not n["ignored"] and n.get("role", {}).get("value") in ("image", "img")]
    assert len(images) >= len(b.all("svg[role=img]")) > 3 and all(images)


def test_names_that_mean_harm(chromium, page, tmp_path):
    names = ["<script>window.pwned=1</script>", "'\"><img src=x onerror=window.pwned=1>", "</div><svg onload=window.pwned=1>", "a\tb\nc",
             "</title><script>window.pwned=1</script>", "x" * 60]
    path = tmp_path / "names"
    path.write_bytes("\0".join(names).encode() + b"\0")
    b = chromium().open(page("fabric", 6, path))
    b.js("arguments[0].focus()", b.all("svg.fm-s")[0])
    b.keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    assert b.one(".fm-told").text and b.js("return window.pwned") is None and b.all("figure img") == [] and b.all("figure script") == []


def test_the_largest_fabric(chromium, page):
    """1,620 switches of 36 ports, 11,664 hosts, all views and 595 findings."""
    path = page("fabric", 36)
    size = path.stat().st_size
    assert size < 15_000_000, size
    b = chromium().open(path)
    assert b.js("return document.querySelectorAll('*').length") < 60_000
    assert b.js("return [...document.querySelectorAll('svg.fm-s')].length") >= 27
    legend = dict(re.findall(r"^(.*): ([\d,]+)$", "\n".join(x.text for x in b.all("ul.v-findings li")), re.M))
    assert sum(int(v.replace(",", "")) for v in legend.values()) == 58_320
    squares = b.js("return [...document.querySelectorAll('#tp-map path.c')].map(p => (p.getAttribute('d').match(/M/g) || []).length)")
    assert sum(squares) == 1620
    assert len(b.all("#tp-map [data-pod]")) == 36
    b.js("document.querySelectorAll('svg.fm-s')[20].scrollIntoView()")
    b.js("arguments[0].focus()", b.all("svg.fm-s")[20])
    b.keys(Keys.ARROW_RIGHT)
    assert re.match(r"\S+\[1\] to \S+\[\d+\]: ", b.one(".fm-told").text)
