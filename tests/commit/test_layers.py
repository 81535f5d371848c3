"""File systems on top of others: a container's layers, FUSE, a mount below the folder."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from onnx_align_pass import recover_folder
from tests.align.snapshot import snapshot
from tests.commit.judge import Judge, Snapshot, content
from tests.commit.kills import Wrongs, changes_of, kill
from tests.commit.mounts import disk, layered, mounted, through
from tests.commit.perform import perform
from tests.commit.scenes import SCENES, Scene
from tests.commit.traced import Tracer

pytestmark = pytest.mark.needs_mount
DONE = {"done": ["written"], "leaked": []}
NAMES = ("rename", "link", "linkat", "unlink", "unlinkat", "mkdir", "rmdir")


class Layers:
    """Makes a scene in a lower layer, and lets it be changed in one above it."""

    def __init__(self, base: Path, program: str, *, elsewhere: bool) -> None:
        self._base, self._program, self._elsewhere = base, program, elsewhere
        self._number = 0

    def over(self, stack: ExitStack, scene: Scene) -> Path:
        """The scene, all of it in the lower layer, seen through the upper one."""
        self._number += 1
        base = self._base / str(self._number)
        lower = base / "lower"
        lower.mkdir(parents=True)
        if self._elsewhere:
            lower = stack.enter_context(disk(base / "tmpfs", "tmpfs"))
        scene.build(lower / "scene")
        return stack.enter_context(layered(base, lower, self._program)) / "scene"


KINDS = {
    "overlay": ("mount", False),
    "overlay_of_two_disks": ("mount", True),  # a file's number changes as it is copied up
    "fuse-overlayfs": ("fuse-overlayfs", False),
}


MARKED = [
    pytest.param("overlay", marks=pytest.mark.needs_overlay),
    pytest.param("overlay_of_two_disks", marks=pytest.mark.needs_overlay),
    pytest.param("fuse-overlayfs", marks=pytest.mark.needs_fuse_overlayfs),
]
OTHERS = [
    pytest.param("xfs", marks=pytest.mark.needs_reflink),
    pytest.param("btrfs", marks=pytest.mark.needs_btrfs),
    "ntfs",
    pytest.param("bindfs", marks=pytest.mark.needs_bindfs),
]


@pytest.fixture(params=MARKED)
def layers(request: pytest.FixtureRequest, tmp_path: Path) -> Layers:
    program, elsewhere = KINDS[request.param]
    return Layers(tmp_path, program, elsewhere=elsewhere)


def files(found: Snapshot) -> Snapshot:
    """Folders have no link counts where there are layers."""
    return {
        name: facts[:3] if isinstance(facts[0], int) and stat.S_ISDIR(facts[0]) else facts
        for name, facts in found.items()
    }


@pytest.mark.parametrize("name", SCENES)
def test_a_run_over_files_of_a_lower_layer_succeeds(
    name: str, layers: Layers, judge: Callable[[str], Judge]
) -> None:
    one = judge(name)
    with ExitStack() as stack:
        root = layers.over(stack, one.scene)
        assert perform(one.scene.task(root)) == DONE
        assert files(snapshot(root)) == files(one.after)
        assert recover_folder((root / one.scene.model).parent) == ()


@pytest.mark.exhaustive
@pytest.mark.needs_strace
@pytest.mark.parametrize("name", ["in_place", "in_place_three", "overwrite", "fresh"])
def test_a_run_killed_over_a_lower_layer_leaves_a_whole_pair_and_is_recovered(
    name: str, layers: Layers, tracer: Tracer, judge: Callable[[str], Judge]
) -> None:
    one, wrongs = judge(name), Wrongs()
    with ExitStack() as stack:
        points = changes_of(tracer, one.scene.task(layers.over(stack, one.scene)))
    for point in (one for one in points if one.name in NAMES):
        with ExitStack() as stack:
            root = layers.over(stack, one.scene)
            kill(tracer, one.scene.task(root), point)
            with wrongs.at(point):
                model = root / one.scene.model
                assert content(model) in one.contents if model.exists() else name == "fresh"
                recover_folder(model.parent)
                assert files(snapshot(root)) in (files(one.before), files(one.after))
    wrongs.none()


@pytest.fixture(scope="module", params=OTHERS)
def other(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    base = tmp_path_factory.mktemp(request.param)
    if request.param == "bindfs":
        with through(base / "folder", base / "view") as root:
            yield root
        return
    with disk(base, request.param, 32) as root:
        yield root


@pytest.mark.parametrize("name", ["fresh", "overwrite", "in_place", "in_place_three", "large"])
def test_a_run_on_another_file_system_succeeds(name: str, other: Path) -> None:
    one, root = SCENES[name], other / name
    one.build(root)
    wanted = content(root / one.source)
    assert perform(one.task(root)) == DONE
    assert content(root / one.model) == wanted
    assert not list(root.rglob("*.align-*"))
    assert recover_folder((root / one.model).parent) == ()
    shutil.rmtree(root)


@pytest.mark.parametrize(
    ("own", "error", "told"),
    [
        (True, "DestinationError", "another file system than the model"),
        (False, "WriteError", "A folder below is mounted by itself"),
    ],
    ids=["another file system", "a second view of the same one"],
)
@pytest.mark.parametrize("name", ["in_place_three", "fresh_in_shards"])
def test_a_mount_below_the_folder_is_told_and_the_old_pair_is_whole(
    name: str, own: bool, error: str, told: str, tmp_path: Path
) -> None:
    one, root = SCENES[name], tmp_path / "scene"
    one.build(root)
    below = root / "folder" / {"in_place_three": "below", "fresh_in_shards": "new"}[name]
    below.mkdir(exist_ok=True)
    with ExitStack() as stack:
        other = tmp_path / "other"
        if own:
            other = stack.enter_context(disk(other, "tmpfs"))
        shutil.copytree(below, other, dirs_exist_ok=True)
        stack.enter_context(mounted(below, "mount", "--bind", other))
        before = snapshot(root)
        found = perform(one.task(root))
        assert (found["error"], found["leaked"]) == (error, [])
        assert told in found["text"]
        assert snapshot(root) == before
