"""Tensors of equal bytes that are stored more than once."""

from __future__ import annotations

import hashlib
import zlib
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import Final

from onnx_align_pass.errors import TensorError
from onnx_align_pass.inspection.inventory import Entry, Inventory
from onnx_align_pass.inspection.reading import read_at
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.parts import parts_of

__all__ = ["duplicate_groups"]

_SAMPLE_BYTES: Final = 4096
_BUFFER_BYTES: Final = 1 << 20
_LEAST_INLINE_BYTES: Final = 1024
"""Smaller inline tensors are scalars and shapes, of which every model has many alike."""


def duplicate_groups(inventory: Inventory) -> list[list[int]]:
    """Find tensors of equal dtype, size and bytes whose ranges are not the same.

    The first 4 KiB are compared first; only where they agree is all of a tensor read.

    Returns:
        Indices of the tensors of each group, in declaration order; of tied ones the first.

    Raises:
        SourceChangedError: A file was changed while it was read.
        OSError: A file cannot be read; `filename` is its path.
    """
    contents = _Contents(inventory.files)
    found = [_distinct(inventory.entries)]
    for key in (_kind, contents.sample, contents.digest):
        found = [part for group in found for part in _parted(group, inventory.entries, key)]
    return sorted(sorted(group) for group in found)


def _distinct(entries: Iterable[Entry]) -> list[int]:
    """Tensors whose bytes can be found, of each range the first one."""
    first: dict[Hashable, int] = {}
    for index, entry in enumerate(entries):
        source = entry.source
        if source is None or not source.length or entry.fault is not None or entry.facts is None:
            continue
        if entry.home is None and source.length < _LEAST_INLINE_BYTES:
            continue
        first.setdefault(tuple(source) if isinstance(source, FileSpan) else id(source), index)
    return list(first.values())


def _parted(
    group: list[int], entries: tuple[Entry, ...], key: Callable[[Entry], Hashable]
) -> Iterable[list[int]]:
    parts: dict[Hashable, list[int]] = defaultdict(list)
    for index in group:
        parts[key(entries[index])].append(index)
    return (part for name, part in parts.items() if name is not None and len(part) > 1)


def _kind(entry: Entry) -> Hashable:
    return None if entry.facts is None else (entry.facts.dtype, entry.facts.nbytes)


class _Contents:
    """Sums of tensors' bytes; None where there are no bytes to be had."""

    def __init__(self, files: SourceFiles) -> None:
        self._files = files
        self._view = memoryview(bytearray(_BUFFER_BYTES))

    def sample(self, entry: Entry) -> int | None:
        """A sum of the first bytes: what differs in it is not equal."""
        source = entry.source
        if isinstance(source, FileSpan):
            path, offset, length = source
            return zlib.crc32(read_at(self._files, path, offset, min(length, _SAMPLE_BYTES)))
        try:
            return None if source is None else zlib.crc32(source.load()[:_SAMPLE_BYTES])
        except TensorError:  # its numbers cannot be decoded
            return None

    def digest(self, entry: Entry) -> bytes | None:
        """A digest of all bytes."""
        if entry.source is None:
            return None
        digest = hashlib.blake2b(digest_size=16)
        try:
            for _, part in parts_of(entry.source, entry.slot.name, self._files, self._view):
                digest.update(part)
        except TensorError:  # its numbers cannot be decoded
            return None
        return digest.digest()
