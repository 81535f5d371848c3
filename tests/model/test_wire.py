"""The wire format: fields where protobuf finds them, however the file is looked at."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import unknown_fields
from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st

from onnx_align_pass.errors import BrokenModelError
from onnx_align_pass.model.wire import (
    BYTES,
    FIXED32,
    FIXED64,
    VARINT,
    BytesReader,
    WireReader,
    encode_varint,
    fields_of,
)
from tests.corpus.wire import block, tag, varint, varint_field

from .damage import damaged
from .wild import Wild

Listed = list[tuple[int, int, object]]
"""Number, wire type, and value (of a block its bytes, of a group nothing)."""


def listed_by_protobuf(content: bytes) -> Listed | None:
    """The fields of any message: to a message without fields, all of them are unknown.

    Such a message lets field number 0 pass, a message with fields does not.
    """
    message = Empty()
    try:
        message.ParseFromString(content)
    except DecodeError:
        return None
    fields: list[Any] = list(unknown_fields.UnknownFieldSet(message))  # type: ignore[call-overload]
    if any(field.field_number == 0 for field in fields):
        return None
    return [
        (field.field_number, field.wire_type, field.data if field.wire_type < 3 else None)
        for field in fields
    ]


def listed(reader: WireReader, size: int, content: bytes) -> Listed:
    found: Listed = []
    for number, wire, _, start, end in fields_of(reader, 0, size):
        value: object = None
        if wire == VARINT:
            value = reader.varint(start, end)[0]
        elif wire == BYTES:
            value = content[start:end]
        elif wire == FIXED64:
            value = int.from_bytes(content[start:end], "little")
        found.append((number, wire, None if wire == FIXED32 else value))
    return found


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**32), size=st.integers(1, 40), hurt=st.booleans())
def test_fields_are_those_that_protobuf_finds(
    scratch: Path, seed: int, size: int, hurt: bool
) -> None:
    content = Wild(seed, size).model()
    content = damaged(content, seed) if hurt else content
    expected = listed_by_protobuf(content)
    scratch.write_bytes(content)
    fd = os.open(scratch, os.O_RDONLY)
    try:
        for reader in (WireReader(scratch, fd), BytesReader(scratch, content)):
            assert reader.size == len(content)
            if expected is None:
                with pytest.raises(BrokenModelError):
                    listed(reader, len(content), content)
            else:
                assert listed(reader, len(content), content) == expected
    finally:
        os.close(fd)


MALFORMED = {
    "a group that ends as another": tag(5, 3) + tag(6, 4),
    "a group in a group that ends as the outer one": tag(5, 3) + tag(6, 3) + tag(5, 4) + tag(6, 4),
    "a group that never ends": tag(5, 3) + varint_field(1, 1),
    "an end without a group": tag(5, 4),
    "wire type 6": tag(5, 6),
    "wire type 7 in a group": tag(5, 3) + tag(5, 7) + tag(5, 4),
    "field 0": b"\x00\x01",
    "a tag over 32 bits": varint(1 << 35) + b"\x01",
    "a tag over 32 bits in a group": tag(5, 3) + varint(1 << 35) + b"\x01" + tag(5, 4),
    "a tag of six bytes in a group": tag(5, 3) + tag(5, 0, 6) + b"\x01" + tag(5, 4),
    "a length of six bytes in a group": tag(5, 3) + block(5, b"", width=6) + tag(5, 4),
    "a block past the end": tag(5, 2) + b"\x05four",
    "a block in a group past the end": tag(5, 3) + tag(5, 2) + b"\x05x" + tag(5, 4),
    "a varint past the end": tag(5, 0) + b"\x80",
    "a varint of eleven bytes": tag(5, 0) + b"\x80" * 10 + b"\x01",
    "a fixed64 past the end": tag(5, 1) + bytes(7),
    "a fixed32 past the end": tag(5, 5) + bytes(3),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_no_message_is_a_named_error_that_says_where(name: str) -> None:
    content = MALFORMED[name]
    assert listed_by_protobuf(content) is None
    with pytest.raises(BrokenModelError, match=r"m\.onnx: .*at byte \d"):
        listed(BytesReader(Path("m.onnx"), content), len(content), content)


def test_any_range_is_read_in_any_order(tmp_path: Path) -> None:
    rng = random.Random(3)
    content = rng.randbytes(300_000)
    path = tmp_path / "bytes"
    path.write_bytes(content)
    fd = os.open(path, os.O_RDONLY)
    try:
        reader = WireReader(path, fd)
        for _ in range(2000):
            start = rng.randrange(len(content))
            end = min(len(content), start + rng.choice((0, 1, 10, 5000, 100_000)))
            if rng.random() < 0.5:
                reader._look(start)
            assert reader.read(start, end) == content[start:end]
        with pytest.raises(BrokenModelError, match="ends inside"):
            reader.read(len(content) - 1, len(content) + 1)
    finally:
        os.close(fd)


@given(value=st.integers(0, 2**64 - 1))
def test_a_number_is_encoded_in_as_few_bytes_as_it_takes(value: int) -> None:
    assert encode_varint(value) == varint(value)
    assert BytesReader(Path("m"), varint(value) + b"\0" * 10).varint(0, 10)[0] == value
