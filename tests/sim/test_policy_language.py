# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What a policy says of traffic that asks the subnet manager: OpenSM takes the text of every policy without an
error, and answers each request with the SL that the policy means. The oracle is written from the policy, not
from OpenSM's file."""
import fnmatch
import os
import random
import re

import pytest

from kit import policy

SMALL = dict(leaves=2, spines=1, hosts_per_leaf=2, uplinks=1, storage=1)
# ids of the named services, from the services' own documents
SERVICES = {"lustre": (0x010603DB,) * 2, "nvme-of": (0x01061144,) * 2, "nfs-rdma": (0x01064E51,) * 2,
            "iser": (0x01060CBC,) * 2, "rds": (0x010648CA,) * 2, "sdp": (0x10000, 0x1FFFF)}
PARTITIONS = {"default": 0x7FFF, "gpus": 0x0001, "backup": 0x1234, "last": 0x7FFE}


def flow(value):
    """YAML, in flow style; text stands as it is."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return str(value)


def write(f, sm, classes, groups=None, partitions=None, **top):
    lines = ["version: 1", "classes:"] + [f"  - {flow(c)}" for c in classes]
    if groups:
        lines += ["groups:"] + [f"  {name}: {flow(items)}" for name, items in groups.items()]
    if partitions:
        lines += ["partitions:"] + [f"  - {flow(p)}" for p in partitions]
    lines += [f"{k}: {flow(v)}" for k, v in top.items()]
    lines += ["opensm:", f"  config: {sm.config}", f"  log: {sm.log_file}"]
    path = f.path("policy.yaml")
    with open(path, "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")
    return path


def with_partitions(up, **shape):
    f, sm = up(**{**SMALL, **shape})
    with open(sm.partitions, "w", encoding="ascii") as out:
        for name, pkey in PARTITIONS.items():
            out.write(f"{name.capitalize()}=0x{pkey:04x}, ipoib : ALL=full, SELF=full, ALL_SWITCHES=full;\n")
    sm.hup()
    return f, sm


def apply(f, path):
    r = f.ibqos("apply", path, "--format", "json", "--state-dir", f.path("state")).ok(0, 1)
    assert r.json["apply"]["reached"] == "done", r
    return r


class Ports:
    """Port by short name: LID, port GUID, node GUID, type."""

    def __init__(self, f):
        self.of = {}
        text = f.tool("ibnetdiscover").ok().stdout
        for n in f.net.nodes.values():
            pattern = r'# "%s" .*port 0 lid (\d+)' if n.switch else r'# "%s" lid (\d+)'
            lid = re.search(pattern % re.escape(n.desc), text)
            self.of[n.name] = dict(name=n.desc, lid=lid[1], guid=n.port_guid(), node=n.guid,
                                   type="switch" if n.switch else "ca")

    def __getitem__(self, name):
        return self.of[name]


def sl_of(f, src, dst, qos_class=None, service_id=None, pkey=None):
    """The SL in the SA's answer; None: no path."""
    args = ["--slid", src["lid"], "--dlid", dst["lid"]]
    if qos_class is not None:
        args += ["-Q", qos_class]
    if service_id is not None:
        args += ["--service_id", hex(service_id)]
    if pkey is not None:
        args += ["--pkey", hex(pkey)]
    r = f.tool("saquery", *args, "PR")
    found = set(re.findall(r"\bsl\.+0x(\w+)", r.stdout))
    assert len(found) == 1, r
    return int(found.pop(), 16)


def errors(sm):
    return [line for line in sm.log().splitlines() if re.search(r"ERR AC", line)]


# --- the oracle ---


def number(x):
    return int(x, 0) if isinstance(x, str) else x


def holds(values, x):
    for v in values if isinstance(values, list) else [values]:
        low, _, high = str(v).partition("-")
        if number(low) <= x <= number(high or low):
            return True
    return False


def in_group(items, port):
    def every(item):
        tests = {"name": lambda v: fnmatch.fnmatchcase(port["name"], v), "guid": lambda v: number(v) in (port["guid"], port["node"]),
                 "node_type": lambda v: v == port["type"]}
        return all(any(tests[k](x) for x in (v if isinstance(v, list) else [v])) for k, v in item.items())
    return any(every(i) for i in items)


def matches(match, groups, src, dst, qos_class, service_id, pkey):
    for k, v in match.items():
        if k == "service" and v in SERVICES:
            ok = service_id is not None and SERVICES[v][0] <= service_id <= SERVICES[v][1]
        elif k == "service":
            ok = v == "srp" or match.keys() & {"pkey", "partition"} or pkey == 0x7FFF
        elif k == "service_id":
            ok = service_id is not None and holds(v, service_id)
        elif k == "qos_class":
            ok = qos_class is not None and holds(v, qos_class)
        elif k == "pkey":
            ok = pkey is not None and number(v) & 0x7FFF == pkey
        elif k == "partition":
            ok = PARTITIONS[v] == pkey
        else:
            port = src if k == "source" else dst
            ok = any(in_group(groups[g], port) for g in (v if isinstance(v, list) else [v]))
        if not ok:
            return False
    return True


def meant(classes, groups, *request):
    """The SL that a request is to get."""
    rules, last = [], []
    for c in classes:
        if "nccl_ib_tc" in c:
            rules.append(({"qos_class": c["nccl_ib_tc"]}, c))
        for m in c.get("match", []):
            (last if m.get("service") in ("ipoib", "srp") else rules).append((m, c))
    for m, c in rules + last:
        if matches(m, groups, *request):
            return c["sl"]
    return next(c["sl"] for c in classes if c.get("default"))


# --- by hand ---


def test_each_kind_of_match(up):
    f, sm = with_partitions(up)
    at = Ports(f)
    gpu, oss, leaf = at["gpu-001"], at["oss-01"], at["leaf-01"]
    classes = [
        dict(name="training", sl=1, share="40%", nccl_ib_tc=[104, 108]),
        dict(name="storage", sl=2, share="30%", match=[
            dict(service="lustre"), dict(service_id=["0x100-0x1ff", 7]), dict(partition="backup", qos_class="8-9"),
            dict(source="oss", destination="gpus"), dict(service="srp", destination="oss")]),
        dict(name="mgmt", sl=5, share="20%", match=[dict(service="ipoib"), dict(pkey="0x8001"), dict(destination="switches")]),
        dict(name="other", sl=0, share="10%", default="true")]
    groups = dict(oss=[dict(name='"oss*"')], gpus=[dict(guid=[gpu["guid"], at["gpu-002"]["node"]])],
                  switches=[dict(node_type="switch")])
    apply(f, write(f, sm, classes, groups, [dict(name=n, pkey=hex(p)) for n, p in PARTITIONS.items()]))
    far = at["gpu-003"]
    for want, request in (
            (0, (gpu, far)), (0, (far, gpu)), (1, (gpu, far, 104)), (1, (gpu, far, 108)), (0, (gpu, far, 105)), (0, (gpu, far, 0)),
            (2, (gpu, far, None, 0x010603DB)), (0, (gpu, far, None, 0x010603DC)),
            (2, (gpu, far, None, 0x100)), (2, (gpu, far, None, 0x1FF)), (2, (gpu, far, None, 7)),
            (0, (gpu, far, None, 0xFF)), (0, (gpu, far, None, 0x200)),
            (2, (gpu, far, 8, None, 0x1234)), (2, (gpu, far, 9, None, 0x1234)), (0, (gpu, far, 7, None, 0x1234)),
            (0, (gpu, far, None, None, 0x1234)), (0, (gpu, far, 8)), (0, (gpu, far, 8, None, 0x7FFE)),
            (2, (oss, gpu)), (2, (oss, at["gpu-002"])), (0, (oss, far)), (0, (gpu, at["gpu-002"])),
            (2, (far, oss)), (2, (gpu, oss)),
            (5, (gpu, far, None, None, 0x7FFF)), (5, (gpu, far, None, None, 1)), (5, (gpu, leaf)), (0, (leaf, gpu)),
            # the first that matches: training before storage before mgmt; ipoib and srp after all others
            (1, (gpu, far, 104, 0x010603DB)), (2, (gpu, far, 3, 0x010603DB, 1)), (5, (gpu, oss, None, None, 1)),
            (2, (gpu, oss, None, None, 0x7FFF))):
        assert sl_of(f, *request) == want, request
        assert want == meant(classes, dict(oss=[dict(name="oss*")], gpus=groups["gpus"], switches=groups["switches"]),
                             *request, *[None] * (5 - len(request))), request
    assert errors(sm) == []


def test_group_without_ports_is_told_and_matches_nothing(up):
    f, sm = with_partitions(up)
    at = Ports(f)
    classes = [dict(name="a", sl=1, share="50%", match=[dict(source="nobody"), dict(source=["nobody", "oss"], pkey="1")]),
               dict(name="other", sl=0, share="50%", default="true")]
    r = apply(f, write(f, sm, classes, dict(nobody=[dict(name='"mds*"')], oss=[dict(name='"oss*"')])))
    assert r.returncode == 1
    assert [x["what"] for x in policy.codes(r)["plan-group-empty"]] == ["group 'nobody'"]
    assert sl_of(f, at["gpu-001"], at["gpu-002"]) == 0
    assert sl_of(f, at["oss-01"], at["gpu-002"], None, None, 1) == 1
    assert errors(sm) == []


def test_overrides_and_least_latency_read_back_right(up):
    f, sm = with_partitions(up)
    classes = [dict(name="beat", sl=4, share="5%", min_latency="true"), dict(name="training", sl=1, share="65%"),
               dict(name="other", sl=0, share="30%", default="true")]
    path = write(f, sm, classes, overrides=dict(swe=dict(shares=[{"class": "training", "share": "50%"}]), ca=dict(high_limit=3)), vls=4)
    r = apply(f, path)
    assert {"plan-min-latency", "plan-vls-more"} <= set(policy.codes(r))
    tables = {t["port_type"]: t for t in f.ibqos("plan", path, "--format", "json").ok(0, 1).json["tables"]}
    assert tables["ca"]["high_limit"] == 3 and tables["swe"]["high_limit"] == 0
    assert {k: v for k, v in tables["sw0"].items() if k != "port_type"} == {k: v for k, v in tables["swe"].items() if k != "port_type"}
    assert tables["ca"]["vlarb_low"] != tables["swe"]["vlarb_low"]
    v = f.ibqos("verify", path, "--format", "json").ok(0, 1).json
    assert v["ports"]["differ"] == v["ports"]["unknown"] == 0


def test_fewer_vls_than_expected_is_refused(up):
    f, sm = up(**SMALL)
    classes = [dict(name="a", sl=1, share="50%"), dict(name="other", sl=0, share="50%", default="true")]
    r = f.ibqos("plan", write(f, sm, classes, vls=15), "--format", "json").ok(2)
    assert {x["got"] for x in policy.codes(r)["plan-vls-fewer"] if x["got"]} == {"8"}


# --- at random ---

# words that OpenSM's lexer knows, alone or in a list
NAMES = ["any", "company", "ipoib", "pkey", "pkey-1", "pkey_1", "srp", "sdp", "default", "Default", "name", "use", "sl", "ca",
         "ALL", "self", "x0x1f", "a" * 64, "qos-level", "end-qos-levels", "port-guid", "group", "to", "any-service-id"]


def random_policy(rng, at):
    """(classes, groups): good ones, though their matches may overlap."""
    names = rng.sample(NAMES, 8)
    sls = rng.sample(range(1, 16), 4)
    ports = list(at.of.values())
    groups = {}
    for name in names[4:4 + rng.randint(1, 4)]:
        one = [lambda: dict(name=rng.choice(["gpu*", "*-01*", "oss-0? mlx5_0", "gpu-00[13]*", "*", "none"])),
               lambda: dict(guid=[rng.choice(ports)[rng.choice(["guid", "node"])] for _ in range(rng.randint(1, 3))]),
               lambda: dict(node_type=rng.choice(["ca", "switch", "router"])),
               lambda: dict(name=["gpu*", "spine*"], node_type="ca")]
        groups[name] = [rng.choice(one)() for _ in range(rng.randint(1, 3))]
    classes = [dict(name=n, sl=sl, share=f"{s}%") for n, sl, s in zip(names, sls, (40, 25, 20, 15))][:rng.randint(2, 4)]
    classes[-1]["default"] = "true"
    if rng.random() < 0.5:
        classes[-1]["sl"] = 0
    tcs = rng.sample(range(256), 64)  # those that stand alone must not be another class's
    for c in classes:
        if rng.random() < 0.5:
            c["nccl_ib_tc"] = [tcs.pop() for _ in range(rng.randint(1, 4))]
        c["match"] = [random_match(rng, groups, tcs) for _ in range(rng.randint(1, 4))]
    return classes, groups


def random_match(rng, groups, tcs):
    m = {}
    if rng.random() < 0.4:
        m["service"] = rng.choice([*SERVICES, "srp", "ipoib"])
    elif rng.random() < 0.4:
        ids = [rng.choice([0, 7, 0x1000, 0x010603DB, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF]) for _ in range(rng.randint(1, 3))]
        m["service_id"] = [rng.choice([str(i), hex(i), f"{i // 2}-{hex(i)}"]) for i in ids]
    if rng.random() < 0.4:
        if rng.random() < 0.5:
            m["partition"] = rng.choice(list(PARTITIONS))
        else:
            m["pkey"] = hex(rng.choice(list(PARTITIONS.values())) | rng.choice([0, 0x8000]))
    if rng.random() < 0.3 and m.get("service") != "ipoib":
        low = tcs.pop()
        m["qos_class"] = [low] if not m else [low, f"{low // 2}-{low}"]
    for end in ("source", "destination"):
        if rng.random() < 0.3 or (end == "destination" and (m.get("service") == "srp" or not m)):
            m[end] = rng.sample(list(groups), rng.randint(1, len(groups)))
    return m


def random_request(rng, classes, at):
    """Often one that some match is about."""
    src, dst = rng.sample(list(at.of.values()), 2)
    m = rng.choice([m for c in classes for m in c["match"]] + [{"qos_class": c["nccl_ib_tc"]} for c in classes if "nccl_ib_tc" in c])
    edges = lambda v: [number(x) for one in (v if isinstance(v, list) else [v]) for x in str(one).split("-")]  # noqa: E731
    qos_class = rng.choice(edges(m["qos_class"])) if "qos_class" in m and rng.random() < 0.9 else rng.choice([None, None, 0, 41, 255])
    service_id = rng.choice([None, None, 8, *(x for v in SERVICES.values() for x in v)])
    if "service_id" in m and rng.random() < 0.9:
        service_id = rng.choice(edges(m["service_id"]))
    if m.get("service") in SERVICES and rng.random() < 0.9:
        service_id = rng.choice(SERVICES[m["service"]])
    pkey = rng.choice([None, None, *PARTITIONS.values()])
    if m.keys() & {"pkey", "partition"} and rng.random() < 0.9:
        pkey = PARTITIONS[m["partition"]] if "partition" in m else number(m["pkey"]) & 0x7FFF
    # saquery takes a value of 0 or of all ones for one that was not given
    if service_id in (0, 0xFFFFFFFFFFFFFFFF):
        service_id = None
    return src, dst, qos_class, service_id, pkey


def quoted(groups):
    """Patterns in quotes: a bare * or [ means something to YAML."""
    q = lambda v: [f'"{x}"' for x in v] if isinstance(v, list) else f'"{v}"'  # noqa: E731
    return {g: [{k: q(v) if k == "name" else v for k, v in i.items()} for i in items] for g, items in groups.items()}


@pytest.mark.parametrize("seed", range(6))
def test_random_policies(up, seed):
    rng = random.Random(seed)
    f, sm = with_partitions(up)
    at = Ports(f)
    asked = 0
    for _ in range(10):
        classes, groups = random_policy(rng, at)
        path = write(f, sm, classes, quoted(groups), [dict(name=n, pkey=hex(p)) for n, p in PARTITIONS.items()])
        apply(f, path)
        with open(sm.policy, encoding="ascii") as p:
            text = p.read()
        assert errors(sm) == [], f"{open(path, encoding='utf-8').read()}\n{text}"
        for _ in range(6):
            request = random_request(rng, classes, at)
            want = meant(classes, groups, *request)
            assert sl_of(f, *request) == want, f"{request}\n{open(path, encoding='utf-8').read()}\n{text}"
            asked += 1
    assert asked == 60 and os.path.getsize(sm.policy) > 0
