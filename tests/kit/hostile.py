# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Names as their owner may choose them to harm who reads them, and what must hold of any output that has them."""
import html.parser
import json
import unicodedata

from kit import prometheus

# each fits NodeDescription: 64 bytes, without a terminator where there are as many
NAMES = {
    "clear": b"\x1b[2J\x1b[H\x1b[31mall is well\x1b[0m",
    "title": b"\x1b]0;owned\x07\x1b]2;owned\x1b\\",
    "link": b"\x1b]8;;http://evil.example/\x1b\\click\x1b]8;;\x1b\\",
    "clipboard": b"\x1b]52;c;cm0gLXJmIC8K\x07",
    "device control": b"\x1bP$q\"p\x1b\\\x1b[?1049h\x1b[6n\x05",
    "c1": b"a\x9b31mb\x9dc\x90d\x9ce\x84f",
    "c1 in utf-8": b"\xc2\x9b31m\xc2\x9d0;x\xc2\x9c\xc2\x90",
    "quotes": b"\"'`\\\"\\\\' OR '1'='1",
    "script": b"<script>alert(1)</script>",
    "attribute": b"\" onmouseover=\"alert(1)\" x='",
    "close": b"</script></style></svg>--><img src=x onerror=alert(1)>",
    "entity": b"&lt;b&gt;&#60;script&#62; ${x} {{y}}",
    "lines": b"a\nibqos: fine\r\nverdict: clean\rb\x0bc\x0cd",
    "next line": b"a\xc2\x85b\xe2\x80\xa8c\xe2\x80\xa9d",
    "nul": b"before\x00after\x1b[2J",
    "not utf-8": b"\xff\xfe\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\xe2\x82",
    "bidi": b"a\xe2\x80\xaetxt.exe\xe2\x81\xa6b\xe2\x80\x8fc\xd8\x9cd",
    "unseen": b"leaf\xe2\x80\x8b-01\xef\xbb\xbf\xe2\x81\xa0\xc2\xad\xf3\xa0\x81\x81",
    "64 bytes": b"\x1b[31m" + b"A" * 59,
    "64 bytes and half a character": b"B" * 62 + b"\xe2\x82",
    "label": b"x\"} 1\nibqos_up{command=\"verify\"} 1\n",
    "comment": b"# HELP ibqos_up x\\n",
    "nagios": b"x | critical=0;;;; 'a'=1",
    "csv": b"=cmd|' /C calc'!A0,\"b\";c\td",
    "json": b"\"},\"exit\":0,{\"x\":\"\\u001b[2J",
    "format": b"%s%n%x%5000d",
    "shell": b"$(reboot) `reboot` ; reboot #",
    "path": b"../../../../etc/cron.d/x",
    "combining": b"a" + b"\xcc\x81" * 31,
    "yaml": b"- !!python/object: {a: *b} &c",
}
SPOILERS = {"\ufffd"}  # what stands for what was taken out


def harmless(text, where, lines=True):
    """Nothing that a terminal obeys, or that does not show, or turns the direction; `lines`: newlines are the writer's own."""
    for c in text:
        if c == "\n" and lines:
            continue
        assert unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp", "Co", "Cn") or c in SPOILERS, (where, hex(ord(c)), text[:2000])


def strings(value):
    if isinstance(value, dict):
        for k, v in value.items():
            yield k
            yield from strings(v)
    elif isinstance(value, list):
        for v in value:
            yield from strings(v)
    elif isinstance(value, str):
        yield value


class Page(html.parser.HTMLParser):
    """Elements and attributes of a page, and what its scripts hold."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.scripts, self.text, self._in = [], set(), [], [], None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {(tag, name) for name, _ in attrs}
        self._in = tag
        for name, value in attrs:
            assert not name.startswith("on") and not (value or "").strip().lower().startswith("javascript:"), (tag, name, value)
            assert name not in ("href", "src", "action", "xlink:href") or not (value or "").startswith(("http", "//", "data:text")), (tag, value)

    def handle_endtag(self, tag):
        self._in = None

    def handle_data(self, data):
        (self.scripts if self._in == "script" else self.text).append(data)


def check(text, form, where, plain=None):
    """An output in one of the formats; `plain`: pages of the same commands on a fabric with plain names."""
    if form == "json":
        harmless(text, where)
        for s in strings(json.loads(text)):
            harmless(s, where)
    elif form == "prometheus":
        harmless(text, where)
        prometheus.parse(text)
    elif form == "nagios":
        harmless(text, where)
        assert text.count("\n") == 1 and text.count("|") <= 1, (where, text)
    elif form == "html":
        harmless(text.replace("\t", " "), where)  # of its style and script
        page = Page(text)
        if plain is not None:
            before = [Page(p) for p in plain]
            tags, attributes = (set().union(*x) for x in ((p.tags for p in before), (p.attributes for p in before)))
            assert set(page.tags) <= tags and page.attributes <= attributes, (where, set(page.tags) - tags, page.attributes - attributes)
            for tag in ("script", "style"):
                assert page.tags.count(tag) in {p.tags.count(tag) for p in before}, where
    else:
        harmless(text, where)
