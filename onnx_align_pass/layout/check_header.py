"""Prove the header of a safetensors file, as its readers check it: parsed again from its bytes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

from onnx_align_pass.layout.plan import Placement, PlannedFile

__all__ = ["header_faults", "header_violations"]

Entries: TypeAlias = dict[str, dict[str, Any]]
_ELEMENT_BYTES: Final = {
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "F8_E8M0"), 1),
    **dict.fromkeys(("U16", "I16", "F16", "BF16"), 2),
    **dict.fromkeys(("U32", "I32", "F32"), 4),
    **dict.fromkeys(("U64", "I64", "F64", "C64"), 8),
}
_PAD: Final = re.compile(r"__pad_\d+__")
_FIELDS: Final = {"dtype", "shape", "data_offsets"}


def header_violations(
    file: PlannedFile, placements: Sequence[Placement]
) -> Iterator[tuple[str, str]]:
    """List what is wrong with a planned file's header: (tensor, problem)."""
    if not file.header:
        if file.name.lower().endswith(".safetensors"):
            yield "", f"{file.name} has no header"
        return
    entries, faults = _read(file.header, file.size)
    yield from (("", f"{file.name}: {fault}") for fault in faults)
    if not faults:
        yield from _unlisted(file, entries, placements)


def header_faults(header: bytes, size: int) -> list[str]:
    """List what a reader of safetensors finds wrong with a file.

    Args:
        header: The beginning of the file: eight bytes of length, and as many bytes more.
        size: Bytes of the whole file.
    """
    return _read(header, size)[1]


def _unlisted(
    file: PlannedFile, entries: Entries, placements: Sequence[Placement]
) -> Iterator[tuple[str, str]]:
    """Each tensor has an entry of its own, and all others are padding."""
    start = len(file.header)
    left = {key: one["data_offsets"] for key, one in entries.items() if not _PAD.fullmatch(key)}
    for request, _, offset, length, _, _, _ in placements:
        slot = request.facts.slot
        wanted = [offset - start, offset - start + length]
        key = slot.place if left.get(slot.place) == wanted else slot.name
        if left.pop(key, None) != wanted:
            yield slot.name, f"the header of {file.name} has no entry of its range"
    for key in left:
        yield "", f"the header of {file.name} has an entry {key!r} of no tensor"


def _read(header: bytes, size: int) -> tuple[Entries, list[str]]:
    """The entries of a header, and what is wrong with it."""
    faults: list[str] = []
    if int.from_bytes(header[:8], "little") != len(header) - 8:
        faults.append("the header has another length than it says")
    if len(header) - 8 > 100_000_000:
        faults.append("the header is larger than readers take")
    if header[8:9] != b"{":
        return {}, [*faults, "the header does not begin with a brace"]
    try:
        entries: Entries = json.loads(header[8:].decode(), object_pairs_hook=_without_twins)
        entries.pop("__metadata__", None)
        faults += _holes(entries, len(header), size)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        return {}, [*faults, f"the header is not of the form that readers know: {error}"]
    return entries, faults


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("two entries have one name")
    return found


def _holes(entries: Entries, start: int, size: int) -> Iterator[str]:
    """Entries follow each other without a hole, from the header to the end of the file."""
    end = 0
    for key, one in entries.items():
        element = _ELEMENT_BYTES.get(str(one.get("dtype")))
        if one.keys() != _FIELDS or element is None:
            yield f"the entry {key!r} is none that readers know"
            return
        first, last = one["data_offsets"]
        if first != end or last < first:
            yield f"the entry {key!r} begins at {first}, and not at {end}"
        if last - first != math.prod(one["shape"]) * element:
            yield f"the entry {key!r} has not as many bytes as its dtype and shape need"
        end = last
    if start + end != size:
        yield f"the entries end at {start + end}, and the file at {size}"
