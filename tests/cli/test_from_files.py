# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What is told of files, where nobody can be asked: in the words of a file; and one cause once."""
from kit import dumps
from tools import netgen


def audit(ibqos, path, text):
    path.write_text(text, encoding="utf-8")
    return ibqos("audit", "--from", path, "--format", "json").json["findings"]


def test_what_a_file_lacks_was_not_asked_for(ibqos, tmp_path):
    """No device or subnet manager 'had stopped answering': nobody was asked."""
    net = netgen.fat_tree(leaves=2, spines=1)
    found = audit(ibqos, tmp_path / "f.csv", dumps.plain(net))
    details = [x["detail"] for x in found if x["detail"]]
    assert "not in the file: it was not asked for when that was made" in details
    assert not [d for d in details if "stopped answering" in d]
    (tmp_path / "conf").write_text("qos TRUE\n")
    r = ibqos("verify", "--from", tmp_path / "f.csv", "--opensm-conf", tmp_path / "conf", "--paths", "--format", "json").ok(2, 3)
    details = {x["detail"] for x in r.json["findings"] if x["detail"]}
    assert "not in the file: it was not asked for when that was made" in details
    assert not [d for d in details if "stopped answering" in d]


def test_a_silent_host_is_told_once(ibqos, tmp_path):
    """A port that is up with nothing behind it that answers: no-answer. That a host is missing there besides would be the same again."""
    net = netgen.fat_tree(leaves=6, spines=2, storage=0)
    host = net["gpu-014"]
    silent = "".join(line for line in dumps.plain(net).splitlines(True) if f"0x{host.guid:016x}" not in line)
    codes = [x["code"] for x in audit(ibqos, tmp_path / "silent.csv", silent)]
    assert "no-answer" in codes and "sibling-host-missing" not in codes
    net.remove_node("gpu-014")  # its port is down
    codes = [x["code"] for x in audit(ibqos, tmp_path / "gone.csv", dumps.plain(net))]
    assert "no-answer" not in codes and "sibling-host-missing" in codes
