"""Put planned ranges into the ModelProto; everything that is not a moved tensor stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import onnx

from onnx_align_pass.layout.plan import Placement
from onnx_align_pass.model.schema import TYPED_FIELDS
from onnx_align_pass.model.skeleton import Cut, Skeleton
from onnx_align_pass.model.wire import BYTES, encode_varint
from onnx_align_pass.spans import FileSpan, Source
from onnx_align_pass.tensors import Residence, TensorRequest

__all__ = ["bind", "relocate"]

_RAW_TAG = encode_varint(onnx.TensorProto.DESCRIPTOR.fields_by_name["raw_data"].number << 3 | BYTES)
_PAYLOAD = ("raw_data", *TYPED_FIELDS.values())


def bind(
    skeleton: Skeleton,
    tensors: Mapping[str, onnx.TensorProto],
    requests: Mapping[str, TensorRequest],
    placements: Mapping[str, Placement],
) -> None:
    """Write each moved tensor's new place into the skeleton's proto.

    All mappings are keyed by `Slot.place`; `tensors` has those that are external now or will be.
    Tensors without a placement that were external become inline.
    """
    for place, tensor in tensors.items():
        request = requests[place]
        placement = placements.get(place)
        if placement is not None:
            if request.facts.residence is Residence.INLINE:
                _clear_payload(tensor)
            _point(tensor, placement)
        elif request.facts.residence is Residence.EXTERNAL:
            _embed(skeleton, tensor, request.source)


def relocate(tensors: Iterable[onnx.TensorProto], name: Callable[[str], str]) -> None:
    """Rename the data files that tensors point at; offsets and lengths stay."""
    for tensor in tensors:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = name(entry.value)


def _clear_payload(tensor: onnx.TensorProto) -> None:
    for field in _PAYLOAD:
        tensor.ClearField(field)


def _point(tensor: onnx.TensorProto, placement: Placement) -> None:
    """Three keys and no other: onnxruntime refuses unknown ones, and old ones are stale."""
    tensor.data_location = onnx.TensorProto.EXTERNAL
    entries = tensor.external_data
    del entries[:]
    add = entries.add
    add(key="location", value=placement.file)
    add(key="offset", value=str(placement.offset))
    add(key="length", value=str(placement.length))


def _embed(skeleton: Skeleton, tensor: onnx.TensorProto, source: Source | None) -> None:
    del tensor.external_data[:]
    tensor.ClearField("data_location")
    if source is None or source.length == 0:
        tensor.raw_data = b""
    elif isinstance(source, FileSpan):
        header = _RAW_TAG + encode_varint(source.length)
        tensor.raw_data = skeleton.place(Cut("raw_data", (header, source), source))
    else:
        tensor.raw_data = bytes(source.load())
