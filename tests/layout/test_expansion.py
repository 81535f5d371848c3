"""How much more would be written than there is: against a count of single bytes."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from onnx_align_pass.layout.expansion import FACTOR, SLACK_BYTES, Expansion, expansion_of
from onnx_align_pass.spans import FileSpan

FILES = [Path("a"), Path("b")]
SPANS = st.lists(
    st.builds(FileSpan, st.sampled_from(FILES), st.integers(0, 60), st.integers(0, 30))
)


@given(SPANS)
def test_a_union_holds_each_byte_once(spans: list[FileSpan]) -> None:
    held = {(path, at) for path, start, size in spans for at in range(start, start + size)}
    assert expansion_of(spans).held_bytes == len(held)
    assert expansion_of(spans, tied=False).held_bytes == len(held)


@given(SPANS)
def test_ranges_that_are_the_same_count_once_where_they_are_stored_once(
    spans: list[FileSpan],
) -> None:
    assert expansion_of(spans).nbytes == sum(one.length for one in set(spans))
    assert expansion_of(spans, tied=False).nbytes == sum(one.length for one in spans)


def test_neither_the_factor_alone_nor_the_surplus_alone_makes_a_bomb() -> None:
    assert not Expansion(100 * SLACK_BYTES, 50 * SLACK_BYTES).is_bomb
    assert not Expansion(SLACK_BYTES, 1).is_bomb
    assert not Expansion(SLACK_BYTES + 1, 1).is_bomb
    assert Expansion(SLACK_BYTES + 2, 1).is_bomb
    assert not Expansion(FACTOR * 50 * SLACK_BYTES, 50 * SLACK_BYTES).is_bomb
    assert Expansion(FACTOR * 50 * SLACK_BYTES + 1, 50 * SLACK_BYTES).is_bomb
