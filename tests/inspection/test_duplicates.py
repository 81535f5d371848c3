"""Equal tensors, against a comparison of all with all."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from onnx_align_pass.inspecting import inspect_file
from onnx_align_pass.inspection.duplicates import duplicate_groups
from onnx_align_pass.inspection.inventory import inventory_of
from tests.corpus.build import DATA, point, showing, write

KINDS = (np.float32, np.int32, np.uint8)


def array_of(kind: int, size: int, last: int) -> npt.NDArray[Any]:
    """Numbers that differ in the last alone, behind what a sample sees."""
    values = np.full(size, 7, KINDS[kind])
    values[-1] = last
    return values


arrays = st.tuples(
    st.integers(0, 2), st.sampled_from([300, 1024, 1025, 3000]), st.integers(0, 1), st.booleans()
)


@settings(max_examples=40, deadline=None)
@given(drawn=st.lists(arrays, max_size=8))
def test_groups_are_the_tensors_of_equal_dtype_and_bytes(
    drawn: list[tuple[int, int, int, bool]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = build(Path(folder), drawn)
        with inventory_of(source) as inventory:
            found = duplicate_groups(inventory)
    wanted: dict[tuple[int, bytes], list[int]] = {}
    for index, (kind, size, last, outside) in enumerate(drawn):
        data = array_of(kind, size, last).tobytes()
        if outside or len(data) >= 1024:
            wanted.setdefault((kind, data), []).append(index)
    assert found == sorted(group for group in wanted.values() if len(group) > 1)


def build(folder: Path, drawn: list[tuple[int, int, int, bool]]) -> Path:
    tensors = []
    with (folder / DATA).open("wb") as file:
        for index, (kind, size, last, outside) in enumerate(drawn):
            tensor = numpy_helper.from_array(array_of(kind, size, last), f"w{index}")
            if outside:
                offset = file.tell()
                file.write(tensor.raw_data)
                length = len(tensor.raw_data)
                pairs = {"location": DATA, "offset": str(offset), "length": str(length)}
                tensor = point(tensor, pairs.items())
            tensors.append(tensor)
    return write(folder, showing(tensors))


def test_numbers_in_typed_fields_are_compared_by_their_bytes(tmp_path: Path) -> None:
    values = list(range(2000))
    raw = numpy_helper.from_array(np.array(values, np.int32), "raw")
    typed = helper.make_tensor("typed", TensorProto.INT32, [2000], values)
    floats = helper.make_tensor("floats", TensorProto.FLOAT, [2000], values)
    report = inspect_file(write(tmp_path, showing([raw, typed, floats])))
    assert [one.tensors for one in report.duplicates] == [(0, 1)]


def test_equal_bytes_of_other_types_are_other_tensors(tmp_path: Path) -> None:
    tensors = [numpy_helper.from_array(np.zeros(500, kind), kind.__name__) for kind in KINDS[:2]]
    tensors.append(numpy_helper.from_array(np.zeros(2000, np.uint8), "bytes"))
    assert inspect_file(write(tmp_path, showing(tensors))).duplicates == ()


def test_numbers_that_cannot_be_decoded_equal_nothing(tmp_path: Path) -> None:
    bad = [
        TensorProto(name=name, data_type=TensorProto.INT32, dims=[2000], int32_data=[1] * 1999)
        for name in ("a", "b")
    ]
    report = inspect_file(write(tmp_path, showing(bad)))
    assert report.duplicates == ()
