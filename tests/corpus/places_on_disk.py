"""Cases: data files that are links, or the model itself. None can be rewritten in place."""

from __future__ import annotations

import os
from pathlib import Path

from . import wire
from .build import DATA, MODEL, external, model_of, numbers, point, showing, tensor, write
from .case import CaseBook

__all__ = ["CASES"]

CASES = CaseBook()


def plain(folder: Path) -> Path:
    """A model of two external tensors and an inline one."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = [external(tensor(name, [300]), folder) for name in ("a", "b")]
    return write(folder, showing([*tensors, tensor("inline", [300])]))


@CASES.add(checker=False, onnx_load=False, in_place=False)
def hugging_face_snapshot(folder: Path) -> Path:
    """The cache of huggingface_hub: model and data are links into `blobs/`, named by digest."""
    repository = folder / "models--someone--model"
    blobs, snapshot = repository / "blobs", repository / "snapshots" / "0123abcd"
    plain(blobs)
    snapshot.mkdir(parents=True)
    for name, digest in ((MODEL, "5a" * 20), (DATA, "b7" * 32)):
        (blobs / name).rename(blobs / digest)
        (snapshot / name).symlink_to(f"../../blobs/{digest}")
    return snapshot / MODEL


@CASES.add(in_place=False)
def model_is_a_link(folder: Path) -> Path:
    """The model is a link into another folder, where its data file is not."""
    model = plain(folder / "real")
    (folder / "real" / DATA).rename(folder / DATA)
    (folder / MODEL).symlink_to(model)
    return folder / MODEL


@CASES.add(checker=False, onnx_load=False, in_place=False)
def data_is_a_link_inside(folder: Path) -> Path:
    """The data file is a link to another file of the model's folder."""
    model = plain(folder)
    (folder / DATA).rename(folder / "real.data")
    (folder / DATA).symlink_to("real.data")
    return model


@CASES.add(checker=False, onnx_load=False, in_place=False)
def data_has_two_links(folder: Path) -> Path:
    """The data file has two names, one of them elsewhere, and the model's owner."""
    model = plain(folder / "model")
    os.link(folder / "model" / DATA, folder / "other name")
    return model


@CASES.add(in_place=False)
def data_inside_the_model(folder: Path) -> Path:
    """The location is the `.onnx` itself: the bytes lie in an unknown field of it."""
    raw = numbers("inside", [300]).tobytes()
    head = wire.block(19_902, raw)
    entries = (("location", MODEL), ("offset", str(len(head) - len(raw))), ("length", "1200"))
    weight = point(tensor("inside", [300]), entries)
    content = head + model_of(showing([weight])).SerializeToString()
    return write(folder, content)


@CASES.add()
def two_models_of_one_data_file(folder: Path) -> Path:
    """A second model in the folder points at the same data file."""
    model = plain(folder)
    write(folder, model.read_bytes(), "neighbour.onnx")
    return model


@CASES.add()
def read_only_files(folder: Path) -> Path:
    """Model and data file have mode 0444."""
    model = plain(folder)
    for path in (model, folder / DATA):
        path.chmod(0o444)
    return model
