"""Locations that lead out of the folder in some spelling, on some system, or to something odd.

Wherever the spelling is a name on Linux, a file of this very name is there: what is read then is
that file, never the secret beside the folder.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.corpus.bad_paths import SECRET, pointing
from tests.corpus.build import numbers

from .attack import Book

__all__ = ["LOCATIONS", "OWN"]

LOCATIONS = Book()
OWN = numbers("own", [300]).tobytes()
"""What lies in the files that have the odd names."""


def _pointing(folder: Path, location: str, *, exists: bool) -> Path:
    (folder / "secret.data").write_bytes(SECRET)
    if exists:
        path = folder / "model" / location
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(OWN)
    return pointing(folder, location)


def _add(
    name: str, location: str, *, refused: str | None = None, hazard: str | None = None
) -> None:
    """An attack of a location; unless it is refused, a file of this name exists."""
    exists = refused is None

    def build(folder: Path) -> Path:
        return _pointing(folder, location, exists=exists)

    LOCATIONS.add(name, build, refused=refused, hazard=hazard)


for _name, _location in (
    ("up", "../secret.data"),
    ("up in the middle", "a/../../secret.data"),
    ("up with a dot", "./..//secret.data"),
    ("up alone", ".."),
    ("up and a slash", "../"),
    ("up many times", "../" * 60 + "etc/passwd"),
    ("up with backslashes", "..\\secret.data"),
    ("up with both slashes", "..\\/secret.data"),
    ("up at the end", "a/.."),
    ("absolute", "/etc/passwd"),
    ("absolute with two slashes", "//etc/passwd"),
    ("a UNC path", "\\\\server\\share\\w.data"),
    ("a verbatim path of Windows", "\\\\?\\C:\\w.data"),
    ("a device path of Windows", "\\\\.\\PhysicalDrive0"),
    ("a drive", "C:\\w.data"),
    ("a drive with slashes", "C:/w.data"),
    ("a place on a drive", "C:w.data"),
    ("the root", "/"),
    ("a NUL", "w\0.data"),
    ("a newline", "w\n"),
    ("a carriage return", "w\r.data"),
    ("ESC", "\x1b]0;owned\x07.data"),
    ("a C1 control character", "w\x9b31m.data"),
    ("DEL", "w\x7f.data"),
):
    _add(_name, _location, refused="unsafe-location")
for _name, _location in (("nothing", ""), ("a dot", "."), ("a slash at the end", "w.data/")):
    _add(_name, _location, refused="bad-location")
for _name, _location in (
    ("a file of a process", "self/fd/0"),
    ("a URL", "file:///etc/passwd"),
    ("a URL of one slash", "file:/etc/passwd"),
    ("a home folder", "~/secret.data"),
    ("a variable", "$HOME/secret.data"),
    ("an encoded way up", "%2e%2e/secret.data"),
    ("an encoded slash", "..%2fsecret.data"),
    ("a way up in one-dot leaders", "\u2024\u2024/secret.data"),
    ("a way up in a two-dot leader", "\u2025/secret.data"),
    ("a way up in full-width dots", "\uff0e\uff0e/secret.data"),
    ("a way up with a full-width slash", "..\uff0fsecret.data"),
    ("a way up with a blank", ".. /secret.data"),
    ("a way up with three dots", ".../secret.data"),
):
    _add(f"{_name}, missing", _location, refused="data-file-missing")
_add("a name of 256 bytes", "w" * 256, refused="data-file-unreadable")
_add("a path of 5,000 bytes", "w/" * 2_500 + "w", refused="data-file-unreadable")
for _name, _location in (
    ("a home folder", "~/secret.data"),
    ("a variable", "$HOME/secret.data"),
    ("an encoded way up", "%2e%2e/secret.data"),
    ("a way up in one-dot leaders", "\u2024\u2024/secret.data"),
    ("a way up with a full-width slash", "w\uff0fsecret.data"),
    ("a name of 255 bytes", "w" * 255),
):
    _add(f"{_name}, there", _location)
for _name, _location in (
    ("a device of Windows", "NUL.data"),
    ("a device of Windows in small letters", "aux"),
    ("a port of Windows in a folder", "com1/w.data"),
    ("a dot at the end", "w.data."),
    ("a blank at the end", "w.data "),
    ("a folder that ends in a dot", "w./w.data"),
    ("a stream of NTFS", "w.data:stream"),
    ("a pattern", "w*?.data"),
    ("a way up in one name", ".../secret.data"),
    ("a mark of direction", "w\u202eatad.exe"),
    ("a name without a width", "w\u200b.data"),
):
    _add(_name, _location, hazard="unportable-name")


@LOCATIONS.attack(hazard="names-alike")
def names_that_differ_by_case(folder: Path) -> Path:
    """Two data files whose names are one to Windows and macOS."""
    return _two(folder, "W.data", "w.DATA")


@LOCATIONS.attack(hazard="names-alike")
def names_that_differ_by_normal_form(folder: Path) -> Path:
    """Two data files whose names look the same, composed and decomposed."""
    return _two(folder, "\u00f6.data", "o\u0308.data")


def _two(folder: Path, *names: str) -> Path:
    from onnx import TensorProto

    from tests.corpus.build import point, showing, tensor, write

    (folder / "model").mkdir()
    weights: list[TensorProto] = []
    for index, name in enumerate(names):
        (folder / "model" / name).write_bytes(OWN)
        entries = (("location", name), ("offset", "0"), ("length", str(len(OWN))))
        weights.append(point(tensor(f"w{index}", [300]), entries))
    assert len(os.listdir(folder / "model")) == len(names), "this file system folds names"
    return write(folder / "model", showing(weights))
