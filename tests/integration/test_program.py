"""Anything with an ir.Model is a program: what needs no exporter to be shown."""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir
import pytest

from onnx_align_pass import (
    AlignError,
    DestinationError,
    MissingExporterError,
    ModelError,
    UninitializedTensorError,
    UsageError,
)
from onnx_align_pass.hooks.save_options import SaveOptions
from onnx_align_pass.hooks.torch import export_aligned, save_program
from onnx_align_pass.loading import load
from onnx_align_pass.saving import save

from .saved import loaded, ranges, state_of


@dataclass
class Made:
    """A program that no exporter made."""

    model: ir.Model


def made() -> Made:
    """`y = (x + a) * b`, where `b` is an input too."""
    x, b = (ir.val(name, ir.DataType.FLOAT, (32, 32)) for name in "xb")
    rng = np.random.default_rng(0)
    a = ir.val("a", const_value=ir.tensor(rng.random((32, 32), np.float32), name="a"))
    b.const_value = ir.tensor(rng.random((32, 32), np.float32), name="b")
    added = ir.node("Add", [x, a])
    times = ir.node("Mul", [added.outputs[0], b])
    times.outputs[0].name = "y"
    nodes = [added, times]
    graph = ir.Graph(
        [x, b], times.outputs, nodes=nodes, initializers=[a, b], opset_imports={"": 20}, name="g"
    )
    return Made(ir.Model(graph, ir_version=10))


@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("as_inputs", [True, False])
def test_initializers_are_written_as_asked_and_no_input_twice(
    include: bool, as_inputs: bool, tmp_path: Path
) -> None:
    program = made()
    before = state_of(program)
    path = tmp_path / "m.onnx"
    save_program(program, path, include_initializers=include, keep_initializers_as_inputs=as_inputs)
    graph = loaded(path).graph
    assert [one.name for one in graph.initializer] == (["a", "b"] if include else [])
    assert [one.name for one in graph.input] == (["x", "b", "a"] if as_inputs else ["x", "b"])
    assert set(ranges(path)) == ({"a", "b"} if include else set())
    assert (tmp_path / "m.onnx.data").exists() == include
    assert state_of(program) == before


def test_the_keywords_of_save_are_handed_on(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    report = save_program(made(), path, external_data="w.bin", alignment=65536, verify=True)
    assert [name.name for name in report.models[0].data_files] == ["w.bin"]
    assert sorted(ranges(path).values()) == [("w.bin", 0, 4096), ("w.bin", 65536, 4096)]
    assert report.models[0].verified


def test_they_are_all_the_keywords_of_save() -> None:
    model, path, *keywords = inspect.signature(save).parameters
    assert SaveOptions.__optional_keys__ == set(keywords)
    assert (model, path) == ("model", "path")


def test_an_initializer_without_a_value_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    program = made()
    program.model.graph.initializers["a"].const_value = None
    before = state_of(program)
    with pytest.raises(UninitializedTensorError, match=r"tensor 'a'.*no value") as error:
        save_program(program, tmp_path / "m.onnx")
    assert isinstance(error.value, ModelError)
    assert "include_initializers=False" in str(error.value)
    assert list(tmp_path.iterdir()) == []
    assert state_of(program) == before
    save_program(program, tmp_path / "m.onnx", include_initializers=False)
    assert not loaded(tmp_path / "m.onnx").graph.initializer


@pytest.mark.parametrize("include", [True, False])
def test_a_failing_save_leaves_the_program_as_it_was(include: bool, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    program = made()
    before = state_of(program)
    with pytest.raises(AlignError):
        save_program(
            program,
            tmp_path / "file" / "m.onnx",
            include_initializers=include,
            keep_initializers_as_inputs=True,
        )
    assert state_of(program) == before
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_program_whose_weights_lie_in_the_files_that_are_replaced_can_still_be_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "m.onnx"
    save_program(made(), path)
    program = Made(load(path))
    save_program(program, path, alignment=65536)
    assert sorted(offset for _, offset, _ in ranges(path).values()) == [0, 65536]
    wanted = made().model.graph.initializers
    for name, value in program.model.graph.initializers.items():
        ours, theirs = value.const_value, wanted[name].const_value
        assert ours is not None
        assert theirs is not None
        assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("thing", [None, "m.onnx", made().model, object()])
def test_what_is_no_program_is_refused(thing: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no exported program") as error:
        save_program(thing, tmp_path / "m.onnx")
    assert type(thing).__name__ in str(error.value)
    assert ("onnx_align_pass.save" in str(error.value)) == isinstance(thing, ir.Model)


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"f": "m.onnx"}, "`path`"),
        ({"dynamo": False}, "align_file"),
        ({"external_data": False}, "inline="),
        ({"export_params": False}, "include_initializers=False"),
        ({"fallback": True}, "TorchScript"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_an_argument_that_makes_no_sense_is_refused_with_the_reason(
    options: dict[str, Any], hint: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="cannot be") as error:
        export_aligned(None, (), tmp_path / "m.onnx", **options)
    assert next(iter(options)) in error.value.problem
    assert hint in str(error.value)


def test_there_must_be_a_path() -> None:
    with pytest.raises(UsageError, match="no path"):
        export_aligned(None, ())


def test_without_torch_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "torch.onnx", None)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    with pytest.raises(MissingExporterError) as error:
        export_aligned(None, (1,), tmp_path / "m.onnx")
    assert "pip install 'onnx-align-pass[torch]'" in str(error.value)


def test_the_structure_never_takes_the_place_of_its_own_weights(tmp_path: Path) -> None:
    save(made().model, tmp_path / "m.onnx", size_threshold_bytes=0)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    program = Made(load(tmp_path / "m.onnx"))
    with pytest.raises(DestinationError, match="under another name"):
        save_program(program, tmp_path / "m.onnx", include_initializers=False)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    save_program(program, tmp_path / "structure.onnx", include_initializers=False)
