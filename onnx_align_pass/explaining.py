"""An operating system's errors, told as ours: which file, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from onnx_align_pass.cures import NO_ROOM
from onnx_align_pass.errors import DiskFullError, ModelError, WriteError
from onnx_align_pass.transfer.recover import is_staging_name
from onnx_align_pass.transfer.staging import Stage

__all__ = ["explained", "reads_explained"]


@contextmanager
def explained(
    final: Path, needed: int, *, reads: bool = True, stage: Stage | None = None
) -> Iterator[None]:
    """Turn an operating system's error into one that names the file and the cure.

    Args:
        final: The file that is being written.
        needed: Bytes that the run needs.
        reads: Whether a source may be what failed.
        stage: Whose files take room that was free before.

    Raises:
        ModelError: A source could not be read.
        WriteError: The file could not be written.
    """
    try:
        yield
    except OSError as error:
        if reads and error.filename is not None and not _is_staged(error.filename):
            raise ModelError(
                f"reading failed: {error.strerror or error}",
                file=str(error.filename),
                hint="Check the disk or its connection; copy the model elsewhere and run again.",
            ) from None
        if error.errno in NO_ROOM:
            held = 0 if stage is None else stage.held()
            raise DiskFullError(final, needed, error, held=held) from None
        raise WriteError.of(error, final) from None


@contextmanager
def reads_explained(model: Path) -> Iterator[None]:
    """Turn an operating system's error about a source into one that names it, or else the model.

    Raises:
        ModelError: A source could not be read.
    """
    try:
        yield
    except OSError as error:
        raise ModelError(
            f"reading failed: {error.strerror or error}",
            file=model if error.filename is None else str(error.filename),
            hint="Check the disk or its connection.",
            code="data-file-unreadable",
        ) from None


def _is_staged(filename: object) -> bool:
    """Whether an error's file is one that the run writes; else it is a source."""
    return isinstance(filename, str) and any(map(is_staging_name, Path(filename).parts))
