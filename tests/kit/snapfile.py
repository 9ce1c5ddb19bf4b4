# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A reader and writer of snapshot files that knows docs/snapshot-format.md and nothing of ibqos."""
import ctypes
import struct
import zlib

_zstd = ctypes.CDLL("libzstd.so.1")
_zstd.ZSTD_compressBound.restype = _zstd.ZSTD_compress.restype = _zstd.ZSTD_decompress.restype = ctypes.c_size_t
_zstd.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
_zstd.ZSTD_compress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
_zstd.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]

NONE = 0xFFFFFFFF
# (column, bytes) of each table, as documented
TABLES = {
    "META": (("version", 4), ("label", 4), ("from_node", 4), ("stopped", 4), ("sm_lid", 2), ("from_port", 1), ("redacted", 1)),
    "NODE": (("node_info", 4), ("switch_info", 4), ("route", 4), ("name", 4), ("has_desc", 1)),
    "PORT": (("guid", 8), ("info", 4), ("ext_info", 4), ("peer", 4)),
    "GAPS": (("port", 4), ("reason", 1)),
    "ANSW": (("port", 4), ("modifier", 4), ("count", 4), ("step", 4), ("value", 4), ("attribute", 2), ("mgmt_class", 1),
             ("outcome", 1)),
    "SMQU": (("mask", 8), ("modifier", 4), ("record", 4), ("value", 4), ("attribute", 2), ("mgmt_class", 1), ("outcome", 1)),
}


def sections(data):
    """[(tag, unpacked bytes)] of a file; every checksum is checked."""
    assert data[:8] == b"IBQOSNAP" and struct.unpack("<I", data[28:32])[0] == zlib.crc32(data[:28])
    at, out = 32, []
    while at < len(data):
        tag, size, raw, crc = struct.unpack("<4sIII", data[at:at + 16])
        packed = data[at + 16:at + 16 + size]
        assert zlib.crc32(data[at:at + 12] + packed) == crc
        text = ctypes.create_string_buffer(raw)
        if size:
            assert _zstd.ZSTD_decompress(text, raw, packed, size) == raw
        out.append((tag.decode(), text.raw))
        at += 16 + size
    assert out[-1] == ("END.", b"")
    return out


def join(head, parts):
    """A file of a header's first 28 bytes and sections."""
    out = head[:28] + struct.pack("<I", zlib.crc32(head[:28]))
    for tag, raw in parts:
        packed = b""
        if raw:
            text = ctypes.create_string_buffer(_zstd.ZSTD_compressBound(len(raw)))
            size = _zstd.ZSTD_compress(text, len(text), raw, len(raw), 3)
            packed = text.raw[:size]
        start = struct.pack("<4sII", tag.encode(), len(packed), len(raw))
        out += start + struct.pack("<I", zlib.crc32(start + packed)) + packed
    return out


def pool(raw):
    count, = struct.unpack("<I", raw[:4])
    sizes = struct.unpack(f"<{count}H", raw[4:4 + 2 * count])
    at, items = 4 + 2 * count, []
    for size in sizes:
        items.append(raw[at:at + size])
        at += size
    assert at == len(raw)
    return items


def unpool(items):
    return struct.pack(f"<I{len(items)}H", len(items), *map(len, items)) + b"".join(items)


def table(raw, columns):
    count, width = struct.unpack("<IB", raw[:5])
    assert list(raw[5:5 + width]) == [size for _, size in columns]
    at, rows = 5 + width, [{} for _ in range(count)]
    for name, size in columns:
        before = 0
        for row in rows:
            value = int.from_bytes(raw[at:at + size], "little")
            if size >= 4:
                value = before = (before + value) % (1 << 8 * size)
            row[name] = value
            at += size
    assert at == len(raw)
    return rows


def untable(rows, columns):
    raw = bytearray(struct.pack("<IB", len(rows), len(columns)) + bytes(size for _, size in columns))
    for name, size in columns:
        before = 0
        for row in rows:
            value = row[name] - before if size >= 4 else row[name]
            before = row[name]
            raw += (value % (1 << 8 * size)).to_bytes(size, "little")
    return bytes(raw)


def read(path):
    """{tag: items of a pool or rows of a table}"""
    with open(path, "rb") as f:
        data = f.read()
    out = {"head": data[:32]}
    for tag, raw in sections(data):
        if tag in ("STRS", "DATA"):
            out[tag] = pool(raw)
        elif tag in TABLES:
            out[tag] = table(raw, TABLES[tag])
    return out


def write(path, snap):
    parts = [(t, unpool(snap[t])) for t in ("STRS", "DATA")]
    parts += [(t, untable(snap[t], TABLES[t])) for t in TABLES]
    with open(path, "wb") as f:
        f.write(join(snap["head"], parts + [("END.", b"")]))


def answers(snap):
    """{(port, class, attribute, modifier): (outcome, data or number)}"""
    return {(r["port"], r["mgmt_class"], r["attribute"], r["modifier"] + i * r["step"]):
            (r["outcome"], snap["DATA"][r["value"]] if r["outcome"] == 0 else r["value"])
            for r in snap["ANSW"] for i in range(r["count"])}
