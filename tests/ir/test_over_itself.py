"""Saving over the files that a model's own tensors lie in: never new bytes under old offsets."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from onnx_align_pass import (
    DestinationError,
    LayoutPolicy,
    SourceChangedError,
    StoragePolicy,
    WriteAlignedPass,
    load,
    save,
)
from onnx_align_pass.ir.stored import StoredTensor

from .harness import FULL
from .models import contents, hung, on_disk, stored_bytes

Load = Callable[[Path], ir.Model]
POLICIES = {
    "default": StoragePolicy(),
    "keep": StoragePolicy(size_threshold_bytes=None),
    "everything": StoragePolicy(size_threshold_bytes=0),
    "nothing": StoragePolicy(size_threshold_bytes=1 << 40),
}


@pytest.mark.parametrize("read", [load, ir.load], ids=["load", "ir.load"])
@pytest.mark.parametrize("inline", [False, True], ids=["external", "inline"])
@pytest.mark.parametrize("policy", POLICIES)
def test_the_model_reads_the_same_bytes_afterwards(
    read: Load, inline: bool, policy: str, tmp_path: Path
) -> None:
    path = on_disk(tmp_path, inline=inline)
    expected = stored_bytes(path)
    model = read(path)
    for alignment in (64, 4096, 4096, 1):  # several times in a row, each other than the last
        save(
            model, path, storage=POLICIES[policy], layout=LayoutPolicy(alignment=alignment),
            verify=True,
        )  # fmt: skip
        assert contents(model) == expected
        assert stored_bytes(path) == expected
        assert contents(load(path)) == expected


@pytest.mark.parametrize("read", [load, ir.load], ids=["load", "ir.load"])
def test_a_clone_from_before_refuses_where_it_would_read_wrong(read: Load, tmp_path: Path) -> None:
    path = on_disk(tmp_path)
    model = read(path)
    clone = model.clone()
    mapped = clone.graph.initializers["a"].const_value
    assert mapped is not None
    expected = np.array(mapped.numpy())
    save(model, path, layout=LayoutPolicy(alignment=8192))
    tensor = clone.graph.initializers["b"].const_value
    assert tensor is not None
    with pytest.raises((SourceChangedError, ValueError), match=r"changed or replaced|invalidated"):
        tensor.numpy()
    if read is load:
        np.testing.assert_array_equal(mapped.numpy(), expected)


def test_weights_everywhere_move_along(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(FULL), path)
    everything = StoragePolicy(size_threshold_bytes=16)
    expected = stored_bytes(path)
    save(load(path), path, storage=everything)
    model = load(path)
    for alignment in (64, 512):
        save(model, path, storage=everything, layout=LayoutPolicy(alignment=alignment))
        assert contents(model) == expected
    assert contents(load(path)) == expected


def test_numbers_in_typed_fields_move_along(tmp_path: Path) -> None:
    tensor = onnx.helper.make_tensor("w", onnx.TensorProto.INT64, [700], range(-350, 350))
    path = tmp_path / "m.onnx"
    graph = onnx.helper.make_graph([], "g", [], [], initializer=[tensor])
    onnx.save(onnx.helper.make_model(graph), path)
    for policy in ("keep", "default"):
        model = load(path)
        save(model, path, storage=POLICIES[policy])
        save(model, path, storage=POLICIES[policy])
        assert contents(model) == {"graph.initializer[0]": np.arange(-350, 350).tobytes()}


def test_what_a_fold_has_left_on_a_node_moves_along(tmp_path: Path) -> None:
    path = on_disk(tmp_path)
    model = load(path)
    tensor = model.graph.initializers["a"].const_value
    assert tensor is not None
    expected = tensor.tobytes()
    model.graph[0].outputs[0].const_value = tensor
    save(model, path)
    moved = model.graph[0].outputs[0].const_value
    assert moved is model.graph.initializers["a"].const_value
    assert moved is not None
    assert moved.tobytes() == expected


def test_elsewhere_nothing_is_bound_anew(tmp_path: Path) -> None:
    model = load(on_disk(tmp_path / "a"))
    before = hung(model)
    (tmp_path / "b").mkdir()
    save(model, tmp_path / "b" / "m.onnx")
    assert hung(model) == before


def test_rebind_points_every_external_tensor_at_its_new_file(tmp_path: Path) -> None:
    from .models import with_weights

    model = with_weights()
    model.graph.initializers["a"].const_value.doc_string = "kept"  # type: ignore[union-attr]
    expected = contents(model)
    write = WriteAlignedPass(tmp_path / "m.onnx", rebind=True)
    assert write.changes_input
    assert write(model).modified
    for value in model.graph.initializers.values():
        assert isinstance(value.const_value, StoredTensor)
        assert value.const_value.name == value.name
        assert Path(value.const_value.path) == tmp_path / "m.onnx.data"
    assert contents(model) == expected
    assert not write(model).modified
    assert write.report is not None
    assert write.report.models[0].unchanged


def test_data_that_only_this_model_used_goes_when_it_is_bound_anew(tmp_path: Path) -> None:
    path = on_disk(tmp_path)
    model = load(path)
    save(model, path, external_data="kept.data")
    assert sorted(os.listdir(tmp_path)) == ["kept.data", "m.onnx", "m.onnx.data"]
    WriteAlignedPass(path, layout=LayoutPolicy(data_name="new.data"), rebind=True)(model)
    assert sorted(os.listdir(tmp_path)) == ["m.onnx", "m.onnx.data", "new.data"]
    assert contents(model) == stored_bytes(path)


def test_a_data_file_of_another_model_is_not_replaced(tmp_path: Path) -> None:
    source = on_disk(tmp_path)
    model = load(source)
    with pytest.raises(DestinationError, match="another model"):
        save(model, tmp_path / "copy.onnx", external_data="m.onnx.data", force=True)
    assert contents(model) == stored_bytes(source)
