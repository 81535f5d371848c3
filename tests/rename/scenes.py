"""Folders in which a model is renamed, and the rename itself."""

from __future__ import annotations

from pathlib import Path

from tests.commit.scenes import Scene, bystanders, weights, write
from tests.corpus.build import showing

__all__ = ["RENAMES"]

NAMES = ("old.onnx.data", "below/old-2.bin", "kept.data")


def one_folder(root: Path, *names: str) -> None:
    bystanders(root / "folder")
    write(root / "folder", showing(weights(root / "folder", *names)), "old.onnx")


def one_file(root: Path) -> None:
    one_folder(root, "old.onnx.data")


def three_files(root: Path) -> None:
    one_folder(root, *NAMES)


def no_data(root: Path) -> None:
    one_folder(root)


def two_folders(root: Path) -> None:
    bystanders(root / "folder")
    write(root / "source", showing(weights(root / "source", *NAMES)), "old.onnx")


def over_another(root: Path) -> None:
    one_folder(root, *NAMES)
    folder = root / "folder"
    graph = showing(weights(folder, "new.onnx.data", "second.data", seed="replaced"))
    write(folder, graph, "new.onnx")


OLD = "folder/old.onnx"
NEW = "folder/new.onnx"
RENAMES = {
    scene.name: scene
    for scene in (
        Scene("one_file", one_file, OLD, NEW, call="rename"),
        Scene("three_files", three_files, OLD, NEW, call="rename"),
        Scene("no_data", no_data, OLD, NEW, call="rename"),
        Scene("moved", two_folders, "source/old.onnx", OLD, call="rename"),
        Scene("moved_and_renamed", two_folders, "source/old.onnx", NEW, call="rename"),
        Scene("over_another", over_another, OLD, NEW, {"overwrite": True}, call="rename"),
    )
}
