"""Edits of a model's wire format, field by field: what byte-wise mutation would seldom make.

Most results are still messages, so that what is behind the parser is reached.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, NamedTuple

import onnx

from onnx_align_pass.errors import BrokenModelError
from onnx_align_pass.model.wire import BYTES, VARINT, BytesReader, fields_of
from tests.corpus.wire import block, group, tag, varint, varint_field
from tests.model.wild import FIELD_TYPES, Wild

__all__ = ["Editor"]

MODEL = onnx.ModelProto.DESCRIPTOR
ENTRY = onnx.StringStringEntryProto.DESCRIPTOR
NUMBERS = (0, 1, 2, 3, 5, 7, 8, 16, 64, 255, 1024, 2**31 - 1, 2**31, 2**32, 2**62, 2**63, 2**64 - 1)
KEYS = ("location", "offset", "length", "checksum", "prepacked_0", "basepath", "", "\0")
VALUES = (
    *("model.onnx.data", "second.data", "below/third.data", "./model.onnx.data", "below/../x"),
    *("link.data", "pipe.data", "folder", "model.onnx", "../outside/secret", "/"),
    *("0", "1", "3", "16", "64", "1024", "4096", "4095", "65535", "65536", "65537", "-1", "", " 4"),
    *(f"{2**63 - 1}", f"{2**63}", f"{2**64}", "0x10", "1e3", "\u0663", "9" * 5000),
)
"""What entries of external data say: names in the scene of `fuzz_align`, and odd numbers."""


class Piece(NamedTuple):
    """A field as it stands: all of it, and its content."""

    number: int
    wire: int
    """-1: the rest of a message, which is no field."""
    whole: bytes
    content: bytes


def pieces_of(message: bytes) -> list[Piece]:
    """The fields of a message, and what is left where it is damaged."""
    found: list[Piece] = []
    at = 0
    try:
        for number, wire, start, content, end in fields_of(
            BytesReader(Path("edited"), message), 0, len(message)
        ):
            found.append(Piece(number, wire, message[start:end], message[content:end]))
            at = end
    except BrokenModelError:
        found.append(Piece(0, -1, message[at:], message[at:]))
    return found


class Editor:
    """Makes random edits; the same seed, the same edits."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.wild = Wild(seed, 8)

    def edited(self, model: bytes, most: int) -> bytes:
        """The model after one to four edits, at most so many bytes long."""
        for _ in range(self.random.choice((1, 1, 2, 4))):
            model = self.message(model, MODEL, 0)
        return model[:most]

    def message(self, message: bytes, kind: Any, depth: int) -> bytes:
        """A message with one edit, in it or in a message below."""
        pieces = pieces_of(message)
        known = kind.fields_by_number
        below = {
            piece.number
            for piece in pieces
            if piece.wire == BYTES and piece.number in known and known[piece.number].message_type
        }
        if below and self.random.random() < 0.8:
            number = self.random.choice(sorted(below))
            index = self.random.choice([i for i, one in enumerate(pieces) if one.number == number])
            inner = self.message(pieces[index].content, known[number].message_type, depth + 1)
            pieces[index] = Piece(number, BYTES, block(number, inner), inner)
        else:
            self.edit(pieces, kind, depth)
        return b"".join(piece.whole for piece in pieces)

    def edit(self, pieces: list[Piece], kind: Any, depth: int) -> None:
        """One edit of a list of fields."""
        if not pieces or self.random.random() < 0.15:
            at = self.random.randint(0, len(pieces))
            pieces[at:at] = self.made(kind, depth)
            return
        at = self.random.randrange(len(pieces))
        one = pieces[at]
        kinds = (self.drop, self.double, self.move, self.respell, self.misspell, self.rewrite)
        change = self.random.choice((*kinds, self.rewrite, self.rewrite))
        pieces[at : at + 1] = change(one, kind.fields_by_number.get(one.number), pieces)

    def made(self, kind: Any, depth: int) -> list[Piece]:
        """A new field of this kind of message, or one that it does not know."""
        self.wild.left = 8
        field = self.random.choice(list(kind.fields))
        made = self.wild.once(field, depth + 1)
        if self.random.random() < 0.2:
            made = self.wild.unknowns(kind, depth + 1)
        return [Piece(field.number, -1, whole, whole) for whole in made]

    def drop(self, one: Piece, field: Any, pieces: list[Piece]) -> list[Piece]:
        return []

    def double(self, one: Piece, field: Any, pieces: list[Piece]) -> list[Piece]:
        return [one] * self.random.choice((2, 2, 3, 9))

    def move(self, one: Piece, field: Any, pieces: list[Piece]) -> list[Piece]:
        """Another field in the place of this one, or this one in others."""
        other = self.random.choice(pieces)
        return self.random.choice(([other, one], [one, other], [other]))

    def respell(self, one: Piece, field: Any, pieces: list[Piece]) -> list[Piece]:
        """The same field, its tag, length and number wider than they need to be."""
        width, wide = self.random.choice((2, 5, 6)), self.random.choice((1, 2, 5, 6, 10))
        if one.wire == VARINT:
            value = BytesReader(Path("edited"), one.content + bytes(10)).varint(0, 10)[0]
            whole = varint_field(one.number, value, self.random.choice((2, 9, 10, 11)), width)
        elif one.wire == BYTES:
            whole = block(one.number, one.content, wide, width)
        else:
            whole = tag(max(one.number, 1), max(one.wire, 0), width) + one.content
        return [Piece(one.number, one.wire, whole, one.content)]

    def misspell(self, one: Piece, field: Any, pieces: list[Piece]) -> list[Piece]:
        """Another wire type, a wrong length, a group around it, or many levels around it."""
        number = max(one.number, 1)
        length = max(0, len(one.content) + self.random.choice((-1, 1, 100, 2**31, 2**35)))
        whole = self.random.choice(
            (
                tag(number, self.random.randrange(8)) + one.content,
                tag(number, BYTES) + varint(length) + one.content,
                group(number, one.whole),
                tag(number, 3) + one.whole + tag(self.random.choice((number, 9)), 4),
                self.nested(number, one.whole),
            )
        )
        return [Piece(number, -1, whole, whole)]

    def nested(self, number: int, leaf: bytes) -> bytes:
        """A field inside many of its own number."""
        for _ in range(self.random.choice((1, 2, 30, 98, 100, 101))):
            leaf = group(number, leaf) if self.random.random() < 0.3 else block(number, leaf)
        return leaf

    def rewrite(self, one: Piece, field: Any, pieces: list[Piece]) -> list[Piece]:
        """Another value of the field's own type."""
        if field is None or one.wire == -1:
            return [one]
        if one.wire == VARINT:
            value = self.random.choice((*NUMBERS, self.random.randrange(30)))
            return [Piece(one.number, VARINT, varint_field(one.number, value), b"")]
        if one.wire != BYTES:
            return [one]
        content = self.text(field) if self.random.random() < 0.6 else self.resized(one.content)
        return [Piece(one.number, BYTES, block(one.number, content), content)]

    def text(self, field: Any) -> bytes:
        if field.containing_type.full_name == ENTRY.full_name:
            return self.random.choice(KEYS if field.name == "key" else VALUES).encode()
        if FIELD_TYPES[field.type] == "text":
            return self.random.choice(
                (b"", b"w", b"\xff", b"\0", b"x" * 300, b"b", "\u202e".encode())
            )
        return self.random.randbytes(self.random.choice((0, 4, 8, 16, 64, 1200)))

    def resized(self, content: bytes) -> bytes:
        """The content longer, shorter or with other bytes in it."""
        size = self.random.choice((0, 1, 4, 16, len(content) // 2, max(0, len(content) - 1)))
        more = content + content[:size] + self.random.randbytes(self.random.choice((0, 1, 4)))
        return self.random.choice((content[:size], more, content[size:]))
