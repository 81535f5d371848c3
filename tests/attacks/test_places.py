"""Where locations point: what is no plain file of the model's folder is refused by every call."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from onnx_align_pass import ModelError, align_file
from tests.align.snapshot import snapshot
from tests.corpus import CASES

from .attack import Attack
from .entry_points import ENTRY_POINTS, SINGLE_MODEL
from .places import PLACES

pytestmark = pytest.mark.ends_within(20)


@pytest.mark.parametrize("call", SINGLE_MODEL)
@pytest.mark.parametrize("attack", PLACES.values(), ids=str)
def test_a_place_that_is_no_file_of_the_folder_is_refused(
    attack: Attack, call: str, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "source").mkdir()
    model = attack.build(tmp_path / "source")
    before = snapshot(tmp_path)
    with pytest.raises(ModelError) as error:
        SINGLE_MODEL[call](model, tmp_path / "out")
    assert error.value.code == attack.code
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("call", ["folder", "inspect folder"])
@pytest.mark.parametrize("attack", PLACES.values(), ids=str)
def test_a_folder_with_such_a_place_is_refused(attack: Attack, call: str, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "source").mkdir()
    model = attack.build(tmp_path / "source")
    before = snapshot(tmp_path)
    with pytest.raises(ModelError):
        ENTRY_POINTS[call](model, tmp_path / "out")
    assert snapshot(tmp_path) == before


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _input(path: Path) -> None:
    path.symlink_to("/dev/stdin")


def _memory(path: Path) -> None:
    path.symlink_to("/proc/self/mem")


@pytest.mark.parametrize("call", SINGLE_MODEL)
@pytest.mark.parametrize("make", [Path.mkdir, _pipe, _device, _input, _memory])
def test_a_model_that_is_no_regular_file_is_refused(
    make: Callable[[Path], None], call: str, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "source").mkdir()
    make(tmp_path / "source" / "model.onnx")
    before = snapshot(tmp_path)
    with pytest.raises(ModelError) as error:
        SINGLE_MODEL[call](tmp_path / "source" / "model.onnx", tmp_path / "out")
    assert error.value.hint
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("make", [_pipe, _device, _memory])
def test_a_neighbour_that_is_no_model_holds_nobody_up(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    """Who else points at a data file is asked of all models beside it."""
    model = CASES["location_nested"].build(tmp_path)
    make(tmp_path / "neighbour.onnx")
    (done,) = align_file(model, durable=False).models
    assert done.external_tensors == 3
