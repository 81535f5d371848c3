"""Each rung against a naive loop."""

from __future__ import annotations

import os
from errno import EINVAL, ENOSPC
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnx_align_pass.transfer import kernel
from onnx_align_pass.transfer.ladder import Ladder
from onnx_align_pass.transfer.rungs import SplicePipe
from tests.transfer.support import content, file_of, naive, noise, standard

linux = pytest.mark.skipif(not hasattr(os, "splice"), reason="needs splice")
lengths = st.one_of(st.integers(0, 3), st.integers(0, 70_000), st.sampled_from([4096, 65_536]))
offsets = st.one_of(st.integers(0, 9000), st.sampled_from([0, 4096, 8192]))


@linux
@pytest.mark.parametrize(
    "names", [("splice",), ("copy_file_range",), ("buffered",), ("splice", "buffered")]
)
@given(
    length=lengths,
    src_off=offsets,
    dst_off=offsets,
    chunk=st.integers(1, 100_000),
    pipe=st.sampled_from([4096, 8192, 1 << 20]),
    target=st.integers(0, 20_000),
)
@settings(deadline=None, max_examples=60)
def test_every_rung_copies_what_a_loop_over_bytes_copies(
    names: tuple[str, ...],
    length: int,
    src_off: int,
    dst_off: int,
    chunk: int,
    pipe: int,
    target: int,
) -> None:
    chunk = max(chunk, length // 50)  # a chunk of one byte is right, but slow
    source, before = noise(src_off + length, 1), noise(target, 2)
    told: list[int] = []
    a_pipe = SplicePipe(pipe)
    with (
        file_of(source) as src,
        file_of(before) as dst,
        Ladder(chunk_size=chunk, rungs=standard(*names, pipe=a_pipe)) as ladder,
    ):
        ladder.copy(src, src_off, dst, dst_off, length, told.append)
        a_pipe.close()
        assert content(dst) == naive(source, src_off, before, dst_off, length)
    assert sum(told) == length
    assert all(0 < count <= chunk for count in told)


@linux
def test_a_span_of_many_pipes_arrives_whole() -> None:
    source = noise(3_000_000)
    with file_of(source) as src, file_of(b"") as dst, Ladder() as ladder:
        ladder.copy(src, 100, dst, 7, len(source) - 100, lambda count: None)
        assert content(dst) == bytes(7) + source[100:]
        assert ladder.moved["splice"] == len(source) - 100


class Faults:
    """kernel.splice, where one call that empties the pipe fails or moves little."""

    def __init__(self, at: int, error: int | None = None, short: int = 10**9) -> None:
        self.drains, self.at, self.error, self.short = 0, at, error, short

    def __call__(
        self,
        src: int,
        dst: int,
        count: int,
        *,
        src_off: int | None = None,
        dst_off: int | None = None,
    ) -> int:
        if dst_off is not None:
            self.drains += 1
            if self.drains == self.at and self.error is not None:
                raise OSError(self.error, os.strerror(self.error))
            count = min(count, self.short)
        moved: int = os.splice(src, dst, count, offset_src=src_off, offset_dst=dst_off)
        return moved


@linux
@pytest.mark.parametrize("at", [1, 2, 3, 7])
def test_bytes_left_in_the_pipe_by_a_failure_never_reach_the_next_span(
    monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    monkeypatch.setattr(kernel, "splice", Faults(at, EINVAL, short=1000))
    source = noise(20_000)
    with file_of(source) as src, file_of(b"") as dst, Ladder(chunk_size=8192) as ladder:
        ladder.copy(src, 0, dst, 0, 10_000, lambda count: None)
        ladder.copy(src, 10_000, dst, 10_000, 10_000, lambda count: None)
        assert content(dst) == source
        assert sum(ladder.moved.values()) == len(source)


@linux
def test_a_full_disk_met_with_bytes_in_the_pipe_is_reported_not_declined(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernel, "splice", Faults(1, ENOSPC))
    with file_of(noise(5000)) as src, file_of(b"") as dst, Ladder() as ladder:
        with pytest.raises(OSError, match=os.strerror(ENOSPC)) as caught:
            ladder.copy(src, 0, dst, 0, 5000, lambda count: None)
        assert caught.value.errno == ENOSPC
        assert caught.value.filename is None
        assert content(dst) == b""


@linux
def test_a_short_drain_is_gone_on_with_and_the_pipe_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernel, "splice", Faults(0, short=777))
    source = noise(9000)
    pipe = SplicePipe()
    with file_of(source) as src, file_of(b"") as dst:
        assert pipe.move(src, 0, dst, 0, 9000) == 9000
        ends = pipe._ends
        assert pipe.move(src, 0, dst, 9000, 9000) == 9000
        assert pipe._ends == ends
        assert content(dst) == source * 2
    pipe.close()


@linux
def test_closing_a_ladder_closes_its_pipe() -> None:
    before = len(os.listdir("/proc/self/fd"))
    with file_of(noise(100)) as src, file_of(b"") as dst, Ladder() as ladder:
        ladder.copy(src, 0, dst, 0, 100, lambda count: None)
        assert len(os.listdir("/proc/self/fd")) == before + 4
    assert len(os.listdir("/proc/self/fd")) == before


@linux
def test_another_file_system_is_reached_by_splice() -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir():
        pytest.skip("needs /dev/shm")
    source = noise(50_000)
    with file_of(source) as src, file_of(b"", memory) as dst, Ladder() as ladder:
        ladder.copy(src, 0, dst, 0, len(source), lambda count: None)
        assert content(dst) == source
        assert ladder.moved["splice"] == len(source)
