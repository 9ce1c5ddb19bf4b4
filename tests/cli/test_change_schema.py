# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The JSON Schema of change files says what the reader of them says."""
import json
import os
import re

from kit import dumps, run
from tools import netgen

GOOD = ["leaf-12 down", "leaf-01[7] down", "gpu-[001-008] gone", "gpu-033 new", "swapped replaced", "leaf-04[2] moved", "all gets tables",
        "rack7 gets 4x NDR", "a gets NDR", "a gets ndr 4X", "a gets 2x", "gpu-001 mlx5_0 renamed to gpu-201 mlx5_0", "0x0c42a10300000010 down"]
BAD = ["leaf-12", "down", "leaf-12 explodes", "a gets", "a gets 4x 2x", "a gets NDR HDR", "a gets 3x", "a gets 4xNDR", "a renamed to ", "a downs"]


def test_it_is_up_to_date(ibqos):
    with open(os.path.join(run.TOP, "docs", "changes.schema.json"), encoding="utf-8") as f:
        assert ibqos("lint", "--change-schema").ok().stdout == f.read(), "run: make policy-docs"


def test_lines(ibqos, tmp_path):
    schema = ibqos("lint", "--change-schema").ok().json
    pattern = schema["properties"]["changes"]["items"]["pattern"]
    (tmp_path / "f").write_text(dumps.ibnetdiscover(netgen.fat_tree(leaves=2, spines=1)))
    for lines, good in ((GOOD, True), (BAD, False)):
        for line in lines:
            assert bool(re.search(pattern, line)) == good, line
            (tmp_path / "c").write_text(json.dumps({"version": 1, "changes": [line]}))
            r = ibqos("diff", "--expect", tmp_path / "c", tmp_path / "f", tmp_path / "f", "--format", "json")
            assert ("changes-fault" in {x["code"] for x in r.json["findings"]}) != good, line


def test_keys(ibqos):
    schema = ibqos("lint", "--change-schema").ok().json
    assert schema["additionalProperties"] is False and schema["required"] == ["version", "changes"]
    assert sorted(schema["properties"]) == ["changes", "groups", "version"] and schema["properties"]["version"] == {"const": 1}
