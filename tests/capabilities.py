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
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from tests.commit.mounts import disk, layered, through

__all__ = ["CAPABILITIES", "CGROUP", "LIMITED_BY", "required", "why_not"]

CGROUP: Final = Path("/sys/fs/cgroup/memory")
"""The memory controller of cgroup v1."""
LIMITED_BY: Final = "memory.limit_in_bytes"


def _root() -> str | None:
    return None if hasattr(os, "geteuid") and os.geteuid() == 0 else "not root"


def _programs(*names: str) -> str | None:
    lacking = [name for name in names if shutil.which(name) is None]
    return f"no {', '.join(lacking)}" if lacking else None


def _strace() -> str | None:
    if (lacking := _programs("strace")) is not None:
        return lacking
    done = subprocess.run(["strace", "-e", "trace=none", "true"], capture_output=True, text=True)
    return f"strace: {done.stderr.strip()}" if done.returncode else None


def _tried(make: Callable[[Path], AbstractContextManager[Path]]) -> str | None:
    """Mount as the tests do, where they do; why they would skip."""
    with tempfile.TemporaryDirectory() as name:
        try:
            with make(Path(name)):
                return None
        except pytest.skip.Exception as skipped:
            return str(skipped)
        except subprocess.CalledProcessError as error:
            return str(error)


def _disks(*kinds: str) -> str | None:
    tried = (_tried(partial(disk, kind=kind)) for kind in kinds)
    return next((why for why in tried if why is not None), None)


def _mount() -> str | None:
    return _programs("chattr") or _disks("ext4", "tmpfs", "exfat", "ntfs")


def _btrfs() -> str | None:
    return _programs("btrfs") or _disks("btrfs")


def _layered(program: str) -> str | None:
    def make(base: Path) -> AbstractContextManager[Path]:
        (base / "lower").mkdir()
        return layered(base, base / "lower", program)

    return _tried(make)


def _bindfs() -> str | None:
    return _tried(lambda base: through(base / "folder", base / "view"))


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
    "reflink": partial(_disks, "xfs"),
    "btrfs": _btrfs,
    "vfat": partial(_disks, "vfat"),
    "overlay": partial(_layered, "mount"),
    "fuse_overlayfs": partial(_layered, "fuse-overlayfs"),
    "bindfs": _bindfs,
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
