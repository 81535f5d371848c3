"""Where a result may go: never over the source, never over somebody else's file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest

from onnx_align_pass import (
    DataFileSharedError,
    DestinationError,
    DestinationExistsError,
    DestinationIsSourceError,
    LayoutPolicy,
    ModelError,
    ModelNotFoundError,
    PolicyError,
    StoragePolicy,
    UsageError,
    WriteError,
    align_external_data_streaming,
    align_file,
)
from onnx_align_pass.transfer import kernel
from tests.corpus import oracle

from .small_models import external_model, weights_model
from .snapshot import snapshot

SPELLINGS = ["m.onnx", "./m.onnx", "sub/../m.onnx", "link.onnx", "hard.onnx", "dirlink/m.onnx"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "models"


@pytest.fixture
def model(folder: Path) -> Path:
    return external_model(folder / "m.onnx")


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_source_is_no_destination_under_any_spelling(
    model: Path, folder: Path, spelling: str, overwrite: bool
) -> None:
    (folder / "sub").mkdir()
    (folder / "link.onnx").symlink_to("m.onnx")
    (folder / "hard.onnx").hardlink_to(model)
    (folder / "dirlink").symlink_to(".")
    before = snapshot(folder)
    with pytest.raises(DestinationIsSourceError):
        align_file(model, folder / spelling, overwrite=overwrite)
    assert snapshot(folder) == before


@pytest.mark.parametrize("name", ["m.onnx.data", "link.data", "hard.data"])
def test_the_sources_data_is_no_destination_even_by_force(
    model: Path, folder: Path, name: str
) -> None:
    data = folder / "m.onnx.data"
    (folder / "link.data").symlink_to(data.name)
    (folder / "hard.data").hardlink_to(data)
    before = snapshot(folder)
    with pytest.raises(DestinationIsSourceError):
        align_file(model, folder / "new.onnx", layout=LayoutPolicy(data_name=name), overwrite=True)
    with pytest.raises(DestinationIsSourceError):
        align_external_data_streaming(model, folder / "new.onnx", folder / name)
    assert snapshot(folder) == before


def test_data_outside_the_models_folder_is_refused(model: Path, tmp_path: Path) -> None:
    before = snapshot(tmp_path)
    with pytest.raises(DestinationError, match="outside"):
        align_external_data_streaming(model, tmp_path / "new.onnx", tmp_path.parent / "w.data")
    for name in ("../w.data", "/w.data", "a/../../w.data", "a\\b", "C:w", "", "."):
        with pytest.raises(PolicyError):
            LayoutPolicy(data_name=name)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "sub").symlink_to(tmp_path)
    with pytest.raises(DestinationError, match="outside"):
        align_file(model, tmp_path / "out/new.onnx", layout=LayoutPolicy(data_name="sub/w.data"))
    (tmp_path / "out" / "sub").unlink()
    (tmp_path / "out").rmdir()
    assert snapshot(tmp_path) == before


def test_data_and_model_are_two_files(model: Path, tmp_path: Path) -> None:
    with pytest.raises(DestinationError):
        align_file(model, tmp_path / "new.model", layout=LayoutPolicy(data_name="new.model"))
    assert not (tmp_path / "new.model").exists()


def test_an_existing_model_is_replaced_only_by_force(model: Path, tmp_path: Path) -> None:
    old = external_model(tmp_path / "out" / "m.onnx", seed=1)
    old.chmod(0o640)
    before = snapshot(tmp_path)
    with pytest.raises(DestinationExistsError):
        align_file(model, old)
    assert snapshot(tmp_path) == before
    align_file(model, old, overwrite=True)
    assert oracle.tensors(old) == oracle.tensors(model)
    assert old.stat().st_mode & 0o777 == 0o640


def test_somebody_elses_data_file_is_replaced_only_by_force(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "new.onnx.data").write_bytes(b"precious")
    before = snapshot(tmp_path)
    with pytest.raises(DestinationExistsError):
        align_file(model, out / "new.onnx")
    assert snapshot(tmp_path) == before
    align_file(model, out / "new.onnx", overwrite=True)
    assert oracle.tensors(out / "new.onnx") == oracle.tensors(model)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_data_file_of_two_models_is_not_replaced(
    model: Path, folder: Path, overwrite: bool
) -> None:
    (folder / "twin.onnx").write_bytes(model.read_bytes())
    before = snapshot(folder)
    with pytest.raises(DataFileSharedError, match=r"twin\.onnx"):
        align_file(model, overwrite=overwrite)
    with pytest.raises(DataFileSharedError):
        align_file(model, layout=LayoutPolicy(alignment=64), overwrite=overwrite)
    assert snapshot(folder) == before


def test_a_data_file_of_two_models_is_not_removed(model: Path, folder: Path) -> None:
    (folder / "twin.onnx").write_bytes(model.read_bytes())
    twin = oracle.tensors(folder / "twin.onnx")
    report = align_file(model, layout=LayoutPolicy(data_name="own.data")).models[0]
    assert report.removed == ()
    assert oracle.tensors(folder / "twin.onnx") == twin == oracle.tensors(model)


def test_a_superseded_data_file_is_removed_after_the_commit(model: Path, folder: Path) -> None:
    before = oracle.tensors(model)
    report = align_file(model, layout=LayoutPolicy(data_name="other.data")).models[0]
    assert report.removed == ("m.onnx.data",)
    assert sorted(path.name for path in folder.iterdir()) == ["m.onnx", "other.data"]
    assert oracle.tensors(model) == before


def test_forcing_over_a_model_removes_what_only_it_used(model: Path, tmp_path: Path) -> None:
    old = external_model(tmp_path / "out" / "m.onnx", data="old.data", seed=1)
    (old.parent / "else.data").write_bytes(b"somebody else's")
    align_file(model, old, overwrite=True)
    names = sorted(path.name for path in old.parent.iterdir())
    assert names == ["else.data", "m.onnx", "m.onnx.data"]


def test_in_place_through_a_symlink_is_refused_and_names_the_target(
    model: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link.onnx"
    link.symlink_to(model)
    before = snapshot(tmp_path)
    with pytest.raises(DestinationError, match=r"models/m\.onnx"):
        align_file(link)
    assert snapshot(tmp_path) == before


def test_in_place_keeps_names_modes_and_owner(folder: Path) -> None:
    model = external_model(folder / "m.onnx", data="weights.bin")
    model.chmod(0o604)
    (folder / "weights.bin").chmod(0o640)
    if os.geteuid() == 0:
        os.chown(folder / "weights.bin", 12345, 54321)
        os.chown(model, 12345, 54321)
    before = oracle.tensors(model)
    owner = model.stat().st_uid
    align_file(model, layout=LayoutPolicy(alignment=65536))
    assert oracle.tensors(model) == before
    assert sorted(path.name for path in folder.iterdir()) == ["m.onnx", "weights.bin"]
    assert model.stat().st_mode & 0o777 == 0o604
    data = (folder / "weights.bin").stat()
    assert (data.st_mode & 0o777, data.st_uid, data.st_nlink) == (0o640, owner, 1)


def test_new_files_have_the_mode_of_the_umask(model: Path, tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        align_file(model, tmp_path / "new.onnx")
    finally:
        os.umask(old)
    for name in ("new.onnx", "new.onnx.data"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o640


def test_in_place_a_new_external_tensor_joins_the_default_file(folder: Path) -> None:
    model = external_model(folder / "m.onnx", {"a": (40, 40)}, data="w.bin")
    proto = oracle.parse(model)
    proto.graph.initializer.extend(weights_model({"new": (50, 50)}).graph.initializer)
    model.write_bytes(proto.SerializeToString())
    before = oracle.tensors(model)
    align_file(model)
    assert oracle.tensors(model) == before
    found = {t.name: oracle.entries_of(t)["location"] for _, t in oracle.walk(oracle.parse(model))}
    assert found == {"a": "w.bin", "new": "m.onnx.data"}


def test_nothing_is_external_then_there_is_no_data_file(tmp_path: Path) -> None:
    model = tmp_path / "m.onnx"
    model.write_bytes(weights_model({"a": (40, 40)}).SerializeToString())
    size = align_external_data_streaming(model, tmp_path / "n.onnx", tmp_path / "n.data")
    assert size == 0
    assert not (tmp_path / "n.data").exists()
    assert oracle.tensors(tmp_path / "n.onnx") == oracle.tensors(model)


@pytest.mark.parametrize("alignment", [0, -1, 3, 4097, -4096])
def test_a_bad_alignment_is_refused(model: Path, tmp_path: Path, alignment: int) -> None:
    with pytest.raises(PolicyError, match="power of two"):
        align_external_data_streaming(model, tmp_path / "n.onnx", tmp_path / "n.data", alignment)


@pytest.mark.parametrize("chunk_size", [0, -1])
def test_a_bad_chunk_size_is_refused(model: Path, tmp_path: Path, chunk_size: int) -> None:
    with pytest.raises(PolicyError, match="chunk_size"):
        align_external_data_streaming(
            model, tmp_path / "n.onnx", tmp_path / "n.data", 64, chunk_size
        )
    assert not (tmp_path / "n.onnx").exists()


@pytest.mark.parametrize("chunk_size", [1, 7, 4096, 1 << 40])
@pytest.mark.parametrize("alignment", [1, 64, 1 << 20])
def test_the_streaming_call_returns_the_size_of_the_data(
    model: Path, tmp_path: Path, alignment: int, chunk_size: int
) -> None:
    data = tmp_path / "deep" / "n.data"
    size = align_external_data_streaming(
        model, tmp_path / "n.onnx", data, alignment, chunk_size, durable=False
    )
    assert size == data.stat().st_size
    assert oracle.tensors(tmp_path / "n.onnx") == oracle.tensors(model)


def test_a_destination_folder_is_made_and_unmade(model: Path, tmp_path: Path) -> None:
    align_file(model, tmp_path / "x" / "y" / "n.onnx")
    assert oracle.tensors(tmp_path / "x/y/n.onnx") == oracle.tensors(model)
    with pytest.raises(DestinationError):
        align_file(model, tmp_path / "p/q/n.model", layout=LayoutPolicy(data_name="n.model"))
    assert not (tmp_path / "p").exists()


def test_a_folder_as_destination_takes_the_models_name(model: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    align_file(model, tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["m.onnx", "m.onnx.data"]


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    for source in (tmp_path / "none.onnx", tmp_path / "none\x01.onnx", tmp_path / ("n" * 300)):
        with pytest.raises(ModelNotFoundError):
            align_file(source, tmp_path / "n.onnx")
        with pytest.raises(ModelNotFoundError):
            align_file(source)


def test_a_destination_below_a_file_is_a_clear_error(model: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(WriteError):
        align_file(model, tmp_path / "file" / "n.onnx")


def test_a_hub_snapshot_of_symlinks_is_read(tmp_path: Path) -> None:
    blobs, snap = tmp_path / "blobs", tmp_path / "snapshots" / "rev"
    blobs.mkdir()
    snap.mkdir(parents=True)
    source = external_model(tmp_path / "plain" / "model.onnx", data="model.onnx_data")
    for name in ("model.onnx", "model.onnx_data"):
        (blobs / f"hash-{name}").write_bytes((source.parent / name).read_bytes())
        (snap / name).symlink_to(f"../../blobs/hash-{name}")
    align_file(snap / "model.onnx", tmp_path / "out.onnx")
    assert oracle.tensors(tmp_path / "out.onnx") == oracle.tensors(source)
    assert (tmp_path / "out.onnx").stat().st_nlink == 1


def test_tied_tensors_share_one_range(tmp_path: Path) -> None:
    model = external_model(tmp_path / "m.onnx", {"a": (40, 40), "b": (40, 40)})
    proto = oracle.parse(model)
    first, second = proto.graph.initializer
    del second.external_data[:]
    second.external_data.extend(first.external_data)
    model.write_bytes(proto.SerializeToString())
    report = align_file(model, tmp_path / "n.onnx").models[0]
    assert report.data_bytes == 40 * 40 * 4
    entries = [oracle.entries_of(t) for _, t in oracle.walk(oracle.parse(tmp_path / "n.onnx"))]
    assert entries[0] == entries[1]


def test_a_result_too_large_for_protobuf_is_refused_before_it_is_written(tmp_path: Path) -> None:
    model = external_model(tmp_path / "m.onnx", {"a": (1024,), "b": (1024,)})
    with (tmp_path / "m.onnx.data").open("r+b") as file:
        file.truncate(3 << 30)
    proto = oracle.parse(model)
    for tensor in proto.graph.initializer:
        tensor.dims[0] = 3 << 27  # 1.5 GiB each
        del tensor.external_data[1:]
    model.write_bytes(proto.SerializeToString())
    before = snapshot(tmp_path)
    with pytest.raises(Exception, match="too large for protobuf"):
        align_file(model, tmp_path / "n.onnx", storage=StoragePolicy(size_threshold_bytes=1 << 40))
    assert snapshot(tmp_path) == before


def test_the_destination_is_not_the_sources_data(model: Path, folder: Path) -> None:
    data = folder / "m.onnx.data"
    before = snapshot(folder)
    for call in (
        lambda: align_file(model, data, overwrite=True),
        lambda: align_external_data_streaming(model, data, folder / "new.bin"),
    ):
        with pytest.raises(DestinationIsSourceError):
            call()
        assert snapshot(folder) == before


def test_the_destination_is_not_another_models_data(model: Path, tmp_path: Path) -> None:
    other = external_model(tmp_path / "out" / "other.onnx", data="w.bin")
    before = snapshot(tmp_path)
    with pytest.raises(DataFileSharedError):
        align_file(model, other.parent / "w.bin", overwrite=True)
    with pytest.raises(UsageError):
        align_file(
            model,
            other.parent / "new.onnx",
            layout=LayoutPolicy(data_name="other.onnx"),
            overwrite=True,
        )
    assert snapshot(tmp_path) == before


def parent_and_child(folder: Path) -> tuple[Path, Path]:
    """Two models in two folders that share a data file in the lower one."""
    child = external_model(folder / "sub" / "child.onnx", data="w.bin")
    parent = folder / "parent.onnx"
    proto = oracle.parse(child)
    for _, tensor in oracle.walk(proto):
        for entry in tensor.external_data:
            entry.value = "sub/w.bin" if entry.key == "location" else entry.value
    parent.write_bytes(proto.SerializeToString())
    return parent, child


@pytest.mark.parametrize("which", [0, 1])
def test_models_of_other_folders_share_data_too(folder: Path, which: int) -> None:
    pair = parent_and_child(folder)
    before, tensors = snapshot(folder), oracle.tensors(pair[1 - which])
    with pytest.raises(DataFileSharedError):
        align_file(pair[which])
    assert snapshot(folder) == before
    align_file(pair[which], layout=LayoutPolicy(data_name="own.data"))
    assert oracle.tensors(pair[1 - which]) == tensors == oracle.tensors(pair[which])


def test_another_name_of_the_model_is_another_model(model: Path, folder: Path) -> None:
    (folder / "hard.onnx").hardlink_to(model)
    before = snapshot(folder)
    with pytest.raises(DataFileSharedError):
        align_file(model)
    assert snapshot(folder) == before


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users may enter: pytest's own is closed to them."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.needs_root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, and gives it up in a child")
def test_a_neighbour_that_may_not_be_read_stops_the_run(open_folder: Path) -> None:
    model = external_model(open_folder / "m.onnx")
    for path in (open_folder, *open_folder.iterdir()):
        os.chown(path, 12345, 12345)
    (open_folder / "secret.onnx").write_bytes(model.read_bytes())
    (open_folder / "secret.onnx").chmod(0o600)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setuid(12345)
            align_file(model)
        except DataFileSharedError as error:
            code = 0 if "may not be read" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("name", ["c.pb", "m.onnx.bak", "old.ONNX"])
def test_a_model_of_whatever_name_keeps_its_data(model: Path, folder: Path, name: str) -> None:
    (folder / name).write_bytes(model.read_bytes())
    before = snapshot(folder)
    with pytest.raises(DataFileSharedError, match=name):
        align_file(model)
    assert snapshot(folder) == before
    report = align_file(model, layout=LayoutPolicy(data_name="z")).models[0]
    assert report.removed == ()
    assert any(f"is left: {name} uses it" in note for note in report.notes)
    assert oracle.tensors(folder / name) == oracle.tensors(model)


def test_a_folder_called_as_models_are_is_none(model: Path, folder: Path) -> None:
    (folder / "zoo.onnx").mkdir()
    report = align_file(model).models[0]
    assert report.notes == ()


@pytest.mark.needs_root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, and gives it up in a child")
def test_nobody_forces_a_run_over_a_file_that_an_unreadable_neighbour_may_use(
    open_folder: Path,
) -> None:
    model = external_model(open_folder / "m.onnx")
    secret = external_model(open_folder / "secret.onnx", data="secret.data", seed=1)
    for path in (open_folder, *open_folder.iterdir()):
        os.chown(path, 12345, 12345)
    os.chown(secret, 0, 0)
    secret.chmod(0o600)
    before = snapshot(open_folder)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setuid(12345)
            align_file(model, layout=LayoutPolicy(data_name="secret.data"), overwrite=True)
        except DataFileSharedError as error:
            code = 0 if "may not be read" in str(error) and "force" not in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert snapshot(open_folder) == before


@pytest.mark.parametrize("name", ["W.onnx", "{model}{model}", "sub/w.ONNX", "w.onnx{_n}"])
def test_a_data_file_is_not_called_as_models_are(model: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"ends in \.onnx"):
        align_file(model, tmp_path / "out" / "n.onnx", layout=LayoutPolicy(data_name=name))
    assert not (tmp_path / "out").exists()


def test_a_data_file_is_not_called_as_staging_folders_are(model: Path, folder: Path) -> None:
    before = snapshot(folder)
    layout = LayoutPolicy(data_name=".m.onnx.align-01234567/data")
    with pytest.raises(DestinationError, match="stage"):
        align_file(model, layout=layout)
    assert snapshot(folder) == before


def test_a_file_that_only_an_empty_tensor_named_is_superseded_too(tmp_path: Path) -> None:
    model = external_model(tmp_path / "m.onnx", {"a": (40, 40), "none": (0, 3)})
    proto = onnx.load(model, load_external_data=False)
    empty = proto.graph.initializer[1]
    del empty.external_data[:]
    empty.data_location = onnx.TensorProto.EXTERNAL
    empty.external_data.add(key="location", value="e.bin")
    model.write_bytes(proto.SerializeToString())
    (tmp_path / "e.bin").write_bytes(b"")
    report = align_file(model, layout=LayoutPolicy(data_name="z")).models[0]
    assert set(report.removed) == {"m.onnx.data", "e.bin"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.onnx", "z"]


def test_what_is_left_of_the_old_data_is_said(tmp_path: Path) -> None:
    model = external_model(tmp_path / "m.onnx", data="link.data")
    (tmp_path / "link.data").rename(tmp_path / "real.data")
    (tmp_path / "link.data").symlink_to("real.data")
    report = align_file(model, layout=LayoutPolicy(data_name="z")).models[0]
    assert report.removed == ()
    assert any("link.data is left: it is a link" in note for note in report.notes)


def test_a_git_lfs_pointer_beside_it_is_noted_and_stops_nothing(model: Path, folder: Path) -> None:
    (folder / "pointer.onnx").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    report = align_file(model, layout=LayoutPolicy(alignment=64)).models[0]
    assert any("pointer.onnx" in note for note in report.notes)


def test_an_empty_path_is_not_the_working_directory(
    model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    before = snapshot(folder)
    for source, target in (("", None), ("m.onnx", ""), ("", "x.onnx")):
        with pytest.raises(UsageError):
            align_file(source, target)
    assert snapshot(folder) == before


def test_a_name_with_a_slash_is_a_folder(model: Path, tmp_path: Path) -> None:
    align_file(model, f"{tmp_path}/new/")
    assert (tmp_path / "new" / "m.onnx").is_file()


def test_what_leaves_a_private_model_in_place_stays_private(tmp_path: Path) -> None:
    model = tmp_path / "m.onnx"
    model.write_bytes(weights_model({"a": (40, 40)}).SerializeToString())
    model.chmod(0o600)
    align_file(model)
    assert (tmp_path / "m.onnx.data").stat().st_mode & 0o777 == 0o600


def test_a_data_file_called_model_is_no_riddle(model: Path, tmp_path: Path) -> None:
    report = align_file(model, tmp_path / "n.onnx", layout=LayoutPolicy(data_name="model"))
    assert report.models[0].model_bytes == (tmp_path / "n.onnx").stat().st_size


def test_a_shape_of_very_many_dimensions_is_judged_at_once(tmp_path: Path) -> None:
    proto = weights_model({"a": (40, 40)})
    proto.graph.initializer[0].dims.extend([2**62] * 200_000)
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(ModelError, match="more bytes than a file"):
        align_file(tmp_path / "m.onnx", tmp_path / "n.onnx")


def test_an_absent_offset_is_reported(model: Path, tmp_path: Path) -> None:
    proto = oracle.parse(model)
    del proto.graph.initializer[0].external_data[1]
    model.write_bytes(proto.SerializeToString())
    report = align_file(model, tmp_path / "n.onnx").models[0]
    assert any("no offset" in note for note in report.notes)


def test_a_tensor_that_its_attributes_type_denies_is_moved_too(tmp_path: Path) -> None:
    model = external_model(tmp_path / "m.onnx")
    proto = oracle.parse(model)
    attribute = proto.graph.node[0].attribute.add(name="odd", type=onnx.AttributeProto.INT)
    attribute.t.CopyFrom(proto.graph.initializer[0])
    model.write_bytes(proto.SerializeToString())
    align_file(model, tmp_path / "out" / "n.onnx")
    assert oracle.tensors(tmp_path / "out" / "n.onnx") == oracle.tensors(model)


@pytest.mark.parametrize("durable", [True, False])
def test_the_names_of_new_folders_are_brought_to_the_disk(
    model: Path, tmp_path: Path, durable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(kernel, "sync_folder", synced.append)
    align_file(model, tmp_path / "x" / "y" / "n.onnx", durable=durable)
    expected = {tmp_path, tmp_path / "x", tmp_path / "x" / "y"} if durable else set()
    assert expected <= set(synced)
    assert bool(synced) == durable
