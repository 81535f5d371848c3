"""The calls that people make, from file to file."""

from __future__ import annotations

import os
from pathlib import Path

from onnx_align_pass.checks import PLACEHOLDERS
from onnx_align_pass.errors import DestinationError, DestinationExistsError
from onnx_align_pass.explaining import explained, reads_explained
from onnx_align_pass.layout.plan import LayoutPlan
from onnx_align_pass.paths import StrPath, given_path
from onnx_align_pass.policy import LayoutPolicy, StoragePolicy
from onnx_align_pass.prepare import open_sources, prepare
from onnx_align_pass.progress import SILENT, Progress
from onnx_align_pass.references import References
from onnx_align_pass.repack import repack
from onnx_align_pass.repack_folder import repack_any
from onnx_align_pass.report import AlignReport
from onnx_align_pass.run import Options

__all__ = ["align_external_data_streaming", "align_file", "plan_file"]

DEFAULT_STORAGE = StoragePolicy()
DEFAULT_LAYOUT = LayoutPolicy()


def align_file(
    source: StrPath,
    destination: StrPath | None = None,
    *,
    storage: StoragePolicy = DEFAULT_STORAGE,
    layout: LayoutPolicy = DEFAULT_LAYOUT,
    progress: Progress = SILENT,
    verify: bool = False,
    overwrite: bool = False,
    keep_old_data: bool = False,
    durable: bool = True,
    allow_hard_links: bool = False,
) -> AlignReport:
    """Repack a model's weights onto their boundaries; they never pass through Python's memory.

    Args:
        source: A model, or a folder of models.
        destination: The new model, or a folder for it; None repacks in place. For a folder of
            models, the folder that will hold them all, with the other files carried along.
        storage: Which tensors are external data.
        layout: How they lie in the data files.
        progress: Told of each transfer.
        verify: Read everything back and compare it with its source before it is published.
        overwrite: Replace a destination that exists. Never the source, nor another model's data.
            Write also what is far larger than the data that it is made from.
        keep_old_data: Where a model is replaced, write its data under a name that no file had, and
            leave the old: who opens the model and, later, its data reads a pair, old or new.
            `prune_file` removes what was left.
        durable: Return only when the result is on the disk; False keeps the order of the commit,
            and leaves the time of writing to the kernel.
        allow_hard_links: Read data files with several links too whose owner is not the model's:
            they may be other people's files that were linked into the folder.

    Returns:
        What was done, one entry a model.

    Raises:
        UsageError: An option has a value that it cannot have.
        ModelError: The model is missing, broken or refused; the destination is as it was.
        ExpansionError: Its tensors have the same bytes, and far more would be written than there
            is; `overwrite` writes it.
        WriteError: Writing failed; the destination is as it was.
    """
    options = Options(
        storage,
        layout,
        progress,
        verify,
        overwrite,
        durable,
        keep_old_data=keep_old_data,
        allow_hard_links=allow_hard_links,
    )
    return repack_any(source, destination, options)


def plan_file(
    source: StrPath,
    *,
    storage: StoragePolicy = DEFAULT_STORAGE,
    layout: LayoutPolicy = DEFAULT_LAYOUT,
    in_place: bool = False,
    allow_hard_links: bool = False,
) -> LayoutPlan:
    """Make the plan that `align_file` would carry out; nothing is written.

    Args:
        source: A model.
        storage: Which tensors are external data.
        layout: How they lie in the data files.
        in_place: Plan for the model's own place: data files keep their names.
        allow_hard_links: See `align_file`.

    Raises:
        ModelError: The model is missing or broken, or its data is.
        ExpansionError: A run would be refused for it, unless it were told to overwrite.
    """
    path = given_path(source, "source")
    opened = open_sources(path, allow_hard_links=allow_hard_links)
    with reads_explained(path), opened as files:
        return prepare(path, files, storage, layout, model_name=path.name, in_place=in_place).plan


def align_external_data_streaming(
    src_onnx_path: StrPath,
    dst_onnx_path: StrPath,
    dst_weights_path: StrPath,
    alignment: int = 4096,
    chunk_size: int = 4 * 1024 * 1024,
    *,
    durable: bool = True,
) -> int:
    """Copy a model with its external tensors aligned into one data file; inline ones stay inline.

    The first tensor is at offset 0, gaps are zero, and nothing follows the last tensor. An existing
    destination is replaced.

    Args:
        src_onnx_path: The model.
        dst_onnx_path: The new model.
        dst_weights_path: The new data file, in the folder of `dst_onnx_path` or below it.
        alignment: Bytes, a power of two.
        chunk_size: Most bytes that one transfer moves.
        durable: Return only when the result is on the disk.

    Returns:
        Size in bytes of `dst_weights_path`; 0, and no file is written, when nothing is external.

    Raises:
        UsageError: `alignment` is no power of two, or `chunk_size` is not positive.
        ModelError: The model or the destination is refused; the destination is as it was.
        WriteError: Writing failed; the destination is as it was.
    """
    source, model = (
        given_path(src_onnx_path, "src_onnx_path"),
        given_path(dst_onnx_path, "dst_onnx_path"),
    )
    data = given_path(dst_weights_path, "dst_weights_path")
    if os.path.isdir(model):
        raise DestinationExistsError(
            "the destination is a folder", file=model, hint="Name a file in it."
        )
    layout = LayoutPolicy(alignment=alignment, data_name=_relative(data, model))
    options = Options(
        storage=StoragePolicy(size_threshold_bytes=None),
        layout=layout,
        overwrite=True,
        durable=durable,
        chunk_size=chunk_size,
    )
    with explained(model, 0):
        return repack(source, model, options, References()).data_bytes


def _relative(data: Path, model: Path) -> str:
    folder = Path(os.path.realpath(model.parent))
    file = Path(os.path.realpath(data.parent)) / data.name
    if not file.is_relative_to(folder) or file == folder:
        raise DestinationError(
            "the data file would lie outside the model's folder",
            file=data,
            needed=f"a file in {folder}",
            hint="onnxruntime and onnx refuse such a model: keep the data beside it.",
        )
    name = file.relative_to(folder).as_posix()
    found = [one for one in PLACEHOLDERS if one in name]
    if found:
        raise DestinationError(
            "the data file's name would be read as a template",
            file=data,
            hint=f"Leave out {' and '.join(found)}.",
        )
    return name
