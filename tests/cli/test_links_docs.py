# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The tables of encodings in docs/links.md: what discover says of each width at each speed is what they say."""
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def tables():
    with open(os.path.join(ROOT, "docs", "links.md"), encoding="utf-8") as file:
        text = file.read()
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    speeds = {r[0]: (float(r[3]), float(r[4])) for r in rows if len(r) == 6 and re.fullmatch(r"[A-Z]+(10)?", r[0])}
    widths = {r[0]: int(r[2]) for r in rows if len(r) == 3 and re.fullmatch(r"\d+x", r[0])}
    return speeds, widths


def netdiscover(kinds):
    """Pairs of adapters, one pair a kind of link, as ibnetdiscover writes them."""
    text = ""
    for n, kind in enumerate(kinds):
        a, b = 0x1000 + 16 * n, 0x100000 + 16 * n
        for here, there, name in ((a, b, "a"), (b, a, "b")):
            text += (f"vendid=0x2c9\ndevid=0x1003\nsysimgguid=0x{here:x}\ncaguid=0x{here:x}\n"
                     f'Ca\t1 "H-{here:016x}"\t\t# "{name}-{n:03d}"\n'
                     f'[1]({here + 1:x}) \t"H-{there:016x}"[1] ({there + 1:x}) \t\t# lid 1 lmc 0 "x" lid 2 {kind}\n\n')
    return text


def test_every_width_at_every_speed(ibqos, tmp_path):
    speeds, widths = tables()
    assert list(speeds) == ["SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR", "XDR"] and list(widths) == ["1x", "2x", "4x", "8x", "12x"]
    kinds = [(w, s) for w in widths for s in speeds]
    path = tmp_path / "fabric.txt"
    path.write_text(netdiscover([w + s for w, s in kinds]), encoding="ascii")
    links = ibqos("discover", "--format", "json", "--from", str(path)).json["links"]
    got = {(x["width"], x["speed"]): (x["line_gbps"], x["gbps"]) for x in links}
    assert len(got) == 45
    for w, s in kinds:
        line, data = (rate * widths[w] for rate in speeds[s])
        assert abs(got[w, s][0] / line - 1) < 5e-6 and abs(got[w, s][1] / data - 1) < 5e-6, (w, s, got[w, s])
