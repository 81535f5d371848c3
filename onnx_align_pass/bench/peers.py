"""The ways of doing the work: `(source, fresh folder, durable)`; a source is a `.onnx` or a model.

Each writes `model.onnx` and `model.onnx.data` into the folder. The peers do not sync by themselves;
`durable` adds what makes their result survive a power cut, an fsync of both files.
Imports are inside the functions: a process pays only for the peer that it runs.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from onnx_align_pass.bench.files import MODEL_NAME, data_file_of
from onnx_align_pass.bench.sources import Source

if TYPE_CHECKING:
    import onnx_ir as ir

__all__ = ["OURS", "PEERS", "Peer"]

OURS = "onnx-align-pass"
ALIGNMENT = 4096
EXTERNAL = frozenset({"gallery", "large", "small"})
FILES = EXTERNAL | {"inline"}
MODELS = frozenset({"model in memory", "model external"})


@dataclass(frozen=True, slots=True)
class Peer:
    """One way of doing the work."""

    name: str
    repack: Callable[[Path, Path, bool], None]
    """From file to file."""
    absence: Callable[[], str | None]
    """Why this peer cannot run on this machine; None when it can."""
    workloads: frozenset[str] = FILES
    save: Callable[[ir.Model, Path, bool], None] | None = None
    """From a model to files; None where `workloads` has none that is a model."""

    def run(self, source: Source, folder: Path, durable: bool) -> None:
        """Do the work, whichever the source needs."""
        if isinstance(source, Path):
            self.repack(source, folder, durable)
        else:
            assert self.save is not None, f"{self.name} saves no models"
            self.save(source, folder, durable)


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _finish(model: Path, durable: bool) -> None:
    if durable:
        _fsync(data_file_of(model))
        _fsync(model)


def repack_with_ours(source: Path, folder: Path, durable: bool) -> None:
    """This project: external weights stay external, inline ones move out of the `.onnx`."""
    from onnx_align_pass import LayoutPolicy, StoragePolicy, align_file

    external = data_file_of(source).exists()
    storage = StoragePolicy(size_threshold_bytes=None) if external else StoragePolicy()
    layout = LayoutPolicy(alignment=ALIGNMENT)
    align_file(source, folder / MODEL_NAME, storage=storage, layout=layout, durable=durable)


def save_with_ours(model: ir.Model, folder: Path, durable: bool) -> None:
    """This project, told what onnx-ir is told."""
    from onnx_align_pass import save

    destination = folder / MODEL_NAME
    save(
        model,
        destination,
        external_data=data_file_of(destination).name,
        size_threshold_bytes=0,
        alignment=ALIGNMENT,
        align_threshold=0,
        durable=durable,
    )


def repack_with_onnx_ir(source: Path, folder: Path, durable: bool) -> None:
    """onnx-ir: lazy weights, copied by the kernel tensor by tensor when they are external."""
    import onnx_ir

    save_with_onnx_ir(onnx_ir.load(source), folder, durable)


def repack_in_memory_aligned(source: Path, folder: Path, durable: bool) -> None:
    """onnx-ir, with all weights loaded before they are written aligned."""
    import onnx_ir

    model = onnx_ir.external_data.load_to_model(onnx_ir.load(source))
    save_with_onnx_ir(model, folder, durable)


def save_with_onnx_ir(model: ir.Model, folder: Path, durable: bool) -> None:
    """onnx-ir; it leaves the model as it was."""
    import onnx_ir

    destination = folder / MODEL_NAME
    onnx_ir.save(
        model,
        destination,
        external_data=data_file_of(destination).name,
        size_threshold_bytes=0,
        alignment=ALIGNMENT,
        align_threshold=0,
    )
    _finish(destination, durable)


def repack_in_memory(source: Path, folder: Path, durable: bool) -> None:
    """onnx: load everything, save dense; it cannot align.

    It looks for an existing data file in the working directory, not beside the model.
    """
    import onnx

    destination = folder.absolute() / MODEL_NAME
    model = onnx.load(source.absolute())
    with chdir(folder):
        onnx.save_model(
            model,
            destination,
            save_as_external_data=True,
            all_tensors_to_one_file=True,
            location=data_file_of(destination).name,
            size_threshold=0,
        )
    _finish(destination, durable)


def copy_with_cp(source: Path, folder: Path, durable: bool) -> None:
    """GNU cp of both files, unaligned as they are: what a plain copy costs."""
    files = [source, data_file_of(source)]
    subprocess.run(["cp", "--reflink=never", *files, folder], check=True)
    _finish(folder / source.name, durable)


def _needs(module: str, attribute: str) -> Callable[[], str | None]:
    def absence() -> str | None:
        try:
            getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            return str(error)
        return None

    return absence


def _cp_absence() -> str | None:
    if shutil.which("cp") is None:
        return "no cp"
    probe = subprocess.run(["cp", "--reflink=never", "--version"], capture_output=True, check=False)
    return None if probe.returncode == 0 else "not GNU cp"


_ours_absence = _needs("onnx_align_pass", "align_file")
_onnx_ir_absence = _needs("onnx_ir.external_data", "load_to_model")

PEERS = {
    peer.name: peer
    for peer in (
        Peer(OURS, repack_with_ours, _ours_absence, FILES | MODELS, save_with_ours),
        Peer("onnx-ir", repack_with_onnx_ir, _onnx_ir_absence, FILES | MODELS, save_with_onnx_ir),
        Peer("onnx in memory", repack_in_memory, _needs("onnx", "save_model")),
        Peer(
            "in memory, aligned", repack_in_memory_aligned, _onnx_ir_absence, frozenset({"gallery"})
        ),
        Peer("cp", copy_with_cp, _cp_absence, EXTERNAL),
    )
}
"""In the order of the table; ours first, since all ratios start from it."""
