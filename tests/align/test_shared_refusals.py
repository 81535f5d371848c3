"""What a run on several models refuses, before it writes a byte."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from onnx_align_pass import (
    AlignReport,
    DataFileSharedError,
    DestinationError,
    DestinationExistsError,
    DestinationIsSourceError,
    ExternalDataError,
    LayoutPolicy,
    ModelError,
    ModelNotFoundError,
    PolicyError,
    SourceChangedError,
    UsageError,
    WriteError,
    align_file,
)
from onnx_align_pass.progress import PUBLISHING
from onnx_align_pass.shared import align_shared
from tests.corpus import oracle

from .small_models import external_model
from .snapshot import snapshot

NAME = "weights.data"
COMPOSED, DECOMPOSED = "mod\u00e8le", "mode\u0300le"
"""One name to people, and to some file systems."""
SHAPES: dict[str, tuple[int, ...]] = {"a": (33, 70), "b": (64, 64)}
OTHER: dict[str, tuple[int, ...]] = {"a": (33, 70), "b": (65, 64)}


@pytest.fixture
def models(tmp_path: Path) -> list[Path]:
    folder = tmp_path / "source"
    return [
        external_model(folder / "e" / "encoder.onnx", SHAPES),
        external_model(folder / "d" / "decoder.onnx", SHAPES),
    ]


def share(models: list[Path], folder: Path, **more: object) -> AlignReport:
    named = {"shared_data": NAME, **more}
    return align_shared(models, folder, **named)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name", ["{model}.data", "{stem}", "../w.data", "/w.data", "a\\b", "{x}", "w.safetensors"]
)
def test_a_name_that_cannot_be_everybodys(name: str, models: list[Path], tmp_path: Path) -> None:
    before = snapshot(tmp_path)
    with pytest.raises(UsageError):
        share(models, tmp_path / "out", shared_data=name)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", ["encoder.onnx", "DECODER.onnx", "decoder.onnx/w.data"])
def test_a_data_file_with_the_name_of_a_model(
    name: str, models: list[Path], tmp_path: Path
) -> None:
    before = snapshot(tmp_path)
    with pytest.raises(UsageError):
        share(models, tmp_path / "out", shared_data=name)
    assert snapshot(tmp_path) == before


def test_no_models_one_path_and_empty_paths(models: list[Path], tmp_path: Path) -> None:
    for wrong in ([], "model.onnx", models[0], [models[0], ""]):
        with pytest.raises(UsageError):
            share(wrong, tmp_path / "out")  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        share(models, tmp_path / "out", shared_data="")
    with pytest.raises(PolicyError):
        share(models, tmp_path / "out", shared_data=".")


@pytest.mark.parametrize("name", ["encoder.onnx", "Encoder.ONNX"])
def test_two_models_of_one_name(name: str, models: list[Path], tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    shutil.copy(models[0], tmp_path / "more" / name)
    before = snapshot(tmp_path)
    with pytest.raises(UsageError, match="one name"):
        share([*models, tmp_path / "more" / name], tmp_path / "out")
    with pytest.raises(UsageError, match="one name"):
        share([models[0], models[0]], tmp_path / "out")
    assert snapshot(tmp_path) == before


def test_names_that_are_one_where_accents_may_be_composed(
    models: list[Path], tmp_path: Path
) -> None:
    composed = models[0].rename(models[0].with_name(f"{COMPOSED}.onnx"))
    decomposed = models[1].rename(models[1].with_name(f"{DECOMPOSED}.onnx"))
    before = snapshot(tmp_path)
    with pytest.raises(UsageError, match="one name"):
        share([composed, decomposed], tmp_path / "out")
    with pytest.raises(UsageError, match="the name of a model"):
        share([composed], tmp_path / "out", shared_data=f"{decomposed.name}/w.data")
    assert snapshot(tmp_path) == before


def test_a_model_by_whose_name_nobody_sees_that_it_is_one(
    models: list[Path], tmp_path: Path
) -> None:
    hidden = models[0].rename(models[0].with_name("encoder.bin"))
    with pytest.raises(UsageError, match=r"\.onnx"):
        share([hidden, models[1]], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_model_that_is_missing_a_folder_or_broken(models: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "folder.onnx"
    folder.mkdir()
    for wrong in (tmp_path / "missing.onnx", folder):
        with pytest.raises(ModelNotFoundError):
            share([models[0], wrong], tmp_path / "out")
    (models[1].parent / "decoder.onnx.data").write_bytes(b"short")
    with pytest.raises(ExternalDataError):
        share(models, tmp_path / "out")
    models[1].write_bytes(b"\x00no model")
    with pytest.raises(ModelError, match="decoder"):
        share(models, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_folder_of_a_source(models: list[Path], tmp_path: Path) -> None:
    before = snapshot(tmp_path)
    for folder in (models[0].parent, models[1].parent / ".." / "d"):
        for overwrite in (False, True):
            with pytest.raises(DestinationIsSourceError):
                share(models, folder, overwrite=overwrite)
    assert snapshot(tmp_path) == before


def test_a_model_in_the_place_of_which_another_source_lies(
    models: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "encoder.onnx").hardlink_to(models[1])
    before = snapshot(tmp_path)
    with pytest.raises(DestinationIsSourceError):
        share(models, out, overwrite=True)
    assert snapshot(tmp_path) == before


def test_the_data_file_of_a_source(models: list[Path], tmp_path: Path) -> None:
    before = snapshot(tmp_path)
    with pytest.raises(DestinationIsSourceError):
        share(models, tmp_path / "source", shared_data="d/decoder.onnx.data", overwrite=True)
    assert snapshot(tmp_path) == before


def test_a_destination_that_is_a_file_or_a_symlink_or_no_name(
    models: list[Path], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "decoder.onnx").symlink_to(tmp_path / "file")
    before = snapshot(tmp_path)
    for folder in (tmp_path / "file", tmp_path / "out", tmp_path / "a\0b"):
        with pytest.raises(DestinationError):
            share(models, folder, overwrite=True)
    with pytest.raises((DestinationError, WriteError)):
        share(models, tmp_path / "file" / "below")
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", ["encoder.onnx", "decoder.onnx", NAME])
def test_a_file_that_is_there_is_not_lost(name: str, models: list[Path], tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).write_bytes(b"precious")
    before = snapshot(tmp_path)
    with pytest.raises(DestinationExistsError, match=name):
        share(models, tmp_path / "out")
    assert snapshot(tmp_path) == before
    share(models, tmp_path / "out", overwrite=True)
    assert oracle.tensors(tmp_path / "out" / "decoder.onnx") == oracle.tensors(models[1])


def test_a_folder_with_the_name_of_the_data(models: list[Path], tmp_path: Path) -> None:
    (tmp_path / "out" / NAME).mkdir(parents=True)
    with pytest.raises(DestinationExistsError):
        share(models, tmp_path / "out", overwrite=True)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [NAME]


def test_an_older_version_is_replaced_only_when_asked_for(
    models: list[Path], tmp_path: Path
) -> None:
    share(models, tmp_path / "out")
    newer = [external_model(models[0], OTHER), models[1]]
    before = snapshot(tmp_path)
    with pytest.raises(DestinationExistsError, match=r"encoder\.onnx"):
        share(newer, tmp_path / "out")
    assert snapshot(tmp_path) == before


def test_data_that_a_stranger_uses_is_not_replaced(models: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    share(models, out)
    shutil.copy(out / "encoder.onnx", out / "stranger.onnx")
    newer = [external_model(models[0], OTHER), models[1]]
    before = snapshot(tmp_path)
    for number in (2, 1):  # all members point at it; one does
        with pytest.raises(DataFileSharedError, match=r"stranger\.onnx"):
            share(newer, out, overwrite=True)
        assert snapshot(tmp_path) == before
        if number == 2:
            (out / "decoder.onnx").unlink()
            before = snapshot(tmp_path)


def test_data_of_a_model_that_is_not_of_the_group(models: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    align_file(models[0], out / "stranger.onnx", layout=LayoutPolicy(data_name=NAME))
    before = snapshot(tmp_path)
    with pytest.raises(DataFileSharedError, match=r"stranger\.onnx"):
        share(models, out, overwrite=True)
    assert snapshot(tmp_path) == before


class Meddler:
    """A progress that does something to the disk when one model is about to be published."""

    def __init__(self, model: str, act: object) -> None:
        self.model, self.act = model, act
        self.at = ""

    def begin(self, model: str, total_bytes: int) -> None:
        self.at = model

    def advance(self, nbytes: int, tensor: str) -> None:
        """Take no notice."""

    def phase(self, text: str) -> None:
        if text == PUBLISHING and self.at == self.model:
            assert callable(self.act)
            self.act()


@pytest.mark.parametrize("first", ["encoder.onnx", "decoder.onnx"])
def test_a_source_that_changes_meanwhile_ends_the_run(
    first: str, models: list[Path], tmp_path: Path
) -> None:
    def change() -> None:
        with models[1].open("ab") as file:
            file.write(b"x")

    out = tmp_path / "out"
    with pytest.raises(SourceChangedError):
        share(models, out, progress=Meddler(first, change))
    found = sorted(path.name for path in out.iterdir()) if out.exists() else []
    assert found == ([] if first == "encoder.onnx" else ["encoder.onnx", NAME])
    if found:
        assert oracle.tensors(out / "encoder.onnx") == oracle.tensors(models[0])


def test_shared_data_that_is_replaced_meanwhile_gets_no_more_models(
    models: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"

    def repack() -> None:
        align_file(out / "encoder.onnx", layout=LayoutPolicy(alignment=64, data_name=NAME))

    with pytest.raises(SourceChangedError, match=NAME):
        share(models, out, progress=Meddler("decoder.onnx", repack))
    assert sorted(path.name for path in out.iterdir()) == ["encoder.onnx", NAME]
    assert oracle.tensors(out / "encoder.onnx") == oracle.tensors(models[0])


def test_a_model_that_comes_to_use_the_old_data_meanwhile_keeps_it(
    models: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    share(models, out)
    newer = [external_model(models[0], OTHER, seed=5), models[1]]

    def come() -> None:
        shutil.copy(out / "decoder.onnx", out / "stranger.onnx")

    old = oracle.tensors(out / "decoder.onnx")
    with pytest.raises(DataFileSharedError, match=r"stranger\.onnx"):
        share(newer, out, overwrite=True, progress=Meddler("encoder.onnx", come))
    assert oracle.tensors(out / "stranger.onnx") == old == oracle.tensors(out / "decoder.onnx")
