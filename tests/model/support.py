"""From a source to what the project makes of it, each step in its plainest form."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

from onnx_align_pass.model.emit import emit
from onnx_align_pass.model.skeleton import Skeleton, read_skeleton
from onnx_align_pass.spans import FileSpan, Source

__all__ = ["canonical", "emitted", "joined", "parsed", "round_trip"]


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


def _read(span: Source) -> bytes:
    if not isinstance(span, FileSpan):
        return bytes(span.load())
    with span.path.open("rb") as file:
        file.seek(span.offset)
        content = file.read(span.length)
    assert len(content) == span.length
    return content
