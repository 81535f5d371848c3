"""The header of a safetensors file: every byte behind it belongs to just one entry.

The format, as its own reader checks it: eight bytes of header length, little-endian; the header, at
most 100 MB of JSON that begins with `{`; then the entries' bytes without a hole, to the end of the
file. Offsets count from the end of the header, so that its length depends on no offset.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Final

from onnx_align_pass.layout.names import SAFETENSORS, shard_name
from onnx_align_pass.tensors import Slot, TensorFacts, TensorRequest

__all__ = ["HEADER_MAX", "Header", "Keys", "entry_type", "is_safetensors"]

HEADER_MAX: Final = 100_000_000
"""Bytes of JSON that readers take."""
_quoted = json.JSONEncoder().encode
_LENGTH_BYTES: Final = 8
_LEAST_ALIGNMENT: Final = 8
"""What writers of safetensors align the first tensor to."""
_PAD: Final = "__pad_"
_RESERVED: Final = "__metadata__"
_DTYPES: Final = {
    "BOOL": "BOOL",
    "UINT8": "U8",
    "INT8": "I8",
    "FLOAT8E4M3FN": "F8_E4M3",
    "FLOAT8E5M2": "F8_E5M2",
    "FLOAT8E8M0": "F8_E8M0",
    "UINT16": "U16",
    "INT16": "I16",
    "FLOAT16": "F16",
    "BFLOAT16": "BF16",
    "UINT32": "U32",
    "INT32": "I32",
    "FLOAT": "F32",
    "UINT64": "U64",
    "INT64": "I64",
    "DOUBLE": "F64",
    "COMPLEX64": "C64",
}
"""Element types by their names in ONNX. Tensors of all others are bytes: onnx-safetensors gives
them their type and shape back by the model, and older readers know no other name for them."""


def is_safetensors(base: str) -> bool:
    """Whether the files of a base are safetensors files, by the name of the first."""
    return shard_name(base, 1, 1).lower().endswith(SAFETENSORS)


def entry_type(facts: TensorFacts) -> tuple[str, tuple[int, ...]]:
    """Dtype and shape that a tensor's entry has; bytes, where safetensors has no such dtype."""
    dtype = _DTYPES.get(facts.dtype)
    if dtype is None or not facts.nbytes:
        return "U8", (facts.nbytes,)
    return dtype, facts.shape


class Keys:
    """What each tensor of a model is called in a header.

    Its name, where that finds no other tensor; else its place.
    """

    def __init__(self, requests: Sequence[TensorRequest]) -> None:
        self._times = Counter([one.facts.slot.name for one in requests])
        self._places = {one.facts.slot.place for one in requests}

    def of(self, slot: Slot) -> str:
        """The key of one of the tensors, no other one's."""
        place, name, _ = slot
        if self._times[name] > 1 or name in self._places or not _may_be_key(name):
            return place
        return name


def _may_be_key(name: str) -> bool:
    if name == _RESERVED or name.startswith(_PAD):
        return False
    if name.isascii():
        return True
    try:
        name.encode()
    except UnicodeEncodeError:  # half of a pair, which readers refuse
        return False
    return True


class Header:
    """A header while it grows, tensor by tensor, in the order of their offsets.

    Offsets and ends count from the end of the header; all numbers are bytes.
    """

    __slots__ = ("_end", "_keys", "_length", "_pads", "_texts")

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._texts: list[str] = []
        self._length = 1
        """Of the JSON: a brace, and an entry with the comma or the brace behind it, each."""
        self._pads = 0
        self._end = 0

    def add(self, facts: TensorFacts, offset: int) -> None:
        """Take a tensor up; what lies between it and the one before becomes an entry, too."""
        text = self._entries(facts, offset)
        self._texts.append(text)
        self._length += len(text) + 1
        self._pads += offset > self._end
        self._end = offset + facts.nbytes

    def size_with(self, facts: TensorFacts, offset: int, end: int, alignment: int) -> int:
        """Bytes that the header would have if the file held one tensor more, and ended there.

        Args:
            facts: The tensor.
            offset: Where it would begin.
            end: Where the file would end.
            alignment: The largest in the file then.
        """
        length = self._length + len(self._entries(facts, offset)) + 1
        if end > offset + facts.nbytes:
            last = self._pads + (offset > self._end)
            length += len(_pad(last, offset + facts.nbytes, end)) + 1
        return _rounded(length, alignment)

    def size(self, end: int, alignment: int) -> int:
        """Bytes that the header has if the file ends there."""
        length = self._length
        if end > self._end:
            length += len(_pad(self._pads, self._end, end)) + 1
        return _rounded(length, alignment)

    def to_bytes(self, end: int, alignment: int) -> bytes:
        """Return the header of a file that ends at `end`, filled with blanks to its own size."""
        rest = [_pad(self._pads, self._end, end)] if end > self._end else []
        text = ",".join([*self._texts, *rest])
        size = self.size(end, alignment) - _LENGTH_BYTES
        return size.to_bytes(_LENGTH_BYTES, "little") + f"{{{text}}}".encode().ljust(size)

    def _entries(self, facts: TensorFacts, offset: int) -> str:
        """The entry of a tensor, and before it that of a gap, if there is one."""
        nbytes = facts.nbytes
        dtype, shape = entry_type(facts)
        entry = _entry(self._keys.of(facts.slot), dtype, shape, offset, offset + nbytes)
        return f"{_pad(self._pads, self._end, offset)},{entry}" if offset > self._end else entry


def _pad(number: int, start: int, end: int) -> str:
    return _entry(f"{_PAD}{number}__", "U8", (end - start,), start, end)


def _entry(key: str, dtype: str, shape: tuple[int, ...], start: int, end: int) -> str:
    """One entry, in ASCII."""
    dims = ",".join(map(str, shape))
    return (
        f'{json.dumps(key)}:{{"dtype":"{dtype}","shape":[{dims}],"data_offsets":[{start},{end}]}}'
    )


def _rounded(length: int, alignment: int) -> int:
    boundary = max(alignment, _LEAST_ALIGNMENT)
    return (_LENGTH_BYTES + length + boundary - 1) & -boundary
