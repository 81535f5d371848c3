"""Read a model without its weights: a small ModelProto in which large weights are spans.

The file's wire format is walked with small reads; only messages larger than the cut size are looked
into, and in them each large `raw_data` (or block of numbers) gives way to a placeholder. What is
left is parsed by protobuf itself, so that everything keeps protobuf's meaning. Memory is the
metadata; files over protobuf's 2 GiB limit can be read.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final

import onnx
from google.protobuf.message import DecodeError

from onnx_align_pass.errors import BrokenModelError, ModelNotFoundError
from onnx_align_pass.model.schema import TYPED_FIELDS, Branch, branches
from onnx_align_pass.model.wire import (
    BYTES,
    FIXED32,
    FIXED64,
    VARINT,
    Field,
    WireReader,
    encode_varint,
    fields_of,
)
from onnx_align_pass.spans import FileSpan, Source
from onnx_align_pass.transfer.kernel import let_go

__all__ = ["CUT_BYTES", "Cut", "Skeleton", "read_skeleton"]

CUT_BYTES: Final = 1024
"""Messages and weights up to this size are read; the default size threshold of the policy."""
MAX_SKELETON_BYTES: Final = 1 << 30
"""Metadata over this is refused: it is no model, and protobuf could not hold it."""
MAX_FIELDS: Final = 5_000_000
"""Nodes, tensors, names ... in messages that are looked into. The largest models have a tenth of
it; and empty messages, of two bytes, take protobuf a hundred bytes of memory each."""
MAX_DEPTH: Final = 100
"""Protobuf's own limit of nested messages."""

MAX_PIECES: Final = 1000
"""Numbers in more pieces than this are left to protobuf: a span takes more memory than a piece."""

SHORT_PIECE_BYTES: Final = 64
"""So are those whose pieces are shorter than this; each would be read by itself, too."""

_RAW_DATA: Final = onnx.TensorProto.DESCRIPTOR.fields_by_name["raw_data"].number
_NUMBER_WIRES: Final = {
    number: (BYTES, {"float_data": FIXED32, "double_data": FIXED64}.get(name, VARINT))
    for number, name in TYPED_FIELDS.items()
}
"""Wire types in which numbers come, packed or one by one; what comes in another is unknown."""
_NUMBER_BYTES: Final = {"float_data": 4, "double_data": 8}
_LFS: Final = b"version https://git-lfs"


@dataclass(frozen=True, slots=True)
class Cut:
    """Weights that were left in the file: what stands behind one placeholder."""

    field_name: str
    """The field of TensorProto that holds them: `raw_data`, `float_data` ..."""
    fields: tuple[Source | bytes, ...]
    """The field as it stands in the file, tags included: what puts it back unchanged."""
    payload: FileSpan | None
    """The tensor's little-endian bytes, where they are one range of the file."""


@dataclass(slots=True)
class Skeleton:
    """A model without its large weights."""

    path: Path
    size: int
    """Bytes of the .onnx file."""
    proto: onnx.ModelProto
    cuts: list[Cut] = field(default_factory=list)
    mark: bytes = b""
    """What a placeholder starts with: random, so that no model can hold it by design."""

    homes: dict[str, tuple[str, Path]] = field(default_factory=dict)
    """Locations as the model spells them, to data file names and paths; by `model.sources`."""
    _data_paths: dict[str, Path] = field(default_factory=dict)

    def data_path(self, location: str) -> Path:
        """Path of a data file that the model names; one object a name, cheap to hash."""
        path = self._data_paths.get(location)
        if path is None:
            path = self._data_paths[location] = self.path.parent / location
        return path

    def cut_of(self, tensor: onnx.TensorProto) -> Cut | None:
        """Return the weights that a tensor's placeholder stands for, or None."""
        raw = tensor.raw_data
        if len(raw) != len(self.mark) + 8 or not raw.startswith(self.mark):
            return None
        return self.cuts[int.from_bytes(raw[len(self.mark) :], "little")]

    def place(self, cut: Cut) -> bytes:
        """Register weights; return the placeholder that stands for them in `raw_data`."""
        self.cuts.append(cut)
        return self.mark + (len(self.cuts) - 1).to_bytes(8, "little")


def read_skeleton(path: Path, *, cut_bytes: int = CUT_BYTES) -> Skeleton:
    """Read a model's metadata; weights larger than `cut_bytes` stay in the file.

    Raises:
        ModelNotFoundError: There is no such file, or it cannot be read.
        BrokenModelError: It is not an ONNX model, or its wire format is damaged.
    """
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise _unreadable(path, error) from None
    try:
        return _Reader(path, fd, cut_bytes).skeleton()
    except IsADirectoryError:
        raise ModelNotFoundError(
            "the model is a folder, not a file", file=path, hint="Name the .onnx file in it."
        ) from None
    except OSError as error:
        raise _unreadable(path, error) from None
    finally:
        let_go(fd)


def _unreadable(path: Path, error: OSError) -> ModelNotFoundError:
    reason = error.strerror or str(error)
    return ModelNotFoundError(f"the model cannot be read: {reason}", file=path)


class _Reader:
    def __init__(self, path: Path, fd: int, cut_bytes: int) -> None:
        self._wire = WireReader(path, fd)
        self._cut_bytes = cut_bytes
        self._kept_bytes = 0
        self._fields = 0
        self._result = Skeleton(
            path=path, size=self._wire.size, proto=onnx.ModelProto(), mark=os.urandom(16)
        )

    def skeleton(self) -> Skeleton:
        wire, result = self._wire, self._result
        if wire.size == 0:
            raise BrokenModelError(
                "the file is empty",
                file=wire.path,
                hint="Was its download or export cut short? Make it again.",
            )
        if wire.read(0, min(len(_LFS), wire.size)) == _LFS:
            raise BrokenModelError(
                "the file is a Git LFS pointer, not a model",
                file=wire.path,
                hint="Run `git lfs pull`.",
            )
        small = self._message(onnx.ModelProto.DESCRIPTOR, 0, wire.size, False, 0)
        try:
            result.proto.ParseFromString(small)
        except DecodeError as error:
            raise BrokenModelError(
                f"protobuf cannot read it as a model: {error}",
                file=wire.path,
                hint="The file is damaged, or not an ONNX model.",
            ) from None
        if not result.proto.HasField("graph"):
            raise BrokenModelError(
                "it holds no graph", file=wire.path, hint="Is it an ONNX model at all?"
            )
        return result

    def _message(self, kind: Any, start: int, end: int, merging: bool, depth: int) -> bytes:
        """Copy a message, with the large messages in it made small."""
        if depth > MAX_DEPTH:
            raise self._wire.broken("messages are nested too deep", start)
        below = branches(kind)
        again = self._repeats(below, start, end)
        out: list[bytes] = []
        kept = start
        for number, wire, tag_at, content, after in fields_of(self._wire, start, end):
            self._fields += 1
            if self._fields > MAX_FIELDS:
                raise self._wire.broken(f"it has over {MAX_FIELDS:,} fields", tag_at)
            branch = below.get(number)
            if branch is None or wire != BYTES or after - content <= self._cut_bytes:
                continue
            self._keep(out, kept, tag_at)
            small = self._branch(branch, content, after, merging or number in again, depth)
            out += (encode_varint(number << 3 | BYTES), encode_varint(len(small)), small)
            kept = after
        self._keep(out, kept, end)
        return b"".join(out)

    def _branch(self, branch: Branch, start: int, end: int, merging: bool, depth: int) -> bytes:
        if branch.is_tensor:
            return self._tensor(start, end, merging)
        return self._message(branch.message, start, end, merging, depth + 1)

    def _repeats(self, below: dict[int, Branch], start: int, end: int) -> frozenset[int]:
        """Fields that hold one message but occur more than once: protobuf merges them."""
        single = {number for number, branch in below.items() if not branch.repeated}
        if not single:
            return frozenset()
        found = islice(fields_of(self._wire, start, end), MAX_FIELDS)  # more are refused anyway
        count = Counter(f[0] for f in found if f[0] in single)
        return frozenset(number for number, times in count.items() if times > 1)

    def _keep(self, out: list[bytes], start: int, end: int) -> None:
        if start == end:
            return
        self._kept_bytes += end - start
        if self._kept_bytes > MAX_SKELETON_BYTES:
            raise self._wire.broken(
                f"the model holds over {MAX_SKELETON_BYTES:,} bytes besides weights", start
            )
        out.append(self._wire.read(start, end))

    def _tensor(self, start: int, end: int, merging: bool) -> bytes:
        """Copy a tensor, with its large weights behind a placeholder."""
        raw: Field | None = None
        large: list[Field] = []
        typed: list[Field] = []
        for found in fields_of(self._wire, start, end):
            number, wire = found[0], found[1]
            if number == _RAW_DATA and wire == BYTES:
                raw = found  # of a field that occurs twice, protobuf takes the last
                if found[4] - found[3] > self._cut_bytes:
                    large.append(found)
            elif number in TYPED_FIELDS and wire in _NUMBER_WIRES[number]:
                _extend(typed, found)
        if raw is not None:
            cut = self._raw_cut(raw) if raw in large[-1:] else None
            return self._without(start, end, large, cut)
        # Numbers of tensors that protobuf will merge are appended in its order: left to it.
        left = merging or len(typed) > MAX_PIECES or len({one[0] for one in typed}) != 1
        short = SHORT_PIECE_BYTES * (len(typed) - 1)
        if left or sum(f[4] - f[2] for f in typed) <= max(self._cut_bytes, short):
            return self._without(start, end, [], None)
        return self._without(start, end, typed, self._typed_cut(typed))

    def _without(self, start: int, end: int, gone: list[Field], cut: Cut | None) -> bytes:
        out: list[bytes] = []
        for _, _, tag_at, _, after in gone:
            self._keep(out, start, tag_at)
            start = after
        self._keep(out, start, end)
        if cut is not None:
            mark = self._result.place(cut)
            out += (encode_varint(_RAW_DATA << 3 | BYTES), encode_varint(len(mark)), mark)
        return b"".join(out)

    def _span(self, start: int, end: int) -> FileSpan:
        return FileSpan(self._wire.path, start, end - start)

    def _raw_cut(self, raw: Field) -> Cut:
        _, _, tag_at, content, after = raw
        return Cut("raw_data", (self._span(tag_at, after),), self._span(content, after))

    def _typed_cut(self, typed: list[Field]) -> Cut:
        name = TYPED_FIELDS[typed[0][0]]
        width = _NUMBER_BYTES.get(name, 1)
        for _, wire, tag_at, content, after in typed:
            if wire == BYTES and (after - content) % width:
                raise self._wire.broken(f"a block of {name} ends inside a number", tag_at)
        whole = len(typed) == 1 and typed[0][1] == BYTES and name in _NUMBER_BYTES
        payload = self._span(typed[0][3], typed[0][4]) if whole else None
        return Cut(name, tuple(self._span(f[2], f[4]) for f in typed), payload)


def _extend(typed: list[Field], found: Field) -> None:
    """Add a field of numbers; unpacked ones that follow each other become one.

    The list stops growing when there are more pieces than will be used.
    """
    if typed:
        number, wire, tag_at, content, after = typed[-1]
        if after == found[2] and wire == found[1] != BYTES and number == found[0]:
            typed[-1] = (number, wire, tag_at, content, found[4])
            return
    if len(typed) <= MAX_PIECES:
        typed.append(found)
