"""`onnx-align align --before`: named passes run between file and file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from onnx_align_cli import main

from .child import run_child, tree

Capture = pytest.CaptureFixture[str]


def write_twins(folder: Path) -> Path:
    """A model with two equal initializers and a constant."""
    weights = np.arange(4096, dtype=np.float32).reshape(64, 64)
    constant = numpy_helper.from_array(weights + 1, "c")
    graph = helper.make_graph(
        [
            helper.make_node("Constant", [], ["k"], value=constant),
            helper.make_node("Add", ["a", "b"], ["s"]),
            helper.make_node("Add", ["s", "k"], ["y"]),
        ],
        "g",
        [],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [64, 64])],
        initializer=[numpy_helper.from_array(weights, name) for name in "ab"],
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), path)
    return path


def test_the_passes_run_in_their_order_and_the_result_is_aligned(
    tmp_path: Path, capsys: Capture
) -> None:
    source = write_twins(tmp_path)
    out = tmp_path / "out.onnx"
    passes = ["deduplicate-initializers{size_limit=65536}", "lift-constants{size_limit=0}"]
    options = [word for one in passes for word in ("--before", one)]
    assert main(["align", str(source), str(out), *options, "-a", "64KiB", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    (model,) = report["models"]
    assert model["source"] == str(source)
    assert model["external_tensors"] == 2
    initializers = onnx.load(out, load_external_data=False).graph.initializer
    assert [one.name for one in initializers] == ["a", "k"]
    offsets = [{e.key: e.value for e in one.external_data}["offset"] for one in initializers]
    assert offsets == ["0", "65536"]
    assert main(["align", str(source), str(out), "--before", "remove-unused-nodes"]) == 3
    assert "force" in capsys.readouterr().err


def test_in_place_is_possible(tmp_path: Path) -> None:
    source = write_twins(tmp_path)
    main(["align", str(source), "--in-place", "--before", "deduplicate-hashed-initializers", "-q"])
    assert len(onnx.load(source).graph.initializer) == 1
    assert sorted(tree(tmp_path)) == ["m.onnx", "m.onnx.data"]


@pytest.mark.parametrize(
    ("spec", "code", "said"),
    [
        ("deduplicate", 2, "deduplicate-initializers"),
        ("deduplicate-initializers{size_limit=much}", 2, "size_limit"),
        ("deduplicate-initializers{limit=1}", 2, "size_limit"),
        ("inline{criteria=<f>}", 2, "code"),
        ("checker{", 2, "not a pass"),
        ("convert-version", 2, "target_version"),
    ],
)
def test_a_bad_pass_is_usage_and_nothing_is_written(
    spec: str, code: int, said: str, tmp_path: Path, capsys: Capture
) -> None:
    source = write_twins(tmp_path)
    assert main(["align", str(source), str(tmp_path / "out.onnx"), "--before", spec]) == code
    assert said in capsys.readouterr().err
    assert sorted(tree(tmp_path)) == ["m.onnx"]


def test_a_pass_that_fails_and_a_model_that_would_lose_are_the_models_fault(
    tmp_path: Path, capsys: Capture
) -> None:
    source = write_twins(tmp_path)
    proto = onnx.load(source)
    proto.graph.node[1].op_type = "Nothing"
    onnx.save(proto, source)
    arguments = ["align", str(source), str(tmp_path / "out.onnx"), "--json", "--before", "checker"]
    assert main(arguments) == 3
    failed = json.loads(capsys.readouterr().out)
    assert failed["error"]["error"] == "PassFailedError"
    assert "Nothing" in failed["error"]["found"]
    proto.training_info.add()
    onnx.save(proto, source)
    assert main(arguments) == 3
    lossy = json.loads(capsys.readouterr().out)
    assert lossy["error"]["error"] == "LossyLoadError"
    assert "training_info" in lossy["error"]["found"]
    assert sorted(tree(tmp_path)) == ["m.onnx"]


def test_no_traceback_reaches_the_terminal(tmp_path: Path) -> None:
    source = write_twins(tmp_path)
    done = run_child("align", source, tmp_path / "o.onnx", "--before", "inline{criteria=x}")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    folder = run_child("align", tmp_path, tmp_path / "o", "--before", "inline")
    assert folder.returncode == 2
    assert "one model" in folder.stderr
