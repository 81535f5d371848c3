"""Finds room for a data file before a byte is copied. Clones need none."""

from __future__ import annotations

import os
from collections.abc import Iterable
from errno import ENOSPC

from onnx_align_pass.transfer import kernel
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.steps import Move, Step

__all__ = ["make_room"]


def make_room(fd: int, size: int, steps: Iterable[Step], sources: SourceFiles) -> None:
    """Reserve `size` bytes, or, where clones make up for the lack, only set the size.

    Raises:
        OSError: ENOSPC, EDQUOT or EFBIG, before a byte is copied.
    """
    try:
        kernel.reserve(fd, size)
    except OSError as error:
        if error.errno != ENOSPC or not kernel.clones(fd):
            raise
        room = os.fstatvfs(fd)
        shared = sum(_clonable(step, fd, sources, room.f_bsize) for step in steps)
        if not shared or size - shared > room.f_bavail * room.f_frsize:
            raise
        os.ftruncate(fd, size)


def _clonable(step: Step, fd: int, sources: SourceFiles, block: int) -> int:
    """Bytes of a step that share the source's blocks."""
    if not isinstance(step, Move):
        return 0
    span, offset = step.first, step.pieces[0].offset
    src_fd = sources.fd(span.path, tensor=step.pieces[0].name)
    if os.fstat(src_fd).st_dev != os.fstat(fd).st_dev or span.offset % block or offset % block:
        return 0
    return step.length - step.length % block
