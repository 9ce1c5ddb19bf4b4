# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""OpenSM's own files as people write them: for each whether OpenSM takes it. (name, text, taken)"""

LEVELS = """# c
qos-levels
  qos-level
    name: default
    sl: 0
  end-qos-level
  qos-level
    name: one
    sl: 1
  end-qos-level
end-qos-levels
"""


def rule(body):
    return LEVELS + f"qos-match-rules\n  qos-match-rule\n{body}  end-qos-match-rule\nend-qos-match-rules\n"


def group(body):
    return LEVELS + f"port-groups\n  port-group\n{body}  end-port-group\nend-port-groups\n"


def level(body):
    return LEVELS + f"qos-levels\n  qos-level\n{body}  end-qos-level\nend-qos-levels\n"


def ulps(body):
    return LEVELS + f"qos-ulps\n{body}end-qos-ulps\n"


def setup(body):
    return LEVELS + f"qos-setup\n{body}end-qos-setup\n"


def vlarb(body):
    return setup(f"vlarb-tables\n vlarb-scope\n{body} end-vlarb-scope\nend-vlarb-tables\n")


def sl2vl(body):
    return setup(f"sl2vl-tables\n sl2vl-scope\n{body} end-sl2vl-scope\nend-sl2vl-tables\n")


IDENTITY = "sl2vl-table: 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,7\n"

POLICIES = [
    ("levels", LEVELS, True),
    ("nothing", "", False),
    ("comment alone", "# c\n", False),
    ("crlf", LEVELS.replace("\n", "\r\n"), False),
    ("crlf behind names only", "# c\r\nqos-levels\nqos-level\nname: default\r\nsl: 0\nend-qos-level\nend-qos-levels\n", True),
    ("no last newline", LEVELS[:-1], True),
    ("comment without a newline", LEVELS + "# end", False),
    ("comment behind a value", LEVELS.replace("sl: 1", "sl: 1 # c"), True),
    ("no default level", LEVELS.replace("default", "other"), False),
    ("default in capitals", LEVELS.replace("default", "DEFAULT"), True),
    ("keyword in capitals", LEVELS.replace("qos-levels", "QOS-levels"), False),
    ("empty levels and ulp default", "# c\nqos-levels\nend-qos-levels\nqos-ulps\ndefault: 0\nend-qos-ulps\n", True),
    ("level without sl", level("name: a\n"), False),
    ("level without name", level("sl: 3\n"), False),
    ("level twice", level("name: one\nsl: 3\n"), True),
    ("sl twice", level("name: a\nsl: 3\nsl: 3\n"), False),
    ("sl 16", level("name: a\nsl: 16\n"), True),
    ("sl 300", level("name: a\nsl: 300\n"), True),
    ("sl in octal", level("name: a\nsl: 012\n"), True),
    ("sl in hexadecimal", level("name: a\nsl: 0xf\n"), True),
    ("sl of letters", level("name: a\nsl: high\n"), False),
    ("negative sl", level("name: a\nsl: -1\n"), False),
    ("sl in quotes", level('name: a\nsl: "1"\n'), False),
    ("sl on the next line", level("name: a\nsl:\n3\n"), True),
    ("sl behind a name on one line", level("name: a sl: 3\n"), False),
    ("name behind sl on one line", level("sl: 3 name: a\n"), True),
    ("mtu", level("name: a\nsl: 3\nmtu-limit: 5\n"), True),
    ("mtu too large", level("name: a\nsl: 3\nmtu-limit: 6\n"), False),
    ("mtu of bytes", level("name: a\nsl: 3\nmtu-limit: 2048\n"), False),
    ("rate 2", level("name: a\nsl: 3\nrate-limit: 2\n"), True),
    ("rate 22", level("name: a\nsl: 3\nrate-limit: 22\n"), True),
    ("rate 23", level("name: a\nsl: 3\nrate-limit: 23\n"), False),
    ("rate 1", level("name: a\nsl: 3\nrate-limit: 1\n"), False),
    ("life", level("name: a\nsl: 3\npacket-life: 1000\n"), True),
    ("path bits", level("name: a\nsl: 3\npath-bits: 1,3-4\npath-bits: 9\n"), True),
    ("name with blanks", level("name: a b c\nsl: 3\n"), True),
    ("name with a keyword", level("name: my-port-group\nsl: 3\n"), False),
    ("name is a keyword", level("name: qos-level\nsl: 3\n"), False),
    ("name with a comma", level("name: a,b\nsl: 3\n"), False),
    ("name with a colon", level("name: a:b\nsl: 3\n"), True),
    ("name of digits", level("name: 12-3\nsl: 3\n"), True),
    ("name with ca in it", level("name: local\nsl: 3\n"), True),
    ("empty name", level("name:\nsl: 3\n"), False),
    ("name in quotes", level('name: "x y"\nsl: 3\n'), True),
    ("empty name in quotes", level('name: ""\nsl: 3\n'), True),
    ("quotes over lines", level('name: "x\ny"\nsl: 3\n'), True),
    ("open quotes", level('name: "x\nsl: 3\n'), True),
    ("text goes on in the next line", level("name: a\nbcd\nsl: 3\n"), True),
    ("number goes on in the next line", level("name: a\n1\nsl: 3\n"), False),
    ("use with anything", level("name: a\nuse: port-group: 1,2 * - sl: x # c\nsl: 3\n"), True),
    ("use twice", level("name: a\nuse: x\nuse: y\nsl: 3\n"), False),
    ("empty use", level("name: a\nuse:\nsl: 3\n"), False),
    ("key unknown", level("name: a\nsl: 3\nspeed: 3\n"), False),
    ("blanks before the colon", level("name\t : a\nsl  :\t3\n"), True),
    ("sections doubled", LEVELS + LEVELS, True),
    ("section not ended", LEVELS[:-len("end-qos-levels\n")], False),
    ("text between sections", LEVELS + "x\n", False),
    ("text right behind a keyword", LEVELS.replace("end-qos-levels", "end-qos-levels;"), False),
    ("non-ASCII name", level("name: spürbar\nsl: 3\n"), True),
    ("rule", rule("qos-class: 41\nqos-level-name: one\n"), True),
    ("rule without level", rule("qos-class: 41\n"), False),
    ("rule with level twice", rule("qos-class: 41\nqos-level-name: one\nqos-level-name: one\n"), False),
    ("rule with unknown level", rule("qos-class: 41\nqos-level-name: two\n"), False),
    ("rule with level in capitals", rule("qos-class: 41\nqos-level-name: ONE\n"), True),
    ("rule without criteria", rule("qos-level-name: one\n"), True),
    ("no rules", LEVELS + "qos-match-rules\nend-qos-match-rules\n", True),
    ("rule with lists", rule("qos-class: 1-3, 7,9 - 11\nqos-class: 40\nservice-id: 0x1-0x5\npkey: 0x7fff\nqos-level-name: one\n"), True),
    ("range backwards", rule("qos-class: 9-3\nqos-level-name: one\n"), True),
    ("range with three", rule("qos-class: 3-5-9\nqos-level-name: one\n"), False),
    ("list ends with a comma", rule("qos-class: 3,\nqos-level-name: one\n"), False),
    ("list over lines", rule("qos-class: 3,\n 4\nqos-level-name: one\n"), True),
    ("qos-class too large", rule("qos-class: 5000\nqos-level-name: one\n"), True),
    ("rule with unknown group", rule("source: g\nqos-level-name: one\n"), False),
    ("rule with a group", group("name: g\nport-guid: 0x1\n") + rule("source: G\ndestination: g\nqos-level-name: one\n")[len(LEVELS):], True),
    ("rule before its group", rule("source: g\nqos-level-name: one\n") + group("name: g\n")[len(LEVELS):], True),
    ("rule with a made group", rule("source: _ULP_Targets_\nqos-level-name: one\n")
     + "qos-ulps\nany, target-port-guid 0x1: 1\nend-qos-ulps\n", True),
    ("no groups", LEVELS + "port-groups\nend-port-groups\n", False),
    ("group without name", group("port-guid: 0x1\n"), False),
    ("group twice", group("name: g\nend-port-group\nport-group\nname: G\n"), True),
    ("group of node types", group("name: g\nnode-type: CA, switch,Router\nnode-type: SELF,ALL\n"), True),
    ("node type unknown", group("name: g\nnode-type: HCA\n"), False),
    ("group of partitions", group("name: g\npartition: Default, x y\npkey: 0x8001-0x8003\n"), True),
    ("port name", group('name: g\nport-name: "gpu-001 mlx5_0/P1"\nport-name: x/p2\n'), True),
    ("port name with blanks", group("name: g\nport-name: vs1 HCA-1/P1\n"), True),
    ("port name without port", group("name: g\nport-name: vs1\n"), False),
    ("port name with port 0", group("name: g\nport-name: vs1/P0\n"), False),
    ("port name with short port", group("name: g\nport-name: vs1/P\n"), False),
    ("guid range", group("name: g\nport-guid: 0x10-0x20,0x30\n"), True),
    ("guid in words", group("name: g\nport-guid: 0x10 0x20\n"), False),
    ("ulps", ulps("default: 0\nsdp: 1\nSDP, port-num 30000: 1\nsdp , port-num 10000-20000,5:2\nrds:1\nrds, port-num 1:1\n"
                  "iser: 4\nISER,port-num 900: 5\nsrp, target-port-guid 0x1234: 2\nany, service-id 0x6234 : 2\n"
                  "Any, pkey 0x0ABC: 3\nany,target-port-guid 1: 6\nany, source-port-guid 2: 7\n"
                  "any, source-target-port-guid 0x5678-0x5679 : 8\n"), True),
    ("no ulps", ulps(""), False),
    ("ulp of the source comment", ulps("rds, : 0\n"), False),
    ("srp without targets", ulps("srp: 1\n"), False),
    ("ulp sl 16", ulps("sdp: 16\n"), False),
    ("ulp default 16", ulps("default: 16\n"), False),
    ("ulp port too large", ulps("sdp, port-num 65536: 1\n"), False),
    ("ulp port the largest", ulps("sdp, port-num 65535: 1\n"), True),
    ("ulp unknown", ulps("nfs: 1\n"), False),
    ("ulp in other words", ulps("any, PKEY 1: 1\n"), False),
    ("setup", setup(""), True),
    ("vlarb scope", vlarb("group: g\nvlarb-high: 0:255,1:127\nvlarb-low: 8:255\nvl-high-limit: 10\n"), True),
    ("vlarb scope without ports", vlarb("vlarb-high: 0:255\n"), False),
    ("vlarb without weight", vlarb("group: g\nvlarb-high: 0\n"), False),
    ("sl2vl scope", sl2vl("group: g\nfrom: *\nto: 1-5,127\nacross: h\nacross-to: h\nacross-from: i\n" + IDENTITY), True),
    ("sl2vl scope without ports", sl2vl(IDENTITY), False),
    ("sl2vl scope without table", sl2vl("group: g\n"), False),
    ("sl2vl table short", sl2vl("group: g\nsl2vl-table: 0,1,2\n"), False),
    ("sl2vl table twice", sl2vl("group: g\n" + IDENTITY + IDENTITY), False),
    ("sl2vl vl 16", sl2vl("group: g\n" + IDENTITY.replace("14", "16")), False),
    ("sl2vl port 128", sl2vl("group: g\nto: 128\n" + IDENTITY), False),
]

ALL = "Default=0x7fff, ipoib: ALL=full;\n"
PARTITIONS = [
    ("default", ALL, True),
    ("nothing", "", False),
    ("comments", "# c\n\n  \n", False),
    ("comment behind", "Default=0x7fff : ALL=full; # c\n", True),
    ("crlf", ALL.replace("\n", "\r\n"), False),
    ("crlf inside", "Default=0x7fff :\r\n ALL=full;\n", False),
    ("no semicolon at the end", "Default=0x7fff : ALL=full", True),
    ("no colon", "Default=0x7fff ALL=full;\n", False),
    ("head over lines", "Default=0x7fff,\n ipoib : ALL=full;\n", False),
    ("members over lines", ALL + "P=0x2 :\n 0x1,\n 0x2=full;\n", True),
    ("two on a line", "A=0x1: ALL; B=0x2: ALL;\n", True),
    ("flags", ALL + "P=0x8002, ipoib, sl=3, mtu=5, rate=7, scope=2, Q_Key=0xb1b, TClass=4, FlowLabel=7, defmember=full, indx0: ALL;\n", True),
    ("sl 16", ALL + "P=0x2, sl=16: ALL;\n", True),
    ("sl of letters", ALL + "P=0x2, sl=high: ALL;\n", True),
    ("sl in octal", ALL + "P=0x2, sl=012: ALL;\n", True),
    ("flag unknown", ALL + "P=0x2, SL=1, foo, =, : ALL;\n", True),
    ("short words", ALL + "P=0x2, i, s=2, d=f: A=f, S=b, NO;\n", True),
    ("no key", ALL + "P: ALL;\nQ: ALL;\nP: SELF;\n", True),
    ("key alone", ALL + "0x9: ALL;\n", True),
    ("key of letters", ALL + "P=abc: ALL;\n", False),
    ("key with more behind", ALL + "P=0x2x: ALL;\n", False),
    ("key too large", ALL + "P=0x12345: ALL;\n", True),
    ("name of digits", ALL + "2nd: ALL;\n", False),
    ("member of letters", ALL + "P=0x2: gpu-001;\n", False),
    ("member 0", ALL + "P=0x2: 0;\n", False),
    ("member with blanks", ALL + "P=0x2:  0x1 = full , ALL_CAS ;\n", True),
    ("members without comma", ALL + "P=0x2: 0x1 0x2;\n", False),
    ("member flag unknown", ALL + "P=0x2: ALL=maybe;\n", True),
    ("no members", ALL + "P=0x2: ;\n", True),
    ("a second semicolon", ALL + "P=0x2: ALL;;\n", False),
    ("twice", ALL + "P=0x2, sl=1: ALL;\nQ=0x2, sl=2: SELF;\n", True),
    ("mgid", ALL + "P=0x2, ipoib:\n mgid=ff12:401b::0707,sl=1\n ALL;\n", True),
    ("mgid at the end", "Default=0x7fff: ALL=full,mgid=ff12:401b::0707,sl=1;\n", True),
    ("mgid that is none", ALL + "P=0x2: mgid=fe80::1,sl=1;\n", False),
    ("mgid that is none, on a line of its own", ALL + "P=0x2:\n mgid=fe80::1,sl=1\n ALL;\n", True),
]
