"""What a tensor holds, apart from how it is stored; and a model without any of it."""

from __future__ import annotations

from typing import Final

import onnx
from google.protobuf.message import DecodeError

from onnx_align_pass.errors import TensorError
from onnx_align_pass.model.decode import read_span
from onnx_align_pass.model.schema import TYPED_FIELDS
from onnx_align_pass.model.skeleton import Skeleton
from onnx_align_pass.model.sources import locate
from onnx_align_pass.spans import MemoryBytes, Source
from onnx_align_pass.tensors import TensorFacts

__all__ = ["check_empty", "check_opaque", "content_of", "opaque", "strip"]

_TYPED: Final = tuple(TYPED_FIELDS.values())
_BESIDES_NUMBERS: Final = ("raw_data", "external_data", "data_location")
_ALL: Final = (*_BESIDES_NUMBERS, *_TYPED)


def content_of(facts: TensorFacts, tensor: onnx.TensorProto, skeleton: Skeleton) -> Source | None:
    """Find what a tensor holds; None where that is nothing.

    Of an element type with a size, that is its elements; of strings and unknown types, `raw_data`
    as it stands: all else of these is the model's.

    Raises:
        ModelError: The tensor contradicts itself, or its entries cannot be followed.
    """
    if not facts.element_bits and not facts.is_external:
        check_opaque(facts, tensor, skeleton)
        return opaque(tensor, skeleton)
    if not facts.nbytes and facts.element_bits:
        check_empty(facts, tensor, skeleton)
        return None
    return locate(facts, tensor, skeleton)[0]


def opaque(tensor: onnx.TensorProto, skeleton: Skeleton) -> Source | None:
    """Return the `raw_data` of a tensor whose elements have no size."""
    cut = skeleton.cut_of(tensor)
    if cut is not None:
        return cut.payload if cut.field_name == "raw_data" else None
    return MemoryBytes(tensor.raw_data) if tensor.raw_data else None


def check_empty(facts: TensorFacts, tensor: onnx.TensorProto, skeleton: Skeleton) -> None:
    """Prove that a tensor without elements holds no bytes.

    Raises:
        TensorError: It does.
    """
    held = [name for name in ("raw_data", *_TYPED) if len(getattr(tensor, name))]
    if held:
        cut = skeleton.cut_of(tensor)
        raise TensorError(
            "its shape has no elements, and it holds some",
            tensor=facts.slot.name,
            file=skeleton.path,
            needed=f"0 bytes for {facts.dtype} {list(facts.shape)}",
            found=f"bytes in {held[0] if cut is None else cut.field_name}",
            code="stray-bytes",
        )


def check_opaque(facts: TensorFacts, tensor: onnx.TensorProto, skeleton: Skeleton) -> None:
    """Prove that protobuf can read the numbers of a tensor whose elements have no size.

    Raises:
        TensorError: It cannot.
    """
    try:
        _numbers(tensor, skeleton)
    except DecodeError as error:
        raise TensorError(
            f"its numbers cannot be read: {error}",
            tensor=facts.slot.name,
            file=skeleton.path,
            code="bad-numbers",
        ) from None


def _numbers(tensor: onnx.TensorProto, skeleton: Skeleton) -> onnx.TensorProto | None:
    """The numbers that were left in the file, alone; None where none were."""
    cut = skeleton.cut_of(tensor)
    if cut is None or cut.field_name == "raw_data":
        return None
    return onnx.TensorProto.FromString(b"".join(map(read_span, cut.fields)))


def strip(tensor: onnx.TensorProto, skeleton: Skeleton, *, sized: bool) -> None:
    """Take what `content_of` finds out of a tensor, and all that says where it lies.

    Args:
        tensor: The tensor; it was checked.
        skeleton: Its model.
        sized: Whether its elements have a size; the numbers of others stay.
    """
    numbers = None if sized else _numbers(tensor, skeleton)
    for name in _ALL if sized else _BESIDES_NUMBERS:
        tensor.ClearField(name)
    if numbers is not None:
        tensor.MergeFrom(numbers)
