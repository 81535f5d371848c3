"""Tensors that say of themselves that their bytes are where they are not."""

from __future__ import annotations

import onnx

from onnx_align_pass.mending.entries import entry_of
from onnx_align_pass.model.schema import TYPED_FIELDS
from onnx_align_pass.repair_report import Repair
from onnx_align_pass.tensors import TensorFacts

__all__ = ["held", "marked"]

_PAYLOAD = frozenset({"raw_data", *TYPED_FIELDS.values()})


def held(tensor: onnx.TensorProto) -> list[str]:
    """Fields of a tensor that hold bytes or numbers; a placeholder of a skeleton counts."""
    return [field.name for field, value in tensor.ListFields() if field.name in _PAYLOAD and value]


def marked(facts: TensorFacts, tensor: onnx.TensorProto) -> Repair | None:
    """Mark a tensor as external, or as not, where its bytes can be in one place only.

    That is so where it holds none and has entries whose length is exactly its own, or where it
    holds some and has no entries. Whether they are as many as dtype and shape need is looked at as
    with every other tensor.
    """
    name, fields = facts.slot.name, held(tensor)
    if not facts.element_bits or not facts.nbytes:
        return None
    if facts.is_external and fields and not tensor.external_data:
        tensor.ClearField("data_location")
        problem = "it is marked as external, and its bytes are in the model"
        return Repair("marked-external", problem, name, "EXTERNAL", "inline")
    if facts.is_external or fields or entry_of(tensor, "length") != str(facts.nbytes):
        return None
    if not entry_of(tensor, "location"):
        return None
    tensor.data_location = onnx.TensorProto.EXTERNAL
    problem = "it is not marked as external, and its bytes are in a data file"
    return Repair("not-marked-external", problem, name, "inline", "EXTERNAL")
