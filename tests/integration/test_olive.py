"""Olive: workflows that end with the pass, run by Olive's own engine."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from onnx_align_pass import (
    DestinationExistsError,
    PolicyError,
    UnsafeDataFileError,
    UsageError,
    WriteError,
)
from onnx_align_pass.hooks.olive import package_config, write_package_config
from tests.corpus.running import run, same_outputs

from .aligned import locations, offsets, quiet

pytestmark = pytest.mark.needs_olive

ALIGN = {"type": "OnnxAlign", "alignment": 16384, "external_data_name": "weights.bin"}
BEFORE: dict[str, dict[str, Any]] = {
    "nothing": {},
    "a pass that saves the weights inside": {"half": {"type": "OnnxFloatToFloat16"}},
    "a pass that saves them beside": {
        "half": {"type": "OnnxFloatToFloat16", "save_as_external_data": True}
    },
    "a pass that saves a file a tensor": {
        "half": {
            "type": "OnnxFloatToFloat16",
            "save_as_external_data": True,
            "all_tensors_to_one_file": False,
        }
    },
    "a pass that links the data": {"name": {"type": "AddOliveMetadata", "graph_name": "named"}},
}


@pytest.fixture(autouse=True, scope="module")
def _no_telemetry() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OLIVE_DISABLE_TELEMETRY", "1")
        yield


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A model of two products with external weights, packed by onnx."""
    rng = np.random.default_rng(0)
    weights = {"w": (30, 50), "v": (50, 70)}
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"]),
            helper.make_node("MatMul", ["h", "v"], ["y"]),
        ],
        "products",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 30])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2, 70])],
        [
            numpy_helper.from_array(rng.standard_normal(shape, np.float32), name)
            for name, shape in weights.items()
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "source" / "model.onnx"
    path.parent.mkdir()
    onnx.save(model, path, save_as_external_data=True, location="model.onnx.data")
    return path


def workflow(source: Path, passes: dict[str, Any], out: Path) -> dict[str, Any]:
    """What `olive run` reads."""
    config = {"model_path": str(source.parent), "onnx_file_name": source.name}
    return {
        "input_model": {"type": "OnnxModel", **config},
        "passes": passes,
        "output_dir": str(out),
        "cache_dir": str(out.parent / f"{out.name} cache"),
    }


def olive(source: Path, passes: dict[str, Any], out: Path) -> Path:
    """Run a workflow; the model that it leaves."""
    with quiet():
        workflows = importlib.import_module("olive.workflows")
        workflows.run(workflow(source, passes, out), package_config=package_config())
    return out / "model.onnx"


@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
def test_a_workflow_ends_with_an_aligned_model_of_the_same_outputs(
    source: Path, tmp_path: Path, before: dict[str, Any]
) -> None:
    kept = {path.name: path.read_bytes() for path in source.parent.iterdir()}
    plain = olive(source, before, tmp_path / "plain") if before else source
    found = olive(source, {**before, "align": ALIGN}, tmp_path / "aligned")
    assert offsets(found) == [0, 16384]
    assert locations(found) == {"weights.bin"}
    assert same_outputs(run(plain), run(found))
    assert {path.name: path.read_bytes() for path in source.parent.iterdir()} == kept


def test_the_command_runs_a_workflow_with_the_package_configuration(
    source: Path, tmp_path: Path
) -> None:
    passes = {"align": {"type": "OnnxAlign", "alignment": 65536, "verify": True}}
    config = tmp_path / "workflow.json"
    config.write_text(json.dumps(workflow(source, passes, tmp_path / "out")))
    packages = write_package_config(tmp_path / "packages.json")
    done = subprocess.run(
        [sys.executable, "-m", "olive", "run", "--config", config, "--package-config", packages],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = tmp_path / "out" / "model.onnx"
    assert offsets(found) == [0, 65536]
    assert same_outputs(run(source), run(found))


def test_rules_are_texts_in_the_workflow(source: Path, tmp_path: Path) -> None:
    align = {**ALIGN, "rules": ["w: external group=first.bin", ".*: input=MatMul.1 inline"]}
    found = olive(source, {"align": align}, tmp_path / "out")
    assert locations(found) == {"first.bin"}
    assert same_outputs(run(source), run(found))


def test_a_bad_value_ends_the_workflow_with_the_named_error(source: Path, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="alignment cannot be 1000"):
        olive(source, {"align": {"type": "OnnxAlign", "alignment": 1000}}, tmp_path / "out")
    assert not (tmp_path / "out" / "model.onnx").exists()


def test_files_beside_the_model_come_along(source: Path, tmp_path: Path) -> None:
    np.savez(source.parent / "adapter.npz", a=np.ones(3))
    with quiet():
        handlers = importlib.import_module("olive.model")
        model = handlers.ONNXModelHandler(
            str(source.parent), source.name, external_initializers_file_name="adapter.npz"
        )
        result = the_pass().run(model, str(tmp_path / "out"))
    assert Path(result.external_initializers_path) == tmp_path / "out" / "adapter.npz"
    assert Path(result.model_path) == tmp_path / "out" / "model.onnx"
    assert offsets(tmp_path / "out" / "model.onnx") == [0, 8192]


def compiled(source: Path, context: str) -> Any:
    """The model with a node that names a compiled context; its handler."""
    model = onnx.load(source, load_external_data=False)
    node = helper.make_node("EPContext", ["x"], ["z"], domain="com.microsoft")
    node.attribute.append(helper.make_attribute("ep_cache_context", context))
    model.graph.node.append(node)
    source.write_bytes(model.SerializeToString())
    return importlib.import_module("olive.model").ONNXModelHandler(str(source.parent), source.name)


def test_a_compiled_context_comes_along(source: Path, tmp_path: Path) -> None:
    (source.parent / "deep").mkdir()
    (source.parent / "deep" / "context.bin").write_bytes(b"compiled")
    with quiet():
        the_pass().run(compiled(source, "deep/context.bin"), str(tmp_path / "out"))
    assert (tmp_path / "out" / "deep" / "context.bin").read_bytes() == b"compiled"


def test_a_context_in_the_attribute_itself_is_no_file(source: Path, tmp_path: Path) -> None:
    with quiet():
        the_pass().run(compiled(source, "\0compiled"), str(tmp_path / "out"))
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_a_file_beside_the_model_never_replaces_its_data(source: Path, tmp_path: Path) -> None:
    with quiet(), pytest.raises(DestinationExistsError, match="external_data_name"):
        the_pass().run(compiled(source, "model.onnx.data"), str(tmp_path / "out"))
    assert (tmp_path / "out" / "model.onnx.data").read_bytes() != (
        source.parent / "model.onnx.data"
    ).read_bytes()


def test_a_compiled_context_outside_the_folder_is_refused(source: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    with quiet(), pytest.raises(UnsafeDataFileError, match=r"\.\./secret"):
        the_pass().run(compiled(source, "../secret"), str(tmp_path / "deep" / "out"))
    assert not (tmp_path / "deep" / "secret").exists()


def test_each_part_of_a_composite_model_is_aligned(source: Path, tmp_path: Path) -> None:
    with quiet():
        handlers = importlib.import_module("olive.model")
        part = handlers.ONNXModelHandler(str(source.parent), source.name)
        whole = handlers.CompositeModelHandler([part, part], ["encoder", "decoder"])
        the_pass().run(whole, str(tmp_path / "out"))
    for name in ("encoder", "decoder"):
        assert offsets(tmp_path / "out" / name / "model.onnx") == [0, 8192]


def test_a_model_of_another_kind_is_refused(tmp_path: Path) -> None:
    with quiet():
        handlers = importlib.import_module("olive.model")
        model = handlers.PyTorchModelHandler(model_loader=lambda _: None)
        with pytest.raises(UsageError, match="OnnxAlign takes an ONNX model"):
            the_pass().run(model, str(tmp_path / "out"))


def the_pass() -> Any:
    """The pass by itself, with its defaults but for the alignment."""
    create = importlib.import_module("olive.passes.olive_pass").create_pass_from_dict
    kind = importlib.import_module("onnx_align_pass.hooks.olive_pass").OnnxAlign
    return create(kind, {"alignment": 8192}, disable_search=True)


def test_olives_own_passes_stay_in_the_package_configuration(tmp_path: Path) -> None:
    with quiet():
        module = importlib.import_module("olive.package_config")
        theirs = json.loads(
            Path(module.OlivePackageConfig.get_default_config_path()).read_text(encoding="utf-8")
        )
        ours = package_config()
        assert ours["passes"].pop("OnnxAlign")["supported_accelerators"] == ["*"]
        assert ours == theirs
        path = tmp_path / "mine.json"
        path.write_text(json.dumps({"passes": {}, "extra_dependencies": {"ort": []}}))
        mine = json.loads(write_package_config(tmp_path / "p.json", path).read_text())
    assert list(mine["passes"]) == ["OnnxAlign"]
    assert mine["extra_dependencies"] == {"ort": []}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"passes": 1}', "\udcff"])
def test_what_is_no_package_configuration_is_a_named_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.json"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with quiet(), pytest.raises(UsageError, match="no package configuration") as error:
        package_config(path)
    assert error.value.file == str(path)


def test_a_package_configuration_that_cannot_be_written_is_a_named_error(tmp_path: Path) -> None:
    with quiet(), pytest.raises(WriteError):
        write_package_config(tmp_path / "no" / "p.json")
