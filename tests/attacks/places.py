"""What lies where a location points: links, loops, devices, pipes, and other people's folders."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from tests.corpus.bad_paths import SECRET, pointing
from tests.corpus.build import DATA

from .attack import Book

__all__ = ["PLACES"]

PLACES = Book()


def _linked(name: str, target: str, *, refused: str) -> None:
    """An attack in which the data file is a link."""

    def build(folder: Path) -> Path:
        (folder / "secret.data").write_bytes(SECRET)
        (folder / "model").mkdir()
        (folder / "model" / DATA).symlink_to(target)
        return pointing(folder, DATA)

    PLACES.add(name, build, refused=refused)


_linked("a link out", "../secret.data", refused="data-file-outside")
_linked("a link to a system's file", "/etc/passwd", refused="data-file-outside")
_linked("a link to an endless device", "/dev/zero", refused="data-file-outside")
_linked("a link to a terminal", "/dev/tty", refused="data-file-outside")
_linked("a link to standard input", "/dev/stdin", refused="data-file-outside")
_linked("a link to a process's memory", "/proc/self/mem", refused="data-file-outside")
_linked("a link to a process's environment", "/proc/self/environ", refused="data-file-outside")
_linked("a link to a descriptor", "/proc/self/fd/0", refused="data-file-outside")
_linked(
    "a link to the root of a process", "/proc/self/root/etc/passwd", refused="data-file-outside"
)
_linked("a link to itself", DATA, refused="data-file-unreadable")
_linked("a link to nothing", "gone", refused="data-file-missing")
_linked("a link to its folder", ".", refused="data-file-irregular")


@PLACES.attack(refused="data-file-unreadable")
def two_links_to_each_other(folder: Path) -> Path:
    """Links that go round."""
    (folder / "model").mkdir()
    (folder / "model" / DATA).symlink_to("other")
    (folder / "model" / "other").symlink_to(DATA)
    return pointing(folder, DATA)


@PLACES.attack(refused="data-file-outside")
def a_folder_that_is_a_link_out(folder: Path) -> Path:
    """The data file is a plain file, and its folder a link."""
    (folder / "secret").mkdir()
    (folder / "secret" / "w.data").write_bytes(SECRET)
    (folder / "model").mkdir()
    (folder / "model" / "weights").symlink_to("../secret")
    return pointing(folder, "weights/w.data")


@PLACES.attack(refused="data-file-outside")
def a_folder_whose_name_begins_as_the_models(folder: Path) -> Path:
    """A comparison of texts takes `model-secret` for a folder in `model`."""
    (folder / "model-secret").mkdir()
    (folder / "model-secret" / "w.data").write_bytes(SECRET)
    (folder / "model").mkdir()
    (folder / "model" / DATA).symlink_to("../model-secret/w.data")
    return pointing(folder, DATA)


@PLACES.attack(refused="data-file-irregular")
def a_pipe(folder: Path) -> Path:
    """A FIFO that nobody writes to."""
    (folder / "model").mkdir()
    os.mkfifo(folder / "model" / DATA)
    return pointing(folder, DATA)


@PLACES.attack(refused="data-file-irregular")
def a_socket(folder: Path) -> Path:
    """A socket, bound by its short relative name: a path of one has 108 bytes at most."""
    (folder / "model").mkdir()
    here = Path.cwd()
    with socket.socket(socket.AF_UNIX) as listening:
        try:
            os.chdir(folder / "model")
            listening.bind(DATA)
        finally:
            os.chdir(here)
    return pointing(folder, DATA)


@PLACES.attack(refused="data-file-irregular")
def a_folder(folder: Path) -> Path:
    """A folder that is called as the data file."""
    (folder / "model" / DATA).mkdir(parents=True)
    return pointing(folder, DATA)
