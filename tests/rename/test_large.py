"""Weights are neither read nor written on one file system; elsewhere they are cloned or copied."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from onnx_align_pass.renaming import rename_file
from tests.align.small_models import external_model
from tests.align.snapshot import snapshot
from tests.cli.models import sparse_model as sparse_pair
from tests.commit.mounts import attached, image, mounted
from tests.corpus import oracle
from tests.model.sparse_file import MARK, sparse_model

GIB = 1 << 30
MIB = 1 << 20
linux = pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="needs Linux's /proc")
COUNT_IO = """
import json, sys
from pathlib import Path
from onnx_align_pass.renaming import rename_file

def counts():
    lines = Path("/proc/self/io").read_text().splitlines()
    return {key: int(value) for key, value in (line.split(": ") for line in lines)}

rename_file(sys.argv[1], sys.argv[2])  # whatever is loaded late is loaded
before = counts()
rename_file(sys.argv[2], sys.argv[3])
print(json.dumps({key: value - before[key] for key, value in counts().items()}))
"""


@linux
def test_no_weight_is_read_or_written_on_one_file_system(tmp_path: Path) -> None:
    source = sparse_pair(tmp_path / "in", 4 * GIB)
    shape = (tmp_path / "in" / "model.onnx.data").stat()
    names = [str(tmp_path / name) for name in ("in/model.onnx", "in/b.onnx", "out/c.onnx")]
    assert names[0] == str(source)
    done = subprocess.run(
        [sys.executable, "-c", COUNT_IO, *names], capture_output=True, text=True, check=True
    )
    moved = json.loads(done.stdout)
    assert moved["wchar"] < MIB
    assert moved["rchar"] < MIB
    assert moved["write_bytes"] < MIB
    data = tmp_path / "out" / "c.onnx.data"
    assert data.stat().st_size > 4 * GIB
    assert (data.stat().st_ino, data.stat().st_blocks) == (shape.st_ino, shape.st_blocks)
    assert sorted(snapshot(tmp_path)) == ["in", "out", "out/c.onnx", "out/c.onnx.data"]


def test_a_model_over_2_gib_is_not_written_anew_when_no_location_changes(tmp_path: Path) -> None:
    source = tmp_path / "m.onnx"
    sparse_model(source, [3 * GIB, 5000])
    before = source.stat()
    report = rename_file(source, tmp_path / "other" / "n.onnx")
    assert report.how == "renamed"
    after = (tmp_path / "other" / "n.onnx").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_model_over_2_gib_whose_locations_change_is_streamed(tmp_path: Path) -> None:
    """The weights inside are a field that a later one replaces: few bytes are written."""
    source = tmp_path / "m.onnx"
    sparse_model(source, [5000], junk=2 * GIB + 5)
    folder = external_model(tmp_path / "part.onnx", {"w": (30, 31)}, data="m.onnx.data").parent
    with source.open("ab") as file:
        file.write((folder / "part.onnx").read_bytes())  # protobuf merges the two
    (folder / "part.onnx").unlink()
    wanted = (folder / "m.onnx.data").read_bytes()
    report = rename_file(source, tmp_path / "n.onnx")
    assert report.how == "rewritten"
    assert sorted(os.listdir(tmp_path)) == ["n.onnx", "n.onnx.data"]
    first, second = oracle.parse(tmp_path / "n.onnx").graph.initializer
    assert first.raw_data == MARK + bytes(5000 - 2 * len(MARK)) + MARK
    assert oracle.content(second, tmp_path).raw == wanted


@pytest.fixture(params=["ext4", pytest.param("xfs", marks=pytest.mark.needs_reflink)])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Another file system; one that clones, and one that does not."""
    options = {"ext4": ["-q"], "xfs": ["-q", "-m", "reflink=1"]}[request.param]
    made = image(tmp_path / "image", 320 << 20, f"mkfs.{request.param}", *options)
    with attached(made) as device, mounted(tmp_path / "mounted", "mount", device) as folder:
        yield folder


@pytest.mark.needs_mount
def test_between_file_systems_the_files_are_copied_with_mode_and_time(
    disk: Path, tmp_path: Path
) -> None:
    source = external_model(tmp_path / "in" / "old.onnx", {"a": (500, 501), "b": (7, 9)})
    data = tmp_path / "in" / "old.onnx.data"
    data.chmod(0o604)
    os.utime(data, ns=(1_500_000_000_123_456_789, 1_400_000_000_987_654_321))
    wanted, before = oracle.tensors(source), data.stat()
    report = rename_file(source, disk / "new.onnx")
    assert [one.how for one in report.data_files] == ["copied"]
    after = (disk / "new.onnx.data").stat()
    for name in ("st_mode", "st_uid", "st_gid", "st_mtime_ns", "st_size"):
        assert getattr(after, name) == getattr(before, name), name
    assert oracle.tensors(disk / "new.onnx") == wanted
    assert os.listdir(tmp_path / "in") == []
    back = rename_file(disk / "new.onnx", f"{tmp_path}/in/")
    assert (back.how, [one.how for one in back.data_files]) == ("copied", ["copied"])
    assert oracle.tensors(tmp_path / "in" / "new.onnx") == wanted


@pytest.mark.needs_mount
def test_where_links_are_refused_blocks_are_shared_if_they_can_be(
    disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    source = external_model(disk / "old.onnx", {"a": (500, 501)})
    wanted = oracle.tensors(source)
    report = rename_file(source, disk / "new.onnx")
    kind = subprocess.run(
        ["stat", "-f", "-c", "%T", disk], capture_output=True, text=True, check=True
    )
    cloned = "cloned" if kind.stdout.strip() == "xfs" else "copied"
    assert [one.how for one in report.data_files] == [cloned]
    assert oracle.tensors(disk / "new.onnx") == wanted
    assert sorted(set(os.listdir(disk)) - {"lost+found"}) == ["new.onnx", "new.onnx.data"]


@pytest.mark.needs_mount
def test_a_full_disk_leaves_the_old_model_as_it_was(disk: Path, tmp_path: Path) -> None:
    from onnx_align_pass import DiskFullError

    source = sparse_pair(tmp_path / "in", GIB)
    before = snapshot(tmp_path / "in")
    with pytest.raises(DiskFullError):
        rename_file(source, disk / "new.onnx")
    assert snapshot(tmp_path / "in") == before
    assert set(os.listdir(disk)) <= {"lost+found"}
    shutil.rmtree(tmp_path / "in")
