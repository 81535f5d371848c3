"""Which fields of an ONNX model lead to tensors, and what element types weigh."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import onnx

from onnx_align_pass.dtypes import BITS_BY_NAME

__all__ = [
    "ELEMENT_BITS",
    "TYPED_FIELDS",
    "TYPED_FIELD_OF",
    "Branch",
    "branches",
    "dtype_name",
    "is_repeated",
]

TENSOR: Final = onnx.TensorProto.DESCRIPTOR.full_name

ELEMENT_BITS: Final[dict[int, int]] = {
    number: BITS_BY_NAME[name]
    for name, number in onnx.TensorProto.DataType.items()
    if name in BITS_BY_NAME
}
"""Bits of one element by `TensorProto.data_type`; strings and unknown types are not in it."""

TYPED_FIELDS: Final = {
    number: name
    for name in ("float_data", "int32_data", "int64_data", "double_data", "uint64_data")
    for number in (onnx.TensorProto.DESCRIPTOR.fields_by_name[name].number,)
}
"""The fields of TensorProto that hold numbers, by field number."""

TYPED_FIELD_OF: Final = {
    number: onnx.helper.tensor_dtype_to_field(number) for number in ELEMENT_BITS
}
"""The field of TensorProto that holds numbers of a type, by `TensorProto.data_type`."""


@cache
def dtype_name(data_type: int) -> str:
    """Name of a `TensorProto.data_type`; its number where onnx does not know it."""
    try:
        return str(onnx.TensorProto.DataType.Name(data_type))
    except ValueError:
        return str(data_type)


@dataclass(frozen=True, slots=True)
class Branch:
    """A field that holds messages in which tensors may hang."""

    number: int
    name: str
    message: Any
    """Protobuf descriptor of the messages in it."""
    repeated: bool

    @property
    def is_tensor(self) -> bool:
        """Whether the messages are tensors themselves."""
        return bool(self.message.full_name == TENSOR)


@cache
def branches(message: Any) -> dict[int, Branch]:
    """Return the fields of a message type that lead to tensors, by field number."""
    return {
        field.number: Branch(field.number, field.name, field.message_type, is_repeated(field))
        for field in message.fields
        if field.message_type is not None and _leads_to_tensor(field.message_type, frozenset())
    }


def is_repeated(field: Any) -> bool:
    """Whether a field, by its protobuf descriptor, may occur many times."""
    # `label` is deprecated from protobuf 6 on, `is_repeated` is missing before it.
    if hasattr(field, "is_repeated"):
        return bool(field.is_repeated)
    return bool(field.label == field.LABEL_REPEATED)


def _leads_to_tensor(message: Any, above: frozenset[str]) -> bool:
    if message.full_name == TENSOR:
        return True
    if message.full_name in above:
        return False
    below = above | {message.full_name}
    return any(f.message_type and _leads_to_tensor(f.message_type, below) for f in message.fields)
