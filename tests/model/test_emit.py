"""What is put back inline stands where it was, and the lengths around it are right."""

from __future__ import annotations

import random
from pathlib import Path

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnx_align_pass.errors import BrokenModelError
from onnx_align_pass.model.emit import PROTOBUF_MAX_BYTES, emit, size_of
from onnx_align_pass.model.skeleton import Cut, Skeleton, read_skeleton
from onnx_align_pass.model.wire import BYTES, encode_varint
from onnx_align_pass.spans import FileSpan
from tests.corpus import CASES, oracle
from tests.corpus.wire import block

from .support import canonical, emitted, joined
from .wild import WEIGHTS, Wild

LENGTHS = (1, 60, 127, 128, 129, 16_383, 16_384, 16_385, 70_000, 2_097_153)
"""Around the sizes at which a length takes one byte more, for the tensor or for what holds it."""


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data file of random bytes."""
    path = tmp_path_factory.mktemp("weights") / "data"
    path.write_bytes(random.Random(0).randbytes(2_200_000))
    return path


def embed(skeleton: Skeleton, tensor: onnx.TensorProto, span: FileSpan) -> None:
    """Make a span the tensor's raw_data, as `bind` does."""
    header = encode_varint(9 << 3 | BYTES) + encode_varint(span.length)
    tensor.raw_data = skeleton.place(Cut("raw_data", (header, span), span))


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32), size=st.integers(5, 80), cut=st.sampled_from((0, 1024)))
def test_weights_of_a_data_file_become_raw_data_wherever_they_hang(
    scratch: Path, weights: Path, seed: int, size: int, cut: int
) -> None:
    content = Wild(seed, size).model()
    scratch.write_bytes(content)
    expected = onnx.ModelProto.FromString(content)
    skeleton = read_skeleton(scratch, cut_bytes=cut)
    small, rng = dict(oracle.walk(skeleton.proto)), random.Random(seed)
    for place, tensor in oracle.walk(expected):
        if rng.random() < 0.5:
            span = FileSpan(weights, rng.randrange(1000), rng.choice(LENGTHS))
            for each in (tensor, small[place]):
                for name in WEIGHTS:
                    each.ClearField(name)
            tensor.raw_data = joined([span])
            embed(skeleton, small[place], span)
    assert emitted(skeleton) == joined(emit(skeleton))
    assert canonical(emitted(skeleton)) == expected.SerializeToString(deterministic=True)


@pytest.mark.parametrize("name", ["if_branches", "function_constants", "sparse_inline"])
@pytest.mark.parametrize("length", LENGTHS)
def test_lengths_around_nested_weights_are_right(
    name: str, length: int, weights: Path, tmp_path: Path
) -> None:
    path = CASES[name].build(tmp_path)
    expected = oracle.parse(path)
    skeleton = read_skeleton(path)
    small = dict(oracle.walk(skeleton.proto))
    span = FileSpan(weights, 0, length)
    for place, tensor in oracle.walk(expected):
        tensor.raw_data = joined([span])
        embed(skeleton, small[place], span)
    assert canonical(emitted(skeleton)) == expected.SerializeToString(deterministic=True)


def test_the_parts_are_few_and_weights_are_not_among_the_bytes(tmp_path: Path) -> None:
    path = CASES["mixed"].build(tmp_path)
    parts = emit(read_skeleton(path, cut_bytes=100))
    assert size_of(parts) == path.stat().st_size
    spans = [part for part in parts if isinstance(part, FileSpan)]
    assert spans
    assert all(span.path == path for span in spans)
    assert sum(span.length for span in spans) + size_of([b for b in parts if b not in spans]) == (
        size_of(parts)
    )


def limit_of(path: Path) -> int:
    """Bytes of weights with which the file of one tensor is just as large as protobuf reads."""
    skeleton = skeleton_with(path, 2**31 - 100)
    return 2**31 - 100 + PROTOBUF_MAX_BYTES - size_of(emit(skeleton))


def skeleton_with(path: Path, length: int) -> Skeleton:
    path.write_bytes(block(7, block(5, block(8, b"w"))))
    skeleton = read_skeleton(path)
    embed(skeleton, skeleton.proto.graph.initializer[0], FileSpan(path, 0, length))
    return skeleton


def test_a_result_larger_than_protobuf_reads_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    limit = limit_of(path)
    assert size_of(emit(skeleton_with(path, limit))) == PROTOBUF_MAX_BYTES
    with pytest.raises(BrokenModelError, match="too large for protobuf"):
        emit(skeleton_with(path, limit + 1))
