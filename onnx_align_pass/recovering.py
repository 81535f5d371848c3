"""The call that finishes or discards what killed runs left behind."""

from __future__ import annotations

import os
from pathlib import Path

from onnx_align_pass.paths import StrPath, given_path
from onnx_align_pass.references import References
from onnx_align_pass.spelling import alike
from onnx_align_pass.transfer import recover
from onnx_align_pass.transfer.recover import Leftover

__all__ = ["Leftover", "recover_folder"]


def recover_folder(folder: StrPath, model_name: str | None = None) -> tuple[Leftover, ...]:
    """Finish or discard what killed runs left in a folder; live runs are not touched.

    Args:
        folder: Where the models are.
        model_name: Only what belongs to this model; None: to any.

    Raises:
        UsageError: The path is empty.
        WriteError: Something that was left behind cannot be finished or removed.
    """
    return recover.recover_folder(given_path(folder, "folder"), model_name, names=_Names())


class _Names:
    """Reads which models name a file, each of them once."""

    def __init__(self) -> None:
        self._references = References()

    def __call__(self, model: Path, file: Path) -> bool | None:
        """Whether a model names a file. None: it cannot be read.

        By its name, not by its inode: of a file that has two, one may go.
        """
        names = self._references.of(model)
        if not isinstance(names, frozenset):
            return None
        places = [model.parent / name for name in names]
        spelled = {alike(os.path.normpath(place)) for place in places}
        spelled |= {alike(os.path.realpath(place)) for place in places}
        return alike(str(file)) in spelled
