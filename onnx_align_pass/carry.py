"""Files of a folder that are no model and no model's data: copied as they are."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from onnx_align_pass.errors import (
    DataFileSharedError,
    DestinationExistsError,
    DestinationIsSourceError,
    ModelNotFoundError,
    UnsafeDataFileError,
)
from onnx_align_pass.explaining import explained
from onnx_align_pass.paths import inode
from onnx_align_pass.progress import Progress
from onnx_align_pass.references import Around, References
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.transfer import kernel
from onnx_align_pass.transfer.engine import Piece, write_pieces
from onnx_align_pass.transfer.ladder import Ladder
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.staging import Stage

__all__ = ["carry", "check_links", "check_replaced", "missing_folders", "opened"]


def check_links(folder: Path, paths: Iterable[Path]) -> None:
    """Prove that no symlink among a folder's files leads nowhere, or out of the folder.

    Raises:
        ModelNotFoundError: One leads nowhere.
        UnsafeDataFileError: One leaves the folder, and not into its hub repository's blobs.
    """
    real, blobs = Path(os.path.realpath(folder)), _blobs_of(folder)
    for path in paths:
        if not path.is_symlink():
            continue
        resolved = Path(os.path.realpath(path))
        if inode(path) is None:
            raise ModelNotFoundError(
                "the symlink leads nowhere",
                file=path,
                found=f"its target {resolved}",
                hint="Remove the symlink, or bring its target back.",
            )
        if not resolved.is_relative_to(real) and resolved.parent != blobs:
            raise UnsafeDataFileError(
                "the file leaves the folder",
                file=path,
                needed=f"a file in {real}",
                found=str(resolved),
                hint="Put the file itself there.",
            )


def check_replaced(
    others: Mapping[str, Path], target: Path, sources: Iterable[Path], references: References
) -> tuple[str, ...]:
    """Prove that the files that would be replaced below `target` are nobody's.

    Returns:
        What is not known of them.

    Raises:
        DestinationError: One is a folder, a file of the source, or some model's data.
    """
    read = {inode(path) for path in sources}
    notes: list[str] = []
    around = references.around(None)
    for final in (target / name for name in others):
        if not os.path.lexists(final):
            continue
        if os.path.isdir(final):
            raise DestinationExistsError(
                "a folder has the name of a file", file=final, hint="Choose another destination."
            )
        if (found := inode(final)) is not None and found in read:
            raise DestinationIsSourceError(
                "the destination is a file of the source",
                file=final,
                hint="Choose another destination.",
            )
        notes += _check_sharing(final, around)
    return tuple(notes)


def missing_folders(folders: Iterable[Path]) -> list[Path]:
    """Folders that a run will have to make, those above them included."""
    above = (one for folder in folders for one in (folder, *folder.parents))
    return [one for one in dict.fromkeys(above) if not one.exists()]


@contextmanager
def opened(
    folder: Path, others: Mapping[str, Path], *, allow_hard_links: bool = False
) -> Iterator[SourceFiles]:
    """Open the files to be carried along; each is proven to be one that may be read.

    Args:
        folder: Where they come from.
        others: Their paths, by name relative to the folder.
        allow_hard_links: Carry files with several links whoever owns them.

    Raises:
        UnsafeDataFileError: One leaves the folder, or is not a plain file.
        ExternalDataError: One cannot be read.
    """
    blobs = _blobs_of(folder)
    roots = (folder,) if blobs is None else (folder, blobs)
    owner = folder.stat().st_uid
    with SourceFiles(roots=roots, owner_uid=owner, allow_hard_links=allow_hard_links) as files:
        for path in others.values():
            files.size(path)
        yield files


def carry(
    others: Mapping[str, Path],
    target: Path,
    files: SourceFiles,
    made: Iterable[Path],
    *,
    progress: Progress,
    durable: bool,
) -> None:
    """Copy files to the same names below `target`, each published by a rename.

    Args:
        others: Their paths, by name relative to `target`.
        target: The folder.
        files: What `opened` gave.
        made: Folders that the run made: their names are brought to the disk, too.
        progress: Told of each transfer.
        durable: Return only when the result is on the disk.

    Raises:
        ModelError: A file was changed meanwhile.
        WriteError: Writing failed; what was published before stays.
    """
    with Ladder() as ladder:
        for name, path in others.items():
            _carry(path, target / name, files, ladder, progress, durable=durable)
    if durable:
        touched = [(target / name).parent for name in others]
        touched += [one.parent for one in made if one.exists()]
        with explained(target, 0, reads=False):
            for folder in dict.fromkeys(touched):
                kernel.sync_folder(folder)
    files.verify_unchanged()


def _carry(
    path: Path,
    final: Path,
    files: SourceFiles,
    ladder: Ladder,
    progress: Progress,
    *,
    durable: bool,
) -> None:
    size, like = files.size(path), _replaced(final)
    with Stage(final.parent, final.name) as stage, explained(final, size, stage=stage):
        staged = stage.data_path(final.name)
        fd = stage.create(staged, like)
        try:
            if like is None:
                staged.chmod(path.stat().st_mode & 0o777)
            write_pieces(
                fd,
                [Piece(FileSpan(path, 0, size), 0, final.name)],
                size,
                sources=files,
                ladder=ladder,
                progress=progress,
                durable=durable,
            )
        finally:
            os.close(fd)
        staged.replace(final)


def _replaced(final: Path) -> os.stat_result | None:
    """The file that another is about to replace; a symlink has neither mode nor owner to keep."""
    try:
        found = final.lstat()
    except OSError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _check_sharing(final: Path, around: Around) -> list[str]:
    sharers = around.others(final)
    if sharers.users:
        raise DataFileSharedError(
            "the file that would be replaced is a model's data",
            file=final,
            found=", ".join(map(str, sharers.users)),
            hint="Choose another destination.",
        )
    return list(sharers.doubts(final.name))


def _blobs_of(folder: Path) -> Path | None:
    """The blobs that a hub's snapshot points into: `repo/blobs` for `repo/snapshots/REVISION`."""
    real = Path(os.path.realpath(folder))
    found = (one.parent / "blobs" for one in (real, *real.parents) if one.name == "snapshots")
    return next(found, None)
