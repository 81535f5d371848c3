"""The inputs that are kept: one archive a target, of what covers all that a long run covered.

`python -m tests.fuzz.kept TARGET FOLDER` makes the archive anew from a merged folder.
"""

from __future__ import annotations

import hashlib
import io
import sys
import tarfile
from pathlib import Path

__all__ = ["TARGETS", "kept"]

TARGETS = ("skeleton", "align", "recover", "texts")


def kept(target: str) -> list[bytes]:
    """The inputs of a target, in an order of their own."""
    with tarfile.open(_archive(target)) as archive:
        files = (archive.extractfile(member) for member in archive.getmembers())
        return [file.read() for file in files if file is not None]


def keep(target: str, folder: Path) -> None:
    """Make the archive of a target: the same bytes of the same inputs."""
    inputs = {hashlib.sha1(data).hexdigest()[:12]: data for data in map(_bytes, folder.iterdir())}
    with tarfile.open(_archive(target), "w:xz", preset=9) as archive:
        for name in sorted(inputs):
            entry = tarfile.TarInfo(name)
            entry.size = len(inputs[name])
            archive.addfile(entry, io.BytesIO(inputs[name]))


def _bytes(path: Path) -> bytes:
    return path.read_bytes()


def _archive(target: str) -> Path:
    return Path(__file__).with_name("corpus") / f"{target}.tar.xz"


if __name__ == "__main__":
    keep(sys.argv[1], Path(sys.argv[2]))
