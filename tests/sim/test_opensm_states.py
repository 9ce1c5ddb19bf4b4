# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""ibqos on OpenSMs in every state: what it answers, exactly, and what it leaves in the files and on the ports."""
import os
import re
import shutil
import subprocess
import time

import pytest

from kit import opensm, policy, replay, run

SMALL = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=1)
# OpenSM's own tables where nothing is said (osm_base.h), on the eight VLs that these ports run
DEFAULT_SL2VL = "0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,7"
ONE = [dict(policy.OTHER, share="100%")]
TWO = [policy.TRAINING, dict(policy.OTHER, share="30%")]
THREE = [policy.TRAINING, policy.STORAGE, policy.OTHER]
BAD_RULES = "qos-levels\n  qos-level\n    name: default\n    nonsense: 1\n  end-qos-level\nend-qos-levels\n"
# what is read before the error stays, and goes before the rules of the next file that is read well
POISON = "qos-ulps\n  default : 0\n  any, pkey 0x7fff : 5\nend-qos-ulps\nnonsense\n"


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except FileNotFoundError:
        return None


def state(f):
    return ["--state-dir", f.path("state")]


def files(sm):
    return read(sm.config), read(sm.policy)


def whole_old(sm, old):
    """The files as they were, but for the key that a way back to an OpenSM without QoS has to write."""
    def rest(text):
        return [line for line in text.splitlines() if line.split()[:1] != [b"qos"]]

    now = files(sm)
    return now[1] == old[1] and (now[0] == old[0] or (rest(now[0]) == rest(old[0]) and b"\nqos FALSE\n" in b"\n" + now[0]))


def sl2vl(f, *at):
    """One port's SL2VL row by smpquery and directed route: a CA's, or a switch's from in-port 1."""
    text = f.tool("smpquery", "-D", "sl2vl", *at).ok().stdout
    m = re.search(rf"in +1, out +{at[1]}: \|(.*)\|" if at[0] != "0" else r"ports: in +0, out +0: \|(.*)\|", text)
    return ",".join(x.strip() for x in m[1].split("|"))


def path_sl(f, *query):
    """The SL that the SA gives between two hosts."""
    found = dict(re.findall(r'# "((?:gpu|oss)[^"]*) mlx5_0" lid (\d+)', f.tool("ibnetdiscover").ok().stdout))
    text = f.tool("saquery", "--slid", found["gpu-001"], "--dlid", found["gpu-003"], *query, "PR").ok().stdout
    return int(re.search(r"\bsl\.+0x(\w+)", text)[1], 16)


def apply(f, path, *args, **kwargs):
    return f.ibqos("apply", path, "--format", "json", *state(f), *args, **kwargs)


def serious(r):
    """The codes of all findings but notes."""
    return {x["code"] for x in r.json["findings"] if x["severity"] != "note"}


def clean(f, path, **kwargs):
    """verify: every port was asked and holds the policy."""
    r = f.ibqos("verify", path, "--format", "json", **kwargs).ok()
    assert serious(r) == set() and r.json["ports"]["looked_at"] > 0 and r.json["ports"]["differ"] == 0
    return r


class Background:
    """An apply that runs while the test does something to OpenSM."""

    def __init__(self, f, path, *args, name="apply.json"):
        self.argv = [run.binary(), "apply", path, "--format", "json", *state(f), *args]
        self.out, self.err = f.path(name), f.path(name + ".err")
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = run.start(self.argv, cwd=f.dir, env=f.env(), stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        self.begin = time.monotonic()

    def alive(self):
        return self.process.poll() is None

    def evidence(self):
        return f"{read(self.out).decode()}\n{read(self.err).decode()}"

    def wait_for(self, what, ready, seconds=20):
        run.deadline(seconds, what, ready, alive=self.alive, evidence=self.evidence)

    def wait_reloaded(self, f):
        """Files in place and SIGHUP on its way: the journal's step, then a moment for the signal."""
        def converging():
            try:
                journals = [os.path.join(f.path("state/history"), d, "journal") for d in os.listdir(f.path("state/history"))]
                return any(b" converge " in (read(j) or b"") for j in journals)
            except FileNotFoundError:
                return False

        self.wait_for("reload", converging)
        time.sleep(0.2)

    def result(self, timeout=60):
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise run.KitError(f"did not end within {timeout} s: {self.evidence()}") from None
        finally:
            run.end(self.process)
        return run.Result(self.argv, self.process.returncode, read(self.out), read(self.err), time.monotonic() - self.begin)


@pytest.fixture
def background():
    """Factory: background(f, path, *args) -> Background; ended with the test."""
    started = []

    def start(*args, **kwargs):
        started.append(Background(*args, **kwargs))
        return started[-1]

    yield start
    for b in started:
        run.end(b.process)


def opensm_to_fool(up, tmp_path, **options):
    """An OpenSM whose rules file lies in a folder that can be covered: cover(sm, tmp_path)."""
    for name in ("rules", "covered"):
        (tmp_path / name).mkdir()
    (tmp_path / "covered/qos-policy.conf").write_text(BAD_RULES)
    f, sm = up(options={"qos_policy_file": str(tmp_path / "rules/qos-policy.conf"), **options},
               sm=dict(mounts={str(tmp_path / "rules"): str(tmp_path / "rules")}), **SMALL)
    sm.policy = sm.options["qos_policy_file"]
    return f, sm


def cover(sm, tmp_path):
    """From now on OpenSM alone sees BAD_RULES where ibqos writes good ones."""
    sm.cover(tmp_path / "rules", tmp_path / "covered")


# --- how OpenSM was started ---


@pytest.mark.parametrize("etc", [False, True], ids=["named", "default-path"])
def test_config_that_came_after_the_start_is_never_read(fabric, etc):
    f = fabric(**SMALL)
    sm = f.opensm(config=False, etc=etc, args=["-d", "2"])
    inside = dict(before=sm.inside()) if etc else {}
    path = policy.write(f, sm)
    if etc:
        with open(path, "w", encoding="ascii") as p:
            p.write(policy.text(None) + f"opensm:\n  log: {sm.log_file}\n")
    # as long as it is missing nothing is done
    r = apply(f, path, **inside).ok(3)
    assert "plan-config-missing" in serious(r) and files(sm) == (None, None)
    # there it is, but this OpenSM does not know
    sm.write_config()
    old = files(sm)
    r = apply(f, path, "--deadline", "2", **inside).ok(2)
    found = policy.codes(r)
    assert serious(r) == {"apply-failed", "apply-rolled-back", "sl2vl-differs", "vlarb-differs"}
    assert "had it" in found["apply-failed"][0]["detail"] and whole_old(sm, old) and not r.json["apply"]["installed"]
    assert f.ibqos("verify", path, "--format", "json", **inside).returncode == 2
    # a restart is all that was missing
    sm.restart()
    inside = dict(before=sm.inside()) if etc else {}
    apply(f, path, **inside).ok()
    clean(f, path, **inside)


def test_default_paths_and_no_qos_policy_file_key(fabric):
    """As Debian starts it: no -F, OpenSM's default for the rules too."""
    f = fabric(**SMALL)
    sm = f.opensm(etc=True, qos_policy_file=None)
    path = f.path("policy.yaml")
    with open(path, "w", encoding="ascii") as p:
        p.write(policy.text(None))
    r = apply(f, path, before=sm.inside()).ok()
    assert serious(r) == set() and sorted(os.listdir(sm.etc)) == ["opensm.conf", "qos-policy.conf"]
    clean(f, path, before=sm.inside())
    assert path_sl(f, "-Q", "41") == 1 and path_sl(f, "-Q", "40") == 0


def test_opensm_that_sees_another_etc_than_ibqos(fabric):
    """OpenSM in a container: its config is found from outside, its rules file would be another of that name."""
    f = fabric(**SMALL)
    sm = f.opensm(etc=True, qos_policy_file=None)
    os.mkdir(f.path("own-etc"))
    path = f.path("policy.yaml")
    with open(path, "w", encoding="ascii") as p:
        p.write(policy.text(None) + f"opensm:\n  config: {sm.config}\n")
    old = files(sm)
    cover = ["unshare", "-m", "sh", "-c", 'mount --bind "$1" "$2" && shift 2 && exec "$@"', "sh", f.path("own-etc"), opensm.ETC]
    r = apply(f, path, before=cover).ok(3)
    assert "apply-other-root" in serious(r)
    assert files(sm) == old and os.listdir(f.path("own-etc")) == [] and not os.path.exists(f.path("state"))


def test_config_that_is_a_symbolic_link(up):
    f, sm = up(**SMALL)
    os.mkdir(f.path("repository"))
    real = f.path("repository/fabric-a.conf")
    os.rename(sm.config, real)
    os.symlink(real, sm.config)
    sm.restart()
    path = policy.write(f, sm)
    apply(f, path).ok()
    assert os.path.islink(sm.config) and os.readlink(sm.config) == real and b"\nqos TRUE\n" in read(real)
    assert os.listdir(f.path("repository")) == ["fabric-a.conf"]
    clean(f, path)


def test_restarted_opensm_holds_the_policy_too(up):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    apply(f, path).ok()
    sm.restart(grace=False)
    clean(f, path)
    assert apply(f, path).ok().json["apply"]["unchanged"]


# --- what was configured before ---


def test_stopped_on_an_opensm_without_qos_leaves_opensms_default_tables(up, background):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    old = files(sm)
    sm.pause()
    b = background(f, path)
    b.wait_reloaded(f)
    b.process.terminate()
    b.wait_for("the way back", lambda: read(sm.policy) is None)
    sm.resume()
    r = b.result()
    assert r.returncode == 2 and {"apply-failed", "apply-rolled-back"} == serious(r)
    assert "stopped by a signal" in policy.codes(r)["apply-failed"][0]["got"]
    assert whole_old(sm, old) and re.search(rb"^qos FALSE$", read(sm.config), re.M)
    for at in (("0", "1"), ("0,1", "36"), ("0,1,36", "1")):
        assert sl2vl(f, *at) == DEFAULT_SL2VL, at
    assert f.ibqos("verify", path).returncode == 2


def test_stopped_over_an_admins_own_tables_puts_them_back(up, background):
    own = {"qos": "TRUE", "qos_sl2vl": "0,1,1,2,2,3,3,0,0,0,0,0,0,0,0,0", "qos_vlarb_low": "0:32,1:64,2:16,3:8"}
    f, sm = up(options=own, **SMALL)
    path = policy.write(f, sm)
    old = files(sm)
    sm.slow(10, "attr=SL2VL method=set")
    b = background(f, path)
    # half way: some ports have the new tables
    b.wait_for("the first new table", lambda: sl2vl(f, "0", "1") != own["qos_sl2vl"])
    b.process.terminate()
    r = b.result()
    assert r.returncode == 2 and {"apply-failed", "apply-rolled-back"} == serious(r)
    assert files(sm) == old
    for at in (("0", "1"), ("0,1", "36"), ("0,1,36", "1")):
        assert sl2vl(f, *at) == own["qos_sl2vl"], at


def test_broken_rules_from_before(up):
    """The parser keeps what it read before an error for one more sweep: it takes two reloads more. From OpenSM's own
    tables on the way goes over tables in between, which is the fourth."""
    f, sm = up(options={"qos": "TRUE"}, sm=dict(policy=POISON), **SMALL)
    assert "ERR AC05" in sm.log()
    path = policy.write(f, sm)
    r = apply(f, path).ok()
    assert serious(r) == set() and r.json["apply"]["reloads"] == 4
    assert path_sl(f, "--pkey", "0x7fff") == 0 and path_sl(f, "-Q", "41") == 1
    clean(f, path)


def test_way_back_to_broken_rules(up, background):
    """What OpenSM refused before, it refuses again: no reason to give the way back up."""
    f, sm = up(options={"qos": "TRUE"}, sm=dict(policy=BAD_RULES), **SMALL)
    path = policy.write(f, sm)
    old = files(sm)
    sm.pause()
    b = background(f, path)
    b.wait_reloaded(f)
    b.process.terminate()
    b.wait_for("the way back", lambda: read(sm.policy) == old[1])
    sm.resume()
    r = b.result()
    assert r.returncode == 2 and serious(r) == {"apply-failed", "apply-rolled-back"}
    assert files(sm) == old and sl2vl(f, "0,1", "36") == DEFAULT_SL2VL


def test_broken_partitions_from_before(up):
    f, sm = up(sm=dict(partitions="nonsense\n"), **SMALL)
    path = policy.write(f, sm)
    sm.restart()  # well after the file was written
    # OpenSM has read it so: the reload makes it no worse, but it is said
    assert serious(apply(f, path).ok(1)) == {"opensm-partitions-refused"}
    clean(f, path)
    assert read(sm.partitions) == b"nonsense\n"


# --- reload and sweep ---


def test_reload_in_the_middle_of_a_sweep(up):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    sm.slow(40)
    sweeps = sm.sweeps()
    sm.hup(wait=False)
    time.sleep(0.1)
    assert sm.sweeps() == sweeps
    r = apply(f, path).ok()
    assert serious(r) == set()
    sm.slow(0)
    clean(f, path)
    assert path_sl(f, "-Q", "41") == 1


def test_sweep_that_ends_after_the_reload_may_have_read_the_old_rules(up, background, tmp_path):
    """Tables stay, only the rules are new. A sweep that read the old rules is still setting tables when ibqos
    reloads: its end tells nothing of the new rules, which the next one refuses."""
    f, sm = opensm_to_fool(up, tmp_path)
    first = policy.write(f, sm)
    apply(f, first).ok()
    conf = read(sm.config)
    second = policy.write(f, sm, [dict(policy.TRAINING, nccl_ib_tc=42), policy.STORAGE, policy.OTHER], name="second.yaml")
    # another config, so that going back to the first keeps OpenSM busy with tables
    with open(sm.config, "wb") as c:
        c.write(re.sub(rb"(?m)(sl2vl) .*$", rb"\1 " + b",".join([b"0"] * 16), conf))
    sm.hup()
    with open(sm.config, "wb") as c:
        c.write(conf)
    old = files(sm)
    sm.slow(40, "attr=SL2VL method=set")
    sweeps = sm.sweeps()
    sm.hup(wait=False)
    run.deadline(10, "the first table", lambda: sl2vl(f, "0", "1").startswith("0,1,2"))
    # this sweep goes on setting tables, and the next one will take its time to come to the rules
    sm.rules("attr=SL2VL method=set : delay=40", "attr=PortInfo method=get : delay=30")
    b = background(f, second)
    b.wait_for("the new rules", lambda: read(sm.policy) != old[1])
    cover(sm, tmp_path)
    assert sm.sweeps() == sweeps
    b.wait_for("the refusal", lambda: "ERR AC0" in sm.log())
    assert sm.sweeps() > sweeps  # the other one has ended before
    sm.slow(0)
    r = b.result()
    assert r.returncode == 2 and serious(r) == {"opensm-policy-refused", "apply-rolled-back"} and files(sm) == old


@pytest.mark.parametrize("flush", ["TRUE", "FALSE"])
def test_rules_that_opensm_refuses(up, background, tmp_path, flush):
    """Errors come in the log at once, whether it is flushed or not (osm_log.c)."""
    f, sm = opensm_to_fool(up, tmp_path, force_log_flush=flush)
    path = policy.write(f, sm)
    old = files(sm)
    sm.pause()
    b = background(f, path)
    b.wait_reloaded(f)
    cover(sm, tmp_path)
    sm.resume()
    r = b.result()
    found = policy.codes(r)
    assert r.returncode == 2 and serious(r) == {"opensm-policy-refused", "apply-rolled-back"}
    assert found["opensm-policy-refused"][0]["file"] == sm.policy
    assert "ERR AC0" in found["opensm-policy-refused"][0]["got"]
    assert whole_old(sm, old) and read(sm.policy) is None
    assert sl2vl(f, "0", "1") == sl2vl(f, "0,1", "36") == DEFAULT_SL2VL


def test_rules_replaced_between_install_and_reload(up, background):
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    old = files(sm)
    sm.pause()
    b = background(f, path)
    b.wait_reloaded(f)
    with open(sm.policy, "w", encoding="ascii") as p:
        p.write(BAD_RULES)
    sm.resume()
    r = b.result()
    # somebody else's file is nothing to write over: it is told, and left to them
    assert r.returncode == 2
    assert serious(r) == {"opensm-policy-refused", "apply-file-changed", "apply-rollback-failed"}
    assert read(sm.policy) == BAD_RULES.encode() and r.json["apply"]["installed"]


def test_opensm_dies_between_reload_and_sweep(up, background):
    f, sm = up(options={"qos": "TRUE"}, **SMALL)
    path = policy.write(f, sm)
    old = files(sm)
    sm.pause()
    b = background(f, path)
    b.wait_reloaded(f)
    sm.kill()
    r = b.result()
    assert r.returncode == 2 and serious(r) == {"apply-failed", "apply-rolled-back"}
    found = policy.codes(r)
    assert found["apply-failed"][0]["got"] == "OpenSM ended after it was told to reload"
    assert found["apply-rolled-back"][0]["got"] == "OpenSM is gone: the ports hold what it left there"
    assert files(sm) == old and not r.json["apply"]["installed"]
    # the next one starts with the old files, and says so
    sm.restart()
    assert sl2vl(f, "0,1", "36") == DEFAULT_SL2VL and f.ibqos("verify", path).returncode == 2


def test_opensm_restarted_while_the_ports_are_read_back(up, background):
    """As systemd does it: a new process has read the new files before the old ones are back. It is told too."""
    f, sm = up(options={"qos": "TRUE"}, rules=["attr=SL2VL method=set : delay=20"], **SMALL)
    path = policy.write(f, sm)
    old = files(sm)
    sm.pause()
    b = background(f, path)
    b.wait_reloaded(f)
    b.process.send_signal(19)  # it must not see the gap between the two
    sm.restart(wait=False, grace=False)
    run.deadline(20, "the new tables", lambda: sl2vl(f, "0", "1").startswith("0,1,2,0,0"))
    b.process.send_signal(18)
    r = b.result()
    assert r.returncode == 2 and serious(r) == {"apply-failed", "apply-rolled-back"}
    assert files(sm) == old and sl2vl(f, "0", "1") == sl2vl(f, "0,1", "36") == DEFAULT_SL2VL


def test_two_applies_at_once(up, background):
    """The second one finds the first at work and does nothing at all."""
    f, sm = up(**SMALL)
    path = policy.write(f, sm)
    other = policy.write(f, sm, TWO, name="other.yaml")
    sm.pause()
    b = background(f, path)
    b.wait_reloaded(f)
    installed = files(sm)
    for p in (path, other):
        r = apply(f, p).ok(3)
        assert serious(r) == {"apply-busy"} and "reloads" not in r.json["apply"]
        assert files(sm) == installed
    sm.resume()
    assert b.result().returncode == 0
    assert len(os.listdir(f.path("state/history"))) == 1
    clean(f, path)


def test_many_applies_at_once(up, background):
    """Started together, of two policies: each is done, or refused and says why; the files are of one of them."""
    f, sm = up(**SMALL)
    paths = [policy.write(f, sm), policy.write(f, sm, TWO, name="two.yaml")]
    running = [background(f, paths[i % 2], name=f"apply-{i}.json") for i in range(4)]
    results = [b.result() for b in running]
    assert all(r.returncode in (0, 3) for r in results) and any(r.returncode == 0 for r in results), results
    for r in results:
        assert r.returncode == 0 or serious(r) <= {"apply-busy", "apply-file-changed"}
    assert sorted(f.ibqos("verify", p).returncode for p in paths) == [0, 2]


# --- the log ---


def log_policy(f, sm):
    """Without a log in the policy: ibqos has to find out by itself."""
    path = f.path("no-log.yaml")
    with open(path, "w", encoding="ascii") as p:
        p.write(policy.text(sm).replace(f"  log: {sm.log_file}\n", ""))
    return path


def test_log_that_is_not_flushed_is_written_out_for_us(up):
    """By SIGUSR1, as logrotate does it."""
    f, sm = up(options={"force_log_flush": "FALSE"}, **SMALL)
    path = log_policy(f, sm)
    assert serious(apply(f, path).ok()) == set()
    clean(f, path)


@pytest.mark.parametrize("kind", ["emptied-when-opened", "dev-stdout"])
def test_log_that_does_not_tell(fabric, kind):
    """One that OpenSM would empty is not asked for, and where there is no file there is nothing to read."""
    f = fabric(**SMALL)
    kwargs = {"emptied-when-opened": dict(args=["-e"], force_log_flush="FALSE"),
              "dev-stdout": dict(log=None, args=["-f", "/dev/stdout"])}[kind]
    sm = f.opensm(**kwargs)
    path = log_policy(f, sm)
    r = apply(f, path, timeout=90).ok(1)
    assert serious(r) == {"apply-sweep-unseen"} and r.json["apply"]["installed"] and r.json["apply"]["reached"] == "done"
    clean(f, path)


def test_console_shows_what_opensm_took(up):
    f, sm = up(options={"console": "loopback", "console_port": opensm.free_port()}, **SMALL)
    path = policy.write(f, sm)
    r = apply(f, path).ok()
    running = dict(re.findall(r"^(\S+) (.*)$", sm.console("dump_conf"), re.M))
    written = dict(re.findall(r"^(qos\S*) (.*)$", read(sm.config).decode(), re.M))
    assert {k: v for k, v in running.items() if k in written} == written and len(written) > 20
    clean(f, path)


# --- capabilities, LIDs and routing ---


def test_lmc(up):
    f, sm = up(options={"lmc": 1}, **SMALL)
    path = policy.write(f, sm)
    apply(f, path).ok()
    clean(f, path)
    assert path_sl(f, "-Q", "41") == 1


@pytest.mark.parametrize("code", [1, 2, 3, 4, 5])
def test_max_op_vls(up, code):
    """As many classes as there are VLs are fine; one more is refused, port by port, and nothing is touched."""
    vls = {1: 1, 2: 2, 3: 4, 4: 8, 5: 8}[code]
    f, sm = up(options={"max_op_vls": code, "qos": "TRUE"}, **SMALL)
    for classes in (ONE, TWO, THREE):
        path = policy.write(f, sm, classes)
        old = files(sm)
        if len(classes) <= vls:
            apply(f, path).ok()
            clean(f, path)
            continue
        r = apply(f, path).ok(2)
        named = {(x["node"], x["port"]) for x in policy.codes(r)["plan-too-many-classes"] if x["node"]}
        assert serious(r) == {"plan-too-many-classes"} and files(sm) == old
        ends = {(n.desc, p) for c in f.net.cables for n, p in ((c.a, c.ap), (c.b, c.bp))}
        assert named == ends


def test_one_class_on_an_opensm_without_qos(up):
    """All SLs on VL 0 is a table of zeros, which OpenSM takes for what the port has already: its memory of tables
    that it never set is zeros too (osm_qos.c). So ibqos has it set others before, and the ports take three steps."""
    f, sm = up(**SMALL)
    path = policy.write(f, sm, ONE)
    r = apply(f, path).ok()
    assert serious(r) == set() and r.json["apply"]["steps"] == r.json["apply"]["step"] == 3
    clean(f, path)
    for at in (("0", "1"), ("0,1", "36"), ("0,1,36", "1")):
        assert sl2vl(f, *at) == ",".join(["0"] * 16), at
    # on the way there no port ever had an SL on a VL without weight
    assert replay.held_up(sm.sent()) == set()
    # the way back is direct: OpenSM's own tables are not zeros
    r = f.ibqos("rollback", "--format", "json", *state(f)).ok()
    assert sl2vl(f, "0,1", "36") == DEFAULT_SL2VL


def test_one_class_where_there_is_one_vl(up):
    """With one VL there is no other to go by; nor need there be, as nothing can differ."""
    f, sm = up(options={"max_op_vls": 1}, **SMALL)
    r = apply(f, policy.write(f, sm, ONE), "--deadline", "2")
    assert r.json["apply"].get("steps", 1) == 1


@pytest.mark.parametrize("engine", ["updn", "dnup", "ftree", "dor", "sssp", "nue"])
def test_routing_engines_that_leave_the_sls_alone(up, engine):
    f, sm = up(options={"routing_engine": engine}, **SMALL)
    path = policy.write(f, sm)
    apply(f, path).ok()
    assert sm.engine() == engine
    clean(f, path)
    assert path_sl(f, "-Q", "41") == 1


@pytest.mark.parametrize("engine,more", [("lash", {}), ("dfsssp", {}), ("updn,dfsssp", {}), ("nue", {"nue_max_num_vls": 2})])
def test_routing_engines_that_own_the_sls(up, engine, more):
    f, sm = up(options={"routing_engine": engine, "qos": "TRUE", **more}, **SMALL)
    path = policy.write(f, sm)
    old = files(sm)
    r = apply(f, path).ok(2)
    assert serious(r) == {"plan-routing-owns-sl"} and files(sm) == old and not os.path.exists(f.path("state"))


# --- more than one OpenSM ---


def pair(f, **standby):
    a = f.opensm(options=opensm.PAIR, sm_priority=5)
    return a, f.opensm(wait="STANDBY", host="gpu-002", options=opensm.PAIR, **{"sm_priority": 3, **standby})


def test_standby_with_the_same_files_takes_over(fabric):
    f = fabric(**SMALL)
    a, b = pair(f)
    path = policy.write(f, a)
    assert serious(apply(f, path, "--standby-later").ok(1)) == {"apply-standby-later"}
    shutil.copy(a.policy, b.policy)
    with open(b.config, "wb") as c:
        c.write(read(a.config).replace(a.dir.encode(), b.dir.encode()).replace(b"sm_priority 5", b"sm_priority 3"))
    b.hup(wait=False)
    a.kill()
    b.wait_state("MASTER")
    b.wait_up()
    clean(f, path, host="gpu-003")


def test_standby_with_files_of_its_own_takes_over_and_verify_tells(fabric):
    f = fabric(**SMALL)
    a, b = pair(f, qos="TRUE", qos_sl2vl=",".join(["0"] * 16))
    path = policy.write(f, a)
    assert serious(apply(f, path, "--standby-later").ok(1)) == {"apply-standby-later"}
    clean(f, path)
    a.kill()
    b.wait_state("MASTER")
    b.wait_up()
    r = f.ibqos("verify", path, "--format", "json", host="gpu-003").ok(2)
    assert "sl2vl-differs" in serious(r) and r.json["ports"]["differ"] == r.json["ports"]["looked_at"]


def test_standby_takes_over_while_applying(fabric, background):
    """The master dies with the reload still to be done. The old files are back, and nothing is called clean."""
    f = fabric(**SMALL)
    a, b = pair(f, qos="TRUE", qos_sl2vl=",".join(["0"] * 16))
    path = policy.write(f, a)
    old = files(a)
    a.pause()
    p = background(f, path, "--standby-later")
    p.wait_reloaded(f)
    b.wait_state("MASTER")
    b.wait_up()
    a.kill()
    r = p.result()
    assert r.returncode == 2 and serious(r) == {"apply-failed", "apply-rolled-back", "apply-standby-later"}
    assert "OpenSM is gone" in policy.codes(r)["apply-rolled-back"][0]["got"] and whole_old(a, old)
    assert sl2vl(f, "0", "1") == ",".join(["0"] * 16)
    assert f.ibqos("verify", path, host="gpu-003").returncode == 2


def test_another_opensm_changes_the_ports_after_they_matched(fabric, background):
    """The log does not tell of a sweep. While ibqos waits for that, another OpenSM becomes master and programs
    its own tables: what matched before does not count any more."""
    f = fabric(**SMALL)
    a = f.opensm(options=opensm.PAIR, sm_priority=3)
    path = f.path("policy.yaml")
    with open(path, "w", encoding="ascii") as y:
        y.write(policy.text(a).replace(f"log: {a.log_file}", f"log: {a.log_file}.other"))
    old = files(a)
    p = background(f, path, "--deadline", "3")
    p.wait_reloaded(f)
    run.deadline(10, "the new tables", lambda: sl2vl(f, "0", "1").startswith("0,1,2,0,0"))
    time.sleep(2)
    b = f.opensm(host="gpu-002", options=opensm.PAIR, sm_priority=5, qos="TRUE", qos_sl2vl=",".join(["0"] * 16))
    a.wait_state("STANDBY")
    r = p.result(90)
    assert r.returncode == 2 and {"apply-failed", "sl2vl-differs"} <= serious(r) and "apply-sweep-unseen" not in serious(r)
    assert whole_old(a, old) and b.state() == "MASTER"


def test_apply_on_the_standby(fabric):
    """Its OpenSM would read the files and program nothing."""
    f = fabric(**SMALL)
    a, b = pair(f)
    path = policy.write(f, b)
    old = files(b)
    r = apply(f, path, host="gpu-002").ok(3)
    assert "apply-not-master" in serious(r) and r.json["preflight"]["master_here"] == "no"
    assert policy.codes(r)["apply-not-master"][0]["got"].startswith("gpu-001")
    assert files(b) == old and (a.state(), b.state()) == ("MASTER", "STANDBY")
    assert not os.path.exists(f.path("state"))


def test_two_opensms_of_one_config(fabric):
    f = fabric(**SMALL)
    a = f.opensm(options=opensm.PAIR, sm_priority=5)
    b = f.opensm(wait="STANDBY", host="gpu-002", options=opensm.PAIR, sm_priority=3)
    os.unlink(b.config)
    os.link(a.config, b.config)
    path = policy.write(f, a)
    old = files(a)
    r = apply(f, path).ok(3)
    assert serious(r) == {"opensm-ambiguous", "apply-standby"} and files(a) == old
