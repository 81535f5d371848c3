"""Whether two models hold the same, whatever their layouts: every byte and every field."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from onnx_align_pass.errors import VerifyError
from onnx_align_pass.findings import Finding
from onnx_align_pass.inspection.inventory import Entry, Inventory
from onnx_align_pass.model.canonical import canonical
from onnx_align_pass.model.contents import opaque, strip
from onnx_align_pass.model.difference import first_difference
from onnx_align_pass.spans import FileSpan, MemoryBytes, Source
from onnx_align_pass.tensors import TensorFacts
from onnx_align_pass.transfer.difference import Comparer, Side, are_one
from onnx_align_pass.transfer.parts import parts_of

__all__ = ["Comparison", "comparison_of"]

_MOST_NAMES: Final = 20
"""Of tensors that differ."""
_EMPTY: Final = MemoryBytes(b"")


class _Pair(NamedTuple):
    """A tensor of both models."""

    entry: Entry
    facts: TensorFacts
    ours: Side
    theirs: Side


@dataclass(slots=True)
class Comparison:
    """Two models, to be compared. Their inventories are used up by it."""

    one: Inventory
    other: Inventory
    pairs: Sequence[_Pair]
    bytes_compared: int = 0
    """Bytes that were read in both models."""
    bytes_shared: int = 0
    """Bytes that are the same range of the same file in both: equal, and not read."""

    @property
    def bytes_to_compare(self) -> int:
        """Bytes that will be read in each model, as long as they are equal."""
        apart = (pair.ours.source.length for pair in self.pairs if not are_one(*pair[2:]))
        return sum(apart)

    def findings(self, advance: Callable[[int, str], None]) -> Iterator[Finding]:
        """Compare; the first tensor that differs is named with its first byte.

        Args:
            advance: Told of bytes that were compared, and the tensor.

        Raises:
            ModelError: A file cannot be read, or changed meanwhile.
            OSError: `filename` is the file where reading it failed.
        """
        comparer = Comparer()
        differing: list[str] = []
        count = 0
        for pair in self.pairs:
            at = self._compare(pair, comparer, advance)
            if at is None:
                continue
            count += 1
            if count == 1:
                yield Finding("tensor-differs", "error", self._first(pair, at))
            elif len(differing) < _MOST_NAMES:
                differing.append(pair.entry.slot.name)
        if differing:
            yield Finding("tensor-differs", "error", self._others(differing, count - 1))
        yield from self._rest()

    def _compare(
        self, pair: _Pair, comparer: Comparer, advance: Callable[[int, str], None]
    ) -> int | None:
        if are_one(pair.ours, pair.theirs):
            self.bytes_shared += pair.ours.source.length
            return None
        lengths = pair.ours.source.length, pair.theirs.source.length
        if lengths[0] != lengths[1]:  # as may be where elements have no size
            return min(lengths)
        at = comparer.first_difference(pair.ours, pair.theirs, advance)
        self.bytes_compared += pair.ours.source.length if at is None else at
        return at

    def _first(self, pair: _Pair, at: int) -> VerifyError:
        bits = pair.facts.element_bits
        width = bits // 8 if bits and bits % 8 == 0 else 1
        start = at - at % width
        element = f", in element {start * 8 // bits:,}" if bits else ""
        return VerifyError(
            f"its bytes differ from those in {self.other.skeleton.path}, "
            f"from byte {at:,} on{element}",
            tensor=pair.entry.slot.name,
            file=self.one.skeleton.path,
            needed=_hex(pair.theirs, start, width),
            found=_hex(pair.ours, start, width),
            hint="One of the two was changed, or written wrong.",
        )

    def _others(self, names: Sequence[str], count: int) -> VerifyError:
        more = f" and {count - len(names):,} more" if count > len(names) else ""
        tensors = "another tensor differs" if count == 1 else f"{count:,} other tensors differ"
        return VerifyError(
            f"{tensors} from those in {self.other.skeleton.path}",
            file=self.one.skeleton.path,
            found=", ".join(repr(name) for name in names) + more,
            hint="One of the two was changed, or written wrong.",
        )

    def _rest(self) -> Iterator[Finding]:
        one, other = self.one.skeleton, self.other.skeleton
        for inventory in (self.one, self.other):
            _strip(inventory)
        if canonical(one.proto, one.path) == canonical(other.proto, other.path):
            return
        found = first_difference(one.proto, other.proto)
        if found is not None:
            error = VerifyError(
                f"it differs from {other.path} in {found.place}",
                file=one.path,
                needed=found.other,
                found=found.one,
                hint="One of the two was changed, or went through a tool that did.",
            )
            yield Finding("proto-differs", "error", error)


def comparison_of(one: Inventory, other: Inventory) -> Comparison:
    """Find the tensors that two models have in common: of one place, name, type and shape.

    All others are seen in what the models are besides: there they differ in a field.
    """
    theirs = {entry.slot.place: entry for entry in other.entries}
    pairs = []
    for entry in one.entries:
        match = theirs.get(entry.slot.place)
        if match is not None and (pair := _pair(entry, match, one, other)) is not None:
            pairs.append(pair)
    return Comparison(one, other, pairs)


def _pair(entry: Entry, match: Entry, one: Inventory, other: Inventory) -> _Pair | None:
    facts, theirs = entry.facts, match.facts
    if facts is None or theirs is None or entry.fault or match.fault:
        return None
    if (entry.slot, facts.dtype, facts.shape) != (match.slot, theirs.dtype, theirs.shape):
        return None
    name = entry.slot.name
    ours = Side(_content(entry, one), name, one.files)
    return _Pair(entry, facts, ours, Side(_content(match, other), name, other.files))


def _content(entry: Entry, inventory: Inventory) -> Source:
    source = entry.source
    if source is None and entry.facts is not None and not entry.facts.element_bits:
        source = opaque(entry.tensor, inventory.skeleton)
    return _EMPTY if source is None else source


def _strip(inventory: Inventory) -> None:
    for entry in inventory.entries:
        sized = entry.facts is None or bool(entry.facts.element_bits)
        strip(entry.tensor, inventory.skeleton, sized=sized)


def _hex(side: Side, start: int, width: int) -> str:
    """The number at some bytes of a source, little-endian."""
    if isinstance(side.source, FileSpan):
        path, offset, _ = side.source
        part = FileSpan(path, offset + start, width)
        view = memoryview(bytearray(width))
        data = b"".join(bytes(read) for _, read in parts_of(part, side.name, side.files, view))
    else:
        data = bytes(side.source.load()[start : start + width])
    return f"0x{int.from_bytes(data, 'little'):0{2 * width}x}" if data else "no byte"
