"""Bad cases: files that are no model: missing, cut short, not protobuf, too deep."""

from __future__ import annotations

import os
from pathlib import Path

from onnx import GraphProto

from . import wire
from .build import DATA, MODEL, external, model_of, showing, tensor, write
from .case import BadBook, Build
from .wire import block, group, tag, varint, varint_field
from .wire_tensors import model_bytes

__all__ = ["BAD", "LFS_POINTER", "whole"]

BAD = BadBook()

LFS_POINTER = (
    b"version https://git-lfs.github.com/spec/v1\n"
    b"oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
    b"size 104857600\n"
)


def whole(folder: Path) -> bytes:
    """A good model of an inline and an external tensor; its data file is in the folder."""
    tensors = [tensor("inline", [500]), external(tensor("external", [500]), folder)]
    return bytes(model_of(showing(tensors)).SerializeToString(deterministic=True))


def of(content: bytes) -> Build:
    """A builder of a file of just these bytes."""

    def build(folder: Path) -> Path:
        return write(folder, content)

    return build


@BAD.add(parses=False)
def missing(folder: Path) -> Path:
    """There is no such file."""
    return folder / MODEL


@BAD.add(parses=False)
def missing_folder(folder: Path) -> Path:
    """There is no such folder."""
    return folder / "nowhere" / MODEL


@BAD.add(parses=False)
def model_is_a_folder(folder: Path) -> Path:
    """The path is a folder's, called `.onnx`, with nothing in it."""
    (folder / MODEL).mkdir()
    return folder / MODEL


@BAD.add(parses=False)
def model_link_dangles(folder: Path) -> Path:
    """The path is a link to nothing."""
    (folder / MODEL).symlink_to("gone.onnx")
    return folder / MODEL


@BAD.add(parses=False)
def model_link_loops(folder: Path) -> Path:
    """The path is a link to itself."""
    (folder / MODEL).symlink_to(MODEL)
    return folder / MODEL


BAD.add("empty", "A file of no bytes: an empty ModelProto to protobuf.")(of(b""))
BAD.add("text", "A text file.", parses=False)(of(b"Not a model, but a text about one.\n" * 100))
BAD.add("zeros", "A file of zeros, as a crash leaves it: field number 0.", parses=False)(
    of(bytes(4_096))
)
BAD.add("lfs_pointer", "A Git LFS pointer in the model's place.", parses=False)(of(LFS_POINTER))
BAD.add("zip", "A zip archive.", parses=False)(of(b"PK\x03\x04\x14" + b"\x00" * 200))
BAD.add("html", "An error page that was downloaded in the model's place.", parses=False)(
    of(b"<!DOCTYPE html><html><body>404</body></html>")
)


def cut(keep: float) -> Build:
    """A builder of the good model without the end of its bytes; `keep` is a share."""

    def build(folder: Path) -> Path:
        content = whole(folder)
        return write(folder, content[: int(len(content) * keep)])

    return build


for _percent in (1, 5, 50, 80, 98):
    BAD.add(f"cut_at_{_percent}_percent", f"Only the first {_percent} % of it.", parses=False)(
        cut(_percent / 100)
    )


@BAD.add(parses=False)
def cut_by_one_byte(folder: Path) -> Path:
    """The last byte is missing."""
    return write(folder, whole(folder)[:-1])


def appended(extra: bytes) -> Build:
    """A builder of the good model with bad bytes behind it."""

    def build(folder: Path) -> Path:
        return write(folder, whole(folder) + extra)

    return build


def in_tensor(extra: bytes) -> Build:
    """A builder of the good model with a further initializer of bad bytes."""

    def build(folder: Path) -> Path:
        return write(folder, whole(folder) + block(7, block(5, extra)))

    return build


for _name, _line, _extra in (
    ("length_past_end", "A block that is longer than the rest.", tag(9, 2) + varint(5_000)),
    ("length_of_2_gib", "A length of 2 GiB.", tag(9, 2) + varint(1 << 31) + b"x"),
    ("length_of_2_63", "A length of 2**63.", tag(9, 2) + varint(1 << 63) + b"x"),
    ("length_of_2_64", "A length of 2**64 - 1.", tag(9, 2) + varint((1 << 64) - 1) + b"x"),
    ("varint_of_11_bytes", "A varint of eleven bytes.", tag(2, 0) + b"\x81" * 10 + b"\x01"),
    ("varint_cut", "A varint without its last byte.", tag(2, 0) + b"\x81"),
    ("tag_cut", "A tag without its last byte.", b"\x80"),
    ("tag_of_6_bytes", "A tag of six bytes.", tag(2, 0, 6) + b"\x01"),
    ("length_of_11_bytes", "A length of eleven bytes.", tag(9, 2) + varint(1, 11) + b"x"),
    ("fixed32_cut", "A fixed32 of three bytes.", tag(4, 5) + b"\0\0\0"),
    ("fixed64_cut", "A fixed64 of seven bytes.", tag(19_901, 1) + bytes(7)),
    ("field_zero", "Field number 0.", b"\x02\x01x"),
    ("wire_type_6", "Wire type 6.", tag(19_000, 6) + b"\x01"),
    ("wire_type_7", "Wire type 7.", tag(19_000, 7) + b"\x01"),
    ("group_not_ended", "A group that does not end.", tag(19_000, 3) + varint_field(1, 1)),
    ("group_not_begun", "The end of a group that has not begun.", tag(19_000, 4)),
    ("group_ends_as_other", "A group ended by another number.", tag(19_000, 3) + tag(19_001, 4)),
):
    BAD.add(f"model_{_name}", f"{_line[:-1]}, in the model.", parses=False)(appended(_extra))
    BAD.add(f"tensor_{_name}", f"{_line[:-1]}, in a tensor.", parses=False)(in_tensor(_extra))

BAD.add("tensor_packed_floats_ragged", "A packed block of six bytes of float32.", parses=False)(
    in_tensor(block(4, b"abcdef"))
)
BAD.add("tensor_packed_varint_cut", "A packed block that ends in a varint.", parses=False)(
    in_tensor(block(7, b"\x01\x80"))
)


def nested_graphs(depth: int) -> bytes:
    """A model whose graphs nest, each in an attribute of a node of the next one."""
    body = b""
    for _ in range(depth):
        body = block(1, block(5, block(6, body)))
    return model_bytes(GraphProto(name="graph"), body)


def nested_groups(depth: int) -> bytes:
    """Unknown groups in each other."""
    starts, ends = tag(19_000, 3) * depth, tag(19_000, 4) * depth
    return starts + ends


BAD.add("graphs_5000_deep", "15,000 messages in each other.", parses=False)(
    of(nested_graphs(5_000))
)
BAD.add(
    "graphs_34_deep", "103 messages in each other; protobuf reads 100 inside a model.", parses=False
)(of(nested_graphs(34)))
BAD.add("groups_5000_deep", "5,000 unknown groups in each other.", parses=False)(
    appended(nested_groups(5_000))
)
BAD.add("groups_101_deep", "101 unknown groups in each other.", parses=False)(
    appended(nested_groups(101))
)


@BAD.add()
def no_graph(folder: Path) -> Path:
    """A model without a graph."""
    model = model_of(GraphProto())
    model.ClearField("graph")
    return write(folder, model)


@BAD.add()
def only_unknown_fields(folder: Path) -> Path:
    """Valid protobuf of some other kind: unknown fields alone."""
    return write(folder, wire.unknown() + group(19_000))


@BAD.add(blocks=True, parses=False)
def model_is_a_fifo(folder: Path) -> Path:
    """The path is a FIFO: reading it would wait forever."""
    os.mkfifo(folder / MODEL)
    return folder / MODEL


@BAD.add()
def data_lfs_pointer(folder: Path) -> Path:
    """A Git LFS pointer in the data file's place."""
    graph = showing([external(tensor("w", [500]), folder)])
    (folder / DATA).write_bytes(LFS_POINTER)
    return write(folder, graph)
