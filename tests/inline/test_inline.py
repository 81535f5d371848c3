"""One file that holds everything: nothing lost, nothing outside, never more than protobuf reads."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from onnx_align_pass import (
    DataFileSharedError,
    DestinationExistsError,
    FileLimitError,
    LayoutPolicy,
    ModelError,
    UsageError,
    align_file,
)
from onnx_align_pass.inlining import EVERY_TENSOR, inline_file
from onnx_align_pass.model.emit import PROTOBUF_MAX_BYTES
from onnx_align_pass.pieces import check_model_size
from onnx_align_pass.prepare import Prepared, open_sources, prepare
from tests.align.small_models import external_model
from tests.align.snapshot import snapshot
from tests.align.test_bad_models import REFUSED
from tests.align.test_models import assert_same, cases
from tests.corpus import CASES, oracle
from tests.corpus.case import BadCase, Case
from tests.corpus.real import REAL
from tests.corpus.running import run, same_outputs

MIB = 1 << 20


def outside(model: Path) -> dict[str, str]:
    """The tensors whose bytes are in a data file, with its name."""
    return {
        place: os.path.normpath(oracle.entries_of(tensor)["location"])
        for place, tensor in oracle.walk(oracle.parse(model))
        if tensor.data_location == onnx.TensorProto.EXTERNAL
    }


def built(case: Case | BadCase, folder: Path) -> Path:
    folder.mkdir()
    return case.build(folder)


@pytest.mark.parametrize("case", cases())
def test_every_tensor_comes_in_and_nothing_is_lost(case: Case, tmp_path: Path) -> None:
    source = built(case, tmp_path / "source")
    before = snapshot(tmp_path / "source")
    result = tmp_path / "result" / "model.onnx"
    report = inline_file(source, result, durable=False, verify=True)
    assert [path.name for path in result.parent.iterdir()] == ["model.onnx"]
    assert outside(result) == {}
    assert_same(source, result)
    assert snapshot(tmp_path / "source") == before
    assert report.models[0].model_bytes == result.stat().st_size


@pytest.mark.parametrize("case", cases(runs=True))
def test_onnxruntime_gives_the_same_outputs(case: Case, tmp_path: Path) -> None:
    source = built(case, tmp_path / "source")
    inline_file(source, tmp_path / "inlined.onnx", durable=False)
    assert same_outputs(run(source), run(tmp_path / "inlined.onnx"))


@pytest.mark.parametrize("case", cases(in_place=True))
def test_in_place_the_data_goes_when_nobody_else_uses_it(case: Case, tmp_path: Path) -> None:
    original, model = (built(case, tmp_path / name) for name in ("original", "copy"))
    used = set(outside(original).values())
    if case.name == "wide_gap":  # most of its data file is no tensor's
        with pytest.raises(DataFileSharedError):
            inline_file(model, durable=False)
    overwrite = case.name == "wide_gap"
    report = inline_file(model, durable=False, verify=True, overwrite=overwrite).models[0]
    assert_same(original, model)
    assert outside(model) == {}
    left = {name for name in used if (model.parent / name).exists()}
    assert left == (used if case.name == "two_models_of_one_data_file" else set())
    assert set(report.removed) == used - left
    assert inline_file(model, durable=False).models[0].unchanged


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_model_is_refused_and_nothing_is_lost(case: BadCase, tmp_path: Path) -> None:
    if case.blocks:
        pytest.skip("a reader that may hang is held in test_bad_models")
    source = built(case, tmp_path / "source")
    before = snapshot(tmp_path)
    for destination in (tmp_path / "result.onnx", None):
        try:
            inline_file(source, destination, durable=False)
        except ModelError:
            assert snapshot(tmp_path) == before
        else:
            # What is bad about a tensor that is inline already is carried as it is.
            assert outside(source) == {}
            assert oracle.parse(tmp_path / "result.onnx") == oracle.parse(source)
            before = snapshot(tmp_path)


@pytest.mark.parametrize("name", sorted(REAL))
def test_a_real_model_comes_back_as_it_was(name: str, tmp_path: Path) -> None:
    real = REAL[name]
    moved_out, back = tmp_path / "out.onnx", tmp_path / "back.onnx"
    align_file(real.path(), moved_out, durable=False)
    inline_file(moved_out, back, durable=False)
    assert_same(real.path(), back)
    assert same_outputs(run(real.path(), real.feeds()), run(back, real.feeds()))
    onnx.checker.check_model(str(back))


def test_tied_tensors_become_a_copy_each(tmp_path: Path) -> None:
    source = built(CASES["tied"], tmp_path / "source")
    inline_file(source, tmp_path / "m.onnx")
    a, b, c = oracle.parse(tmp_path / "m.onnx").graph.initializer
    assert a.raw_data == b.raw_data
    assert len(a.raw_data) == 2400
    assert len(c.raw_data) == 400


def large(folder: Path, nbytes: int, *, names: int = 1) -> Path:
    """A model of tensors that share one range of a data file, which is a hole."""
    model = external_model(folder / "m.onnx", {f"w{i}": (3, 5) for i in range(names)})
    proto = oracle.parse(model)
    for tensor in proto.graph.initializer:
        tensor.data_type = onnx.TensorProto.UINT8
        tensor.dims[:] = [nbytes]
        for entry, value in zip(tensor.external_data[1:], ("0", str(nbytes)), strict=True):
            entry.value = value
    model.write_bytes(proto.SerializeToString())
    os.truncate(folder / "m.onnx.data", nbytes)
    return model


def bytes_around(folder: Path) -> int:
    """What a model of one tensor weighs without its bytes when they are inside, as protobuf says.

    Of a tensor of 2 MiB: with one of nearly 2 GiB, four numbers take five bytes instead of four.
    """
    model = oracle.parse(large(folder, 2 * MIB))
    tensor = model.graph.initializer[0]
    del tensor.external_data[:]
    tensor.ClearField("data_location")
    tensor.raw_data = bytes(2 * MIB)
    return model.ByteSize() - 2 * MIB + 4


def test_a_file_of_just_what_protobuf_reads_passes_and_one_byte_more_is_refused(
    tmp_path: Path,
) -> None:
    room = PROTOBUF_MAX_BYTES - bytes_around(tmp_path / "small")
    check_model_size(prepared(large(tmp_path / "fits", room)), PROTOBUF_MAX_BYTES)
    source = large(tmp_path / "over", room + 1)
    before = snapshot(tmp_path)
    for destination in (tmp_path / "result.onnx", tmp_path / "new" / "folder" / "m.onnx", None):
        with pytest.raises(FileLimitError, match="too large") as error:
            inline_file(source, destination)
        assert error.value.needed == f"at most {PROTOBUF_MAX_BYTES:,} bytes"
        assert error.value.found == f"{PROTOBUF_MAX_BYTES + 1:,} bytes"
        assert error.value.hint
        assert snapshot(tmp_path) == before


def prepared(source: Path) -> Prepared:
    """The model as it would be inlined."""
    with open_sources(source) as files:
        return prepare(
            source, files, EVERY_TENSOR, LayoutPolicy(), model_name="m.onnx", in_place=False
        )


def test_tied_tensors_count_as_often_as_they_will_stand_in_the_file(tmp_path: Path) -> None:
    source = large(tmp_path / "tied", PROTOBUF_MAX_BYTES // 2, names=2)
    with pytest.raises(FileLimitError) as error:
        inline_file(source, tmp_path / "result.onnx")
    found = int((error.value.found or "").split()[0].replace(",", ""))
    assert 0 < found - 2 * (PROTOBUF_MAX_BYTES // 2) < 1000


def test_one_model_that_is_too_large_stops_a_folder_before_anything_is_written(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "models"
    external_model(folder / "a.onnx")
    large(folder / "b", PROTOBUF_MAX_BYTES)
    before = snapshot(tmp_path)
    for destination in (None, tmp_path / "result"):
        with pytest.raises(FileLimitError, match="too large"):
            inline_file(folder, destination)
        assert snapshot(tmp_path) == before


def test_a_folder_is_inlined_and_other_files_come_along(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    report = inline_file(folder, f"{out}/")
    assert report.carried == ("config.json", "deep/empty", "deep/run.sh")
    assert sorted(path.relative_to(out).as_posix() for path in out.rglob("*.*")) == [
        *("config.json", "deep/decoder.ONNX", "deep/run.sh", "encoder.onnx"),
    ]
    for name in ("encoder.onnx", "deep/decoder.ONNX"):
        assert_same(folder / name, out / name)


def test_in_place_models_that_share_data_are_inlined_together(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    first = external_model(folder / "a.onnx", data="shared.bin")
    shutil.copy(first, folder / "b.onnx")
    wanted = oracle.tensors(first)
    report = inline_file(folder)
    assert [model.removed for model in report.models] == [(), ("shared.bin",)]
    assert sorted(path.name for path in folder.iterdir()) == ["a.onnx", "b.onnx"]
    assert oracle.tensors(folder / "a.onnx") == oracle.tensors(folder / "b.onnx") == wanted


def test_a_destination_is_treated_as_align_treats_it(tmp_path: Path) -> None:
    source = external_model(tmp_path / "m.onnx")
    other = external_model(tmp_path / "out" / "m.onnx", seed=1)
    with pytest.raises(DestinationExistsError):
        inline_file(source, other)
    with pytest.raises(UsageError):
        inline_file(source, "")
    inline_file(source, tmp_path / "out", overwrite=True)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["m.onnx"]
    assert oracle.tensors(other) == oracle.tensors(source)


PEAK = """
import sys
from pathlib import Path
from onnx_align_pass.inlining import inline_file

def peak_kib():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

small, large, result = sys.argv[1:]
inline_file(small, result + ".small", durable=False)
Path("/proc/self/clear_refs").write_text("5")  # the peak begins again
before = peak_kib()
inline_file(large, result, durable=False)
print(peak_kib() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc")
def test_the_weights_never_pass_through_memory(tmp_path: Path) -> None:
    small = external_model(tmp_path / "small.onnx")
    source = external_model(tmp_path / "m.onnx", {"a": (4000, 4000), "b": (3000, 3001)})
    command = [sys.executable, "-c", PEAK, *map(str, (small, source, tmp_path / "result.onnx"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert oracle.tensors(tmp_path / "result.onnx") == oracle.tensors(source)
    assert int(done.stdout) < 4096


def test_a_safetensors_file_that_holds_more_is_left(tmp_path: Path) -> None:
    import numpy as np
    from safetensors.numpy import load_file, save_file

    source = external_model(tmp_path / "m.onnx", {"a": (3, 4)}, data="m.safetensors")
    raw = (tmp_path / "m.safetensors").read_bytes()
    weights = {"a": np.frombuffer(raw, np.float32).reshape(3, 4), "b": np.ones(5, np.float32)}
    save_file(weights, tmp_path / "m.safetensors")
    proto = oracle.parse(source)
    offset = (tmp_path / "m.safetensors").read_bytes().index(raw)
    proto.graph.initializer[0].external_data[1].value = str(offset)
    source.write_bytes(proto.SerializeToString())
    wanted = oracle.tensors(source)
    report = inline_file(source).models[0]
    assert report.removed == ()
    assert oracle.tensors(source) == wanted
    assert sorted(load_file(tmp_path / "m.safetensors")) == ["a", "b"]
