# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Keys: in no message, report, diff, snapshot or file of others, at any level of talk."""
import os
import stat

import pytest

from kit import policy

SHAPE = dict(leaves=1, spines=1, hosts_per_leaf=2, uplinks=1, storage=0)
KEYS = {"m_key": 0x5EC2E7A5B1C3D4F6, "sm_key": 0x1D3A5C7E9F2B4D68, "sa_key": 0x0BADC0DE0FEEDBEE, "cc_key": 0x77AA55CC33EE1199}


def spelled(keys=KEYS.values()):
    for k in keys:
        yield from (f"{k:x}", f"{k:X}", str(k), f"{k:o}", k.to_bytes(8, "big").hex(":"))


def without(text, where):
    for word in spelled():
        assert word not in text, (where, word)


def raw_without(data, where):
    for k in KEYS.values():
        for order in ("big", "little"):
            assert k.to_bytes(8, order) not in data, where
    without(data.decode("latin-1"), where)


def config(sm):
    """Beside the lines that a policy changes, so that a diff has them around its changes."""
    with open(sm.config, encoding="ascii") as c:
        lines = c.read().splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("qos"))
    keys = [f"{name} 0x{k:x}" for name, k in KEYS.items()]
    lines[at:at] = keys[:2] + ["# sm_key 0x%x # as it was" % KEYS["sm_key"], '#m_key "0x%X"' % KEYS["m_key"]]
    lines[at + 5:at + 5] = keys[2:]
    with open(sm.config, "w", encoding="ascii") as c:
        c.write("\n".join(lines) + "\n")
    os.chmod(sm.config, 0o600)


def test_keys_of_opensm_conf(up, tmp_path):
    f, sm = up(args=["-k", f"0x{KEYS['sm_key']:x}"], **SHAPE)
    path, state, staged = policy.write(f, sm), tmp_path / "state", tmp_path / "staged"
    config(sm)
    said = []
    for args in (("plan", path), ("plan", path, "--format", "json"), ("plan", path, "--format", "html"), ("lint", "--opensm-conf", sm.config),
                 ("import", "--opensm-conf", sm.config), ("apply", path, "--stage", staged), ("apply", path, "--state-dir", state),
                 ("apply", path, "--state-dir", state, "--include-pending", "--format", "json"), ("verify", path), ("history", "--state-dir", state),
                 ("snapshot", tmp_path / "a.snap", "--policy", path), ("rollback", "--state-dir", state, "--format", "json")):
        r = f.ibqos(*args, "-d")
        without(r.stdout + r.stderr, args)
        said.append(r)
    assert "(not shown)" in said[0].stdout and "+qos" in said[0].stdout, said[0]
    raw_without((tmp_path / "a.snap").read_bytes(), "snapshot")
    # where they have to be, nobody else reads them
    assert stat.S_IMODE(os.stat(staged / "opensm.conf").st_mode) == 0o600
    for at, folders, names in os.walk(state):
        assert stat.S_IMODE(os.stat(at).st_mode) == 0o700 or at == str(state), at
        for name in names:
            if "history" in at:
                assert stat.S_IMODE(os.stat(os.path.join(at, name)).st_mode) == 0o600, name
            if "opensm.conf" not in name:
                with open(os.path.join(at, name), "rb") as k:
                    raw_without(k.read(), name)


@pytest.mark.parametrize("line", ["m_key {}x", "m_key 0{}", "m_key {}\nm_key 0x1", "sm_key -{}", "sa_key {}{}", "cc_key", "m_key '{}"])
def test_lint_of_a_key(ibqos, tmp_path, line):
    """A key that cannot be read is told, not shown."""
    path = tmp_path / "opensm.conf"
    path.write_text(line.replace("{}", f"{KEYS['m_key']:x}") + "\n", encoding="ascii")
    r = ibqos("lint", "--opensm-conf", path, "--format", "json", "-d")
    assert r.json["findings"], r
    without(r.stdout + r.stderr, line)


def test_what_ports_show(up, tmp_path):
    """Devices without protection answer with their M_Key in PortInfo: it is cut off, in what is kept too."""
    f, sm = up(options={"qos": "TRUE"}, **SHAPE)
    f.rules(*(f"attr=PortInfo : set " + " ".join(f"byte{i}=0x{b:x}" for i, b in enumerate(KEYS["m_key"].to_bytes(8, "big"))) for _ in "1"))
    path = policy.write(f, sm)
    snap, redacted, names = tmp_path / "a.snap", tmp_path / "r.snap", tmp_path / "names"
    for walker in ("native", "libibnetdisc"):
        for args in (("snapshot", snap, "--policy", path), ("discover", "--format", "json", "--all"), ("audit", "--all"), ("verify", path, "--all")):
            r = f.ibqos(*args, "-d", *(() if args[0] == "snapshot" else ("--walker", walker)))
            without(r.stdout + r.stderr, args)
    f.ibqos("snapshot", "--from", snap, "--redact", names, redacted).ok(0, 1, 3)
    from kit import snapfile  # pylint: disable=import-outside-toplevel
    for file in (snap, redacted):
        for part in snapfile.read(file)["DATA"]:
            raw_without(part, file)


def test_no_key_on_a_command_line(ibqos):
    for word in (f"0x{KEYS['m_key']:x}", str(KEYS["m_key"])):
        for option in (("-y", word), ("--m_key", word), (f"--m_key={word}",), (f"-y{word}",)):
            r = ibqos("discover", *option).ok(3)
            assert "anybody could read it" in r.stderr
            without(r.stdout + r.stderr, option)
