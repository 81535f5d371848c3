"""Any model that protobuf reads is read, without its weights, to the same model."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnx_align_pass.errors import BrokenModelError
from onnx_align_pass.model.skeleton import MAX_PIECES, SHORT_PIECE_BYTES, read_skeleton
from onnx_align_pass.spans import FileSpan
from tests.corpus import CASES, oracle
from tests.corpus.case import Case
from tests.corpus.params import cases
from tests.corpus.wire import block, fixed32, fixed64, group, tag, varint_field

from .support import assert_cuts_hold, canonical, parsed, round_trip
from .wild import MAX_DEPTH, WEIGHTS, Wild

CUTS = (0, 1, 16, 1024)
wild = given(seed=st.integers(0, 2**32), size=st.integers(1, 60), cut=st.sampled_from(CUTS))


def graph_of(body: bytes) -> bytes:
    """A model of a graph with this body."""
    return block(7, body)


def tensor_of(body: bytes) -> bytes:
    """A model of one initializer with this body, and a name and a shape."""
    return graph_of(block(5, varint_field(1, 300) + block(8, b"w") + body))


@settings(max_examples=300, deadline=None)
@wild
def test_what_is_read_and_written_again_is_the_same_model(
    scratch: Path, seed: int, size: int, cut: int
) -> None:
    content = Wild(seed, size).model()
    scratch.write_bytes(content)
    assert canonical(round_trip(scratch, cut)) == canonical(content)


@settings(max_examples=150, deadline=None)
@wild
def test_weights_left_in_the_file_are_those_that_protobuf_reads(
    scratch: Path, seed: int, size: int, cut: int
) -> None:
    content = Wild(seed, size).model()
    scratch.write_bytes(content)
    model = onnx.ModelProto.FromString(content)
    assert_cuts_hold(read_skeleton(scratch, cut_bytes=cut), model)


@pytest.mark.parametrize("case", cases())
def test_every_model_of_the_corpus_comes_back_as_it_was(case: Case, tmp_path: Path) -> None:
    path = case.build(tmp_path)
    for cut in CUTS:
        assert canonical(round_trip(path, cut)) == canonical(path.read_bytes())


def test_no_weight_larger_than_the_cut_is_in_memory(tmp_path: Path) -> None:
    path = CASES["mixed"].build(tmp_path)
    skeleton = read_skeleton(path, cut_bytes=100)
    for place, tensor in oracle.walk(skeleton.proto):
        size = sum(len(getattr(tensor, name)) for name in WEIGHTS)
        assert size <= 100 or skeleton.cut_of(tensor) is not None, place
    assert skeleton.proto.ByteSize() < path.stat().st_size


def nested(depth: int, leaf: bytes = b"") -> bytes:
    """A model with a message `depth` levels below it: graph, node, attribute, graph, node ..."""
    numbers = [7] + [(1, 5, 6)[level % 3] for level in range(depth - 1)]
    for number in reversed(numbers):
        leaf = block(number, leaf)
    return leaf


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("leaf", [b"", varint_field(19_000, 1)], ids=["empty", "filled"])
def test_messages_nest_as_deep_as_protobuf_reads_and_no_deeper(
    leaf: bytes, cut: int, tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(nested(MAX_DEPTH, leaf))
    assert canonical(round_trip(path, cut)) == canonical(path.read_bytes()) is not None
    path.write_bytes(nested(MAX_DEPTH + 1, leaf))
    assert parsed(path.read_bytes()) is None
    with pytest.raises(BrokenModelError):
        read_skeleton(path, cut_bytes=cut)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("number", [4, 9, 19_000], ids=["float_data", "raw_data", "unknown"])
def test_groups_in_a_deep_tensor_count_as_levels(number: int, cut: int, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    for groups in range(4):
        leaf = varint_field(3, 1)
        for _ in range(groups):
            leaf = group(number, leaf)
        weights = block(9, b"w" * 3000) if number != 9 else block(4, b"wwww" * 750)
        path.write_bytes(nested(97, block(5, weights + leaf)))  # the tensor is at level 98
        assert (parsed(path.read_bytes()) is not None) == (groups <= 2)
        assert_read_or_refused(path, cut, groups <= 2)


WRONG_TYPE = {
    "int32_data as fixed32": fixed32(5, b"abcd") * 400,
    "float_data as varint": varint_field(4, 3) * 600,
    "float_data as fixed64 beside a block": block(4, b"abcd" * 400) + fixed64(4, 7),
    "double_data as a group": group(10, block(3, b"x" * 1500)),
    "raw_data as a varint": block(9, b"x" * 2000) + varint_field(9, 7) * 600,
}


@pytest.mark.parametrize("name", WRONG_TYPE)
@pytest.mark.parametrize("cut", CUTS)
def test_a_known_field_of_another_wire_type_is_unknown(name: str, cut: int, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    around = varint_field(19_000, 5), varint_field(19_001, 6)
    path.write_bytes(tensor_of(around[0] + WRONG_TYPE[name] + around[1]))
    assert canonical(round_trip(path, cut)) == canonical(path.read_bytes()) is not None


@pytest.mark.parametrize("width", range(1, 12))
def test_tags_lengths_and_values_are_as_wide_as_protobuf_reads(width: int, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    wide = {
        "tag": tensor_of(block(9, b"x" * 2000, tag_width=width)),
        "length": tensor_of(block(9, b"x" * 2000, width=width)),
        "graph's tag": block(7, block(5, block(9, b"x" * 2000)), tag_width=width),
        "graph's length": block(7, block(5, block(9, b"x" * 2000)), width=width),
        "value": tensor_of(varint_field(2, 1, width=width) + block(9, b"x" * 2000)),
        "in a group": tensor_of(group(500, block(9, b"y", width=width, tag_width=width))),
        "group's end": graph_of(tag(500, 3) + tag(500, 4, width)),
    }
    for name, content in wide.items():
        path.write_bytes(content)
        readable = width <= (10 if name == "value" else 5)
        assert (parsed(content) is not None) == readable
        for cut in CUTS:
            assert_read_or_refused(path, cut, readable)


def assert_read_or_refused(path: Path, cut: int, readable: bool) -> None:
    if readable:
        assert canonical(round_trip(path, cut)) == canonical(path.read_bytes())
    else:
        with pytest.raises(BrokenModelError):
            read_skeleton(path, cut_bytes=cut)


def test_a_field_number_of_zero_in_a_group_is_left_to_protobuf(tmp_path: Path) -> None:
    """protobuf for Python lets it pass, protobuf for C++ does not."""
    path = tmp_path / "model.onnx"
    path.write_bytes(graph_of(group(500, b"\x00\x05\x02\x01x")))
    assert_read_or_refused(path, 0, parsed(path.read_bytes()) is not None)


@pytest.mark.parametrize("number", [4, 10], ids=["float_data", "double_data"])
def test_a_block_of_floats_that_ends_inside_one_is_refused(number: int, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(tensor_of(block(number, b"x" * 2002)))
    assert parsed(path.read_bytes()) is None
    with pytest.raises(BrokenModelError, match="ends inside a number"):
        read_skeleton(path)


def test_numbers_in_very_many_pieces_are_left_to_protobuf(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    for pieces in (MAX_PIECES, MAX_PIECES + 1):
        path.write_bytes(tensor_of((block(7, b"\5" * 70) + varint_field(1, 1)) * pieces))
        skeleton = read_skeleton(path)
        assert len(skeleton.cuts) == (pieces <= MAX_PIECES)
        assert canonical(round_trip(path, 1024)) == canonical(path.read_bytes())


def test_numbers_in_short_pieces_are_left_to_protobuf(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    for size, cuts in ((1, 0), (SHORT_PIECE_BYTES, 1)):
        path.write_bytes(tensor_of((block(7, b"\5" * size) + varint_field(1, 1)) * 900))
        assert len(read_skeleton(path).cuts) == cuts
        assert canonical(round_trip(path, 1024)) == canonical(path.read_bytes())


def test_neighbouring_unpacked_numbers_are_one_piece(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(tensor_of(fixed32(4, b"abcd") * 5000))
    (cut,) = read_skeleton(path).cuts
    (piece,) = cut.fields
    assert isinstance(piece, FileSpan)
    assert piece.length == 25_000
    assert cut.payload is None
