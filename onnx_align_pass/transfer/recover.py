"""What killed runs left behind: found, told from live runs, finished or discarded."""

from __future__ import annotations

import errno
import mmap
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from onnx_align_pass.errors import WriteError
from onnx_align_pass.paths import look, owner_of, owners_that_count
from onnx_align_pass.spelling import alike
from onnx_align_pass.transfer import kernel
from onnx_align_pass.transfer.commit import folder_lock
from onnx_align_pass.transfer.journal import Journal, read_journal, read_stamp
from onnx_align_pass.transfer.publication import Publication, Standing
from onnx_align_pass.transfer.staging import remove_staging, staging_prefix

__all__ = ["Leftover", "is_staging_name", "recover_folder"]

Outcome = Literal["finished", "discarded", "live", "untrusted"]
_STAGING = re.compile(r"\..+\.align-[0-9a-f]{8}", re.DOTALL)
_TOKEN_LENGTH = len("01234567")
_NO_FILE = frozenset({errno.ENXIO, errno.EISDIR})
"""What opening a socket, or a folder, ends with."""
Names = Callable[[Path, Path], bool | None]
"""Whether a model names a file; None: nobody knows."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """A staging folder that was found, and what was done about it."""

    path: Path
    outcome: Outcome
    reason: str


def is_staging_name(name: str) -> bool:
    """Whether a folder is called as staging folders are."""
    return _STAGING.fullmatch(name) is not None


def _unknown(model: Path, file: Path) -> None:
    """Nobody can read models here: a model that holds the name's bytes may name the file."""


def recover_folder(
    folder: Path, model_name: str | None = None, *, names: Names = _unknown
) -> tuple[Leftover, ...]:
    """Finish or discard what killed runs left in a folder; live runs are not touched.

    Args:
        folder: Where the models are.
        model_name: Only what belongs to this model; None: to any.
        names: Reads models; both paths are resolved.

    Raises:
        WriteError: Something that was left behind cannot be finished or removed.
    """
    found = sorted(_staging_folders(folder, model_name))
    return tuple(_recover(path, names) for path in found)


def _staging_folders(folder: Path, model_name: str | None) -> Iterator[Path]:
    prefix = "." if model_name is None else alike(staging_prefix(model_name))
    try:
        names = os.listdir(folder)
        # Where upper and lower case are one, the run may have spelled the name otherwise.
        for path in (folder / name for name in names if alike(name).startswith(prefix)):
            if is_staging_name(path.name) and not path.is_symlink() and path.is_dir():
                yield path
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        if model_name is None or not isinstance(error, PermissionError):
            raise WriteError.of(error, folder, doing="looking for leftovers") from None


def _recover(path: Path, names: Names) -> Leftover:
    try:
        lock = kernel.open_folder(path)
    except FileNotFoundError:
        return Leftover(path, "discarded", "another run removed it")
    except OSError as error:
        return Leftover(path, "untrusted", f"it cannot be read: {error.strerror}")
    try:
        if lock is None or not kernel.try_lock(lock):
            return Leftover(path, "live", "a run is writing it")
        with folder_lock(path.parent):
            return _settle(path, names)
    except OSError as error:
        if not path.exists():
            return Leftover(path, "discarded", "another run removed it")
        raise WriteError.of(error, path, doing="recovering") from None
    finally:
        if lock is not None:
            kernel.let_go(lock)


def _settle(path: Path, names: Names) -> Leftover:
    if not os.listdir(path):
        return _remove_empty(path)
    if not read_stamp(path):
        hint = "look at it and remove it by hand"
        if _pointing_into(path, _models_of(path)):
            hint = "a model points into it: repack that one to another folder first"
        return Leftover(path, "untrusted", f"it was not made here by this user; {hint}")
    try:
        journal = read_journal(path)
    except ValueError:
        return _discard(path, _models_of(path), "its journal is damaged")
    if journal is None:
        return _discard(path, _models_of(path), "the run ended before its files were complete")
    if alike(staging_prefix(journal.model)) != alike(path.name[:-_TOKEN_LENGTH]):
        hint = "look at it and remove it by hand"
        return Leftover(path, "untrusted", f"its journal is of another model; {hint}")
    return _carry_on(path, journal, names)


def _remove_empty(path: Path) -> Leftover:
    try:
        path.rmdir()
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        return Leftover(path, "live", "a run is about to write it")
    return Leftover(path, "discarded", "the run ended as it began")


def _carry_on(path: Path, journal: Journal, names: Names) -> Leftover:
    steps = Publication(path, journal, kernel.sync_folder)
    standing, obstacle = steps.standing(), steps.obstacle()
    model = [steps.model]
    if steps.leads_outside():
        if journal.replaces:  # what was replaced may lie in here alone
            hint = "a folder below this one has become a symlink: put it back"
            return Leftover(path, "untrusted", f"it would lead outside; {hint}")
        return _discard(path, model, "a folder below this one has become a symlink since")
    if standing is Standing.OTHER:
        return _discard(path, model, "the model was written anew since")
    if standing is Standing.BRIDGE and obstacle is not None:
        return Leftover(path, "untrusted", f"the model points into it, but {obstacle}")
    if standing is Standing.BEFORE and not steps.begun():
        obstacle = "the run ended before it published anything"
    if standing is Standing.BEFORE and (journal.replaces or obstacle is not None):
        steps.undo()
        return _discard(path, model, obstacle or "the old model was put back since")
    if standing is not Standing.AFTER:
        steps.publish()
    steps.retire(spared=_still_used(steps, names))
    return _end(path, model, "finished", "the run ended while it published its files")


def _discard(path: Path, models: Iterable[Path], reason: str) -> Leftover:
    return _end(path, models, "discarded", reason)


def _end(path: Path, models: Iterable[Path], outcome: Outcome, reason: str) -> Leftover:
    """Remove a staging folder, unless a model needs what is in it, whatever its journal says."""
    if _pointing_into(path, models):
        return Leftover(path, "untrusted", f"a model points into it, but {reason}")
    remove_staging(path)
    return Leftover(path, outcome, reason)


def _models_of(path: Path) -> list[Path]:
    """The models that a staging folder may belong to, by its name."""
    begins, names = alike(path.name), os.listdir(path.parent)
    return [path.parent / name for name in names if begins.startswith(alike(staging_prefix(name)))]


def _pointing_into(path: Path, models: Iterable[Path]) -> bool:
    location = path.name[-_TOKEN_LENGTH:].encode() + b"/"
    return any(_mentions(model, location) for model in models)


def _still_used(steps: Publication, names: Names) -> set[str]:
    """Superseded data files that another model has come to use since."""
    own = Path(os.path.realpath(steps.folder), steps.journal.model)
    around: dict[tuple[Path, int], list[Path]] = {}
    used: set[str] = set()
    for name in steps.journal.superseded:
        found = look(steps.folder / name)
        if found is None:
            continue
        file = Path(os.path.realpath((steps.folder / name).parent), Path(name).name)
        key = file.parent, found.st_uid
        if key not in around:
            around[key] = [one for one in _models_around(file) if one != own]
        if any(_uses(model, file, names) for model in around[key]):
            used.add(name)
    return used


def _uses(model: Path, file: Path, names: Names) -> bool:
    found = names(model, file)
    return _may_name(model, file) if found is None else found


def _models_around(file: Path) -> Iterator[Path]:
    """Models that can name a file: a location leads down, so those above it too.

    Where anybody may put one, those of strangers do not count: they would be read.
    """
    for place in file.parents:
        try:
            models = [place / name for name in os.listdir(place) if _is_model_name(name)]
        except OSError:
            continue
        owners = owners_that_count(place, file)
        yield from (one for one in models if owners is None or owner_of(one) in owners)


def _is_model_name(name: str) -> bool:
    return name.lower().endswith(".onnx")


def _mentions(model: Path, text: bytes) -> bool:
    """Whether a text occurs in a model. No need for its graph: a location is written out."""
    return any(True for _ in _occurrences(model, text))


def _may_name(model: Path, file: Path) -> bool:
    """Whether a model may point at a file: its name is in it, and is no part of a longer one.

    Before a location stands its length; beside the file that may be all, from above it a `/` leads.
    """
    name, beside = os.fsencode(file.name), model.parent == file.parent
    size = len(name) if len(name) < 0x80 else len(name) >> 7  # the last byte of that varint
    for before in _occurrences(model, name):
        if before is None or before in b"/\\":
            return True
        if beside and (before < ord(" ") or before == size):
            return True
    return False


def _occurrences(model: Path, text: bytes) -> Iterator[int | None]:
    """List where a text occurs in a model, by the byte before it; None where that is not known."""
    try:
        with open(model, "rb", opener=_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        with content:
            at = content.find(text)
            while at >= 0:
                yield content[at - 1] if at else None
                at = content.find(text, at + 1)
    except (FileNotFoundError, ValueError):  # none, or an empty one
        return
    except OSError as error:
        if error.errno not in _NO_FILE:
            yield None  # it may


def _at_once(path: str, flags: int) -> int:
    """Open a file; a FIFO that nobody writes to is not waited for."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
