"""Splitting pieces into steps, as values: every byte once, in order, within the limits."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from onnx_align_pass.spans import FileSpan, MemoryBytes, Source
from onnx_align_pass.transfer.open_run import GAP_BELOW, SKIP_MAX
from onnx_align_pass.transfer.positional import IOV_MAX
from onnx_align_pass.transfer.split import split
from onnx_align_pass.transfer.steps import Load, Move, Piece, Run, Step

A, B = Path("a"), Path("b")


@st.composite
def layouts(draw: st.DrawFn) -> list[Piece]:
    """Disjoint pieces in order, of two files and of memory, near to and far from each other."""
    pieces: list[Piece] = []
    offset = read_to = 0
    for index in range(draw(st.integers(0, 40))):
        length = draw(st.sampled_from([0, 1, 7, 100, 999, 1000, 1001, 5000]))
        offset += draw(st.sampled_from([0, 0, 1, 63, 4095, 4096, 9000]))
        start = draw(st.sampled_from([read_to, read_to, read_to + 5, 0, read_to + SKIP_MAX + 1]))
        kind = draw(st.sampled_from([A, A, A, B, None]))
        source: Source = (
            MemoryBytes(bytes(length)) if kind is None else FileSpan(kind, start, length)
        )
        pieces.append(Piece(source, offset, f"t{index}"))
        offset, read_to = offset + length, start + length
    return pieces


def pieces_of(step: Step) -> tuple[Piece, ...]:
    return (step.piece,) if isinstance(step, Load) else step.pieces


windows = st.sampled_from([1, 500, 1000, 4096, 20_000])
thresholds = st.sampled_from([0, 1, 1000, 6000, 10**9])


@given(layouts(), windows, thresholds)
def test_every_piece_with_bytes_is_in_one_step_in_order(
    pieces: list[Piece], window: int, below: int
) -> None:
    steps = list(split(pieces, window=window, gather_below=below))
    assert [piece for step in steps for piece in pieces_of(step)] == [
        piece for piece in pieces if piece.source.length
    ]


@given(layouts(), windows, thresholds)
def test_a_run_reads_and_writes_no_more_than_its_window(
    pieces: list[Piece], window: int, below: int
) -> None:
    for run in split(pieces, window=window, gather_below=below):
        if isinstance(run, Run):
            last = run.pieces[-1]
            assert last.offset + last.source.length - run.pieces[0].offset <= window
            assert sum(stretch.end - stretch.start for stretch in run.stretches) <= window
            for one, two in pairwise(run.pieces):
                assert 0 <= two.offset - one.offset - one.source.length < GAP_BELOW


@given(layouts(), windows, thresholds)
def test_each_piece_of_a_run_is_where_its_stretch_puts_it(
    pieces: list[Piece], window: int, below: int
) -> None:
    for run in split(pieces, window=window, gather_below=below):
        if not isinstance(run, Run):
            continue
        buffer = [
            (stretch.path, offset)
            for stretch in run.stretches
            for offset in range(stretch.start, stretch.end)
        ]
        for piece, place in zip(run.pieces, run.places, strict=True):
            span = piece.source
            if isinstance(span, FileSpan):
                wanted = [(span.path, offset) for offset in range(span.offset, span.end)]
                assert buffer[place : place + span.length] == wanted
            else:
                assert place == -1


@given(layouts(), windows, thresholds)
def test_a_move_is_one_range_on_both_sides(pieces: list[Piece], window: int, below: int) -> None:
    for move in split(pieces, window=window, gather_below=below):
        if isinstance(move, Move):
            spans = [piece.source for piece in move.pieces if isinstance(piece.source, FileSpan)]
            shifts = {p.offset - s.offset for p, s in zip(move.pieces, spans, strict=True)}
            assert len(shifts) == 1
            assert {span.path for span in spans} == {move.first.path}
            assert sum(span.length for span in spans) == move.length
            assert all(one.end == two.offset for one, two in pairwise(spans))


@given(layouts(), windows)
def test_nothing_is_gathered_that_is_not_small(pieces: list[Piece], window: int) -> None:
    for step in split(pieces, window=window, gather_below=1000):
        if isinstance(step, Run):
            assert all(piece.source.length < 1000 for piece in step.pieces)
        elif isinstance(step, Move):
            assert step.length >= min(1000, window)


def row(count: int, length: int, gap: int = 0, skip: int = 0) -> list[Piece]:
    return [
        Piece(FileSpan(A, i * (length + skip), length), i * (length + gap), str(i))
        for i in range(count)
    ]


def test_small_pieces_that_touch_on_both_sides_become_one_move() -> None:
    (move,) = split(row(5000, 100), window=1 << 20, gather_below=1000)
    assert isinstance(move, Move)
    assert move.length == 500_000


def test_padding_of_the_source_is_never_part_of_a_move() -> None:
    moves = list(split(row(3, 5000, gap=96, skip=96), window=1 << 20, gather_below=1000))
    assert [step.length for step in moves if isinstance(step, Move)] == [5000] * 3


def test_no_run_has_more_slices_than_one_call_takes() -> None:
    runs = list(split(row(5000, 10, gap=1), window=1 << 20))
    assert all(isinstance(run, Run) and 2 * len(run.pieces) <= IOV_MAX + 1 for run in runs)
    assert len(runs) < 12


def test_twenty_thousand_small_tensors_need_few_steps() -> None:
    assert len(list(split(row(20_000, 8000, gap=192), window=1 << 20))) < 200


def test_small_pieces_in_any_order_of_their_file_share_a_run() -> None:
    pieces = [Piece(FileSpan(A, (99 - i) * 1000, 1000), i * 1024, str(i)) for i in range(100)]
    (run,) = split(pieces, window=1 << 20)
    assert isinstance(run, Run)
    assert len(run.stretches) == 100


def test_a_stretch_does_not_read_far_in_vain() -> None:
    (run,) = split(row(2, 100, gap=1, skip=SKIP_MAX), window=1 << 20)
    assert isinstance(run, Run)
    assert len(run.stretches) == 1
    (run,) = split(row(2, 100, gap=1, skip=SKIP_MAX + 1), window=1 << 20)
    assert isinstance(run, Run)
    assert len(run.stretches) == 2


def test_large_bytes_in_memory_are_a_step_of_their_own() -> None:
    piece = Piece(MemoryBytes(bytes(5000)), 7, "w")
    assert list(split([piece], window=4096)) == [Load(piece.source, piece)]  # type: ignore[arg-type]
