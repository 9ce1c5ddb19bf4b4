# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Reads the pictures of an HTML report: what stands in them, by element, and nothing that the program says of them elsewhere."""
import html.parser
import re

VOID = {"meta", "br", "input", "link", "hr", "img"}
VIEWS = ("findings", "speed", "errors", "waiting")


class Element:
    def __init__(self, tag, attrs, parent):
        self.tag, self.attrs, self.parent, self.children = tag, dict(attrs), parent, []

    def __getitem__(self, name):
        return self.attrs[name]

    @property
    def classes(self):
        return (self.attrs.get("class") or "").split()

    @property
    def text(self):
        return "".join(c if isinstance(c, str) else c.text for c in self.children)

    def walk(self):
        for c in self.children:
            if isinstance(c, Element):
                yield c
                yield from c.walk()

    def all(self, tag=None, cls=None, **attrs):
        return [e for e in self.walk() if tag in (None, e.tag) and (cls is None or cls in e.classes)
                and all(e.attrs.get(k.replace("_", "-")) == v for k, v in attrs.items())]

    def one(self, *args, **kwargs):
        found = self.all(*args, **kwargs)
        assert len(found) == 1, (args, kwargs, len(found))
        return found[0]


class _Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.top = self.at = Element("", {}, None)

    def handle_starttag(self, tag, attrs):
        e = Element(tag, attrs, self.at)
        self.at.children.append(e)
        if tag not in VOID:
            self.at = e

    def handle_startendtag(self, tag, attrs):
        self.at.children.append(Element(tag, attrs, self.at))

    def handle_endtag(self, tag):
        assert tag == self.at.tag, f"</{tag}> in <{self.at.tag}>"
        self.at = self.at.parent

    def handle_data(self, data):
        self.at.children.append(data)


def read(text):
    """The page's elements; each that is opened must be closed where it was opened."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert reader.at is reader.top
    return reader.top


def rows(table):
    """Texts of the cells of a table's body, row by row."""
    return [[c.text for c in tr.children if isinstance(c, Element)] for tr in table.one("tbody").all("tr")]


# --- ports ---

PORT_X, PITCH, HEAD, ROW = 166, 11, 16, 12


def _places(svg):
    at = []
    for part in svg["data-rows"].split():
        low, _, high = part.partition("-")
        at.extend(range(int(low), int(high or low) + 1))
    return at


def _numbers(text):
    for part in text.split(", "):
        low, _, high = part.partition("-")
        yield from range(int(low), int(high or low) + 1)


class Ports:
    """cells[view] is {(GUID, port): letter}, as drawn; the table and the script's data must say the same. nodes: {GUID: severity}
    of switches as a whole."""

    def __init__(self, page):
        self.figure = page.one("div", "fm")
        table = rows(page.one("table", id="fm-table"))
        self.guids = [int(r[1], 16) for r in table]
        self.names = [r[0] for r in table]
        self.levels = {int(r[1], 16): None if r[2] == "no way to a host" else int(r[2]) for r in table}
        self.views = [v for v in VIEWS if self.figure.all("input", id=f"fm-{v}")]
        self.legend = {v: {li["data-c"]: self._entry(li.text) for li in self.figure.one("ul", f"v-{v}").all("li")} for v in self.views}
        self.cells = {v: self._drawn(v) for v in self.views}
        self.nodes = self._nodes()
        for i, v in enumerate(self.views):
            assert self._told(table, 4 + i, v) == self.cells[v], v
            assert self._data(v) == self.cells[v], v
            for letter, (_, count) in self.legend[v].items():
                assert count == sum(c == letter for c in self.cells[v].values()), (v, letter)
        assert {g: w for g, w in zip(self.guids, (r[3] for r in table)) if w != "no finding"} == self.nodes

    @staticmethod
    def _entry(text):
        m = re.fullmatch(r" *(.*): ([\d,]+)\n?", text)
        return m[1], int(m[2].replace(",", ""))

    def _drawn(self, view):
        cells = {}
        for svg in self.figure.all("svg", "fm-s"):
            at = _places(svg)
            for path in svg.one("g", f"v-{view}").all("path", "c"):
                here = re.findall(r"M(\d+) (\d+)h(\d+)", path["d"])
                assert "".join(f"M{x} {y}h{n}" for x, y, n in here) == path["d"]
                for x, y, length in ((int(a), int(b), int(c)) for a, b, c in here):
                    assert (x - PORT_X) % PITCH == 0 and (length + 1) % PITCH == 0 and (y - HEAD) % ROW == ROW // 2
                    for port in range((x - PORT_X) // PITCH + 1, (x - PORT_X) // PITCH + 1 + (length + 1) // PITCH):
                        place = self.guids[at[(y - HEAD) // ROW]], port
                        assert cells.setdefault(place, path["data-c"]) == path["data-c"], place
        return cells

    def _nodes(self):
        names = {"k-crit": "critical", "k-warn": "warning", "k-what": "unknown", "k-note": "note"}
        return {self.guids[_places(svg)[(int(re.match(r"M\d+ (\d+)h10$", p["d"])[1]) - HEAD) // ROW]]: names[p.classes[1]]
                for svg in self.figure.all("svg", "fm-s") for p in svg.all("path", "c", data_c="node")}

    def _told(self, table, column, view):
        letters = {text: letter for letter, (text, _) in self.legend[view].items()}
        return {(int(r[1], 16), port): letters[part.rsplit(": ", 1)[0]] for r in table for part in r[column].split("; ") if part
                for port in _numbers(part.rsplit(": ", 1)[1])}

    def _lines(self):
        return [line.split("\t") for line in self.figure.one("div", "fm-data").text.strip("\n").split("\n")]

    def _data(self, view):
        return {(guid, port): letter for guid, line in zip(self.guids, self._lines())
                for port, letter in enumerate(line[2 + VIEWS.index(view)], 1)}

    def peers(self):
        """{(GUID, port): (name, port) at the other end}."""
        names = self.figure.one("div", "fm-names").text[1:].split("\n")
        ends = {}
        for guid, line in zip(self.guids, self._lines()):
            for port, peer in enumerate(line[6].split(), 1):
                if peer != "-":
                    node, there = peer.split(".")
                    ends[guid, port] = names[int(node)], int(there)
        return ends


# --- topology ---


class Topology:
    """nodes {GUID: (level, hosts, worst)} of boxes; pairs {frozenset of GUIDs: (cables, worst)} of lines; told: the same by the
    table; layers: its rows."""

    def __init__(self, page):
        self.figure = page.one("div", "tp")
        self.all = self.figure["data-drawn"] == "all"
        self.nodes = {int(g["data-guid"], 16): (int(g["data-level"]), int(g["data-hosts"]), g["data-worst"])
                      for g in self.figure.all("g", "tp-n")}
        self.pairs = {self._pair(g): (int(g["data-n"]), g["data-worst"]) for g in self.figure.all("g", "tp-e")}
        assert len(self.pairs) == len(self.figure.all("g", "tp-e"))
        table = self.figure.one("table", id="tp-pairs")
        trs = table.one("tbody").all("tr")
        self.told = {self._pair(tr): (int(r[2]), r[4]) for tr, r in zip(trs, rows(table))}
        assert len(self.told) == len(trs)
        self.layers = rows(self.figure.one("table", id="tp-layers"))

    @staticmethod
    def _pair(e):
        return frozenset((int(e["data-a"], 16), int(e["data-b"], 16)))
