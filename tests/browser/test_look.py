# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""How a page looks and reads: themes, paper, without JavaScript, by keyboard, for a screen reader."""
import base64
import pathlib

import pytest
from selenium.webdriver.common.keys import Keys

from kit import looks, policy, run

LIGHTNESS = "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number).reduce((a, b) => a + b) / 765"

# [text, contrast] of all text that is shown, the worst first (WCAG 2.2, 1.4.3)
CONTRAST = """
const part = (x) => (x /= 255, x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
const behind = (element) => {
    for (; element; element = element.parentElement) {
        const colour = numbers(getComputedStyle(element).backgroundColor);
        if (colour.length === 3 || colour[3] === 1) return colour;
        if (colour[3] !== 0) throw new Error("half transparent: " + element.outerHTML);
    }
    return [255, 255, 255];
};
const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walk.nextNode()) {
    const element = walk.currentNode.parentElement;
    if (walk.currentNode.data.trim() === "" || !element.checkVisibility()) continue;
    const text = light(numbers(getComputedStyle(element).color)), back = light(behind(element));
    found.push([walk.currentNode.data.trim().slice(0, 60), (Math.max(text, back) + 0.05) / (Math.min(text, back) + 0.05)]);
}
return found.sort((a, b) => a[1] - b[1]);
"""


LENGTH = "return document.querySelector('#t-links').tBodies[0].rows.length"
FIRST = "return document.querySelector('#t-links').tBodies[0].rows[0].cells[3].textContent"


def lightness(b):
    return b.js(LIGHTNESS)


@pytest.mark.parametrize("dark", [False, True])
def test_theme(chromium, page, dark):
    b = chromium(dark=dark).open(page("findings", 300))
    assert lightness(b) < 0.2 if dark else lightness(b) > 0.9
    first = b.shot("dark" if dark else "light")
    toggle = b.one("button.theme")
    assert toggle.get_attribute("aria-pressed") == str(dark).lower()
    toggle.click()
    assert lightness(b) > 0.9 if dark else lightness(b) < 0.2
    assert toggle.get_attribute("aria-pressed") == str(not dark).lower()
    second = b.shot("dark-by-choice" if not dark else "light-by-choice")
    b.js("arguments[0].focus()", toggle)
    b.keys(Keys.SPACE)
    assert lightness(b) < 0.2 if dark else lightness(b) > 0.9
    for shot, is_dark in ((first, dark), (second, not dark)):
        colours, most, light = b.pixels(shot)
        assert colours > 30 and 0.3 < most < 0.97, (colours, most)
        assert light < 0.35 if is_dark else light > 0.75


@pytest.mark.parametrize("what", [("findings", 300), ("rows", 1200)])
def test_contrast(chromium, page, what):
    b = chromium().open(page(*what))
    for _ in range(2):
        texts = b.js(CONTRAST)
        assert len(texts) > 100 and texts[0][1] >= 4.5, texts[:5]
        b.one("button.theme").click()
    b.one("button.theme").click()
    assert lightness(b) < 0.2 and b.js(CONTRAST)[0][1] >= 4.5


def test_paper(chromium, page):
    b = chromium(dark=True).open(page("rows", 2750))
    b.emulate("print", dark=True)
    gone = b.js("return [...document.querySelectorAll('input, .pager, .theme, nav, .skip')].filter(e => e.checkVisibility()).length")
    rows = b.js(LENGTH)
    lines = b.js("return [...document.querySelectorAll('.rest pre')].filter(e => e.checkVisibility()).map(e => e.textContent.trimEnd().split('\\n').length)")
    assert (gone, rows, lines) == (0, 500, [1000, 1000, 250])
    assert lightness(b) > 0.9, "ink for a dark page"
    pdf = base64.b64decode(b.driver.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert pdf.startswith(b"%PDF") and pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") > 30
    b.emulate("", dark=True)
    assert not b.one(".rest").is_displayed() and b.one(".pager").is_displayed()
    # what a filter leaves, all of it; and it is said
    b.one(".controls input").send_keys("mlx5_0")
    run.deadline(30, "the filter", lambda: "344 of" in b.one(".controls .status").text)
    b.emulate("print")
    run.deadline(30, "paper", lambda: b.js(LENGTH) == 344)
    assert not b.one(".rest").is_displayed()
    assert b.one(".controls .status").text == "344 of 2,750 rows"
    b.emulate()
    b.one(".controls input").send_keys(Keys.BACKSPACE)
    run.deadline(30, "the filter", lambda: "2,750 of" in b.one(".controls .status").text)
    b.one(".pager").find_element("xpath", "button[3]").click()
    assert b.js(FIRST) == "gpu-63 mlx5_4"
    b.emulate("print")
    run.deadline(30, "paper", lambda: b.js(FIRST) == "gpu-1 mlx5_0")
    b.emulate()
    run.deadline(30, "the screen again", lambda: b.js(FIRST) == "gpu-63 mlx5_4")
    assert b.js(LENGTH) == 500


def test_without_script(chromium, page):
    b = chromium(script=False).open(page("findings", 1200))
    assert "js" not in (b.one("html").get_attribute("class") or "") and b.all("button, input") == []
    assert len(b.all("#t-findings tbody tr")) == 500
    rest = b.one(".rest")
    assert rest.is_displayed() and "1200 rows" in rest.text
    lines = [line for pre in b.all(".rest pre") for line in pre.get_attribute("textContent").splitlines()]
    assert len(lines) == 700 and all(len(line.split("\t")) == 11 for line in lines)
    assert len(b.all("article.finding")) == 402 and b.all("article.finding")[0].is_displayed()
    assert b.one("header .verdict").text.startswith("verdict: critical (400 critical")
    assert b.one("#t-findings th:first-child").text == "group"
    colours, most, _ = chromium().pixels(b.shot("without-script"))
    assert colours > 30 and most < 0.97


def test_keyboard(chromium, page):
    b = chromium().open(page("findings", 300))
    b.keys(Keys.TAB)
    skip = b.one(".skip")
    assert b.driver.switch_to.active_element == skip and skip.rect["x"] >= 0
    b.keys(Keys.ENTER)
    assert b.js("return document.activeElement.id") == "main"
    reached, unseen = set(), []
    for _ in range(60):
        b.keys(Keys.TAB)
        name, outline = b.js("const e = document.activeElement, s = getComputedStyle(e);"
                             "return [e.className || e.type || e.textContent, s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2]")
        if b.js("return document.activeElement === document.body"):
            break  # the end
        reached.add(name)
        unseen += [] if outline else [name]
    assert {"search", "checkbox", "members"} <= reached and unseen == []


NAMED = {"button", "checkbox", "searchbox", "textbox", "link", "region", "navigation", "combobox", "group"}


@pytest.mark.parametrize("what", [("findings", 300), ("rows", 1200)])
def test_names_and_headings(chromium, page, what):
    b = chromium().open(page(*what))
    tree = b.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    nodes = [(n["role"]["value"], n.get("name", {}).get("value", "").strip()) for n in tree if not n["ignored"] and "role" in n]
    roles = {role for role, _ in nodes}
    assert {"button", "searchbox", "region", "main", "banner"} <= roles
    assert [n for n in nodes if n[0] in NAMED and not n[1]] == []
    levels = b.js("return [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].filter(e => e.checkVisibility()).map(e => Number(e.tagName[1]))")
    assert levels[0] == 1 and levels.count(1) == 1 and all(b <= a + 1 for a, b in zip(levels, levels[1:]))
    ids = b.js("return [...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids)) and "" not in ids
    assert b.js("return [document.documentElement.lang, document.title]") == ["en", "critical: ibqos page"]
    assert b.js("return [...document.querySelectorAll('nav a, a.members')].every(a => document.querySelector(a.hash))")
    assert b.js("return [...document.querySelectorAll('th')].every(th => th.scope === 'col')")


OVERLAPS = """
const cells = [...document.querySelectorAll("#hi-table td svg")].map(svg => [svg.getBoundingClientRect(), svg.parentElement.getBoundingClientRect()]);
return [cells.length, cells.filter(([svg, cell]) => svg.right > cell.right + 1).length];
"""


def test_what_a_page_of_a_fabric_looks_like(chromium, up):
    """Contents in one line each, columns of findings that say something, pictures within their cells: on the screen and on paper."""
    f, sm = up(**looks.SHAPE)
    errors = looks.at(looks.LEAF, f"attr=PortCounters : grow SymbolErrorCounter=0.5/s since={looks.T0}")
    pages = {"plan": ("plan", policy.write(f, sm))}
    look = looks.Look(f, pathlib.Path(f.dir))
    look(looks.T0, looks.DATA, errors).ok(0, 1, 2)
    look(looks.T0 + 30 * looks.HOUR, looks.DATA, errors).ok(2)
    html = look(looks.T0 + 31 * looks.HOUR, looks.DATA, errors, args=("--format", "html")).ok(2).raw
    for name, data in (("audit", html), ("plan", f.ibqos(*pages["plan"], "--format", "html").ok(0).raw)):
        page = pathlib.Path(f.dir).parent / f"{name}.html"
        page.write_bytes(data)
        for size in ((1400, 900), (420, 900)):
            b = chromium(size=size).open(page)
            lines = b.js("return [...document.querySelectorAll('nav li')].map(li => li.offsetHeight / parseFloat(getComputedStyle(li).lineHeight))")
            assert len(lines) > 8 and max(lines) < 1.5
            wide = b.js("return [...document.querySelectorAll('main *, nav')].filter(e => e.getBoundingClientRect().right > innerWidth && "
                        "!e.parentElement.closest('.wide, .fig-scroll, figure, pre, nav')).map(e => e.outerHTML.slice(0, 200))")
            assert b.js("return document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0, (name, size, wide)
            if name == "audit":
                heads = [th.text for th in b.all("#t-findings th") if th.is_displayed()]
                assert "first seen \u2195" in heads or "first seen" in heads
                assert not any(h.startswith("class") for h in heads), heads
                assert b.js(OVERLAPS) == [2, 0] and b.one(".fm-told").text.startswith("Point at a cell")
                b.emulate("print")
                assert b.js(OVERLAPS) == [2, 0]
                assert not any(e.is_displayed() for e in b.all(".controls button, .controls input"))
            b.shot(f"{name}-{size[0]}")
