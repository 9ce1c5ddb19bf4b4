#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Reads every port's PortInfo, SL2VL and VLArb by directed routes, one Get at a time, through libibumad alone:
what the devices hold, known without any code of ibqos.

stdin: {"nodes": {name: {"route": [ports], "switch": bool, "ports": n}}}; stdout: {name: {port: {...}}}.
A node that does not answer is left out."""
import ctypes
import json
import struct
import sys
import time

ctypes.CDLL("libibumad.so.3", mode=ctypes.RTLD_GLOBAL)
lib = ctypes.CDLL(None)  # names are looked up as for a linked program: the overlay first
PORT_INFO, SL2VL, VLARB = 0x15, 0x17, 0x18


class Wire:
    def __init__(self):
        lib.umad_init()
        self.fd = lib.umad_open_port(None, 0)
        self.agent = lib.umad_register(self.fd, 0x81, 1, 0, None)
        if self.fd < 0 or self.agent < 0:
            sys.exit(f"umad: {self.fd} {self.agent}")
        self.head = lib.umad_size()
        self.tid = 0

    def get(self, route, attribute, modifier):
        """The 64 bytes of data, or None."""
        self.tid += 1
        # IBA 14.2.1.2: a directed-route SMP; data at 64, initial path at 128
        mad = struct.pack(">BBBBHBBQHHIQHH", 1, 0x81, 1, 1, 0, 0, len(route), self.tid, attribute, 0, modifier, 0,
                          0xffff, 0xffff)
        mad = mad.ljust(128, b"\0") + bytes([0, *route]).ljust(128, b"\0")
        buf = ctypes.create_string_buffer(bytes(self.head) + mad)
        lib.umad_set_addr(buf, 0xffff, 0, 0, 0)
        if lib.umad_send(self.fd, self.agent, buf, 256, 1000, 0) != 0:
            return None
        while True:
            buf, length = ctypes.create_string_buffer(self.head + 256), ctypes.c_int(256)
            if lib.umad_recv(self.fd, buf, ctypes.byref(length), 1500) < 0:
                return None
            answer = buf.raw[self.head:]
            if struct.unpack(">Q", answer[8:16])[0] & 0xffffffff != self.tid:
                continue
            if lib.umad_status(buf) or struct.unpack(">H", answer[4:6])[0] & 0x7fff:
                return None
            return answer[64:128]


def arbitration(wire, route, number, caps):
    tables = []
    for first, cap in ((1, caps[0]), (3, caps[1])):
        entries = []
        for block in range(2):
            left = min(cap - 32 * block, 32)
            if left <= 0:
                break
            data = wire.get(route, VLARB, (first + block) << 16 | number)
            entries += [[data[2 * i] & 15, data[2 * i + 1]] for i in range(left)] if data else [None]
        tables.append(entries)
    return tables


def read_port(wire, node, number, info):
    port = {"lid": struct.unpack(">H", info[16:18])[0], "state": info[32] & 15, "phys": info[33] >> 4,
            "vl_cap": info[37] >> 4, "oper_vls": info[43] >> 4, "high_limit": info[38]}
    if port["state"] == 1:
        return port
    asked = number if node["switch"] else 0
    port["low"], port["high"] = arbitration(wire, node["route"], asked, (info[40], info[39]))
    port["sl2vl"] = {}
    for i in range(node["ports"] + 1) if node["switch"] else (0,):
        data = wire.get(node["route"], SL2VL, i << 8 | asked)
        port["sl2vl"][i] = [data[k // 2] >> 4 if k % 2 == 0 else data[k // 2] & 15 for k in range(16)] if data else None
    return port


def main():
    asked, wire, found = json.load(sys.stdin)["nodes"], Wire(), {}
    for name, node in asked.items():
        first = wire.get(node["route"], PORT_INFO, 0)
        if first is None:
            continue
        ports = found[name] = {}
        if not node["switch"]:
            ports[first[28]] = read_port(wire, node, first[28], first)  # LocalPortNum
            continue
        for number in range(node["ports"] + 1):
            info = first if number == 0 else wire.get(node["route"], PORT_INFO, number)
            if info is not None:
                ports[number] = read_port(wire, node, number, info)
    json.dump(found, sys.stdout)
    # libumad2sim 0.10 hangs in its clean-up when an answer comes in just then
    time.sleep(0.02)


if __name__ == "__main__":
    main()
