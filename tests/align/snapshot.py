"""What a folder holds, to prove that it is as it was."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

__all__ = ["snapshot"]


def snapshot(folder: Path) -> dict[str, tuple[object, ...]]:
    """Every entry below a folder: type, mode, owner, links, and content or target."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(folder.rglob("*")):
        info = path.lstat()
        content: object = None
        if stat.S_ISLNK(info.st_mode):
            content = os.readlink(path)
        elif stat.S_ISREG(info.st_mode) and info.st_size < 1 << 28:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        elif stat.S_ISREG(info.st_mode):
            content = info.st_size
        name = str(path.relative_to(folder))
        found[name] = (info.st_mode, info.st_uid, info.st_gid, info.st_nlink, content)
    return found
