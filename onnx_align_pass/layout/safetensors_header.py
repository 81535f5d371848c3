"""The header of a safetensors file, and whether readers of safetensors accept the file."""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final, NamedTuple

__all__ = ["HeaderEntry", "SafetensorsHeader", "read_header"]

Read = Callable[[int, int], bytes]
"""Bytes of the file: from an offset on, so many, or fewer at its end."""

MAX_HEADER_BYTES: Final = 100_000_000
"""A longer one is refused by the safetensors library."""
_PADDING: Final = re.compile(r"__pad_\d+__")
"""What entries are called that stand for the bytes between tensors."""
_LENGTH_BYTES: Final = 8
_MOST_DIMS: Final = 64
_MOST_DIGITS: Final = 300
"""Of a number: a longer one is past what any reader of JSON holds."""
_METADATA: Final = "__metadata__"
_NO_SIZE: Final = 1 << 64
_LONE: Final = re.compile("[\ud800-\udfff]")
_BITS: Final = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "I16": 16, "U16": 16,
    "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "F64": 64, "I64": 64, "U64": 64,
    "C64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
}  # fmt: skip


class HeaderEntry(NamedTuple):
    """A tensor of a safetensors file. Offset and length are bytes of the file."""

    name: str
    offset: int
    length: int
    dtype: str

    @property
    def is_padding(self) -> bool:
        """Whether it stands for bytes between tensors."""
        return self.dtype == "U8" and _PADDING.fullmatch(self.name) is not None


@dataclass(frozen=True, slots=True)
class SafetensorsHeader:
    """What a safetensors file says of itself."""

    nbytes: int
    """With the number in front of it: where the tensors begin."""
    entries: tuple[HeaderEntry, ...]
    """In the order of their offsets; empty where `problem` is set."""
    problem: str | None
    """Why readers of safetensors refuse the file; None where they accept it."""
    has_metadata: bool = False
    """Whether it holds texts beside tensors."""


def read_header(read: Read, size: int) -> SafetensorsHeader | None:
    """Read the header of a file; None where it has none: it is no safetensors file.

    Args:
        read: Reads bytes of the file.
        size: Bytes of the file.
    """
    start = read(0, _LENGTH_BYTES + 1)
    length = int.from_bytes(start[:_LENGTH_BYTES], "little")
    if start[_LENGTH_BYTES:] != b"{" or length > min(size - _LENGTH_BYTES, MAX_HEADER_BYTES):
        return None
    try:
        text = read(_LENGTH_BYTES, length).decode()
        pairs = json.loads(
            text,
            object_pairs_hook=tuple,
            parse_int=_whole,
            parse_float=_finite,
            parse_constant=_finite,
        )
    except (ValueError, RecursionError):
        return None
    begin = _LENGTH_BYTES + length
    try:
        entries = sorted(_entries(pairs, begin), key=lambda one: (one.offset, one.length))
    except ValueError as error:
        return SafetensorsHeader(begin, (), str(error))
    problem = _hole(entries, begin, size)
    has_metadata = any(name == _METADATA and value for name, value in pairs)
    return SafetensorsHeader(begin, () if problem else tuple(entries), problem, has_metadata)


def _entries(pairs: Any, begin: int) -> list[HeaderEntry]:
    """Make the entries, with their offsets in the file.

    Raises:
        ValueError: One is not as the format has it; the text says how.
    """
    entries = _fields(pairs, "the header")
    metadata = _pairs(entries.pop(_METADATA, ()), _METADATA)
    if not all(_is_text(one) for pair in metadata for one in pair):
        raise ValueError(f"{_METADATA} holds more than texts")
    return [
        _entry(name, _fields(value, f"the entry {name!r}"), begin)
        for name, value in entries.items()
    ]


def _fields(value: Any, holder: str) -> dict[str, Any]:
    """The fields of an object, each of another name."""
    pairs = _pairs(value, holder)
    fields = dict(pairs)
    if len(fields) < len(pairs) or not all(map(_is_text, fields)):
        raise ValueError(f"{holder} holds two of one name, or a name that is no Unicode")
    return fields


def _pairs(value: Any, holder: str) -> tuple[tuple[str, Any], ...]:
    if not isinstance(value, tuple):
        raise ValueError(f"{holder} is no object")
    return value


def _is_text(value: Any) -> bool:
    """Whether it is a text that other readers take: JSON for Python lets lone surrogates pass."""
    return isinstance(value, str) and not _LONE.search(value)


def _entry(name: str, fields: dict[str, Any], begin: int) -> HeaderEntry:
    dtype = fields.get("dtype")
    bits = _BITS.get(dtype) if isinstance(dtype, str) else None
    shape, offsets = _sizes(fields.get("shape")), _sizes(fields.get("data_offsets"))
    if bits is None or shape is None or offsets is None or len(offsets) != 2:
        raise ValueError(f"the entry {name!r} has no dtype, shape or offsets that can be read")
    first, last = offsets
    products = [*accumulate((*shape, bits), operator.mul)]
    if products[-1] != 8 * (last - first) or max(products) >= _NO_SIZE:
        raise ValueError(f"the entry {name!r} has other bytes than its dtype and shape need")
    return HeaderEntry(name, begin + first, last - first, str(dtype))


def _whole(digits: str) -> int | float:
    """A whole number; -0 is none, but a float to other readers."""
    if len(digits) > _MOST_DIGITS:
        raise ValueError(digits)
    return -0.0 if digits == "-0" else int(digits)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is no JSON")
    return value


def _sizes(value: Any) -> list[int] | None:
    """A list of a few numbers of 64 bits; None for all else."""
    if not isinstance(value, list) or len(value) > _MOST_DIMS:
        return None
    return value if all(type(one) is int and 0 <= one < _NO_SIZE for one in value) else None


def _hole(entries: list[HeaderEntry], begin: int, size: int) -> str | None:
    end = begin
    for one in entries:
        if one.offset != end:
            return f"the entry {one.name!r} starts at byte {one.offset:,}, not {end:,}"
        end += one.length
    return None if end == size else f"its entries end at byte {end:,} of {size:,}"
