# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Files of other tools, written from a snapshot's raw answers by offsets of IBA vol. 1 14.2.5, with no code of ibqos: ibdiagnet's
db_csv, whose columns are named as ibutils2 names them."""
from kit import snapfile
from tools import netgen


def bits(data, byte, bit, count):
    """`count` bits from `bit` on, counted from the highest one of that byte, as IBA does."""
    return int.from_bytes(data, "big") >> (8 * len(data) - 8 * byte - bit - count) & ((1 << count) - 1)


NODE = {"NumPorts": (3, 0, 8), "NodeType": (2, 0, 8), "ClassVersion": (1, 0, 8), "BaseVersion": (0, 0, 8), "DeviceID": (30, 0, 16),
        "PartitionCap": (28, 0, 16), "revision": (32, 0, 32), "VendorID": (37, 0, 24), "LocalPortNum": (36, 0, 8)}
SWITCH = {"LinearFDBCap": (0, 0, 16), "RandomFDBCap": (2, 0, 16), "MCastFDBCap": (4, 0, 16), "LinearFDBTop": (6, 0, 16),
          "DefPort": (8, 0, 8), "DefMCastPriPort": (9, 0, 8), "DefMCastNotPriPort": (10, 0, 8), "LifeTimeValue": (11, 0, 5),
          "PortStateChange": (11, 5, 1), "OptimizedSLVLMapping": (11, 6, 2), "LidsPerPort": (12, 0, 16), "PartEnfCap": (14, 0, 16),
          "InbEnfCap": (16, 0, 1), "OutbEnfCap": (16, 1, 1), "FilterRawInbCap": (16, 2, 1), "FilterRawOutbCap": (16, 3, 1),
          "ENP0": (16, 4, 1), "MCastFDBTop": (18, 0, 16)}
PORT = {"MSMLID": (18, 0, 16), "LID": (16, 0, 16), "CapMsk": (20, 0, 32), "M_KeyLeasePeriod": (26, 0, 16), "DiagCode": (24, 0, 16),
        "LinkWidthActv": (31, 0, 8), "LinkWidthSup": (30, 0, 8), "LinkWidthEn": (29, 0, 8), "LocalPortNum": (28, 0, 8),
        "LinkSpeedEn": None, "LinkSpeedActv": None, "LMC": (34, 5, 3), "MKeyProtBits": (34, 0, 2), "LinkDownDefState": (33, 4, 4),
        "PortPhyState": (33, 0, 4), "PortState": (32, 4, 4), "LinkSpeedSup": None, "VLArbHighCap": (39, 0, 8),
        "VLHighLimit": (38, 0, 8), "InitType": (37, 4, 4), "VLCap": (37, 0, 4), "MSMSL": (36, 4, 4), "NMTU": (36, 0, 4),
        "FilterRawOutb": (43, 7, 1), "FilterRawInb": (43, 6, 1), "PartEnfOutb": (43, 5, 1), "PartEnfInb": (43, 4, 1),
        "OpVLs": (43, 0, 4), "HoQLife": (42, 3, 5), "VLStallCnt": (42, 0, 3), "MTUCap": (41, 4, 4), "InitTypeReply": (41, 0, 4),
        "VLArbLowCap": (40, 0, 8), "PKeyViolations": (46, 0, 16), "MKeyViolations": (44, 0, 16), "SubnTmo": (51, 3, 5),
        "MulticastPKeyTrapSuppressionEnabled": (51, 1, 2), "ClientReregister": (51, 0, 1), "GUIDCap": (50, 0, 8),
        "QKeyViolations": (48, 0, 16), "MaxCreditHint": (54, 0, 16), "OverrunErrs": (53, 4, 4), "LocalPhyError": (53, 0, 4),
        "RespTimeValue": (52, 3, 5), "LinkRoundTripLatency": (57, 0, 24), "CapMsk2": (60, 0, 16)}
TOTALS = ("LinkDownedCounter LinkErrorRecoveryCounter SymbolErrorCounter PortRcvRemotePhysicalErrors PortRcvErrors PortXmitDiscards "
          "PortRcvSwitchRelayErrors ExcessiveBufferOverrunErrors LocalLinkIntegrityErrors PortRcvConstraintErrors "
          "PortXmitConstraintErrors VL15Dropped PortXmitData PortRcvData PortXmitPkts PortRcvPkts PortXmitWait").split()
WIDE = ("PortXmitDataExtended PortRcvDataExtended PortXmitPktsExtended PortRcvPktsExtended PortUniCastXmitPkts "
        "PortUniCastRcvPkts PortMultiCastXmitPkts PortMultiCastRcvPkts").split()
WIDE_ERRORS = ("SymbolErrorCounterExt LinkErrorRecoveryCounterExt LinkDownedCounterExt PortRcvErrorsExt "
               "PortRcvRemotePhysicalErrorsExt PortRcvSwitchRelayErrorsExt PortXmitDiscardsExt PortXmitConstraintErrorsExt "
               "PortRcvConstraintErrorsExt LocalLinkIntegrityErrorsExt ExcessiveBufferOverrunErrorsExt VL15DroppedExt "
               "PortXmitWaitExt QP1DroppedExt").split()
DETAILS = ("PortLocalPhysicalErrors PortMalformedPacketErrors PortBufferOverrunErrors PortDLIDMappingErrors PortVLMappingErrors "
           "PortLoopingErrors PortInactiveDiscards PortNeighborMTUDiscards PortSwLifetimeLimitDiscards "
           "PortSwHOQLifetimeLimitDiscards").split()


def speed(info, ext_info):
    """(active, supported, enabled) as one number each, a byte a field of PortInfo; of the active one the best alone."""
    vendor = [ext_info[i] if ext_info else 0 for i in (15, 7, 11)]  # LinkSpeedActive, Supported, Enabled of 0xff90
    raw = [[bits(info, 35, 0, 4), bits(info, 62, 0, 4), vendor[0], bits(info, 56, 1, 2)],
           [bits(info, 32, 0, 4), bits(info, 62, 4, 4), vendor[1], bits(info, 56, 3, 2)],
           [bits(info, 35, 4, 4), bits(info, 63, 3, 5), vendor[2], bits(info, 56, 5, 3)]]
    raw[0] = [0 if any(raw[0][i + 1:]) else x for i, x in enumerate(raw[0])]
    return [sum(x << 8 * i for i, x in enumerate(r)) for r in raw]


class Dump:
    """A fabric out of a snapshot, to be written as db_csv."""

    def __init__(self, path):
        snap = snapfile.read(path)
        data, self.answers = snap["DATA"], snapfile.answers(snap)
        self.nodes, self.ports, self.peer = [], {}, {}
        at, place = 0, {}
        for n in snap["NODE"]:
            info = data[n["node_info"]].ljust(64, b"\0")
            node = dict(info=info, guid=bits(info, 12, 0, 64), name=snap["STRS"][n["name"]].decode(), first=at,
                        switch=data[n["switch_info"]].ljust(64, b"\0") if n["switch_info"] else None)
            self.nodes.append(node)
            for number in range(info[3] + 1):
                place[at] = (node["guid"], number)
                row = snap["PORT"][at]
                outcome, fresh = self.answers.get((at, 0, 0x15, number), (1, b""))
                raw = fresh if outcome == 0 else data[row["info"]] if row["info"] else b""
                if raw:
                    ext = data[row["ext_info"]].ljust(64, b"\0") if row["ext_info"] else None
                    self.ports[node["guid"], number] = (row["guid"], raw.ljust(64, b"\0"), ext)
                at += 1
        for index, row in enumerate(snap["PORT"]):
            if row["peer"] != snapfile.NONE and index <= row["peer"]:
                self.peer[place[index]] = place[row["peer"]]
        self.place = place

    def answer(self, node, number, attribute, modifier):
        outcome, data = self.answers.get((node["first"] + number, 0, attribute, modifier), (1, b""))
        return data.ljust(64, b"\0") if outcome == 0 else None

    def tables(self, node, number, attribute, modifiers):
        """The entries of 2 bytes of an attribute's blocks; None where there are none."""
        blocks = [self.answer(node, number, attribute, m) for m in modifiers]
        return None if all(b is None for b in blocks) else [
            [(b[i], b[i + 1]) for i in range(0, 64, 2)] if b is not None else [] for b in blocks]

    def sections(self, counters=None, wide=True, cables=None, sms=()):
        """{name: (columns, rows)}. counters: {(GUID, port): {name: value}}, 0 where nothing is said; cables: {(GUID, port): (PN, SN)}."""
        out = {}
        out["NODES"] = (["NodeDesc", "NumPorts", "NodeType", "ClassVersion", "BaseVersion", "SystemImageGUID", "NodeGUID", "PortGUID",
                         *list(NODE)[4:]], [])
        for n in self.nodes:
            v = {k: bits(n["info"], *f) for k, f in NODE.items()}
            v.update(NodeDesc=f'"{n["name"]}"', SystemImageGUID=f"0x{bits(n['info'], 4, 0, 64):016x}", NodeGUID=f"0x{n['guid']:016x}",
                     PortGUID=f"0x{bits(n['info'], 20, 0, 64):016x}")
            out["NODES"][1].append([v[c] for c in out["NODES"][0]])
        out["PORTS"] = (["NodeGuid", "PortGuid", "PortNum", "MKey", "GIDPrfx", *PORT, "OOOSLMask", "FECActv", "RetransActv"], [])
        for (guid, number), (port_guid, info, ext) in self.ports.items():
            v = {k: bits(info, *f) for k, f in PORT.items() if f}
            v["LinkSpeedActv"], v["LinkSpeedSup"], v["LinkSpeedEn"] = speed(info, ext)
            v.update(NodeGuid=f"0x{guid:016x}", PortGuid=f"0x{port_guid:016x}", PortNum=number, MKey="0x00feedfacecafe00",
                     GIDPrfx=f"0x{bits(info, 8, 0, 64):016x}", OOOSLMask="N/A", FECActv="N/A", RetransActv="N/A")
            out["PORTS"][1].append([v[c] for c in out["PORTS"][0]])
        out["SWITCHES"] = (["NodeGUID", *SWITCH], [[f"0x{n['guid']:016x}", *(bits(n["switch"], *f) for f in SWITCH.values())]
                                                   for n in self.nodes if n["switch"]])
        out["LINKS"] = (["NodeGuid1", "PortNum1", "NodeGuid2", "PortNum2"],
                        [[f"0x{a:016x}", ap, f"0x{b:016x}", bp] for (a, ap), (b, bp) in self.peer.items()])
        out["PKEY"] = (["NodeGUID", "PortGUID", "PortNum", "BlockNum", "Index", "PKey", "Membership"], [])
        out["VL_ARBITRATION_TABLE"] = (["NodeGUID", "PortGUID", "PortNum", "Priority", "VL", "Weight"], [])
        for n in self.nodes:
            for number in range(n["info"][3] + 1):
                own = number if n["switch"] else 0
                head = [f"0x{n['guid']:016x}", "0x0", number]
                for block, entries in enumerate(self.tables(n, number, 0x16, [own << 16 | b for b in range(4)]) or []):
                    out["PKEY"][1].extend([*head, block, i, f"0x{(a << 8 | b) & 0x7fff:04x}", "Full" if a & 0x80 else "Limited"]
                                          for i, (a, b) in enumerate(entries) if (a, b) != (0, 0))
                arbitration = self.tables(n, number, 0x18, [b + 1 << 16 | own for b in range(4)])
                if arbitration:
                    caps = self.ports[n["guid"], number][1][40], self.ports[n["guid"], number][1][39]
                    for name, entries in (("Low", (arbitration[0] + arbitration[1])[:caps[0]]),
                                          ("High", (arbitration[2] + arbitration[3])[:caps[1]])):
                        out["VL_ARBITRATION_TABLE"][1].extend([*head, name, vl & 15, weight] for vl, weight in entries)
        out["SM_INFO"] = (["NodeGUID", "PortGUID", "PortNumber", "Sm_Key", "ActCount", "Priority", "SmState"],
                          [[f"0x{guid:016x}", f"0x{port_guid:016x}", number, "0x1234", act, priority, state]
                           for guid, port_guid, number, act, priority, state in sms])
        if counters is not None:
            names = [*TOTALS, *WIDE, *(WIDE_ERRORS if wide else ()), *DETAILS, "max_retransmission_rate"]
            rows = []
            for (guid, number), (port_guid, _, _) in self.ports.items():
                said = counters.get((guid, number), {})
                rows.append([f"0x{guid:016x}", f"0x{port_guid:016x}", number, *(said.get(c, 0) for c in names)])
            out["PM_INFO"] = (["NodeGUID", "PortGUID", "PortNumber", *names], rows)
        if cables is not None:
            out["CABLE_INFO"] = (["NodeGuid", "PortGuid", "PortNum", "Source", "Vendor", "OUI", "PN", "SN", "Rev", "LengthDesc"],
                                 [[f"0x{guid:016x}", "0x0", number, '"PRTL"', '"Mellanox"', "0x2c9", f'"{pn}"', f'"{sn}"', '"A2"', '"2 m"']
                                  for (guid, number), (pn, sn) in cables.items()])
        return out


def text(sections, newline="\n"):
    """A db_csv file, with what ibdiagnet writes besides."""
    lines = ["# Running version:   \"IBDIAGNET 2.11.0\"", "# Timestamp: 2026-11-30 12:00:00 UTC", ""]
    sections = dict(sections, AR_INFO=(["NodeGUID", "e", "fr_supported"], [["0x1", "1", "0"]]),
                    ERRORS_LINKS_CHECK=(["Scope", "NodeGUID", "EventName", "Summary"], [["PORT", "0x1", "X", '"a, \"b\", c"']]))
    for name, (columns, rows) in sections.items():
        lines += [f"START_{name}", ",".join(columns), *(",".join(str(c) for c in row) for row in rows), f"END_{name}", "", ""]
    return newline.join(lines) + newline


def plain(net, speeds=False, prefix=None):
    """Nodes, ports and links of a net (tools/netgen.py), all 4x NDR and active, or with `speeds` as its cables are, as db_csv; no
    fabric is needed."""
    nodes = sorted(net.nodes.values(), key=lambda n: n.guid)
    values = {"MSMLID": 1, "CapMsk": 0xC000, "LinkWidthActv": 2, "LinkWidthSup": 2, "LinkWidthEn": 2, "LinkSpeedEn": 0xF01, "LinkSpeedActv": 0x800,
              "LinkSpeedSup": 0xF01, "PortPhyState": 5, "PortState": 4, "VLArbHighCap": 8, "VLArbLowCap": 8, "VLCap": 4, "OpVLs": 4, "NMTU": 5,
              "MTUCap": 5}
    ports = []
    for lid, n in enumerate(nodes, 1):
        for number in range(0 if n.kind == "switch" else 1, n.ports + 1):
            up = number == 0 or number in n.cables
            v = dict(values if up else {"CapMsk": 0xC000, "PortState": 1, "PortPhyState": 2}, LID=lid)
            if prefix:
                v["GIDPrfx"] = f"0x{prefix:016x}"
            if speeds and number in n.cables:
                width, speed = n.cables[number].kind
                legacy, ext = netgen.speed_code(speed)
                v.update(LinkWidthActv=netgen.WIDTH_CODE[width], LinkSpeedActv=legacy | ext << 8)
            ports.append([f"0x{n.guid:016x}", f"0x{n.port_guid(max(number, 1)):016x}", number, *(v.get(c, 0) for c in ("GIDPrfx", *PORT))])
    links = [[f"0x{a.guid:016x}", ap, f"0x{b.guid:016x}", bp] for a, ap, b, bp in
             {id(c): (c.a, c.ap, c.b, c.bp) for n in nodes for c in n.cables.values()}.values()]
    kinds = {"ca": 1, "switch": 2, "router": 3}
    return text({
        "NODES": (["NodeDesc", "NumPorts", "NodeType", "NodeGUID", "PortGUID", "LocalPortNum"],
                  [[f'"{n.desc}"', n.ports, kinds[n.kind], f"0x{n.guid:016x}", f"0x{n.port_guid(1):016x}", 1] for n in nodes]),
        "PORTS": (["NodeGuid", "PortGuid", "PortNum", "GIDPrfx", *PORT], ports),
        "LINKS": (["NodeGuid1", "PortNum1", "NodeGuid2", "PortNum2"], links)})


def ibnetdiscover(net):
    """The same net as ibnetdiscover writes it."""
    lines, letter = ["#", "# Topology file: generated on Mon Nov 30 12:00:00 2026", "#"], {"switch": "S", "ca": "H", "router": "R"}
    nodes = sorted(net.nodes.values(), key=lambda n: n.guid)
    lids = {n.guid: i for i, n in enumerate(nodes, 1)}
    for n in nodes:
        word, key = {"switch": ("Switch", "switchguid"), "ca": ("Ca", "caguid"), "router": ("Rt", "rtguid")}[n.kind]
        lines += ["", "vendid=0x2c9", "devid=0xd2f2", f"sysimgguid=0x{n.guid:x}", f"{key}=0x{n.guid:x}" + (f"({n.guid:x})" if n.switch else ""),
                  f'{word}\t{n.ports} "{letter[n.kind]}-{n.guid:016x}"\t\t# "{n.desc}"' + (f" enhanced port 0 lid {lids[n.guid]} lmc 0" if n.switch else "")]
        for port, cable in sorted(n.cables.items()):
            peer, there = cable.peer(n)
            far = f'[{there}]' + ("" if peer.switch else f"({peer.port_guid(there):x})")
            near = f"[{port}]" if n.switch else f"[{port}]({n.port_guid(port):x})"
            own = "" if n.switch else f"lid {lids[n.guid]} lmc 0 "
            lines.append(f'{near}\t"{letter[peer.kind]}-{peer.guid:016x}"{far}\t\t# {own}"{peer.desc}" lid {lids[peer.guid]} 4xNDR')
    return "\n".join(lines) + "\n"
