"""The ways of doing the work: one function each, `(source .onnx, fresh folder, durable)`.

Each writes `model.onnx` and `model.onnx.data` into the folder. The peers do not sync by themselves;
`durable` adds what makes their result survive a power cut, an fsync of both files.
Imports are inside the functions: a process pays only for the peer that it runs.
"""

import importlib
import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

from onnx_align_pass.bench.files import MODEL_NAME, data_file_of

__all__ = ["OURS", "PEERS", "Peer"]

OURS = "onnx-align-pass"
ALIGNMENT = 4096
EXTERNAL = frozenset({"gallery", "large", "small"})


@dataclass(frozen=True, slots=True)
class Peer:
    """One way of doing the work."""

    name: str
    run: Callable[[Path, Path, bool], None]
    absence: Callable[[], str | None]
    """Why this peer cannot run on this machine; None when it can."""
    workloads: frozenset[str] = EXTERNAL | {"inline"}


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


def run_onnx_align_pass(source: Path, folder: Path, durable: bool) -> None:
    """This project: external weights stay external, inline ones move out of the `.onnx`."""
    from onnx_align_pass import LayoutPolicy, StoragePolicy, align_file

    external = data_file_of(source).exists()
    storage = StoragePolicy(size_threshold_bytes=None) if external else StoragePolicy()
    layout = LayoutPolicy(alignment=ALIGNMENT)
    align_file(source, folder / MODEL_NAME, storage=storage, layout=layout, durable=durable)


def run_onnx_ir(source: Path, folder: Path, durable: bool) -> None:
    """onnx-ir: lazy weights, copied by the kernel tensor by tensor when they are external."""
    _save_with_onnx_ir(source, folder, durable, in_memory=False)


def run_in_memory_aligned(source: Path, folder: Path, durable: bool) -> None:
    """onnx-ir, with all weights loaded before they are written aligned."""
    _save_with_onnx_ir(source, folder, durable, in_memory=True)


def _save_with_onnx_ir(source: Path, folder: Path, durable: bool, *, in_memory: bool) -> None:
    import onnx_ir

    destination = folder / MODEL_NAME
    model = onnx_ir.load(source)
    if in_memory:
        model = onnx_ir.external_data.load_to_model(model)
    onnx_ir.save(
        model,
        destination,
        external_data=data_file_of(destination).name,
        size_threshold_bytes=0,
        alignment=ALIGNMENT,
        align_threshold=0,
    )
    _finish(destination, durable)


def run_onnx_in_memory(source: Path, folder: Path, durable: bool) -> None:
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


def run_cp(source: Path, folder: Path, durable: bool) -> None:
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


_onnx_ir_absence = _needs("onnx_ir.external_data", "load_to_model")

PEERS = {
    peer.name: peer
    for peer in (
        Peer(OURS, run_onnx_align_pass, _needs("onnx_align_pass", "align_file")),
        Peer("onnx-ir", run_onnx_ir, _onnx_ir_absence),
        Peer("onnx in memory", run_onnx_in_memory, _needs("onnx", "save_model")),
        Peer("in memory, aligned", run_in_memory_aligned, _onnx_ir_absence, frozenset({"gallery"})),
        Peer("cp", run_cp, _cp_absence, EXTERNAL),
    )
}
"""In the order of the table; ours first, since all ratios start from it."""
