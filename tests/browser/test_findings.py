# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The findings and tables of a page: filter, severities, order, pages, groups."""
import pytest
from selenium.webdriver.common.keys import Keys

from kit import run

ROWS = "#t-findings tbody tr"
CARDS = "article.finding:not([hidden])"


def column(b, number, table="t-findings"):
    return b.js("return [...document.getElementById(arguments[0]).tBodies[0].rows].map(r => r.cells[arguments[1]].textContent)", table, number)


def settle(b, selector, count):
    run.deadline(30, f"{count} of {selector}", lambda: len(b.all(selector)) == count)


def status(b):
    return b.one("#findings-controls .status").text


def test_counts(chromium, page):
    b = chromium().open(page("findings", 300))
    assert b.one("h1").text == "ibqos page"
    assert b.one("header .verdict").text == "verdict: critical (100 critical, 100 unknown, 100 warnings)"
    assert status(b) == "300 of 300 findings, 102 of 102 groups"
    assert len(b.all(ROWS)) == 300 and len(b.all(CARDS)) == 102
    assert set(column(b, 1)) == {"critical", "unknown", "warning"}
    assert [x.text for x in b.all("#findings-controls label")[1:]] == ["critical (100)", "unknown (100)", "warning (100)"]


def test_filter(chromium, page):
    b = chromium().open(page("findings", 300))
    field = b.one("#findings-controls input[type=search]")
    field.send_keys("GPU-296 sl2vl")  # each word, cases alike; the place is not named in its group's text
    settle(b, ROWS, 0)
    field.clear()
    field.send_keys("GPU-295 VL")
    settle(b, ROWS, 1)
    assert "gpu-295[1] 0x" in column(b, 2)[0]
    settle(b, CARDS, 1)
    assert status(b) == "1 of 300 findings, 1 of 102 groups"
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys(Keys.BACKSPACE)
    settle(b, ROWS, 300)
    settle(b, CARDS, 102)
    field.send_keys("reload OpenSM twice")  # of an advice, which only the group has
    settle(b, CARDS, 1)


def test_severities(chromium, page):
    b = chromium().open(page("findings", 300))
    boxes = {box.get_attribute("value"): box for box in b.all("#findings-controls input[type=checkbox]")}
    assert set(boxes) == {"critical", "unknown", "warning"}
    boxes["warning"].click()
    settle(b, ROWS, 200)
    assert set(column(b, 1)) == {"critical", "unknown"} and len(b.all(CARDS)) == 2
    b.js("arguments[0].focus()", boxes["unknown"])
    b.keys(Keys.SPACE)
    settle(b, ROWS, 100)
    assert status(b) == "100 of 300 findings, 1 of 102 groups"
    b.one("#findings-controls input[type=search]").send_keys("leaf-1[")
    settle(b, ROWS, 14)
    boxes["warning"].click()
    settle(b, ROWS, 27)


def test_order_by_mouse_and_keyboard(chromium, page):
    b = chromium().open(page("findings", 300))
    heads = b.all("#t-findings th button")
    assert [h.text for h in heads][:4] == ["group", "severity", "place", "finding"]
    as_it_came = column(b, 2)

    def sorts():
        return [h.get_attribute("aria-sort") for h in b.all("#t-findings th")]

    heads[2].click()
    places = column(b, 2)
    assert sorts()[2] == "ascending" and sorts().count("none") == 10
    assert [p.split("[")[0] for p in places[:3]] == ["leaf-1"] * 3 and places != as_it_came
    assert [int(p.split("leaf-")[1].split("[")[0]) for p in places] == sorted(int(p.split("leaf-")[1].split("[")[0]) for p in places)
    assert [p.split(" ")[0] for p in places[:11]] == [f"leaf-1[{i}]" for i in range(1, 12)]  # 2 before 10
    b.js("arguments[0].focus()", heads[2])
    b.keys(Keys.ENTER)
    assert sorts()[2] == "descending" and column(b, 2) == places[::-1]
    b.keys(Keys.SPACE)
    assert sorts().count("none") == 11 and column(b, 2) == as_it_came
    b.back()
    b.keys(Keys.ENTER)  # the heading before it
    assert b.js("return document.activeElement.textContent") == "severity"
    assert sorts()[1] == "ascending" and column(b, 1) == ["critical"] * 100 + ["unknown"] * 100 + ["warning"] * 100
    heads[0].click()
    assert column(b, 0) == sorted(column(b, 0), key=int)
    assert len(b.all("th[aria-sort=ascending]")) == 1


def test_group_and_its_members(chromium, page):
    b = chromium().open(page("findings", 300))
    first = b.all(CARDS)[0]
    assert first.find_element("css selector", "h4").text == "CRITICAL 100 ports: SL2VL table is not what OpenSM should have programmed sl2vl-differs"
    assert "wanted VL 1; got VL 0" in first.text and "advice: " in first.text
    link = first.find_element("css selector", "a.members")
    assert link.text == "90 more, each in the table below"
    b.js("arguments[0].focus()", link)
    b.keys(Keys.ENTER)
    settle(b, ROWS, 100)
    assert set(column(b, 0)) == {"1"} and len(set(column(b, 2))) == 100
    assert b.one(".only span").text == "Only the places of group 1."
    b.one(".only button").click()
    settle(b, ROWS, 300)
    assert not b.one(".only").is_displayed()


def test_copy_for_a_ticket(chromium, page):
    b = chromium().open(page("findings", 300))
    b.js("Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (text) => { window.copied = text; }}})")
    [x for x in b.all("#findings-controls input[type=checkbox]") if x.get_attribute("value") == "warning"][0].click()
    b.one("#findings-controls button").click()
    run.deadline(30, "the copy", lambda: status(b) == "Copied.")
    lines = b.js("return window.copied").splitlines()
    assert lines[:4] == ["ibqos page", "verdict: critical (100 critical, 100 unknown, 100 warnings)", "",
                         "critical 100 ports: SL2VL table is not what OpenSM should have programmed sl2vl-differs"]
    assert lines[4] == "    wanted VL 1; got VL 0" and lines[-1].startswith("    advice: ") and len([x for x in lines if x == ""]) == 2


@pytest.mark.parametrize("rows", [499, 500, 501, 1501, 2501])
def test_pages(chromium, page, rows):
    b = chromium().open(page("rows", rows))
    seen = column(b, 3, "t-links")
    pager = b.one(".pager")
    assert pager.is_displayed() == (rows > 500)
    while pager.is_displayed() and pager.find_element("xpath", "button[3]").is_enabled():
        pager.find_element("xpath", "button[3]").click()
        seen += column(b, 3, "t-links")
    assert seen == [f"gpu-{i // 8 + 1} mlx5_{i % 8}" for i in range(rows)]
    if rows > 500:
        assert pager.find_element("css selector", "span").text == f"rows {(rows - 1) // 500 * 500 + 1:,} to {rows:,} of {rows:,}"
        pager.find_element("xpath", "button[1]").click()
        assert column(b, 3, "t-links")[0] == "gpu-1 mlx5_0" and len(column(b, 3, "t-links")) == 500
    b.all("#t-links th button")[5].click()  # rates; those without one are last either way
    rates = column(b, 5, "t-links")
    assert rates[0] == "100.0"
    b.all("#t-links th button")[5].click()
    assert column(b, 5, "t-links")[0] == "400.0"
    if rows < 500:
        assert rates[-6:] == [""] * 6 and column(b, 5, "t-links")[-6:] == [""] * 6


def test_fifty_thousand_findings(chromium, page):
    b = chromium().open(page("findings", 50000))
    assert status(b) == "50,000 of 50,000 findings, 1,000 of 1,000 groups"
    assert "15668 more groups are in the table of each finding alone." in [p.text for p in b.all("#r-findings > p")]
    field = b.one("#findings-controls input[type=search]")
    field.send_keys("gpu-49999")
    settle(b, ROWS, 1)
    assert column(b, 2)[0].startswith("leaf-1250[39]")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys("leaf-1249[")
    settle(b, ROWS, 40)
    b.all("#t-findings th button")[2].click()
    assert [p.split(" ")[0] for p in column(b, 2)] == [f"leaf-1249[{i}]" for i in range(1, 41)]


def test_a_quarter_of_a_million_rows(chromium, page):
    b = chromium().open(page("rows", 250000))
    pager = b.one(".pager")
    pager.find_element("xpath", "button[4]").click()
    assert column(b, 3, "t-links")[-1] == "gpu-31250 mlx5_7"
    b.all("#t-links th button")[3].click()
    b.all("#t-links th button")[3].click()
    assert column(b, 3, "t-links")[:2] == ["gpu-31250 mlx5_7", "gpu-31250 mlx5_6"]
    b.one(".controls input").send_keys("gpu-31249")
    settle(b, "#t-links tbody tr", 8)
    assert b.one(".controls .status").text == "8 of 250,000 rows"
