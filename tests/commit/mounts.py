"""File systems of all kinds, mounted for a test: small, full, read-only, without hard links.

Needs root. What cannot be mounted is skipped; `.ci/run` requires what the machine can
(see `tests.capabilities`), and there a skip is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pytest

__all__ = ["KINDS", "attached", "disk", "image", "layered", "mounted", "through"]


class Kind(NamedTuple):
    """How a file system is made and mounted."""

    make: tuple[str, ...]
    """Ends with the image."""
    mount: tuple[str, ...]
    """Ends with the device and the folder."""
    least_mib: int


KINDS: Final = {
    "ext4": Kind(("mkfs.ext4", "-q", "-m", "0"), ("mount",), 6),
    "xfs": Kind(("mkfs.xfs", "-q", "-m", "reflink=1"), ("mount",), 320),
    # Data and metadata share their room, as they must on a small disk.
    "btrfs": Kind(("mkfs.btrfs", "-q", "-M", "-m", "single", "-d", "single"), ("mount",), 24),
    "vfat": Kind(("mkfs.vfat",), ("mount", "-t", "vfat"), 8),
    "exfat": Kind(("mkfs.exfat",), ("mount.exfat-fuse",), 8),
    "ntfs": Kind(("mkfs.ntfs", "-q", "-F"), ("lowntfs-3g", "-o", "ignore_case"), 8),
}
"""By name. exFAT and NTFS come through FUSE, so that they need no kernel that knows them."""


@contextmanager
def disk(base: Path, kind: str, mib: int = 0) -> Iterator[Path]:
    """The root of a new file system; of `mib` MiB, or the smallest of its kind.

    Args:
        base: A folder for the image, and to mount in.
        kind: One of `KINDS`, or tmpfs.
        mib: Its size; some is for the file system itself.
    """
    base.mkdir(parents=True, exist_ok=True)
    folder = base / "mounted"
    if kind == "tmpfs":
        command = ["mount", "-t", "tmpfs", "-o", f"size={mib or 4}m", "tmpfs"]
        with mounted(folder, *command) as root:
            yield root
        return
    found = KINDS[kind]
    made = image(base / "image", max(mib, found.least_mib) << 20, *found.make)
    try:
        with attached(made) as device, mounted(folder, *found.mount, device) as root:
            yield root
    finally:
        made.unlink()


@contextmanager
def layered(base: Path, lower: Path, program: str = "mount") -> Iterator[Path]:
    """A writable layer over `lower`, as containers have: by the kernel, or by fuse-overlayfs."""
    upper, work = base / "upper", base / "work"
    for one in (upper, work):
        one.mkdir(parents=True, exist_ok=True)
    layers = ["-o", f"lowerdir={lower},upperdir={upper},workdir={work}"]
    kernel = ["mount", "-t", "overlay", *layers, "overlay"]
    command = kernel if program == "mount" else [program, *layers]
    with mounted(base / "layered", *command) as folder:
        yield folder


@contextmanager
def through(folder: Path, view: Path) -> Iterator[Path]:
    """A folder seen through FUSE."""
    folder.mkdir(parents=True, exist_ok=True)
    with mounted(view, "bindfs", folder) as root:
        yield root


def image(path: Path, size: int, *command: str) -> Path:
    """Make an image of `size` bytes with a `mkfs` command; skip where there is no such command."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("needs root, to mount")
    if shutil.which(command[0]) is None:
        pytest.skip(f"needs {command[0]}")
    with path.open("wb") as file:
        file.truncate(size)
    subprocess.run([*command, path], check=True, capture_output=True)
    return path


@contextmanager
def attached(path: Path) -> Iterator[str]:
    """Attach an image to a loop device; the device's name."""
    done = subprocess.run(["losetup", "-f", "--show", path], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"needs a loop device: {done.stderr.strip()}")
    device = done.stdout.strip()
    try:
        yield device
    finally:
        subprocess.run(["losetup", "-d", device], check=True)


@contextmanager
def mounted(folder: Path, *command: str | Path) -> Iterator[Path]:
    """Mount by a command that ends with the folder; skip where it fails."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("needs root, to mount")
    folder.mkdir(exist_ok=True)
    done = _try([*command, folder])
    if done is not None:
        pytest.skip(done)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def _try(command: Sequence[str | Path]) -> str | None:
    """Run a command; say why it failed."""
    if shutil.which(command[0]) is None:
        return f"needs {command[0]}"
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = done.stderr.strip().splitlines() or [""]
    return f"cannot mount here: {said[0]}" if done.returncode else None
