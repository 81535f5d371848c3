"""The same bytes arrive where the system lacks a call: other kernels, macOS, Windows."""

from __future__ import annotations

import os

import pytest

from onnx_align_pass.transfer import kernel
from onnx_align_pass.transfer.ladder import Ladder
from onnx_align_pass.transfer.positional import IOV_MAX, read_full, write_all, write_gathered
from tests.transfer.support import content, file_of, noise

LACKING = {
    "no splice": (["splice"], "copy_file_range"),
    "no copy_file_range": (["splice", "copy_file_range"], "buffered"),
    "no preadv (old macOS)": (["splice", "copy_file_range", "preadv", "pwritev"], "buffered"),
    "no pread (Windows)": (
        ["splice", "copy_file_range", "preadv", "pwritev", "pread", "pwrite", "fstatvfs"],
        "buffered",
    ),
}


@pytest.fixture(params=list(LACKING.values()), ids=list(LACKING))
def rung_left(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    missing, left = request.param
    for name in missing:
        monkeypatch.delattr(os, name, raising=False)
    if left == "copy_file_range" and not hasattr(os, left):
        pytest.skip("needs copy_file_range")
    return str(left)


def test_the_next_way_is_taken_where_a_call_is_missing(rung_left: str) -> None:
    source = noise(300_000)
    with file_of(source) as src, file_of(b"") as dst, Ladder(chunk_size=70_000) as ladder:
        ladder.copy(src, 33, dst, 5, 200_000, lambda count: None)
        assert content(dst) == bytes(5) + source[33:200_033]
        assert ladder.moved[rung_left] == 200_000


def test_positional_reads_and_writes_agree_however_they_are_done(rung_left: str) -> None:
    source = noise(5000)
    with file_of(source) as fd:
        view = memoryview(bytearray(6000))
        assert read_full(fd, view, 100) == 4900
        assert bytes(view[:4900]) == source[100:]
        write_all(fd, memoryview(b"abc"), 10)
        write_gathered(fd, [memoryview(b"de"), memoryview(b""), memoryview(b"f")], 5000)
        assert content(fd) == source[:10] + b"abc" + source[13:] + b"def"


@pytest.mark.skipif(not hasattr(os, "pwritev"), reason="needs pwritev")
@pytest.mark.parametrize("taken", [0, 1, 5, 6, 11])
def test_a_short_vectored_write_is_gone_on_with(
    monkeypatch: pytest.MonkeyPatch, taken: int
) -> None:
    def short(fd: int, slices: list[memoryview], offset: int) -> int:
        return os.pwrite(fd, b"".join(slices)[:taken], offset)

    monkeypatch.setattr(os, "pwritev", short)
    with file_of(b"") as fd:
        write_gathered(fd, [memoryview(b"hello "), memoryview(b"world")], 3)
        assert content(fd) == b"\0\0\0hello world"


@pytest.mark.skipif(not hasattr(os, "pwrite"), reason="needs pwrite")
def test_short_writes_are_gone_on_with_and_a_write_of_nothing_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, offset: real(fd, data[:2], offset))
    with file_of(b"") as fd:
        write_all(fd, memoryview(b"hello"), 1)
        assert content(fd) == b"\0hello"
        monkeypatch.setattr(os, "pwrite", lambda fd, data, offset: 0)
        with pytest.raises(OSError, match="nothing was written"):
            write_all(fd, memoryview(b"x"), 0)


def test_the_most_slices_that_a_run_has_can_be_written_at_once() -> None:
    with file_of(b"") as fd:
        write_gathered(fd, [memoryview(b"ab")] * IOV_MAX, 0)
        assert content(fd) == b"ab" * IOV_MAX


def test_a_system_without_fcntl_still_reserves_locks_and_syncs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernel, "fcntl", None)
    with file_of(b"") as fd:
        kernel.reserve(fd, 12_345)
        assert os.fstat(fd).st_size == 12_345
        assert kernel.try_lock(fd)
        assert not kernel.clones(fd)
        assert kernel.grow_pipe(fd, 1 << 20) == 65_536
        kernel.sync_file(fd)
