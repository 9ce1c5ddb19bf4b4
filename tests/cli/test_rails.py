# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""ibqos rails: fabrics compared with each other. Random sites with planted faults: each is found, and nothing else; files without
a fabric (db_csv, ibnetdiscover), so that none of this needs a simulator."""
import os
import random

import pytest

from kit import dumps
from tools import netgen_rails as gen

CASES = max(1, int(12 * float(os.environ.get("IBQOS_CASES", "1"))))
NO_TABLES = {"source-lacks", "rail-tables-unknown", "node-info-incomplete"}  # of each of these files


def files(path, nets, speeds=True, prefix=lambda r: 0xfec0000000000000 + r, write=dumps.plain, names=None):
    out = []
    for r, net in enumerate(nets):
        file = path / f"r{r}.csv"
        file.write_text(write(net) if write is dumps.ibnetdiscover else write(net, speeds=speeds, prefix=prefix(r)), encoding="utf-8")
        out.append(f"{names[r] if names else f'r{r}'}={file}")
    return out


def found(r):
    return sorted((x["code"], x["node"], x["what"], x["wanted"], x["got"]) for x in r.json["findings"] if x["code"] not in NO_TABLES)


def codes(r):
    return sorted(x["code"] for x in r.json["findings"] if x["code"] not in NO_TABLES)


def look(ibqos, *args):
    return ibqos("rails", "--format", "json", *args)


def clean_site(rails=4, hosts=12, **shape):
    return gen.site(gen.members(gen.hosts("gpu-", hosts), range(rails)), **shape)


def test_alike(ibqos, tmp_path):
    r = look(ibqos, *files(tmp_path, clean_site())).ok(3)
    assert found(r) == []
    assert [(x["rail"], x["hosts"], x["adapters"], x["adapter_gbps"], x["switches"], x["links"], x["prefix"]) for x in r.json["rails"]] == \
        [(f"r{i}", 12, 12, 400, 5, 6, f"0x{0xfec0000000000000 + i:016x}") for i in range(4)]
    assert r.json["compared"] == {"hosts": 12, "hosts_compared": 12, "hosts_odd": 0, "adapters": 48, "adapters_unknown": 0, "tables": 6}


# --- random sites ---

class Plan:
    """A site's adapters by host, and what is wrong with it."""

    def __init__(self, rng):
        self.rng = rng
        self.rails = rng.choice([2, 3, 4, 8])
        self.names = gen.hosts("gpu-", rng.randint(4, 20), first=rng.randint(1, 50))
        self.where = {(h, r): r for h in self.names for r in range(self.rails)}  # adapter r of a host: its rail
        self.device = rng.choice(["mlx5_", "HCA-"])
        others = {}
        if rng.random() < 0.5:  # servers in some of the rails only
            some = sorted(rng.sample(range(self.rails), rng.randint(1, self.rails)))
            others = gen.members(gen.hosts("oss-", rng.randint(3, 6), digits=2), some)
        if rng.random() < 0.5:  # too few to say anything
            others = gen.together(others, {0: [("login-01", "mlx5_0")], self.rails - 1: [("mgmt", "mlx5_1")]})
        if self.rails >= 4 and rng.random() < 0.5:  # of the same name, built otherwise
            others = gen.together(others, gen.members(gen.hosts("gpu-", rng.randint(3, 6), first=200), [0]))
            self.kinds = 1
        else:
            self.kinds = 0
        self.others = others
        self.shape = dict(leaves=rng.randint(1, 4), spines=rng.randint(1, 3), uplinks=rng.randint(1, 2))
        self.speed = ["NDR"] * self.rails
        self.slow, self.cut = {}, None
        self.wanted = []

    def plant(self):
        rng, rails = self.rng, self.rails
        # a third of the hosts at most, so that what is usual stays so
        victims = rng.sample(self.names, min(len(self.names) // 4, 3))
        for host in victims:
            kind = rng.choice(["missing", "exchanged", "slow", "several", "doubled"])
            if kind in ("missing", "several"):
                gone = sorted(rng.sample(range(rails), 1 if kind == "missing" else max(1, rails // 2)))
                for r in gone:
                    del self.where[host, r]
                self.wanted.append(("rail-host-missing", host, f"rail{'s' if len(gone) > 1 else ''} " + ", ".join(f"r{r}" for r in gone)))
            elif kind == "exchanged":
                a, b = sorted(rng.sample(range(rails), 2))
                self.where[host, a], self.where[host, b] = b, a
                self.wanted.append(("rail-host-wrong", f"{host} {self.device}", f"host {host}"))
            elif kind == "doubled":
                a, b = rng.sample(range(rails), 2)
                self.where[host, a] = b
                self.wanted.append(("rail-host-wrong", f"{host} {self.device}", f"host {host}"))
            else:
                r = rng.randrange(rails)
                self.slow[host, r] = "HDR"
                self.wanted.append(("rail-host-slow", f"{host} {self.device}{r}", f"rail r{r}"))
        whole = rng.choice([None, "slow", "cut"])
        if whole == "slow":
            r = rng.randrange(rails)
            self.speed[r] = "HDR"
            for kind in {"gpu-"} | ({"oss-"} if sum(h.startswith("oss-") for h, _ in self.others.get(r, [])) else set()):
                self.wanted.append(("rail-unequal", None, f"rail r{r}, adapters of {kind}*"))
            self.wanted.append(("rail-unequal", None, f"rail r{r}, all links between switches"))
            for host, rail in [k for k in self.slow if k[1] == r]:
                self.wanted.remove(("rail-host-slow", f"{host} {self.device}{r}", f"rail r{r}"))
                del self.slow[host, rail]
        elif whole == "cut":
            self.cut = rng.randrange(rails)
            self.wanted.append(("rail-unequal", None, f"rail r{self.cut}, links between switches"))

    def nets(self):
        out = []
        for r in range(self.rails):
            who = [(h, f"{self.device}{a}") for (h, a), rail in sorted(self.where.items()) if rail == r]
            who += self.others.get(r, [])
            if self.rng.random() < 0.5:
                self.rng.shuffle(who)
            net = gen.fabric(r, who, speed=self.speed[r], **self.shape)
            for cable in net.cables:
                for node in (cable.a, cable.b):
                    for (h, a), speed in self.slow.items():
                        if node.desc == f"{h} {self.device}{a}":
                            cable.speed = speed
            if self.cut == r:
                net.remove(next(c for c in net.cables if c.a.switch and c.b.switch))
            out.append(net)
        return out


def told(r):
    """(code, node without the number of its adapter where several are odd, what)"""
    out = []
    for x in r.json["findings"]:
        if x["severity"] == "note" or x["code"] in NO_TABLES:
            continue
        node = x["node"]
        if x["code"] == "rail-host-wrong":
            node = node.rstrip("0123456789")
        out.append((x["code"], node, x["what"]))
    return sorted(out, key=str)


@pytest.mark.parametrize("seed", range(CASES))
def test_random_sites(ibqos, tmp_path, seed):
    rng = random.Random(seed)
    plan = Plan(rng)
    r = look(ibqos, *files(tmp_path, plan.nets())).ok(3)
    assert told(r) == [], (seed, "nothing is wrong yet")
    assert sum(x["code"] == "rail-other-kind" for x in r.json["findings"]) == plan.kinds
    plan.plant()
    args = files(tmp_path, plan.nets())
    r = look(ibqos, *args).ok(3)
    one_slow = {("rail-unequal", None, w[2]) for w in plan.wanted}  # of one host kind told once a rail
    assert [t for t in told(r) if t not in one_slow] == \
        sorted((w for w in plan.wanted if w[0] != "rail-unequal"), key=str), (seed, plan.wanted)
    told_rails = {t[2].split(",")[0] for t in told(r) if t[0] == "rail-unequal"}
    assert told_rails == {w[2].split(",")[0] for w in plan.wanted if w[0] == "rail-unequal"}, seed
    # whatever order they are given in
    rng.shuffle(args)
    assert sorted(t[:2] for t in told(look(ibqos, *args).ok(3)) if t[0] != "rail-host-wrong") == \
        sorted(t[:2] for t in told(r) if t[0] != "rail-host-wrong") or plan.rails == 2


# --- each rule ---

def test_a_leaf_is_gone(ibqos, tmp_path):
    """All hosts behind it lack that rail; the rail has fewer switches and links."""
    nets = clean_site(rails=4, hosts=12)
    for host in [n.name for n in nets[2]["leaf-02-r2"].peers() if not n.switch]:
        nets[2].remove_node(host)
    nets[2].remove_node("leaf-02-r2")
    r = look(ibqos, *files(tmp_path, nets)).ok(3)
    lacking = [f"gpu-{i:03}" for i in range(2, 13, 3)]
    assert found(r) == sorted(
        [("rail-host-missing", h, "rail r2", "all of the 4 rails that others of its kind are in", "no adapter there") for h in lacking] +
        [("rail-unequal", None, "rail r2, switches", "5", "4"), ("rail-unequal", None, "rail r2, links between switches", "6", "4")], key=str)


def test_adapters_in_another_order(ibqos, tmp_path):
    names = gen.hosts("gpu-", 8)
    plan = gen.members(names, range(4))
    for r in range(4):
        plan[r] = [(h, f"mlx5_{(r + 1) % 4}" if h == "gpu-003" else d) for h, d in plan[r]]
    r = look(ibqos, *files(tmp_path, gen.site(plan))).ok(3)
    (x,) = [x for x in r.json["findings"] if x["code"] not in NO_TABLES]
    assert x["code"] == "rail-host-wrong" and "numbered in another order" in x["detail"]
    assert x["wanted"] == "mlx5_1 in r1; mlx5_2 in r2; mlx5_3 in r3; mlx5_0 in r0"


def test_exchanged_and_doubled(ibqos, tmp_path):
    plan = gen.members(gen.hosts("gpu-", 8), range(4))
    plan[0].remove(("gpu-003", "mlx5_0")), plan[0].append(("gpu-003", "mlx5_2"))
    plan[2].remove(("gpu-003", "mlx5_2")), plan[2].append(("gpu-003", "mlx5_0"))
    r = look(ibqos, *files(tmp_path, gen.site(plan))).ok(3)
    (x,) = [x for x in r.json["findings"] if x["code"] not in NO_TABLES]
    assert (x["code"], x["detail"]) == ("rail-host-wrong", "the two are exchanged")
    assert sorted(x["got"].split("; ")) == ["mlx5_0 in r2", "mlx5_2 in r0"]
    assert sorted(x["wanted"].split("; ")) == ["mlx5_0 in r0", "mlx5_2 in r2"]


def test_names_without_adapters(ibqos, tmp_path):
    """Hosts' names alone: who lacks a rail is told, not which adapter is where."""
    plan = {r: [(h, "") for h in gen.hosts("node", 6)] for r in range(3)}
    plan[1].remove(("node004", ""))
    assert [x[:3] for x in found(look(ibqos, *files(tmp_path, gen.site(plan))).ok(3))] == [("rail-host-missing", "node004", "rail r1")]


def test_names_of_the_firmware(ibqos, tmp_path):
    """What adapters are called until somebody names them tells no host: unknown, and never a fault of one."""
    nets = clean_site(rails=2, hosts=6)
    for net in nets:
        for i, node in enumerate(net.role("gpu")):
            node.desc = ["MT4129 ConnectX7   Mellanox Technologies", "MT4129 ConnectX7"][i % 2]
    r = look(ibqos, *files(tmp_path, nets)).ok(3)
    assert [(x[0], x[2], x[4].split(",")[0]) for x in found(r)] == [("rail-host-unknown", f"rail r{i}", "6 adapters whose name tells no host") for i in (0, 1)] \
        or [(x[0], x[2]) for x in found(r)] == [("rail-host-unknown", "rail r0"), ("rail-host-unknown", "rail r1")]
    assert r.json["error"] == "no host could be compared with others of its kind"
    assert r.json["compared"]["adapters_unknown"] == 12 and r.json["compared"]["hosts"] == 0


def test_a_node_name_map(ibqos, tmp_path):
    nets, lines = clean_site(rails=2, hosts=6), []
    for net in nets:
        for node in net.role("gpu"):
            lines.append(f'0x{node.guid:016x} "{node.desc}"')
            node.desc = "MT4129 ConnectX7   Mellanox Technologies"
    (tmp_path / "map").write_text("\n".join(lines) + "\n")
    r = look(ibqos, "--node-name-map", tmp_path / "map", *files(tmp_path, nets)).ok(3)
    assert found(r) == [] and r.json["compared"]["hosts_compared"] == 6


def test_one_fabric_twice(ibqos, tmp_path):
    a, b = clean_site(rails=2)
    args = files(tmp_path, [a, b, a])
    r = look(ibqos, *args).ok(2)
    (x,) = [x for x in r.json["findings"] if x["code"] not in NO_TABLES]
    assert (x["code"], x["what"], x["got"]) == ("rail-same-fabric", "r0 and r2", "5 switches, this one the first, in both")
    assert r.json["compared"]["adapters"] == 24  # counted once


def test_planes(ibqos, tmp_path):
    """Ports of adapters that are in two fabrics, with switches of their own: planes of these ports, one rail."""
    plan = gen.members(gen.hosts("gpu-", 6), range(2))
    nets = gen.site(plan)
    planes = [gen.fabric(r, plan[r]) for r in range(2)]
    for r, net in enumerate(planes):
        for s in net.switches:
            s.guid += 1 << 36
    order = [nets[0], planes[0], nets[1], planes[1]]
    names = ["r0a", "r0b", "r1a", "r1b"]
    r = look(ibqos, *files(tmp_path, order, names=names)).ok(3)
    assert found(r) == [] and r.json["compared"]["planes"] == 2 and r.json["compared"]["adapters"] == 12
    planes[1].remove_node("gpu-002")
    planes[0]["gpu-005"].cables[1].speed = "HDR"
    r = look(ibqos, *files(tmp_path, order, names=names)).ok(3)
    assert found(r) == [("rail-plane", "gpu-002 mlx5_1", "rail r1b", "each plane of the port", "the port is not there"),
                        ("rail-plane", "gpu-005 mlx5_0", "planes of the port", "one rate", "400 Gb/s in r0a; 200 Gb/s in r0b")]


def test_a_port_in_two_rails(ibqos, tmp_path):
    """Moved between the looks, or a doubled GUID."""
    plan = gen.members(gen.hosts("gpu-", 8), range(3))
    nets = gen.site(plan)
    nets[2]["gpu-001"].guid = nets[0]["gpu-001"].guid
    r = look(ibqos, *files(tmp_path, nets)).ok(3)
    assert [x[0] for x in found(r)] == ["rail-port-twice"]


def test_prefixes(ibqos, tmp_path):
    nets = clean_site(rails=4)
    r = look(ibqos, *files(tmp_path, nets, prefix=lambda r: 0xfe80 << 48 if r < 2 else (0xfec0 << 48) + 7)).ok(3)
    assert [(x["code"], x["severity"], x["what"], x["got"]) for x in r.json["findings"] if x["code"] == "rail-prefix"] == \
        [("rail-prefix", "warning", "rails r2, r3", "0xfec0000000000007"),
         ("rail-prefix", "note", "rails r0, r1", "0xfe80000000000000, the default")]


def test_slow_rail_of_two(ibqos, tmp_path):
    """Of two the slower one is told."""
    plan = gen.members(gen.hosts("gpu-", 5), range(2))
    nets = [gen.fabric(0, plan[0], speed="HDR"), gen.fabric(1, plan[1], speed="NDR")]
    assert found(look(ibqos, *files(tmp_path, nets)).ok(3)) == [
        ("rail-unequal", None, "rail r0, adapters of gpu-*", "400 Gb/s", "200 Gb/s"),
        ("rail-unequal", None, "rail r0, all links between switches", "2400 Gb/s", "1200 Gb/s")]


def test_hosts_of_another_kind(ibqos, tmp_path):
    plan = gen.together(gen.members(gen.hosts("n", 6), range(4)), gen.members(gen.hosts("n", 3, first=100), [1]))
    r = look(ibqos, *files(tmp_path, gen.site(plan))).ok(3)
    (x,) = [x for x in r.json["findings"] if x["code"] not in NO_TABLES]
    assert (x["code"], x["severity"], x["node"], x["what"], x["wanted"], x["got"]) == \
        ("rail-other-kind", "note", "n100", "3 hosts, this one the first", "4 rails", "rail r1")


def test_hosts_that_are_alone(ibqos, tmp_path):
    """Too few of their name, or too unlike each other: not compared, which is said."""
    plan = gen.together(gen.members(gen.hosts("n", 6), range(4)), {0: [("login-1", "mlx5_0"), ("login-2", "mlx5_0")]},
                        {r: [(f"odd{h}", f"mlx5_{r}") for h in range(4) if h // 2 == r // 2] for r in range(4)})
    r = look(ibqos, *files(tmp_path, gen.site(plan))).ok(3)
    assert [(x["code"], x["severity"], x["got"]) for x in r.json["findings"] if x["code"] not in NO_TABLES] == \
        [("rail-host-alone", "note", "6 hosts, the first login-1")]
    assert r.json["compared"]["hosts"] == 12 and r.json["compared"]["hosts_compared"] == 6


def test_ibnetdiscover(ibqos, tmp_path):
    """What ibnetdiscover wrote serves too: it has no rates that count below what the links told."""
    nets = clean_site(rails=3, hosts=6)
    nets[1].remove_node("gpu-002")
    r = look(ibqos, *files(tmp_path, nets, write=dumps.ibnetdiscover)).ok(3)
    assert [x[:3] for x in found(r) if x[0] != "no-sm"] == [("rail-host-missing", "gpu-002", "rail r1")]
    assert [x["prefix"] for x in r.json["rails"]] == [None] * 3


def test_usage(ibqos, tmp_path):
    one, two = files(tmp_path, clean_site(rails=2))
    path = one.split("=")[1]
    assert "nothing to be compared with" in ibqos("rails", one).ok(3).stderr
    for args in ([], ["--hosts", "x", one, two]):
        assert ibqos("rails", *args).ok(3).stderr.startswith("ibqos rails: ")
    r = ibqos("rails", one, "r0=" + two.split("=")[1]).ok(3)
    assert "both called 'r0'" in r.stderr
    assert "cannot read" in ibqos("rails", path, tmp_path / "none").ok(3).stderr
    # without NAME= a file's own name
    assert [x["rail"] for x in look(ibqos, path, two).json["rails"]] == ["r0", "r1"]
    many = [f"n{i}={path}" for i in range(65)]
    assert "more than 64 rails" in ibqos("rails", *many).ok(3).stderr


def test_text(ibqos, tmp_path):
    nets = clean_site(rails=2, hosts=5)
    nets[1].remove_node("gpu-004")
    out = ibqos("rails", *files(tmp_path, nets)).ok(3).stdout
    assert "gpu-004" in out and "host lacks a rail that others of its kind are in" in out and "rail r1" in out
