"""The oracle tested: it sees all that matters, and not where the bytes lie."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper

from . import CASES, Case, oracle, running
from .dtypes import BITS
from .params import cases
from .spellings import SPELLINGS, spelled

each_case = pytest.mark.parametrize("case", cases())
Built = Callable[[Case], Path]


@each_case
def test_the_oracle_reads_every_case(case: Case, built: Built) -> None:
    contents = oracle.tensors(built(case))
    assert bool(contents) == (case.name != "no_tensors")
    assert oracle.rest(built(case))


@each_case
def test_the_oracle_does_not_see_where_the_bytes_lie(
    case: Case, built: Built, tmp_path: Path
) -> None:
    copy = tmp_path / "inlined.onnx"
    copy.write_bytes(oracle.inlined(built(case)).SerializeToString())
    assert oracle.tensors(copy) == oracle.tensors(built(case))
    assert oracle.rest(copy) == oracle.rest(built(case))


@each_case
def test_the_oracle_decodes_inline_tensors_as_onnx_does(case: Case, built: Built) -> None:
    path = built(case)
    expected = oracle.parse(path)
    inlined = dict(oracle.walk(oracle.inlined(path)))
    for place, tensor in oracle.walk(expected):
        if tensor.data_type in BITS and tensor.data_location != TensorProto.EXTERNAL:
            left, right = (numpy_helper.to_array(each) for each in (tensor, inlined[place]))
            assert same_numbers(left, right), place


def same_numbers(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> bool:
    """Equal, any NaN being equal to any other: onnx quiets the signalling ones."""
    if left.dtype.kind in "fc":
        return np.array_equal(left, right, equal_nan=True)
    return left.shape == right.shape and left.tobytes() == right.tobytes()


def test_the_oracle_sees_one_bit_of_a_data_file(tmp_path: Path) -> None:
    path = CASES["mixed"].build(tmp_path)
    before = oracle.tensors(path)
    data = tmp_path / "model.onnx.data"
    content = bytearray(data.read_bytes())
    content[100] ^= 1
    data.write_bytes(content)
    after = oracle.tensors(path)
    assert [place for place in before if before[place] != after[place]] == ["graph.initializer[1]"]


def test_the_oracle_sees_what_is_no_weight(tmp_path: Path) -> None:
    path = CASES["unknown_fields_everywhere"].build(tmp_path)
    before = oracle.rest(path)
    model = oracle.parse(path)
    model.graph.initializer[0].doc_string += "!"
    path.write_bytes(model.SerializeToString())
    assert oracle.rest(path) != before
    assert b"carried, not read 5" in before


def test_places_name_sparse_training_function_and_attribute_tensors(built: Built) -> None:
    expected = {
        "sparse_inline": "graph.sparse_initializer[1].indices",
        "training_inline": "training_info[1].algorithm.initializer[0]",
        "function_constants": "functions[0].node[1].attribute[0].t",
        "function_attribute_default": "functions[0].attribute_proto[0].t",
        "if_branches": "graph.node[0].attribute[1].g.initializer[3]",
        "tensors_attribute": "graph.node[0].attribute[0].tensors[2]",
        "sparse_constants": "graph.node[0].attribute[0].sparse_tensor.values",
    }
    for name, place in expected.items():
        assert place in oracle.tensors(built(CASES[name])), name


@pytest.mark.parametrize("how", SPELLINGS)
def test_a_spelled_path_is_the_model(how: str, tmp_path: Path) -> None:
    path = CASES["mixed"].build(tmp_path)
    expected = oracle.tensors(path)
    with spelled(path, how) as text:
        assert os.path.samefile(text, path)
        assert oracle.tensors(Path(text)) == expected


def test_outputs_are_compared_bit_by_bit() -> None:
    zero, minus, nan = (np.array([value], np.float32) for value in (0.0, -0.0, np.nan))
    assert running.same_outputs([nan], [nan.copy()])
    assert not running.same_outputs([zero], [minus])
    assert not running.same_outputs([zero], [zero.astype(np.float64)])
    assert not running.same_outputs([zero], [])
