"""Fault scripts: rungs that decline, fail, or move little, and what the ladder makes of it."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnx_align_pass.errors import PolicyError
from onnx_align_pass.transfer.ladder import Ladder, Rung, SourceEndedError
from tests.transfer.support import STANDARD, content, file_of, noise, standard

SOURCE = noise(10_000)


class Script:
    """A move that does one act a call: so many bytes at most, or an errno. Then it goes on."""

    def __init__(self, *acts: int | str, then: int = 10**9) -> None:
        self.acts, self.then, self.calls = list(acts), then, 0

    def __call__(self, src_fd: int, src_off: int, dst_fd: int, dst_off: int, length: int) -> int:
        self.calls += 1
        act = self.acts.pop(0) if self.acts else self.then
        if isinstance(act, str):
            raise OSError(getattr(errno, act), act)
        data = os.pread(src_fd, min(act, length), src_off)
        return os.pwrite(dst_fd, data, dst_off)


def climb(rungs: Sequence[Rung], *, chunk: int = 4096, times: int = 1) -> tuple[bytes, Ladder]:
    with file_of(SOURCE) as src, file_of(b"") as dst:
        ladder = Ladder(chunk_size=chunk, rungs=rungs)
        for _ in range(times):
            ladder.copy(src, 0, dst, 0, len(SOURCE), lambda count: None)
        return content(dst), ladder


DECLINES = [(rung.name, code) for rung in standard(*STANDARD) for code in sorted(rung.declines)]


@pytest.mark.parametrize(
    ("name", "code"), DECLINES, ids=[f"{name}-{errno.errorcode[code]}" for name, code in DECLINES]
)
def test_after_a_decline_midway_the_next_rung_goes_on_at_the_last_byte(
    name: str, code: int
) -> None:
    (real,) = standard(name)
    script = Script(1000, 234, errno.errorcode[code])
    arrived, ladder = climb([replace(real, move=script), *standard("buffered")], times=2)
    assert arrived == SOURCE
    assert ladder.moved[name] == 1234
    assert ladder.moved["buffered"] == 2 * len(SOURCE) - 1234
    assert script.calls == 3, "a refusal is remembered"


@pytest.mark.parametrize("name", STANDARD)
@pytest.mark.parametrize("code", ["EIO", "EDQUOT", "EFBIG", "ENOMEM", "ESTALE"])
def test_an_errno_that_a_rung_does_not_list_is_an_error(name: str, code: str) -> None:
    (real,) = standard(name)
    never = Script()
    with pytest.raises(OSError, match=code) as caught:
        climb([replace(real, move=Script(1000, code)), Rung("never", never, frozenset())])
    assert caught.value.errno == getattr(errno, code)
    assert never.calls == 0


def test_the_last_rung_cannot_decline() -> None:
    with pytest.raises(OSError, match="EINVAL"):
        climb([Rung("only", Script("EINVAL"), frozenset({errno.EINVAL}))])


def test_a_refusal_is_remembered_for_its_two_devices_alone() -> None:
    script = Script("EINVAL")
    ladder = Ladder(rungs=[Rung("a", script, frozenset({errno.EINVAL})), *standard("buffered")])
    with file_of(SOURCE) as src, file_of(b"") as dst, open("/dev/null", "wb") as null:
        for target in (dst, dst, null.fileno()):
            ladder.copy(src, 0, target, 0, 100, lambda count: None)
    assert script.calls == 2
    assert ladder.moved == {"a": 100, "buffered": 200, "gathered": 0, "loaded": 0}


def test_a_rung_that_can_do_no_more_of_a_span_is_asked_again_for_the_next_one() -> None:
    script = Script(500, 0)
    _, ladder = climb([Rung("head", script, frozenset()), *standard("buffered")], times=2)
    assert ladder.moved["head"] == 500 + len(SOURCE)


@given(st.lists(st.integers(1, 3000), max_size=20), st.integers(1, 5000))
def test_short_moves_are_gone_on_with(acts: list[int], chunk: int) -> None:
    chunk = max(chunk, 100)
    arrived, ladder = climb([Rung("a", Script(*acts), frozenset())], chunk=chunk)
    assert arrived == SOURCE
    assert ladder.moved["a"] == len(SOURCE)


@given(
    st.lists(st.lists(st.one_of(st.integers(0, 3000), st.just("EINVAL")), max_size=5), max_size=4)
)
def test_whatever_the_rungs_do_each_byte_arrives_once(scripts: list[list[int | str]]) -> None:
    declines = frozenset({errno.EINVAL})
    rungs = [Rung(str(i), Script(*acts, then=0), declines) for i, acts in enumerate(scripts)]
    told: list[int] = []
    with file_of(SOURCE) as src, file_of(b"") as dst:
        ladder = Ladder(chunk_size=999, rungs=[*rungs, *standard("buffered")])
        ladder.copy(src, 0, dst, 0, len(SOURCE), told.append)
        assert content(dst) == SOURCE
    assert sum(told) == len(SOURCE) == sum(ladder.moved.values())


def test_a_source_that_ends_early_says_so_after_what_there_was_arrived() -> None:
    with file_of(SOURCE) as src, file_of(b"") as dst, Ladder() as ladder:
        with pytest.raises(SourceEndedError, match="10 bytes are missing"):
            ladder.copy(src, 100, dst, 0, len(SOURCE) - 90, lambda count: None)
        assert content(dst) == SOURCE[100:]


def test_no_transfer_is_larger_than_a_chunk() -> None:
    asked: list[int] = []

    def move(src_fd: int, src_off: int, dst_fd: int, dst_off: int, length: int) -> int:
        asked.append(length)
        return length

    with file_of(b"") as src, file_of(b"") as dst:
        Ladder(chunk_size=300, rungs=[Rung("a", move, frozenset())]).copy(
            src, 0, dst, 0, 1000, lambda count: None
        )
    assert asked == [300, 300, 300, 100]


@pytest.mark.parametrize("chunk", [0, -1])
def test_a_chunk_has_at_least_one_byte(chunk: int) -> None:
    with pytest.raises(PolicyError, match="chunk_size"):
        Ladder(chunk_size=chunk)


def test_an_empty_span_moves_nothing() -> None:
    script = Script()
    with file_of(b"") as src, file_of(b"") as dst:
        Ladder(rungs=[Rung("a", script, frozenset())]).copy(src, 0, dst, 0, 0, lambda count: None)
    assert script.calls == 0


def test_what_the_listener_raises_is_not_taken_for_a_refusal() -> None:
    def on_bytes(count: int) -> None:
        raise OSError(errno.EINVAL, "from the listener")

    with (
        file_of(SOURCE) as src,
        file_of(b"") as dst,
        Ladder() as ladder,
        pytest.raises(OSError, match="from the listener"),
    ):
        ladder.copy(src, 0, dst, 0, 100, on_bytes)
