# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The manual page and the schema of the policy language are what the program's own tables say."""
import json
import os
import re
import textwrap

from kit import run


def committed(*path):
    with open(os.path.join(run.TOP, "docs", *path), encoding="utf-8") as f:
        return f.read()


def test_manual_is_up_to_date(ibqos):
    assert ibqos("lint", "--manual").ok().stdout == committed("man", "ibqos-policy.5.rst"), "run: make policy-docs"


def test_schema_is_up_to_date(ibqos):
    assert ibqos("lint", "--schema").ok().stdout == committed("policy.schema.json"), "run: make policy-docs"


def keys(schema):
    """All names of keys in a schema, with those of items."""
    found = set(schema.get("properties", {}))
    for part in [*schema.get("properties", {}).values(), *schema.get("patternProperties", {}).values(),
                 *schema.get("anyOf", []), *([schema["items"]] if "items" in schema else [])]:
        found |= keys(part)
    return found


def test_schema_and_manual_have_every_key(ibqos):
    schema = json.loads(committed("policy.schema.json"))
    assert schema["additionalProperties"] is False and schema["required"] == ["version", "classes"]
    assert schema["properties"]["classes"]["items"]["required"] == ["name", "sl", "share"]
    manual = committed("man", "ibqos-policy.5.rst")
    names = keys(schema)
    assert {"service_id", "min_latency", "guid", "pkey", "high_limit", "config"} <= names
    assert not [n for n in names if f"**{n}**" not in manual]


def test_example_of_the_manual_is_a_good_policy(ibqos, tmp_path):
    """It uses every part of the language; what it is told are notes."""
    example = re.search(r"^EXAMPLE\n=+\n\n::\n\n(.*?)\n\nKEYS", committed("man", "ibqos-policy.5.rst"), re.S | re.M)[1]
    path = tmp_path / "example.yaml"
    path.write_text(textwrap.dedent(example) + "\n", encoding="utf-8")
    r = ibqos("lint", path, "--format", "json").ok(0)
    assert len(r.json["rules"]) == 5 and len(r.json["partitions"]) == 1
    assert {f["severity"] for f in r.json["findings"]} == {"note"}


