# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What each class had of busy ports: by what SLs sent, as devices count it, against what the policy promises."""
import pytest

from kit import figures, sim
from kit.looks import DATA, HOST, LEAF, SHAPE, T0, Look, at, found, notes, ports
from tools import netgen

POLICY = """version: 1
classes:
  - {name: training, sl: 1, nccl_ib_tc: 104, share: 60%}
  - {name: storage, sl: 2, share: 30%, match: [{service: lustre}]}
  - {name: other, sl: 0, share: 10%, default: true}
"""
SL_EXT, SL, WAIT = 1 << 57, 1 << 55, 1 << 23
FULL = 300 * 12_500_000_000 // 4  # what 4x EDR can send in five minutes, in words of 4 bytes


@pytest.fixture(scope="module")
def fab(tmp_path_factory):
    with sim.Fabric(tmp_path_factory.mktemp("shares"), netgen.fat_tree(**SHAPE)) as f:
        f.opensm()
        yield f


@pytest.fixture
def look(fab, tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY, encoding="ascii")
    look = Look(fab, tmp_path)
    look.policy = str(path)
    return look


def device(options=SL_EXT | SL | WAIT):
    """All devices count so, and have sent nothing."""
    rules = [DATA, f"attr=PortSamplesControl : status=0 answer set OptionMask={options:#x}"]
    for bit, name in ((SL_EXT, "PortXmitDataSLExt"), (SL, "PortXmitDataSL"), (WAIT, "PortVLXmitWaitCounters")):
        rules.append(f"attr={name} : status={0 if options & bit else 0xc} answer")
    return rules


def sent(place, fractions, ext=True):
    """So much of what five minutes have room for, by SL."""
    name = "PortXmitDataSLExt" if ext else "PortXmitDataSL"
    return at(place, f"attr={name} : set " + " ".join(f"XmtDataSL{sl}={int(FULL * x)}" for sl, x in fractions.items()))


def waited(place, *vls, value=9):
    return at(place, "attr=PortVLXmitWaitCounters : set " + " ".join(f"PortVLXmitWait{vl}={value}" for vl in vls))


def shares(look, now, *rules, args=("--all",), policy=True):
    return look(now, *rules, args=("--shares", *(("--policy", look.policy) if policy else ()), *args))


def test_a_class_below_its_share(fab, look):
    """Training has a fifth of a busy port in place of 60 %, and had to wait: named, with both figures. All else is right."""
    shares(look, T0, *device()).ok(0)
    r = shares(look, T0 + 300, *device(), sent(LEAF, {0: .1, 1: .2, 2: .65}), waited(LEAF, *range(8))).ok(1)
    assert found(r) == [("class-share-low", *LEAF, "class 'training'")]
    f, = [x for x in r.json["findings"] if x["severity"] != "note"]
    assert f["wanted"].startswith("60 %") and f["got"].startswith("21 % of what the port sent in 300 s") and "95 % busy" in f["detail"]
    s = r.json["shares"]
    assert (s["counted"], s["known"], s["busy"], s["low"]) == (ports(fab), ports(fab), 1, 1)
    rows = {x["class"]: (round(x["share"], 1), round(x["promised"])) for x in r.json["class_shares"]}
    assert rows == {"training": (21.1, 60), "storage": (68.4, 30), "other": (10.5, 10)}
    # again, the same growth being over: nothing new was sent, so the port is not busy
    r = shares(look, T0 + 600, *device(), sent(LEAF, {0: .1, 1: .2, 2: .65}), args=("--hold", "0")).ok(0)
    assert r.json["shares"]["busy"] == 0 and found(r) == []


def test_right_shares(fab, look):
    """In proportion, also of several SLs: those of no class are the default's."""
    shares(look, T0, *device()).ok(0)
    r = shares(look, T0 + 300, *device(), sent(LEAF, {0: .05, 7: .04, 1: .55, 2: .3}), waited(LEAF, *range(8)),
               sent(HOST, {1: .99})).ok(0)
    assert r.json["findings"] == [] or {x["code"] for x in r.json["findings"]} == {"class-share-unsure"}
    assert r.json["shares"]["busy"] == 2 and r.json["shares"]["low"] == 0


def test_what_did_not_wait_had_all_it_asked_for(look):
    shares(look, T0, *device()).ok(0)
    r = shares(look, T0 + 300, *device(), sent(LEAF, {0: .1, 1: .2, 2: .65})).ok(0)  # no VL waited
    assert r.json["findings"] == [] and r.json["shares"]["busy"] == 1


def test_a_trickle_is_no_finding(look):
    """A class that sends next to nothing and waits now and then: not known to want more; one note."""
    shares(look, T0, *device()).ok(0)
    r = shares(look, T0 + 300, *device(), sent(LEAF, {0: .01, 1: .6, 2: .3}), waited(LEAF, *range(8))).ok(0)
    assert notes(r) == [("class-share-unsure", None, "class 'other'")]


@pytest.mark.parametrize("options,busy,codes", [
    (SL_EXT | SL, 1, ["class-share-unsure"]),      # waiting is not counted: not known
    (SL | WAIT, 1, ["class-share-low"]),           # 32 bits, not full
    (WAIT, 0, []),                                 # no data by SL: nothing to compare
    (0, 0, []),
])
def test_devices_that_count_less(fab, look, options, busy, codes):
    wide = bool(options & SL_EXT)
    # 32 bits are full after 17 GB: a link of 1x SDR for 60 s
    slow = [at(p, "attr=PortInfo : set LinkWidthActive=1 LinkSpeedExtActive=0 LinkSpeedActive=1 LinkSpeedExtEnabled=0 LinkSpeedEnabled=1 "
                  "LinkSpeedExtSupported=0 LinkSpeedSupported=1 LinkWidthSupported=1 LinkWidthEnabled=1 CapMask=0x02514848")
            for p in (LEAF, HOST)]
    rules = [*device(options), *slow]
    seconds, words = 60, 60 * 250_000_000 // 4
    shares(look, T0, *rules)
    name = "PortXmitDataSLExt" if wide else "PortXmitDataSL"
    grown = [at(LEAF, f"attr={name} : set XmtDataSL0={words // 10} XmtDataSL1={words // 5} XmtDataSL2={words * 6 // 10}")]
    r = shares(look, T0 + seconds, *rules, *(grown if options & (SL | SL_EXT) else []),
               *([waited(LEAF, *range(8))] if options & WAIT else []))
    assert r.json["shares"]["busy"] == busy, r
    assert [x["code"] for x in r.json["findings"] if x["code"].startswith("class-")] == codes
    asked = {x["item"]: x["asked"] for x in r.json["counters_coverage"]}
    assert asked["PortXmitDataSLExt"] == (ports(fab) if wide else 0)
    assert asked["PortXmitDataSL"] == (ports(fab) if options & SL and not wide else 0)
    assert asked["PortVLXmitWaitCounters"] == (ports(fab) if options & WAIT and options & (SL | SL_EXT) else 0)


def test_full_32_bits_are_not_known(look):
    shares(look, T0, *device(SL | WAIT)).ok(0)
    r = shares(look, T0 + 300, *device(SL | WAIT), at(LEAF, f"attr=PortXmitDataSL : set XmtDataSL2={2**32 - 1}")).ok(0)
    assert r.json["shares"]["known"] == ports(look.f) - 1 and r.json["shares"]["busy"] == 0
    assert f"{2**32 - 1}+" in open(look.state, encoding="ascii").read()


def test_begun_anew_or_another_link_is_not_known(look):
    shares(look, T0, *device(), sent(LEAF, {1: 2})).ok(0)
    r = shares(look, T0 + 300, *device(), sent(LEAF, {1: 1})).ok(0)  # less than before
    assert r.json["shares"]["known"] == ports(look.f) - 1
    slow = [at(p, "attr=PortInfo : set LinkSpeedExtActive=1") for p in (LEAF, HOST)]
    r = shares(look, T0 + 600, *device(), *slow, sent(LEAF, {1: 2}))
    assert r.json["shares"]["known"] == ports(look.f) - 2


def test_a_device_that_says_it_counts_and_is_silent(look):
    r = shares(look, T0, *device(), at(LEAF, "attr=PortXmitDataSLExt : timeout"), args=("-t", "50")).ok(3)
    assert [(c, n) for c, n, *_ in found(r)] == [("counters-unanswered", "leaf-01")]


def test_without_a_policy_only_how_busy(look):
    shares(look, T0, *device(), policy=False).ok(0)
    r = shares(look, T0 + 300, *device(), sent(LEAF, {1: .9}), policy=False).ok(0)
    assert r.json["shares"]["busy"] == 1 and "class_shares" not in r.json


def test_own_limits(look, tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY + "counters: {busy: 50, tolerance: 50}\n", encoding="ascii")
    shares(look, T0, *device()).ok(0)
    half = [sent(LEAF, {0: .1, 1: .2, 2: .3}), waited(LEAF, *range(8))]  # 60 % busy, training has a third
    r = shares(look, T0 + 300, *device(), *half).ok(0)
    assert r.json["shares"]["busy"] == 1
    shares(look, T0 + 600, *device()).ok(0)
    r = shares(look, T0 + 900, *device(), sent(LEAF, {0: .1, 1: .1, 2: .4}), waited(LEAF, *range(8))).ok(1)
    assert found(r) == [("class-share-low", *LEAF, "class 'training'")]


def test_two_looks_in_one_run(fab, look):
    """--interval: counters that grow by the clock, no state file."""
    rules = [*device(), at(LEAF, "attr=PortXmitDataSLExt : grow XmtDataSL0=3e8/s XmtDataSL1=5e8/s XmtDataSL2=2.2e9/s since=1"),
             at(LEAF, "attr=PortVLXmitWaitCounters : grow PortVLXmitWait0=2/s PortVLXmitWait1=2/s PortVLXmitWait2=2/s since=1600000000")]
    fab.rules(*[f"attr={a} : answer status=0xc" for a in ("PortExtendedSpeedsCounters", "PortRcvErrorDetails", "PortXmitDiscardDetails")], *rules)
    r = fab.ibqos("audit", "--counters", "--shares", "--interval", "6", "--policy", look.policy, "--all", "--format", "json")
    rows = {x["class"]: x["share"] for x in r.json["class_shares"] if x["node"] == "leaf-01"}
    assert abs(rows["training"] - 100 / 6) < 1 and abs(rows["storage"] - 220 / 3) < 1
    assert r.json["counters"]["compared"] == ports(fab)
    assert "with --state" in fab.ibqos("audit", "--counters", "--interval", "6", "--state", "x").ok(3).stderr


def test_bars_of_busy_ports(fab, look):
    """The picture of a page holds what the JSON of the same look tells: ports, worst first, each class's bar, mark and words."""
    now = [*device(), sent(LEAF, {0: .1, 1: .2, 2: .65}), sent(HOST, {0: .05, 1: .55, 2: .3}), waited(LEAF, *range(8))]
    shares(look, T0, *device()).ok(0)
    with open(look.state, "rb") as f:
        before = f.read()
    rows = shares(look, T0 + 300, *now).ok(1).json["class_shares"]
    with open(look.state, "wb") as f:
        f.write(before)
    page = figures.read(shares(look, T0 + 300, *now, args=("--format", "html")).ok(1).stdout)
    told = {}
    for x in rows:
        told.setdefault((x["node"], x["port"]), []).append(x)
    figure = page.one("div", "sh-all-ports")
    ports_ = sorted(told.values(), key=lambda of: -max(x["promised"] - x["share"] for x in of))
    assert [h.text for h in figure.all("h3")] == [f"{of[0]['node']}[{of[0]['port']}], {of[0]['busy']:.0f} % busy" for of in ports_] and len(ports_) == 2
    for svg, of in zip(figure.all("svg", "sh"), ports_, strict=True):
        for row, x in zip(svg.all("g", "sh-r"), of, strict=True):
            whole, bar, mark = row.one("rect", "sh-all"), row.one("rect", "sh-got"), row.one("path", "sh-want")["d"]
            point = float(whole["width"]) / 100
            less = x["share"] < x["promised"] - 0.05
            assert abs(float(bar["width"]) - x["share"] * point) <= 0.51
            assert abs(float(mark[1:].split()[0]) - float(whole["x"]) - x["promised"] * point) <= 0.51
            assert ("sh-less" in bar.classes) == less
            assert [t.text for t in row.all("text")] == [x["class"], f"had {x['share']:.1f} % of {x['promised']:.1f} %{', less' if less else ''}"]
    assert figures.rows(page.one("table", id="sh-had")) == [
        [f"{x['node']}[{x['port']}], {x['busy']:.0f} % busy", x["class"], f"{x['promised']:.1f} %", f"{x['share']:.1f} %"] for of in ports_ for x in of]
