"""Thin wrappers over system calls, each safe to import and to call where the system lacks it.

Numbers and layouts: ioctl_ficlonerange(2), `include/uapi/linux/falloc.h`, fcntl(2), splice(2).
"""

from __future__ import annotations

import errno
import os
import struct
import sys
from contextlib import suppress
from importlib import import_module, util
from pathlib import Path
from types import ModuleType
from typing import NoReturn

__all__ = [
    "clone_range",
    "clones",
    "copy_range",
    "grow_pipe",
    "let_go",
    "open_folder",
    "reserve",
    "splice",
    "start_writeback",
    "sync_file",
    "sync_folder",
    "try_lock",
]

fcntl: ModuleType | None = import_module("fcntl") if util.find_spec("fcntl") else None

_LINUX = sys.platform.startswith("linux")
_FS_IOC_RESVSP64 = 0x4030582A
_FICLONERANGE = 0x4020940D  # missing from Python 3.11's fcntl
_NO_RESERVATION = frozenset({errno.ENOTTY, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS})
_NO_FOLDER_SYNC = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})
_NO_LOCKS = frozenset({errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK})


def reserve(fd: int, size: int) -> None:
    """Make an empty file exactly `size` bytes long, with its blocks allocated where possible.

    Not `posix_fallocate`: glibc emulates that by writing where the file system cannot.

    Raises:
        OSError: ENOSPC, EDQUOT or EFBIG, before a byte is copied; the file is empty then.
    """
    try:
        if size:
            _allocate(fd, size)
    except OSError as error:
        _free(fd, size)
        if error.errno not in _NO_RESERVATION:
            raise
    os.ftruncate(fd, size)


def _allocate(fd: int, size: int) -> None:
    _ioctl(fd, _FS_IOC_RESVSP64, _space(1))  # free space is judged only where it can be reserved
    room = os.fstatvfs(fd)
    # ext4 would take every free block, from everybody, before it says that they do not suffice.
    if room.f_blocks and size > (room.f_bfree + 1) * room.f_frsize:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    _ioctl(fd, _FS_IOC_RESVSP64, _space(size))


def _free(fd: int, size: int) -> None:
    """Give back what was allocated before it failed; punching holes past the end would not."""
    with suppress(OSError):
        os.ftruncate(fd, size)
    os.ftruncate(fd, 0)


def clones(fd: int) -> bool:
    """Whether the file system of an empty file, open to read and write, clones ranges."""
    try:
        clone_range(fd, 0, 1, fd, 0)
    except OSError as error:
        # Byte 0 does not exist: EINVAL. Without clones the kernel does not come that far.
        return error.errno == errno.EINVAL
    return False


def clone_range(src_fd: int, src_off: int, length: int, dst_fd: int, dst_off: int) -> None:
    """Share `length` bytes of one file with another, copy on write (FICLONERANGE).

    Offsets and length are multiples of the file system's block.

    Raises:
        OSError: ENOSYS where the system has no such call, otherwise what the kernel says.
    """
    if length:  # 0 would mean: up to the end of the file
        _ioctl(dst_fd, _FICLONERANGE, struct.pack("qQQQ", src_fd, src_off, length, dst_off))


def splice(
    src_fd: int, dst_fd: int, count: int, *, src_off: int | None = None, dst_off: int | None = None
) -> int:
    """Move up to `count` bytes between a file and a pipe; the pipe's side has no offset.

    Raises:
        OSError: ENOSYS where the system has no such call, otherwise what the kernel says.
    """
    call = getattr(os, "splice", None) or _missing("splice")
    moved: int = call(src_fd, dst_fd, count, offset_src=src_off, offset_dst=dst_off)
    return moved


def copy_range(src_fd: int, src_off: int, dst_fd: int, dst_off: int, count: int) -> int:
    """Copy up to `count` bytes inside the kernel (copy_file_range).

    Raises:
        OSError: ENOSYS where the system has no such call, otherwise what the kernel says.
    """
    call = getattr(os, "copy_file_range", None) or _missing("copy_file_range")
    moved: int = call(src_fd, dst_fd, count, src_off, dst_off)
    return moved


def grow_pipe(fd: int, size: int) -> int:
    """Ask for a pipe of `size` bytes; return the bytes that it holds now."""
    if fcntl is None or not hasattr(fcntl, "F_SETPIPE_SZ"):
        return 65536
    # EPERM: above pipe-max-size, or this user's pipes hold all the pages they may.
    with suppress(PermissionError):
        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, min(size, _pipe_limit(size)))
    return int(fcntl.fcntl(fd, fcntl.F_GETPIPE_SZ))


def start_writeback(fd: int, offset: int, length: int) -> None:
    """Let the kernel begin writing a dirty range to disk, without waiting for it.

    On Linux POSIX_FADV_DONTNEED starts the writeback of dirty pages, and drops only clean ones.
    """
    if _LINUX and hasattr(os, "posix_fadvise"):
        # Advice: nothing depends on it, and `sync_file` reports what could not be written.
        with suppress(OSError):
            os.posix_fadvise(fd, offset, length, os.POSIX_FADV_DONTNEED)


def sync_file(fd: int) -> None:
    """Wait until a file's bytes and size are on the disk.

    Raises:
        OSError: EIO, ENOSPC or EDQUOT: some bytes never reached it.
    """
    # On macOS fsync leaves the bytes in the drive's cache.
    if fcntl is not None and hasattr(fcntl, "F_FULLFSYNC"):
        with suppress(OSError):  # network volumes refuse it
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
            return
    os.fsync(fd)


def let_go(fd: int) -> None:
    """Close a descriptor through which nothing was written: if that fails, nothing is lost.

    FUSE and NFS answer to each close; whatever they say, Linux has closed it.
    """
    with suppress(OSError):
        os.close(fd)


def open_folder(path: Path) -> int | None:
    """Open a folder, to sync or to lock it; None where folders have no descriptors (Windows)."""
    if not hasattr(os, "O_DIRECTORY"):
        return None
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def sync_path(path: Path) -> None:
    """Wait until the bytes of a file that is there are on the disk, whoever wrote them."""
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        sync_file(fd)
    finally:
        let_go(fd)


def sync_folder(path: Path) -> None:
    """Wait until a folder's names are on the disk; nothing where folders cannot be synced."""
    fd = open_folder(path)
    if fd is None:
        return
    try:
        sync_file(fd)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        let_go(fd)


def try_lock(fd: int) -> bool:
    """Lock a file for this descriptor; False if someone else holds it.

    True as well where locks do not exist. On NFS a file, not a folder, must be open for writing.
    """
    if fcntl is None or not hasattr(fcntl, "flock"):
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    return True


def _ioctl(fd: int, request: int, argument: bytes) -> None:
    if fcntl is None or not _LINUX:
        _missing("ioctl")
    while True:
        # Python repeats most calls that a signal interrupted, but not ioctl; tmpfs needs it.
        with suppress(InterruptedError):
            fcntl.ioctl(fd, request, argument)
            return


def _space(size: int) -> bytes:
    """A `struct space_resv` of the first `size` bytes."""
    return struct.pack("hhqqiI4i", 0, 0, 0, size, 0, 0, 0, 0, 0, 0)


def _pipe_limit(default: int) -> int:
    try:
        return int(Path("/proc/sys/fs/pipe-max-size").read_text())
    except (OSError, ValueError):
        return default


def _missing(name: str) -> NoReturn:
    raise OSError(errno.ENOSYS, f"{os.strerror(errno.ENOSYS)}: {name}")
