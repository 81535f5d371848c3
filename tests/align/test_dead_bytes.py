"""Bytes that no tensor uses are gone after a repack, wherever they lay."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import onnx
import pytest

from onnx_align_pass import (
    DataFileSharedError,
    LayoutPolicy,
    align_file,
    inline_file,
    load,
    save,
)
from tests.align.snapshot import snapshot
from tests.corpus import oracle
from tests.corpus.build import DATA, numbers, point, showing, tensor, write

PAGE = 4096
DEAD = b"\xee"
LAYOUTS = {
    "gaps": [5, 7, 11, 0],
    "a tail": [0, 0, 0, 3 * PAGE],
    "a short tail": [0, 0, 0, 1],
    "a hole of whole pages": [0, 2 * PAGE, 0, 0],
    "a head": [PAGE, 0, 0, 0],
}
"""Dead bytes before each of three tensors of a page, and behind the last."""


def model_with(folder: Path, dead: Sequence[int], names: Sequence[str] = "abc") -> Path:
    """Three tensors of a page each in a data file, with dead bytes around them."""
    folder.mkdir()
    content, tensors = b"", []
    for name, before in zip(names, dead, strict=False):
        one = tensor(name, [PAGE // 4])
        content += DEAD * before
        entries = {"location": DATA, "offset": str(len(content)), "length": str(PAGE)}
        content += one.raw_data
        tensors.append(point(one, entries.items()))
    (folder / DATA).write_bytes(content + DEAD * dead[-1])
    return write(folder, showing(tensors))


def packed(names: Sequence[str] = "abc") -> bytes:
    """The data file without a dead byte."""
    return b"".join(numbers(name, [PAGE // 4]).tobytes() for name in names)


@pytest.mark.parametrize("dead", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("dedupe", [False, True])
def test_they_are_gone_in_place_and_at_a_new_place(
    dead: list[int], dedupe: bool, tmp_path: Path
) -> None:
    model = model_with(tmp_path / "model", dead)
    before, layout = oracle.tensors(model), LayoutPolicy(dedupe=dedupe)
    align_file(model, tmp_path / "new" / "model.onnx", layout=layout)
    assert not align_file(model, layout=layout).models[0].unchanged
    for folder in ("model", "new"):
        assert (tmp_path / folder / DATA).read_bytes() == packed()
        assert oracle.tensors(tmp_path / folder / "model.onnx") == before
    assert align_file(model, layout=layout).models[0].unchanged


@pytest.mark.parametrize("dead", LAYOUTS.values(), ids=LAYOUTS)
def test_they_are_gone_when_the_model_is_saved_over_itself(dead: list[int], tmp_path: Path) -> None:
    model = model_with(tmp_path / "model", dead)
    before = oracle.tensors(model)
    assert not save(load(model), model).models[0].unchanged
    assert (model.parent / DATA).read_bytes() == packed()
    assert oracle.tensors(model) == before


def test_the_bytes_of_a_tensor_that_was_removed_are_gone(tmp_path: Path) -> None:
    model = model_with(tmp_path / "model", [0, 0, 0, 0])
    proto = oracle.parse(model)
    del proto.graph.initializer[1], proto.graph.node[1], proto.graph.output[1]
    model.write_bytes(proto.SerializeToString())
    assert not align_file(model).models[0].unchanged
    assert (model.parent / DATA).read_bytes() == packed("ac")


def test_a_data_file_of_which_nothing_is_used_is_removed(tmp_path: Path) -> None:
    model = model_with(tmp_path / "model", [0, 0, 0, 0])
    report = align_file(model, layout=LayoutPolicy(data_name="other.data"))
    assert report.models[0].removed == (DATA,)
    assert sorted(path.name for path in model.parent.iterdir()) == ["model.onnx", "other.data"]


def test_the_range_that_a_tensor_left_to_share_anothers_is_gone(tmp_path: Path) -> None:
    model = model_with(tmp_path / "model", [0, 0, 0, 0], "abb")
    proto = oracle.parse(model)
    proto.graph.initializer[2].external_data[1].value = str(PAGE)
    proto.graph.initializer[2].name = "again"
    proto.graph.node[2].input[0] = "again"
    model.write_bytes(proto.SerializeToString())
    align_file(model)
    assert (model.parent / DATA).read_bytes() == packed("ab")


@pytest.mark.parametrize("how", ["align", "folder", "inline", "other name"])
def test_a_file_that_is_mostly_something_else_is_not_replaced_in_place(
    how: str, tmp_path: Path
) -> None:
    model = model_with(tmp_path / "model", [0, 0, 0, 10 * PAGE])
    before = snapshot(tmp_path)
    with pytest.raises(DataFileSharedError, match="most of the data file is no tensor"):
        in_place(model, how)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("how", ["align", "folder", "inline", "other name"])
def test_unless_it_is_forced(how: str, tmp_path: Path) -> None:
    model = model_with(tmp_path / "model", [0, 0, 0, 10 * PAGE])
    wanted = oracle.tensors(model)
    in_place(model, how, overwrite=True)
    assert oracle.tensors(model) == wanted


def test_padding_is_nobodys(tmp_path: Path) -> None:
    model = model_with(tmp_path / "model", [0, 0, 0, 0])
    with (tmp_path / "model" / DATA).open("ab") as data:
        data.write(bytes(100 * PAGE))
    align_file(model)
    assert (tmp_path / "model" / DATA).read_bytes() == packed()


def test_a_file_that_an_empty_tensor_names_is_nobodys_either(tmp_path: Path) -> None:
    model = model_with(tmp_path / "model", [0, 0, 0, 0])
    proto = onnx.load(model, load_external_data=False)
    empty = onnx.TensorProto(name="empty", data_type=1, dims=[0])
    proto.graph.initializer.append(point(empty, [("location", "thesis.docx")]))
    model.write_bytes(proto.SerializeToString())
    thesis = model.with_name("thesis.docx")
    thesis.write_bytes(b"mine" * 1000)
    with pytest.raises(DataFileSharedError, match="most of the data file is no tensor"):
        align_file(model, layout=LayoutPolicy(data_name="w.data"))
    assert thesis.read_bytes() == b"mine" * 1000


def in_place(model: Path, how: str, *, overwrite: bool = False) -> None:
    if how == "inline":
        inline_file(model, overwrite=overwrite)
        return
    layout = LayoutPolicy(data_name="w.data" if how == "other name" else None)
    path = model.parent if how == "folder" else model
    align_file(path, layout=layout, overwrite=overwrite)
