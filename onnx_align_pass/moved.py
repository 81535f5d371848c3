"""Whether a model was moved already, by a run that was killed before it removed the old one."""

from __future__ import annotations

import stat
from pathlib import Path

from onnx_align_pass.errors import VerifyError
from onnx_align_pass.model.emit import assemble, size_of
from onnx_align_pass.paths import is_one_name, same_file
from onnx_align_pass.pieces import model_pieces
from onnx_align_pass.relocation import Relocation
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.transfer.compare import compare_pieces
from onnx_align_pass.transfer.engine import Piece
from onnx_align_pass.transfer.open_source import SourceFiles

__all__ = ["stands"]


def stands(plan: Relocation, files: SourceFiles, buffer: memoryview) -> bool:
    """Whether each file of a model is at its new place already, beside the old one.

    A data file that is the old one by another name is known at once; a copy is read and compared.

    Args:
        plan: What would move.
        files: Opens the old files.
        buffer: For the comparison; its content is lost.

    Raises:
        ModelError: A source cannot be read.
    """
    pairs = [*plan.paths, (plan.source, plan.model)]
    if not all(_is_file(new) and not is_one_name(old, new) for old, new in pairs):
        return False
    content = {new: old for old, new in plan.paths}
    if plan.renames:
        parts = assemble(plan.skeleton)
        if plan.model.stat().st_size != size_of(parts):
            return False
        compared = [(plan.model, model_pieces(parts))]
    else:
        content[plan.model] = plan.source
        compared = []
    for new, old in content.items():
        if not same_file(old, new):
            size = files.size(old)
            if new.stat().st_size != size:
                return False
            compared.append((new, [Piece(FileSpan(old, 0, size), 0, new.name)]))
    try:
        for new, pieces in compared:
            compare_pieces(new, pieces, files, buffer)
    except VerifyError:
        return False
    files.verify_unchanged()
    return True


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return False
