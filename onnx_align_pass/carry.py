"""Files of a folder that are no model and no model's data: copied as they are."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from onnx_align_pass.progress import Progress
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.transfer.engine import Piece, write_pieces
from onnx_align_pass.transfer.ladder import Ladder
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.staging import Stage
from onnx_align_pass.write import explained

__all__ = ["carry", "opened"]


@contextmanager
def opened(folder: Path, others: Mapping[str, Path]) -> Iterator[SourceFiles]:
    """Open the files to be carried along; each is proven to be one that may be read.

    Args:
        folder: Where they come from.
        others: Their paths, by name relative to the folder.

    Raises:
        UnsafeDataFileError: One leaves the folder, or is not a plain file.
        ExternalDataError: One cannot be read.
    """
    # A hub's snapshot is made of symlinks into the blobs beside it.
    blobs = {Path(os.path.realpath(path)).parent for path in others.values() if _is_blob(path)}
    with SourceFiles(roots=(folder, *blobs), owner_uid=folder.stat().st_uid) as files:
        for path in others.values():
            files.size(path)
        yield files


def carry(
    others: Mapping[str, Path],
    target: Path,
    files: SourceFiles,
    *,
    progress: Progress,
    durable: bool,
) -> None:
    """Copy files to the same names below `target`, each published by a rename.

    Raises:
        WriteError: Writing failed; what was published before stays.
    """
    with Ladder() as ladder:
        for name, path in others.items():
            final, size = target / name, files.size(path)
            with Stage(final.parent, final.name) as stage, explained(final, size):
                staged = stage.data_path(final.name)
                fd = stage.create(staged, None)
                try:
                    staged.chmod(path.stat().st_mode & 0o777)
                    write_pieces(
                        fd,
                        [Piece(FileSpan(path, 0, size), 0, name)],
                        size,
                        sources=files,
                        ladder=ladder,
                        progress=progress,
                        durable=durable,
                    )
                finally:
                    os.close(fd)
                staged.replace(final)


def _is_blob(path: Path) -> bool:
    """Whether a file is a symlink as a hub's cache has them: `../../blobs/HASH`."""
    return path.is_symlink() and Path(os.path.realpath(path)).parent.name == "blobs"
