"""A disk that is full at one point of a run or another: the pair is whole, and nothing is left."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from onnx_align_pass import DiskFullError, recover_folder
from tests.align.snapshot import snapshot
from tests.cli.child import run_child
from tests.commit.filling import filled, filled_with_files, room
from tests.commit.judge import content
from tests.commit.mounts import attached, disk, image, mounted
from tests.commit.perform import perform
from tests.commit.scenes import SCENES, Scene
from tests.commit.traced import Tracer

BLOCK = 4096
NOBODY = 65534
SAID = re.compile(r"needed [\d,]+ bytes, found ([\d,]+) bytes free")
slow = pytest.mark.exhaustive
SWEPT = ["ext4", "tmpfs", pytest.param("xfs", marks=[slow, pytest.mark.needs_reflink])]
DISKS = [*SWEPT, pytest.param("btrfs", marks=[slow, pytest.mark.needs_btrfs])]
"""A btrfs without room for its trees gives none back: a file cannot be made shorter there."""
RUNS = ["fresh", "overwrite", "in_place"]


@pytest.fixture(scope="module")
def small(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    with disk(tmp_path_factory.mktemp(request.param), request.param) as root:
        yield root


@pytest.fixture
def scene(request: pytest.FixtureRequest, small: Path) -> Iterator[tuple[Scene, Path]]:
    """A scene on the small disk."""
    one, root = SCENES[request.param], small / "scene"
    one.build(root)
    yield one, root
    shutil.rmtree(root)


def succeeded(told: dict[str, Any], scene: Scene, root: Path, wanted: object) -> bool:
    """Hold a run that succeeded to have made the new pair, and say so."""
    assert told["leaked"] == []
    if "error" in told:
        return False
    assert told["done"] == ["written"]
    assert content(root / scene.model) == wanted
    assert recover_folder((root / scene.model).parent) == ()
    return True


@pytest.mark.needs_mount
@pytest.mark.parametrize("small", SWEPT, indirect=True, scope="module")
@pytest.mark.parametrize("scene", RUNS, indirect=True)
def test_however_little_room_there_is_the_pair_is_whole_and_what_lacks_is_said(
    scene: tuple[Scene, Path], small: Path
) -> None:
    one, root = scene
    before, wanted = snapshot(root), content(root / one.source)
    for blocks in range(1000):
        with filled(small, leave=blocks * BLOCK):
            told = perform(one.task(root))
            if succeeded(told, one, root, wanted):
                break
            assert told["error"] == "DiskFullError", told
            assert "No space left on device" in told["text"], told
            assert "bytes free" in told["text"], told
            assert snapshot(root) == before
    assert blocks > 1


@pytest.mark.needs_mount
@pytest.mark.parametrize("small", DISKS, indirect=True, scope="module")
@pytest.mark.parametrize("phase", ["begin", "advance", "syncing", "publishing"])
@pytest.mark.parametrize("scene", RUNS, indirect=True)
def test_room_that_somebody_takes_during_the_run_costs_nothing(
    scene: tuple[Scene, Path], phase: str, small: Path, runner: Tracer
) -> None:
    one, root = scene
    before, wanted = snapshot(root), content(root / one.source)
    pid = runner.start(one.task(root, stop_at=phase))
    wait_until_stopped(pid)
    with ExitStack() as stack:
        try:
            stack.enter_context(filled(small))
        finally:
            os.kill(pid, signal.SIGCONT)
            told = runner.end()
        if not succeeded(told, one, root, wanted):
            assert told["error"] == "DiskFullError", told
            assert snapshot(root) == before


def wait_until_stopped(pid: int) -> None:
    state, deadline = "", time.monotonic() + 30
    while state != "T":
        assert time.monotonic() < deadline
        time.sleep(0.01)
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0]
        assert state != "Z", "it ended before that"


@pytest.mark.needs_mount
@pytest.mark.parametrize("name", RUNS)
def test_a_disk_without_a_file_more_costs_nothing_and_it_is_said_that_files_lack(
    name: str, tmp_path: Path
) -> None:
    one = SCENES[name]
    # 64 files in all, and room enough.
    made = image(tmp_path / "image", 6 << 20, "mkfs.ext4", "-q", "-N", "64")
    with attached(made) as device, mounted(tmp_path / "mounted", "mount", device) as base:
        root = base / "scene"
        one.build(root)
        before, wanted = snapshot(root), content(root / one.source)
        for files in range(20):
            with filled_with_files(base, leave=files):
                told = perform(one.task(root))
                if succeeded(told, one, root, wanted):
                    break
                assert told["error"] == "DiskFullError", told
                assert files or "bytes free, but for no more files" in told["text"], told
                assert snapshot(root) == before
        assert files > 1


@pytest.mark.needs_mount
def test_blocks_that_are_reserved_for_root_are_no_room_for_others(
    tmp_path: Path, runner: Tracer
) -> None:
    one = SCENES["large"]
    with ExitStack() as stack:
        base = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        base.chmod(0o755)
        made = image(base / "image", 16 << 20, "mkfs.ext4", "-q", "-m", "40")
        device = stack.enter_context(attached(made))
        root = stack.enter_context(mounted(base / "mounted", "mount", device))
        one.build(root / "scene")
        for path in (root / "scene", *(root / "scene").rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        os.chown(root, NOBODY, NOBODY)
        before = snapshot(root / "scene")
        with (root / "filler").open("wb") as file:  # root may go on: others may not
            os.posix_fallocate(file.fileno(), 0, room(root) - (1 << 20))
        told = runner.plain(one.task(root / "scene", user=NOBODY))
        assert told["error"] == "DiskFullError", told
        match = SAID.search(told["text"])
        assert match is not None
        assert int(match[1].replace(",", "")) <= 1 << 20
        assert snapshot(root / "scene") == before


@pytest.mark.needs_mount
@pytest.mark.parametrize("arguments", [["out.onnx"], ["--in-place"]], ids=str)
def test_the_command_line_says_what_is_needed_and_what_there_is_and_ends_with_4(
    arguments: list[str], tmp_path: Path
) -> None:
    with disk(tmp_path, "ext4") as base:
        SCENES["large"].build(base)
        folder = base / "folder"
        before, left = snapshot(folder), 1 << 20
        with filled(base, leave=left):
            done = run_child("align", "model.onnx", *arguments, cwd=folder)
            assert snapshot(folder) == before
    assert done.returncode == 4
    assert "Traceback" not in done.stderr
    match = SAID.search(done.stderr)
    assert match is not None, done.stderr
    assert left <= int(match[1].replace(",", "")) < left + 10 * BLOCK
    assert "hint: Free some space, or write to another disk." in done.stderr


def test_what_the_run_itself_holds_was_free_before(tmp_path: Path) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    error = DiskFullError(tmp_path / "not" / "there" / "f", 7, full, held=1 << 50)
    assert int(str(error.found).split(" ", 1)[0].replace(",", "")) > 1 << 50
    assert error.needed == "7 bytes"
