"""Protobuf bombs: memory and time are in proportion to protobuf's own, and to the file's size."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import onnx
import pytest

from onnx_align_pass import AlignError, BrokenModelError, align_file, plan_file
from onnx_align_pass.digesting import digest_of
from onnx_align_pass.inspecting import inspect_file
from onnx_align_pass.model import skeleton, walk
from onnx_align_pass.verifying import verify_file

from .wires import WIRES

linux = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc")
NBYTES = 1 << 19
PER_TENSOR = 2_500
"""Bytes of memory that a tensor takes at most, in a report of all of them."""
TIMES_PROTOBUF = 4
"""Copies of what protobuf makes of the file that are held at once, in the worst case."""
SLACK = 48 << 20
CALLS: dict[str, Callable[[Path], object]] = {
    "plan": plan_file,
    "inspect": lambda model: inspect_file(model).to_json(),
    "verify": verify_file,
    "digest": digest_of,
    "align": lambda model: align_file(model, model.with_name("r.onnx"), durable=False),
}
TENSORS = {"initializers": 2, "tensors of an attribute": 2, "nodes with a tensor": 8}
"""Bytes of the file for each tensor, where there are many."""


def _measured(call: Callable[[Path], object], model: Path) -> tuple[int, float]:
    """By how much a call lets the memory of a child grow, in bytes, and its CPU seconds."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            Path("/proc/self/clear_refs").write_text("5")  # begins a new peak: proc(5)
            before, started = _peak(), time.process_time()
            with suppress(AlignError):
                call(model)
            said = (_peak() - before, time.process_time() - started)
            os.write(writing, json.dumps(said).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        said = json.loads(file.read())
    os.waitpid(child, 0)
    return said[0], said[1]


def _peak() -> int:
    (line,) = [one for one in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in one]
    return int(line.split()[1]) * 1024


def _protobuf(model: Path) -> None:
    onnx.ModelProto().ParseFromString(model.read_bytes())


def _wire(folder: Path, name: str, nbytes: int) -> Path:
    model = folder / "model.onnx"
    model.write_bytes(WIRES[name](nbytes))
    return model


@linux
@pytest.mark.exhaustive
@pytest.mark.parametrize("call", [one for one in CALLS if one != "plan"])  # `align` makes one
@pytest.mark.parametrize("name", WIRES)
def test_memory_is_a_few_times_what_protobuf_takes(name: str, call: str, tmp_path: Path) -> None:
    model = _wire(tmp_path, name, NBYTES)
    theirs, _ = _measured(_protobuf, model)
    ours, _ = _measured(CALLS[call], model)
    tensors = NBYTES // TENSORS[name] if name in TENSORS else 1
    wire = 128 * NBYTES if call == "digest" and name.startswith("unknown") else 0
    assert ours <= TIMES_PROTOBUF * theirs + PER_TENSOR * tensors + SLACK + wire


@linux
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", WIRES)
def test_time_grows_as_the_file_does(name: str, tmp_path: Path) -> None:
    """Four times the file is far from sixteen times the time: nothing is quadratic."""
    seconds = [
        _measured(CALLS["inspect"], _wire(tmp_path, name, size))[1]
        for size in (NBYTES // 4, NBYTES)
    ]
    assert seconds[1] < 10 * seconds[0] + 1


def test_too_many_fields_are_refused_before_protobuf_makes_messages_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skeleton, "MAX_FIELDS", 1_000)
    for name in ("nodes", "metadata", "functions", "a graph that is merged", "attributes"):
        model = _wire(tmp_path, name, 4_000)
        with pytest.raises(BrokenModelError, match="over 1,000 fields") as error:
            skeleton.read_skeleton(model)
        assert error.value.file == str(model)


@pytest.mark.parametrize("call", CALLS)
def test_too_many_tensors_are_refused(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "MAX_TENSORS", 1_000)
    model = _wire(tmp_path, "initializers", 2_002)
    with pytest.raises(BrokenModelError, match="over 1,000 tensors") as error:
        CALLS[call](model)
    assert error.value.file == str(model)
    assert not (tmp_path / "r.onnx").exists()


def test_as_many_as_are_allowed_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "MAX_TENSORS", 1_000)
    assert len(plan_file(_wire(tmp_path, "initializers", 2_000)).inline) == 1_000


@linux
def test_a_child_would_be_seen_to_take_more(tmp_path: Path) -> None:
    """What is measured is there to be measured."""
    grown, _ = _measured(lambda _: bytearray(b"x") * (4 * SLACK), tmp_path)
    assert grown >= 3 * SLACK
