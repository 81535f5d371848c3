"""The order on the disk: two renames have none unless the folder is synced between them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.commit.scenes import SCENES
from tests.commit.traced import Tracer

pytestmark = pytest.mark.needs_strace

TRACED = ("rename", "link", "unlink", "unlinkat", "fsync")
PATH = re.compile(r'[<"]([^">]*)[">]')


def order_of(tracer: Tracer, name: str, root: Path, *, durable: bool) -> list[str]:
    """What a run does to names, each with the path it ends at, and what it syncs.

    Paths are relative to the destination folder; what is staged begins with `/`.
    """
    scene = SCENES[name]
    scene.build(root)
    folder = (root / scene.model).parent
    ended = tracer.run(scene.task(root, durable=durable), TRACED)
    assert "done" in ended.result
    found = []
    for call in ended.calls:
        path = re.sub(r"stamp\.\d+", "stamp", PATH.findall(call.arguments)[-1])
        inside = path.startswith(f"{folder}")
        found.append(f"{call.name} {path.removeprefix(str(folder))[1:] if inside else path}")
    return found


def test_in_place_every_step_is_on_the_disk_before_the_next(tracer: Tracer, tmp_path: Path) -> None:
    order = order_of(tracer, "in_place_three", tmp_path, durable=True)
    removed = next(i for i, step in enumerate(order) if step.startswith("unlinkat"))
    assert [step for step in order[:removed] if not step.startswith(("link", "unlink "))] == [
        *("fsync /data/a.data", "fsync /data/below/b.data", "fsync /data/c.data"),
        *("fsync /model", "fsync /bridge", "fsync /journal.new", "rename /journal"),
        *("fsync /", "fsync /data", "fsync /data/below", "fsync "),
        *("rename model.onnx", "fsync "),
        *("rename a.data", "rename below/b.data", "rename c.data", "fsync below", "fsync "),
        *("rename model.onnx", "fsync "),
    ]


def test_a_fresh_model_appears_when_its_data_is_on_the_disk(tracer: Tracer, tmp_path: Path) -> None:
    order = order_of(tracer, "fresh", tmp_path, durable=True)
    published = order[order.index("rename /journal") + 1 :]
    assert published[:9] == [
        *("fsync /", "fsync /data", "fsync "),
        *("link model.onnx.data", "unlink /data/model.onnx.data", "fsync "),
        *("link model.onnx", "unlink /model", "fsync "),
    ]


def test_old_data_goes_when_the_new_model_is_on_the_disk(tracer: Tracer, tmp_path: Path) -> None:
    order = order_of(tracer, "in_place_other_names", tmp_path, durable=True)
    after = order[order.index("rename model.onnx") + 1 :]
    assert after[:2] == ["fsync ", "unlink model.onnx.data"]


@pytest.mark.parametrize("name", SCENES)
def test_without_durability_the_order_is_the_same_and_nothing_is_synced(
    name: str, tracer: Tracer, tmp_path: Path
) -> None:
    durable = order_of(tracer, name, tmp_path / "durable", durable=True)
    quick = order_of(tracer, name, tmp_path / "quick", durable=False)
    assert quick == [step for step in durable if not step.startswith("fsync")]
