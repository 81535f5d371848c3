"""Data under a new name, the old one left: readers that open model and data apart never mix two."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

from onnx_align_pass import (
    LayoutPolicy,
    UsageError,
    align_file,
    align_pipeline,
    load,
    prune_file,
    save,
)
from onnx_align_pass.layout.generations import token_of
from onnx_align_pass.with_passes import align_with_passes
from tests.corpus import oracle
from tests.corpus.build import external, showing, tensor, write

from .small_models import external_model
from .snapshot import snapshot

OLD = "model.onnx.data"


def align(path: Path, alignment: int) -> None:
    align_file(path, layout=LayoutPolicy(alignment=alignment), keep_old_data=True)


def run_passes(path: Path, alignment: int) -> None:
    align_with_passes(path, layout=LayoutPolicy(alignment=alignment), before=[], keep_old_data=True)


def save_over(path: Path, alignment: int) -> None:
    save(load(path), path, layout=LayoutPolicy(alignment=alignment), keep_old_data=True)


def pipe(path: Path, alignment: int) -> None:
    layout = LayoutPolicy(alignment=alignment)
    align_pipeline(path, layout=layout, keep_old_data=True)(load(path))


ROUTES = [align, run_passes, save_over, pipe]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return external_model(tmp_path / "folder" / "model.onnx")


def data_of(model: Path) -> str:
    (name,) = {
        entry.value
        for tensor in onnx.load(model, load_external_data=False).graph.initializer
        for entry in tensor.external_data
        if entry.key == "location"
    }
    return name


@pytest.mark.parametrize("route", ROUTES)
def test_each_write_has_a_data_name_of_its_own_and_the_old_data_stays(
    model: Path, route: Callable[[Path, int], None]
) -> None:
    tensors, opened = oracle.tensors(model), [(model.read_bytes(), data_of(model))]
    before = {OLD: (model.parent / OLD).read_bytes()}
    for alignment in (64, 4096, 256):
        route(model, alignment)
        opened.append((model.read_bytes(), data_of(model)))
        for name, content in before.items():
            assert (model.parent / name).read_bytes() == content
        before[data_of(model)] = (model.parent / data_of(model)).read_bytes()
    assert len({name for _, name in opened}) == len(opened)
    # A reader that opened the model at any time since, and opens its data now.
    for content, _ in opened:
        model.write_bytes(content)
        assert oracle.tensors(model) == tensors


@pytest.mark.parametrize("route", ROUTES)
def test_what_lies_as_asked_is_left(model: Path, route: Callable[[Path, int], None]) -> None:
    route(model, 1024)
    before = snapshot(model.parent)
    route(model, 1024)
    assert snapshot(model.parent) == before


def test_over_another_model_too(model: Path, tmp_path: Path) -> None:
    source = external_model(tmp_path / "source" / "model.onnx", seed=1)
    old = (model.parent / OLD).read_bytes()
    (done,) = align_file(source, model, overwrite=True, keep_old_data=True).models
    assert (model.parent / OLD).read_bytes() == old
    assert data_of(model) != OLD
    assert oracle.tensors(model) == oracle.tensors(source)
    assert any(f"{OLD} is left for readers" in note for note in done.notes)


def test_where_no_model_is_the_name_is_the_usual_one(model: Path, tmp_path: Path) -> None:
    align_file(model, tmp_path / "new.onnx", keep_old_data=True)
    assert data_of(tmp_path / "new.onnx") == "new.onnx.data"


def test_one_of_two_models_that_share_data_may_leave_it(model: Path) -> None:
    other = model.with_name("other.onnx")
    other.write_bytes(model.read_bytes())
    tensors = oracle.tensors(model)
    align(model, 4096)
    assert data_of(other) == OLD
    assert oracle.tensors(model) == oracle.tensors(other) == tensors
    report = prune_file(model)
    assert not report.removed
    assert report.left == (f"{model.parent / OLD}: other.onnx uses it",)


def test_a_folder_in_place(model: Path) -> None:
    other = external_model(model.with_name("other.onnx"), data=OLD)
    tensors = oracle.tensors(other)
    model.unlink()
    external_model(model.parent / "below" / "third.onnx")
    align_file(model.parent, keep_old_data=True)
    assert data_of(other).startswith("model.onnx.gen-")
    assert oracle.tensors(other) == tensors
    assert len(prune_file(model.parent).removed) == 2


def test_shards_have_one_token(model: Path) -> None:
    layout = LayoutPolicy(max_shard_size_bytes=10_000, alignment=64)
    for _ in range(2):
        align_file(model, layout=layout, keep_old_data=True)
    names = {path.name for path in model.parent.glob("*.gen-*")}
    tokens = {token_of(name) for name in names}
    assert len(tokens) == len(names) / 3 == 2
    report = prune_file(model)
    assert {one.path.name for one in report.removed} == {OLD, *names} - names_of(model)


def names_of(model: Path) -> set[str]:
    proto = onnx.load(model, load_external_data=False)
    entries = [entry for one in proto.graph.initializer for entry in one.external_data]
    return {entry.value for entry in entries if entry.key == "location"}


def test_a_safetensors_file_stays_one(model: Path) -> None:
    layout = LayoutPolicy(data_name="{stem}.safetensors")
    align_file(model, layout=layout)
    align_file(
        model, layout=LayoutPolicy(data_name="{stem}.safetensors", alignment=64), keep_old_data=True
    )
    from safetensors.numpy import load_file

    assert set(load_file(model.parent / data_of(model))) >= {"a", "b", "c"}
    assert (model.parent / "model.safetensors").exists()


def test_it_is_a_word_of_the_command_line_that_shared_data_has_not(model: Path) -> None:
    from tests.cli.child import run_child

    done = run_child("align", str(model), "--in-place", "--keep-old-data", "--alignment", "64")
    assert done.returncode == 0, done.stderr
    assert "onnx-align prune" in done.stdout
    out = model.parent / "out"
    done = run_child("align", str(model), str(out), "--shared-data", "w.data", "--keep-old-data")
    assert done.returncode == 2
    assert "--keep-old-data" in done.stderr


def test_two_data_files_whose_names_differ_in_the_token_alone_stay_two(tmp_path: Path) -> None:
    names = ["w.data", "w.gen-001122334455.data", ".gen-001122334455"]
    tensors = [external(tensor(name, [900]), tmp_path, name) for name in names]
    model = write(tmp_path, showing(tensors))
    wanted = oracle.tensors(model)
    align(model, 4096)
    assert len(names_of(model)) == 3
    assert names_of(model).isdisjoint(names)
    assert oracle.tensors(model) == wanted


def test_the_name_is_checked_as_any_other(model: Path) -> None:
    with pytest.raises(UsageError):
        align_file(model, layout=LayoutPolicy(data_name="{model}"), keep_old_data=True)
