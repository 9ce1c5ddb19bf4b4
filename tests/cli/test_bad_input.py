# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Bad input: a clear message, the exit code of the design, no file touched. No fabric is needed here."""
import os
import re

import pytest

from kit import policy, prometheus, run


def write(tmp_path, text):
    path = tmp_path / "policy.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def lines(result):
    """(line, code) of each finding that is placed in a file."""
    return [(f["line"], f["code"]) for f in result.json["findings"] if f["file"]]


def test_help_and_version(ibqos):
    assert "discover" in ibqos("--help").ok().stdout
    assert re.match(r"ibqos \d+\.\d+\.\d+\n$", ibqos("-V").ok().stdout)
    for command in ("discover", "lint", "plan", "apply", "verify", "audit"):
        text = ibqos(command, "--help").ok().stdout
        assert f"ibqos {command}" in text and "--format" in text and "Exit status" in text


@pytest.mark.parametrize("command", ["discover", "lint", "import", "plan", "apply", "rollback", "history", "confirm", "verify",
                                     "trace", "audit", "ack", "snapshot", "diff", "job env", "job check", "job host", "job log",
                                     "job bw-plan", "job bw-read"])
def test_help_fits_a_terminal(ibqos, command):
    """No line too long, and none cut short in the middle of a sentence."""
    text = ibqos(*command.split(), "--help").ok().stdout
    assert max(map(len, text.splitlines())) < 80
    said = text[text.index("\n", text.rindex("Usage:")):].split("\n\n")[0].splitlines()
    said = [line for line in said if line and not line.startswith(" ")]
    for line, next_ in zip(said, said[1:]):
        assert len(line) + 1 + len(next_.split()[0]) >= 78, line
    assert not re.search(r"likewise| of these(?! hosts)", text)  # options are sorted: each is read alone


@pytest.mark.parametrize("args", [[], ["frobnicate"], ["--frobnicate"], ["discover", "--frobnicate"], ["discover", "x"],
                                  ["lint"], ["lint", "a", "b"], ["discover", "-t", "abc"], ["discover", "-o", "0"],
                                  ["discover", "-P", "-1"], ["audit", "--format", "xml"], ["apply", "p", "--max-lag", "101"]])
def test_bad_usage_exits_3_and_prints_nothing_on_stdout(ibqos, args):
    r = ibqos(*args).ok(3)
    assert r.stdout == "" and r.stderr


def test_missing_policy(ibqos, tmp_path):
    for command in ("lint", "plan", "apply", "verify"):
        r = ibqos(command, str(tmp_path / "none.yaml")).ok(3)
        assert "none.yaml" in r.stderr and "No such file" in r.stderr


def test_a_good_policy(ibqos, tmp_path):
    r = ibqos("lint", write(tmp_path, policy.text(None)), "--format", "json").ok(0)
    assert [c["name"] for c in r.json["classes"]] == ["training", "storage", "other"]


def test_yaml_error_has_its_place(ibqos, tmp_path):
    path = write(tmp_path, "version: 1\nclasses:\n  - name: [\n")
    r = ibqos("lint", path).ok(2)
    assert re.search(rf"^{re.escape(path)}:\d+:\d+: ", r.stdout, re.M)


def test_all_faults_in_one_run(ibqos, tmp_path):
    r = ibqos("lint", write(tmp_path, """version: 2
classes:
  - name: training
    sl: 16
    shar: 70%
  - name: storage
    sl: 2
    sl: 3
    share: 20%
    default: yes
  - name: other
    sl: 2
    share: 90%
unused: x
"""), "--format", "json").ok(2)
    found = lines(r)
    for line, code in ((1, "policy-range"), (4, "policy-range"), (5, "policy-key-unknown"), (8, "policy-key-double"),
                       (10, "policy-type"), (14, "policy-key-unknown")):
        assert (line, code) in found, found
    assert all(f["column"] > 0 and (f["wanted"] or f["got"] or f["detail"]) for f in r.json["findings"] if f["severity"] == "critical" and f["file"]), r
    unknown = [f for f in r.json["findings"] if f["line"] == 5][0]
    assert "share" in unknown["wanted"]


def test_share_sum_over_100(ibqos, tmp_path):
    classes = [dict(policy.TRAINING, share="95%"), policy.STORAGE, policy.OTHER]
    r = ibqos("lint", write(tmp_path, policy.text(None, classes)), "--format", "json").ok(2)
    assert [f["code"] for f in r.json["findings"] if f["severity"] == "critical"] == ["policy-share-sum"]
    assert "125" in [f["got"] for f in r.json["findings"] if f["code"] == "policy-share-sum"][0]


def test_faulty_policy_is_refused_before_the_fabric_is_looked_at(ibqos, tmp_path):
    path = write(tmp_path, "version: 1\nclasses: []\n")
    for command in ("plan", "apply", "verify"):
        r = ibqos(command, path, *(["--state-dir", str(tmp_path / "state")] if command == "apply" else [])).ok(2)
        assert "InfiniBand" not in r.stderr
    assert sorted(os.listdir(tmp_path)) == ["policy.yaml"]


def test_no_adapter_on_this_machine(ibqos, tmp_path):
    path = write(tmp_path, policy.text(None))
    for command in (["discover"], ["audit"], ["plan", path], ["apply", path], ["verify", path]):
        r = ibqos(*command, *(["--state-dir", str(tmp_path / "state")] if command[0] == "apply" else [])).ok(3)
        assert "no InfiniBand" in r.stderr, r
    assert sorted(os.listdir(tmp_path)) == ["policy.yaml"]


def test_output_is_replaced_whole_or_not_at_all(ibqos, tmp_path):
    path, out = write(tmp_path, policy.text(None)), tmp_path / "report.json"
    out.write_text("old")
    ibqos("lint", path, "--format", "json", "--output", str(out)).ok(0)
    assert out.read_text().startswith("{")
    r = ibqos("lint", path, "--output", str(tmp_path / "no" / "such")).ok(3)
    assert "no/such" in r.stderr
    bad = write(tmp_path, "version: 1\nclasses: none\n")
    ibqos("lint", bad, "--output", str(tmp_path / "no" / "such")).ok(2)  # critical stays worse than unknown


def test_full_disk_on_standard_output(ibqos, tmp_path):
    path = write(tmp_path, policy.text(None))
    from kit import run
    with open("/dev/full", "wb") as full:
        p = run.start([run.binary(), "lint", path], stdout=full)
        assert p.wait(20) == 3


def test_metrics_where_there_are_none(ibqos, tmp_path):
    """Not passed over in silence: who asks for a file gets it or is told."""
    for args in (["job", "env", "--policy", "p", "--class", "c"], ["job", "bw-plan", "--hosts", "a,b", "--hca", "m"]):
        for more in (["--metrics", tmp_path / "m"], ["--format", "prometheus"], ["--format", "nagios"]):
            assert "measures nothing" in ibqos(*args, *more).ok(3).stderr
    r = ibqos("job", "host", "--sysfs", tmp_path, "--metrics", tmp_path / "m", "--output", tmp_path / "." / "m").ok(3)
    assert "one file" in r.stderr and not (tmp_path / "m").exists()


def test_labels(ibqos, tmp_path):
    """Of all metrics, beside those that ibqos has; a name that it has, or that none can have, is refused."""
    args = ["job", "host", "--sysfs", tmp_path, "--format", "prometheus"]
    r = ibqos(*args, "--label", "job_id=7", "--label", 'x="a\\=b').ok(2)
    m = prometheus.Metrics(r.stdout)
    assert all({("job_id", "7"), ("x", '"a\\=b')} <= have for f in m.families.values() for have in f["samples"])
    assert ibqos(*args[:-1], "json", "--label", "job_id=7").json["labels"] == {"job_id": "7"}
    for bad in ("a", "=b", "1a=b", "a-b=c", "__a=b", "command=x", "fabric=x", "severity=x", "node=x", "host=x", "hca=x", "fatal=x", "outcome=x",
                "about=x", "at_least=x", "ber=x", "x" * 64 + "=a", "\xe9=1"):
        assert "--label" in ibqos(*args, "--label", bad).ok(3).stderr, bad
    assert "twice" in ibqos(*args, "--label", "a=1", "--label", "a=2").ok(3).stderr
    assert "more than" in ibqos(*args, *(w for i in range(9) for w in ("--label", f"a{i}=1"))).ok(3).stderr


def test_labels_of_metrics_are_refused(ibqos, tmp_path):
    """Each name of a label that any golden metric has."""
    names = set()
    folder = os.path.join(run.TOP, "tests", "golden", "report")
    for name in os.listdir(folder):
        if name.endswith(".prom"):
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                names |= set(re.findall(r'[{,](\w+)="', f.read()))
    assert {"command", "verdict", "version", "peer"} <= names
    for name in names:
        ibqos("job", "host", "--sysfs", tmp_path, "--label", f"{name}=x").ok(3)
