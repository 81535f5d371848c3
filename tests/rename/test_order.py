"""The order on the disk: the new model is there, with its data, before an old name goes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from onnx_align_pass import recover_folder
from tests.commit.kills import Wrongs, kill
from tests.commit.perform import perform
from tests.commit.test_power_cuts import Disk, points
from tests.commit.traced import Tracer

from .judge import RenameJudge
from .scenes import RENAMES

TRACED = ("rename", "link", "unlink", "fsync")
PATH = re.compile(r'[<"]([^">]*)[">]')

Judges = Callable[[str], RenameJudge]


def order_of(tracer: Tracer, name: str, root: Path, *, durable: bool) -> list[str]:
    """What a run does to names, each with the path it ends at, and what it syncs.

    What is staged begins with `/`.
    """
    scene = RENAMES[name]
    scene.build(root)
    ended = tracer.run(scene.task(root, durable=durable), TRACED)
    assert "done" in ended.result
    found = []
    for call in ended.calls:
        path = re.sub(r"stamp\.\d+", "stamp", PATH.findall(call.arguments)[-1])
        found.append(f"{call.name} {path.removeprefix(f'{root}/')}")
    return found


@pytest.mark.needs_strace
def test_every_step_is_on_the_disk_before_the_next(tracer: Tracer, tmp_path: Path) -> None:
    order = order_of(tracer, "moved_and_renamed", tmp_path, durable=True)
    start = order.index("rename /journal") + 1
    assert order[start:] == [
        *("fsync /", "fsync /data", "fsync /data/below", "fsync folder"),
        *("link folder/new.onnx.data", "unlink /data/new.onnx.data"),
        *("link folder/below/new-2.bin", "unlink /data/below/new-2.bin"),
        *("link folder/kept.data", "unlink /data/kept.data"),
        *("fsync folder/below", "fsync folder"),
        *("link folder/new.onnx", "unlink /model", "fsync folder"),
        *("unlink /journal", "unlink /stamp"),
        *("fsync /journal.new", "rename /journal", "fsync /", "fsync source"),
        *("unlink source/old.onnx", "fsync source"),
        *("unlink source/old.onnx.data", "unlink source/below/old-2.bin"),
        # The folder of the second one is empty now, and goes with it.
        *("unlink source/kept.data", "unlink /journal", "unlink /stamp", "fsync source"),
    ]


@pytest.mark.needs_strace
@pytest.mark.parametrize("name", RENAMES)
def test_without_durability_the_order_is_the_same_and_nothing_is_synced(
    name: str, tracer: Tracer, tmp_path: Path
) -> None:
    durable = order_of(tracer, name, tmp_path / "durable", durable=True)
    quick = order_of(tracer, name, tmp_path / "quick", durable=False)
    assert quick == [step for step in durable if not step.startswith("fsync")]


@pytest.mark.needs_mount
@pytest.mark.needs_strace
@pytest.mark.parametrize("name", ["one_file", "moved_and_renamed"])
def test_a_power_cut_leaves_a_whole_model_and_the_same_command_ends_it(
    name: str, tracer: Tracer, judge: Judges, tmp_path: Path
) -> None:
    one, wrongs = judge(name), Wrongs()
    disk = Disk(tmp_path, one.scene)
    for point in points(tracer, disk, one.scene):
        with disk.running() as root:
            kill(tracer, one.scene.task(root), point)
        with wrongs.at(point), disk.after_the_cut() as root:
            one.whole(root)
            for model in (one.scene.source, one.scene.model):
                recover_folder((root / model).parent)
            one.whole(root)
            one.finish(root)
    wrongs.none()


@pytest.mark.needs_mount
@pytest.mark.parametrize("name", ["one_file", "over_another", "moved"])
def test_what_a_rename_has_done_outlives_a_power_cut(
    name: str, judge: Judges, tmp_path: Path
) -> None:
    one = judge(name)
    disk = Disk(tmp_path, one.scene)
    with disk.running() as root:
        assert "done" in perform(one.scene.task(root))
    with disk.after_the_cut() as root:
        one.is_after(root)
