"""The way through an ir.Model gives what the way from file to file gives."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import onnx
import onnx_ir as ir
import pytest

from onnx_align_pass import (
    LayoutPolicy,
    LossyLoadError,
    ModelError,
    StoragePolicy,
    align_file,
    load,
    save,
)
from tests.corpus import oracle
from tests.corpus.case import Case
from tests.corpus.params import cases
from tests.corpus.real import BACKEND, REAL, node_models
from tests.corpus.running import run, same_outputs

EVERYTHING = StoragePolicy(size_threshold_bytes=0)
LOSSY = {
    "sparse_inline": "3 x sparse_initializer",
    "sparse_external": "3 x sparse_initializer",
    "sparse_half_external": "2 x sparse_initializer",
    "sparse_external_values": "3 x sparse_initializer",
    "sparse_constants": "Sparse tensors are not supported",
    "sparse_tensors_attribute": "Sparse tensors are not supported",
    "training_inline": "2 x training_info",
    "training_external": "2 x training_info",
    "tensor_names_missing": "1 x initializer given twice",
    "tensor_names_twice": "1 x initializer given twice",
    "tensor_name_not_utf8": "must be a string",
    "data_inside_the_model": "1 x unknown fields of ModelProto",
    "unknown_dtypes_inline": "is not a valid DataType",
    "unknown_fields_everywhere": "9 x unknown fields of NodeProto",
    "metadata_everywhere": "2 x training_info",
    "metadata_keys_twice": "metadata_props given twice",
    "other_large_attributes": "utf-8",
    "future_versions_inside": "3 x unknown fields of TensorProto",
    "wire_unknown_in_tensor": "1 x unknown fields of TensorProto",
    "wire_known_field_of_wrong_type": "1 x unknown fields of TensorProto",
    "wire_unknown_groups": "1 x unknown fields of GraphProto",
    "wire_nested_groups": "1 x unknown fields of ModelProto",
    "wire_empty_parts": "1 x unknown fields of ModelProto",
}
"""Cases of which onnx-ir 1.1.0 would lose a part, and what the error names of it."""
REFUSED = {"location_down_and_up"}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """onnx-ir logs what it thinks of odd models."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def compare(source: Path, folder: Path, storage: StoragePolicy | None = None) -> Path:
    """Both ways; the same data files to the byte, the same tensors, the same model."""
    by_file, by_ir = folder / "file" / "m.onnx", folder / "ir" / "m.onnx"
    for path in (by_file, by_ir):
        path.parent.mkdir(parents=True)
    storage = storage or StoragePolicy()
    align_file(source, by_file, storage=storage, durable=False)
    save(load(source), by_ir, storage=storage, durable=False, verify=True)
    assert files(by_file) == files(by_ir)
    for name in files(by_file) - {"m.onnx"}:
        assert (by_file.parent / name).read_bytes() == (by_ir.parent / name).read_bytes(), name
    assert oracle.tensors(by_ir) == oracle.tensors(by_file)
    # Up to what onnx-ir itself adds when it reads and writes a model.
    again = folder / "again.onnx"
    proto = ir.to_proto(ir.from_proto(onnx.load(by_file, load_external_data=False)))
    for _, tensor in oracle.walk(proto):
        said = {entry.key: entry.value for entry in tensor.metadata_props}
        del tensor.metadata_props[:]  # it says them twice, we do not
        for key, value in said.items():
            tensor.metadata_props.add(key=key, value=value)
    again.write_bytes(proto.SerializeToString())
    assert oracle.rest(by_ir) == oracle.rest(again)
    return by_ir


def files(model: Path) -> set[str]:
    """The names of all that lies beside a model, and of it."""
    return {path.relative_to(model.parent).as_posix() for path in model.parent.rglob("*")}


@pytest.mark.parametrize("case", [one for one in cases() if one.id not in {*LOSSY, *REFUSED}])
@pytest.mark.parametrize("storage", [StoragePolicy(), EVERYTHING], ids=["default", "all"])
def test_data_files_are_the_same_bytes_and_models_equal(
    case: Case, storage: StoragePolicy, tmp_path: Path
) -> None:
    if case.name == "device_configuration" and not hasattr(ir.Model, "device_configurations"):
        pytest.skip("this onnx-ir does not know device configurations, and so load refuses them")
    source = case.build(tmp_path)
    result = compare(source, tmp_path / "result", storage)
    if case.runs:
        assert same_outputs(run(source), run(result))


@pytest.mark.parametrize("case", [one for one in cases() if one.id in LOSSY])
def test_what_the_ir_would_lose_is_refused_and_listed(case: Case, tmp_path: Path) -> None:
    source = case.build(tmp_path)
    with pytest.raises(LossyLoadError) as error:
        load(source)
    assert LOSSY[case.name] in (error.value.found or "")
    assert str(source) in str(error.value)
    assert "align_file" in str(error.value)


def test_the_error_counts_what_would_go(tmp_path: Path) -> None:
    model = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 20]> g (float[1] x) => (float[1] y) { y = Relu (x) }
    """)
    for name in ("s", "t"):
        sparse = model.graph.sparse_initializer.add(dims=[4])
        sparse.values.CopyFrom(onnx.helper.make_tensor(name, onnx.TensorProto.FLOAT, [1], [1.0]))
        sparse.indices.CopyFrom(onnx.helper.make_tensor("", onnx.TensorProto.INT64, [1], [2]))
    model.training_info.add().algorithm.name = "sgd"
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString() + b"\xa2\x06\x01u")
    with pytest.raises(LossyLoadError) as error:
        load(path)
    assert error.value.found == (
        "1 x unknown fields of ModelProto (at the model); "
        "2 x sparse_initializer (at graph.sparse_initializer[0]); "
        "1 x training_info (at training_info[0])"
    )
    assert len(load(path, allow_loss=True).graph) == 1


@pytest.mark.parametrize("name", sorted(REAL))
def test_a_real_model_goes_both_ways_alike(name: str, tmp_path: Path) -> None:
    real = REAL[name]
    source = real.path()
    result = compare(source, tmp_path)
    assert same_outputs(run(source, real.feeds()), run(result, real.feeds()))


def test_every_backend_model_goes_both_ways_alike(tmp_path: Path) -> None:
    if not BACKEND:
        pytest.skip("the installed onnx carries no backend test models")
    for number, source in enumerate(BACKEND.values()):
        compare(source, tmp_path / str(number), EVERYTHING)


def test_none_of_the_models_of_onnx_own_node_tests_is_refused(tmp_path: Path) -> None:
    refused = {}
    for name, proto in node_models().items():
        path = tmp_path / "m.onnx"
        path.write_bytes(proto.SerializeToString())
        try:
            load(path)
        except ModelError as error:
            refused[name] = str(error)
    assert len(node_models()) > 1000
    assert refused == {}


def test_layouts_are_the_same_both_ways(tmp_path: Path) -> None:
    source = REAL["silero_vad"].path()
    layout = LayoutPolicy(alignment=512, align_threshold=4096, pad="file", data_name="w/{stem}.bin")
    align_file(source, tmp_path / "a" / "m.onnx", layout=layout, durable=False)
    save(load(source), tmp_path / "b" / "m.onnx", layout=layout, durable=False)
    assert (tmp_path / "a/w/m.bin").read_bytes() == (tmp_path / "b/w/m.bin").read_bytes()
