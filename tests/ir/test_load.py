"""`load`: weights stay on disk, are read when asked for, and only from the files they were in."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx_ir.passes import common

from onnx_align_pass import (
    AlignError,
    ExternalDataError,
    LossyLoadError,
    ModelNotFoundError,
    ShortSourceError,
    SourceChangedError,
    StoragePolicy,
    UsageError,
    align_file,
    load,
    save,
)
from onnx_align_pass.passes.collect import tensors_of
from tests.corpus.case import BadCase
from tests.corpus.params import bad_cases

from .harness import FULL
from .models import SHAPES, contents, on_disk, stored_bytes, weight


def stored(model: ir.Model) -> dict[str, ir.TensorProtocol]:
    """The tensors that stay in files, by name."""
    return {
        held.slot.name: held.tensor
        for held in tensors_of(model)
        if isinstance(held.tensor, ir.ExternalTensor | ir.LazyTensor)
    }


@pytest.mark.parametrize("inline", [False, True], ids=["external", "inline"])
def test_weights_are_lazy_and_their_values_right(inline: bool, tmp_path: Path) -> None:
    model = load(on_disk(tmp_path, inline=inline))
    assert set(stored(model)) == set(SHAPES)
    for name, tensor in stored(model).items():
        assert isinstance(tensor, ir.ExternalTensor)
        assert Path(tensor.base_dir) == tmp_path
        assert tensor.location == ("m.onnx" if inline else "m.onnx.data")
        expected = weight(name, SHAPES[name])
        np.testing.assert_array_equal(tensor.numpy(), expected)
        np.testing.assert_array_equal(np.asarray(tensor), expected)
        assert tensor.tobytes() == expected.tobytes()
        file = io.BytesIO()
        tensor.tofile(file)
        assert file.getvalue() == expected.tobytes()
        assert not tensor.numpy().flags.writeable


def test_numbers_in_typed_fields_are_lazy_too(tmp_path: Path) -> None:
    values = np.arange(-600, 600, dtype=np.int64)
    tensor = onnx.helper.make_tensor("w", onnx.TensorProto.INT64, [40, 30], values)
    assert tensor.int64_data
    graph = onnx.helper.make_graph([], "g", [], [], initializer=[tensor])
    path = tmp_path / "m.onnx"
    onnx.save(onnx.helper.make_model(graph), path)
    model = load(path)
    lazy = stored(model)["w"]
    assert isinstance(lazy, ir.LazyTensor)
    np.testing.assert_array_equal(lazy.numpy(), values.reshape(40, 30))
    os.utime(path, ns=(1, 1))
    with pytest.raises(SourceChangedError, match="Load the model again"):
        lazy.numpy()


def test_packed_elements_are_shown_as_onnx_ir_shows_them(tmp_path: Path) -> None:
    packed = np.arange(1200, dtype=np.uint8)
    tensor = onnx.TensorProto(
        name="w", data_type=onnx.TensorProto.INT4, dims=[2399], raw_data=packed.tobytes()
    )
    graph = onnx.helper.make_graph([], "g", [], [], initializer=[tensor])
    path = tmp_path / "m.onnx"
    onnx.save(onnx.helper.make_model(graph), path)
    mine = stored(load(path))["w"]
    theirs = ir.load(path).graph.initializers["w"].const_value
    assert theirs is not None
    assert mine.dtype == theirs.dtype
    np.testing.assert_array_equal(mine.numpy(), theirs.numpy())
    assert mine.tobytes() == packed.tobytes()


def test_weights_in_functions_and_subgraphs_know_their_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "in" / "m.onnx"
    source.parent.mkdir()
    onnx.save(onnx.parser.parse_model(FULL), source)
    align_file(source, tmp_path / "m.onnx", storage=StoragePolicy(size_threshold_bytes=16))
    monkeypatch.chdir(tmp_path)
    model = load("m.onnx")
    monkeypatch.chdir("/")
    assert set(stored(model)) == {"w", "k.value", "inner", "e.value", "d.value"}
    assert contents(model) == stored_bytes(source)


@pytest.mark.parametrize("make", [common.CheckerPass, common.ShapeInferencePass])
@pytest.mark.parametrize("external", [False, True], ids=["inline", "external"])
def test_passes_that_call_onnx_find_the_weights(
    make: Callable[[], ir.passes.PassBase],
    external: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = ", ".join(["1"] * 40)
    text = FULL.replace("[2,3]", "[20,40]")
    for numbers in ("1,2,3,4,5,6", "6,5,4,3,2,1", "1,1,1,1,1,1", "9,9,9,9,9,9", "2,2,2,2,2,2"):
        text = text.replace(f"{{{numbers}}}", "{" + ", ".join([rows] * 20) + "}")
    source = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(text.replace("{2, 3}", "{20, 40}")), source)
    if external:
        # onnx looks for external data in the working directory: as with models of ir.load.
        monkeypatch.chdir(tmp_path)
        align_file(source)
    model = load(source)
    assert len(stored(model)) == 5
    before = sorted(contents(model).values())
    make()(model)  # which may put initializers into another order
    assert sorted(contents(model).values()) == before
    save(model, tmp_path / "out.onnx")
    assert sorted(stored_bytes(tmp_path / "out.onnx").values()) == before


def test_a_file_that_was_replaced_is_not_read_under_old_offsets(tmp_path: Path) -> None:
    path = on_disk(tmp_path)
    model = load(path)
    mapped = stored(model)["a"].numpy()
    on_disk(tmp_path / "other")
    os.replace(tmp_path / "other" / "m.onnx.data", tmp_path / "m.onnx.data")
    np.testing.assert_array_equal(mapped, weight("a", SHAPES["a"]))
    for read in ("numpy", "tobytes"):
        with pytest.raises(SourceChangedError, match="changed or replaced"):
            getattr(stored(model)["b"], read)()
    with pytest.raises(SourceChangedError):
        save(model, tmp_path / "new.onnx")
    assert sorted(path.name for path in tmp_path.glob("*.onnx*")) == ["m.onnx", "m.onnx.data"]


def test_a_hub_snapshot_is_read_through_its_links(tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "1"
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    on_disk(tmp_path / "made")
    for blob, name in (("f00d", "m.onnx"), ("beef", "m.onnx.data")):
        shutil.move(tmp_path / "made" / name, blobs / blob)
        (snapshot / name).symlink_to(Path("../../blobs") / blob)
    model = load(snapshot / "m.onnx")
    assert contents(model) == stored_bytes(snapshot / "m.onnx")
    save(model, tmp_path / "out.onnx")
    assert contents(load(tmp_path / "out.onnx")) == contents(model)


def test_what_is_missing_or_short_is_said(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError):
        load(tmp_path / "none.onnx")
    with pytest.raises(UsageError, match="path is empty"):
        load("")
    with pytest.raises(ModelNotFoundError, match="the model cannot be read"):
        load(tmp_path / ("n" * 300))
    path = on_disk(tmp_path)
    os.truncate(tmp_path / "m.onnx.data", 1000)
    with pytest.raises(ShortSourceError, match="Git LFS"):
        load(path)
    (tmp_path / "m.onnx.data").unlink()
    with pytest.raises(ExternalDataError, match="missing"):
        load(path)


def test_what_onnx_ir_cannot_read_is_a_named_error(tmp_path: Path) -> None:
    model = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 20]> g (float[1] x) => (float[1] y) { y = Relu (x) }
    """)
    attribute = model.graph.node[0].attribute.add(name="s", type=onnx.AttributeProto.STRINGS)
    attribute.strings.append(b"\xff")
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(LossyLoadError, match="onnx-ir cannot read it"):
        load(tmp_path / "m.onnx")


LOADS = {"external_zero_times_huge", "raw_data_of_empty"}
"""Bad models that load: what is wrong is a tensor without elements, of which nothing is read."""


@pytest.mark.parametrize("case", bad_cases(blocks=False))
def test_a_bad_model_is_a_named_error(case: BadCase, tmp_path: Path) -> None:
    path = case.build(tmp_path)
    if case.name in LOADS:
        assert isinstance(load(path), ir.Model)
        return
    with pytest.raises(AlignError):
        load(path)
