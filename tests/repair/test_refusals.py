"""What would need a guess is refused: nothing is written, and the reason is said."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto

from onnx_align_pass import (
    BrokenModelError,
    DestinationExistsError,
    DestinationIsSourceError,
    ExternalDataError,
    ModelError,
    UsageError,
)
from onnx_align_pass.repairing import find_repairs, repair_file
from tests.align.small_models import external_model
from tests.align.snapshot import snapshot
from tests.corpus import oracle
from tests.corpus.bad_files import LFS_POINTER
from tests.corpus.build import DATA, numbers

from .broken import COUNT, LENGTH, OTHER, RIGHT, data, elsewhere, model, named, other

Build = Callable[[Path], Path]
FLOAT16, INT4 = TensorProto.FLOAT16, TensorProto.INT4


def padded(gap: bytes, length: int = 2048, offset: int = 0) -> Build:
    """A builder of a tensor whose length is too long, with this behind its bytes."""

    def build(folder: Path) -> Path:
        data(folder, gap)
        pairs = {"location": DATA, "offset": str(offset), "length": str(length)}
        return model(folder, named("w", pairs), other(offset=LENGTH + len(gap)))

    return build


def of_another_type(dtype: int, content: bytes, length: int) -> Build:
    """A builder of a tensor whose type is not that of its bytes."""

    def build(folder: Path) -> Path:
        (folder / "model").mkdir(parents=True)
        (folder / "model" / DATA).write_bytes(content)
        pairs = {"location": DATA, "offset": "0", "length": str(length)}
        weight = named("w", pairs)
        weight.data_type = dtype
        return model(folder, weight)

    return build


def short(folder: Path) -> Path:
    """The file ends within the second tensor, and the length of the first is too short."""
    path = padded(bytes(8192 - LENGTH), length=LENGTH - 4)(folder)
    os.truncate(path.parent / DATA, 9000)
    return path


def overlapping(folder: Path) -> Path:
    """The second tensor begins within the first."""
    data(folder)
    pairs = {"location": DATA, "offset": "0", "length": str(LENGTH)}
    return model(folder, named("w", pairs), other(offset=LENGTH - 4))


def pointer(folder: Path) -> Path:
    """The data file is a Git LFS pointer."""
    path = padded(bytes(8192 - LENGTH))(folder)
    (path.parent / DATA).write_bytes(LFS_POINTER)
    return path


def cut(folder: Path) -> Path:
    """The model file lacks its end."""
    path = padded(bytes(8192 - LENGTH))(folder)
    os.truncate(path, path.stat().st_size - 3)
    return path


def twice(folder: Path) -> Path:
    """Bytes in the model and in the data file."""
    data(folder)
    weight = named("w", {"location": DATA, "offset": "0", "length": str(LENGTH)})
    weight.raw_data = RIGHT
    return model(folder, weight, other())


NOISE = numbers("noise", [500]).tobytes()
HALVES = np.linspace(1, 2, COUNT, dtype=np.float32).tobytes()
REFUSED: dict[str, tuple[Build, str]] = {
    "bytes that nobody claims follow": (padded(NOISE[: 8192 - LENGTH]), "not padding"),
    "one byte of the padding is set": (padded(bytes(800) + b"\1" + bytes(6191)), "not padding"),
    "zeros that no boundary explains": (padded(bytes(8192 - LENGTH), LENGTH + 4), "not padding"),
    "float16 over bytes of float32": (of_another_type(FLOAT16, HALVES, LENGTH), "not padding"),
    "four bits in a byte each": (
        of_another_type(INT4, bytes(range(1, 16)) * 20, COUNT),
        "not padding",
    ),
    "a view of a larger tensor": (
        of_another_type(TensorProto.FLOAT, RIGHT + NOISE, LENGTH + 2000),
        "not padding",
    ),
    "a length and a file that are too short": (short, "contradict"),
    "tensors that overlap": (overlapping, "which of the two is right"),
    "a pointer of Git LFS": (pointer, "git lfs pull"),
    "bytes that are given twice": (twice, "given twice"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nothing_is_written_and_the_reason_is_said(name: str, tmp_path: Path) -> None:
    build, reason = REFUSED[name]
    source = build(tmp_path / "broken")
    before = snapshot(tmp_path)
    with pytest.raises(ModelError, match=reason) as error:
        repair_file(source, tmp_path / "mended" / "m.onnx")
    assert error.value.tensor in ("w", "other")
    assert snapshot(tmp_path) == before
    assert any(reason in str(one) for one in find_repairs(source).remaining)


def test_a_model_file_that_is_cut_short_cannot_be_looked_into(tmp_path: Path) -> None:
    source = cut(tmp_path)
    with pytest.raises(BrokenModelError):
        find_repairs(source)


def test_one_fault_that_stays_keeps_all_else_from_being_written(tmp_path: Path) -> None:
    data(tmp_path)
    broken = {"location": DATA, "length": str(LENGTH), "colour": "blue"}
    source = model(
        tmp_path, named("w", broken), other(), named("short", {"location": DATA, "length": "4"})
    )
    found = find_repairs(source)
    assert {one.code for one in found.repairs} >= {"offset-absent", "unknown-key"}
    assert [one.error.tensor for one in found.remaining] == ["short"]
    with pytest.raises(ModelError):
        repair_file(source, tmp_path / "mended.onnx")
    assert not (tmp_path / "mended.onnx").exists()


def test_many_faults_are_counted_and_a_missing_file_is_one(tmp_path: Path) -> None:
    pairs = {"location": "gone", "offset": "0", "length": str(LENGTH)}
    weights = [named(f"w{index}", pairs) for index in range(50)]
    source = model(tmp_path, *weights, named("short", {"location": "gone", "length": "4"}))
    (fault,) = find_repairs(source).remaining
    assert fault.code == "data-file-missing"
    assert "51 tensors lie in it" in str(fault)
    data(tmp_path)
    weights = [named(f"w{one}", {"location": DATA, "length": "4"}) for one in range(50)]
    source = model(tmp_path, *weights)
    with pytest.raises(ModelError, match="49 more faults") as error:
        repair_file(source, tmp_path / "mended.onnx")
    assert "--dry-run" in str(error.value)


def test_a_model_that_is_whole_is_not_written_again(tmp_path: Path) -> None:
    source = external_model(tmp_path / "m.onnx")
    before = snapshot(tmp_path)
    report = repair_file(source, tmp_path / "new" / "m.onnx")
    assert report.is_whole
    assert report.written is None
    assert snapshot(tmp_path) == before


def test_the_destination_is_treated_as_align_treats_it(tmp_path: Path) -> None:
    source = elsewhere("w.data", "far")(tmp_path)
    named_file = [tmp_path / "far"]
    old = external_model(tmp_path / "out" / "model.onnx", seed=1)
    before = snapshot(tmp_path)
    with pytest.raises(DestinationExistsError):
        repair_file(source, tmp_path / "out", data=named_file)
    for place in (source, tmp_path / "model"):
        with pytest.raises(DestinationIsSourceError):
            repair_file(source, place, data=named_file, overwrite=True)
    assert snapshot(tmp_path) == before
    repair_file(source, tmp_path / "out", data=named_file, overwrite=True)
    contents = oracle.tensors(old).values()
    assert [one.raw for one in contents] == [RIGHT, OTHER]


def test_the_file_that_was_named_is_no_destination_even_by_force(tmp_path: Path) -> None:
    source = elsewhere("w.data", "out/new.onnx.data")(tmp_path)
    file = tmp_path / "out" / "new.onnx.data"
    before = snapshot(tmp_path)
    for destination in (tmp_path / "out" / "new.onnx", file):
        with pytest.raises(ModelError):
            repair_file(source, destination, data=[file], overwrite=True)
        assert snapshot(tmp_path) == before


NAMED_WRONG: dict[str, tuple[list[str], type[Exception], str]] = {
    "it is not there": (["gone"], ExternalDataError, "No such file"),
    "it is a folder": (["model"], ExternalDataError, "not a regular file"),
    "it is a pipe": (["pipe"], ExternalDataError, "not a regular file"),
    "a name that no file can have": (["a\0b"], ExternalDataError, "cannot be read"),
    "two for one location": (["far", "w.data=far"], UsageError, "missing|two data files"),
    "no such location": (["w.dat=far"], UsageError, "no data at location 'w.dat'"),
}


@pytest.mark.parametrize("name", NAMED_WRONG)
def test_a_file_that_is_named_wrongly_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, kind, reason = NAMED_WRONG[name]
    source = elsewhere("w.data", "far")(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    before = snapshot(tmp_path)
    with pytest.raises(kind, match=reason):
        repair_file(source, tmp_path / "mended.onnx", data=files)
    assert snapshot(tmp_path) == before


def test_a_file_where_none_is_missing_needs_its_location(tmp_path: Path) -> None:
    source = external_model(tmp_path / "m.onnx", {"a": (3, 4)})
    (tmp_path / "other.bin").write_bytes(bytes(48))
    with pytest.raises(UsageError, match="LOCATION=PATH"):
        find_repairs(source, data=[tmp_path / "other.bin"])
    with pytest.raises(UsageError, match="Spell the location"):
        find_repairs(source, data={"x": tmp_path / "other.bin"})
    report = find_repairs(source, data=[f"m.onnx.data={tmp_path / 'other.bin'}"])
    assert [one.code for one in report.repairs] == ["data-named"]


def test_of_several_that_are_missing_a_file_of_no_such_name_needs_its_location(
    tmp_path: Path,
) -> None:
    pairs = {"offset": "0", "length": str(LENGTH)}
    weights = [named(name, {"location": f"{name}.data", **pairs}) for name in ("a", "b")]
    source = model(tmp_path, *weights)
    (tmp_path / "c.data").write_bytes(RIGHT)
    with pytest.raises(UsageError, match="may stand for several"):
        find_repairs(source, data=[tmp_path / "c.data"])
    first = find_repairs(source).remaining[0]
    assert "`--data a.data=PATH`" in str(first)
