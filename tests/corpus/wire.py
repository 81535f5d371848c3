"""Protobuf's wire format, written by hand: whatever protobuf accepts but would not write itself."""

from __future__ import annotations

import struct

__all__ = ["block", "fixed32", "fixed64", "group", "tag", "unknown", "varint", "varint_field"]

VARINT, FIXED64, BLOCK, START, END, FIXED32 = range(6)
"""The wire types. https://protobuf.dev/programming-guides/encoding/"""


def varint(value: int, width: int = 1) -> bytes:
    """A base-128 varint of at least `width` bytes; a wider one than needed is not minimal.

    Negative values are written as 64-bit two's complement, ten bytes.
    """
    rest = value & (1 << 64) - 1 if value < 0 else value
    groups: list[int] = []
    while rest or len(groups) < width:
        groups.append(rest & 0x7F)
        rest >>= 7
    return bytes(group | 0x80 for group in groups[:-1]) + bytes(groups[-1:])


def tag(field: int, kind: int, width: int = 1) -> bytes:
    """The tag of a field, of at least `width` bytes."""
    return varint(field << 3 | kind, width)


def varint_field(field: int, value: int, width: int = 1, tag_width: int = 1) -> bytes:
    """A field of wire type 0."""
    return tag(field, VARINT, tag_width) + varint(value, width)


def block(field: int, body: bytes, width: int = 1, tag_width: int = 1) -> bytes:
    """A length-delimited field; `width` is that of its length."""
    return tag(field, BLOCK, tag_width) + varint(len(body), width) + body


def fixed32(field: int, body: bytes) -> bytes:
    """A field of wire type 5; `body` is four bytes, little-endian."""
    assert len(body) == 4
    return tag(field, FIXED32) + body


def fixed64(field: int, value: int) -> bytes:
    """A field of wire type 1."""
    return tag(field, FIXED64) + struct.pack("<Q", value)


def group(field: int, body: bytes = b"") -> bytes:
    """A group: wire type 3, its fields, wire type 4."""
    return tag(field, START) + body + tag(field, END)


def unknown(seed: int = 0) -> bytes:
    """Five unknown fields, one of each wire type, a group in a group among them."""
    return b"".join(
        (
            varint_field(19_900, seed),
            fixed64(19_901, seed),
            block(19_902, b"carried, not read %d" % seed),
            group(19_903, varint_field(1, seed) + group(2, block(9, b"inner"))),
            fixed32(19_904, struct.pack("<I", seed)),
        )
    )
