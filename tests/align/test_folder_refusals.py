"""What a run on a folder refuses, before anything is written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from onnx_align_pass import (
    DataFileSharedError,
    DestinationError,
    DestinationExistsError,
    DestinationIsSourceError,
    LayoutPolicy,
    ModelNotFoundError,
    UnsafeDataFileError,
    UsageError,
    align_file,
)

from .small_models import external_model, weights_model
from .snapshot import snapshot


@pytest.mark.parametrize("user", ["o.onnx", "deep/o.onnx"])
def test_a_carried_file_never_replaces_another_models_data(
    user: str, folder: Path, tmp_path: Path
) -> None:
    model = external_model(tmp_path / "out" / user, data="o.bin")
    name = model.with_name("o.bin").relative_to(tmp_path / "out")
    (folder / name).write_bytes(b"no model's data here")
    before = snapshot(tmp_path)
    with pytest.raises(DataFileSharedError, match=r"o\.onnx"):
        align_file(folder, tmp_path / "out", overwrite=True)
    assert snapshot(tmp_path) == before


def test_a_model_above_the_destination_keeps_its_data(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    external_model(tmp_path / "o.onnx", data="out/o.bin")
    (folder / "o.bin").write_bytes(b"no model's data here")
    before = snapshot(tmp_path)
    with pytest.raises(DataFileSharedError, match=r"o\.onnx"):
        align_file(folder, tmp_path / "out", overwrite=True)
    assert snapshot(tmp_path) == before


def test_a_carried_file_replaces_neither_a_folder_nor_a_source(
    folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    (out / "config.json").mkdir(parents=True)
    with pytest.raises(DestinationExistsError, match="folder"):
        align_file(folder, out, overwrite=True)
    (out / "config.json").rmdir()
    (out / "config.json").symlink_to(folder / "encoder.onnx")
    before = snapshot(tmp_path)
    with pytest.raises(DestinationIsSourceError):
        align_file(folder, out, overwrite=True)
    assert snapshot(tmp_path) == before


def test_the_destination_does_not_hold_the_source(folder: Path, tmp_path: Path) -> None:
    external_model(folder / "deep" / "deep" / "decoder.ONNX", seed=2)
    before = snapshot(tmp_path)
    (tmp_path.parent / f"{tmp_path.name}-link").symlink_to(folder)
    for target in (folder, tmp_path, tmp_path.parent / f"{tmp_path.name}-link"):
        with pytest.raises(DestinationError):
            align_file(folder / "deep", target, overwrite=True)
    assert snapshot(tmp_path) == before


def test_a_folder_of_the_destination_does_not_lead_into_the_source(
    folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "deep").symlink_to(folder)
    before = snapshot(tmp_path)
    with pytest.raises(DestinationError, match="in the source"):
        align_file(folder, tmp_path / "out", overwrite=True)
    assert snapshot(tmp_path) == before


def test_no_model_takes_the_name_of_another_for_its_data(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    external_model(folder / "a.onnx")
    weights = external_model(folder / "b.onnx", {"a": (4,)})
    weights.with_name("b.onnx.data").unlink()
    weights.write_bytes(weights_model({"a": (4,)}).SerializeToString())
    before = snapshot(tmp_path)
    for target in (tmp_path / "out", None):
        with pytest.raises(UsageError, match=r"b\.onnx"):
            align_file(folder, target, layout=LayoutPolicy(data_name="b.onnx"), overwrite=True)
        assert snapshot(tmp_path) == before


def test_in_place_no_two_models_write_one_data_file(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    external_model(folder / "a.onnx")
    external_model(folder / "b.onnx", seed=1)
    before = snapshot(tmp_path)
    with pytest.raises(DestinationError, match="one data file"):
        align_file(folder, layout=LayoutPolicy(data_name="w.data"))
    assert snapshot(tmp_path) == before


def test_in_place_no_two_models_read_one_data_file(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    model = external_model(folder / "a" / "m.onnx", data="w.bin")
    (folder / "b").mkdir()
    (folder / "b" / "m.onnx").write_bytes(model.read_bytes())
    os.link(folder / "a" / "w.bin", folder / "b" / "w.bin")
    before = snapshot(tmp_path)
    with pytest.raises(DataFileSharedError):
        align_file(folder)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", ["notes.txt", "other.onnx"])
def test_a_symlink_into_any_other_folder_called_blobs_is_refused(
    name: str, folder: Path, tmp_path: Path
) -> None:
    blobs, snap = tmp_path / "blobs", tmp_path / "hub" / "snapshots" / "rev"
    blobs.mkdir()
    snap.parent.mkdir(parents=True)
    folder.rename(snap)
    (blobs / "secret").write_bytes(weights_model({"a": (4,)}).SerializeToString())
    (snap / name).symlink_to(blobs / "secret")
    before = snapshot(tmp_path)
    for target in (tmp_path / "out", None)[: 2 if name.endswith("onnx") else 1]:
        with pytest.raises(UnsafeDataFileError, match="leaves the folder"):
            align_file(snap, target)
        assert snapshot(tmp_path) == before


def test_a_folder_of_a_hub_snapshot_may_point_into_the_blobs(tmp_path: Path) -> None:
    blobs, snap = tmp_path / "hub" / "blobs", tmp_path / "hub" / "snapshots" / "rev" / "onnx"
    blobs.mkdir(parents=True)
    snap.mkdir(parents=True)
    (blobs / "m").write_bytes(weights_model({"a": (4,)}).SerializeToString())
    (blobs / "c").write_text("{}")
    (snap / "m.onnx").symlink_to(blobs / "m")
    (snap / "config.json").symlink_to(blobs / "c")
    assert align_file(snap, tmp_path / "out").carried == ("config.json",)


def test_a_symlink_that_leads_nowhere_is_named(folder: Path, tmp_path: Path) -> None:
    (folder / "deep" / "gone.txt").symlink_to("nowhere")
    before = snapshot(tmp_path)
    with pytest.raises(ModelNotFoundError, match=r"gone\.txt.*nowhere.*Remove"):
        align_file(folder, tmp_path / "out")
    assert snapshot(tmp_path) == before


def test_a_symlinked_folder_does_not_vanish_silently(folder: Path, tmp_path: Path) -> None:
    external_model(tmp_path / "elsewhere" / "m.onnx")
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    before = snapshot(tmp_path)
    for target in (tmp_path / "out", None):
        with pytest.raises(UnsafeDataFileError, match="symlink"):
            align_file(folder, target)
        assert snapshot(tmp_path) == before


def test_a_folder_that_cannot_be_read_does_not_vanish_silently(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir = os.scandir

    def refuse(path: str) -> object:
        if os.fspath(path).endswith("deep"):
            raise PermissionError(13, "Permission denied", os.fspath(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(ModelNotFoundError, match=r"deep.*Permission denied"):
        align_file(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()
