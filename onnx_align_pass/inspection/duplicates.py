"""Tensors of equal bytes that are stored more than once."""

from __future__ import annotations

from typing import Final

from onnx_align_pass.errors import TensorError
from onnx_align_pass.inspection.inventory import Entry, Inventory
from onnx_align_pass.model.decode import DecodedTensor
from onnx_align_pass.transfer.same_bytes import Content, groups_of_equal

__all__ = ["duplicate_groups"]

_LEAST_INLINE_BYTES: Final = 1024
"""Smaller inline tensors are scalars and shapes, of which every model has many alike."""


def duplicate_groups(inventory: Inventory) -> list[list[int]]:
    """Find tensors of equal dtype, size and bytes whose ranges are not the same.

    Returns:
        Indices of the tensors of each group, in declaration order; of tied ones the first.

    Raises:
        SourceChangedError: A file was changed while it was read.
        OSError: A file cannot be read; `filename` is its path.
    """
    contents = [
        Content(index, one.facts.dtype, one.slot.name, one.source)
        for index, one in enumerate(inventory.entries)
        if one.source is not None and one.facts is not None and _is_looked_at(one)
    ]
    return sorted(groups_of_equal(contents, inventory.files))


def _is_looked_at(entry: Entry) -> bool:
    if entry.source is None or entry.fault is not None:
        return False
    if entry.home is None and entry.source.length < _LEAST_INLINE_BYTES:
        return False
    return not isinstance(entry.source, DecodedTensor) or _can_be_decoded(entry.source)


def _can_be_decoded(source: DecodedTensor) -> bool:
    try:
        source.check()
    except TensorError:
        return False
    return True
