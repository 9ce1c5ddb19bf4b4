# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Site files: what lint says of them; the manual page and the schema are what the program's own tables say."""
import json
import os
import re
import textwrap

from kit import run


def committed(*path):
    with open(os.path.join(run.TOP, "docs", *path), encoding="utf-8") as f:
        return f.read()


def test_manual_and_schema_are_up_to_date(ibqos):
    assert ibqos("lint", "--site-manual").ok().stdout == committed("man", "ibqos-site.5.rst"), "run: make policy-docs"
    assert ibqos("lint", "--site-schema").ok().stdout == committed("site.schema.json"), "run: make policy-docs"


def keys(schema):
    found = set(schema.get("properties", {}))
    for part in [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]:
        found |= keys(part)
    return found


def test_schema_manual_and_example_have_every_key(ibqos, tmp_path):
    schema, manual = json.loads(committed("site.schema.json")), committed("man", "ibqos-site.5.rst")
    assert schema["additionalProperties"] is False and schema["required"] == ["version"]
    names = keys(schema)
    assert {"via", "guid", "host", "rotation", "all_active_ports"} <= names
    assert not [n for n in names if f"**{n}**" not in manual]
    example = re.search(r"^EXAMPLE\n=+\n\n::\n\n(.*?)\n\nKEYS", manual, re.S | re.M)[1]
    assert not [n for n in names if f"{n}:" not in example]
    path = tmp_path / "site.yaml"
    path.write_text(textwrap.dedent(re.sub(r"/etc/ibqos/\w+.yaml", os.path.join(run.TOP, "policies", "training-first.yaml"),
                                           example)) + "\n", encoding="utf-8")
    r = ibqos("lint", "--site", path, "--format", "json").ok(0)
    assert [(f["fabric"], f["ca"], f["port"], f["port_guid"], f["via"], f["opensm_host"]) for f in r.json["fabrics"]] == [
        ("rail0", "mlx5_0", 1, None, None, None), ("rail1", None, None, "0x0c42a10300000011", None, "mgmt2"),
        ("storage", "mlx5_2", None, None, "ssh", None)]
    assert r.json["fabrics"][1]["baseline"] == "/var/lib/ibqos/rail1/good.snap"


def test_faults_all_in_one_run_with_their_places(ibqos, tmp_path):
    path = tmp_path / "site.yaml"
    path.write_text("version: 1\nfabrics:\n  - {name: a, port: {ca: mlx5_0}, stat: /s}\n  - {port: 1}\n", encoding="utf-8")
    r = ibqos("lint", "--site", path, "--format", "json").ok(2)
    assert {f["code"] for f in r.json["findings"]} == {"site-fault"}
    assert [(f["line"], f["column"], f["what"], f["detail"]) for f in r.json["findings"]] == [
        (3, 35, "stat", "unknown key; did you mean 'state'?"), (4, 5, "key 'name'", "required key is missing"),
        (4, 12, "key 'port'", "value of the wrong type")]
    path.write_text("version: [1\n", encoding="utf-8")
    r = ibqos("lint", "--site", path, "--format", "json").ok(2)
    assert "site-syntax" in {f["code"] for f in r.json["findings"]}
    assert "cannot read site" in ibqos("lint", "--site", tmp_path / "none").ok(3).stderr


def test_policies_of_the_fabrics_are_checked_once_each(ibqos, tmp_path):
    bad = tmp_path / "bad.yaml"
    bad.write_text("version: 1\n", encoding="utf-8")
    path = tmp_path / "site.yaml"
    path.write_text(f"version: 1\ndefaults: {{policy: {bad}}}\nfabrics:\n  - {{name: a, port: {{ca: x}}}}\n"
                    f"  - {{name: b, port: {{ca: y}}}}\n  - {{name: c, policy: /of/another/host, via: [ssh, h]}}\n", encoding="utf-8")
    r = ibqos("lint", "--site", path, "--format", "json").ok(2)
    assert [(f["file"], f["code"]) for f in r.json["findings"]] == [(str(bad), "policy-key-missing")]


def test_files_and_ports_of_other_spelling(ibqos, tmp_path):
    """What is written for one fabric is nothing of another, however it is spelled."""
    path = tmp_path / "site.yaml"

    def clashes(a, b):
        path.write_text(json.dumps({"version": 1, "fabrics": [{"name": "a", "port": {"ca": "x"}, **a}, {"name": "b", "port": {"ca": "y"}, **b}]}), encoding="ascii")
        return [f["what"] for f in ibqos("lint", "--site", path, "--format", "json").json["findings"]]

    for first, second in (("/x/./s", "/x//s"), ("/x/s", "/x/y/../s"), ("/s", "/../s"), ("/s", "/x/y/../../s"), ("/x/s/", "/x/s")):
        assert clashes({"state": first}, {"state": second}) == ["key 'state' of fabric 'b'"], (first, second)
        assert clashes({"state": first}, {"rotation": second}) == ["key 'rotation' of fabric 'b'"], (first, second)
        assert clashes({}, {"state": first, "rotation": second}) == ["key 'rotation' of fabric 'b'"], (first, second)
    for first, second in (("/x/s", "/x/y/s"), ("/a/..s", "/s"), ("/a/...", "/a"), ("/a.", "/a")):
        assert not clashes({"state": first}, {"state": second}), (first, second)
    assert clashes({}, {"port": {"ca": "x", "port": 1}}) == ["port of fabric 'b'"]
    assert not clashes({"port": {"ca": "x", "port": 2}}, {"port": {"ca": "x", "port": 1}})
