"""Models larger than protobuf reads, and larger than memory: only the metadata is touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from onnx_align_pass import align_file, plan_file
from onnx_align_pass.model.emit import emit, size_of
from onnx_align_pass.model.skeleton import read_skeleton
from tests.corpus import CASES, oracle

from .sparse_file import MARK, sparse_model
from .support import parsed

GIB = 1 << 30
linux = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc")


def ends(path: Path, offset: int, length: int) -> tuple[bytes, bytes]:
    """The first and last bytes of a range."""
    with path.open("rb") as file:
        file.seek(offset)
        first = file.read(len(MARK))
        file.seek(offset + length - len(MARK))
        return first, file.read(len(MARK))


def test_a_model_over_2_gib_is_read_planned_and_repacked(tmp_path: Path) -> None:
    source, result = tmp_path / "source.onnx", tmp_path / "result.onnx"
    sizes = [5_000_001, 30_000, 64]
    sparse_model(source, sizes, junk=GIB)  # the junk is not copied: few bytes are written
    assert source.stat().st_size > 2**31
    plan = plan_file(source)
    assert [one.length for one in plan.placements] == sizes[:2]
    report = align_file(source, result, durable=False)
    model = oracle.parse(result)
    assert model.graph.name == "large"
    assert model.graph.initializer[2].raw_data == MARK + bytes(32) + MARK
    for tensor, size in zip(model.graph.initializer[:2], sizes[:2], strict=True):
        entries = oracle.entries_of(tensor)
        offset = int(entries["offset"])
        assert int(entries["length"]) == size
        assert offset % 4096 == 0
        assert ends(tmp_path / entries["location"], offset, size) == (MARK, MARK)
    assert report.data_bytes == (tmp_path / "result.onnx.data").stat().st_size


def test_spans_of_weights_past_2_gib_are_right(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    sizes = [5 * GIB, 40 * GIB, 3000, 2**31, 2000]  # the graph's length takes six bytes
    sparse_model(path, sizes)
    skeleton = read_skeleton(path)
    for cut, size in zip(skeleton.cuts, sizes, strict=True):
        assert cut.payload is not None
        assert cut.payload.length == size
        assert ends(cut.payload.path, cut.payload.offset, size) == (MARK, MARK)


def test_weights_that_a_later_field_replaces_are_dropped_however_large(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    sparse_model(path, [64], junk=3 * GIB)
    skeleton = read_skeleton(path)
    assert skeleton.cuts == []
    assert skeleton.proto.graph.initializer[0].raw_data == MARK + bytes(32) + MARK
    assert size_of(emit(skeleton)) < 200


def test_what_stays_inline_may_be_as_large_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    sparse_model(path, [2**31, 5000])
    assert size_of(emit(read_skeleton(path))) == path.stat().st_size


def test_few_bytes_beyond_the_metadata_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.onnx"
    weights = 200
    sparse_model(path, [1_000_000 + number for number in range(weights)])
    read = count_reads(monkeypatch)
    skeleton = read_skeleton(path)
    # For each tensor a window to look at it from outside, one inside, one behind its weights.
    assert read[0] < 3 * weights * 4096 + 4 * skeleton.proto.ByteSize()
    assert read[0] < path.stat().st_size / 50


def test_metadata_alone_is_read_a_few_times_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = CASES["metadata_larger_than_weights"].build(tmp_path)
    read = count_reads(monkeypatch)
    read_skeleton(path)
    assert read[0] < 4 * path.stat().st_size


def count_reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list whose one number grows by the bytes that `os.pread` returns."""
    read, pread = [0], os.pread

    def counting(fd: int, size: int, offset: int) -> bytes:
        data = pread(fd, size, offset)
        read[0] += len(data)
        return data

    monkeypatch.setattr(os, "pread", counting)
    return read


READ_IN_CHILD = """
import sys
from pathlib import Path
from onnx_align_pass.model.skeleton import read_skeleton

def peak_kib():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

small, large = map(Path, sys.argv[1:])
read_skeleton(small)
Path("/proc/self/clear_refs").write_text("5")  # the peak begins again
before = peak_kib()
skeleton = read_skeleton(large)
print(peak_kib() - before, len(skeleton.cuts))
"""


@linux
def test_reading_1500_mb_of_weights_takes_under_2_mb_of_memory(tmp_path: Path) -> None:
    small, large = tmp_path / "small.onnx", tmp_path / "large.onnx"
    sparse_model(small, [5000] * 3)
    sparse_model(large, [15_000_000] * 100)
    command = [sys.executable, "-c", READ_IN_CHILD, str(small), str(large)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    kib, cuts = map(int, done.stdout.split())
    assert cuts == 100
    assert kib < 2048


@pytest.mark.parametrize("junk", [0, 100])
def test_protobuf_reads_what_the_sparse_builder_writes(junk: int, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    sparse_model(path, [50, 4096], junk=junk)
    model = parsed(path.read_bytes())
    assert model is not None
    assert model.graph.name == "large"
    weights = [tensor.raw_data for tensor in model.graph.initializer]
    assert weights == [MARK + bytes(size - 2 * len(MARK)) + MARK for size in (50, 4096)]
    assert [list(tensor.dims) for tensor in model.graph.initializer] == [[50], [4096]]
