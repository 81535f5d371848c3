"""The call that people make, from several files to some that share their data."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from onnx_align_pass.errors import UsageError
from onnx_align_pass.explaining import explained
from onnx_align_pass.layout.safetensors import is_safetensors
from onnx_align_pass.paths import StrPath, given_path
from onnx_align_pass.policy import LayoutPolicy, StoragePolicy
from onnx_align_pass.progress import SILENT, Progress
from onnx_align_pass.repack_shared import repack_shared
from onnx_align_pass.report import AlignReport
from onnx_align_pass.run import Options

__all__ = ["align_shared"]


def align_shared(
    sources: Iterable[StrPath],
    destination: StrPath,
    *,
    shared_data: StrPath,
    storage: StoragePolicy | None = None,
    layout: LayoutPolicy | None = None,
    progress: Progress = SILENT,
    verify: bool = False,
    overwrite: bool = False,
    durable: bool = True,
    allow_hard_links: bool = False,
) -> AlignReport:
    """Repack several models into one folder, with one data file for all: what they share, once.

    Tensors of equal element type and bytes are stored once, whichever models they are of. At every
    instant each model in the folder points at data that is its own. Called again after it was cut
    off, it completes what is there; a model that is there as it would be written is left.

    Where `overwrite` replaces data that several of the models point at, it is written twice, and
    for a while the models point at files called `next-...`.

    Args:
        sources: The models; their names differ, and end in `.onnx`.
        destination: The folder for all of them.
        shared_data: Name of the data file, relative to `destination`; with `max_shard_size_bytes`,
            of its shards.
        storage: Which tensors are external data.
        layout: How they lie; its `data_name` and `dedupe` are not looked at.
        progress: Told of each transfer.
        verify: Read everything back and compare it with its source before it is published.
        overwrite: Replace models that are there and are others. Never a source, nor another
            model's data. Write also what is far larger than the data that it is made from.
        durable: Return only when the result is on the disk.
        allow_hard_links: See `align_file`.

    Returns:
        What was done, one entry a model in the order of the sources. The data files, and their
        bytes, are counted once, with the model that they were published with; tensors of the others
        are `referenced_tensors`.

    Raises:
        UsageError: An option has a value that it cannot have, or two files would have one name.
        ModelError: A model or the destination is refused; the destination is as it was.
        WriteError: Writing failed. Models that were published before stay, with their data.
    """
    if isinstance(sources, (str, os.PathLike)):
        raise UsageError("sources is one path", needed="some", hint=f"Pass [{sources!r}].")
    paths = [given_path(one, "a source") for one in sources]
    if not paths:
        raise UsageError("there are no models", needed="at least one")
    layout = replace(layout or LayoutPolicy(), data_name=_name(shared_data), dedupe=True)
    options = Options(
        storage or StoragePolicy(),
        layout,
        progress,
        verify,
        overwrite,
        durable,
        allow_hard_links=allow_hard_links,
    )
    folder = given_path(destination, "destination")
    with explained(folder, 0):
        return repack_shared(paths, folder, options)


def _name(shared_data: StrPath) -> str:
    name = Path(given_path(shared_data, "shared_data")).as_posix()
    if "{model}" in name or "{stem}" in name:
        raise UsageError(
            "the shared data file cannot be called after one model",
            found=repr(name),
            hint="Leave out {model} and {stem}.",
        )
    if is_safetensors(name):
        raise UsageError(
            "in a safetensors file nothing is shared",
            found=repr(name),
            hint="There each tensor has its own bytes: choose a name with another suffix.",
        )
    return name
