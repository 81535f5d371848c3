"""Put right what may be put right in a model that was read, and say what may not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import onnx

from onnx_align_pass.errors import ExternalDataError, ModelError
from onnx_align_pass.findings import Finding
from onnx_align_pass.inspection.ranges import Claim, overlaps
from onnx_align_pass.mending.checksums import Checksums
from onnx_align_pass.mending.data_files import DataFiles
from onnx_align_pass.mending.entries import CHECKSUM, entry_of, set_entry, tidy
from onnx_align_pass.mending.faults import fault_of, no_padding, overlapping, stray_bytes
from onnx_align_pass.mending.lengths import Surplus
from onnx_align_pass.mending.marks import marked
from onnx_align_pass.mending.named import Given
from onnx_align_pass.model.decode import DecodedTensor
from onnx_align_pass.model.skeleton import Skeleton
from onnx_align_pass.model.sources import facts_of, locate
from onnx_align_pass.model.walk import walk
from onnx_align_pass.repair_report import Repair
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.tensors import TensorFacts
from onnx_align_pass.transfer.open_source import SourceFiles

__all__ = ["Mending", "mend"]

_BUFFER_BYTES = 1 << 20
_MOST_DIGITS = 19


@dataclass(frozen=True, slots=True)
class Mending:
    """What was wrong with a model: its proto is mended, its file is not."""

    repairs: tuple[Repair, ...]
    remaining: tuple[Finding, ...]
    """What cannot be mended."""
    notes: tuple[str, ...]


class _Long(NamedTuple):
    """A tensor whose length counts too many bytes."""

    facts: TensorFacts
    span: FileSpan
    length: int


def mend(skeleton: Skeleton, files: SourceFiles, given: Given) -> Mending:
    """Mend a model's proto; nothing is written.

    Args:
        skeleton: The model; its proto is changed.
        files: Opens its data files, those that were named too.
        given: Data files that the user named; see `mending.named`.

    Raises:
        UsageError: A file that was named may stand for several locations, or for none.
        ExternalDataError: A file that was named is missing, or is no regular file.
        OSError: A data file cannot be read; `filename` is its path.
    """
    return _Mender(skeleton, files).mend(given)


class _Mender:
    def __init__(self, skeleton: Skeleton, files: SourceFiles) -> None:
        self._skeleton = skeleton
        self._files = files
        self._buffer = memoryview(bytearray(_BUFFER_BYTES))
        self._repairs: list[Repair] = []
        self._remaining: list[Finding] = []
        self._spans: list[tuple[TensorFacts, FileSpan]] = []
        self._long: list[_Long] = []

    def mend(self, given: Given) -> Mending:
        tensors = self._sized()
        outside = [(facts, tensor) for facts, tensor in tensors if facts.is_external]
        data = DataFiles(self._skeleton, self._files, outside)
        self._repairs += data.name(given)
        self._remaining += data.faults()
        checksums = Checksums(self._files, self._buffer)
        for facts, tensor in tensors:
            try:
                if not facts.is_external:
                    self._check_inline(facts, tensor)
                elif facts.nbytes == 0 and facts.element_bits:
                    self._mend_empty(facts, tensor)
                elif data.has(tensor):
                    self._mend_external(facts, tensor, checksums)
            except ModelError as error:
                self._remaining.append(fault_of(error, self._files))
        self._cut()
        self._remaining += self._overlaps()
        self._repairs += checksums.stale()
        return Mending(
            tuple(self._repairs),
            tuple(self._remaining),
            (*self._files.notes, *checksums.notes()),
        )

    def _sized(self) -> list[tuple[TensorFacts, onnx.TensorProto]]:
        """Every tensor whose dtype and shape make a size, or are of none."""
        found = []
        for slot, tensor in walk(self._skeleton.proto, file=self._skeleton.path):
            try:
                facts = facts_of(slot, tensor, self._skeleton.path)
            except ModelError as error:
                self._remaining.append(fault_of(error, self._files))
                continue
            repair = marked(facts, tensor)
            if repair is not None:
                self._repairs.append(repair)
                facts = facts._replace(is_external=not facts.is_external)
            found.append((facts, tensor))
        return found

    def _check_inline(self, facts: TensorFacts, tensor: onnx.TensorProto) -> None:
        if facts.nbytes and facts.element_bits:
            source = locate(facts, tensor, self._skeleton)[0]
            if isinstance(source, DecodedTensor):
                source.load()  # only so is it known how many numbers there are
        elif (error := stray_bytes(facts, tensor, self._skeleton.path)) is not None:
            raise error

    def _mend_empty(self, facts: TensorFacts, tensor: onnx.TensorProto) -> None:
        """A tensor without elements comes back inline: only an entry that leads nowhere is told."""
        try:
            source = locate(facts, tensor, self._skeleton)[0]
            if isinstance(source, FileSpan):
                self._files.size(source.path, tensor=facts.slot.name)
        except ExternalDataError as error:
            problem = f"it has no elements, and {error.problem}"
            place = repr(entry_of(tensor, "location"))
            self._repairs.append(
                Repair("empty-external", problem, facts.slot.name, place, "inline")
            )

    def _mend_external(
        self, facts: TensorFacts, tensor: onnx.TensorProto, checksums: Checksums
    ) -> None:
        name = facts.slot.name
        checksum = entry_of(tensor, CHECKSUM)
        if facts.element_bits:
            self._repairs += tidy(tensor, name, facts.nbytes)
        length = _number(entry_of(tensor, "length"))
        if length is not None and length > facts.nbytes > 0:
            set_entry(tensor, "length", str(facts.nbytes))
        span = locate(facts, tensor, self._skeleton)[0]
        assert isinstance(span, FileSpan), "an external tensor lies in a file"
        self._files.check(span, name)
        self._spans.append((facts, span))
        if length is not None and length > facts.nbytes:
            self._long.append(_Long(facts, span, length))
        if checksum is not None:
            checksums.add(span.path, name, checksum)

    def _cut(self) -> None:
        """Decide about lengths that are too long, now that it is known what all tensors have."""
        surplus = Surplus((span for _, span in self._spans), self._files, self._buffer)
        for facts, span, length in self._long:
            if surplus.is_padding(span, length, facts.slot.name):
                self._repairs.append(
                    Repair(
                        "length-too-long",
                        "the length counts what follows the tensor",
                        facts.slot.name,
                        str(length),
                        str(facts.nbytes),
                    )
                )
            else:
                self._remaining.append(no_padding(facts, span, length))

    def _overlaps(self) -> Iterator[Finding]:
        claims: dict[Path, list[Claim]] = defaultdict(list)
        for index, (_, (path, offset, length)) in enumerate(self._spans):
            claims[path].append(Claim(offset, length, index))
        for of_one in claims.values():
            for first, second in overlaps(of_one):
                yield overlapping(self._spans[first.tensor], self._spans[second.tensor])


def _number(text: str | None) -> int | None:
    """A length as a number, where `tidy` has made it one."""
    if not isinstance(text, str) or not text.isascii() or not text.isdigit():
        return None
    return int(text) if len(text) <= _MOST_DIGITS else None
