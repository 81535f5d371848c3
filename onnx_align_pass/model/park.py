"""Large tensors of a skeleton, parked: out of the proto, with a name under which they are found."""

from __future__ import annotations

from typing import NamedTuple

import onnx

from onnx_align_pass.model.skeleton import Skeleton
from onnx_align_pass.model.sources import facts_of, locate
from onnx_align_pass.model.walk import walk
from onnx_align_pass.spans import Source
from onnx_align_pass.tensors import TensorFacts

__all__ = ["Parked", "park"]

_PAYLOAD = ("raw_data", "external_data")


class Parked(NamedTuple):
    """A tensor whose bytes stay in their file."""

    facts: TensorFacts
    source: Source


def park(skeleton: Skeleton) -> dict[str, Parked]:
    """Make every tensor that is external or was cut an external one at a location of its own.

    Args:
        skeleton: The model; its proto is changed.

    Returns:
        The tensors by location. No file has such a name: it is random.

    Raises:
        ModelError: A tensor contradicts itself, or its entries cannot be followed.
    """
    parked: dict[str, Parked] = {}
    for slot, tensor in walk(skeleton.proto, file=skeleton.path):
        facts = facts_of(slot, tensor, skeleton.path)
        if not facts.element_bits and not facts.is_external:
            continue
        if facts.nbytes == 0 and facts.element_bits:
            if facts.is_external:
                _make_empty(tensor)
            continue
        source = locate(facts, tensor, skeleton)[0]
        if not facts.is_external and skeleton.cut_of(tensor) is None:
            continue  # it is small, and was checked
        location = f"{skeleton.mark.hex()}.{len(parked)}"
        parked[location] = Parked(facts, source)
        for field in _PAYLOAD:
            tensor.ClearField(field)
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=location)
    return parked


def _make_empty(tensor: onnx.TensorProto) -> None:
    tensor.ClearField("external_data")
    tensor.ClearField("data_location")
    tensor.raw_data = b""
