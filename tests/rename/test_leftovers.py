"""A rename that was killed when the old model was gone, and its data was not."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from onnx_align_pass.recovering import recover_folder
from onnx_align_pass.transfer.journal import read_journal
from tests.align.small_models import external_model
from tests.align.snapshot import snapshot
from tests.commit.kills import changes_of, kill
from tests.commit.perform import perform
from tests.commit.scenes import Scene
from tests.commit.traced import Tracer
from tests.corpus import oracle

pytestmark = [pytest.mark.needs_strace, pytest.mark.exhaustive]


def build(root: Path) -> None:
    shapes: dict[str, tuple[int, ...]] = {"a": (33, 70), "model.onnx.data": (5, 1001)}
    external_model(root / "in" / "model.onnx", shapes)


SCENE = Scene("", build, "in/model.onnx", "in/my-model.onnx", call="rename")
"""The new name ends with the old one, and a tensor has it: they are no mention of it."""


@pytest.fixture
def half_done(tmp_path: Path, tracer: Tracer) -> Path:
    """The folder of a rename that was killed between the two removals."""
    root = tmp_path / "scene"
    build(root)
    calls = changes_of(tracer, SCENE.task(root))
    (point,) = [
        one
        for one in calls
        if one.name == "unlink" and one.arguments.startswith(f'"{root}/in/model.onnx.data"')
    ]
    shutil.rmtree(root)
    build(root)
    kill(tracer, SCENE.task(root), point)
    assert sorted(name for name in os.listdir(root / "in") if "align" not in name) == [
        *("model.onnx.data", "my-model.onnx", "my-model.onnx.data"),
    ]
    return root / "in"


def test_recover_removes_the_data_that_nothing_points_at(half_done: Path) -> None:
    wanted = oracle.tensors(half_done / "my-model.onnx")
    (found,) = recover_folder(half_done)
    assert found.outcome == "finished"
    assert sorted(os.listdir(half_done)) == ["my-model.onnx", "my-model.onnx.data"]
    assert (half_done / "my-model.onnx.data").stat().st_nlink == 1
    assert oracle.tensors(half_done / "my-model.onnx") == wanted


@pytest.mark.parametrize("location", ["model.onnx.data", "./model.onnx.data", "in/model.onnx.data"])
def test_data_that_a_model_has_come_to_use_is_spared(location: str, half_done: Path) -> None:
    folder = half_done.parent if location.startswith("in/") else half_done
    user = folder / "user.onnx"
    proto = oracle.parse(half_done / "my-model.onnx")
    for tensor in proto.graph.initializer:
        tensor.external_data[0].value = location
    user.write_bytes(proto.SerializeToString())
    wanted = oracle.tensors(user)
    recover_folder(half_done)
    assert oracle.tensors(user) == wanted


def test_data_that_a_model_may_use_which_cannot_be_read_is_spared(half_done: Path) -> None:
    (half_done / "cut.onnx").write_bytes((half_done / "my-model.onnx").read_bytes()[:-3])
    recover_folder(half_done)
    assert (half_done / "model.onnx.data").exists()


def test_data_that_is_not_what_it_was_is_spared(half_done: Path) -> None:
    data = half_done / "model.onnx.data"
    data.unlink()
    data.write_bytes(b"somebody else's")
    recover_folder(half_done)
    assert data.read_bytes() == b"somebody else's"


def test_a_model_that_came_back_is_left_alone_with_its_data(half_done: Path) -> None:
    proto = oracle.parse(half_done / "my-model.onnx")
    for tensor in proto.graph.initializer:
        tensor.external_data[0].value = "model.onnx.data"
    (half_done / "model.onnx").write_bytes(proto.SerializeToString())
    wanted = oracle.tensors(half_done / "model.onnx")
    (found,) = recover_folder(half_done)
    assert found.outcome == "discarded"
    assert oracle.tensors(half_done / "model.onnx") == wanted


def test_a_leftover_that_was_copied_removes_nothing(half_done: Path, tmp_path: Path) -> None:
    shutil.copytree(half_done, tmp_path / "copy")
    before = snapshot(tmp_path / "copy")
    (found,) = recover_folder(tmp_path / "copy")
    assert found.outcome == "untrusted"
    assert snapshot(tmp_path / "copy") == before


def test_the_same_command_says_that_it_is_done(half_done: Path) -> None:
    (left,) = half_done.glob(".model.onnx.align-*")
    journal = read_journal(left)
    assert journal is not None
    assert journal.model_after is None
    root = half_done.parent
    assert perform(SCENE.task(root)) == {"done": ["resumed"], "leaked": []}
    assert sorted(os.listdir(half_done)) == ["my-model.onnx", "my-model.onnx.data"]
