"""Put planned ranges into the ModelProto; everything that is not a moved tensor stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

import onnx

from onnx_align_pass.layout.plan import Placement
from onnx_align_pass.model.schema import TYPED_FIELDS
from onnx_align_pass.model.skeleton import Cut, Skeleton
from onnx_align_pass.model.wire import BYTES, encode_varint
from onnx_align_pass.spans import Source
from onnx_align_pass.tensors import TensorRequest

__all__ = ["bind", "relocate"]

_RAW_TAG = encode_varint(onnx.TensorProto.DESCRIPTOR.fields_by_name["raw_data"].number << 3 | BYTES)
_PAYLOAD = ("raw_data", *TYPED_FIELDS.values())


def bind(
    skeleton: Skeleton,
    placed: Iterable[tuple[Placement, onnx.TensorProto]],
    returned: Iterable[tuple[TensorRequest, onnx.TensorProto]],
) -> None:
    """Write each moved tensor's new place into the skeleton's proto.

    Args:
        skeleton: The model.
        placed: Its tensors that will be external, and where.
        returned: Its tensors that were external and will be inline.
    """
    for placement, tensor in placed:
        if not placement.request.facts.is_external:
            _clear_payload(tensor)
        _point(tensor, placement)
    for request, tensor in returned:
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
    """Three keys and no other: onnxruntime refuses unknown ones, and old ones are stale.

    Merged from their wire format: added one by one, the three entries take three times as long.
    """
    tensor.ClearField("external_data")
    offset, length = b"%d" % placement.offset, b"%d" % placement.length
    # A number has at most 19 digits, so every length here is one byte.
    tensor.MergeFromString(
        b"%bj%c\n\x06offset\x12%c%bj%c\n\x06length\x12%c%b"
        % (
            _to_file(placement.file),
            len(offset) + 10,
            len(offset),
            offset,
            len(length) + 10,
            len(length),
            length,
        )
    )


@cache
def _to_file(name: str) -> bytes:
    """The entries that every tensor of one data file shares, as they stand in a TensorProto."""
    shared = onnx.TensorProto(data_location=onnx.TensorProto.EXTERNAL)
    shared.external_data.add(key="location", value=name)
    return bytes(shared.SerializeToString())


def _embed(skeleton: Skeleton, tensor: onnx.TensorProto, source: Source | None) -> None:
    del tensor.external_data[:]
    tensor.ClearField("data_location")
    if source is None or source.length == 0:
        tensor.raw_data = b""
    else:
        header = _RAW_TAG + encode_varint(source.length)
        tensor.raw_data = skeleton.place(Cut("raw_data", (header, source), None))
