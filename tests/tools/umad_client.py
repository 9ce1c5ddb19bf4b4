#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A client of libibumad of the plainest kind, to see what the overlay lets through: sends SubnGets to the
local port along the directed route 0, then waits the way it is told, and prints what came and when.

umad_client.py WAY TIMEOUT_MS ATTRIBUTE... ; WAY: recv (umad_recv), poll (umad_poll, then umad_recv), or peek
(umad_recv with timeout 0, once). Prints one line a MAD: seconds, attribute, MAD status, umad status; then the
seconds and the code that ended the waiting. With UMAD_CLIENT_DUMP, the data of each in hex before that."""
import ctypes
import os
import struct
import sys
import time

ctypes.CDLL("libibumad.so.3", mode=ctypes.RTLD_GLOBAL)
lib = ctypes.CDLL(None)  # names are looked up as for a linked program: the overlay first
way, timeout, attributes = sys.argv[1], int(sys.argv[2]), [int(a, 0) for a in sys.argv[3:]]
lib.umad_init()
fd = lib.umad_open_port(None, 0)
agent = lib.umad_register(fd, 0x81, 1, 0, None)
assert fd >= 0 and agent >= 0, (fd, agent)
head = lib.umad_size()
for n, attribute in enumerate(attributes):
    # IBA 14.2.1.2: base version, class, class version, Get; status; hop pointer and count; TID; attribute
    mad = struct.pack(">BBBBHBBQHHI", 1, 0x81, 1, 1, 0, 0, 0, n + 1, attribute, 0, 0) + bytes(8)
    mad += struct.pack(">HH", 0xffff, 0xffff) + bytes(256 - 36)
    buf = ctypes.create_string_buffer(bytes(head) + mad)
    lib.umad_set_addr(buf, 0xffff, 0, 0, 0)
    assert lib.umad_send(fd, agent, buf, 256, 100, 0) == 0
begin = time.monotonic()


def since():
    return f"{time.monotonic() - begin:.3f}"


while True:
    if way == "poll" and (code := lib.umad_poll(fd, timeout)) != 0:
        break
    buf, length = ctypes.create_string_buffer(head + 256), ctypes.c_int(256)
    code = lib.umad_recv(fd, buf, ctypes.byref(length), 0 if way in ("poll", "peek") else timeout)
    if code < 0:
        break
    mad = buf.raw[head:]
    if os.environ.get("UMAD_CLIENT_DUMP"):
        print("data", mad[64:128].hex())
    print(since(), f"0x{struct.unpack('>H', mad[16:18])[0]:04x}", f"0x{struct.unpack('>H', mad[4:6])[0] & 0x7fff:x}",
          lib.umad_status(buf))
print(since(), code)
# libumad2sim 0.10 hangs in its clean-up when an answer comes in just then: let all come in before
time.sleep(0.1)
