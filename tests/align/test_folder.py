"""A folder of models: each repacked, every other file carried along."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from onnx_align_pass import (
    DestinationError,
    DestinationExistsError,
    LayoutPolicy,
    ModelError,
    ModelNotFoundError,
    UnsafeDataFileError,
    align_file,
)
from tests.corpus import oracle

from .small_models import external_model
from .snapshot import snapshot


def test_every_model_is_repacked_and_every_other_file_carried_along(
    folder: Path, tmp_path: Path
) -> None:
    before = snapshot(folder)
    out = tmp_path / "out"
    report = align_file(folder, out, verify=True)
    assert snapshot(folder) == before
    assert sorted(str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()) == [
        "config.json",
        "deep/decoder.ONNX",
        "deep/decoder.ONNX.data",
        "deep/empty",
        "deep/run.sh",
        "encoder.onnx",
        "encoder.onnx.data",
    ]
    assert report.carried == ("config.json", "deep/empty", "deep/run.sh")
    assert (out / "deep/run.sh").stat().st_mode & 0o777 == 0o755
    assert (out / "deep/run.sh").read_text() == "#!/bin/sh\n"
    for name in ("encoder.onnx", "deep/decoder.ONNX"):
        assert oracle.tensors(out / name) == oracle.tensors(folder / name)
    assert len(report.models) == 2


def test_a_folder_is_repacked_in_place(folder: Path) -> None:
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    before = {
        name: oracle.tensors(folder / name) for name in names if name.lower().endswith("onnx")
    }
    align_file(folder, layout=LayoutPolicy(alignment=16384))
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) == names
    assert {name: oracle.tensors(folder / name) for name in before} == before


def test_a_broken_model_stops_the_run_before_anything_is_written(
    folder: Path, tmp_path: Path
) -> None:
    (folder / "z.onnx").write_bytes(b"\x00not a model")
    before = snapshot(tmp_path)
    for target in (tmp_path / "out", None):
        with pytest.raises(ModelError, match=r"z\.onnx"):
            align_file(folder, target)
        assert snapshot(tmp_path) == before


def test_an_existing_file_stops_the_run_before_anything_is_written(
    folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    for name in ("config.json", "encoder.onnx", "encoder.onnx.data", "deep/decoder.ONNX"):
        (out / name).parent.mkdir(parents=True)
        (out / name).write_bytes(b"precious")
        before = snapshot(tmp_path)
        with pytest.raises(DestinationExistsError):
            align_file(folder, out)
        assert snapshot(tmp_path) == before
        shutil.rmtree(out)


def test_a_file_with_the_name_of_a_new_data_file_is_not_lost(folder: Path, tmp_path: Path) -> None:
    (folder / "encoder.onnx.data").write_bytes(b"left over from another export")
    with pytest.raises(DestinationExistsError, match=r"encoder\.onnx"):
        align_file(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_two_models_of_one_data_file_each_get_their_own(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    model = external_model(folder / "a.onnx")
    (folder / "b.onnx").write_bytes(model.read_bytes())
    align_file(folder, tmp_path / "out")
    assert oracle.tensors(tmp_path / "out/b.onnx") == oracle.tensors(model)
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["a.onnx", "a.onnx.data", "b.onnx", "b.onnx.data"]
    with pytest.raises(DestinationError, match="one data file"):
        align_file(folder, tmp_path / "out2", layout=LayoutPolicy(data_name="w.data"))
    assert not (tmp_path / "out2").exists()


def test_the_destination_is_not_in_the_source(folder: Path) -> None:
    before = snapshot(folder)
    for target in (folder, folder / "out", folder / "deep" / ".." / "out"):
        with pytest.raises(DestinationError):
            align_file(folder, target)
    assert snapshot(folder) == before


def test_a_folder_without_models_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError):
        align_file(tmp_path, tmp_path.parent / "never")


def test_a_carried_symlink_that_leaves_the_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (folder / "notes.txt").symlink_to(tmp_path / "secret")
    with pytest.raises(UnsafeDataFileError):
        align_file(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_hub_snapshot_folder_becomes_plain_files(folder: Path, tmp_path: Path) -> None:
    blobs, snap = tmp_path / "hub" / "blobs", tmp_path / "hub" / "snapshots" / "rev"
    blobs.mkdir(parents=True)
    snap.mkdir(parents=True)
    for name in ("encoder.onnx", "shared.bin", "config.json"):
        (blobs / f"h-{name}").write_bytes((folder / name).read_bytes())
        (snap / name).symlink_to(f"../../blobs/h-{name}")
    align_file(snap, tmp_path / "out")
    assert oracle.tensors(tmp_path / "out/encoder.onnx") == oracle.tensors(folder / "encoder.onnx")
    assert (tmp_path / "out/config.json").read_text() == "{}"
    assert not any(path.is_symlink() for path in (tmp_path / "out").iterdir())


def test_models_that_share_data_and_lie_well_are_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    model = external_model(folder / "a.onnx", {"a": (1024,)})
    (folder / "b.onnx").write_bytes(model.read_bytes())
    before = snapshot(folder)
    report = align_file(folder)
    assert all(one.unchanged for one in report.models)
    assert snapshot(folder) == before
