"""What lies about after a kill, and what looks like it: nothing is followed, nothing is lost."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from onnx_align_pass import Leftover, recover_folder
from tests.align.snapshot import snapshot
from tests.commit.judge import Judge, content
from tests.commit.kills import changes_of, kill
from tests.commit.perform import perform
from tests.commit.scenes import SCENES
from tests.commit.traced import Tracer
from tests.corpus.build import external, point, showing, tensor, write

TOKEN = ".model.onnx.align-0123abcd"
NOBODY = 65534

Kill = Callable[[str, str, int], Path]
"""Kills a scene at the n-th call of a name, from 0; returns the destination folder."""


@pytest.fixture
def killed_at(tracer: Tracer, tmp_path: Path) -> Kill:
    """Leaves a scene half done."""

    def leave(name: str, call: str, number: int) -> Path:
        scene, root = SCENES[name], tmp_path / name
        scene.build(root)
        run = [one for one in changes_of(tracer, scene.task(root)) if one.name == call]
        shutil.rmtree(root)
        scene.build(root)
        kill(tracer, scene.task(root), run[number])
        return (root / scene.model).parent

    return leave


def left_in(folder: Path) -> Path:
    """The one staging folder."""
    (found,) = folder.glob(".*.align-*")
    return found


def settle(folder: Path) -> Leftover:
    """Recover the one leftover."""
    (found,) = recover_folder(folder)
    return found


def staged_here(folder: Path, journal: object) -> Path:
    """A staging folder that was made here, by this user, with any journal."""
    staging = folder / TOKEN
    staging.mkdir()
    (staging / f"stamp.{staging.stat().st_ino}").touch()
    (staging / "journal").write_text(journal if isinstance(journal, str) else json.dumps(journal))
    return staging


def state(path: Path) -> dict[str, int]:
    found = path.lstat()
    return {"inode": found.st_ino, "size": found.st_size, "mtime_ns": found.st_mtime_ns}


@pytest.mark.needs_strace
@pytest.mark.parametrize(("call", "number"), [("rename", 1), ("rename", 2), ("rename", 3)])
def test_a_copied_leftover_is_not_trusted_and_not_broken(
    call: str, number: int, killed_at: Kill, tmp_path: Path
) -> None:
    folder = killed_at("in_place", call, number)
    shutil.copytree(folder, tmp_path / "copy")
    before, wanted = snapshot(tmp_path / "copy"), content(folder / "model.onnx")
    found = settle(tmp_path / "copy")
    assert found.outcome == "untrusted"
    assert ("points into it" in found.reason) == (number > 1)
    assert snapshot(tmp_path / "copy") == before
    assert content(tmp_path / "copy" / "model.onnx") == wanted


@pytest.mark.needs_strace
def test_a_leftover_that_moves_with_its_folder_is_still_ours(
    killed_at: Kill, judge: Callable[[str], Judge], tmp_path: Path
) -> None:
    folder = killed_at("in_place", "rename", 3)
    folder.parent.rename(tmp_path / "moved")
    assert settle(tmp_path / "moved" / "folder").outcome == "finished"
    judge("in_place").is_after(tmp_path / "moved")


@pytest.mark.needs_root
@pytest.mark.needs_strace
def test_a_leftover_of_another_user_is_not_trusted(killed_at: Kill) -> None:
    folder = killed_at("in_place", "rename", 3)
    if os.geteuid() != 0:
        pytest.skip("needs root, to give a folder away")
    os.chown(left_in(folder), NOBODY, NOBODY)
    before = snapshot(folder)
    assert settle(folder).outcome == "untrusted"
    assert snapshot(folder) == before


def test_a_symlink_is_not_followed(tmp_path: Path) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (staged_here(outside, {}) / "precious").write_text("precious")
    (folder / TOKEN).symlink_to(outside / TOKEN)
    (folder / ".file.align-0123abcd").write_text("a file")
    (folder / ".short.align-0123abc").mkdir()
    before = snapshot(tmp_path)
    assert recover_folder(folder) == ()
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("stamp", [None, "stamp", "stamp.", "stamp.1", "stamp.0123"])
def test_a_folder_without_its_stamp_is_not_trusted(stamp: str | None, tmp_path: Path) -> None:
    staging = tmp_path / TOKEN
    (staging / "data").mkdir(parents=True)
    (staging / "data" / "precious").write_text("precious")
    if stamp is not None:
        (staging / stamp).write_text(f"onnx-align-pass {staging.stat().st_ino}")
    before = snapshot(tmp_path)
    assert settle(tmp_path).outcome == "untrusted"
    assert snapshot(tmp_path) == before


def test_a_folder_with_a_stamp_for_each_number_is_not_trusted(tmp_path: Path) -> None:
    staging = tmp_path / TOKEN
    staging.mkdir()
    own = staging.stat().st_ino
    for number in range(own - 50, own + 50):
        (staging / f"stamp.{number}").touch()
    before = snapshot(tmp_path)
    assert settle(tmp_path).outcome == "untrusted"
    assert snapshot(tmp_path) == before


def test_an_empty_folder_is_removed(tmp_path: Path) -> None:
    (tmp_path / TOKEN).mkdir()
    assert settle(tmp_path).outcome == "discarded"
    assert snapshot(tmp_path) == {}


@pytest.mark.parametrize(
    "name", ["../victim", "/etc/victim", "below/../../victim", "..", "", "victim\0", "a/.."]
)
@pytest.mark.parametrize("field", ["model", "data_before", "data_after", "superseded", "folders"])
def test_a_journal_that_names_something_outside_is_damaged(
    name: str, field: str, tmp_path: Path
) -> None:
    folder, victim = tmp_path / "folder", tmp_path / "victim"
    folder.mkdir()
    victim.write_text("precious")
    (folder / "new").mkdir()
    journal = {
        "model": name if field == "model" else "model.onnx",
        "model_before": None,
        "model_after": state(victim),
        "bridge": None,
        "data_before": {name: None} if field == "data_before" else {},
        "data_after": {name: state(victim)} if field == "data_after" else {},
        "superseded": {name: state(victim)} if field == "superseded" else {},
        "new_folders": [name] if field == "folders" else [],
    }
    before = snapshot(tmp_path)
    staging = staged_here(folder, journal)
    (staging / "model").write_text("staged")
    found = settle(folder)
    assert (found.outcome, found.reason) == ("discarded", "its journal is damaged")
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("journal", ["", "{", "[]", "null", '{"model": 1}', "\0" * 300])
def test_a_journal_that_was_torn_is_discarded(journal: str, tmp_path: Path) -> None:
    staged_here(tmp_path, journal)
    assert settle(tmp_path).outcome == "discarded"
    assert snapshot(tmp_path) == {}


def test_a_journal_that_is_no_file_is_not_read(tmp_path: Path) -> None:
    staging = staged_here(tmp_path, "")
    (staging / "journal").unlink()
    os.mkfifo(staging / "journal")
    assert settle(tmp_path).outcome == "discarded"
    staging = staged_here(tmp_path, "")
    (staging / "journal").unlink()
    (staging / "journal").symlink_to("/dev/zero")
    assert settle(tmp_path).outcome == "discarded"


@pytest.mark.needs_strace
@pytest.mark.parametrize("number", [2, 3])
def test_a_damaged_journal_does_not_take_the_data_from_the_bridge(
    number: int, killed_at: Kill
) -> None:
    folder = killed_at("in_place", "rename", number)
    (left_in(folder) / "journal").write_text("{")
    before = snapshot(folder)
    assert settle(folder).outcome == "untrusted"
    assert snapshot(folder) == before


@pytest.mark.needs_strace
@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("name", ["in_place", "in_place_three", "overwrite"])
def test_a_model_that_was_written_anew_is_never_overwritten(
    name: str, number: int, killed_at: Kill
) -> None:
    folder = killed_at(name, "rename", number)
    (folder / "model.onnx").unlink()
    graph = showing([external(tensor("mine", [100]), folder, "mine.data")])
    mine = content(write(folder, graph))
    before = (folder / "model.onnx").read_bytes()
    assert settle(folder).outcome == "discarded"
    assert (folder / "model.onnx").read_bytes() == before
    assert content(folder / "model.onnx") == mine
    assert recover_folder(folder) == ()


@pytest.mark.needs_strace
def test_a_fresh_destination_that_somebody_took_is_left_to_them(killed_at: Kill) -> None:
    folder = killed_at("fresh", "unlink", 0)
    before = b"mine"
    (folder / "model.onnx").write_bytes(before)
    assert settle(folder).outcome == "discarded"
    assert (folder / "model.onnx").read_bytes() == before


@pytest.mark.needs_strace
@pytest.mark.parametrize("number", [2, 3])
def test_a_bridge_that_was_saved_anew_keeps_the_data_that_it_points_at(
    number: int, killed_at: Kill
) -> None:
    folder = killed_at("in_place", "rename", number)
    model = folder / "model.onnx"
    wanted, text = content(model), model.read_bytes()
    model.unlink()
    model.write_bytes(text)
    os.utime(model, ns=(1, 1))  # the clock may not have ticked, and the number be the old one
    before = snapshot(folder)
    assert settle(folder).outcome == "untrusted"
    assert snapshot(folder) == before
    assert content(model) == wanted


@pytest.mark.needs_strace
@pytest.mark.parametrize("number", [2, 3])
@pytest.mark.parametrize("name", ["in_place", "in_place_three"])
def test_an_old_model_that_was_put_back_gets_its_old_data_back(
    name: str, number: int, killed_at: Kill, judge: Callable[[str], Judge], tmp_path: Path
) -> None:
    folder = killed_at(name, "rename", number)
    SCENES[name].build(tmp_path / "backup")
    (folder / "model.onnx").unlink()
    shutil.copy2(tmp_path / "backup" / "folder" / "model.onnx", folder)
    assert settle(folder).outcome == "discarded"
    assert snapshot(folder.parent) == judge(name).before


@pytest.mark.needs_strace
@pytest.mark.parametrize("number", [2, 3])
def test_data_that_was_written_anew_is_not_overwritten(number: int, killed_at: Kill) -> None:
    folder = killed_at("in_place", "rename", number)
    data, wanted = folder / "model.onnx.data", content(folder / "model.onnx")
    data.unlink()
    data.write_bytes(b"mine")
    before = snapshot(folder)
    found = settle(folder)
    assert found.outcome == "untrusted"
    assert "model.onnx.data was written anew" in found.reason
    assert snapshot(folder) == before
    assert content(folder / "model.onnx") == wanted


@pytest.mark.needs_strace
@pytest.mark.parametrize("name", ["model", "data/model.onnx.data"])
@pytest.mark.parametrize(
    ("scene", "call", "number"), [("in_place", "rename", 2), ("fresh", "link", 0)]
)
def test_a_staged_file_that_became_a_symlink_is_not_published(
    name: str, scene: str, call: str, number: int, killed_at: Kill, tmp_path: Path
) -> None:
    folder = killed_at(scene, call, number)
    secret = tmp_path / "secret"
    secret.write_text("secret")
    staged = left_in(folder) / name
    staged.unlink()
    staged.symlink_to(secret)
    found = settle(folder)
    assert found.outcome == {"in_place": "untrusted", "fresh": "discarded"}[scene]
    assert secret.read_text() == "secret"
    assert not any(path.is_symlink() for path in folder.iterdir())
    assert (folder / "model.onnx").exists() == (scene == "in_place")


@pytest.mark.needs_strace
def test_a_data_folder_that_became_a_symlink_is_not_followed(
    killed_at: Kill, tmp_path: Path
) -> None:
    folder = killed_at("fresh_in_shards", "link", 1)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("precious")
    shutil.rmtree(folder / "new")
    (folder / "new").symlink_to(outside)
    before = snapshot(outside)
    assert settle(folder).outcome == "discarded"
    assert snapshot(outside) == before
    assert not (folder / "model.onnx").exists()


@pytest.mark.needs_strace
def test_a_superseded_file_that_another_model_uses_by_now_is_spared(killed_at: Kill) -> None:
    folder = killed_at("in_place_other_names", "unlink", 3)
    old = point(tensor("w.0", [300]), [("location", "model.onnx.data"), ("offset", "3")])
    write(folder, showing([old]), "late.onnx")
    wanted = content(folder / "late.onnx")
    assert settle(folder).outcome == "finished"
    assert content(folder / "late.onnx") == wanted


@pytest.mark.needs_strace
def test_leftovers_of_other_models_are_left_to_their_own_runs(killed_at: Kill) -> None:
    folder = killed_at("in_place", "rename", 2)
    assert recover_folder(folder, "other.onnx") == ()
    assert "done" in perform(
        {
            "call": "align",
            "source": str(folder / "other.onnx"),
            "destination": str(folder / "third.onnx"),
        }
    )
    assert left_in(folder)
    assert [one.outcome for one in recover_folder(folder, "model.onnx")] == ["finished"]
