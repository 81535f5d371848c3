"""Whether a model's tensors can be read: every byte there, in a safe place, and nobody else's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from onnx_align_pass.errors import (
    ExternalDataError,
    ModelError,
    ShortSourceError,
    TensorError,
    UnsafeDataFileError,
)
from onnx_align_pass.findings import Finding
from onnx_align_pass.inspection.inventory import Entry, Inventory
from onnx_align_pass.inspection.ranges import Claim, Overlap, overlaps
from onnx_align_pass.spans import FileSpan

__all__ = ["code_of", "integrity_of"]

_OF_FILES: Final = frozenset({"data-file-missing", "data-file-short", "unsafe-location"})
"""Faults of a data file: one finding, however many tensors are in it."""


def integrity_of(inventory: Inventory) -> Iterator[Finding]:
    """List what is wrong with tensors, in declaration order, then ranges that overlap."""
    faults: dict[tuple[str, object], list[ModelError]] = defaultdict(list)
    for index, entry in enumerate(inventory.entries):
        if entry.fault is not None:
            code = code_of(entry)
            where = entry.home or entry.fault.found if code in _OF_FILES else index
            faults[code, where].append(entry.fault)
    for (code, _), errors in faults.items():
        yield Finding(code, "error", _counted(errors))
    yield from _overlaps(inventory)


def code_of(entry: Entry) -> str:
    """The kind of an entry's fault."""
    error = entry.fault
    if isinstance(error, UnsafeDataFileError):
        return "unsafe-location"
    if isinstance(error, ShortSourceError):
        return "data-file-short"
    if isinstance(error, TensorError):
        return "size-mismatch"
    # Where its entries could be followed, it is the file that failed.
    return "bad-entry" if entry.source is None else "data-file-missing"


def _counted(errors: Sequence[ModelError]) -> ModelError:
    """The first of some errors that are alike, with the number of the others."""
    first = errors[0]
    if len(errors) == 1:
        return first
    unsafe = isinstance(first, UnsafeDataFileError)
    others = "another tensor" if len(errors) == 2 else f"{len(errors) - 1:,} other tensors"
    return (UnsafeDataFileError if unsafe else ExternalDataError)(
        f"{first.problem}; so for {others}",
        tensor=first.tensor,
        file=first.file,
        needed=first.needed,
        found=first.found,
        hint=first.hint,
    )


def _overlaps(inventory: Inventory) -> Iterator[Finding]:
    by_name: dict[str, list[Claim]] = defaultdict(list)
    for index, entry in enumerate(inventory.entries):
        if entry.home is not None and isinstance(entry.source, FileSpan) and not entry.fault:
            _, offset, length = entry.source
            by_name[entry.home].append(Claim(offset, length, index))
    claims: dict[tuple[int, int], list[Claim]] = defaultdict(list)
    for name, claimed in by_name.items():
        file = inventory.files.identity(inventory.skeleton.data_path(name))
        claims[file.device, file.inode] += claimed  # two names may lead to one file
    for claimed in claims.values():
        for overlap in overlaps(claimed):
            yield _overlap(overlap, inventory)


def _overlap(overlap: Overlap, inventory: Inventory) -> Finding:
    first, second = overlap
    one, other = inventory.entries[first.tensor], inventory.entries[second.tensor]
    error = ExternalDataError(
        f"its range overlaps that of '{other.slot.name}', and is not the same",
        tensor=one.slot.name,
        file=_path(one),
        found=" and ".join(f"bytes {c.offset:,} to {c.offset + c.length:,}" for c in overlap),
        hint="Some readers refuse it, and a change of one changes the other; "
        "`onnx-align align` gives each a range of its own.",
    )
    return Finding("overlap", "warning", error)


def _path(entry: Entry) -> Path | None:
    return entry.source.path if isinstance(entry.source, FileSpan) else None
