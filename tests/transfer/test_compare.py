"""Reading back: every byte counts, and what fails is named."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from onnx_align_pass.errors import ShortSourceError, SourceChangedError, VerifyError
from onnx_align_pass.spans import FileSpan, MemoryBytes
from onnx_align_pass.transfer.compare import compare_pieces
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.steps import Piece
from tests.transfer.support import noise

SOURCE = noise(5000)
SIZE = 12_000
BUFFER = 1000


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.write_bytes(SOURCE)
    return path


@pytest.fixture
def pieces(source: Path) -> list[Piece]:
    """Not in the file's order; gaps at 0, 3000 and 9000."""
    return [
        Piece(FileSpan(source, 1000, 4000), 5000, "b"),
        Piece(MemoryBytes(SOURCE[:2900]), 100, "a"),
        Piece(MemoryBytes(b""), 0, "empty"),
    ]


@pytest.fixture
def written(tmp_path: Path, pieces: Sequence[Piece]) -> Path:
    data = bytearray(SIZE)
    data[100:3000] = SOURCE[:2900]
    data[5000:9000] = SOURCE[1000:]
    path = tmp_path / "written"
    path.write_bytes(data)
    return path


def compare(written: Path, pieces: Sequence[Piece]) -> None:
    with SourceFiles(roots=(written.parent,), owner_uid=None) as sources:
        compare_pieces(written, pieces, sources, memoryview(bytearray(BUFFER)))


def spoil(written: Path, offset: int) -> None:
    data = bytearray(written.read_bytes())
    data[offset] ^= 255
    written.write_bytes(data)


def test_what_is_as_it_was_asked_passes(written: Path, pieces: list[Piece]) -> None:
    compare(written, pieces)
    compare(written, pieces[::-1])


@pytest.mark.parametrize(
    ("offset", "tensor"),
    [(100, "a"), (2999, "a"), (5000, "b"), (8999, "b")]
    + [(gap, None) for gap in (0, 99, 3000, 4999, 9000, SIZE - 1)],
)
def test_no_byte_that_differs_passes(
    offset: int, tensor: str | None, written: Path, pieces: list[Piece]
) -> None:
    spoil(written, offset)
    with pytest.raises(VerifyError) as error:
        compare(written, pieces)
    assert error.value.tensor == tensor
    assert error.value.file == "written"


def test_a_file_without_pieces_is_zeros(tmp_path: Path) -> None:
    path = tmp_path / "written"
    path.write_bytes(bytes(2500))
    compare(path, [])
    spoil(path, 2499)
    with pytest.raises(VerifyError):
        compare(path, [])


def test_a_written_file_that_is_too_short_is_found_out(written: Path, pieces: list[Piece]) -> None:
    os.truncate(written, 8999)
    with pytest.raises(VerifyError):
        compare(written, pieces)


def test_a_source_that_is_too_short_is_never_compared_with_what_was_read_before(
    source: Path, written: Path, pieces: list[Piece]
) -> None:
    # The half that is missing is the buffer's content of the step before.
    source.write_bytes(SOURCE[:4000])
    data = written.read_bytes()
    written.write_bytes(data[:8000] + data[7000:8000] + data[9000:])
    with pytest.raises(ShortSourceError) as error:
        compare(written, pieces)
    assert error.value.file == str(source)


def test_a_source_that_became_shorter_is_named(
    source: Path, written: Path, pieces: list[Piece]
) -> None:
    with SourceFiles(roots=(written.parent,), owner_uid=None) as sources:
        sources.size(source)
        os.truncate(source, 4000)
        with pytest.raises(SourceChangedError) as error:
            compare_pieces(written, pieces, sources, memoryview(bytearray(BUFFER)))
    assert error.value.file == str(source)


@pytest.mark.parametrize("failing", ["source", "written"])
def test_a_file_that_cannot_be_read_is_named(
    failing: str, written: Path, pieces: list[Piece], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = written.parent / failing
    real = os.preadv

    def preadv(fd: int, *rest: object) -> int:
        if os.path.samestat(os.fstat(fd), wanted.stat()):
            raise OSError(errno.EIO, "Input/output error")
        return real(fd, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "preadv", preadv)
    with pytest.raises(OSError, match="Input/output") as error:
        compare(written, pieces)
    assert error.value.filename == str(wanted)
