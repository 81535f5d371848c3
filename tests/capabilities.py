"""What a machine can do that some tests need, each tried out; why not, where it cannot.

`python -m tests.capabilities` prints the names of what it can, comma-separated, and on stderr why
not the rest. As `ONNX_ALIGN_REQUIRE` they are required: a test that is marked with one of them
fails where it would skip. So a test cannot stay away for a reason that nobody looked at.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

__all__ = ["CAPABILITIES", "CGROUP", "LIMITED_BY", "required", "why_not"]

CGROUP: Final = Path("/sys/fs/cgroup/memory")
"""The memory controller of cgroup v1."""
LIMITED_BY: Final = "memory.limit_in_bytes"


def _root() -> str | None:
    return None if hasattr(os, "geteuid") and os.geteuid() == 0 else "not root"


def _programs(*names: str) -> str | None:
    lacking = [name for name in names if shutil.which(name) is None]
    return f"no {', '.join(lacking)}" if lacking else None


def _runs(*command: str) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{command[0]}: {error}"
    said = done.stderr.strip().splitlines() or ["failed"]
    return f"{command[0]}: {said[-1]}" if done.returncode else None


def _strace() -> str | None:
    return _programs("strace") or _runs("strace", "-e", "trace=none", "true")


def _mounts(make: Sequence[str], mount: Sequence[str], mib: int) -> str | None:
    """Make a file system in a file, attach and mount it."""
    lacking = _root() or _programs(make[0], mount[0], "losetup", "umount")
    if lacking is not None:
        return lacking
    with tempfile.TemporaryDirectory() as name:
        image, folder = Path(name, "image"), Path(name, "mounted")
        folder.mkdir()
        with image.open("wb") as file:
            file.truncate(mib << 20)
        why = _runs(*make, str(image))
        if why is not None:
            return why
        found = subprocess.run(
            ["losetup", "-f", "--show", image], capture_output=True, text=True, check=False
        )
        if found.returncode:
            return f"losetup: {found.stderr.strip()}"
        try:
            why = _runs(*mount, found.stdout.strip(), str(folder))
            return why if why is not None else _runs("umount", str(folder))
        finally:
            _runs("losetup", "-d", found.stdout.strip())


def _mount() -> str | None:
    """Everything that `tests.commit.mounts` mounts, but for FAT."""
    lacking = _programs("mkfs.btrfs", "btrfs", "bindfs", "fuse-overlayfs", "chattr")
    kinds = (
        (["mkfs.ext4", "-q"], ["mount"], 6),
        (["mkfs.exfat"], ["mount.exfat-fuse"], 8),
        (["mkfs.ntfs", "-q", "-F"], ["lowntfs-3g"], 8),
    )
    tried = (_mounts(*kind) for kind in kinds)
    return lacking or next((why for why in tried if why is not None), None)


def _reflink() -> str | None:
    return _mounts(["mkfs.xfs", "-q", "-m", "reflink=1"], ["mount"], 320)


def _vfat() -> str | None:
    return _mounts(["mkfs.vfat"], ["mount", "-t", "vfat"], 8)


def _cgroup() -> str | None:
    if (lacking := _root()) is not None:
        return lacking
    group = CGROUP / f"onnx-align-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        return f"{CGROUP}: {error.strerror}"
    try:
        return None if (group / LIMITED_BY).exists() else f"{CGROUP} is no memory controller"
    finally:
        group.rmdir()


def _chromium() -> str | None:
    from tests.inspection.chromium import program

    return None if program() else "no chromium"


CAPABILITIES: Final[dict[str, Callable[[], str | None]]] = {
    "root": _root,
    "strace": _strace,
    "mount": _mount,
    "reflink": _reflink,
    "vfat": _vfat,
    "cgroup": _cgroup,
    "chromium": _chromium,
}
"""By name: `needs_` and the name is the mark. Each says why not; None: it can."""


def why_not() -> dict[str, str | None]:
    """Try everything out."""
    return {name: probe() for name, probe in CAPABILITIES.items()}


def required() -> frozenset[str]:
    """The capabilities, and exporters, that nothing may skip for."""
    return frozenset(filter(None, os.environ.get("ONNX_ALIGN_REQUIRE", "").split(",")))


if __name__ == "__main__":
    found = why_not()
    for name, why in found.items():
        if why is not None:
            sys.stderr.write(f"no {name} here ({why}): its tests will skip\n")
    sys.stdout.write(",".join(name for name, why in found.items() if why is None) + "\n")
