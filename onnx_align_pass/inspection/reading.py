"""A few bytes of a data file, where a look at them decides something."""

from __future__ import annotations

from pathlib import Path

from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.positional import pread

__all__ = ["read_at"]


def read_at(files: SourceFiles, path: Path, offset: int, length: int) -> bytes:
    """Read bytes of a file; fewer at its end.

    Raises:
        ExternalDataError, SourceChangedError: What `SourceFiles.fd` raises.
        OSError: `filename` is the path.
    """
    fd = files.fd(path)
    try:
        return pread(fd, length, offset)
    except OSError as error:
        error.filename = str(path)
        raise
