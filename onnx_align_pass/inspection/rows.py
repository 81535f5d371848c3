"""Every tensor of a model as a row, and the sums over them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

import onnx

from onnx_align_pass.inspection.found import Found
from onnx_align_pass.inspection.inventory import Entry, Inventory
from onnx_align_pass.inspection.ranges import natural_alignment
from onnx_align_pass.inspection.report import MAX_ALIGNMENT, Amount, TensorReport
from onnx_align_pass.model.schema import dtype_name
from onnx_align_pass.spans import FileSpan

__all__ = ["rows_of", "sum_by", "tied_groups"]

_EXTERNAL = onnx.TensorProto.EXTERNAL
_NOWHERE = "?"
"""The data file of an external tensor that names none."""


def tied_groups(inventory: Inventory) -> list[tuple[int, ...]]:
    """Tensors that have one range of one data file together, in declaration order."""
    groups: dict[tuple[str, int, int], list[int]] = defaultdict(list)
    for index, entry in enumerate(inventory.entries):
        source = entry.source
        if entry.home is not None and isinstance(source, FileSpan) and source.length:
            groups[entry.home, source.offset, source.length].append(index)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def rows_of(
    inventory: Inventory,
    tied: Iterable[Sequence[int]],
    duplicates: Iterable[Sequence[int]],
    found: Iterable[Found],
) -> Iterator[TensorReport]:
    """Make the rows, in declaration order."""
    tied_to, same_as = dict(_others(tied)), dict(_others(duplicates))
    about: dict[int, list[int]] = defaultdict(list)
    for number, one in enumerate(found):
        for index in one.tensors:
            about[index].append(number)
    for index, entry in enumerate(inventory.entries):
        row = _row(entry)
        if index in tied_to or index in same_as or index in about:
            row = row._replace(
                tied_to=tied_to.get(index),
                same_as=same_as.get(index),
                findings=tuple(about.get(index, ())),
            )
        yield row


def sum_by(rows: Iterable[TensorReport], key: Callable[[TensorReport], str]) -> dict[str, Amount]:
    """Count tensors and their bytes, by some property; the names are sorted."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in rows:
        one = sums[key(row)]
        one[0] += 1
        one[1] += row.nbytes or 0
    return {name: Amount(*sums[name]) for name in sorted(sums)}


def _others(groups: Iterable[Sequence[int]]) -> Iterator[tuple[int, int]]:
    """Each member of a group but the first, with the first."""
    return ((index, group[0]) for group in groups for index in group[1:])


def _row(entry: Entry) -> TensorReport:
    slot, facts, source = entry.slot, entry.facts, entry.source
    dtype = dtype_name(entry.tensor.data_type)
    if facts is None:
        shape, nbytes = tuple(entry.tensor.dims[:]), None
    else:
        shape, nbytes = facts.shape, facts.nbytes if facts.element_bits else None
    kind = slot.kind.value
    if entry.tensor.data_location != _EXTERNAL:
        return TensorReport(slot.name, slot.place, kind, dtype, shape, nbytes, None)
    if entry.home is None or not isinstance(source, FileSpan):
        return TensorReport(slot.name, slot.place, kind, dtype, shape, nbytes, _named(entry))
    offset, length = source.offset, source.length
    alignment = min(natural_alignment(offset), MAX_ALIGNMENT) if length else None
    return TensorReport(
        slot.name, slot.place, kind, dtype, shape, nbytes, entry.home, offset, length, alignment
    )


def _named(entry: Entry) -> str:
    """The location that a model gives, where it cannot be followed."""
    named = [one.value for one in entry.tensor.external_data if one.key == "location"]
    location: str | bytes = named[-1] if named else ""
    if isinstance(location, bytes):  # protobuf hands out bytes when text is not UTF-8
        location = location.decode(errors="backslashreplace")
    return location or _NOWHERE
