"""Files that are carried along with a folder's models: to the disk, or an error."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from onnx_align_pass import (
    SourceChangedError,
    align_file,
)
from onnx_align_pass.transfer import kernel
from onnx_align_pass.transfer.staging import Stage


def test_a_carried_file_that_replaces_one_keeps_its_mode(folder: Path, tmp_path: Path) -> None:
    old = tmp_path / "out" / "config.json"
    old.parent.mkdir()
    old.write_text("old")
    old.chmod(0o640)
    align_file(folder, tmp_path / "out", overwrite=True)
    assert old.read_text() == "{}"
    assert old.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("durable", [True, False])
def test_the_names_of_carried_files_and_new_folders_are_on_the_disk(
    durable: bool, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, synced = tmp_path / "new" / "out", set[Path]()
    (folder / "texts" / "more").mkdir(parents=True)
    (folder / "texts" / "more" / "a.txt").write_text("a")
    sync = kernel.sync_folder

    def record(path: Path) -> None:
        synced.add(Path(path))
        sync(path)

    monkeypatch.setattr(kernel, "sync_folder", record)
    align_file(folder, out, durable=durable)
    wanted = {tmp_path, out.parent, out, out / "texts", out / "texts" / "more"}
    assert wanted <= synced if durable else not wanted & synced


class _Meddling:
    """Progress that changes a file while the models are published."""

    def __init__(self, change: Callable[[], object]) -> None:
        self._change = change

    def begin(self, model: str, total_bytes: int) -> None:
        pass

    def advance(self, nbytes: int, tensor: str) -> None:
        pass

    def phase(self, text: str) -> None:
        if text == "publishing":
            self._change()


def test_a_carried_file_that_changes_meanwhile_is_an_error(folder: Path, tmp_path: Path) -> None:
    change = _Meddling(lambda: (folder / "config.json").write_text("changed"))
    with pytest.raises(SourceChangedError, match=r"config\.json"):
        align_file(folder, tmp_path / "out", progress=change)


def test_what_a_killed_run_left_of_a_carried_file_is_cleaned(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with Stage(out / "deep", "run.sh") as stage:
        os.close(stage.create(stage.data_path("run.sh"), None))
        stage.keep()
    assert os.listdir(out / "deep") == [stage.path.name]
    report = align_file(folder, out)
    assert not stage.path.exists()
    assert any(stage.path.name in note for note in report.models[0].notes)
