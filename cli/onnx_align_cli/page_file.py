"""Writes a page for a browser: whole or not at all, and never over a model."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from onnx_align_pass.errors import UsageError, WriteError

__all__ = ["check_page", "write_page"]

_SUFFIXES: Final = (".html", ".htm")


def check_page(path: Path) -> None:
    """Refuse to write a page over what is none.

    Raises:
        UsageError: Something else is there.
    """
    if not path.name or path.is_dir():
        raise UsageError("--html names a folder", found=str(path), hint="Name a file in it.")
    if os.path.lexists(path) and path.suffix.lower() not in _SUFFIXES:
        raise UsageError(
            "--html names a file that is there, and no page",
            found=str(path),
            hint="Choose a name that ends in .html.",
        )


def write_page(path: Path, text: str, inputs: Iterable[Path]) -> None:
    """Write a page under a temporary name, then give it its own.

    Args:
        path: Where it goes; a page that is there is replaced.
        text: The page.
        inputs: What it was made from; never replaced, whatever its name is.

    Raises:
        UsageError: It would replace an input.
        WriteError: It cannot be written; what was there is as it was.
    """
    if any(_same(path, one) for one in inputs):
        raise UsageError("--html names a file that the model is made of", found=str(path))
    staged = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}")
    try:
        with open(staged, "x", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        staged.replace(path)
    except OSError as error:
        raise WriteError.of(error, path) from None
    finally:
        with suppress(OSError):
            staged.unlink()


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return False
