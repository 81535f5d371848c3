"""A data file divided, against a byte map that is painted byte by byte."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from onnx_align_pass.inspection.divide import MAX_PADDING, Region, divide
from onnx_align_pass.inspection.ranges import Claim, gaps, natural_alignment, overlaps

SIZE = 200
spans = st.tuples(st.integers(0, 260), st.integers(0, 80))
claim_lists = st.lists(spans, max_size=8).map(
    lambda pairs: [Claim(offset, length, index) for index, (offset, length) in enumerate(pairs)]
)


def painted(claims: Sequence[Claim], size: int) -> list[set[int]]:
    """Whose each byte is."""
    owners: list[set[int]] = [set() for _ in range(size)]
    for one in claims:
        for at in range(one.offset, min(one.offset + one.length, size)):
            owners[at].add(one.tensor)
    return owners


@given(claims=claim_lists, size=st.integers(0, SIZE))
def test_gaps_are_the_bytes_that_nobody_claims(claims: list[Claim], size: int) -> None:
    owners = painted(claims, size)
    found = [at for one in gaps(claims, size) for at in range(one.offset, one.offset + one.length)]
    assert found == [at for at in range(size) if not owners[at]]
    assert all(one.length > 0 for one in gaps(claims, size))


@given(claims=claim_lists)
def test_a_gap_lies_between_the_tensors_that_it_names(claims: list[Claim]) -> None:
    for gap in gaps(claims, SIZE):
        if gap.after is not None:
            assert claims[gap.after].offset + claims[gap.after].length == gap.offset
        if gap.before is not None and gap.offset + gap.length < SIZE:
            assert claims[gap.before].offset == gap.offset + gap.length


@given(claims=claim_lists)
def test_there_is_an_overlap_where_a_byte_is_that_of_two_ranges(claims: list[Claim]) -> None:
    ranges = {one[:2] for one in claims if one.length}
    shared = any(
        one != other and one[0] < other[0] + other[1] and other[0] < one[0] + one[1]
        for one in ranges
        for other in ranges
    )
    pairs = list(overlaps(claims))
    assert bool(pairs) == shared
    for one, other in pairs:
        assert max(one.offset, other.offset) < min(
            one.offset + one.length, other.offset + other.length
        )


@given(
    claims=claim_lists,
    size=st.integers(0, SIZE),
    zeros=st.sets(st.integers(0, SIZE)),
    header=st.integers(0, 40),
)
def test_every_byte_of_a_file_is_said_to_be_what_it_is(
    claims: list[Claim], size: int, zeros: set[int], header: int
) -> None:
    regions = [Region(0, header, "header"), Region(60, 7, "padding")]
    found = divide(
        claims, size, regions, lambda at, length: zeros.issuperset(range(at, at + length))
    )
    assert list(found) == sorted(found, key=lambda one: one[:2])
    owners = painted(claims, size)
    kinds: list[set[str]] = [set() for _ in range(size)]
    for one in found:
        assert one.length > 0
        for at in range(one.offset, one.offset + one.length):
            kinds[at].add(one.kind)
            if one.tensor is not None:
                assert one.tensor in owners[at]
    for at in range(size):
        if owners[at]:
            assert kinds[at] == {"tensor"}
        elif at < header:
            assert kinds[at] == {"header"}
        elif 60 <= at < 67:
            assert kinds[at] == {"padding"}
        else:
            assert kinds[at] in ({"padding"}, {"dead"})
            assert kinds[at] == {"dead"} or at in zeros


@given(claims=claim_lists)
def test_tied_tensors_have_one_range_that_is_the_firsts(claims: list[Claim]) -> None:
    found = [one for one in divide(claims, 400, [], None) if one.kind == "tensor"]
    places = {one[:2]: one.tensor for one in reversed(claims) if one.length}
    assert {one[:2]: one.tensor for one in found} == places


def test_zeros_in_front_of_a_boundary_are_padding_and_others_dead() -> None:
    def between(end: int, *, zero: bool) -> str:
        return divide([Claim(0, end, 0), Claim(4096, 8, 1)], 4104, [], lambda *_: zero)[1].kind

    assert between(100, zero=True) == "padding"
    assert between(100, zero=False) == "dead"
    assert between(4095, zero=True) == "padding"
    whole_page = divide([Claim(0, 8192, 0), Claim(12288, 8, 1)], 12296, [], lambda *_: True)
    assert whole_page[1].kind == "dead"
    assert divide([Claim(0, 10, 0), Claim(30, 5, 1)], 35, [], lambda *_: True)[1].kind == "dead"
    assert divide([Claim(0, 10, 0), Claim(32, 5, 1)], 37, [], lambda *_: True)[1].kind == "padding"


def test_the_end_of_a_file_is_padding_up_to_a_boundary_that_a_tensor_has() -> None:
    def last(size: int, offset: int = 4096) -> str:
        return divide([Claim(offset, 100, 0)], size, [], lambda *_: True)[-1].kind

    assert last(8192) == "padding"
    assert last(8193) == "dead"
    assert last(4096 + 128) == "padding"
    assert last(12288) == "dead"
    assert last(112, offset=4) == "dead"  # no tensor needs 16
    assert last(132, offset=16) == "dead"
    assert last(128, offset=16) == "padding"


def test_a_large_gap_is_dead_and_not_read() -> None:
    def read(at: int, length: int) -> bool:
        raise AssertionError(f"{length} bytes are read")

    far = 1 << 40
    found = divide([Claim(0, 4, 0), Claim(far, 4, 1)], far + 4, [], read)
    assert [one.kind for one in found] == ["tensor", "dead", "tensor"]
    assert natural_alignment(far) > MAX_PADDING
