"""Journals that no run wrote: damaged, or of something else. Nothing outside is touched."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from onnx_align_pass import Leftover, recover_folder
from tests.align.snapshot import snapshot
from tests.commit.journals import NOTHING, TOKEN, staged, state
from tests.corpus import oracle
from tests.corpus.build import external, showing, tensor, write

DATA = "model.onnx.data"


def pair(folder: Path) -> Path:
    """A model and its data."""
    folder.mkdir(exist_ok=True)
    return write(folder, showing([external(tensor("w", [30]), folder)]))


def settle(folder: Path) -> Leftover:
    """Recover the one leftover."""
    (found,) = recover_folder(folder)
    return found


@pytest.mark.parametrize("opened", ["[", '{"a":'])
def test_a_journal_that_nests_deeper_than_is_read_is_damaged(opened: str, tmp_path: Path) -> None:
    pair(tmp_path)
    before = snapshot(tmp_path)
    (staged(tmp_path) / "journal").write_text(opened * 100_000)
    assert settle(tmp_path).reason == "its journal is damaged"
    assert snapshot(tmp_path) == before


CONTRADICTIONS: dict[str, dict[str, object]] = {
    "data that nothing is known of": {"data_before": {DATA: None}},
    "data that is published nowhere": {"data_after": {DATA: NOTHING}},
    "two names": {"data_before": {DATA: None}, "data_after": {"other": NOTHING}},
    "a model in a folder below": {"model": "below/model.onnx"},
    "a name that no file can have": {"superseded": {"\ud800": NOTHING}},
    "a folder that none can be called": {"new_folders": ["\udfff"]},
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_journal_that_contradicts_itself_is_damaged(name: str, tmp_path: Path) -> None:
    pair(tmp_path)
    before = snapshot(tmp_path)
    staged(tmp_path, **CONTRADICTIONS[name])
    found = settle(tmp_path)
    assert (found.outcome, found.reason) == ("discarded", "its journal is damaged")
    assert snapshot(tmp_path) == before


def test_a_journal_of_another_model_is_not_followed(tmp_path: Path) -> None:
    pair(tmp_path)
    staged(tmp_path, model="new.onnx", model_before=None)
    before = snapshot(tmp_path)
    found = settle(tmp_path)
    assert found.outcome == "untrusted"
    assert "of another model" in found.reason
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize(
    ("named", "listed"),
    [("mod\u00e8le.onnx", "mode\u0300le.onnx"), ("Model.onnx", "model.onnx")],
)
def test_a_file_system_may_spell_the_staging_folder_in_its_own_way(
    named: str, listed: str, tmp_path: Path
) -> None:
    model = pair(tmp_path).rename(tmp_path / named)
    wanted = oracle.tensors(model)
    staging = staged(tmp_path, model=named, model_before=NOTHING, model_after=state(model))
    staging.rename(tmp_path / f".{listed}.align-0123abcd")
    assert settle(tmp_path).outcome == "finished"
    assert oracle.tensors(model) == wanted


@pytest.mark.parametrize("folders", [["out/new"], ["out/empty"]], ids=["made", "removed"])
def test_a_folder_behind_a_symlink_is_neither_made_nor_removed(
    folders: list[str], tmp_path: Path
) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    (outside / "empty").mkdir(parents=True)
    pair(folder)
    (folder / "out").symlink_to(outside)
    before = snapshot(tmp_path)
    staged(folder, new_folders=folders)
    assert settle(folder).outcome == "discarded"
    staged(
        folder, new_folders=folders, model_before=NOTHING, model_after=state(folder / "model.onnx")
    )
    assert settle(folder).outcome == "discarded"
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("field", ["superseded", "data"])
def test_a_file_behind_a_symlink_is_neither_removed_nor_moved(field: str, tmp_path: Path) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("precious")
    pair(folder)
    (folder / "out").symlink_to(outside)
    before = snapshot(tmp_path)
    name, found = "out/precious", state(outside / "precious")
    if field == "superseded":
        after = state(folder / "model.onnx")
        staged(folder, superseded={name: found}, model_before=NOTHING, model_after=after)
    else:
        staged(folder, data_before={name: None}, data_after={name: found})
    assert settle(folder).outcome == "discarded"
    assert snapshot(tmp_path) == before


def test_what_was_replaced_behind_a_symlink_is_kept(tmp_path: Path) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    outside.mkdir()
    pair(folder)
    (folder / "out").symlink_to(outside)
    name = "out/w.data"
    staging = staged(folder, data_before={name: NOTHING}, data_after={name: NOTHING})
    (staging / "old").write_text("the only copy")
    before = snapshot(tmp_path)
    found = settle(folder)
    assert found.outcome == "untrusted"
    assert "symlink" in found.reason
    assert snapshot(tmp_path) == before


def test_data_that_the_model_needs_stays_whatever_the_journal_says(tmp_path: Path) -> None:
    staging = tmp_path / TOKEN
    (staging / "data").mkdir(parents=True)
    weights = external(tensor("w", [30]), tmp_path, f"{TOKEN}/data/{DATA}")
    bridge = write(tmp_path, showing([weights]))
    wanted, after = oracle.tensors(bridge), state(bridge)
    (staging / f"stamp.{staging.stat().st_ino}").touch()
    fields = {"model": "model.onnx", "model_before": None, "model_after": after, "bridge": None}
    data: dict[str, object] = {"data_before": {}, "data_after": {}, "superseded": {}}
    (staging / "journal").write_text(json.dumps({**fields, **data, "new_folders": []}))
    assert settle(tmp_path).outcome == "untrusted"
    assert oracle.tensors(bridge) == wanted


NO_MODELS: dict[str, Callable[[Path], object]] = {
    "a FIFO": os.mkfifo,
    "a socket": lambda path: os.mknod(path, stat.S_IFSOCK | 0o600),
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a folder": os.mkdir,
}


@pytest.mark.parametrize("name", NO_MODELS)
def test_a_neighbour_that_is_no_model_neither_holds_recovery_up_nor_spares_a_file(
    name: str, tmp_path: Path
) -> None:
    pair(tmp_path)
    old = tmp_path / "old.data"
    old.touch()
    after = state(tmp_path / "model.onnx")
    staged(tmp_path, superseded={old.name: state(old)}, model_before=NOTHING, model_after=after)
    NO_MODELS[name](tmp_path / "other.onnx")
    assert settle(tmp_path).outcome == "finished"
    assert not old.exists()


@pytest.mark.parametrize("name", NO_MODELS)
def test_nor_does_one_that_has_the_models_name(name: str, tmp_path: Path) -> None:
    (staged(tmp_path) / "journal").write_text("{}")
    NO_MODELS[name](tmp_path / "model.onnx")
    assert settle(tmp_path).outcome == "discarded"
