"""File systems without hard links, owners and modes: USB sticks, SD cards, network shares."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from onnx_align_pass import recover_folder
from tests.align.snapshot import snapshot
from tests.commit.judge import Judge, content
from tests.commit.kills import Wrongs, killed
from tests.commit.mounts import attached, disk, image, mounted
from tests.commit.perform import perform
from tests.commit.scenes import SCENES
from tests.commit.traced import Tracer

NOBODY = 65534
DONE = {"done": ["written"], "leaked": []}


STICKS = [pytest.param("vfat", marks=pytest.mark.needs_vfat), "exfat"]


@pytest.fixture(scope="module", params=STICKS)
def stick(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """The root of a FAT or exFAT file system of 32 MB, by the kernel or by FUSE."""
    with disk(tmp_path_factory.mktemp("stick"), request.param, 32) as folder:
        yield folder


@pytest.mark.needs_mount
@pytest.mark.parametrize("name", SCENES)
def test_a_run_on_a_stick_succeeds(name: str, stick: Path) -> None:
    root, scene = stick / name, SCENES[name]
    scene.build(root)
    wanted = content(root / scene.source)
    assert perform(scene.task(root)) == DONE
    assert content(root / scene.model) == wanted
    assert not list(root.rglob("*.align-*"))
    assert recover_folder((root / scene.model).parent) == ()


@pytest.mark.needs_mount
@pytest.mark.needs_strace
@pytest.mark.parametrize("name", ["in_place", "fresh"])
def test_a_run_killed_on_a_stick_is_recovered(name: str, stick: Path, tracer: Tracer) -> None:
    root, scene, wrongs = stick / "killed", SCENES[name], Wrongs()
    folder = (root / scene.model).parent
    for point in killed(tracer, scene, root, only=("rename", "unlink", "unlinkat", "mkdir")):
        with wrongs.at(point):
            recover_folder(folder)
            assert not list(root.rglob("*.align-*"))
            if (root / scene.model).exists():
                assert content(root / scene.model) == content(root / scene.source)
            assert "done" in perform(scene.task(root, overwrite=True))
            assert not list(root.rglob("*.align-*"))
    wrongs.none()


@pytest.mark.needs_mount
@pytest.mark.needs_strace
@pytest.mark.parametrize("number", [2, 3, 4, 5])
def test_a_stick_that_was_pulled_out_loses_nothing(
    number: int, tmp_path: Path, tracer: Tracer
) -> None:
    scene = SCENES["in_place"]
    made = image(tmp_path / "image", 32 << 20, "mkfs.exfat")
    command = ["mount.exfat-fuse"]
    with attached(made) as device:
        with mounted(tmp_path / "mounted", *command, device) as stick:
            scene.build(stick / "scene")
            wanted = content(stick / "scene" / scene.model)
            tracer.run(scene.task(stick / "scene"), ["rename"], f"rename:signal=KILL:when={number}")
            held = held_in(stick)
        with mounted(tmp_path / "mounted", *command, device) as stick:
            before = snapshot(stick)
            (found,) = recover_folder(stick / "scene" / "folder")
            if found.outcome == "untrusted":  # inodes are numbered anew here
                assert snapshot(stick) == before
                assert held_in(stick) == held
            else:
                assert content(stick / "scene" / scene.model) == wanted


def held_in(folder: Path) -> set[object]:
    """The contents of all files, by their sums."""
    return {facts[-1] for facts in snapshot(folder).values()}


@pytest.mark.needs_strace
@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("error", ["EPERM", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EXDEV", "EACCES"])
def test_a_run_whose_links_owners_and_modes_are_refused_succeeds(
    name: str, error: str, tracer: Tracer, judge: Callable[[str], Judge], tmp_path: Path
) -> None:
    one, root = judge(name), tmp_path / "scene"
    one.rebuild(root)
    ended = tracer.run(
        one.scene.task(root),
        ["link", "linkat", "fchown"],
        f"link,linkat:error={error}",
        "fchown:error=EPERM",
    )
    assert ended.result == {"done": ["written"], "leaked": []}
    one.is_after(root)


@pytest.mark.needs_root
@pytest.mark.parametrize("mode", [0o640, 0o644, 0o666, 0o4755])
def test_a_file_whose_owner_cannot_be_kept_is_readable_to_nobody_new(
    mode: int, tmp_path: Path, runner: Tracer
) -> None:
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("needs root, to be somebody else")
    folder = Path(tempfile.mkdtemp(dir="/tmp"))  # tmp_path is this user's alone
    try:
        scene = SCENES["large"]
        scene.build(folder)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o777 if path.is_dir() else mode | 0o004)
        data = folder / "folder" / "model.onnx.data"
        data.chmod(mode)
        os.chown(data, 0, NOBODY if not mode & 0o004 else 0)
        assert runner.plain(scene.task(folder, user=NOBODY)) == DONE
        found = data.stat()
        assert found.st_uid == NOBODY
        assert found.st_mode & 0o7777 == {0o640: 0o600, 0o4755: 0o755}.get(mode, mode)
    finally:
        shutil.rmtree(folder)
