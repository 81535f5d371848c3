"""The ways to move bytes between two files, and why each may be refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from errno import EBADF, EINVAL, ENOSPC, ENOSYS, ENOTTY, EOPNOTSUPP, EPERM, EXDEV
from typing import TypeAlias

from onnx_align_pass.transfer import kernel
from onnx_align_pass.transfer.positional import read_some, write_all

__all__ = ["PIPE_BYTES", "Rung", "SplicePipe", "Transfer", "standard_rungs"]

PIPE_BYTES = 1 << 20
"""Bytes of the pipe: the most that a user gets without privilege, and the fastest."""

Transfer: TypeAlias = Callable[[int, int, int, int, int], int]
"""`(src_fd, src_off, dst_fd, dst_off, length)` to the bytes moved, which may be fewer.

0: it can move nothing more of this span, for the source ended or the rest is not its kind.
"""


@dataclass(frozen=True, slots=True)
class Rung:
    """One way to move a span, and the errnos on which the next way is tried."""

    name: str
    move: Transfer
    declines: frozenset[int]
    """Errnos that mean: not this way, between these devices. All others are errors."""


def standard_rungs(pipe: SplicePipe, buffer: Callable[[], memoryview]) -> tuple[Rung, ...]:
    """All ways, the fastest first. The last one always works, and alone knows the source's end."""
    return (
        Rung("clone", clone, _CLONE_DECLINES),
        Rung("splice", pipe.move, _SPLICE_DECLINES),
        Rung("copy_file_range", copy_file_range, _COPY_DECLINES),
        Rung("buffered", _buffered(buffer), frozenset()),
    )


_CLONE_DECLINES = frozenset(
    {
        EXDEV,  # two file systems
        EOPNOTSUPP,  # ext4, tmpfs and others do not clone
        EINVAL,  # a larger block than statvfs says, or the files differ in their no-CoW flag
        ENOTTY,  # the file system knows no such ioctl
        ENOSYS,  # not Linux
        EPERM,  # forbidden by seccomp
        EBADF,  # some kernels' word for a file system that does not clone
        ENOSPC,  # XFS: an allocation group is low on metadata; a copy may fit, or says so itself
    }
)
_SPLICE_DECLINES = frozenset(
    {
        EINVAL,  # the file system does not splice
        ENOSYS,  # not Linux, or gVisor
        EOPNOTSUPP,  # a FUSE server that refuses it
        EPERM,  # forbidden by seccomp
    }
)
_COPY_DECLINES = frozenset(
    {
        EXDEV,  # two file systems, or before Linux 5.3
        EINVAL,  # the file system does not copy ranges
        ENOSYS,  # not Linux, or before 4.5
        EOPNOTSUPP,  # NFS and SMB servers without server-side copy
        EPERM,  # forbidden by seccomp: old container runtimes do
    }
)


def clone(src_fd: int, src_off: int, dst_fd: int, dst_off: int, length: int) -> int:
    """Clone the whole blocks at the head of a span; 0 where the offsets are not on blocks."""
    if not hasattr(os, "fstatvfs"):
        return 0
    block = os.fstatvfs(dst_fd).f_bsize
    head = length - length % block
    if src_off % block or dst_off % block or not head:
        return 0
    kernel.clone_range(src_fd, src_off, head, dst_fd, dst_off)
    return head


def copy_file_range(src_fd: int, src_off: int, dst_fd: int, dst_off: int, length: int) -> int:
    """Copy inside the kernel. Some kernels return 0 for files that can be read."""
    return kernel.copy_range(src_fd, src_off, dst_fd, dst_off, length)


def _buffered(buffer: Callable[[], memoryview]) -> Transfer:
    def move(src_fd: int, src_off: int, dst_fd: int, dst_off: int, length: int) -> int:
        count = read_some(src_fd, buffer()[:length], src_off)
        write_all(dst_fd, buffer()[:count], dst_off)
        return count

    return move


class SplicePipe:
    """One pipe, made when first needed and reused for every span."""

    def __init__(self, size: int = PIPE_BYTES) -> None:
        self._size = size
        self._ends: tuple[int, int] | None = None
        self._capacity = 0

    def move(self, src_fd: int, src_off: int, dst_fd: int, dst_off: int, length: int) -> int:
        """Fill the pipe from the source, empty it into the destination; count what arrived."""
        read_end, write_end = self._ends or self._open()
        try:
            filled = kernel.splice(src_fd, write_end, min(length, self._capacity), src_off=src_off)
        except OSError as error:
            error.filename = src_fd
            raise
        drained = 0
        try:
            while drained < filled:
                count = kernel.splice(read_end, dst_fd, filled - drained, dst_off=dst_off + drained)
                if count == 0:
                    break
                drained += count
        except OSError:
            if not drained:
                raise
        finally:
            if drained < filled:
                self.close()  # what is left in the pipe must not reach the next span
        return drained

    def close(self) -> None:
        """Close the pipe, with whatever is in it; the next move makes a new one."""
        ends, self._ends = self._ends, None
        for end in ends or ():
            with suppress(OSError):
                os.close(end)

    def _open(self) -> tuple[int, int]:
        self._ends = os.pipe()
        self._capacity = kernel.grow_pipe(self._ends[1], self._size)
        return self._ends
