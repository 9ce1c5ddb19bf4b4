# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Another admin edits opensm.conf while apply is on its way back: the edit stays. Found in chaos."""
import re

from kit import policy, run

SMALL = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=1)
EDIT = b"max_wire_smps 7\n"


def read(path):
    with open(path, "rb") as f:
        return f.read()


def test_an_edit_made_while_the_ports_are_read_back_stays(up):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    # a switch that takes no tables, so that apply goes back; sweeps that last, so that there is time to edit
    sm.rules("node=leaf-01 attr=SL2VL method=set : status=0x1c", "attr=PortInfo method=get : delay=20")
    before = read(sm.config)
    with open(f.path("report"), "wb") as out:
        p = run.start([run.binary(), "apply", path, "--deadline", "2", "--format", "json", "--state-dir", f.path("state")],
                      cwd=f.dir, env=f.env(), stdout=out)
        # the way back: `qos` written TRUE, all else as it was
        back = before.replace(b"qos FALSE", b"qos TRUE")
        assert back != before
        run.deadline(60, "old files with QoS on", lambda: read(sm.config) == back, every=0.001,
                     alive=lambda: p.poll() is None)
        with open(sm.config, "ab") as conf:
            conf.write(EDIT)
        assert p.wait(90) == 2
    assert read(sm.config) == back + EDIT
    report = read(f.path("report")).decode()
    assert "apply-rollback-failed" in report and "apply-file-changed" in report
    assert re.search(r"still TRUE", report) and '"installed":false' in report
