"""Folders that a run makes for its result: gone when it fails, kept when somebody uses them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from onnx_align_pass import AlignError, LayoutPolicy, WriteError, align_file, recover_folder
from onnx_align_pass.transfer import commit
from tests.align.snapshot import snapshot
from tests.commit.interrupts import interrupting
from tests.commit.scenes import SCENES

SOURCE = SCENES["fresh"]
DEEP = Path("new", "and", "deep", "out.onnx")
SHARDED = LayoutPolicy(max_shard_size_bytes=4096, data_name="below/it/{stem}.data")

Fail = Callable[[str], None]


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Fail:
    """Makes a call of `os` fail from the moment that the commit begins."""

    def when(name: str) -> None:
        def failing(*args: object, **named: object) -> object:
            raise OSError(28, "No space left on device", args[0])

        still_the_same = commit._still_the_same

        def armed(*args: object) -> None:
            still_the_same(*args)  # type: ignore[arg-type]
            monkeypatch.setattr(os, name, failing)

        monkeypatch.setattr(commit, "_still_the_same", armed)

    return when


@pytest.mark.parametrize("name", ["rename", "link", "fsync", "mkdir"])
@pytest.mark.parametrize("layout", [LayoutPolicy(), SHARDED], ids=["one", "shards"])
def test_new_folders_go_when_the_commit_fails(
    name: str, layout: LayoutPolicy, tmp_path: Path, fail: Fail
) -> None:
    SOURCE.build(tmp_path)
    before = snapshot(tmp_path)
    if name == "mkdir" and layout is not SHARDED:
        pytest.skip("the commit makes no folder")
    fail(name)
    with pytest.raises(WriteError, match="No space left"):
        align_file(tmp_path / SOURCE.source, tmp_path / DEEP, layout=layout)
    assert snapshot(tmp_path) == before


def test_new_folders_go_when_anything_is_interrupted(tmp_path: Path) -> None:
    SOURCE.build(tmp_path)
    before = snapshot(tmp_path)
    for number in range(1000):
        with interrupting(number, after=bool(number % 2)) as found:
            try:
                align_file(tmp_path / SOURCE.source, tmp_path / DEEP, layout=SHARDED)
            except KeyboardInterrupt:
                pass
            else:
                break
        if (tmp_path / DEEP).exists():  # the interrupt came when all was done
            break
        assert snapshot(tmp_path) == before, found.fired
    assert number > 50


def test_a_new_folder_that_somebody_uses_stays(tmp_path: Path) -> None:
    SOURCE.build(tmp_path)
    precious = tmp_path / DEEP.parent.parent / "precious"

    class Busy:
        def begin(self, model: str, total_bytes: int) -> None:
            precious.write_text("precious")

        def advance(self, nbytes: int, tensor: str) -> None:
            raise RuntimeError

        def phase(self, text: str) -> None:
            """Nothing more."""

    with pytest.raises(RuntimeError):
        align_file(tmp_path / SOURCE.source, tmp_path / DEEP, progress=Busy())
    assert precious.read_text() == "precious"
    assert list(precious.parent.iterdir()) == [precious]


def test_a_destination_that_is_refused_makes_no_folder(tmp_path: Path) -> None:
    SOURCE.build(tmp_path)
    before = snapshot(tmp_path)
    for bad in (tmp_path / "README" / "\0", tmp_path / ("x" * 300) / "out.onnx"):
        with pytest.raises(AlignError):
            align_file(tmp_path / SOURCE.source, bad)
    file = tmp_path / "folder" / "README.md" / "new" / "out.onnx"
    with pytest.raises(AlignError):
        align_file(tmp_path / SOURCE.source, file)
    with pytest.raises(AlignError):
        align_file(tmp_path / SOURCE.source, tmp_path / "new" / f"{'x' * 300}.onnx")
    assert snapshot(tmp_path) == before


def test_new_folders_stay_when_the_run_succeeds(tmp_path: Path) -> None:
    SOURCE.build(tmp_path)
    align_file(tmp_path / SOURCE.source, tmp_path / DEEP, layout=SHARDED)
    assert (tmp_path / DEEP).is_file()
    assert recover_folder((tmp_path / DEEP).parent) == ()
