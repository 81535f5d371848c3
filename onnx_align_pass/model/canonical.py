"""One form for all messages that mean the same: what protobuf leaves open, decided.

Protobuf's own serialisation has the known fields in order, and what it does not know as it came,
at the end. What is known depends on the version of onnx: so here all fields are in order.
"""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import EncodeError

from onnx_align_pass.errors import BrokenModelError
from onnx_align_pass.model.wire import (
    BYTES,
    GROUP_END,
    GROUP_START,
    VARINT,
    BytesReader,
    Field,
    WireReader,
    encode_varint,
    fields_of,
)

__all__ = ["canonical"]


def canonical(model: onnx.ModelProto, file: Path) -> bytes:
    """Serialise a model: fields by number, equal ones as they came, every number in few bytes.

    Args:
        model: The model, small.
        file: Where it came from, for errors.

    Raises:
        BrokenModelError: Protobuf cannot write it.
    """
    try:
        data = bytes(model.SerializeToString(deterministic=True))
    except (EncodeError, ValueError) as error:
        raise BrokenModelError(f"protobuf cannot write it: {error}", file=file) from None
    known = onnx.ModelProto.FromString(data)
    known.DiscardUnknownFields()
    if known.ByteSize() == len(data):
        return data
    return _ordered(BytesReader(file, data), onnx.ModelProto.DESCRIPTOR, 0, len(data))


def _ordered(reader: WireReader, kind: Any, start: int, end: int) -> bytes:
    """The message at `[start, end)`; `kind` is its descriptor, None inside unknown groups."""
    fields = [(one[0], _field(reader, kind, one)) for one in fields_of(reader, start, end)]
    fields.sort(key=itemgetter(0))
    return b"".join(data for _, data in fields)


def _field(reader: WireReader, kind: Any, field: Field) -> bytes:
    number, wire, _, content, after = field
    tag = encode_varint(number << 3 | wire)
    if wire == VARINT:
        return tag + encode_varint(reader.varint(content, after)[0])
    if wire == GROUP_START:
        body = _ordered(reader, None, content, _group_body_end(reader, content, after))
        return tag + body + encode_varint(number << 3 | GROUP_END)
    if wire != BYTES:
        return tag + reader.read(content, after)
    known = None if kind is None else kind.fields_by_number.get(number)
    if known is not None and known.message_type is not None:
        body = _ordered(reader, known.message_type, content, after)
    else:
        body = reader.read(content, after)
    return tag + encode_varint(len(body)) + body


def _group_body_end(reader: WireReader, start: int, end: int) -> int:
    """First byte of the tag that closes the group whose fields are at `start`."""
    at = start
    while reader.varint(at, end)[0] & 7 != GROUP_END:
        at = next(iter(fields_of(reader, at, end)))[4]
    return at
