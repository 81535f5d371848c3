"""Whether two models hold the same, whatever their layouts: every byte and every field."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from onnx_align_pass.errors import ExpansionError, TensorError, VerifyError
from onnx_align_pass.findings import Finding
from onnx_align_pass.inspection.inventory import Inventory
from onnx_align_pass.layout.expansion import DISTRUST, Expansion, expansion_of
from onnx_align_pass.model.canonical import canonical
from onnx_align_pass.model.contents import strip
from onnx_align_pass.model.difference import first_difference
from onnx_align_pass.pairing import Pair
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.transfer.difference import Comparer, Side
from onnx_align_pass.transfer.parts import parts_of
from onnx_align_pass.transfer.same_bytes import identity_of

__all__ = ["Comparison"]

_MOST_NAMES: Final = 20
"""Of tensors that differ."""


@dataclass(slots=True)
class Comparison:
    """Two models, to be compared. Their inventories are used up by it."""

    one: Inventory
    other: Inventory
    pairs: Sequence[Pair]
    """The tensors that both have; see `pairs_of`."""
    bytes_compared: int = 0
    """Bytes that were read in both models."""
    bytes_shared: int = 0
    """Bytes that are the same range of the same file in both: equal, and not read."""
    _known: dict[Hashable, int | None] = field(default_factory=dict)
    """Where ranges that tensors share were found to differ: they are read once."""

    @property
    def bytes_to_compare(self) -> int:
        """Bytes that will be read in each model, as long as they are equal."""
        return sum(pair.ours.source.length for pair in self._distinct())

    def findings(self, advance: Callable[[int, str], None]) -> Iterator[Finding]:
        """Compare; the first tensor that differs is named with its first byte.

        Args:
            advance: Told of bytes that were compared, and the tensor.

        Raises:
            ModelError: A file cannot be read, or changed meanwhile.
            OSError: `filename` is the file where reading it failed.
        """
        try:
            self._expansion().check("to read", hint=DISTRUST)
        except ExpansionError as error:
            yield Finding.of("error", error)
            return
        comparer = Comparer()
        differing: list[str] = []
        count = 0
        for pair in self.pairs:
            try:
                at = self._compare(pair, comparer, advance)
            except TensorError as error:  # numbers that do not fit their type
                yield Finding.of("error", error)
                continue
            if at is None:
                continue
            count += 1
            if count == 1:
                yield Finding.of("error", self._first(pair, at))
            elif len(differing) < _MOST_NAMES:
                differing.append(pair.entry.slot.name)
        if differing:
            yield Finding.of("error", self._others(differing, count - 1))
        yield from self._rest()

    def _expansion(self) -> Expansion:
        """What is read of both models, of the ranges that both hold."""
        spans = (span for pair in self._distinct() for span in _spans(pair))
        return expansion_of(spans, tied=False)

    def _distinct(self) -> Iterable[Pair]:
        """The pairs that are read: of those of the same ranges one."""
        found: dict[Hashable, Pair] = {}
        for pair in self.pairs:
            if not pair.shared:
                found.setdefault(_ranges(pair), pair)
        return found.values()

    def _compare(
        self, pair: Pair, comparer: Comparer, advance: Callable[[int, str], None]
    ) -> int | None:
        if pair.shared:
            self.bytes_shared += pair.ours.source.length
            return None
        lengths = pair.ours.source.length, pair.theirs.source.length
        if lengths[0] != lengths[1]:  # as may be where elements have no size
            return min(lengths)
        ranges = _ranges(pair)
        if ranges not in self._known:
            at = comparer.first_difference(pair.ours, pair.theirs, advance)
            self.bytes_compared += pair.ours.source.length if at is None else at
            self._known[ranges] = at
        return self._known[ranges]

    def _first(self, pair: Pair, at: int) -> VerifyError:
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
            code="tensor-differs",
        )

    def _others(self, names: Sequence[str], count: int) -> VerifyError:
        more = f" and {count - len(names):,} more" if count > len(names) else ""
        tensors = "another tensor differs" if count == 1 else f"{count:,} other tensors differ"
        return VerifyError(
            f"{tensors} from those in {self.other.skeleton.path}",
            file=self.one.skeleton.path,
            found=", ".join(repr(name) for name in names) + more,
            hint="One of the two was changed, or written wrong.",
            code="tensor-differs",
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
                code="proto-differs",
            )
            yield Finding.of("error", error)


def _ranges(pair: Pair) -> Hashable:
    """What two pairs have in common that are read once."""
    return identity_of(pair.ours.source), identity_of(pair.theirs.source)


def _spans(pair: Pair) -> Iterator[FileSpan]:
    sides = (pair.ours.source, pair.theirs.source)
    return (one for one in sides if isinstance(one, FileSpan))


def _strip(inventory: Inventory) -> None:
    for entry in inventory.entries:
        # Of what has a fault nothing is kept: it was said, and cannot be compared.
        sized = entry.fault is not None or entry.facts is None or entry.facts.element_bits > 0
        strip(entry.tensor, inventory.skeleton, sized=sized)


def _hex(side: Side, start: int, width: int) -> str:
    """The number at some bytes of a source, little-endian."""
    if isinstance(side.source, FileSpan):
        path, offset, length = side.source
        part = FileSpan(path, offset + start, max(0, min(width, length - start)))
        view = memoryview(bytearray(width))
        data = b"".join(bytes(read) for _, read in parts_of(part, side.name, side.files, view))
    else:
        data = bytes(side.source.load()[start : start + width])
    return f"0x{int.from_bytes(data, 'little'):0{2 * width}x}" if data else "no byte"
