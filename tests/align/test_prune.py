"""Old data goes when it is asked for, and nothing else ever."""

from __future__ import annotations

import json
import os
from pathlib import Path

import onnx
import pytest

from onnx_align_pass import (
    BrokenModelError,
    LayoutPolicy,
    ModelNotFoundError,
    align_file,
    prune_file,
)
from tests.cli.child import run_child
from tests.corpus import oracle

from .small_models import external_model
from .snapshot import snapshot

OLD = "model.onnx.data"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model that was written twice since."""
    path = external_model(tmp_path / "folder" / "model.onnx")
    for alignment in (64, 4096):
        layout = LayoutPolicy(alignment=alignment)
        align_file(path, layout=layout, keep_old_data=True)
    return path


def old_data(model: Path) -> set[str]:
    report = prune_file(model, dry_run=True)
    assert report.dry_run
    return {one.path.name for one in report.removed}


def test_a_look_removes_nothing(model: Path) -> None:
    before = snapshot(model.parent)
    assert len(old_data(model)) == 2
    assert snapshot(model.parent) == before


def test_only_the_data_of_the_model_is_left(model: Path) -> None:
    tensors, old = oracle.tensors(model), old_data(model)
    report = prune_file(model)
    assert OLD in old
    assert {one.path.name for one in report.removed} == old
    assert len(os.listdir(model.parent)) == 2
    assert oracle.tensors(model) == tensors
    assert not prune_file(model).removed


@pytest.mark.parametrize(
    "name",
    [
        "model.onnx.data.bak",
        "model.onnx-20240115.data",
        "model.onnx_2.data",
        "other.onnx.data",
        "other.onnx.gen-001122334455.data",
        "model.onnx-00112233.data",
    ],
)
def test_files_of_other_names_are_not_touched(model: Path, name: str) -> None:
    (model.parent / name).write_bytes(b"mine")
    prune_file(model)
    assert (model.parent / name).read_bytes() == b"mine"


def test_nor_is_what_another_model_may_use(model: Path, tmp_path: Path) -> None:
    old = old_data(model)
    (model.parent / "broken.onnx").write_bytes(b"version https://git-lfs")
    report = prune_file(model)
    assert not report.removed
    assert {Path(line.partition(": ")[0]).name for line in report.left} == old
    assert all("broken.onnx" in line for line in report.left)


def test_nor_a_link_or_a_folder(model: Path, tmp_path: Path) -> None:
    prune_file(model)
    outside = tmp_path / "outside"
    outside.write_bytes(b"mine")
    (model.parent / OLD).symlink_to(outside)
    (model.parent / "model.onnx.gen-001122334455.data").mkdir()
    report = prune_file(model)
    assert not report.removed
    assert len(report.left) == 2
    assert outside.read_bytes() == b"mine"


def test_nor_what_a_run_is_about_to_point_at(model: Path, tmp_path: Path) -> None:
    for folder in (tmp_path, model.parent):
        staging = folder / ".big.onnx.align-00112233"
        staging.mkdir()
        report = prune_file(model)
        assert not report.removed
        assert all("onnx-align recover" in line for line in report.left)
        staging.rmdir()
    assert len(prune_file(model).removed) == 2


def test_a_link_does_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("w.data", "w.gen-001122334455.data", "w.gen-66778899aabb.data"):
        (outside / name).write_bytes(b"mine")
    model = external_model(tmp_path / "folder" / "model.onnx", data="w.data")
    (model.parent / "below").symlink_to(outside)
    point_at(model, "below/w.gen-001122334455.data")
    assert not prune_file(model).removed
    assert len(os.listdir(outside)) == 3


def point_at(model: Path, location: str) -> None:
    proto = onnx.load(model, load_external_data=False)
    for tensor in proto.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = location
    model.write_bytes(proto.SerializeToString())


def test_of_a_folder_nothing_goes_where_one_model_is_broken(model: Path) -> None:
    broken = model.parent / "z" / "broken.onnx"
    broken.parent.mkdir()
    broken.write_bytes(b"\x07")
    before = snapshot(model.parent)
    with pytest.raises(BrokenModelError):
        prune_file(model.parent)
    assert snapshot(model.parent) == before


def test_a_data_file_of_a_name_that_people_use_is_kept(tmp_path: Path) -> None:
    model = external_model(tmp_path / "folder" / "model.onnx", data="weights.bin")
    for name in ("weights-20240115.bin", "weights-1a2b3c4d.bin", "weights_2.bin"):
        (model.parent / name).write_bytes(b"mine")
    align_file(model, layout=LayoutPolicy(alignment=64), keep_old_data=True)
    assert [one.path.name for one in prune_file(model).removed] == ["weights.bin"]
    assert len(os.listdir(model.parent)) == 5


def test_a_model_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError):
        prune_file(tmp_path / "model.onnx")


def test_the_command_line_says_what_it_removed(model: Path) -> None:
    done = run_child("prune", str(model), "--dry-run", "--json")
    told = json.loads(done.stdout)
    assert told["dry_run"] is True
    assert len(told["removed"]) == 2
    done = run_child("prune", str(model))
    assert done.returncode == 0, done.stderr
    assert "removed 2 old data files" in done.stdout
    assert OLD in done.stdout
    assert "no old data to remove" in run_child("prune", str(model)).stdout
