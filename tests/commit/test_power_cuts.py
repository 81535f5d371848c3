"""The power fails: what was not synced is lost, and the pair on the disk is whole all the same.

The run is killed on a loop-mounted ext4, and the image is copied while it is mounted: the copy has
what had reached the disk. Mounted in its turn, its journal is replayed as after a power cut.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from onnx_align_pass import recover_folder
from tests.commit.judge import Judge
from tests.commit.kills import Wrongs, changes_of, kill
from tests.commit.mounts import attached, image, mounted
from tests.commit.perform import perform
from tests.commit.scenes import Scene
from tests.commit.traced import Call, Tracer

pytestmark = [pytest.mark.needs_mount, pytest.mark.needs_strace]

LAZY = ("mount", "-o", "commit=3600")
"""Nothing reaches the disk by the passing of time."""
CALLS = ("rename", "link", "unlink", "unlinkat", "mkdir", "openat", "fsync")
"""Where a power cut is tried: what changes names, and what syncs."""


class Disk:
    """A disk on which the scene is built, to be cut off at any time."""

    def __init__(self, base: Path, scene: Scene) -> None:
        self._base = base
        self._template = image(base / "template", 16 << 20, "mkfs.ext4", "-q", "-m", "0")
        with self._mounted(self._template) as folder:
            scene.build(folder / "scene")

    @contextmanager
    def running(self) -> Iterator[Path]:
        """The scene on a fresh disk; at the end the power fails."""
        live = self._base / "live"
        shutil.copyfile(self._template, live)
        with self._mounted(live) as folder:
            yield folder / "scene"
            shutil.copyfile(live, self._base / "cut")

    @contextmanager
    def after_the_cut(self) -> Iterator[Path]:
        """The scene when the system has started anew; devices may have other numbers then."""
        with attached(self._template), self._mounted(self._base / "cut") as folder:
            yield folder / "scene"

    @contextmanager
    def _mounted(self, made: Path) -> Iterator[Path]:
        with attached(made) as device, mounted(self._base / "mounted", *LAZY, device) as folder:
            yield folder


def points(tracer: Tracer, disk: Disk, scene: Scene) -> list[Call]:
    """The calls at which the power fails."""
    with disk.running() as root:
        return [one for one in changes_of(tracer, scene.task(root)) if one.name in CALLS]


@pytest.mark.parametrize("name", ["in_place", "fresh_in_shards"])
def test_a_power_cut_leaves_a_whole_pair(
    name: str, tracer: Tracer, judge: Callable[[str], Judge], tmp_path: Path
) -> None:
    one, wrongs = judge(name), Wrongs()
    disk = Disk(tmp_path, one.scene)
    for point in points(tracer, disk, one.scene):
        with disk.running() as root:
            kill(tracer, one.scene.task(root), point)
        with wrongs.at(point), disk.after_the_cut() as root:
            one.whole(root)
            recover_folder((root / one.scene.model).parent)
            one.settled(root)
    wrongs.none()


@pytest.mark.parametrize("name", ["in_place", "fresh_in_shards", "overwrite"])
def test_what_a_run_has_done_outlives_a_power_cut(
    name: str, judge: Callable[[str], Judge], tmp_path: Path
) -> None:
    one = judge(name)
    disk = Disk(tmp_path, one.scene)
    with disk.running() as root:
        assert "done" in perform(one.scene.task(root))
    with disk.after_the_cut() as root:
        assert one.whole(root)
        recover_folder((root / one.scene.model).parent)
        one.is_after(root)
