"""What a model file allows its tensors to be read from."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from onnx_align_pass.errors import ModelNotFoundError
from onnx_align_pass.transfer.open_source import SourceFiles

__all__ = ["Origin"]


@dataclass(frozen=True, slots=True)
class Origin:
    """A model file as it was found, with the folders that its data files must lie in."""

    model: Path
    roots: tuple[Path, ...]
    """Its folder, and that of what it is a link to: the cache layout of the Hugging Face Hub."""
    owner_uid: int
    """Data files with several links are read when they have this owner."""
    allow_hard_links: bool = False
    """Read them whoever owns them."""

    @classmethod
    def of(cls, model: Path, *, allow_hard_links: bool = False) -> Origin:
        """Look at a model file.

        Args:
            model: The file.
            allow_hard_links: See the field.

        Raises:
            ModelNotFoundError: There is no such model, or it is not a file.
        """
        try:
            found = model.stat()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ModelNotFoundError(f"the model cannot be read: {reason}", file=model) from None
        if not stat.S_ISREG(found.st_mode):
            raise ModelNotFoundError(
                "the model is not a regular file",
                file=model,
                found=stat.filemode(found.st_mode),
                hint="Name the .onnx file itself.",
            )
        roots = (model.parent, Path(os.path.realpath(model)).parent)
        return cls(model, roots, found.st_uid, allow_hard_links)

    def open(self) -> SourceFiles:
        """Open its files: those in the roots, and itself wherever it is."""
        files = SourceFiles(
            roots=self.roots, owner_uid=self.owner_uid, allow_hard_links=self.allow_hard_links
        )
        files.trust(self.model)
        return files
