"""A source that changes under a run's hands: a clear error, and nothing of the run stays."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from onnx_align_pass import LayoutPolicy, SourceChangedError, align_file
from tests.align.snapshot import snapshot
from tests.commit.perform import descriptors
from tests.commit.scenes import SCENES


def removed(path: Path) -> None:
    path.unlink()


def cut_short(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def grown(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


def written_into(path: Path) -> None:
    with path.open("rb+") as file:
        file.write(b"other")


def replaced(path: Path) -> None:
    text = path.read_bytes()
    path.unlink()
    path.write_bytes(text)


def made_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


LONG_AGO = 10**18
"""Nanoseconds. So a deed shows that comes in the same tick of the clock as the scene was built."""
DEEDS = (removed, cut_short, emptied, grown, written_into, replaced, made_a_folder)


class Vandal:
    """A progress that does a deed when it is told of something, once."""

    def __init__(self, moment: str, deed: Callable[[Path], None], path: Path) -> None:
        self.done = False
        self._moment = moment
        self._deed = deed
        self._path = path

    def begin(self, model: str, total_bytes: int) -> None:
        self._see("begin")

    def advance(self, nbytes: int, tensor: str) -> None:
        self._see("advance")

    def phase(self, text: str) -> None:
        self._see(text)

    def _see(self, what: str) -> None:
        if what == self._moment and not self.done:
            self.done = True
            self._deed(self._path)


@pytest.mark.parametrize("moment", ["begin", "advance", "syncing", "publishing"])
@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("file", ["model.onnx", "model.onnx.data"])
@pytest.mark.parametrize("name", ["fresh", pytest.param("large", marks=pytest.mark.exhaustive)])
def test_a_source_that_changes_is_a_named_error_and_nothing_of_the_run_stays(
    name: str, file: str, deed: Callable[[Path], None], moment: str, tmp_path: Path
) -> None:
    scene, root, twin = SCENES[name], tmp_path / "scene", tmp_path / "twin"
    scene.build(root)
    scene.build(twin)
    victim = (root / scene.source).with_name(file)
    os.utime(victim, ns=(LONG_AGO, LONG_AGO))
    vandal = Vandal(moment, deed, victim)
    target = scene.destination and root / scene.destination
    before = descriptors()
    with pytest.raises(SourceChangedError) as caught:
        align_file(root / scene.source, target, layout=LayoutPolicy(alignment=64), progress=vandal)
    assert vandal.done
    assert caught.value.file == str(victim)
    assert caught.value.hint
    assert descriptors() == before
    deed((twin / scene.source).with_name(file))
    assert snapshot(root) == snapshot(twin)
