"""Loading ahead: the same bytes in whatever order, never more than the budget, never stuck."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from onnx_align_pass.spans import BufferSource
from onnx_align_pass.transfer.ahead import Ahead


class Made:
    """A source that counts what is alive."""

    def __init__(self, number: int, length: int, hook: Callable[[], None] = lambda: None) -> None:
        self.data = bytes([number]) * length
        self.length = length
        self.hook = hook
        self.times = 0

    def load(self) -> bytes:
        self.times += 1
        self.hook()
        return self.data


@pytest.mark.parametrize("order", [range(9), range(8, -1, -1), [4, 0, 8, 1, 2, 3, 7, 6, 5]])
@pytest.mark.parametrize("budget", [1, 25, 1000])
def test_every_source_gives_its_bytes_in_any_order(order: list[int], budget: int) -> None:
    sources = [Made(number, 10) for number in range(9)]
    with Ahead(3, budget) as ahead:
        wrapped = [ahead.wrap(source) for source in sources]
        for number in order:
            assert wrapped[number].load() == sources[number].data
    assert [source.times for source in sources] == [1] * 9


def test_no_more_than_the_budget_is_held() -> None:
    held, most, lock = 0, 0, threading.Lock()

    def hook() -> None:
        nonlocal held, most
        with lock:
            held += 10
            most = max(most, held)

    sources = [Made(number, 10, hook) for number in range(50)]
    with Ahead(4, 30) as ahead:
        for wrapped in [ahead.wrap(source) for source in sources]:
            wrapped.load()
            with lock:
                held -= 10
    assert most <= 40  # the budget, and the one that is being written


def test_an_error_is_raised_where_the_bytes_are_asked_for() -> None:
    def bad() -> None:
        raise KeyError("bad")

    with Ahead(2, 1000) as ahead:
        first: BufferSource = ahead.wrap(Made(1, 10))
        second = ahead.wrap(Made(2, 10, bad))
        assert first.load() == bytes([1]) * 10
        with pytest.raises(KeyError, match="bad"):
            second.load()


def test_a_second_time_it_is_loaded_again() -> None:
    source = Made(1, 10)
    with Ahead(2, 1000) as ahead:
        wrapped = ahead.wrap(source)
        assert wrapped.load() == wrapped.load() == source.data
    assert source.times == 2


def test_no_thread_outlives_the_run_though_the_bytes_are_never_asked_for() -> None:
    before = threading.active_count()
    with Ahead(4, 5) as ahead:
        first, *_ = [ahead.wrap(Made(number, 10)) for number in range(9)]
        first.load()
    assert threading.active_count() == before


def test_without_workers_nothing_is_ahead() -> None:
    before = threading.active_count()
    with Ahead(0, 1000) as ahead:
        assert ahead.wrap(Made(1, 10)).load()
        assert threading.active_count() == before


def test_a_source_is_made_while_another_is_written() -> None:
    second_begun = threading.Event()
    with Ahead(1, 1000) as ahead:
        first = ahead.wrap(Made(1, 10))
        second = ahead.wrap(Made(2, 10, second_begun.set))
        assert first.load()
        assert second_begun.wait(timeout=30)  # without being asked for
        assert second.load() == bytes([2]) * 10
