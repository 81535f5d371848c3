"""Where upper and lower case are one: no name stands for two files, and none is taken for two."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from onnx_align_pass import (
    DataFileSharedError,
    DestinationError,
    DestinationIsSourceError,
    LayoutPolicy,
    align_file,
)
from onnx_align_pass.apart import check_apart
from onnx_align_pass.paths import is_one_name, same_file
from onnx_align_pass.renaming import rename_file
from tests.commit.mounts import disk
from tests.corpus import oracle
from tests.corpus.build import external, showing, tensor, write

from .small_models import external_model
from .snapshot import snapshot


@pytest.fixture(scope="module", params=["exfat", "ntfs"])
def caseless(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A file system that numbers a file by its spelling (exFAT here), and one that does not."""
    with disk(tmp_path_factory.mktemp("caseless"), request.param, 32) as root:
        yield root


@pytest.fixture
def folder(caseless: Path, request: pytest.FixtureRequest) -> Path:
    result = caseless / str(abs(hash(request.node.name)))
    result.mkdir()
    return result


def two_spellings(folder: Path) -> Path:
    """A model whose tensors name `w.data` and `W.data`."""
    tensors = [external(tensor(name, [1000]), folder, f"{name}.data") for name in "wW"]
    return write(folder, showing(tensors))


REFUSED: dict[str, Callable[[Path], object]] = {
    "the model": lambda model: align_file(model, model.with_name("MODEL.onnx"), overwrite=True),
    "renamed": lambda model: rename_file(model, model.with_name("MODEL.onnx"), overwrite=True),
    "its data": lambda model: align_file(
        model,
        model.with_name("new.onnx"),
        layout=LayoutPolicy(data_name="{model}.data".replace("{model}", "MODEL.ONNX")),
        overwrite=True,
    ),
}


@pytest.mark.needs_mount
@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_the_source_under_another_spelling_is_refused_however_forced(
    call: Callable[[Path], object], folder: Path
) -> None:
    model = external_model(folder / "model.onnx")
    before = snapshot(folder)
    with pytest.raises(DestinationIsSourceError):
        call(model)
    assert snapshot(folder) == before


@pytest.mark.needs_mount
def test_a_model_in_place_may_be_spelled_otherwise(folder: Path) -> None:
    wanted = oracle.tensors(external_model(folder / "model.onnx"))
    model = folder / "MODEL.onnx"
    report = align_file(model).models[0]
    assert not report.unchanged
    assert oracle.tensors(model) == wanted  # FUSE has what it knew of the other spelling, a second
    assert len(os.listdir(folder)) == 2


@pytest.mark.needs_mount
@pytest.mark.parametrize("force", [False, True])
def test_data_may_be_spelled_otherwise_in_place_and_is_not_removed_for_it(
    force: bool, folder: Path
) -> None:
    model = external_model(folder / "model.onnx", data="Weights.data")
    wanted = oracle.tensors(model)
    report = align_file(model, layout=LayoutPolicy(data_name="weights.data"), overwrite=force)
    assert report.models[0].removed == ()
    assert oracle.tensors(model) == wanted
    assert len(os.listdir(folder)) == 2


@pytest.mark.needs_mount
def test_data_belongs_to_every_model_that_names_it_however_spelled(folder: Path) -> None:
    model = external_model(folder / "one.onnx", data="w.data")
    other = folder / "other.onnx"
    other.write_bytes(model.read_bytes().replace(b"w.data", b"W.DATA"))
    before = snapshot(folder)
    with pytest.raises(DataFileSharedError, match=r"other\.onnx"):
        align_file(model)
    assert snapshot(folder) == before
    align_file(model, layout=LayoutPolicy(data_name="z.data"))
    assert oracle.tensors(other) == oracle.tensors(model)


@pytest.mark.needs_mount
@pytest.mark.parametrize("force", [False, True])
def test_model_and_data_are_not_one_file(force: bool, folder: Path) -> None:
    source = external_model(folder / "source.onnx")
    before = snapshot(folder)
    with pytest.raises(DestinationError, match="two files would be one"):
        align_file(
            source, folder / "m.bin", layout=LayoutPolicy(data_name="M.BIN"), overwrite=force
        )
    assert snapshot(folder) == before


@pytest.mark.needs_mount
def test_a_model_that_spells_its_data_in_two_ways_gets_one_file_of_another_name(
    folder: Path,
) -> None:
    model = two_spellings(folder)
    wanted, before = oracle.tensors(model), snapshot(folder)
    with pytest.raises(DestinationError, match="two files would be one"):
        align_file(model)
    assert snapshot(folder) == before
    align_file(model, layout=LayoutPolicy(data_name="new.data"))
    assert oracle.tensors(model) == wanted
    assert sorted(os.listdir(folder)) == ["model.onnx", "new.data"]


@pytest.mark.needs_mount
@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("names", [("Model.onnx", "model.onnx"), ("README.md", "readme.md")])
def test_a_folder_whose_names_would_meet_is_refused_before_a_file_is_written(
    names: tuple[str, str], force: bool, folder: Path, tmp_path: Path
) -> None:
    external_model(tmp_path / "other.onnx")
    for seed, name in enumerate(names):
        if name.endswith("onnx"):
            external_model(tmp_path / name, seed=seed)
        else:
            (tmp_path / name).write_text(name)
    with pytest.raises(DestinationError, match="two files would be one"):
        align_file(tmp_path, folder / "copy", overwrite=force)
    assert os.listdir(folder) == []


@pytest.mark.needs_mount
def test_a_model_of_two_data_files_whose_names_would_meet_is_not_moved(
    folder: Path, tmp_path: Path
) -> None:
    model = two_spellings(tmp_path)
    before = snapshot(tmp_path)
    with pytest.raises(DestinationError, match="two files would be one"):
        rename_file(model, folder / "model.onnx")
    assert snapshot(tmp_path) == before
    assert os.listdir(folder) == []
    align_file(model, folder / "model.onnx")
    assert oracle.tensors(folder / "model.onnx") == oracle.tensors(model)


ACCENTS = ("mod\u00e8le.data", "mode\u0300le.data")
"""One name to people: composed, and decomposed as macOS has it."""


@pytest.mark.parametrize("names", [("W.data", "w.data"), ACCENTS, ("a/B.data", "A/b.data")])
def test_names_that_are_two_files_here_are_no_reason_to_refuse(
    names: tuple[str, str], tmp_path: Path
) -> None:
    (tmp_path / "Probe").touch()
    if (tmp_path / "probe").exists():
        pytest.skip("upper and lower case are one here")
    check_apart(names, tmp_path / "not" / "there")
    assert os.listdir(tmp_path) == ["Probe"]
    model = write(
        tmp_path / "in",
        showing([external(tensor(name, [1000]), tmp_path / "in", name) for name in names]),
    )
    wanted = oracle.tensors(model)
    align_file(model)
    assert oracle.tensors(model) == wanted
    one, other = (tmp_path / "in" / name for name in names)
    assert not same_file(one, other)
    os.link(one, tmp_path / "in" / "link")
    assert same_file(one, tmp_path / "in" / "link")
    assert not is_one_name(one, tmp_path / "in" / "link")
