"""SHA-256 of many sources, on two processors where there are two; SHA-1 of a file.

Memory is constant. hashlib lets go of the interpreter while it hashes, as reads do: two threads
take half the time.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Final, NamedTuple

from onnx_align_pass.spans import FileSpan, Source
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.parts import parts_of

__all__ = ["Named", "hash_sources", "sha1_of_file"]

_PART_BYTES: Final = 1 << 20
"""Of a read: a larger buffer falls out of the processor's cache."""
_WORTH_A_THREAD: Final = 4 << 20
"""Bytes; fewer are hashed before a second thread has begun."""
_LOOK_SECONDS: Final = 0.1


class Named(NamedTuple):
    """A source, and the tensor whose bytes it is."""

    source: Source
    name: str


def hash_sources(
    sources: Sequence[Named],
    open_files: Callable[[], SourceFiles],
    advance: Callable[[int, str], None],
) -> list[bytes]:
    """Hash each source.

    Args:
        sources: What to hash.
        open_files: Opens the files of the spans; called once for each thread.
        advance: Told of bytes that were hashed, and the tensor at hand; called from this thread.

    Returns:
        The SHA-256 of each, in the order of the sources.

    Raises:
        ExternalDataError, SourceChangedError: A source cannot be read, or ended early.
        OSError: `filename` is the source where reading it failed.
    """
    work = _Work(sources, open_files)
    total = sum(one.source.length for one in sources)
    threads = min(2, os.cpu_count() or 1, len(sources)) if total >= _WORTH_A_THREAD else 1
    with ThreadPoolExecutor(threads, thread_name_prefix="onnx-align hash") as pool:
        try:
            running: set[Future[None]] = {pool.submit(work.run) for _ in range(threads)}
            while running:
                done, running = wait(running, _LOOK_SECONDS, FIRST_EXCEPTION)
                work.tell(advance)
                for one in done:
                    one.result()
        finally:
            work.stopped = True
    return work.digests


class _Work:
    """Sources that threads take one by one."""

    def __init__(self, sources: Sequence[Named], open_files: Callable[[], SourceFiles]) -> None:
        self.digests = [b""] * len(sources)
        self.stopped = False
        self._open_files = open_files
        self._waiting = iter(enumerate(sources))
        self._lock = threading.Lock()
        self._hashed_bytes = 0
        self._told_bytes = 0
        self._at_hand = ""

    def run(self) -> None:
        """Hash until none is left."""
        view = memoryview(bytearray(_PART_BYTES))
        with self._open_files() as files:
            while (taken := self._take()) is not None:
                index, one = taken
                digest = hashlib.sha256()
                for _, part in parts_of(one.source, one.name, files, view):
                    digest.update(part)
                    with self._lock:
                        self._hashed_bytes += len(part)
                    if self.stopped:
                        return
                self.digests[index] = digest.digest()

    def _take(self) -> tuple[int, Named] | None:
        with self._lock:
            taken = next(self._waiting, None)
            if taken is not None:
                self._at_hand = taken[1].name
        return taken

    def tell(self, advance: Callable[[int, str], None]) -> None:
        """Pass on what was hashed since the last call."""
        with self._lock:
            hashed, at_hand = self._hashed_bytes, self._at_hand
        if hashed > self._told_bytes:
            advance(hashed - self._told_bytes, at_hand)
            self._told_bytes = hashed


def _untold(nbytes: int, tensor: str) -> None:
    """Nobody wants to be told of progress."""


def sha1_of_file(
    path: Path,
    tensor: str,
    files: SourceFiles,
    buffer: memoryview,
    advance: Callable[[int, str], None] = _untold,
) -> str:
    """Hash a whole file, as the `checksum` of external data entries has it.

    Args:
        path: The file.
        tensor: One that lies in it, for errors.
        files: Opens it.
        buffer: For reading; its content is lost.
        advance: Told of bytes that were hashed, and the tensor.

    Returns:
        The SHA-1, in hexadecimal digits.

    Raises:
        ExternalDataError, SourceChangedError: The file cannot be read, or ended early.
        OSError: `filename` is the file where reading it failed.
    """
    digest = hashlib.sha1(usedforsecurity=False)
    whole = FileSpan(path, 0, files.size(path, tensor=tensor))
    for _, part in parts_of(whole, tensor, files, buffer):
        digest.update(part)
        advance(len(part), tensor)
    return digest.hexdigest()
