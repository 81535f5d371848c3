"""The first place in which two models differ, by the names of fields."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from google.protobuf.unknown_fields import UnknownFieldSet

from onnx_align_pass.model.schema import is_repeated

__all__ = ["Difference", "first_difference"]

_LONGEST: Final = 60
"""Characters of a value that are shown."""
_ABSENT: Final = "absent"


class Difference(NamedTuple):
    """A place in which two messages differ, with what each of them has there."""

    place: str
    """Such as `graph.node[3].attribute[0].i`."""
    one: str
    other: str


def first_difference(one: Any, other: Any, place: str = "") -> Difference | None:
    """Find the first field in which two messages of one type differ; None: they are equal.

    Args:
        one: A protobuf message.
        other: Another.
        place: Where they hang.
    """
    if _bytes(one) == _bytes(other):
        return None
    for field in sorted(one.DESCRIPTOR.fields, key=lambda field: int(field.number)):
        where = f"{place}.{field.name}" if place else field.name
        ours, theirs = getattr(one, field.name), getattr(other, field.name)
        if is_repeated(field):
            found = _in_repeated(field, ours, theirs, where)
        elif one.HasField(field.name) != other.HasField(field.name):
            values = (_value(field, each) if each.HasField(field.name) else _ABSENT
                      for each in (one, other))  # fmt: skip
            found = Difference(where, *values)
        elif field.message_type is not None:
            found = first_difference(ours, theirs, where)
        else:
            same = _same(ours, theirs)
            found = None if same else Difference(where, _value(field, one), _value(field, other))
        if found is not None:
            return found
    return _unknown(one, other, place or "the model")


def _bytes(message: Any) -> bytes:
    return bytes(message.SerializeToString(deterministic=True))


def _same(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return struct.pack("<d", one) == struct.pack("<d", other)  # -0.0 is not 0.0
    return one == other


def _in_repeated(
    field: Any, ours: Sequence[Any], theirs: Sequence[Any], where: str
) -> Difference | None:
    for index, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        if field.message_type is not None:
            found = first_difference(one, other, f"{where}[{index}]")
            if found is not None:
                return found
        elif not _same(one, other):
            return Difference(f"{where}[{index}]", _shown(one), _shown(other))
    if len(ours) == len(theirs):
        return None
    return Difference(where, f"{len(ours):,} of them", f"{len(theirs):,} of them")


def _value(field: Any, message: Any) -> str:
    value = getattr(message, field.name)
    if field.message_type is not None:
        return "present"
    if field.enum_type is not None:
        return str(field.enum_type.values_by_number[value].name)
    return _shown(value)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."


def _unknown(one: Any, other: Any, place: str) -> Difference:
    """Messages whose known fields are equal, and that are not."""
    counts = [f"{len(UnknownFieldSet(each)):,} of them" for each in (one, other)]
    return Difference(f"{place}: fields that onnx does not know", *counts)
