"""What to do about what an operating system refuses."""

from __future__ import annotations

import errno
from typing import Final

__all__ = ["CURES", "NO_ROOM"]

_MAY_NOT: Final = "Choose a folder that you may write to."
_ROOM: Final = "Free some space, or write to another disk."
NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
"""No room for a file, or for the name of one."""
CURES: Final = {
    errno.EACCES: _MAY_NOT,
    errno.EPERM: _MAY_NOT,
    errno.EROFS: _MAY_NOT,
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: "Free some of what counts for the quota, or write to another disk.",
    errno.EFBIG: "The file system or `ulimit -f` limits a file's size: shard the data files.",
    errno.EIO: "The disk or its connection fails: check it, or write to another disk.",
    errno.EMFILE: "Raise the limit of open files: `ulimit -n`.",
    errno.ENFILE: "The system has too many open files: close some programs.",
    errno.ENAMETOOLONG: "Choose a shorter name.",
    errno.EEXIST: "Something else made it meanwhile: run again, or choose another name.",
    errno.ENOENT: "A folder of the path is missing: make it, then run again.",
    errno.ENOTDIR: "A part of the path is a file: choose a path through folders.",
    errno.EISDIR: "A folder has this name: choose another name.",
    errno.EXDEV: "A folder below is mounted by itself: keep the data beside the model.",
    errno.EBUSY: "Something else uses it: close that, then run again.",
}
"""What to do about an operating system's error, by errno."""
