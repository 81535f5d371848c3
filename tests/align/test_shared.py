"""Several models into one folder: what they share is stored once, and each is what it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import GraphProto, TensorProto, numpy_helper

from onnx_align_pass import (
    AlignReport,
    LayoutPolicy,
    StoragePolicy,
    align_file,
)
from onnx_align_pass.rules import Rule
from onnx_align_pass.shared import align_shared
from tests.corpus import oracle
from tests.corpus.build import DATA, external, numbers, showing, tensor, write
from tests.corpus.real import REAL
from tests.corpus.running import run, same_outputs

from .snapshot import snapshot
from .test_dedupe import ranges

NAME = "weights.data"
EMBEDDING = ("embedding", (96, 32))


def named(name: str, content: str, shape: tuple[int, ...]) -> TensorProto:
    return numpy_helper.from_array(numbers(content, shape), name)


def encoder(folder: Path) -> Path:
    """Its weights external; its last bytes are the embedding."""
    folder.mkdir(parents=True)
    tensors = [tensor("enc.w", [70, 33]), tensor("enc.small", [3]), named("enc.emb", *EMBEDDING)]
    return write(folder, showing([external(one, folder) for one in tensors]), "encoder.onnx")


def decoder(folder: Path) -> Path:
    """Its weights inline; the embedding is tied to the head, transposed in its shape alone."""
    folder.mkdir(parents=True)
    content, (rows, columns) = EMBEDDING
    head = numpy_helper.from_array(numbers(content, (rows, columns)).reshape(columns, rows), "head")
    tensors = [named("dec.emb", *EMBEDDING), tensor("dec.w", [50, 50]), head]
    return write(folder, showing(tensors), "decoder.onnx")


def joiner(folder: Path) -> Path:
    """Two ranges that are one, and the decoder's weight in a data file of its own."""
    folder.mkdir(parents=True)
    one = external(tensor("join", [40, 40]), folder, "x.bin")
    tied = TensorProto()
    tied.CopyFrom(one)
    tied.name = "tied"
    again = external(named("again", "dec.w", (50, 50)), folder, "y.bin")
    return write(folder, showing([one, tied, again]), "joiner.onnx")


@pytest.fixture
def models(tmp_path: Path) -> list[Path]:
    source = tmp_path / "source"
    return [encoder(source / "e"), decoder(source / "d"), joiner(source / "j")]


def share(models: list[Path], folder: Path, **more: object) -> AlignReport:
    return align_shared(models, folder, shared_data=NAME, **more)  # type: ignore[arg-type]


def same(models: list[Path], folder: Path) -> None:
    """Each model holds what its source does, and runs as it does."""
    for source in models:
        result = folder / source.name
        assert oracle.tensors(result) == oracle.tensors(source)
        assert oracle.rest(result) == oracle.rest(source)
        assert same_outputs(run(source), run(result))


def states(report: AlignReport) -> list[bool]:
    return [one.unchanged for one in report.models]


def test_what_models_share_is_stored_once_in_one_file(models: list[Path], tmp_path: Path) -> None:
    before, out = snapshot(tmp_path / "source"), tmp_path / "out"
    report = share(models, out, verify=True)
    same(models, out)
    assert snapshot(tmp_path / "source") == before
    assert sorted(path.name for path in out.iterdir()) == [
        "decoder.onnx",
        "encoder.onnx",
        "joiner.onnx",
        NAME,
    ]
    distinct = 4 * (70 * 33 + 96 * 32 + 50 * 50 + 40 * 40)
    assert report.tensor_bytes == distinct
    assert report.data_bytes == (out / NAME).stat().st_size
    enc, dec, join = (ranges(out / one.name) for one in models)
    assert enc["enc.emb"] == dec["dec.emb"] == dec["head"]
    assert dec["dec.w"] == join["again"]
    assert join["join"] == join["tied"]
    assert len({*enc.values(), *dec.values(), *join.values()}) == 4
    assert all(int(offset) % 4096 == 0 for _, offset, _ in (*enc.values(), *dec.values()))
    assert [one.external_tensors + one.referenced_tensors for one in report.models] == [2, 3, 3]
    assert all(one.verified and not one.unchanged for one in report.models)
    (saved,) = [note for one in report.models for note in one.notes if note.startswith("dedupe")]
    assert (
        saved == f"dedupe: 3 tensors share the bytes of others, {4 * (2 * 96 * 32 + 2500):,} "
        "bytes saved"
    )


def test_a_second_run_writes_nothing(models: list[Path], tmp_path: Path) -> None:
    share(models, tmp_path / "out")
    before = snapshot(tmp_path)
    inodes = {path: path.stat().st_ino for path in (tmp_path / "out").iterdir()}
    for overwrite in (False, True):
        report = share(models, tmp_path / "out", overwrite=overwrite)
        assert states(report) == [True] * 3
        assert report.data_bytes == (tmp_path / "out" / NAME).stat().st_size
    assert snapshot(tmp_path) == before
    assert {path: path.stat().st_ino for path in (tmp_path / "out").iterdir()} == inodes


def test_the_file_is_what_one_model_of_all_tensors_would_have(
    models: list[Path], tmp_path: Path
) -> None:
    layout = LayoutPolicy(alignment=64, pad="tensor", max_shard_size_bytes=16_000)
    graph = GraphProto(name="all")
    for number, model in enumerate(models):
        for one in oracle.inlined(model).graph.initializer:
            one.name = f"{number}.{one.name}"
            graph.initializer.append(one)
    whole = write(tmp_path, graph, "whole.onnx")
    align_file(
        whole,
        tmp_path / "one" / "whole.onnx",
        layout=LayoutPolicy(
            alignment=64, pad="tensor", max_shard_size_bytes=16_000, dedupe=True, data_name=NAME
        ),
    )
    share(models, tmp_path / "out", layout=layout)
    files = {path.name: path.read_bytes() for path in (tmp_path / "one").glob("*.data")}
    assert len(files) > 1
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").glob("*.data")} == files
    same(models, tmp_path / "out")
    assert states(share(models, tmp_path / "out", layout=layout)) == [True] * 3


def test_one_model_may_have_nothing_to_share(models: list[Path], tmp_path: Path) -> None:
    small = write(tmp_path / "source", showing([tensor("small", [3])]), "a_small.onnx")
    report = share([small, *models[:2]], tmp_path / "out")
    same([small, *models[:2]], tmp_path / "out")
    assert report.models[0].data_files == ()
    assert report.models[1].data_files[0].name == NAME
    assert states(share([small, *models[:2]], tmp_path / "out")) == [True] * 3


def test_without_external_tensors_there_is_no_data_file(models: list[Path], tmp_path: Path) -> None:
    inline = StoragePolicy(size_threshold_bytes=1 << 40)
    report = share(models, tmp_path / "out", storage=inline)
    same(models, tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(
        model.name for model in models
    )
    assert report.data_bytes == 0
    assert states(share(models, tmp_path / "out", storage=inline)) == [True] * 3


def test_two_models_of_one_data_file_are_not_read_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = encoder(tmp_path / "source")
    other = source.with_name("other.onnx")
    other.write_bytes(source.read_bytes())

    def never(*_: object) -> int:
        raise AssertionError("read to be compared")

    monkeypatch.setattr("onnx_align_pass.transfer.parts.read_full", never)
    share([source, other], tmp_path / "out", durable=False)
    assert ranges(tmp_path / "out" / "encoder.onnx") == ranges(tmp_path / "out" / "other.onnx")


def test_data_files_of_one_name_in_two_folders_are_told_apart(tmp_path: Path) -> None:
    sources = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        graph = showing([external(tensor(name, [2000]), tmp_path / name, DATA, gap=0)])
        sources.append(write(tmp_path / name, graph, f"{name}.onnx"))
    share(sources, tmp_path / "out")
    same(sources, tmp_path / "out")


def test_snapshots_of_the_hub_with_relative_paths_and_a_linked_folder(
    models: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs, snap = tmp_path / "hub" / "blobs", tmp_path / "hub" / "snapshots" / "rev"
    blobs.mkdir(parents=True)
    snap.mkdir(parents=True)
    for path in (models[0], models[0].parent / DATA, models[1]):
        (blobs / f"h-{path.name}").write_bytes(path.read_bytes())
        (snap / path.name).symlink_to(f"../../blobs/h-{path.name}")
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "real")
    monkeypatch.chdir(tmp_path)
    relative = [Path("hub/snapshots/rev") / model.name for model in models[:2]]
    share(relative, Path("out"))
    same(models[:2], tmp_path / "out")
    assert states(share(relative, Path("out"))) == [True] * 2
    share(
        [*relative[:1], models[1]], Path("out"), overwrite=True, layout=LayoutPolicy(alignment=64)
    )
    same(models[:2], tmp_path / "real")


def test_a_group_of_one_is_a_model_with_its_duplicates_once(
    models: list[Path], tmp_path: Path
) -> None:
    report = share(models[1:2], tmp_path / "out")
    same(models[1:2], tmp_path / "out")
    assert report.tensor_bytes == 4 * (96 * 32 + 2500)


def test_files_that_rules_ask_for_are_beside_the_shared_one(
    models: list[Path], tmp_path: Path
) -> None:
    rules = (Rule(r"(enc|dec)\.w", group="{stem}.bin"), Rule("nobody's", alignment=64))
    storage = StoragePolicy(rules=rules)
    report = share(models, tmp_path / "out", storage=storage)
    same(models, tmp_path / "out")
    notes = [note for one in report.models for note in one.notes]
    assert len([note for note in notes if "nobody's" in note]) == 1
    assert not [note for note in notes if "dec" in note]
    assert ranges(tmp_path / "out" / "encoder.onnx")["enc.w"][0] == "encoder.bin"
    assert ranges(tmp_path / "out" / "decoder.onnx")["dec.w"][0] == "decoder.bin"
    assert ranges(tmp_path / "out" / "joiner.onnx")["again"][0] == NAME
    assert states(share(models, tmp_path / "out", storage=storage)) == [True] * 3
    for lost in models:
        (tmp_path / "out" / lost.name).unlink()
        share(models, tmp_path / "out", storage=storage)
        same(models, tmp_path / "out")


def test_the_name_may_lead_into_a_folder(models: list[Path], tmp_path: Path) -> None:
    align_shared(models, tmp_path / "out", shared_data="deep/er/w.bin")
    same(models, tmp_path / "out")
    assert (tmp_path / "out" / "deep" / "er" / "w.bin").is_file()


def test_real_models_share_a_file(tmp_path: Path) -> None:
    real = {one.path().name: one for one in REAL.values() if one.path().suffix == ".onnx"}
    align_shared([one.path() for one in real.values()], tmp_path / "out", shared_data=NAME)
    for name, one in real.items():
        assert oracle.tensors(tmp_path / "out" / name) == oracle.tensors(one.path())
        feeds = one.feeds()
        assert same_outputs(run(one.path(), feeds), run(tmp_path / "out" / name, feeds))


def test_it_is_replaced_piece_by_piece_where_only_one_model_points_at_the_old_data(
    models: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    align_file(models[1], out / "decoder.onnx", layout=LayoutPolicy(data_name=NAME))
    (out / NAME).chmod(0o600)
    report = share(models, out, overwrite=True)
    same(models, out)
    assert (out / NAME).stat().st_mode & 0o777 == 0o600
    assert not any(path.name.startswith("next") for path in out.iterdir())
    assert [bool(one.data_files) for one in report.models] == [False, True, False]


def changed(models: list[Path]) -> list[Path]:
    """The same models with other numbers in the shared embedding: equal `.onnx`, other data."""
    data = models[0].parent / DATA
    numbers_there = np.frombuffer(data.read_bytes()[-4 * 96 * 32 :], np.float32)
    data.write_bytes(data.read_bytes()[: -4 * 96 * 32] + (numbers_there + 1).tobytes())
    proto = oracle.parse(models[1])
    for one in proto.graph.initializer:
        if one.name != "dec.w":
            one.raw_data = (np.frombuffer(one.raw_data, np.float32) + 1).tobytes()
    models[1].write_bytes(proto.SerializeToString())
    return models


def test_a_group_is_replaced_by_its_next_version(models: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    share(models, out)
    old = {path.name: path.read_bytes() for path in out.iterdir()}
    (out / NAME).chmod(0o600)
    report = share(changed(models), out, overwrite=True)
    same(models, out)
    new = {path.name: path.read_bytes() for path in out.iterdir()}
    assert {name for name in new if new[name] != old[name]} == {NAME}
    assert set(new) == set(old)
    assert (out / NAME).stat().st_mode & 0o777 == 0o600
    assert states(report) == [False] * 3
    assert not [name for one in report.models for name in one.removed]
    assert any("written twice" in note for note in report.models[0].notes)
    assert states(share(models, out)) == [True] * 3


def test_a_group_is_replaced_in_which_one_has_nothing_to_share(
    models: list[Path], tmp_path: Path
) -> None:
    small = write(tmp_path / "source", showing([tensor("small", [3])]), "small.onnx")
    share([*models, small], tmp_path / "out")
    write(tmp_path / "source", showing([tensor("smaller", [2])]), "small.onnx")
    share(changed([*models, small]), tmp_path / "out", overwrite=True)
    same([*models, small], tmp_path / "out")


def test_old_data_of_other_names_goes_with_the_last_that_uses_it(
    models: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    align_shared(models, out, shared_data="old.data")
    report = share(models, out, overwrite=True)
    same(models, out)
    assert not (out / "old.data").exists()
    assert [name for one in report.models for name in one.removed] == ["old.data"]


def test_a_member_that_was_lost_is_written_again(models: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    share(models, out)
    inode = (out / NAME).stat().st_ino
    for lost in models:
        (out / lost.name).unlink()
        report = share(models, out)
        assert [one.destination.name for one in report.models if not one.unchanged] == [lost.name]
        same(models, out)
    assert (out / NAME).stat().st_ino == inode


def test_a_member_that_differs_is_replaced_when_asked_for(
    models: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    share(models, out)
    align_file(models[2], out / "joiner.onnx", overwrite=True)
    inode = (out / NAME).stat().st_ino
    report = share(models, out, overwrite=True)
    assert states(report) == [True, True, False]
    assert report.models[2].removed == ("joiner.onnx.data",)
    same(models, out)
    assert (out / NAME).stat().st_ino == inode
