"""What torch exports is written whole, aligned, and as torch itself would have written it."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onnx_align_pass import (
    AlignError,
    DestinationError,
    UninitializedTensorError,
    UsageError,
    WriteError,
)
from onnx_align_pass.hooks.torch import export_aligned, save_program
from onnx_align_pass.progress import SILENT
from tests.corpus.running import run, same_outputs

from .saved import entries, loaded, ranges, state_of

pytestmark = pytest.mark.needs_torch

NAMES = ("mlp", "transformer", "branches", "half", "brain", "one_memory")
MODELS = "tests.integration.torch_models"


@pytest.fixture(scope="session")
def exported() -> Callable[[str], tuple[Any, Any]]:
    """Gives an example by its name, and the program that torch makes of it, exported once."""
    found: dict[str, tuple[Any, Any]] = {}

    def get(name: str) -> tuple[Any, Any]:
        if name not in found:
            models = importlib.import_module(MODELS)
            example = models.MODELS[name]()
            found[name] = example, models.export(example)
        return found[name]

    return get


def feeds_of(program: Any, example: Any) -> dict[str, Any]:
    names = [value.name for value in program.model.graph.inputs]
    return dict(zip(names, [one.numpy() for one in example.args], strict=True))


def test_every_example_is_tested() -> None:
    assert set(importlib.import_module(MODELS).MODELS) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_runtime_computes_what_torch_does_and_bit_for_bit_what_torchs_own_file_gives(
    name: str, exported: Callable[[str], tuple[Any, Any]], tmp_path: Path
) -> None:
    example, program = exported(name)
    ours, theirs = tmp_path / "ours.onnx", tmp_path / "theirs.onnx"
    before = state_of(program)
    report = save_program(program, ours)
    assert state_of(program) == before
    program.save(theirs)
    feeds = feeds_of(program, example)
    outputs = run(ours, feeds)
    assert same_outputs(outputs, run(theirs, feeds))
    wanted = example.model(*example.args).detach().numpy()
    np.testing.assert_allclose(outputs[0], wanted, rtol=example.tolerance, atol=example.tolerance)
    assert report.models[0].external_tensors == len(entries(ours)) > 0
    assert all(offset % 4096 == 0 for _, offset, _ in ranges(ours).values())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("as_inputs", [True, False])
def test_the_model_is_torchs_own_but_for_where_its_weights_lie(
    name: str,
    include: bool,
    as_inputs: bool,
    exported: Callable[[str], tuple[Any, Any]],
    tmp_path: Path,
) -> None:
    _, program = exported(name)
    before = state_of(program)
    for save, file in ((save_program, "ours.onnx"), (type(program).save, "theirs.onnx")):
        save(
            program,
            tmp_path / file,
            include_initializers=include,
            keep_initializers_as_inputs=as_inputs,
        )
        assert save is not save_program or state_of(program) == before
    assert loaded(tmp_path / "ours.onnx") == loaded(tmp_path / "theirs.onnx")
    assert (tmp_path / "ours.onnx.data").exists() == include


def test_a_parameter_that_two_modules_share_is_one_initializer(
    exported: Callable[[str], tuple[Any, Any]], tmp_path: Path
) -> None:
    example, program = exported("transformer")
    save_program(program, tmp_path / "m.onnx")
    nbytes = example.model.head.weight.numel() * 4
    sizes = Counter(length for _, _, length in ranges(tmp_path / "m.onnx").values())
    assert sizes[nbytes] == 1
    assert "head.weight" in ranges(tmp_path / "m.onnx")
    assert "embedding.weight" not in ranges(tmp_path / "m.onnx")


def test_one_memory_is_one_range_and_another_view_of_it_is_not(
    exported: Callable[[str], tuple[Any, Any]], tmp_path: Path
) -> None:
    example, program = exported("one_memory")
    save_program(program, tmp_path / "m.onnx")
    lies = ranges(tmp_path / "m.onnx")
    assert lies["first"] == lies["second"] == lies["buffer"]
    assert lies["turned"] == lies["turned_too"]
    apart = ("first", "turned", "upper", "lower")
    assert len({lies[name] for name in apart}) == len(apart)
    assert (tmp_path / "m.onnx.data").stat().st_size == 128 * 128 * 4 * 3
    values = dict(example.model.state_dict())
    data = (tmp_path / "m.onnx.data").read_bytes()
    for name, (_, offset, length) in lies.items():
        assert data[offset : offset + length] == values[name].contiguous().numpy().tobytes(), name


def test_a_lazily_negated_view_is_not_tied_to_what_it_negates(tmp_path: Path) -> None:
    torch, models = importlib.import_module("torch"), importlib.import_module(MODELS)
    program = models.export(models.one_memory())
    numbers = torch.randn(128, 128, dtype=torch.complex64)
    views = {"first": numbers.imag, "second": numbers.conj().imag}
    assert views["first"].data_ptr() == views["second"].data_ptr()
    program.apply_weights(views)
    save_program(program, tmp_path / "m.onnx")
    lies, data = ranges(tmp_path / "m.onnx"), (tmp_path / "m.onnx.data").read_bytes()
    for name, view in views.items():
        _, offset, length = lies[name]
        assert data[offset : offset + length] == view.resolve_neg().contiguous().numpy().tobytes()


class Breaks:
    """A progress that raises when the first bytes are written."""

    begin, phase = SILENT.begin, SILENT.phase

    def advance(self, nbytes: int, tensor: str) -> None:
        raise RuntimeError(f"{nbytes} bytes of {tensor} written")


@pytest.mark.parametrize("include", [True, False])
def test_a_program_is_unchanged_after_a_save_that_fails(
    include: bool, exported: Callable[[str], tuple[Any, Any]], tmp_path: Path
) -> None:
    _, program = exported("one_memory")
    before = state_of(program)
    (tmp_path / "file").touch()
    with pytest.raises(AlignError):
        save_program(
            program,
            tmp_path / "file" / "m.onnx",
            include_initializers=include,
            keep_initializers_as_inputs=True,
        )
    assert state_of(program) == before
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_program_is_unchanged_after_a_save_that_breaks_off_in_a_weight(
    exported: Callable[[str], tuple[Any, Any]], tmp_path: Path
) -> None:
    _, program = exported("one_memory")
    before = state_of(program)
    with pytest.raises(RuntimeError, match=r"bytes of \w+ written"):
        save_program(
            program, tmp_path / "m.onnx", keep_initializers_as_inputs=True, progress=Breaks()
        )
    assert state_of(program) == before
    assert list(tmp_path.iterdir()) == []


def empty_program(kind: str) -> Any:
    """An MLP whose weights have no bytes."""
    torch, models = importlib.import_module("torch"), importlib.import_module(MODELS)
    if kind == "fake":  # torch has no public name for its fake mode
        with importlib.import_module("torch._subclasses.fake_tensor").FakeTensorMode():
            return models.export(models.mlp(), optimize=False)
    if kind == "meta":
        with torch.device("meta"):
            return models.export(models.mlp(), optimize=False)
    example = models.mlp()
    program = models.export(example)
    weights = {name: one.clone() for name, one in example.model.state_dict().items()}
    program.apply_weights(weights)
    for name, value in program.model.graph.initializers.items():
        if kind in ("freed", "cut"):
            weights[name].untyped_storage().resize_(0 if kind == "freed" else 100)
        elif kind == "sparse":
            program.apply_weights({name: weights[name].to_sparse()})
        else:
            value.const_value = None
    return program


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("fake", "FakeTensor"),
        ("meta", "meta device"),
        ("freed", "freed or cut storage"),
        ("cut", "freed or cut storage"),
        ("sparse", "layout torch.sparse_coo"),
        ("unset", "no value"),
    ],
)
def test_weights_without_bytes_are_a_named_error_before_anything_is_written(
    kind: str, found: str, tmp_path: Path
) -> None:
    program = empty_program(kind)
    before = state_of(program)
    with pytest.raises(UninitializedTensorError, match=found) as error:
        save_program(program, tmp_path / "m.onnx")
    assert error.value.tensor == "0.weight"
    assert "apply_weights" in str(error.value)
    assert list(tmp_path.iterdir()) == []
    save_program(program, tmp_path / "m.onnx", include_initializers=False)
    assert not loaded(tmp_path / "m.onnx").graph.initializer
    assert state_of(program) == before


def test_weights_that_are_applied_to_a_fake_export_are_written(tmp_path: Path) -> None:
    models = importlib.import_module(MODELS)
    example = models.mlp()
    program = empty_program("fake")
    program.apply_weights(example.model.state_dict())
    save_program(program, tmp_path / "m.onnx")
    outputs = run(tmp_path / "m.onnx", feeds_of(program, example))
    wanted = example.model(*example.args).detach().numpy()
    np.testing.assert_allclose(outputs[0], wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2fnuz", "float4_e2m1fn_x2", "bool", "uint16"]
)
def test_every_element_type_is_written_as_torch_writes_it(dtype: str, tmp_path: Path) -> None:
    torch, models = importlib.import_module("torch"), importlib.import_module(MODELS)
    if not hasattr(torch, dtype):
        pytest.skip(f"this torch has no {dtype}")
    program = models.export(models.mlp())
    packed = torch.randint(0, 2, (256, 128), dtype=torch.uint8)
    kind = getattr(torch, dtype)
    program.apply_weights({"0.weight": packed.view(kind)})
    save_program(program, tmp_path / "ours.onnx")
    program.save(tmp_path / "theirs.onnx", external_data=True)
    assert "0.weight" in ranges(tmp_path / "ours.onnx")
    assert loaded(tmp_path / "ours.onnx") == loaded(tmp_path / "theirs.onnx")


def test_exporting_and_writing_is_one_call(tmp_path: Path) -> None:
    models = importlib.import_module(MODELS)
    example = models.mlp()
    report = export_aligned(
        example.model,
        example.args,
        tmp_path / "m.onnx",
        input_names=["image"],
        dynamo=True,
        f=None,
        export_params=True,
        external_data=True,
        verbose=False,
        alignment=65536,
        verify=True,
    )
    assert report.models[0].verified
    assert [one.name for one in report.models[0].data_files] == ["m.onnx.data"]
    assert [value.name for value in loaded(tmp_path / "m.onnx").graph.input] == ["image"]
    assert all(offset % 65536 == 0 for _, offset, _ in ranges(tmp_path / "m.onnx").values())
    outputs = run(tmp_path / "m.onnx", {"image": example.args[0].numpy()})
    wanted = example.model(*example.args).detach().numpy()
    np.testing.assert_allclose(outputs[0], wanted, rtol=1e-5, atol=1e-5)


def test_an_exported_program_is_written_too(tmp_path: Path) -> None:
    torch, models = importlib.import_module("torch"), importlib.import_module(MODELS)
    example = models.mlp()
    captured = torch.export.export(example.model, example.args)
    export_aligned(captured, (), tmp_path / "m.onnx", external_data="w.bin", verbose=False)
    assert {location for location, _, _ in ranges(tmp_path / "m.onnx").values()} == {"w.bin"}


@pytest.mark.parametrize(
    ("place", "keywords", "error"),
    [
        ("m.onnx", {"alignment": 100}, UsageError),
        ("m.onnx", {"size_threshold_bytes": -3}, UsageError),
        ("m.onnx", {"external_data": False}, UsageError),
        (".", {}, DestinationError),
        ("none/m.onnx", {}, WriteError),
    ],
)
def test_a_bad_argument_is_refused_before_the_export(
    place: str,
    keywords: dict[str, Any],
    error: type[AlignError],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("it was exported")

    torch = importlib.import_module("torch")
    monkeypatch.setattr(torch.onnx, "export", never)
    with pytest.raises(error):
        export_aligned(torch.nn.Linear(2, 2), (torch.zeros(1, 2),), tmp_path / place, **keywords)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", ["weight", "input 0"])
def test_what_is_exported_must_have_data(where: str, tmp_path: Path) -> None:
    torch = importlib.import_module("torch")
    module = torch.nn.Linear(2, 2, device="meta" if where == "weight" else "cpu")
    example = torch.zeros(1, 2, device="cpu" if where == "weight" else "meta")
    with pytest.raises(UninitializedTensorError, match="meta device") as error:
        export_aligned(module, (example,), tmp_path / "m.onnx")
    assert error.value.tensor == where


def test_torchs_switch_for_external_data_is_understood(
    exported: Callable[[str], tuple[Any, Any]], tmp_path: Path
) -> None:
    _, program = exported("mlp")
    options: dict[str, Any] = {"external_data": True}
    save_program(program, tmp_path / "m.onnx", **options)
    assert (tmp_path / "m.onnx.data").exists()
    with pytest.raises(UsageError, match="external_data cannot be False"):
        save_program(program, tmp_path / "n.onnx", **{**options, "external_data": False})
