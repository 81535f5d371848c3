"""The data files of a model: which bytes are whose, how many names they have, who shares them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from onnx_align_pass.errors import DataFileSharedError, ExternalDataError
from onnx_align_pass.inspection.divide import Region, divide
from onnx_align_pass.inspection.inventory import Inventory
from onnx_align_pass.inspection.ranges import Claim, natural_alignment
from onnx_align_pass.inspection.reading import read_at
from onnx_align_pass.inspection.report import MAX_ALIGNMENT, DataFileReport, Range
from onnx_align_pass.layout.safetensors_header import SafetensorsHeader, read_header
from onnx_align_pass.references import Around, References
from onnx_align_pass.transfer.open_source import SourceFiles

__all__ = ["LookedAt", "alignments", "look_at_files"]

_CHUNK: Final = 1 << 16
_ZEROS: Final = bytes(_CHUNK)


class LookedAt(NamedTuple):
    """A data file, and what is known of it besides its report."""

    report: DataFileReport
    path: Path
    header: SafetensorsHeader | None
    is_model: bool
    """It is the .onnx file itself."""
    notes: tuple[str, ...]


def alignments(claims: list[Claim]) -> dict[int, int]:
    """Count tensors by the largest power of two that they start on, up to 64 KiB."""
    counts: Counter[int] = Counter()
    for lowest_bit, count in Counter([offset & -offset for offset, _, _ in claims]).items():
        counts[min(natural_alignment(lowest_bit), MAX_ALIGNMENT)] += count
    return {alignment: counts[alignment] for alignment in sorted(counts)}


def look_at_files(inventory: Inventory, references: References) -> Iterator[LookedAt]:
    """Look at each data file, in the order of their first use.

    Raises:
        SourceChangedError: One is not what it was when the model was read.
        OSError: One cannot be read; `filename` is its path.
    """
    homes, around = inventory.homes, references.around(inventory.skeleton.path)
    for name, claims in inventory.claims.items():
        yield _Look(inventory, name, homes[name], claims, around).result()


@dataclass(frozen=True, slots=True)
class _Look:
    inventory: Inventory
    name: str
    path: Path
    claims: list[Claim]
    around: Around

    def result(self) -> LookedAt:
        files = self.inventory.files
        try:
            size = files.size(self.path)
        except ExternalDataError:
            return LookedAt(self._report(None, (), None, None), self.path, None, False, ())
        is_model = files.identity(self.path) == files.identity(self.inventory.skeleton.path)
        read = _Reader(files, self.path)
        header = None if is_model else read_header(read.bytes_at, size)
        ranges = divide(
            self.claims,
            size,
            _regions(header, size, is_model),
            read.is_zero if header is None else None,
        )
        shared, notes = self._sharers()
        report = self._report(size, ranges, header, os.stat(self.path).st_nlink, shared)
        return LookedAt(report, self.path, header, is_model, notes)

    def _report(
        self,
        size: int | None,
        ranges: tuple[Range, ...],
        header: SafetensorsHeader | None,
        links: int | None,
        shared: tuple[str, ...] = (),
    ) -> DataFileReport:
        of_kind: Counter[str] = Counter()
        for one in ranges:
            of_kind[one.kind] += one.length
        nobodys = of_kind["padding"] + of_kind["dead"] + of_kind["header"]
        return DataFileReport(
            name=self.name,
            nbytes=size,
            format="raw" if header is None else "safetensors",
            live_bytes=(size or 0) - nobodys,
            padding_bytes=of_kind["padding"],
            dead_bytes=of_kind["dead"],
            header_bytes=of_kind["header"],
            tensors=len(self.claims),
            links=links,
            shared_with=shared,
            alignment=alignments(self.claims),
            ranges=ranges,
        )

    def _sharers(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Other models that point at the file; what to say of those that may."""
        model = self.inventory.skeleton.path
        try:
            sharers = self.around.others(self.path)
        except DataFileSharedError as error:
            return (), (error.sentence,)
        folder = os.path.realpath(model.parent)
        users = tuple(os.path.relpath(one, folder) for one in sharers.users)
        return users, sharers.doubts(self.name)


def _regions(header: SafetensorsHeader | None, size: int, is_model: bool) -> list[Region]:
    if is_model:
        return [Region(0, size, "header")]
    if header is None:
        return []
    pads = (one for one in header.entries if one.is_padding and one.length)
    return [
        Region(0, header.nbytes, "header"),
        *(Region(one.offset, one.length, "padding") for one in pads),
    ]


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads a data file, a few bytes at a time."""

    files: SourceFiles
    path: Path

    def bytes_at(self, offset: int, length: int) -> bytes:
        return read_at(self.files, self.path, offset, length)

    def is_zero(self, offset: int, length: int) -> bool:
        for at in range(offset, offset + length, _CHUNK):
            wanted = min(_CHUNK, offset + length - at)
            if self.bytes_at(at, wanted) != _ZEROS[:wanted]:
                return False
        return True
