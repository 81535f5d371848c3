"""optimum-onnx: export with `main_export`, then align every model of the folder in place."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from onnx_align_pass.align import align_file
from onnx_align_pass.errors import ModelNotFoundError
from onnx_align_pass.hooks.missing import exporter
from onnx_align_pass.paths import StrPath
from onnx_align_pass.policy import LayoutPolicy, StoragePolicy
from onnx_align_pass.progress import SILENT, Progress
from onnx_align_pass.report import AlignReport

__all__ = ["DATA_NAME", "align_directory", "main_export_aligned"]

DATA_NAME: Final = "{model}_data"
"""`model.onnx_data`: what optimum writes, and the one data file that it downloads from a hub."""

DEFAULT_STORAGE: Final = StoragePolicy()
DEFAULT_LAYOUT: Final = LayoutPolicy()


def main_export_aligned(
    model_name_or_path: str,
    output: StrPath,
    *,
    storage: StoragePolicy = DEFAULT_STORAGE,
    layout: LayoutPolicy = DEFAULT_LAYOUT,
    progress: Progress = SILENT,
    verify: bool = False,
    durable: bool = True,
    **kwargs: Any,
) -> AlignReport:
    """Export a model as `optimum.exporters.onnx.main_export` does, then align what it wrote.

    An export replaces the models of an earlier one in the same folder, and so does this; data
    files that the earlier one left are replaced too.

    Args:
        model_name_or_path: A model of a hub, or a folder that holds one.
        output: The folder for the export.
        storage: Which tensors are external data.
        layout: How they lie in the data files; `data_name` None is `DATA_NAME`.
        progress: Told of each transfer.
        verify: Read everything back and compare it with its source before it is published.
        durable: Return only when the result is on the disk.
        kwargs: For `main_export`: `task`, `opset`, `dtype` and so on.

    Returns:
        What was done, one entry a model.

    Raises:
        MissingExporterError: optimum-onnx is not installed.
        ModelError: A model is refused; the export itself is whole.
        WriteError: Writing failed; so it is.
    """
    exporter("optimum.exporters.onnx", "optimum").main_export(
        model_name_or_path, os.fspath(output), **kwargs
    )
    return align_directory(
        output,
        storage=storage,
        layout=layout,
        progress=progress,
        verify=verify,
        overwrite=True,
        durable=durable,
    )


def align_directory(
    folder: StrPath,
    *,
    storage: StoragePolicy = DEFAULT_STORAGE,
    layout: LayoutPolicy = DEFAULT_LAYOUT,
    progress: Progress = SILENT,
    verify: bool = False,
    overwrite: bool = False,
    durable: bool = True,
) -> AlignReport:
    """Align every model at or below a folder in place, with data files named as optimum does.

    Args:
        folder: What an export wrote: one model, an encoder and decoders, a pipeline of folders.
        storage: Which tensors are external data.
        layout: How they lie in the data files; `data_name` None is `DATA_NAME`.
        progress: Told of each transfer.
        verify: Read everything back and compare it with its source before it is published.
        overwrite: Replace a data file that no model uses, such as an earlier export left.
        durable: Return only when the result is on the disk.

    Returns:
        What was done, one entry a model.

    Raises:
        ModelNotFoundError: There is no such folder, or no model in it.
        DataFileSharedError: Two models use one data file: export them with a file each.
        ModelError: A model is broken or refused; nothing was written.
        WriteError: Writing failed; each model is the old one or the new one.
    """
    if not os.path.isdir(folder):
        raise ModelNotFoundError(
            "there is no such folder", file=Path(folder), hint="Name the folder of an export."
        )
    if layout.data_name is None:
        layout = replace(layout, data_name=DATA_NAME)
    return align_file(
        folder,
        storage=storage,
        layout=layout,
        progress=progress,
        verify=verify,
        overwrite=overwrite,
        durable=durable,
    )
