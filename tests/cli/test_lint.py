# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What lint shows of a policy beside its faults."""
from kit import policy

LANGUAGE = """version: 1
classes:
  - {name: training, nccl_ib_tc: [104, 98], share: 60%}
  - name: storage
    sl: 1
    share: 30%
    match:
      - {service: ipoib, partition: ib}
      - {service: lustre, source: oss}
  - {name: other, share: 10%, default: true}
groups: {oss: [{name: "oss*"}]}
partitions: [{name: ib, pkey: 0x8003, sl: 1, ipoib: true}]
"""


def write(tmp_path, text):
    path = tmp_path / "policy.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_rules_in_the_order_in_which_they_are_tried(ibqos, tmp_path):
    text = LANGUAGE.replace("{name: training, ", "{name: training, sl: 2, ").replace("{name: other, ", "{name: other, sl: 0, ")
    r = ibqos("lint", write(tmp_path, text), "--format", "json").ok(0)
    assert [(x["matches"], x["class"], x["sl"], x["line"]) for x in r.json["rules"]] == [
        ("QoS class 98, 104", "training", 2, 3), ("lustre: service ID 0x10603db; from oss", "storage", 1, 9),
        ("ipoib: P_Key 0x3 (ib)", "storage", 1, 8)]
    assert r.json["classes"][0]["nccl_ib_tc"] == 104 and r.json["classes"][0]["more_tcs"] == "98"
    assert r.json["partitions"] == [{"name": "ib", "pkey": "0x0003", "sl": 1, "ipoib": True}]


def test_suggest_sl(ibqos, tmp_path):
    path = write(tmp_path, LANGUAGE)
    missing = ibqos("lint", path, "--format", "json").ok(2)
    assert [f["line"] for f in policy.codes(missing)["policy-key-missing"]] == [3, 10]
    r = ibqos("lint", path, "--suggest-sl", "--format", "json").ok(1)
    # not 1 (taken), 2 (98 in four bits), 3 (DeepEP)
    assert {x["class"]: x["sl"] for x in r.json["suggested_sls"]} == {"training": 4, "other": 0}
    assert {f["severity"] for f in policy.codes(r)["policy-key-missing"]} == {"warning"}
    assert [c["sl"] for c in r.json["classes"]] == [None, 1, None]


def test_suggest_sl_with_another_fault(ibqos, tmp_path):
    r = ibqos("lint", write(tmp_path, LANGUAGE.replace("60%", "80%")), "--suggest-sl", "--format", "json").ok(2)
    assert "policy-share-sum" in policy.codes(r) and "suggested_sls" not in r.json


def test_schema_takes_no_policy(ibqos, tmp_path):
    ibqos("lint", "--schema", write(tmp_path, LANGUAGE)).ok(3)
    assert ibqos("lint", "--schema").ok(0).stdout.startswith("{")
