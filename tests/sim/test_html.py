# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""--format html of the commands that need a fabric with a subnet manager: plan with its differences, apply, verify, audit, maintenance."""
from kit import policy
from kit.page import Page

VERDICTS = {0: "clean", 1: "warning", 2: "critical", 3: "unknown"}


def test_pages_of_the_main_path(up):
    f, sm = up(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, options={"qos": "TRUE"})
    path = policy.write(f, sm)

    def page(*args, text=None):
        out = f.path("page.html")
        r = f.ibqos(*args, "--format", "html", "--output", out).ok(0, 1, 2, 3)
        assert "Try `ibqos" not in r.stderr and r.stdout == "", r
        with open(out, encoding="utf-8") as file:
            p = Page(file.read())
        assert p.texts["h1"] == ["ibqos " + " ".join(a for a in args[:2] if a in ("plan", "apply", "verify", "audit", "maintenance", "begin", "end", "history"))]
        assert p.texts["p.verdict"][0].startswith(f"verdict: {VERDICTS[r.returncode]}")
        return p, r.returncode

    p, _ = page("plan", path)
    assert any(h.endswith("opensm.conf") for h in p.texts["h2"]) and p.tags.get("pre", 0) >= 2 and p.tables["t-classes"][1][0] == "training"
    assert ("class", "plus") in p.attributes
    p, code = page("apply", path)
    assert code == 0
    p, code = page("verify", path)
    assert code == 0 and "coverage" in p.texts["h2"] and p.tables["t-coverage"][0][0] == "asked for"
    f.rules("node=gpu-002 attr=PortInfo : set LinkWidthActive=1", "node=leaf-01 port=2 attr=PortInfo : set LinkWidthActive=1")
    p, code = page("audit")
    assert code == 2 and any("link-width" in row[9] for row in p.tables["t-findings"][1:])
    assert page("history")[1] == 0
