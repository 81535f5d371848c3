"""Whole reads and writes at an offset, on systems with preadv, with pread alone, or with neither.

An error of the reading side carries the descriptor in `filename`; one of the writing side, None.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence

__all__ = ["IOV_MAX", "pread", "read_full", "read_some", "write_all", "write_gathered"]

IOV_MAX = min(1024, os.sysconf("SC_IOV_MAX")) if hasattr(os, "sysconf") else 1024
"""Slices that one vectored write may have."""


def read_some(fd: int, view: memoryview, offset: int) -> int:
    """Read once into `view`; return the bytes read, 0 at the end of the file."""
    try:
        if hasattr(os, "preadv"):
            return os.preadv(fd, [view], offset)
        data = pread(fd, len(view), offset)
    except OSError as error:
        error.filename = fd
        raise
    view[: len(data)] = data
    return len(data)


def read_full(fd: int, view: memoryview, offset: int) -> int:
    """Read until `view` is full or the file ends; return the bytes read."""
    done = 0
    while done < len(view):
        count = read_some(fd, view[done:], offset + done)
        if count == 0:
            break
        done += count
    return done


def write_all(fd: int, data: memoryview, offset: int) -> None:
    """Write all of `data` at `offset`.

    Raises:
        OSError: What the system says; EIO when it takes no byte and gives no reason.
    """
    while data:
        count = _pwrite(fd, data, offset)
        if count == 0:
            raise OSError(errno.EIO, "nothing was written")
        data = data[count:]
        offset += count


def write_gathered(fd: int, slices: Sequence[memoryview], offset: int) -> None:
    """Write slices one after another at `offset`; at most `IOV_MAX` of them."""
    written = os.pwritev(fd, slices, offset) if hasattr(os, "pwritev") else 0
    if written < sum(map(len, slices)):
        write_all(fd, memoryview(b"".join(slices))[written:], offset + written)


def pread(fd: int, count: int, offset: int) -> bytes:
    """Read up to `count` bytes at `offset`."""
    if hasattr(os, "pread"):
        return os.pread(fd, count, offset)
    os.lseek(fd, offset, os.SEEK_SET)
    return os.read(fd, count)


def _pwrite(fd: int, data: memoryview, offset: int) -> int:
    if hasattr(os, "pwrite"):
        return os.pwrite(fd, data, offset)
    os.lseek(fd, offset, os.SEEK_SET)
    return os.write(fd, data)
