"""On a file system that clones: instant, and without room."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from onnx_align_pass.progress import SILENT
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.transfer import kernel
from onnx_align_pass.transfer.engine import Piece, write_pieces
from onnx_align_pass.transfer.ladder import Ladder
from onnx_align_pass.transfer.open_source import SourceFiles
from tests.transfer.support import content, file_of, noise

pytestmark = pytest.mark.needs_reflink

MIB = 1 << 20
BODY = noise(10 * MIB + 77)


@pytest.fixture
def source(cloning_folder: Path) -> Iterator[Path]:
    path = cloning_folder / "source"
    path.write_bytes(BODY)
    yield path
    path.unlink()


@pytest.mark.parametrize(
    ("src_off", "dst_off", "length", "cloned"),
    [
        (0, 0, len(BODY), 10 * MIB),
        (4096, 8192, 9 * MIB + 5, 9 * MIB),
        (4096, 0, 4096, 4096),
        (4096, 0, 4095, 0),
        (100, 0, MIB, 0),
        (0, 100, MIB, 0),
        (512, 512, MIB, 0),
    ],
)
def test_whole_blocks_are_cloned_and_the_rest_is_copied(
    source: Path, src_off: int, dst_off: int, length: int, cloned: int
) -> None:
    with (
        source.open("rb") as src,
        file_of(b"", source.parent) as dst,
        Ladder(chunk_size=3 * MIB) as ladder,
    ):
        kernel.reserve(dst, dst_off + length)
        ladder.copy(src.fileno(), src_off, dst, dst_off, length, lambda count: None)
        assert content(dst) == bytes(dst_off) + BODY[src_off : src_off + length]
        assert ladder.moved["clone"] == cloned
        assert ladder.moved["splice"] == length - cloned


def test_a_chunk_below_a_block_cannot_clone_and_still_copies(source: Path) -> None:
    with (
        source.open("rb") as src,
        file_of(b"", source.parent) as dst,
        Ladder(chunk_size=4095) as ladder,
    ):
        ladder.copy(src.fileno(), 0, dst, 0, 20_000, lambda count: None)
        assert content(dst) == BODY[:20_000]
        assert ladder.moved["clone"] == 0


def test_two_file_systems_are_asked_to_clone_once(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    real = kernel.clone_range

    def counted(src_fd: int, src_off: int, length: int, dst_fd: int, dst_off: int) -> None:
        asked.append(length)
        real(src_fd, src_off, length, dst_fd, dst_off)

    monkeypatch.setattr(kernel, "clone_range", counted)
    with source.open("rb") as src, file_of(b"", tmp_path) as dst, Ladder() as ladder:
        for start in range(0, 5 * MIB, MIB):
            ladder.copy(src.fileno(), start, dst, start, MIB, lambda count: None)
        assert content(dst) == BODY[: 5 * MIB]
    assert len(asked) == 1


def test_a_file_system_says_whether_it_clones(cloning_folder: Path) -> None:
    with file_of(b"", cloning_folder) as fd:
        assert kernel.clones(fd)
    memory = Path("/dev/shm")
    if memory.is_dir():
        with file_of(b"", memory) as fd:
            assert not kernel.clones(fd)


@pytest.fixture(scope="module")
def large(cloning_folder: Path) -> Iterator[Path]:
    """A file of more than half of the room there is."""
    os.sync()  # blocks of removed files come back late
    path = cloning_folder / "large"
    with path.open("wb") as file:
        room = os.fstatvfs(file.fileno())
        for _ in range(room.f_blocks * room.f_frsize * 6 // 10 // MIB):
            file.write(BODY[:MIB])
    yield path
    path.unlink()


def write_from(large: Path, offset: int, dst: int) -> dict[str, int]:
    size = large.stat().st_size - offset
    with (
        SourceFiles(roots=(large.parent,), owner_uid=None) as sources,
        Ladder() as ladder,
    ):
        pieces = [Piece(FileSpan(large, offset, size), 0, "w")]
        write_pieces(
            dst, pieces, size, sources=sources, ladder=ladder, progress=SILENT, durable=False
        )
        return ladder.moved


@pytest.mark.parametrize("offset", [0, 4096])
def test_clones_need_no_room(large: Path, offset: int) -> None:
    size = large.stat().st_size - offset
    with file_of(b"", large.parent) as dst:
        assert write_from(large, offset, dst)["clone"] == size
        assert os.pread(dst, 2 * MIB, size - MIB) == BODY[:MIB]


def test_a_copy_without_room_is_refused_before_a_byte_is_written(large: Path) -> None:
    with file_of(b"", large.parent) as dst:
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            write_from(large, 100, dst)
        assert (os.fstat(dst).st_size, os.fstat(dst).st_blocks) == (0, 0)
