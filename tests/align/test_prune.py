"""Old data goes when it is asked for, and nothing else ever."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import onnx
import pytest

from onnx_align_pass import LayoutPolicy, ModelNotFoundError, align_file, prune_file, rename_file
from onnx_align_pass.transfer.kept import is_record_name
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


def old_data(path: Path) -> set[str]:
    report = prune_file(path, dry_run=True)
    assert report.dry_run
    return {one.path.name for one in report.removed}


def records(folder: Path) -> list[Path]:
    return [one for one in folder.iterdir() if is_record_name(one.name)]


def point_at(model: Path, location: str) -> None:
    proto = onnx.load(model, load_external_data=False)
    for tensor in proto.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = location
    model.write_bytes(proto.SerializeToString())


def test_a_look_removes_nothing(model: Path) -> None:
    before = snapshot(model.parent)
    assert len(old_data(model)) == 2
    assert snapshot(model.parent) == before


@pytest.mark.parametrize("whole_folder", [False, True])
def test_only_the_data_of_the_model_is_left(model: Path, whole_folder: bool) -> None:
    path = model.parent if whole_folder else model
    tensors, old = oracle.tensors(model), old_data(path)
    report = prune_file(path)
    assert OLD in old
    assert {one.path.name for one in report.removed} == old
    assert len(os.listdir(model.parent)) == 2
    assert oracle.tensors(model) == tensors
    assert not prune_file(path).removed


def test_data_of_any_name_goes_if_it_was_kept(model: Path) -> None:
    tensors = oracle.tensors(model)
    for name in ("other.bin", "below/{stem}.safetensors"):
        align_file(model, layout=LayoutPolicy(data_name=name), keep_old_data=True)
    moved = model.with_name("moved.onnx")
    rename_file(model, moved)
    assert len(prune_file(model).removed) == 4
    assert oracle.tensors(moved) == tensors
    assert sorted(one.suffix for one in model.parent.iterdir()) == ["", ".onnx"]


def test_a_model_that_says_what_it_likes_makes_no_file_go(tmp_path: Path) -> None:
    model = external_model(tmp_path / "model.onnx", data="thesis.gen-0123456789ab.docx")
    names = ("thesis.docx", "thesis.gen-ffffffffffff.docx", "thesis-deadbeef.docx", "weights_2")
    for name in names:
        (tmp_path / name).write_bytes(b"mine")
    assert not prune_file(tmp_path).removed
    align_file(model, layout=LayoutPolicy(alignment=64), keep_old_data=True)
    removed = prune_file(tmp_path).removed
    assert [one.path.name for one in removed] == ["thesis.gen-0123456789ab.docx"]
    assert {one.name for one in tmp_path.iterdir()} >= set(names)


def test_what_was_put_in_its_place_since_stays(model: Path) -> None:
    data = model.parent / OLD
    data.unlink()
    data.write_bytes(b"mine")
    report = prune_file(model)
    assert report.left == (f"{data}: it is not what it was",)
    assert data.read_bytes() == b"mine"
    assert len(records(model.parent)) == 1


def test_what_another_model_uses_stays_until_it_does_not(model: Path) -> None:
    other = model.with_name("other.onnx")
    other.write_bytes(model.read_bytes())
    point_at(other, OLD)
    report = prune_file(model)
    assert report.left == (f"{model.parent / OLD}: other.onnx uses it",)
    other.unlink()
    assert [one.path.name for one in prune_file(model).removed] == [OLD]
    assert records(model.parent) == []


def test_so_does_what_a_model_may_use_that_cannot_be_read(model: Path) -> None:
    (model.parent / "broken.onnx").write_bytes(b"version https://git-lfs")
    report = prune_file(model)
    assert not report.removed
    assert all("broken.onnx" in line for line in report.left)


def test_a_record_that_came_with_a_download_is_a_record_of_nothing(
    model: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(model.parent, copy)
    record = records(model.parent)[0]
    (copy / ".evil.onnx.kept-00112233").write_text('{"../precious": [1, 2, 3]}')
    (copy / ".deep.onnx.kept-00112233").write_text("[" * 100_000)
    (copy / ".link.onnx.kept-00112233").symlink_to(record)
    (tmp_path / "precious").write_bytes(b"mine")
    before = snapshot(tmp_path)
    report = prune_file(copy)
    assert not report.removed
    assert len(report.left) == 5
    assert snapshot(tmp_path) == before


@pytest.mark.needs_root
@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to give a file away")
def test_nor_is_another_users(model: Path) -> None:
    for record in records(model.parent):
        os.chown(record, 12_345, 12_345)
    report = prune_file(model)
    assert not report.removed
    assert all("another user's" in line for line in report.left)


def test_the_model_need_not_be_there_any_more(model: Path) -> None:
    model.unlink()
    assert len(prune_file(model).removed) == 2


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError):
        prune_file(tmp_path / "no" / "model.onnx")


def test_records_are_no_files_of_a_folder_to_carry_along(model: Path, tmp_path: Path) -> None:
    align_file(model.parent, tmp_path / "new", layout=LayoutPolicy(data_name="new.bin"))
    assert records(tmp_path / "new") == []


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


def test_what_cannot_be_removed_is_told_after_all_else(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlink = Path.unlink

    def refusing(path: Path, missing_ok: bool = False) -> None:
        if path.name == OLD:
            raise PermissionError(13, "Permission denied")
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", refusing)
    report = prune_file(model)
    assert len(report.removed) == 1
    assert report.failed == (f"{model.parent / OLD}: Permission denied",)
    assert len(records(model.parent)) == 1
