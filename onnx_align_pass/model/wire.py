"""Protobuf's wire format, read from a file with small reads.

Accepts what protobuf accepts (https://protobuf.dev/programming-guides/encoding): non-minimal
varints of up to ten bytes, unknown fields, groups. Positions are bytes from the start of the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from onnx_align_pass.errors import BrokenModelError
from onnx_align_pass.transfer.positional import pread

__all__ = [
    "BYTES",
    "FIXED32",
    "FIXED64",
    "GROUP_END",
    "GROUP_START",
    "VARINT",
    "BytesReader",
    "Field",
    "WireReader",
    "encode_varint",
    "fields_of",
]

VARINT, FIXED64, BYTES, GROUP_START, GROUP_END, FIXED32 = range(6)

MAX_HEAD_BYTES = 5
"""Protobuf reads no longer tag, and no longer length."""
MAX_GROUP_DEPTH = 100
"""Protobuf's own limit of nested messages and groups."""
_FIRST_WINDOW = 4096
_LAST_WINDOW = 256 * 1024

Field = tuple[int, int, int, int, int]
"""(number, wire type, first byte of the tag, first byte of the content, byte after the content)."""


def encode_varint(value: int) -> bytes:
    """Encode a number of 0 or more as protobuf does."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


class WireReader:
    """Reads tags, varints and ranges of one file through a small window.

    The window is small after a jump and grows while reading goes on in sequence: weights that are
    jumped over are never read.
    """

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self.size = os.fstat(fd).st_size
        self._fd = fd
        self._window = b""
        self._base = 0
        self._grow = _FIRST_WINDOW

    def read(self, start: int, end: int) -> bytes:
        """Read bytes `[start, end)`.

        Raises:
            BrokenModelError: The file ends before `end`.
        """
        low = start - self._base
        if low >= 0 and end - self._base <= len(self._window):
            return self._window[low : end - self._base]
        parts: list[bytes] = []
        while start < end:
            part = pread(self._fd, min(end - start, 1 << 30), start)
            if not part:
                raise self.broken("the file ends inside a field", start)
            parts.append(part)
            start += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def varint(self, at: int, end: int) -> tuple[int, int]:
        """Read a varint that starts at `at`; return it and the byte after it."""
        index = at - self._base
        window = self._window
        if not 0 <= index <= len(window) - 10:
            window, index = self._look(at)
        value = shift = 0
        for byte in window[index : index + 10]:
            value |= (byte & 0x7F) << shift
            shift += 7
            at += 1
            if byte < 0x80:
                if at > end:
                    break
                return value & 0xFFFF_FFFF_FFFF_FFFF, at
        if shift == 70 and at <= end:
            raise self.broken("a varint is longer than ten bytes", at - 10)
        raise self.broken("a varint runs past the end of its message", at)

    def short_field(self, at: int) -> Field | None:
        """Read a field of bytes whose tag is one byte and whose length is at most two.

        Nearly all fields are: read apart from the rest, they take half the time. None: it is
        another field, or it is not in the window.
        """
        index = at - self._base
        window = self._window
        if not 0 <= index < len(window) - 3:
            return None
        tag, length = window[index], window[index + 1]
        if tag & 0x87 != BYTES or tag < 8:
            return None
        content = at + 2
        if length > 0x7F:
            high = window[index + 2]
            if high > 0x7F:
                return None
            length += (high << 7) - 0x80
            content += 1
        return tag >> 3, BYTES, at, content, content + length

    def _look(self, at: int) -> tuple[bytes, int]:
        follows = self._base <= at <= self._base + len(self._window)
        self._grow = min(self._grow * 2, _LAST_WINDOW) if follows else _FIRST_WINDOW
        self._window = pread(self._fd, self._grow, at)
        self._base = at
        return self._window, 0

    def broken(self, problem: str, at: int) -> BrokenModelError:
        """Make the error that names the file and the byte."""
        return BrokenModelError(
            f"{problem}, at byte {at:,}",
            file=self.path,
            hint="The file is damaged, cut short, or not an ONNX model.",
        )


class BytesReader(WireReader):
    """The same for a message in memory."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        self.size = len(data)
        self._window = data
        self._base = 0

    def _look(self, at: int) -> tuple[bytes, int]:
        return self._window, at


def fields_of(reader: WireReader, start: int, end: int) -> Iterator[Field]:
    """List the fields of the message at `[start, end)`, in order; a group is one field."""
    at = start
    while at < end:
        short = reader.short_field(at)
        if short is not None and short[4] <= end:
            yield short
            at = short[4]
            continue
        tag_at = at
        tag, at = reader.varint(at, end)
        number, wire = tag >> 3, tag & 7
        if number == 0 or tag > 0xFFFF_FFFF or at - tag_at > MAX_HEAD_BYTES:
            raise reader.broken(f"{tag} is not a field's tag", tag_at)
        content = at
        if wire == BYTES:
            length, content = _length(reader, at, end)
            at = content + length
        elif wire == GROUP_START:
            at = _group_end(reader, number, at, end)
        else:
            at = _scalar_end(reader, wire, at, end)
        if at > end:
            raise reader.broken(f"field {number} runs {at - end:,} bytes past its message", tag_at)
        yield number, wire, tag_at, content, at


def _length(reader: WireReader, at: int, end: int) -> tuple[int, int]:
    length, after = reader.varint(at, end)
    # A length that needs more is of a message that protobuf would not read, but we do.
    if after - at > MAX_HEAD_BYTES and length < 1 << 7 * MAX_HEAD_BYTES:
        raise reader.broken(f"a length is longer than {MAX_HEAD_BYTES} bytes", at)
    return length, after


def _scalar_end(reader: WireReader, wire: int, at: int, end: int) -> int:
    if wire == VARINT:
        return reader.varint(at, end)[1]
    if wire == FIXED64:
        return at + 8
    if wire == FIXED32:
        return at + 4
    raise reader.broken(f"there is no wire type {wire} here", at)


def _group_end(reader: WireReader, number: int, at: int, end: int) -> int:
    """Skip a group, with the groups inside it; return the byte after its end tag."""
    open_groups = [number]
    while open_groups:
        if at >= end:
            raise reader.broken("a group is never closed", at)
        tag_at = at
        tag, at = reader.varint(at, end)
        number, wire = tag >> 3, tag & 7
        # Here protobuf for Python lets field number 0 pass; for C++ it does not.
        if tag > 0xFFFF_FFFF or at - tag_at > MAX_HEAD_BYTES:
            raise reader.broken(f"{tag} is not a field's tag", tag_at)
        if wire == GROUP_START:
            open_groups.append(number)
            if len(open_groups) > MAX_GROUP_DEPTH:
                raise reader.broken("groups are nested too deep", at)
        elif wire == GROUP_END:
            if open_groups.pop() != number:
                raise reader.broken(f"the end of group {number} closes another group", at)
        elif wire == BYTES:
            length, at = _length(reader, at, end)
            at += length
        else:
            at = _scalar_end(reader, wire, at, end)
    return at
