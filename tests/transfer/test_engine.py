"""Whole data files: right bytes, right size, honest errors."""

from __future__ import annotations

import errno
import os
import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnx_align_pass.errors import PlanError, ShortSourceError, SourceChangedError
from onnx_align_pass.progress import SILENT, Progress
from onnx_align_pass.spans import FileSpan, MemoryBytes, Source
from onnx_align_pass.transfer import engine, kernel
from onnx_align_pass.transfer.engine import Piece, write_pieces
from onnx_align_pass.transfer.ladder import Ladder
from onnx_align_pass.transfer.open_source import SourceFiles
from tests.transfer.support import Recorder, noise

DATA = {"a": noise(700_000, 1), "b": noise(90_000, 2)}


def write(
    folder: Path,
    pieces: Sequence[Piece],
    size: int,
    *,
    progress: Progress = SILENT,
    durable: bool = False,
    chunk: int = 4 << 20,
) -> bytes:
    target = folder / "target"
    fd = os.open(target, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    try:
        with (
            SourceFiles(roots=(folder,), owner_uid=None) as sources,
            Ladder(chunk_size=chunk) as ladder,
        ):
            write_pieces(
                fd, pieces, size, sources=sources, ladder=ladder, progress=progress, durable=durable
            )
            written = sum(piece.source.length for piece in pieces)
            assert sum(ladder.moved.values()) == written
    finally:
        os.close(fd)
    return target.read_bytes()


def bytes_of(source: Source) -> bytes:
    if isinstance(source, FileSpan):
        return DATA[source.path.name][source.offset : source.end]
    return bytes(source.load())


def expected(pieces: Sequence[Piece], size: int) -> bytes:
    result = bytearray(size)
    for piece in pieces:
        result[piece.offset : piece.offset + piece.source.length] = bytes_of(piece.source)
    return bytes(result)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, data in DATA.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


@st.composite
def layouts(draw: st.DrawFn) -> tuple[list[tuple[str | None, int, int, int]], int]:
    rows, offset, follow = [], 0, 0
    for _ in range(draw(st.integers(0, 25))):
        name = draw(st.sampled_from(["a", "a", "b", None]))
        length = draw(st.sampled_from([0, 1, 100, 4096, 10_001, 60_000, 300_000]))
        length = min(length, len(DATA[name or "b"]))
        last = len(DATA[name or "b"]) - length
        start = min(follow if draw(st.booleans()) else draw(st.integers(0, last)), last)
        offset += draw(st.sampled_from([0, 0, 1, 100, 4095, 4096, 70_000]))
        rows.append((name, start, length, offset))
        offset, follow = offset + length, start + length
    return rows, offset + draw(st.sampled_from([0, 1, 5000]))


@given(layouts(), st.sampled_from([1000, 5000, 65_536, 4 << 20]), st.booleans(), st.randoms())
@settings(deadline=None, max_examples=80)
def test_every_piece_is_at_its_offset_and_all_else_is_zero(
    layout: tuple[list[tuple[str | None, int, int, int]], int],
    chunk: int,
    durable: bool,
    order: random.Random,
) -> None:
    rows, size = layout
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, data in DATA.items():
            (folder / file).write_bytes(data)
        pieces = [
            Piece(
                MemoryBytes(DATA["b"][start : start + length])
                if source is None
                else FileSpan(folder / source, start, length),
                offset,
                f"t{offset}",
            )
            for source, start, length, offset in rows
        ]
        wanted = expected(pieces, size)
        order.shuffle(pieces)
        heard = Recorder()
        assert write(folder, pieces, size, progress=heard, durable=durable, chunk=chunk) == wanted
    assert sum(count for count, _ in heard.advances) == sum(row[2] for row in rows)
    assert heard.phases == (["syncing"] if durable else [])


def test_progress_names_the_tensor_that_each_chunk_ends_in(folder: Path) -> None:
    pieces = [Piece(FileSpan(folder / "a", i * 1000, 1000), i * 1000, str(i)) for i in range(300)]
    heard = Recorder()
    write(folder, pieces, 300_000, progress=heard, chunk=2500)
    assert heard.advances[:3] == [(2500, "2"), (2500, "4"), (2500, "7")]


def test_large_bytes_in_memory_are_written_in_parts_that_end_on_multiples_of_512_kib(
    folder: Path,
) -> None:
    part, lead, data = 512 << 10, 4096, noise(1_300_000, 3)
    heard = Recorder()
    written = write(folder, [Piece(MemoryBytes(data), lead, "w")], lead + len(data), progress=heard)
    assert written == bytes(lead) + data
    rest = len(data) + lead - 2 * part
    assert [count for count, _ in heard.advances] == [part - lead, part, rest]


def test_no_bytes_make_a_file_of_zeros(folder: Path) -> None:
    assert write(folder, [], 0) == b""
    assert write(folder, [Piece(MemoryBytes(b""), 10, "empty")], 10) == bytes(10)


@dataclass(frozen=True)
class Liar:
    """Promises other than it makes."""

    length: int
    made: bytes

    def load(self) -> bytes:
        return self.made


@pytest.mark.parametrize("promised", [9, 11, 2_000_000])
def test_bytes_that_are_not_as_many_as_promised_are_refused(folder: Path, promised: int) -> None:
    with pytest.raises(PlanError, match=r"tensor 'w'.*needed .* found 10 bytes"):
        write(folder, [Piece(Liar(promised, bytes(10)), 0, "w")], promised)


def test_pieces_made_in_memory_are_made_one_at_a_time_and_dropped(folder: Path) -> None:
    alive: set[int] = set()

    @dataclass(frozen=True)
    class Tracked:
        length: int = 300_000

        def load(self) -> memoryview:
            assert not alive
            return memoryview(_Bytes(self.length, alive))

    pieces = [Piece(Tracked(), i * 300_000, str(i)) for i in range(4)]
    assert write(folder, pieces, 1_200_000) == bytes(1_200_000)


class _Bytes(bytearray):
    """Bytes that say whether they are still there."""

    def __init__(self, count: int, alive: set[int]) -> None:
        super().__init__(count)
        self._alive = alive
        alive.add(id(self))

    def __del__(self) -> None:
        self._alive.discard(id(self))


@pytest.mark.parametrize(
    ("pieces", "size", "problem"),
    [
        ([(0, 10), (9, 10)], 100, "two tensors overlap"),
        ([(0, 10), (90, 11)], 100, "ends after the data file"),
    ],
)
def test_a_plan_that_breaks_its_own_rules_is_refused_before_a_byte_is_written(
    folder: Path, pieces: list[tuple[int, int]], size: int, problem: str
) -> None:
    made = [Piece(MemoryBytes(bytes(n)), offset, "w") for offset, n in pieces]
    with pytest.raises(PlanError, match=problem):
        write(folder, made, size)
    assert (folder / "target").stat().st_size == 0


@pytest.mark.parametrize("length", [1000, 600_000])
def test_a_source_that_is_too_short_is_named_with_what_it_lacks(folder: Path, length: int) -> None:
    piece = Piece(FileSpan(folder / "a", 700_001 - length, length), 0, "w")
    with pytest.raises(ShortSourceError, match=r"'w'.*ends 1 bytes too early"):
        write(folder, [piece], length)


class Meddler(Recorder):
    """A progress in whose first call somebody does something to the source."""

    def __init__(self, deed: Callable[[], object]) -> None:
        super().__init__()
        self._deed = deed

    def advance(self, nbytes: int, tensor: str) -> None:
        if not self.advances:
            self._deed()
        super().advance(nbytes, tensor)


@pytest.mark.parametrize("length", [20_000, 300_000])
def test_a_source_cut_short_during_the_copy_has_changed(folder: Path, length: int) -> None:
    pieces = [
        Piece(FileSpan(folder / "a", 0, 300_000), 0, "v"),
        Piece(FileSpan(folder / "a", 300_001, length), 400_000, "w"),
    ]
    meddler = Meddler(lambda: os.truncate(folder / "a", 310_000))
    with pytest.raises(SourceChangedError, match="shorter"):
        write(folder, pieces, 700_000, progress=meddler)


@pytest.mark.skipif(not hasattr(os, "preadv"), reason="needs preadv")
@pytest.mark.parametrize("length", [1000, 600_000])
def test_an_error_of_the_disk_names_the_source_and_one_of_the_destination_does_not(
    folder: Path, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **keywords: object) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    piece = Piece(FileSpan(folder / "a", 0, length), 0, "w")
    for name in ("preadv", "splice"):
        monkeypatch.setattr(os, name, fail, raising=False)
    with pytest.raises(OSError, match="error") as caught:
        write(folder, [piece], length)
    assert caught.value.filename == str(folder / "a")
    monkeypatch.undo()
    for name in ("pwritev", "pwrite"):
        monkeypatch.setattr(os, name, fail, raising=False)
    for name in ("splice", "copy_file_range"):
        monkeypatch.delattr(os, name, raising=False)
    with pytest.raises(OSError, match="error") as caught:
        write(folder, [piece], length)
    assert caught.value.filename is None


def test_a_full_disk_is_passed_on_before_a_byte_is_copied(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(fd: int, size: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(kernel, "reserve", full)
    heard = Recorder()
    with pytest.raises(OSError, match="full"):
        write(folder, [Piece(FileSpan(folder / "a", 0, 9), 0, "w")], 9, progress=heard)
    assert heard.advances == []


def test_only_a_durable_copy_writes_back_early_and_syncs(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[int, int]] = []
    synced: list[int] = []
    monkeypatch.setattr(engine, "WRITEBACK_BYTES", 200_000)
    monkeypatch.setattr(kernel, "start_writeback", lambda fd, at, n: started.append((at, n)))
    monkeypatch.setattr(kernel, "sync_file", synced.append)
    pieces = [Piece(FileSpan(folder / "a", 0, 650_000), 0, "w")]
    write(folder, pieces, 650_000, chunk=50_000)
    assert not started
    assert not synced
    write(folder, pieces, 650_000, chunk=50_000, durable=True)
    assert started == [(0, 200_000), (200_000, 200_000), (400_000, 200_000)]
    assert len(synced) == 1
