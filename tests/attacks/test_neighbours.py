"""Models that strangers put where anybody may put one: they forbid nothing, and are not read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import onnx
import pytest

from onnx_align_pass import DataFileSharedError, align_file, recover_folder
from tests.align.small_models import external_model
from tests.commit.journals import NOTHING, staged, state
from tests.corpus import oracle

pytestmark = [
    pytest.mark.needs_root,
    pytest.mark.skipif(os.getuid() != 0, reason="needs root, to give a file away"),
]
STRANGER = 12_345


def rename_location(model: Path, location: str) -> None:
    proto = onnx.load(model, load_external_data=False)
    for tensor in proto.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = location
    model.write_bytes(proto.SerializeToString())


def point_at_it(model: Path, folder: Path) -> Path:
    """A model in a folder above that points at the data of `model`."""
    proto = onnx.load(model, load_external_data=False)
    for tensor in proto.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = str((model.parent / entry.value).relative_to(folder))
    other = folder / "other.onnx"
    other.write_bytes(proto.SerializeToString())
    return other


@pytest.fixture
def model(tmp_path: Path) -> Path:
    tmp_path.chmod(0o1777)
    return external_model(tmp_path / "mine" / "model.onnx")


def test_a_stranger_cannot_forbid_a_run_from_a_folder_that_all_may_write_to(
    model: Path, tmp_path: Path
) -> None:
    wanted = oracle.tensors(model)
    os.chown(point_at_it(model, tmp_path), STRANGER, STRANGER)
    align_file(model)
    assert oracle.tensors(model) == wanted


def test_a_model_of_ones_own_counts_there(model: Path, tmp_path: Path) -> None:
    point_at_it(model, tmp_path)
    with pytest.raises(DataFileSharedError, match=r"other\.onnx"):
        align_file(model)


def test_so_does_one_of_the_owner_of_the_data(model: Path, tmp_path: Path) -> None:
    os.chown(point_at_it(model, tmp_path), STRANGER, STRANGER)
    os.chown(model.with_name("model.onnx.data"), STRANGER, STRANGER)
    with pytest.raises(DataFileSharedError, match=r"other\.onnx"):
        align_file(model)


def test_where_not_all_may_write_everybodys_count(model: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o775)
    os.chown(point_at_it(model, tmp_path), STRANGER, STRANGER)
    with pytest.raises(DataFileSharedError, match=r"other\.onnx"):
        align_file(model)


def superseded(model: Path) -> Path:
    """Data that a run was killed over before it could remove it."""
    old = model.with_name("old.data")
    old.touch()
    fields = {"superseded": {old.name: state(old)}, "model_before": NOTHING}
    staged(model.parent, model_after=state(model), **fields)
    return old


def paths_opened(patch: pytest.MonkeyPatch) -> list[str]:
    """Paths that are opened from now on."""
    opened: list[str] = []
    system_open = os.open

    def noted(path: Any, *args: Any, **kwargs: Any) -> int:
        opened.append(str(path))
        return system_open(path, *args, **kwargs)

    patch.setattr(os, "open", noted)
    return opened


@pytest.mark.parametrize("content", [b"mine/old.data", b"no model at all"])
def test_a_strangers_model_is_not_read_by_recovery_and_spares_nothing(
    content: bytes, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, other = superseded(model), tmp_path / "other.onnx"
    other.write_bytes(content)
    os.chown(other, STRANGER, STRANGER)
    opened = paths_opened(monkeypatch)
    (found,) = recover_folder(model.parent)
    assert found.outcome == "finished"
    assert not old.exists()
    assert str(other) not in opened


@pytest.mark.parametrize("whose", ["ones own", "the data owner's"])
def test_other_models_there_spare_what_they_may_name(
    whose: str, model: Path, tmp_path: Path
) -> None:
    old, other = superseded(model), tmp_path / "other.onnx"
    other.write_bytes(b"mine/old.data")
    if whose != "ones own":
        for path in (old, other):
            os.chown(path, STRANGER, STRANGER)
    (found,) = recover_folder(model.parent)
    assert found.outcome == "finished"
    assert old.exists()


@pytest.mark.parametrize("name", ["m_backup", "m.ort", "n.model", "below/copy", "weights.txt"])
def test_a_model_counts_whatever_it_is_called(name: str, model: Path) -> None:
    data = model.with_name("below") / "w.data"
    other = model.parent / name
    other.parent.mkdir(exist_ok=True)
    data.parent.mkdir(exist_ok=True)
    model.with_name("model.onnx.data").rename(data)
    rename_location(model, "below/w.data")
    other.write_bytes(model.read_bytes())
    if other.parent == data.parent:
        rename_location(other, "w.data")
    wanted = oracle.tensors(other)
    with pytest.raises(DataFileSharedError, match=name.rpartition("/")[2]):
        align_file(model)
    assert oracle.tensors(other) == wanted


def test_a_file_that_begins_as_models_do_and_is_none_is_no_reason_to_stop(model: Path) -> None:
    wanted = oracle.tensors(model)
    for number, content in enumerate((b"\x08", b"\x08\x07", b"\x08\x07\xff\xff", b"\x08\x00")):
        model.with_name(f"other{number}").write_bytes(content * 1000)
    align_file(model)
    assert oracle.tensors(model) == wanted
