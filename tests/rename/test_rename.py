"""A model and its data get other names: nothing else about them changes."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import onnx
import pytest

from onnx_align_pass import (
    DataFileSharedError,
    DestinationError,
    DestinationExistsError,
    DestinationIsSourceError,
    Leftover,
    ModelError,
    ModelNotFoundError,
    UnsafeDataFileError,
    UsageError,
    WriteError,
)
from onnx_align_pass.renaming import rename_file
from tests.align.small_models import external_model, weights_model
from tests.align.snapshot import snapshot
from tests.align.test_models import REFUSED
from tests.corpus import CASES, oracle
from tests.corpus.case import BadCase, Case
from tests.corpus.params import bad_cases, cases
from tests.corpus.real import REAL
from tests.corpus.running import run, same_outputs

NOT_BY_ITSELF = {
    **dict.fromkeys(("hugging_face_snapshot", "model_is_a_link"), UnsafeDataFileError),
    **dict.fromkeys(("data_is_a_link_inside", "data_inside_the_model"), UnsafeDataFileError),
    "data_link_of_the_folder": UnsafeDataFileError,
    "two_models_of_one_data_file": DataFileSharedError,
    **dict.fromkeys(REFUSED, UnsafeDataFileError),
}
"""Cases whose files are not the model's alone, or not where it says."""


def built(case: Case | BadCase, folder: Path) -> Path:
    folder.mkdir()
    return case.build(folder)


def without_locations(model: Path) -> bytes:
    """The model with nothing said of where its data files are; all else, offsets too, is there."""
    proto = oracle.parse(model)
    for _, tensor in oracle.walk(proto):
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            for entry in tensor.external_data:
                if entry.key == "location":
                    entry.value = ""
    return bytes(proto.SerializeToString(deterministic=True))


def data_of(model: Path) -> dict[str, os.stat_result]:
    """State of each data file, by its name."""
    names = {
        os.path.normpath(oracle.entries_of(tensor)["location"])
        for _, tensor in oracle.walk(oracle.parse(model))
        if tensor.data_location == onnx.TensorProto.EXTERNAL
    }
    return {name: (model.parent / name).stat() for name in sorted(names)}


@pytest.mark.parametrize("folder", ["source", "another"])
@pytest.mark.parametrize("case", cases())
def test_every_odd_model_is_renamed_whole_or_refused(
    case: Case, folder: str, tmp_path: Path
) -> None:
    source, copy = (built(case, tmp_path / name) for name in ("source", "copy"))
    target = (source.parent if folder == "source" else tmp_path / folder) / "other name.onnx"
    if case.name in NOT_BY_ITSELF:
        before = snapshot(tmp_path)
        with pytest.raises(NOT_BY_ITSELF[case.name]) as error:
            rename_file(source, target)
        assert error.value.hint
        assert snapshot(tmp_path) == before
        return
    old = data_of(source)
    report = rename_file(source, target)
    assert without_locations(target) == without_locations(copy)
    assert oracle.tensors(target) == oracle.tensors(copy)
    assert not source.exists()
    new = data_of(target)
    assert [state.st_ino for state in new.values()] == [state.st_ino for state in old.values()]
    assert {one.after for one in report.data_files} == set(new)
    assert {one.before for one in report.data_files} == set(old)
    links = 2 if case.name == "data_has_two_links" else 1
    assert {state.st_nlink for state in new.values()} <= {links}
    assert not list(tmp_path.rglob("*.align-*"))
    rename_file(target, source)
    assert without_locations(source) == without_locations(copy)
    assert sorted(data_of(source)) == sorted(old)


@pytest.mark.parametrize("case", bad_cases())
def test_a_bad_model_is_renamed_as_it_is_or_refused(case: BadCase, tmp_path: Path) -> None:
    source = built(case, tmp_path / "source")
    before = snapshot(tmp_path)
    try:
        rename_file(source, tmp_path / "other.onnx", durable=False)
    except ModelError:
        assert snapshot(tmp_path) == before
    else:
        # What is wrong with its tensors was wrong before.
        (tmp_path / "again").mkdir()
        again = case.build(tmp_path / "again")
        assert without_locations(tmp_path / "other.onnx") == without_locations(again)


@pytest.mark.parametrize("name", sorted(REAL))
def test_a_real_model_runs_as_before(name: str, tmp_path: Path) -> None:
    real = REAL[name]
    source = Path(shutil.copy(real.path(), tmp_path / "copy.onnx"))
    report = rename_file(source, tmp_path / "other.onnx")
    assert (report.how, report.data_files) == ("renamed", ())
    assert same_outputs(run(real.path(), real.feeds()), run(tmp_path / "other.onnx", real.feeds()))


def test_onnx_and_onnxruntime_load_the_result(tmp_path: Path) -> None:
    source = external_model(tmp_path / "old.onnx")
    outputs = run(source)
    rename_file(source, tmp_path / "new.onnx")
    onnx.checker.check_model(str(tmp_path / "new.onnx"))
    onnx.load(tmp_path / "new.onnx")
    assert same_outputs(run(tmp_path / "new.onnx"), outputs)


def test_a_folder_takes_the_model_under_its_name(tmp_path: Path) -> None:
    source = external_model(tmp_path / "m.onnx")
    wanted = oracle.tensors(source)
    (tmp_path / "there").mkdir()
    rename_file(source, tmp_path / "there")
    report = rename_file(tmp_path / "there" / "m.onnx", f"{tmp_path}/new/folder/")
    assert report.how == "renamed"
    assert sorted(os.listdir(tmp_path / "new" / "folder")) == ["m.onnx", "m.onnx.data"]
    assert os.listdir(tmp_path / "there") == []
    assert oracle.tensors(tmp_path / "new" / "folder" / "m.onnx") == wanted


def test_mode_owner_and_time_of_the_files_stay(tmp_path: Path) -> None:
    source = external_model(tmp_path / "old.onnx")
    data = tmp_path / "old.onnx.data"
    data.chmod(0o604)
    source.chmod(0o640)
    os.utime(data, ns=(1_500_000_000_123_456_789, 1_400_000_000_987_654_321))
    before = data.stat()
    rename_file(source, tmp_path / "new.onnx")
    after = (tmp_path / "new.onnx.data").stat()
    for name in ("st_mode", "st_uid", "st_gid", "st_mtime_ns", "st_ino", "st_size"):
        assert getattr(after, name) == getattr(before, name), name
    assert (tmp_path / "new.onnx").stat().st_mode & 0o777 == 0o640


def test_files_that_keep_their_name_in_the_folder_are_not_touched(tmp_path: Path) -> None:
    source = external_model(tmp_path / "old.onnx", data="weights.bin")
    before = (tmp_path / "weights.bin").stat()
    report = rename_file(source, tmp_path / "new.onnx")
    assert [(one.after, one.how) for one in report.data_files] == [("weights.bin", "kept")]
    assert report.how == "renamed"  # not a byte of the model changed
    assert (tmp_path / "weights.bin").stat().st_ctime_ns == before.st_ctime_ns
    assert sorted(os.listdir(tmp_path)) == ["new.onnx", "weights.bin"]


def test_a_data_file_that_another_model_uses_and_that_keeps_its_name_is_no_hindrance(
    tmp_path: Path,
) -> None:
    source = external_model(tmp_path / "old.onnx", data="shared.bin")
    shutil.copy(source, tmp_path / "sibling.onnx")
    wanted = oracle.tensors(source)
    rename_file(source, tmp_path / "new.onnx")
    assert oracle.tensors(tmp_path / "new.onnx") == wanted
    assert oracle.tensors(tmp_path / "sibling.onnx") == wanted


@pytest.mark.parametrize("place", ["sub/new.onnx", "new.onnx"])
def test_a_data_file_that_another_model_uses_does_not_move(place: str, tmp_path: Path) -> None:
    source = external_model(tmp_path / "old.onnx")
    shutil.copy(source, tmp_path / "sibling.onnx")
    before = snapshot(tmp_path)
    with pytest.raises(DataFileSharedError) as error:
        rename_file(source, tmp_path / place, overwrite=True)
    assert "sibling.onnx" in str(error.value.found)
    assert "lign the model to a new destination" in str(error.value.hint)
    assert snapshot(tmp_path) == before


def test_a_template_names_the_data_file(tmp_path: Path) -> None:
    source = external_model(tmp_path / "old.onnx")
    wanted = oracle.tensors(source)
    rename_file(source, tmp_path / "new.onnx", external_data="weights/{stem}.bin")
    assert (tmp_path / "weights" / "new.bin").exists()
    assert oracle.tensors(tmp_path / "new.onnx") == wanted


@pytest.mark.parametrize(
    "template", ["", "../w", "/w", "a//b", "{shard}", "w-{shard}-of-{shards}", "{other}", "a\\b"]
)
def test_a_template_that_is_none_is_wrong_usage(template: str, tmp_path: Path) -> None:
    source = external_model(tmp_path / "old.onnx")
    before = snapshot(tmp_path)
    with pytest.raises(UsageError):
        rename_file(source, tmp_path / "new.onnx", external_data=template)
    assert snapshot(tmp_path) == before


def test_one_name_for_several_files_is_wrong_usage(tmp_path: Path) -> None:
    source = built(CASES["several_data_files"], tmp_path / "source")
    before = snapshot(tmp_path)
    with pytest.raises(UsageError, match="several data files"):
        rename_file(source, tmp_path / "new.onnx", external_data="w")
    assert snapshot(tmp_path) == before


def two_files(folder: Path, *names: str) -> Path:
    """A model with a tensor in each of these data files."""
    model = external_model(folder / "old.onnx", dict.fromkeys(names, (30, 31)), data=names[0])
    proto = oracle.parse(model)
    for name, tensor in zip(names, proto.graph.initializer, strict=True):
        (folder / name).parent.mkdir(exist_ok=True)
        tensor.external_data[0].value = name
        shutil.copy(folder / names[0], folder / f"{name}.new")
    for name in names:
        (folder / f"{name}.new").rename(folder / name)
    model.write_bytes(proto.SerializeToString())
    return model


@pytest.mark.parametrize("names", [("old.data", "new.data"), ("old", "old.onnx.data")])
def test_two_files_that_would_have_one_name_are_refused(
    names: tuple[str, str], tmp_path: Path
) -> None:
    source = two_files(tmp_path / "in", *names)
    before = snapshot(tmp_path)
    target = tmp_path / "in" / ("new.onnx" if "new.data" in names else "new")
    with pytest.raises((UsageError, DestinationError)):
        rename_file(source, target)
    assert snapshot(tmp_path) == before


def test_a_name_that_leads_on_to_another_file_of_the_model_is_refused(tmp_path: Path) -> None:
    source = two_files(tmp_path / "in", "old.data", "old-2.data")
    before = snapshot(tmp_path)
    for overwrite in (False, True):
        with pytest.raises(DestinationIsSourceError):
            rename_file(source, tmp_path / "in" / "old-2.onnx", overwrite=overwrite)
        assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", ["new.onnx", "new.onnx.data"])
def test_what_stands_in_the_way_is_replaced_only_by_force(name: str, tmp_path: Path) -> None:
    source = external_model(tmp_path / "in" / "old.onnx")
    wanted = oracle.tensors(source)
    if name == "new.onnx":
        external_model(tmp_path / "out" / name, seed=1, data="its.data")
    else:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / name).write_bytes(b"precious")
    before = snapshot(tmp_path)
    with pytest.raises(DestinationExistsError):
        rename_file(source, tmp_path / "out" / "new.onnx")
    assert snapshot(tmp_path) == before
    report = rename_file(source, tmp_path / "out" / "new.onnx", overwrite=True)
    assert report.removed == (("its.data",) if name == "new.onnx" else ())
    assert sorted(os.listdir(tmp_path / "out")) == ["new.onnx", "new.onnx.data"]
    assert os.listdir(tmp_path / "in") == []
    assert oracle.tensors(tmp_path / "out" / "new.onnx") == wanted


def test_somebody_elses_data_is_not_replaced_even_by_force(tmp_path: Path) -> None:
    source = external_model(tmp_path / "old.onnx")
    external_model(tmp_path / "other.onnx", data="new.onnx.data", seed=1)
    before = snapshot(tmp_path)
    with pytest.raises(DataFileSharedError):
        rename_file(source, tmp_path / "new.onnx", overwrite=True)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("spelling", ["m.onnx", "./m.onnx", "sub/../m.onnx", "dirlink/m.onnx"])
def test_a_model_is_not_renamed_onto_itself(spelling: str, overwrite: bool, tmp_path: Path) -> None:
    source = external_model(tmp_path / "m.onnx")
    (tmp_path / "sub").mkdir()
    (tmp_path / "dirlink").symlink_to(".")
    before = snapshot(tmp_path)
    with pytest.raises(DestinationIsSourceError):
        rename_file(source, tmp_path / spelling, overwrite=overwrite)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_name_that_differs_in_case_alone_is_refused_where_case_does_not_count(
    overwrite: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = external_model(tmp_path / "m.onnx")
    (tmp_path / "M.onnx").hardlink_to(source)  # what such a file system makes of the other name
    real, hidden = os.listdir, "M.onnx"

    def listdir(path: str | Path = ".") -> list[str]:
        return [name for name in real(path) if name != hidden]

    monkeypatch.setattr(os, "listdir", listdir)
    before = snapshot(tmp_path)
    with pytest.raises(DestinationIsSourceError, match="third name"):
        rename_file(source, tmp_path / "M.onnx", overwrite=overwrite)
    assert snapshot(tmp_path) == before


def test_a_second_link_to_the_model_is_what_it_would_be_without_data(tmp_path: Path) -> None:
    """As `mv` has it: the other name is there already, and the old one goes."""
    source = tmp_path / "m.onnx"
    source.write_bytes(weights_model({"a": (3, 4)}).SerializeToString())
    (tmp_path / "other.onnx").hardlink_to(source)
    assert rename_file(source, tmp_path / "other.onnx").resumed
    assert os.listdir(tmp_path) == ["other.onnx"]


@pytest.mark.parametrize("destination", ["folder", "folder/"])
def test_a_folder_of_the_models_name_is_in_the_way(destination: str, tmp_path: Path) -> None:
    source = external_model(tmp_path / "m.onnx")
    (tmp_path / "folder" / "m.onnx").mkdir(parents=True)
    before = snapshot(tmp_path)
    with pytest.raises(DestinationExistsError):
        rename_file(source, f"{tmp_path}/{destination}", overwrite=True)
    assert snapshot(tmp_path) == before


def test_a_model_that_is_gone_says_whether_it_was_renamed(tmp_path: Path) -> None:
    source = external_model(tmp_path / "m.onnx")
    rename_file(source, tmp_path / "n.onnx")
    with pytest.raises(ModelNotFoundError, match="Was it renamed already"):
        rename_file(source, tmp_path / "n.onnx")
    with pytest.raises(ModelNotFoundError) as error:
        rename_file(source, tmp_path / "o.onnx")
    assert "renamed" not in str(error.value)


@pytest.mark.parametrize(("source", "destination"), [("", "x.onnx"), ("m.onnx", "")])
def test_an_empty_path_is_wrong_usage(source: str, destination: str) -> None:
    with pytest.raises(UsageError):
        rename_file(source, destination)
    with pytest.raises(DestinationError):
        rename_file("m.onnx", "a\0b.onnx")


def test_a_folder_of_models_is_no_model(tmp_path: Path) -> None:
    external_model(tmp_path / "in" / "m.onnx")
    with pytest.raises(ModelNotFoundError):
        rename_file(tmp_path / "in", tmp_path / "out")


def test_a_second_pair_that_is_the_same_is_recognised(tmp_path: Path) -> None:
    """What a killed rename between two file systems leaves: equal copies."""
    source = external_model(tmp_path / "in" / "m.onnx")
    shutil.copytree(tmp_path / "in", tmp_path / "out")
    report = rename_file(source, tmp_path / "out" / "m.onnx")
    assert report.resumed
    assert [one.how for one in report.data_files] == ["copied"]
    assert os.listdir(tmp_path / "in") == []


@pytest.mark.parametrize("changed", ["m.onnx", "m.onnx.data"])
def test_a_second_pair_that_differs_in_one_byte_is_not_ours(changed: str, tmp_path: Path) -> None:
    source = external_model(tmp_path / "in" / "m.onnx")
    shutil.copytree(tmp_path / "in", tmp_path / "out")
    content = bytearray((tmp_path / "out" / changed).read_bytes())
    content[-1] ^= 1
    (tmp_path / "out" / changed).write_bytes(content)
    before = snapshot(tmp_path)
    with pytest.raises(DestinationExistsError):
        rename_file(source, tmp_path / "out" / "m.onnx")
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("closed", ["in", "in/below"])
def test_a_folder_that_lets_nothing_be_removed_is_told_before_anything_is_written(
    closed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = two_files(tmp_path / "in", "old.data", "below/old.data")
    real = os.access

    def access(path: str | Path, mode: int) -> bool:
        return Path(path) != tmp_path / closed and real(path, mode)

    monkeypatch.setattr(os, "access", access)
    before = snapshot(tmp_path)
    with pytest.raises(WriteError, match="removing"):
        rename_file(source, tmp_path / "out" / "new.onnx")
    assert snapshot(tmp_path) == before


def test_the_report_is_plain_values(tmp_path: Path) -> None:
    source = external_model(tmp_path / "old.onnx")
    report = rename_file(source, tmp_path / "odd\x1b" / "new.onnx")
    values = json.loads(json.dumps(report.to_json()))
    assert values["schema_version"] == 1
    assert values["destination"].endswith("odd\\x1b/new.onnx")
    assert values["how"] == "rewritten"
    nbytes = (tmp_path / "odd\x1b" / "new.onnx.data").stat().st_size
    assert values["data_files"] == [
        {"before": "old.onnx.data", "after": "new.onnx.data", "bytes": nbytes, "how": "renamed"}
    ]


def test_what_was_recovered_at_the_destination_is_no_rename_of_a_missing_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = external_model(tmp_path / "there" / "m.onnx")

    def recovered(folder: Path, model: str | None = None) -> tuple[Leftover, ...]:
        ours = folder == place.parent
        return (Leftover(folder / ".m.onnx.align-x", "finished", "killed"),) if ours else ()

    monkeypatch.setattr("onnx_align_pass.renaming.recover_folder", recovered)
    with pytest.raises(ModelNotFoundError):
        rename_file(tmp_path / "typo.onnx", place, overwrite=True)
