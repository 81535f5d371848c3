"""Where writing is forbidden: an error that names the file, exit code 4, and all is as it was."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from onnx_align_cli import main
from onnx_align_pass import recover_folder
from tests.align.snapshot import snapshot
from tests.cli.child import run_child
from tests.commit.judge import content
from tests.commit.mounts import disk, mounted
from tests.commit.perform import perform
from tests.commit.scenes import SCENES
from tests.commit.traced import Tracer

NOBODY = 65534
OTHER = 65533
ONE = SCENES["in_place"]
FOLDER = "folder"
MODEL = "model.onnx"
DATA = "model.onnx.data"


@pytest.fixture
def scene_folder(open_folder: Path) -> Path:
    """The scene, where every user may enter."""
    ONE.build(open_folder)
    return open_folder


def own(folder: Path, user: int) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user, user)


@contextmanager
def flagged(path: Path, flag: str) -> Iterator[None]:
    """A file or folder with a flag of `chattr`, while the context lasts."""
    if shutil.which("chattr") is None:
        pytest.skip("needs chattr")
    done = subprocess.run(["chattr", f"+{flag}", path], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"cannot set the flag here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["chattr", f"-{flag}", path], check=True)


@pytest.fixture(scope="module")
def read_only(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A model on a file system that is mounted read-only."""
    base = tmp_path_factory.mktemp("read_only")
    with disk(base, "ext4") as root:
        ONE.build(root)
        with mounted(base / "view", "mount", "--bind", "-o", "ro", root) as view:
            yield view


@pytest.mark.needs_mount
@pytest.mark.parametrize(
    "command",
    [["inspect"], ["inspect", "--digest"], ["verify"], ["plan"]],
    ids=" ".join,
)
def test_what_only_reads_reads_from_a_read_only_disk(command: list[str], read_only: Path) -> None:
    assert main([*command, str(read_only / FOLDER / MODEL)]) == 0


@pytest.mark.needs_mount
def test_a_source_may_lie_on_a_read_only_disk(read_only: Path, tmp_path: Path) -> None:
    source = read_only / FOLDER / MODEL
    assert main(["align", str(source), str(tmp_path / "new.onnx"), "--verify"]) == 0
    assert content(tmp_path / "new.onnx")[0] == content(source)[0]


@pytest.mark.needs_mount
@pytest.mark.parametrize(
    "arguments",
    [
        ["align", MODEL, "new.onnx"],
        ["align", MODEL, "new/folder/"],
        ["align", MODEL, "--in-place"],
        ["align", ".", "--in-place"],
        ["rename", MODEL, "new.onnx"],
        ["inline", MODEL, "new.onnx"],
        ["inline", MODEL, "--in-place"],
    ],
    ids=" ".join,
)
def test_a_read_only_disk_is_told_as_such_and_ends_with_4(
    arguments: list[str],
    read_only: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(read_only / FOLDER)
    assert main(arguments) == 4
    told = capsys.readouterr().err
    assert "Read-only file system" in told
    assert "hint: Choose a folder that you may write to." in told


@pytest.mark.needs_mount
def test_a_run_that_was_killed_on_a_disk_that_became_read_only_is_told(
    read_only: Path, tmp_path: Path
) -> None:
    left = tmp_path / f".{MODEL}.align-01234567"
    left.mkdir()
    (left / f"stamp.{left.lstat().st_ino}").touch()
    with mounted(tmp_path / "view", "mount", "--bind", "-o", "ro", tmp_path) as view:
        done = run_child("recover", view)
    assert done.returncode == 4, done.stderr
    assert "Read-only file system" in done.stderr
    assert left.exists()


@pytest.mark.needs_root
@pytest.mark.parametrize("mode", [0o555, 0o755])
def test_a_folder_that_the_user_may_not_write_to_is_named(
    mode: int, scene_folder: Path, runner: Tracer
) -> None:
    folder = scene_folder / FOLDER
    own(folder, NOBODY if mode == 0o555 else OTHER)
    for path in folder.iterdir():
        path.chmod(0o644)
    folder.chmod(mode)
    before = snapshot(scene_folder)
    told = runner.plain(ONE.task(scene_folder, user=NOBODY))
    assert told["error"] == "WriteError", told
    assert str(folder) in told["text"]
    assert "Permission denied" in told["text"]
    assert snapshot(scene_folder) == before


@pytest.fixture(scope="module")
def with_flags(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with disk(tmp_path_factory.mktemp("with_flags"), "ext4") as root:
        yield root


@pytest.fixture
def changeable(with_flags: Path) -> Iterator[Path]:
    """A folder on a file system whose files have the flags of `chattr`."""
    root = with_flags / "root"
    root.mkdir()
    yield root
    shutil.rmtree(root)


@pytest.mark.needs_mount
@pytest.mark.parametrize("flag", ["i", "a"])
@pytest.mark.parametrize("name", [MODEL, DATA])
def test_a_file_that_nobody_may_replace_ends_the_run_and_the_old_pair_is_whole(
    name: str, flag: str, changeable: Path
) -> None:
    ONE.build(changeable)
    before = snapshot(changeable)
    with flagged(changeable / FOLDER / name, flag):
        told = perform(ONE.task(changeable))
        assert snapshot(changeable) == before
    assert told["error"] == "WriteError", told
    assert "Operation not permitted" in told["text"]
    assert told["leaked"] == []
    assert recover_folder(changeable / FOLDER) == ()


@pytest.mark.needs_mount
@pytest.mark.parametrize("name", ["in_place", "overwrite"])
def test_in_a_folder_that_only_grows_the_old_pair_is_whole(name: str, changeable: Path) -> None:
    one = SCENES[name]
    one.build(changeable)
    before = snapshot(changeable)
    with flagged(changeable / FOLDER, "a"):
        told = perform(one.task(changeable))
        assert told["error"] == "WriteError", told
        (left,) = set(snapshot(changeable)) - set(before)
        assert ".align-" in left  # an empty folder: nobody may remove it
    recover_folder(changeable / FOLDER)
    assert snapshot(changeable) == before


@pytest.mark.needs_root
@pytest.mark.parametrize("theirs", [[MODEL], [DATA], [MODEL, DATA]], ids=" ".join)
def test_another_users_files_in_a_sticky_folder_are_not_replaced(
    theirs: list[str], scene_folder: Path, runner: Tracer
) -> None:
    folder = scene_folder / FOLDER
    own(folder, NOBODY)
    for path in folder.iterdir():
        path.chmod(0o644)
    for name in theirs:
        os.chown(folder / name, OTHER, OTHER)
    os.chown(folder, OTHER, OTHER)
    folder.chmod(0o1777)
    before = snapshot(scene_folder)
    told = runner.plain(ONE.task(scene_folder, user=NOBODY))
    assert told["error"] == "WriteError", told
    assert snapshot(scene_folder) == before
    assert stat.S_IMODE(folder.stat().st_mode) == 0o1777
