# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A page of --format html, read strictly: every element closes in turn, each attribute is quoted, nothing is loaded."""
import html.parser

VOID = {"meta", "input", "br"}


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        assert text.startswith("<!doctype html>\n") and text.endswith("</html>\n"), text[-300:]
        self.open, self.texts, self.tables, self.attributes, self.tags = [], {}, {}, [], {}
        self.table = None
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        names = dict(attrs)
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.attributes += attrs
        assert len(names) == len(attrs) and not any(n.startswith("on") or n in ("style", "src") for n in names), (tag, attrs)
        assert "href" not in names or names["href"].startswith("#")
        if tag == "table":
            self.table = self.tables.setdefault(names["id"], [])
        elif tag == "tr":
            self.table.append([])
        elif tag in ("td", "th"):
            self.table[-1].append("")
        if tag not in VOID:
            self.open.append(tag)
            if tag in ("h1", "h2", "h3", "h4", "title", "dt", "dd") or (tag == "p" and names.get("class")):
                key = f"p.{names['class'].split()[0]}" if tag == "p" else tag
                self.texts.setdefault(key, []).append("")
                self.key = key

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (self.open, tag)
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.table[-1][-1] += data
        if any(t in self.open for t in ("h1", "h2", "h3", "h4", "title", "dt", "dd")) or (self.open and "p" in self.open and self.texts):
            self.texts[self.key][-1] += data
