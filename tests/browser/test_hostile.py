# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Strings of others on a page: text, whatever they hold; and a page that could not be harmed if one were not."""
import re

import pytest

from kit import run

NASTY = [b"<script>window.pwned=1</script>", b"</script><script>window.pwned=1</script>", b"</pre></table><img src=x onerror=window.pwned=1>",
         b"\"><svg onload=window.pwned=1>", b"' onmouseover='window.pwned=1", b"<!--", b"-->", b"]]>", b"</style><style>*{display:none}</style>",
         b"</title><script>window.pwned=1</script>", b"&lt;b&gt;", b"&#60;i&#62;", b"<a href=javascript:window.pwned=1>x</a>", b"a\tb", b"a\nb",
         b"\r\n<h1>x</h1>", b"\x1b[2J\x1b]0;x\x07", b"\xff\xfe<b>", b"\xc0\xbcscript\xc0\xbe", b"\xed\xa0\x80", b"\xe2\x80\xaegnp.exe",
         b"\xe2\x81\xa6x\xe2\x81\xa9", b"\xc2\x9b31m", b"<meta http-equiv=refresh content='0;url=http://example.invalid/'>",
         b"<iframe src=http://example.invalid/>", b"<base href=http://example.invalid/>", b"<form action=http://example.invalid/><input>",
         b"{{7*7}}", b"${window.pwned=1}", b"\\u003cscript\\u003e", "spürbar ünïcode ∀ 光".encode(), b"javascript:window.pwned=1", b"%3Cscript%3E",
         b"<template shadowrootmode=open><b>", b"<textarea>", b"<plaintext>", b"<noscript><b>", b"\xf4\x90\x80\x80", b"=cmd|' /C calc'!A1"]


def made(page, tmp_path, strings):
    path = tmp_path / "strings"
    path.write_bytes(b"\0".join(strings) + b"\0")
    return page("hostile", path)


def shown(raw):
    """What of it is to be seen: bad bytes and what turns or breaks text is U+FFFD."""
    text = raw.decode("utf-8", errors="surrogateescape")
    return re.sub("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", "\ufffd", text.rstrip(" \t\r\n"))


def elements(b):
    return b.js("const n = {}; for (const e of document.querySelectorAll('*')) n[e.tagName] = (n[e.tagName] || 0) + 1; return n")


@pytest.mark.parametrize("script", [True, False])
def test_no_element_comes_of_a_string(chromium, page, tmp_path, script):
    b = chromium(script=script).open(made(page, tmp_path, [b"plain%d" % i for i in range(len(NASTY))]))
    plain = elements(b)
    b.open(made(page, tmp_path, NASTY))
    assert elements(b) == plain and plain["SCRIPT"] == 1 and "IMG" not in plain and "SVG" not in plain
    assert b.js("return [window.pwned === undefined, document.title, location.href.startsWith('file:')]") == [True, "critical: ibqos page", True]
    handlers = b.js("return [...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a => /^on|^style$/.test(a.name) || "
                    "/javascript:|example\\.invalid/.test(a.value) && !['aria-label'].includes(a.name))).length")
    assert handlers == 0
    assert b.js("return [...document.querySelectorAll('[href]')].every(e => e.getAttribute('href').startsWith('#'))")
    names = b.js("return [...document.querySelectorAll('table.data')].filter(t => /^t-table/.test(t.id)).map(t => t.tBodies[0].rows[0].cells[1].textContent)")
    assert len(names) == len(NASTY) and [n for n, raw in zip(names, NASTY) if n != shown(raw)] == []
    # the same from lines of text behind the table
    if script:
        b.one("#r-many .pager").find_element("xpath", "button[4]").click()
        last = b.js("return [...document.querySelector('#t-many').tBodies[0].rows].map(r => [r.cells.length, r.cells[1].textContent])")[-len(NASTY):]
    else:
        last = b.js("return document.querySelector('#r-many .rest pre').textContent.trimEnd().split('\\n').map(l => [l.split('\\t').length, l.split('\\t')[1]])")[-len(NASTY):]
    assert last == [[7, shown(raw)] for raw in NASTY]
    assert elements(b)["SCRIPT"] == 1


@pytest.mark.parametrize("planted", ["<script>window.pwned=1</script>", "<img src=x onerror='window.pwned=1'>", "<b style='color:red' id=x>x</b>",
                                     "<link rel=stylesheet href=http://example.invalid/>", "<iframe src='data:text/html,x'></iframe>",
                                     "<a id=y href='javascript:window.pwned=1'>x</a>"])
def test_policy_of_the_page(chromium, page, planted):
    """Were something not made text, nothing could come of it."""
    path = page("findings", 3)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("</main>", planted + "</main>"), encoding="utf-8")
    b = chromium()
    b.expected = ["Content Security Policy", "data:text/html", "data:image/png", "example.invalid"]  # asked for inside the browser, and refused there
    b.open(path)
    if b.all("#y"):
        b.one("#y").click()
    assert b.js("return window.pwned") is None and len(b.all("#t-findings th button")) == 11
    if b.all("#x"):
        assert b.js("return getComputedStyle(document.querySelector('#x')).color !== 'rgb(255, 0, 0)'")
    run.deadline(30, "a violation", lambda: (b.log(), b.complaints)[1])


def test_names_of_a_dump(chromium, ibqos, tmp_path):
    """From a file of others to a page, by a command."""
    from kit import dumps
    from tools import netgen
    net = netgen.fat_tree(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1)
    text = dumps.ibnetdiscover(net).replace("gpu-001", "<img src=x>&'").replace("leaf-01", "</pre><i>\u202e")
    dump = tmp_path / "dump"
    dump.write_text(text, encoding="utf-8")
    out = tmp_path / "page.html"
    ibqos("discover", "--from", dump, "--format", "html", "--output", out, "--fabric", "<i>\"'&").ok(3)
    b = chromium().open(out)
    assert b.all("img, i") == [] and b.one("header .fabric").text == "fabric: <i>\"'&"
    assert b.js("return document.title") == "unknown: ibqos discover, <i>\"'&"
    cells = b.js("return [...document.querySelectorAll('td')].map(c => c.textContent)")
    assert any(c.startswith("<img src=x>&'") for c in cells) and any(c.startswith("</pre><i>\ufffd") for c in cells)
