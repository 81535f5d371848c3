"""The calls that people make, from an ir.Model to files."""

from __future__ import annotations

import errno
import os
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Final

import onnx_ir as ir

from onnx_align_pass.destination import Destination
from onnx_align_pass.errors import UsageError, WriteError
from onnx_align_pass.ir.callback import Callback
from onnx_align_pass.ir.save_model import Saving, save_model
from onnx_align_pass.passes.decide import decide, decide_again
from onnx_align_pass.paths import StrPath, given_path
from onnx_align_pass.policy import LayoutPolicy, StoragePolicy
from onnx_align_pass.progress import SILENT, Progress
from onnx_align_pass.report import AlignReport
from onnx_align_pass.run import Options
from onnx_align_pass.transfer.ahead import Ahead

__all__ = ["check_save", "save", "save_shared"]


class _Unset(Enum):
    """What a keyword has that was not given: None has a meaning."""

    UNSET = "not given"


UNSET: Final = _Unset.UNSET
_IN_FLIGHT_BYTES: Final = 1 << 30
_TEXT_SUFFIXES: Final = frozenset(
    {".textproto", ".prototxt", ".pbtxt", ".json", ".onnxjson", ".onnxtxt", ".onnxtext"}
)


def save(
    model: ir.Model,
    path: StrPath,
    *,
    format: str | None = None,  # noqa: A002 - onnx_ir.save's name
    external_data: StrPath | None = None,
    size_threshold_bytes: int | _Unset | None = UNSET,
    max_shard_size_bytes: int | None = None,
    callback: Callback | None = None,
    max_workers: int | None = None,
    max_in_flight_bytes: int = _IN_FLIGHT_BYTES,
    alignment: int | _Unset | None = UNSET,
    align_threshold: int | _Unset = UNSET,
    storage: StoragePolicy | None = None,
    layout: LayoutPolicy | None = None,
    progress: Progress = SILENT,
    verify: bool = False,
    force: bool = False,
    keep_old_data: bool = False,
    durable: bool = True,
) -> AlignReport:
    """Save a model with its weights aligned in external data; the model itself is not changed.

    Takes the keywords of `onnx_ir.save`, by keyword, so that a change of import is enough;
    `storage` and `layout` are the long form of the same. A model that is at `path` is replaced, and
    its data files with it, both or neither. Tensors in files are streamed, all others are made one
    at a time; a lazy one may be made more than once. Where the new files replace ones that tensors
    of `model` lie in, these tensors are pointed at the new ones.

    Args:
        model: The model.
        path: The new model file.
        format: Only protobuf is written.
        external_data: Name of the data file, relative to the model's folder.
        size_threshold_bytes: See `StoragePolicy`.
        max_shard_size_bytes: See `LayoutPolicy`.
        callback: Called for each external tensor that is written, in the order of writing, with
            an `onnx_ir.external_data.CallbackInfo`.
        max_workers: Threads that make tensors which are not in files while others are written.
            None or 1: none, and memory is the largest single tensor.
        max_in_flight_bytes: Most bytes of tensors that are made ahead; what the threads allocate
            for making them comes on top.
        alignment: See `LayoutPolicy`; None packs densely.
        align_threshold: See `LayoutPolicy`.
        storage: Which tensors are external data; None: as `TagExternalDataPass` tagged them, and
            where it has not run, as `StoragePolicy()` has it.
        layout: How they lie in the data files.
        progress: Told of each transfer.
        verify: Read everything back and compare it before it is published.
        force: Replace a data file too that is there and that no model claims.
        keep_old_data: Where a model is replaced, write its data under a name that no file had, and
            leave the old; see `align_file`.
        durable: Return only when the result is on the disk.

    Returns:
        What was done. Where the files hold exactly this already, nothing was written.

    Raises:
        UsageError: An option has a value that it cannot have, or is given in both forms.
        ModelError: The model or the destination is refused; both are as they were.
        WriteError: Writing failed; the model and the destination are as they were.
    """
    _check_model(model)
    _check_format(format, path)
    storage = _storage(storage, size_threshold_bytes)
    layout = _layout(layout, external_data, max_shard_size_bytes, alignment, align_threshold)
    options = Options(
        storage or StoragePolicy(), layout, progress, verify, overwrite=force, durable=durable
    )
    decision = partial(decide_again if storage else decide, storage=options.storage)
    destination = Destination.of_model(
        Path.cwd() / given_path(path), force=force, keeps_old=keep_old_data
    )
    with _ahead(max_workers, max_in_flight_bytes) as ahead:
        saving = Saving(decide=decision, ahead=ahead, callback=callback)
        done = save_model(model, destination, options, saving)
    return AlignReport((done.alignment,))


def save_shared(
    model: ir.Model,
    path: StrPath,
    *,
    external_data: StrPath | None = None,
    storage: StoragePolicy | None = None,
    layout: LayoutPolicy | None = None,
    progress: Progress = SILENT,
    verify: bool = False,
    force: bool = False,
    durable: bool = True,
) -> AlignReport:
    """Save a variant that shares weights with a model on disk beside it.

    Tensors that are external data already go on being read from where they are; only what is new is
    written, aligned, to a data file of the variant's own, which is not made when nothing is new.
    Shared data files are not touched; a model that is at `path` is replaced, as by `save`.

    Args:
        model: The variant, such as a model that `load` read and a pass changed.
        path: The new model file: in the folder of the shared data files, or above it.
        external_data: Name of the variant's own data file.
        storage: Which of the new tensors are external data.
        layout: How they lie.
        progress: Told of each transfer.
        verify: Read back what is written and compare it before it is published.
        force: Replace a data file too that is there and that no model claims.
        durable: Return only when the result is on the disk.

    Returns:
        What was done.

    Raises:
        DestinationError: A shared range would not be found from `path`, or the variant's own data
            file has the name of a shared one.
        ModelError: The model or the destination is refused; both are as they were.
        WriteError: Writing failed; the model and the destination are as they were.
    """
    _check_model(model)
    layout = _layout(layout, external_data, None, UNSET, UNSET)
    options = Options(
        storage or StoragePolicy(), layout, progress, verify, overwrite=force, durable=durable
    )
    decision = partial(decide_again if storage else decide, storage=options.storage)
    destination = Destination.of_model(Path.cwd() / given_path(path), force=force)
    if destination.model.suffix.lower() != ".onnx":
        raise UsageError(
            "the variant's name does not end in .onnx",
            found=destination.model.name,
            hint="By that name others see that it uses the shared files: choose one that does.",
        )
    done = save_model(model, destination, options, Saving(decide=decision, shares=True))
    return AlignReport((done.alignment,))


def check_save(
    path: StrPath,
    *,
    format: str | None = None,  # noqa: A002 - onnx_ir.save's name
    external_data: StrPath | None = None,
    size_threshold_bytes: int | _Unset | None = UNSET,
    max_shard_size_bytes: int | None = None,
    max_workers: int | None = None,
    max_in_flight_bytes: int = _IN_FLIGHT_BYTES,
    alignment: int | _Unset | None = UNSET,
    align_threshold: int | _Unset = UNSET,
    storage: StoragePolicy | None = None,
    layout: LayoutPolicy | None = None,
    **_others: object,
) -> None:
    """Refuse what `save` would refuse with these keywords, before there is a model to save.

    Raises:
        UsageError: An option has a value that it cannot have, or is given in both forms.
        DestinationError: `path` is no place for a model.
        WriteError: Its folder is missing, or may not be written to.
    """
    _check_format(format, path)
    _storage(storage, size_threshold_bytes)
    _layout(layout, external_data, max_shard_size_bytes, alignment, align_threshold)
    _ahead(max_workers, max_in_flight_bytes)
    destination = Destination.of_model(Path.cwd() / given_path(path), force=False)
    code = 0
    if not os.path.isdir(destination.folder):
        code = errno.ENOTDIR if destination.folder.exists() else errno.ENOENT
    elif not os.access(destination.folder, os.W_OK | os.X_OK):
        code = errno.EACCES
    if code:
        raise WriteError.of(OSError(code, os.strerror(code)), destination.model)


def _check_model(model: object) -> None:
    if isinstance(model, ir.Model):
        return
    hints = {
        "ModelProto": "Take onnx_ir.from_proto(model), or align_file for a file.",
        "ONNXProgram": "Use hooks.torch.save_program.",
        "str": "Load it first, or repack the file with align_file.",
    }
    raise UsageError(
        f"a {type(model).__name__} cannot be saved",
        needed="an onnx_ir.Model",
        hint=hints.get(type(model).__name__),
    )


def _check_format(asked: str | None, path: StrPath) -> None:
    """Refuse what onnx_ir.save would write as text, asked for by word or by the file's suffix."""
    suffix = Path(path).suffix.lower()
    found = asked or (suffix if suffix in _TEXT_SUFFIXES else "protobuf")
    if found != "protobuf":
        raise UsageError(
            f"format {found!r} is not written",
            needed="protobuf",
            hint="Text is not for models with large weights: choose a name that ends in .onnx.",
        )


def _storage(storage: StoragePolicy | None, threshold: int | _Unset | None) -> StoragePolicy | None:
    if threshold is UNSET:
        return storage
    if storage is not None:
        raise _twice("size_threshold_bytes", "storage")
    return StoragePolicy(size_threshold_bytes=threshold)


def _layout(
    layout: LayoutPolicy | None,
    external_data: StrPath | None,
    max_shard_size_bytes: int | None,
    alignment: int | _Unset | None,
    align_threshold: int | _Unset,
) -> LayoutPolicy:
    given: dict[str, object] = {}
    if external_data is not None:
        given["data_name"] = _name(external_data)
    if max_shard_size_bytes is not None:
        given["max_shard_size_bytes"] = max_shard_size_bytes
    if alignment is not UNSET:
        given["alignment"] = 1 if alignment is None else alignment
    if align_threshold is not UNSET:
        given["align_threshold"] = align_threshold
    if layout is None:
        return LayoutPolicy(**given)  # type: ignore[arg-type]  # it checks each value itself
    if given:
        raise _twice(next(iter(given)), "layout")
    return layout


def _twice(keyword: str, policy: str) -> UsageError:
    return UsageError(
        f"{keyword} and {policy} are both given", hint=f"Say it in the {policy} policy alone."
    )


def _name(external_data: StrPath) -> str:
    name = os.fspath(external_data)
    if not name:
        raise UsageError("external_data is empty", needed="the name of a file")
    return Path(name).as_posix()


def _ahead(max_workers: int | None, max_bytes: int) -> Ahead:
    for option, value in (("max_workers", max_workers), ("max_in_flight_bytes", max_bytes)):
        whole = isinstance(value, int) and not isinstance(value, bool)
        if value is not None and not (whole and value >= 1):
            raise UsageError(f"{option} cannot be {value!r}", needed="a whole number, 1 or more")
    return Ahead(0 if max_workers in (None, 1) else max_workers or 0, max_bytes)
