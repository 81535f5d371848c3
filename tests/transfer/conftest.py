"""A file system that clones, where one can be made."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def cloning_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The root of a loop-mounted XFS of about 300 MB."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("needs root, to mount")
    if not (shutil.which("mkfs.xfs") and shutil.which("mount")):
        pytest.skip("needs mkfs.xfs and mount")
    base = tmp_path_factory.mktemp("xfs")
    image, folder = base / "image", base / "mounted"
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(320 << 20)
    made = subprocess.run(["mkfs.xfs", "-q", "-m", "reflink=1", image], capture_output=True)
    if made.returncode:
        pytest.skip(f"mkfs.xfs cannot make a cloning file system: {made.stderr.decode()}")
    mounted = subprocess.run(["mount", "-o", "loop", image, folder], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"cannot loop-mount: {mounted.stderr.decode()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
        image.unlink()
