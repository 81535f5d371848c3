"""What went wrong once: odd tensors, stale tags, names that clash, folders that move."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from onnx_align_pass import (
    AlignError,
    LayoutPolicy,
    ModelError,
    StoragePolicy,
    TagExternalDataPass,
    TensorError,
    UsageError,
    WriteAlignedPass,
    WriteError,
    decision_of,
    load,
    save,
    save_shared,
    tag_tensor,
)
from onnx_align_pass.ir.stored import StoredTensor
from onnx_align_pass.transfer import kernel

from .harness import FULL, model_of
from .models import contents, on_disk, stored_bytes, weight, with_weights

FORCED = StoragePolicy(external_if=lambda facts: True)


class Foreign:
    """A tensor that follows the protocol and nothing else; it says its bytes itself."""

    raw = None
    doc_string = None

    def __init__(self, array: Any, dtype: ir.DataType, data: bytes) -> None:
        self.array, self.dtype, self.data = array, dtype, data
        self.name = "w"
        self.shape = ir.Shape(array.shape)
        self.size = array.size
        self.nbytes = len(data)

    def numpy(self) -> Any:
        return self.array

    def tobytes(self) -> bytes:
        return self.data


@pytest.mark.parametrize("shape", [(64, 64), (2, 3)], ids=["large", "small"])
@pytest.mark.parametrize("storage", [StoragePolicy(), FORCED], ids=["default", "external"])
def test_a_tensor_of_another_maker_is_written_as_the_bytes_it_says(
    shape: tuple[int, ...], storage: StoragePolicy, tmp_path: Path
) -> None:
    array = weight("w", shape).astype(np.float16)  # as wide as bfloat16, and not that
    data = os.urandom(array.nbytes)
    tensor: Any = Foreign(array, ir.DataType.BFLOAT16, data)
    save(with_weights({"w": tensor}), tmp_path / "m.onnx", storage=storage)
    assert stored_bytes(tmp_path / "m.onnx") == {"graph.initializer[0]": data}


def test_a_masked_array_is_no_shortcut(tmp_path: Path) -> None:
    array = np.ma.masked_array(weight("w"), mask=weight("w") > 0)
    tensor = ir.Tensor(array, name="w")
    save(with_weights({"w": tensor}), tmp_path / "m.onnx")
    assert stored_bytes(tmp_path / "m.onnx") == {"graph.initializer[0]": tensor.tobytes()}


def test_a_single_packed_element_is_packed(tmp_path: Path) -> None:
    packed = np.array([0xAB], np.uint8)
    tensor = ir.PackedTensor(packed, ir.DataType.INT4, shape=ir.Shape([1]), name="w")
    save(with_weights({"w": tensor}), tmp_path / "m.onnx", storage=FORCED)
    assert (tmp_path / "m.onnx.data").read_bytes() == b"\xab"


@pytest.mark.parametrize(("elements", "given"), [(1000, 999), (1000, 1001), (10, 9)])
def test_bytes_that_contradict_a_shape_are_refused(
    elements: int, given: int, tmp_path: Path
) -> None:
    proto = onnx.TensorProto(name="w", data_type=1, dims=[elements], raw_data=bytes(4 * given))
    with pytest.raises(TensorError, match="'w'"):
        save(with_weights({"w": ir.serde.TensorProtoTensor(proto)}), tmp_path / "m.onnx")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("field", [{}, {"int64_data": range(300)}], ids=["none", "wrong"])
def test_numbers_that_are_not_there_are_not_made_up(field: Any, tmp_path: Path) -> None:
    graph = onnx.GraphProto(name="g")
    graph.initializer.add(name="w", data_type=1, dims=[300], **field)
    path = tmp_path / "m.onnx"
    path.write_bytes(onnx.helper.make_model(graph).SerializeToString())
    with pytest.raises(TensorError, match="'w'"):
        load(path)


@pytest.mark.parametrize("name", ["nowhere", "x", "y"])
def test_value_info_that_says_nothing_new_is_no_loss(name: str, tmp_path: Path) -> None:
    proto = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 20]> g (float[1] x) => (float[1] y) { y = Relu (x) }
    """)
    proto.graph.value_info.append(
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1])
    )
    path = tmp_path / "m.onnx"
    onnx.save(proto, path)
    assert len(load(path).graph) == 1


def test_what_is_said_of_an_intermediate_value_is_a_loss() -> None:
    from onnx_align_pass.model.losses import losses

    proto = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 20]>
        g (float[1] x) => (float[1] y) <float[1] h> { h = Relu (x)  y = Relu (h) }
    """)
    assert [one.name for one in proto.graph.value_info] == ["h"]
    bare = onnx.ModelProto()
    bare.CopyFrom(proto)
    del bare.graph.value_info[:]
    assert losses(proto, bare) == ["1 x value_info (at graph.value_info[0])"]
    assert losses(bare, proto) == []


def test_metadata_is_said_once_and_loads_again(tmp_path: Path) -> None:
    proto = onnx.TensorProto(name="w", data_type=1, dims=[4], raw_data=bytes(16))
    proto.metadata_props.add(key="k", value="v")
    save(with_weights({"w": ir.serde.TensorProtoTensor(proto)}), tmp_path / "m.onnx")
    (stored,) = onnx.load(tmp_path / "m.onnx").graph.initializer
    assert [(one.key, one.value) for one in stored.metadata_props] == [("k", "v")]
    assert contents(load(tmp_path / "m.onnx"))


def test_a_decision_about_another_tensor_does_not_count(tmp_path: Path) -> None:
    model = with_weights({"big": ir.tensor(weight("b")), "few": ir.tensor(np.arange(4))})
    TagExternalDataPass()(model)
    initializers = model.graph.initializers
    big, few = initializers["big"], initializers["few"]
    big.const_value, few.const_value = few.const_value, big.const_value
    WriteAlignedPass(tmp_path / "m.onnx")(model)
    external = {
        tensor.name
        for tensor in onnx.load(tmp_path / "m.onnx", load_external_data=False).graph.initializer
        if tensor.external_data
    }
    assert external == {"few"}
    decision = decision_of(big)
    assert decision is not None
    assert decision.external  # as it was recorded: the tag itself is not touched


def test_a_name_with_the_suffix_of_models_is_a_data_files_all_the_same(tmp_path: Path) -> None:
    ir.save(with_weights(), tmp_path / "m.onnx", external_data="w.onnx")
    model = load(tmp_path / "m.onnx")
    save(model, tmp_path / "kept.onnx", size_threshold_bytes=None)
    assert (tmp_path / "kept.onnx.data").exists()
    save_shared(model, tmp_path / "v.onnx")
    assert not (tmp_path / "v.onnx.data").exists()


@pytest.mark.parametrize(
    ("groups", "limit"),
    [
        ({"a": "m-00001-of-00002.onnx.data"}, 20_100),
        ({"a": "x", "b": "x/y"}, None),
        ({"a": "m.onnx/x"}, None),
        ({"a": "m.onnx.data/x"}, None),
    ],
)
def test_groups_whose_names_clash_are_refused(
    groups: dict[str, str], limit: int | None, tmp_path: Path
) -> None:
    model = with_weights()
    for name, group in groups.items():
        tag_tensor(model.graph.initializers[name], group=group)
    with pytest.raises(UsageError, match="Name the group, or the data file, otherwise"):
        save(model, tmp_path / "m.onnx", max_shard_size_bytes=limit)
    assert os.listdir(tmp_path) == []


def test_a_group_may_hold_the_models_name(tmp_path: Path) -> None:
    model = with_weights()
    tag_tensor(model.graph.initializers["a"], group="{stem}.first")
    save(model, tmp_path / "m.onnx")
    assert sorted(os.listdir(tmp_path)) == ["m.first", "m.onnx", "m.onnx.data"]


def test_inline_and_back_over_itself(tmp_path: Path) -> None:
    path = on_disk(tmp_path)
    model, expected = load(path), stored_bytes(path)
    for threshold in (1 << 40, 1024, 1 << 40, 1024):
        # The data file that was left has no owner but this model, which only we know of.
        save(model, path, size_threshold_bytes=threshold, force=True)
        assert stored_bytes(path) == expected
        assert contents(model) == expected
    assert sorted(os.listdir(tmp_path)) == ["m.onnx", "m.onnx.data"]


def test_a_lazy_tensor_that_is_cached_is_not_made_again(tmp_path: Path) -> None:
    once = [ir.tensor(weight("w"), name="w")]
    lazy = ir.LazyTensor(once.pop, ir.DataType.FLOAT, ir.Shape([64, 64]), cache=True, name="w")
    expected = lazy.tobytes()
    save(with_weights({"w": lazy}), tmp_path / "m.onnx")
    assert stored_bytes(tmp_path / "m.onnx") == {"graph.initializer[0]": expected}


def test_folds_in_function_bodies_move_along(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(FULL), path)
    storage = StoragePolicy(size_threshold_bytes=16)
    save(load(path), path, storage=storage)
    model = load(path)
    (function,) = model.functions.values()
    constant = function[0]
    constant.outputs[0].const_value = constant.attributes["value"].value
    save(model, path, storage=storage, layout=LayoutPolicy(alignment=64))
    assert constant.outputs[0].const_value is constant.attributes["value"].value
    assert contents(model) == stored_bytes(path)


@pytest.mark.parametrize("read", [load, ir.load], ids=["load", "ir.load"])
def test_a_model_follows_although_the_last_sync_failed(
    read: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = on_disk(tmp_path)
    model, expected = read(path), stored_bytes(path)
    before = path.read_bytes()
    real = kernel.sync_folder

    def sync(folder: Any) -> None:
        in_place = b"align-" not in path.read_bytes()
        if in_place and path.read_bytes() != before:
            raise OSError(errno.EIO, "input/output error")
        real(folder)

    monkeypatch.setattr(kernel, "sync_folder", sync)
    with pytest.raises(WriteError):
        save(model, path)
    monkeypatch.undo()
    assert path.read_bytes() != before
    assert stored_bytes(path) == expected
    assert contents(model) == expected


def test_a_model_that_moved_is_read_from_its_new_folder(tmp_path: Path) -> None:
    model = load(on_disk(tmp_path / "a"))
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    (tmp_path / "b" / "m.onnx.data").write_bytes(bytes((tmp_path / "a/m.onnx.data").stat().st_size))
    ir.external_data.set_base_dir(model.graph, tmp_path / "b")
    assert not any(any(data) for data in contents(model).values())
    save(model, tmp_path / "out.onnx")
    assert stored_bytes(tmp_path / "out.onnx") == contents(model)


def test_a_tensors_own_notes_outlive_binding(tmp_path: Path) -> None:
    path = on_disk(tmp_path)
    model = load(path)
    value = model.graph.initializers["a"]
    assert value.const_value is not None
    value.const_value.meta["mine"] = 1
    save(model, path, layout=LayoutPolicy(alignment=64))
    assert isinstance(value.const_value, StoredTensor)
    assert value.const_value.meta["mine"] == 1


def test_data_is_read_though_the_model_file_is_gone(tmp_path: Path) -> None:
    path = on_disk(tmp_path)
    model, expected = load(path), stored_bytes(path)
    path.unlink()
    assert contents(model) == expected


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    path = on_disk(tmp_path / "m")
    os.rename(tmp_path / "m/m.onnx.data", tmp_path / "secret")
    (tmp_path / "m/m.onnx.data").symlink_to(tmp_path / "secret")
    with pytest.raises(ModelError):
        load(path)
    with pytest.raises(AlignError):
        save(ir.load(path), tmp_path / "out.onnx")
    assert sorted(os.listdir(tmp_path)) == ["m", "secret"]


def test_models_of_functions_and_subgraphs_are_untouched_by_a_failure(tmp_path: Path) -> None:
    from .models import hung

    model = model_of()
    before = hung(model)
    (tmp_path / "m.onnx.data").write_bytes(b"somebody's")
    with pytest.raises(ModelError):
        save(model, tmp_path / "m.onnx", storage=FORCED)
    assert hung(model) == before
