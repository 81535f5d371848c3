"""What may hurt of a tensor by itself; each kind is one finding, of all tensors that are so.

These are warnings:

- `empty-external`: it is empty, and points at a data file
- `unknown-type`: inline, of an element type that the installed onnx does not know
- `name-not-utf8`: onnx does not take its name for text
- `sparse-indices-external`: onnx's checker refuses them
- `unknown-key`: an external data key that onnxruntime refuses
- `prepacked-key`: what onnxruntime wrote of its own packed weights
- `key-twice`, `length-absent`, `offset-absent`: entries that not all readers take alike
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import onnx

from onnx_align_pass.errors import TensorError
from onnx_align_pass.inspection.found import Found, found_together
from onnx_align_pass.inspection.inventory import Entry, Inventory
from onnx_align_pass.model.sources import (
    KEY_TWICE,
    LENGTH_DERIVED,
    OFFSET_DERIVED,
    UNKNOWN_KEY,
)

__all__ = ["find_odd_tensors"]

_KNOWN_KEYS: Final = frozenset({"location", "offset", "length", "checksum"})
_PREPACKED: Final = "prepacked"
_INDICES: Final = ".indices"


class _Kind(NamedTuple):
    """A way in which tensors can be odd."""

    code: str
    holds: Callable[[Entry], bool]
    problem: str
    hint: str


def find_odd_tensors(inventory: Inventory) -> Iterator[Found]:
    """List the kinds of odd tensors that a model has."""
    few = [pair for pair in enumerate(inventory.entries) if not _is_plain(pair[1])]
    for kind in _KINDS:
        tensors = [index for index, one in few if kind.holds(one)]
        if tensors:
            error = TensorError(
                kind.problem,
                tensor=inventory.entries[tensors[0]].slot.name,
                file=inventory.skeleton.path,
                hint=kind.hint,
                code=kind.code,
            )
            yield found_together("warning", error, tensors)


def _is_plain(entry: Entry) -> bool:
    """Whether nothing can be odd: as nearly all tensors are, so that one look is enough."""
    facts = entry.facts
    if facts is None or not facts.nbytes or not facts.element_bits or entry.notes:
        return False
    return isinstance(entry.tensor.name, str) and not entry.slot.place.endswith(_INDICES)


def _empty(entry: Entry) -> bool:
    facts = entry.facts
    return facts is not None and facts.is_external and not facts.nbytes and entry.fault is None


def _unknown_type(entry: Entry) -> bool:
    if entry.facts is None or entry.facts.element_bits or entry.facts.is_external:
        return False
    return entry.tensor.data_type != onnx.TensorProto.STRING


def _nameless(entry: Entry) -> bool:
    return isinstance(entry.tensor.name, bytes)  # what protobuf hands out when it is not UTF-8


def _sparse_indices(entry: Entry) -> bool:
    return entry.home is not None and entry.slot.place.endswith(_INDICES)


def _unknown_keys(entry: Entry) -> bool:
    return any(not key.startswith(_PREPACKED) for key in _other_keys(entry))


def _prepacked(entry: Entry) -> bool:
    return any(key.startswith(_PREPACKED) for key in _other_keys(entry))


def _other_keys(entry: Entry) -> list[str]:
    if UNKNOWN_KEY not in entry.notes:
        return []
    return [str(one.key) for one in entry.tensor.external_data if one.key not in _KNOWN_KEYS]


_KINDS: Final = (
    _Kind(
        "empty-external",
        _empty,
        "it is empty, and points at a data file",
        "Repack it: empty tensors come inline.",
    ),
    _Kind(
        "unknown-type",
        _unknown_type,
        "the installed onnx does not know its element type",
        "It stays inline as it is. A newer onnx may know it.",
    ),
    _Kind(
        "name-not-utf8",
        _nameless,
        "its name is not UTF-8",
        "onnxruntime reads it; onnx does not load it. Export it with another name.",
    ),
    _Kind(
        "sparse-indices-external",
        _sparse_indices,
        "it is the indices of a sparse tensor, and external",
        "onnxruntime reads it; onnx's checker refuses it. Keep the indices inline.",
    ),
    _Kind(
        "unknown-key",
        _unknown_keys,
        "it has an external data key that onnxruntime refuses",
        "Repack it: only location, offset and length are kept.",
    ),
    _Kind(
        "prepacked-key",
        _prepacked,
        "it names weights that onnxruntime packed for one kind of machine",
        "A repack drops them; onnxruntime packs the weights again when it loads the model.",
    ),
    _Kind(
        "key-twice",
        lambda entry: KEY_TWICE in entry.notes,
        "an external data key is given twice",
        "The last one counts, here and in onnx. Repack it: one is kept.",
    ),
    _Kind(
        "length-absent",
        lambda entry: LENGTH_DERIVED in entry.notes,
        "its length is absent or 0",
        "It is taken from element type and shape. Repack it: it is written out.",
    ),
    _Kind(
        "offset-absent",
        lambda entry: OFFSET_DERIVED in entry.notes,
        "its offset is absent",
        "It is taken as 0. Repack it: it is written out.",
    ),
)
