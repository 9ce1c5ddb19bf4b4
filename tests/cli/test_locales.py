# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Numbers and words are the same in every locale: decimal commas, the Turkish i, character sets of one byte."""
import os
import re
import shutil
import subprocess

import pytest

from kit import dumps, run
from tools import netgen

LOCALES = {"de_DE.UTF-8": ("de_DE", "UTF-8"), "tr_TR.UTF-8": ("tr_TR", "UTF-8"), "de_DE.ISO-8859-1": ("de_DE", "ISO-8859-1"), "tr_TR.ISO-8859-9": ("tr_TR", "ISO-8859-9")}
POLICY = """version: 1
classes:
  - {name: TRAINING, sl: 1, share: 70.5%}
  - {name: idle, sl: 0, share: 29.5%, default: true}
"""


@pytest.fixture(scope="module")
def locales(tmp_path_factory):
    """Folder with these locales, for LOCPATH; nothing of the machine's own is changed."""
    folder = tmp_path_factory.mktemp("locales")
    assert shutil.which("localedef"), "scripts/deps.sh"
    for name, (source, charset) in LOCALES.items():
        subprocess.run(["localedef", "-c", "-i", source, "-f", charset, str(folder / name)], check=False, capture_output=True)
        assert (folder / name / "LC_NUMERIC").exists(), name
    # that they are what they should be: printf(1) goes by them
    env = dict(os.environ, LOCPATH=str(folder), LC_ALL="de_DE.UTF-8")
    assert subprocess.run(["/usr/bin/printf", "%.1f", "1,5"], env=env, capture_output=True, check=True).stdout == b"1,5"
    return folder


@pytest.mark.parametrize("name", [*LOCALES, "C", "C.UTF-8", "no_SUCH"])
def test_the_same_in_every_locale(locales, tmp_path, name):
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "fabric.net").write_text(dumps.ibnetdiscover(netgen.fat_tree(leaves=2, spines=1, hosts_per_leaf=2)).replace("gpu-001 mlx5_0", "k\u0131z-1 \u00e9"))
    for args in (["lint", "policy.yaml"], ["discover", "--from", "fabric.net"], ["audit", "--from", "fabric.net"], ["verify", "--SAMPLE"],
                 ["job", "env", "--policy", "policy.yaml", "--class", "TRAINING"], ["lint", "missing.yaml"], ["verfy"]):
        for form in ([], ["--format", "json"], ["--format", "prometheus"], ["--format", "nagios"]):
            results = []
            for values in ({"LC_ALL": "C.UTF-8"}, {"LC_ALL": name, "LANG": name, "LANGUAGE": "de:tr", "LOCPATH": str(locales)}):
                env = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG"))}
                r = run.run([run.binary(), *args, *form], env={**env, **values}, cwd=tmp_path)
                clean = b"\n".join(line for line in r.raw.split(b"\n") if not re.search(rb"seconds|timestamp|looked|began", line))
                results.append((r.returncode, re.sub(rb" time=[0-9.]+s", b"", clean), r.stderr))
            assert results[0] == results[1], (args, form)
    out = run.run([run.binary(), "lint", "policy.yaml"], env=dict(os.environ, LC_ALL=name, LOCPATH=str(locales)), cwd=tmp_path)
    assert "70.5" in out.stdout and "29.5" in out.stdout
