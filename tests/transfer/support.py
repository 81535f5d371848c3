"""What the tests of this room share: bytes, files, and a naive copy to compare with."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from onnx_align_pass.transfer.ladder import Rung
from onnx_align_pass.transfer.rungs import SplicePipe, standard_rungs

STANDARD = ("clone", "splice", "copy_file_range", "buffered")


def noise(count: int, seed: int = 0) -> bytes:
    """Bytes without a zero among them, so that a hole is never mistaken for data."""
    return bytes(random.Random(seed).choices(range(1, 256), k=count))


def standard(*names: str, pipe: SplicePipe | None = None) -> tuple[Rung, ...]:
    buffer = memoryview(bytearray(1 << 16))
    rungs = standard_rungs(pipe or SplicePipe(), lambda: buffer)
    return tuple(rung for rung in rungs if rung.name in names)


@contextmanager
def file_of(data: bytes, folder: Path | None = None) -> Iterator[int]:
    """An open file with this content, without a name."""
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(data)
        file.flush()
        yield file.fileno()


def content(fd: int) -> bytes:
    os.lseek(fd, 0, os.SEEK_SET)
    with os.fdopen(os.dup(fd), "rb") as file:
        return file.read()


def naive(source: bytes, src_off: int, target: bytes, dst_off: int, length: int) -> bytes:
    """What a copy shall leave: a loop over bytes."""
    result = bytearray(target)
    for index in range(length):
        place = dst_off + index
        if place >= len(result):
            result.extend(bytes(place + 1 - len(result)))
        result[place] = source[src_off + index]
    return bytes(result)


class Recorder:
    """A progress that remembers."""

    def __init__(self) -> None:
        self.advances: list[tuple[int, str]] = []
        self.phases: list[str] = []

    def begin(self, model: str, total_bytes: int) -> None:
        raise AssertionError("the engine begins nothing")

    def advance(self, nbytes: int, tensor: str) -> None:
        self.advances.append((nbytes, tensor))

    def phase(self, text: str) -> None:
        self.phases.append(text)
