"""Checksums of data files, which the specification lets every tensor of the file carry."""

from __future__ import annotations

from pathlib import Path

from onnx_align_pass.repair_report import Repair
from onnx_align_pass.transfer.hashing import sha1_of_file
from onnx_align_pass.transfer.open_source import SourceFiles

__all__ = ["Checksums"]


class Checksums:
    """What tensors say of their files (SHA1 of all of it), and what is so."""

    def __init__(self, files: SourceFiles, buffer: memoryview) -> None:
        self._files = files
        self._buffer = buffer
        self._said: list[tuple[Path, str, str]] = []
        self._is: dict[Path, str] = {}

    def add(self, path: Path, tensor: str, checksum: str) -> None:
        """Note what a tensor says of its file."""
        self._said.append((path, tensor, str(checksum)))

    def stale(self) -> list[Repair]:
        """The checksums that their files do not have; each file is read once.

        Raises:
            SourceChangedError: A file was changed meanwhile.
            OSError: A file cannot be read; `filename` is its path.
        """
        return [
            Repair(
                "checksum-stale",
                "the data file has another checksum: it was changed, or is damaged",
                tensor,
                said,
                "",
            )
            for path, tensor, said in self._said
            if said.strip().lower() != self._of(path, tensor)
        ]

    def notes(self) -> tuple[str, ...]:
        """What is to be said of the others."""
        right = len(self._said) - len(self.stale())
        if not right:
            return ()
        return (f"{right:,} x a right checksum of a data file, which a new file would not have",)

    def _of(self, path: Path, tensor: str) -> str:
        if path not in self._is:
            self._is[path] = sha1_of_file(path, tensor, self._files, self._buffer)
        return self._is[path]
