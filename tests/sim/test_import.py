# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A config that OpenSM runs, imported: the policy compiles to the tables that OpenSM programmed from the file."""
import re

import pytest

from kit import figures, foreign, policy

SMALL = dict(leaves=2, spines=1, hosts_per_leaf=1, uplinks=1, storage=1)
EVEN = ",".join(f"{vl}:{4 + vl}" for vl in range(15))

# what stands in opensm.conf beside `qos TRUE`; every quirk of the reader is in one of them
CONFIGS = {
    "defaults": {},
    "one set for all": {"qos_sl2vl": "0,1,2,3,0,0,0,0,0,0,0,0,0,0,0,0", "qos_vlarb_high": "0:0",
                        "qos_vlarb_low": "0:16,1:64,2:32,3:16", "qos_high_limit": "0"},
    "sets of their own": {"qos_ca_sl2vl": "0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1", "qos_ca_vlarb_low": "0:10,1:20",
                          "qos_ca_vlarb_high": "1:5", "qos_ca_high_limit": "7",
                          "qos_swe_sl2vl": "0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,7", "qos_swe_vlarb_low": EVEN,
                          "qos_swe_vlarb_high": "7:1", "qos_swe_high_limit": "1"},
    "(null) for one of them": {"qos_vlarb_low": EVEN, "qos_vlarb_high": "0:1,1:1", "qos_ca_vlarb_low": "(null)",
                               "qos_swe_high_limit": "-1", "qos_high_limit": "3"},
    "short map": {"qos_sl2vl": "0,1,2", "qos_vlarb_low": EVEN},
    "blanks before colons": {"qos_vlarb_low": "0 :64,1:32", "qos_vlarb_high": "0:1, 1:2"},
    "octal and hexadecimal": {"qos_vlarb_low": "0:010,1:0x20,2:08", "qos_sl2vl": "0,01,02,0x3,04,05,06,07,010,011,012,0,0,0,0,0"},
    "VL 15 and more in a table": {"qos_vlarb_low": "15:9,16:8,0:1,31:2", "qos_vlarb_high": "14:200,1:300"},
    "VL 16 and more in a map": {"qos_sl2vl": "16,17,2,3,4,5,6,7,8,9,10,11,12,13,14,18", "qos_vlarb_low": EVEN},
    "letters": {"qos_vlarb_low": "a:64,1:32", "qos_vlarb_high": "0;5/1;6", "qos_vlarb_x": "1", "qos_high_limit": "12x"},
    "high limit without end": {"qos_high_limit": "255", "qos_vlarb_high": "1:10,2:10", "qos_vlarb_low": EVEN},
    "high limit out of range": {"qos_high_limit": "300", "qos_ca_high_limit": "0x10", "qos_vlarb_low": EVEN},
    "dropped SLs": {"qos_sl2vl": "0,1,2,3,15,15,15,15,15,15,15,15,15,15,15,15", "qos_vlarb_low": EVEN},
    "sw0 apart": {"qos_vlarb_low": EVEN, "qos_sw0_vlarb_low": "0:1", "qos_sw0_high_limit": "9"},
    "long table": {"qos_vlarb_low": ",".join(f"{i % 4}:{i + 1}" for i in range(40)), "qos_sl2vl": "0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,3"},
    "starved VL": {"qos_vlarb_low": "0:1,1:1", "qos_vlarb_high": "0:0", "qos_sl2vl": "0,1,2,3,0,0,0,0,0,0,0,0,0,0,0,0"},
    "four VLs": {"max_op_vls": "3", "qos_sl2vl": "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,7", "qos_vlarb_low": EVEN},
}


def held(f):
    """The tables of a leaf, the spine and an adapter, as infiniband-diags prints them."""
    text = f.tool("ibnetdiscover").ok().stdout
    lids = re.findall(r'^Switch\t.*port 0 lid (\d+)', text, re.M) + re.findall(r'# "gpu[^"]*" lid (\d+)', text)
    assert len(lids) >= 4
    said = []
    for lid in lids:
        for port in ("1", "36")[:1 if lid in lids[3:] else 2]:
            for what in ("sl2vl", "vlarb"):
                said.append(f.tool("smpquery", what, lid, port).stdout)
    return said


def imported(f, sm, *more, to="imported.yaml", codes=(0, 1, 2)):
    path = f.path(to)
    r = f.ibqos("import", "--opensm-conf", sm.config, *more, "--output", path, "--format", "json").ok(*codes)
    assert r.sent.gets == 0
    return path, r.json


def shares_as_links_are(f, path, plan):
    """What the table of classes, the explanation and the bars say of classes on one VL is the same: all links here fold alike."""
    classes = {c["name"]: c for c in plan["classes"]}
    assert sum(c["share_guaranteed"] for c in plan["classes"]) <= 100.5
    kinds, on = {}, {}
    for x in plan["explain"]:
        kinds.setdefault((x["ports"], x["count"]), []).append(x)
        if x["ports"] == "switch":
            assert classes[x["class"]]["vl"] == x["vl"]
            on.setdefault(x["vl"], (x["guaranteed"], []))[1].append(classes[x["class"]])
            assert x["vl_shared"] == (sum(y["vl"] == x["vl"] for y in plan["explain"] if y["ports"] == "switch") > 1)
    for guaranteed, sharers in on.values():
        assert abs(sum(c["share_guaranteed"] for c in sharers) - guaranteed) < 0.1
    page = figures.read(f.ibqos("plan", path, "--allow-drop", "--format", "html").ok(0, 1).stdout)
    blocks = page.one("div", "sh-all-places").all("svg", "sh")
    assert len(blocks) == len(kinds)
    for block, rows in zip(blocks, kinds.values()):
        told = [row.all("text")[1].text for row in block.all("g", "sh-r")]
        for text, x in zip(told, rows, strict=True):
            want = sum(classes[y["class"]]["share_wanted"] for y in rows if y["vl"] == x["vl"])
            assert text.startswith(f"{x['guaranteed']:.1f} % of {want:.1f} %") and text.endswith(", with the others of its VL") == x["vl_shared"], text
    text = f.ibqos("plan", path, "--allow-drop", "--explain").ok(0, 1).stdout
    assert re.search(r"VL +shared +guaranteed", text) and "those that share a VL together" in text


@pytest.mark.parametrize("name", CONFIGS)
def test_the_same_tables(up, name):
    f, sm = up(**SMALL, options={"qos": "TRUE", **CONFIGS[name]})
    sm.hup()  # tables of the first sweep may be masked by the VLs of before
    v = f.ibqos("verify", "--opensm-conf", sm.config, "--format", "json").ok(0, 1).json
    assert v["ports"]["differ"] == v["ports"]["unknown"] == 0 < v["ports"]["looked_at"]
    before = held(f)

    path, report = imported(f, sm)
    plan = f.ibqos("plan", path, "--allow-drop", "--format", "json").ok(0, 1).json
    assert plan["ports_today"]["differ"] == 0 < plan["ports_today"]["looked_at"]
    fold = {(x["severity"], x["what"]) for x in plan["findings"] if x["code"] == "plan-classes-fold"}
    if name in ("four VLs", "one set for all"):  # SLs on VLs that no link here has share one with others, and it is said
        assert fold == ({("warning", "links of 4 VLs")} if name == "four VLs" else set())
        shares_as_links_are(f, path, plan)
    filled = [{k: v or "0:0" for k, v in t.items()} if "" in t.values() else t for t in report["tables"]]
    assert plan["tables"] == filled
    f.ibqos("apply", path, "--allow-drop", "--state-dir", f.path("state")).ok(0, 1)
    assert f.ibqos("verify", path, "--format", "json").ok(0, 1).json["ports"]["differ"] == 0
    sm.hup()
    assert held(f) == before
    # what apply wrote says the same in strict words
    lint = f.ibqos("lint", "--opensm-conf", sm.config, "--format", "json").json
    assert lint["tables"] == plan["tables"]
    assert "opensm-value-doubtful" not in policy.codes(f.ibqos("lint", "--opensm-conf", sm.config, "--format", "json"))


RULES = foreign.LEVELS + """port-groups
  port-group
    name: the targets
    port-guid: {guid}
  end-port-group
end-port-groups
qos-match-rules
  qos-match-rule
    qos-class: 41-43
    qos-level-name: one
  end-qos-match-rule
  qos-match-rule
    destination: the targets
    service-id: 0x0000000001060000-0x000000000106ffff
    qos-level-name: one
  end-qos-match-rule
  qos-match-rule
    qos-class: 42-50
    qos-level-name: default
  end-qos-match-rule
end-qos-match-rules
qos-ulps
  any, pkey 0x7fff : 2
end-qos-ulps
"""


def test_the_same_rules(up):
    """OpenSM answers requests by the imported rules as by its own file."""
    f, sm = up(**SMALL, options={"qos": "TRUE"})
    text = f.tool("ibnetdiscover").ok().stdout
    # an adapter: the GUID of its port, then its name and LID
    hosts = {
        m[1]: (re.search(r"^\[1\]\((\w+)\)[^#]*#.*? lid (\d+)", text[m.start():], re.M).groups())
        for m in re.finditer(r'^Ca\t.*# "(\S+)', text, re.M)}
    (port, oss), (_, gpu) = hosts["oss-01"], hosts["gpu-001"]
    with open(sm.policy, "w", encoding="ascii") as out:
        out.write(RULES.format(guid="0x" + port))
    before = len(sm.log())
    sm.hup()
    assert "ERR AC0" not in sm.log()[before:]
    ways = [(gpu, oss), (oss, gpu)]
    asked = [(), ("-Q", "41"), ("-Q", "42"), ("-Q", "50"), ("--pkey", "0x7fff"), ("-Q", "41", "--pkey", "0x7fff"),
             ("--service_id", "0x1060001"), ("--service_id", "0x1060001", "-Q", "44")]

    def answers():
        said = {}
        for a, b in ways:
            for more in asked:
                r = f.tool("saquery", "--slid", a, "--dlid", b, *more, "PR").ok()
                said[a, b, more] = re.findall(r"^\s*(?:sl|qos_class)\b.*$", r.stdout, re.M)
        return said

    first = answers()
    assert len({str(x) for x in first.values()}) > 2 and all(first.values()), first
    path, _ = imported(f, sm, "--qos-policy", sm.policy, codes=(0, 1))
    f.ibqos("apply", path, "--state-dir", f.path("state")).ok(0, 1)
    with open(sm.policy, encoding="ascii") as written:
        assert "Made by ibqos" in written.read()
    assert answers() == first


def test_a_policy_is_not_replaced_unasked(ibqos, tmp_path):
    conf, out = tmp_path / "opensm.conf", tmp_path / "policy.yaml"
    conf.write_text("qos TRUE\nqos_sl2vl 0,1,2,3,0,0,0,0,0,0,0,0,0,0,0,0\nqos_vlarb_high 0:0\nqos_vlarb_low 0:1,1:1,2:1,3:1\n")
    out.write_text("mine")
    r = ibqos("import", "--opensm-conf", conf, "--output", out).ok(3)
    assert "--force" in r.stderr and out.read_text() == "mine"
    r = ibqos("import", "--opensm-conf", conf, "--output", out, "--force", "--format", "json").ok(0)
    assert r.json["qos"] is True
    assert out.read_text().startswith("# Made by ibqos import")
    ibqos("lint", out).ok(0)


def test_shares_are_the_whole_again(ibqos, tmp_path):
    """Tables for 15 VLs: fourteen have 3.57 % of a link each, which no figure of one decimal says."""
    conf, out = tmp_path / "opensm.conf", tmp_path / "policy.yaml"
    conf.write_text("qos TRUE\nqos_sl2vl 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,0\nqos_vlarb_high 0:0\n"
                    f"qos_vlarb_low {'0:128,' * 7}{','.join(f'{vl}:64' for vl in range(1, 15))}\n")
    ibqos("import", "--opensm-conf", conf, "--output", out).ok()
    shares = [float(x) for x in re.findall(r"share: ([\d.]+)%", out.read_text())]
    assert len(shares) == 15 and round(sum(shares), 6) == 100 and max(shares) == 50
    assert sorted(set(shares)) == [3.5, 3.6, 50]
    assert set(policy.codes(ibqos("lint", out, "--format", "json").ok(0))) <= {"policy-no-way-in"}
    # weights of less than a packet, which MTUs make different shares of
    conf.write_text(re.sub("qos_vlarb_low.*", f"qos_vlarb_low 0:56,{','.join(f'{vl}:4' for vl in range(1, 15))}", conf.read_text()))
    ibqos("import", "--opensm-conf", conf, "--output", out, "--force").ok()
    assert round(sum(float(x) for x in re.findall(r"share: ([\d.]+)%", out.read_text())), 6) == 100
    assert set(policy.codes(ibqos("lint", out, "--format", "json").ok(0))) <= {"policy-no-way-in"}


def test_what_a_policy_cannot_say_is_told(ibqos, tmp_path):
    conf, rules = tmp_path / "opensm.conf", tmp_path / "qos-policy.conf"
    conf.write_text("qos TRUE\n")
    rules.write_text(foreign.LEVELS.replace("sl: 1", "sl: 1\n    mtu-limit: 4") + """port-groups
port-group
name: parts
partition: Default
end-port-group
end-port-groups
qos-match-rules
qos-match-rule
source: parts
qos-level-name: one
end-qos-match-rule
end-qos-match-rules
""")
    out = tmp_path / "policy.yaml"
    r = ibqos("import", "--opensm-conf", conf, "--qos-policy", rules, "--output", out, "--format", "json").ok(1)
    lost = policy.codes(r)["import-left-out"]
    assert sorted((x["line"], x["got"]) for x in lost) == [(7, "mtu-limit"), (14, "members of partitions"), (20, "source")]
    assert "match" not in out.read_text()


def test_files_that_opensm_refuses(ibqos, tmp_path):
    """OpenSM goes without them, and so does the policy; the fault is told."""
    conf, rules, parts = (tmp_path / n for n in ("opensm.conf", "qos-policy.conf", "partitions.conf"))
    conf.write_text("qos TRUE\n")
    rules.write_text(foreign.LEVELS + "x\n")
    parts.write_text("A=0x1, sl=3: gpu;\n")
    out = tmp_path / "policy.yaml"
    r = ibqos("import", "--opensm-conf", conf, "--qos-policy", rules, "--partitions", parts, "--output", out,
              "--format", "json").ok(2)
    assert {"opensm-rules-refused", "opensm-partitions-refused"} <= set(policy.codes(r))
    ibqos("lint", out).ok(0, 1)
