"""What of a model another copy of it lacks: the question that a round trip must answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

import onnx
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.unknown_fields import UnknownFieldSet

from onnx_align_pass.model.schema import is_repeated

__all__ = ["losses"]

_KEYS: Final = {
    "initializer": ("name",),
    "value_info": ("name",),
    "quantization_annotation": ("tensor_name",),
    "metadata_props": ("key",),
    "quant_parameter_tensor_names": ("key",),
    "opset_import": ("domain",),
    "functions": ("domain", "name", "overload"),
    "attribute": ("name",),
    "attribute_proto": ("name",),
}
"""Repeated messages that are told by name, not by position."""
_MEANS_EMPTY: Final = frozenset({"shape", "graph", "g", "t"})
"""Messages that say something even when they are empty: rank 0 is not an unknown rank."""
_STANDARD: Final = frozenset({"", "ai.onnx", "ai.onnx.ml"})
_COUNTED: Final = frozenset({"If", "Loop", "Scan", "SequenceMap", "Split"})
"""Operators that may have any number of outputs."""
_REDUNDANT: Final = frozenset({"type"})
"""Of an attribute; derived from the field that is set."""


def losses(before: onnx.ModelProto, after: onnx.ModelProto) -> list[str]:
    """List what `before` holds and `after` does not: one entry a kind, with a number and a place.

    What `after` has more is no loss. Order counts where ONNX gives it a meaning, such as nodes.

    Args:
        before: The model as it was.
        after: The same model after a round trip.
    """
    found: dict[str, list[str]] = {}
    for kind, place in _lost(before, after, ""):
        found.setdefault(kind, []).append(place)
    return [
        f"{len(places):,} x {kind} (at {places[0] or 'the model'})"
        for kind, places in found.items()
    ]


def _lost(before: Any, after: Any, place: str) -> Iterator[tuple[str, str]]:
    """Pairs of kind and place of what a message has lost."""
    if before == after:
        return
    if len(UnknownFieldSet(before)) > len(UnknownFieldSet(after)):
        yield f"unknown fields of {before.DESCRIPTOR.name}", place
    for field, value in before.ListFields():
        where = f"{place}.{field.name}" if place else field.name
        other = getattr(after, field.name)
        if is_repeated(field):
            if field.message_type is not None:
                counted = _of_use(before, value) if field.name == "value_info" else value
                yield from _lost_messages(field.name, counted, other, where)
            elif list(value) != list(other) and not _is_blank_end(before, field.name, other):
                yield field.name, place
        elif field.message_type is not None:
            if not after.HasField(field.name):
                if value.ByteSize() or field.name in _MEANS_EMPTY:
                    yield field.name, place
            else:
                yield from _lost(value, other, where)
        elif value != other and not _means_nothing(before, field):
            yield field.name, place


def _lost_messages(
    name: str, before: Sequence[Any], after: Sequence[Any], place: str
) -> Iterator[tuple[str, str]]:
    keys = _KEYS.get(name)
    if keys is None:
        for index, one in enumerate(before):
            if index >= len(after):
                yield name, f"{place}[{index}]"
            else:
                yield from _lost(one, after[index], f"{place}[{index}]")
        return
    kept = {tuple(getattr(one, key) for key in keys): one for one in reversed(after)}
    times = Counter(tuple(getattr(one, key) for key in keys) for one in before)
    last = {tuple(getattr(one, key) for key in keys): index for index, one in enumerate(before)}
    for index, one in enumerate(before):
        key = tuple(getattr(one, key) for key in keys)
        if times[key] > 1 and index != last[key]:
            if one == before[last[key]]:
                continue  # the same twice
            yield f"{name} given twice", f"{place}[{index}]"
        elif key not in kept:
            yield name, f"{place}[{index}]"
        else:
            yield from _lost(one, kept[key], f"{place}[{index}]")


def _of_use(graph: Any, infos: Sequence[Any]) -> list[Any]:
    """The `value_info` that says anything: of a value that is made here, and nothing twice.

    Optimizers leave others behind; what inputs and outputs say of themselves need not be repeated.
    """
    made = {name for node in graph.node for name in node.output}
    ends = {getattr(one, "name", one): one for one in (*graph.input, *graph.output)}
    return [one for one in infos if one.name in made | ends.keys() and not _is_said(one, ends)]


def _is_said(info: Any, ends: dict[str, Any]) -> bool:
    """Whether an input or output says all of it itself; those of functions are bare names."""
    end = ends.get(info.name)
    return end is not None and not isinstance(end, str) and not any(_lost(info, end, ""))


def _is_blank_end(node: Any, field: str, after: Sequence[str]) -> bool:
    """Whether only empty names at the end are gone: absent optional inputs and outputs.

    Where the number of outputs has a meaning of its own, they are not nothing.
    """
    if field not in ("input", "output") or node.DESCRIPTOR.name != "NodeProto":
        return False
    if field == "output" and (node.op_type in _COUNTED or node.domain not in _STANDARD):
        return False
    before = getattr(node, field)
    return list(before[: len(after)]) == list(after) and not any(before[len(after) :])


def _means_nothing(before: Any, field: FieldDescriptor) -> bool:
    """Whether a field says nothing that an absent one does not."""
    return getattr(before, field.name) == field.default_value or (
        field.name in _REDUNDANT and before.DESCRIPTOR.name == "AttributeProto"
    )
