"""From a source to what the project makes of it, each step in its plainest form."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

from onnx_align_pass.errors import BrokenModelError
from onnx_align_pass.model.emit import emit
from onnx_align_pass.model.skeleton import Cut, Skeleton, read_skeleton
from onnx_align_pass.spans import FileSpan, Source
from tests.corpus import oracle

from .wild import WEIGHTS

__all__ = [
    "assert_cuts_hold",
    "assert_read_as_protobuf_does",
    "canonical",
    "emitted",
    "joined",
    "parsed",
    "round_trip",
]

VARINT_FIELDS = frozenset({"int32_data", "int64_data", "uint64_data"})


def parsed(content: bytes) -> onnx.ModelProto | None:
    """The model as protobuf reads it; None if protobuf refuses it."""
    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError:
        return None
    return model


def canonical(content: bytes) -> bytes | None:
    """One text for all files that protobuf reads as the same model, unknown fields included."""
    model = parsed(content)
    return None if model is None else model.SerializeToString(deterministic=True)


def joined(parts: Iterable[bytes | Source]) -> bytes:
    """Bytes of parts, spans read in the plainest way."""
    return b"".join(part if isinstance(part, bytes) else _read(part) for part in parts)


def emitted(skeleton: Skeleton) -> bytes:
    """The file that a skeleton makes."""
    return joined(emit(skeleton))


def round_trip(path: Path, cut_bytes: int) -> bytes:
    """Read a model without its weights and write it again, nothing moved."""
    return emitted(read_skeleton(path, cut_bytes=cut_bytes))


def assert_read_as_protobuf_does(path: Path, content: bytes, cut: int) -> Skeleton | None:
    """Hold the model at a path to be read as protobuf reads its bytes, or refused where it does."""
    model = parsed(content)
    try:
        skeleton = read_skeleton(path, cut_bytes=cut)
    except BrokenModelError:
        # protobuf reads a model without a graph, and of no bytes at all; no user wants either.
        assert model is None or not model.HasField("graph")
        return None
    if model is None:
        # Blocks of varints stay in the file unread until they are needed: then they are refused.
        assert {one.field_name for one in skeleton.cuts} & VARINT_FIELDS
    assert canonical(emitted(skeleton)) == canonical(content)
    return skeleton


def assert_cuts_hold(skeleton: Skeleton, model: onnx.ModelProto) -> None:
    """Hold the weights that were left in the file to be those that protobuf reads."""
    small = dict(oracle.walk(skeleton.proto))
    for place, tensor in oracle.walk(model):
        found = skeleton.cut_of(small[place])
        if found is not None:
            _assert_holds(found, tensor)


def _assert_holds(cut: Cut, tensor: onnx.TensorProto) -> None:
    """The fields that a cut left behind are the tensor's weights, and its payload their bytes."""
    back = onnx.TensorProto.FromString(joined(cut.fields))
    assert [field.name for field, _ in back.ListFields()] in ([cut.field_name], [])
    alone = onnx.TensorProto()
    for name in WEIGHTS:
        if name == "raw_data" and tensor.HasField(name):
            alone.raw_data = tensor.raw_data
        elif name != "raw_data":
            getattr(alone, name).extend(getattr(tensor, name))
    if cut.field_name == "raw_data":
        assert back.raw_data == alone.raw_data
    else:
        assert back.SerializeToString() == alone.SerializeToString()
    if cut.payload is not None:
        packed = back.raw_data or oracle.packed(back, cut.field_name)
        assert joined([cut.payload]) == packed


def _read(span: Source) -> bytes:
    if not isinstance(span, FileSpan):
        return bytes(span.load())
    with span.path.open("rb") as file:
        file.seek(span.offset)
        content = file.read(span.length)
    assert len(content) == span.length
    return content
