"""Readers that open a model and, some time later, its data, while others write it: never a mix."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import numpy_helper

from onnx_align_pass import prune_file, recover_folder
from tests.align.small_models import external_model
from tests.commit.races import SECONDS, end_it, goes_on, processes, said, start
from tests.commit.writer import LOST_THE_RACE

WRITER = "tests.commit.writer"
ENOUGH = 10
SHAPES: dict[str, tuple[int, ...]] = {f"w{number}": (61 + number, 33) for number in range(8)}
Weights = dict[str, bytes]


def later(model: Path, chance: random.Random) -> Weights:
    """Read the model, wait, and read each weight where the model says."""
    proto = onnx.load(model, load_external_data=False)
    time.sleep(chance.choice((0, 0, 0.001, 0.01, 0.05)))
    found = {}
    for tensor in proto.graph.initializer:
        where = {entry.key: entry.value for entry in tensor.external_data}
        with (model.parent / where["location"]).open("rb") as data:
            data.seek(int(where["offset"]))
            found[tensor.name] = data.read(int(where["length"]))
    return found


def as_onnx_does(model: Path, chance: random.Random) -> Weights:
    proto = onnx.load(model)
    return {one.name: numpy_helper.to_array(one).tobytes() for one in proto.graph.initializer}


@pytest.mark.exhaustive
@pytest.mark.parametrize("read", [later, as_onnx_does])
@pytest.mark.parametrize("kills", [False, True], ids=["two writers", "two writers that are killed"])
def test_a_reader_never_meets_a_mixed_pair(
    read: Callable[[Path, random.Random], Weights],
    kills: bool,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    sources = [
        external_model(tmp_path / name / "model.onnx", SHAPES, seed=n)
        for n, name in enumerate("ab")
    ]
    chance = random.Random(SECONDS)
    whole = [as_onnx_does(source, chance) for source in sources]
    model = external_model(tmp_path / "folder" / "model.onnx", SHAPES, seed=0)
    begun, reads, killed = time.monotonic(), 0, 0
    with processes(WRITER, tmp_path, 0, 1) as running:
        while goes_on(begun, killed >= kills and said(tmp_path).count("written") >= ENOUGH):
            assert read(model, chance) in whole
            reads += 1
            victim = chance.choice(list(running))
            if kills and chance.random() < 0.1 and (tmp_path / f"log{victim}").stat().st_size:
                end_it(running.pop(victim))
                killed += 1
                running[2 * killed + victim % 2] = start(WRITER, tmp_path, 2 * killed + victim % 2)
    told = said(tmp_path)
    for name, count in {"reads": reads, "writes": told.count("written"), "kills": killed}.items():
        record_property(name, count)
    assert set(told) <= {"written", *(one.__name__ for one in LOST_THE_RACE)}
    assert reads > 10
    assert told.count("written") >= (1 if kills else ENOUGH)
    assert killed >= kills
    recover_folder(model.parent)
    prune_file(model)
    assert as_onnx_does(model, chance) in whole
    assert len(os.listdir(model.parent)) == 2
