"""Serialise a skeleton as a model file, with the weights that stay inline put back as spans."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from google.protobuf.message import EncodeError

from onnx_align_pass.errors import BrokenModelError
from onnx_align_pass.model.skeleton import Cut, Skeleton
from onnx_align_pass.model.wire import BYTES, BytesReader, encode_varint, fields_of
from onnx_align_pass.spans import Source

__all__ = ["PROTOBUF_MAX_BYTES", "Part", "assemble", "emit", "size_of"]

Part = bytes | Source
"""A piece of the new model file."""

PROTOBUF_MAX_BYTES = 2**31 - 1
"""No protobuf library reads a larger message."""


def size_of(parts: Sequence[Part]) -> int:
    """Bytes of the file that the parts make."""
    return sum(len(part) if isinstance(part, bytes) else part.length for part in parts)


def emit(skeleton: Skeleton) -> list[Part]:
    """Serialise; memory is the metadata, weights that stay inline are spans of their file.

    Raises:
        BrokenModelError: The result would be larger than any protobuf library reads.
    """
    parts = assemble(skeleton)
    size = size_of(parts)
    if size > max(PROTOBUF_MAX_BYTES, skeleton.size):
        raise BrokenModelError(
            "the weights that stay inline make the model file too large for protobuf",
            file=skeleton.path,
            needed=f"at most {PROTOBUF_MAX_BYTES:,} bytes",
            found=f"{size:,} bytes",
            hint="Lower the size threshold, so that more tensors become external.",
        )
    return parts


def assemble(skeleton: Skeleton) -> list[Part]:
    """Serialise as `emit` does, whatever the size.

    Raises:
        BrokenModelError: Its metadata alone is more than protobuf writes.
    """
    try:
        small = skeleton.proto.SerializeToString()
    except (EncodeError, ValueError) as error:
        raise BrokenModelError(
            f"protobuf cannot write it: {error}",
            file=skeleton.path,
            hint="Is its metadata over 2 GiB? Lower the size threshold, so that tensors move out.",
        ) from None
    marks = [found.start() for found in re.finditer(re.escape(skeleton.mark), small)]
    if marks and skeleton.cuts:
        return _Grower(skeleton, small, marks).message(0, len(small))
    return [small]


class _Grower:
    """Replaces placeholders by what they stand for, and makes the lengths around them right.

    A message's length stands before it, in each message that holds it; so the messages around a
    placeholder are the fields whose range holds its position. No schema is needed.
    """

    def __init__(self, skeleton: Skeleton, small: bytes, marks: list[int]) -> None:
        self._skeleton = skeleton
        self._small = small
        self._marks = marks
        self._reader = BytesReader(skeleton.path, small)
        self._mark_bytes = len(skeleton.mark) + 8

    def message(self, start: int, end: int) -> list[Part]:
        """Parts of the message at `[start, end)` of the serialised skeleton."""
        out: list[Part] = []
        kept = start
        for _, wire, tag_at, content, after in fields_of(self._reader, start, end):
            if wire != BYTES or not self._holds_mark(content, after):
                continue
            out.append(self._small[kept:tag_at])
            kept = after
            if after - content == self._mark_bytes and self._small.startswith(
                self._skeleton.mark, content
            ):
                out += self._cut(content).fields
                continue
            inner = self.message(content, after)
            length_at = self._reader.varint(tag_at, after)[1]
            out.append(self._small[tag_at:length_at] + encode_varint(size_of(inner)))
            out += inner
        out.append(self._small[kept:end])
        return [part for part in out if part != b""]

    def _holds_mark(self, start: int, end: int) -> bool:
        index = bisect_left(self._marks, start)
        return index < len(self._marks) and self._marks[index] < end

    def _cut(self, content: int) -> Cut:
        number = self._small[content + len(self._skeleton.mark) : content + self._mark_bytes]
        return self._skeleton.cuts[int.from_bytes(number, "little")]
