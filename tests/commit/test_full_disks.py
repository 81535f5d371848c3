"""A disk that is really full, for bytes or for files: a clear error, and nothing left behind."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from onnx_align_pass import DiskFullError, LayoutPolicy, WriteError, align_file, recover_folder
from tests.align.snapshot import snapshot
from tests.commit.judge import content
from tests.commit.mounts import attached, image, mounted
from tests.commit.scenes import SCENES, Scene
from tests.commit.traced import Tracer
from tests.corpus.build import external, showing, tensor, write

LARGE = SCENES["large"]


def source_of(folder: Path, kib: int) -> Path:
    """A model with about so many KiB of data."""
    folder.mkdir(parents=True)
    graph = showing([external(tensor(f"w{i}", [kib * 64 + i]), folder) for i in range(4)])
    return write(folder, graph)


@pytest.fixture(scope="module", params=["ext4", "tmpfs"])
def small(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A file system with a few MB of room."""
    base = tmp_path_factory.mktemp("small")
    if request.param == "tmpfs":
        with mounted(base / "mounted", "mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs") as folder:
            yield folder
        return
    made = image(base / "image", 6 << 20, "mkfs.ext4", "-m", "0")
    with attached(made) as device, mounted(base / "mounted", "mount", device) as folder:
        yield folder


def room(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


@pytest.mark.needs_mount
@pytest.mark.parametrize("durable", [True, False])
def test_a_result_larger_than_the_disk_is_refused(
    small: Path, durable: bool, tmp_path: Path
) -> None:
    source = source_of(tmp_path / "source", room(small) // 1024 + 1000)
    before, left = snapshot(small), room(small)
    with pytest.raises(DiskFullError) as caught:
        align_file(source, small / "new" / "model.onnx", durable=durable)
    assert f"{(tmp_path / 'source' / 'model.onnx.data').stat().st_size // 10**6}" in str(
        caught.value.needed
    )
    assert str(small) in str(caught.value)
    assert snapshot(small) == before
    assert room(small) == left


@pytest.mark.needs_mount
def test_in_place_needs_room_for_a_second_copy_and_loses_nothing_without(small: Path) -> None:
    model = source_of(small / "folder", room(small) // 1024 * 2 // 3)
    before, left = snapshot(small), room(small)
    with pytest.raises(DiskFullError):
        align_file(model, layout=LayoutPolicy(alignment=64))
    assert snapshot(small) == before
    assert room(small) == left


@pytest.mark.needs_mount
@pytest.mark.parametrize("scene", [SCENES["fresh"], SCENES["in_place"], SCENES["in_place_three"]])
def test_a_disk_that_has_no_more_files_costs_nothing_wherever_it_ends(
    scene: Scene, tmp_path: Path
) -> None:
    refused = 0
    for files in range(60):
        with mounted(
            tmp_path / "mounted", "mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs"
        ) as base:
            scene.build(base)
            used = os.statvfs(base).f_files - os.statvfs(base).f_ffree
            subprocess.run(["mount", "-o", f"remount,nr_inodes={used + files}", base], check=True)
            assert os.statvfs(base).f_ffree == files
            before = snapshot(base)
            source, target = base / scene.source, scene.destination and base / scene.destination
            layout = LayoutPolicy(alignment=64)
            try:
                align_file(source, target, layout=layout)
            except WriteError as error:
                told = str(error)
            else:
                assert content(base / scene.model)
                assert recover_folder((base / scene.model).parent) == ()
                break
            refused += 1
            assert "No space left" in told
            assert snapshot(base) == before
    assert refused > 3


@pytest.mark.parametrize("limit", [100, 2_000, 500_000])
def test_a_limit_of_file_sizes_is_told_and_leaves_nothing(
    limit: int, tmp_path: Path, runner: Tracer
) -> None:
    LARGE.build(tmp_path)
    before = snapshot(tmp_path)
    told = runner.plain(LARGE.task(tmp_path, file_limit=limit))
    assert told["error"] == "WriteError"
    assert "ulimit -f" in told["text"]
    assert told["leaked"] == []
    assert snapshot(tmp_path) == before
