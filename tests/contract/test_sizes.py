"""Sizes as people write and read them, and ranges as files have them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnx_align_pass import SizeError, SpanError
from onnx_align_pass.spans import FileSpan, MemoryBytes
from onnx_align_pass.units import format_bytes, parse_size

UNITS = {
    "": 1, "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "K": 2**10, "M": 2**20, "G": 2**30,
    "T": 2**40,
}  # fmt: skip


@given(
    number=st.integers(0, 10**15),
    unit=st.sampled_from(sorted(UNITS)),
    space=st.sampled_from(["", " ", "  "]),
    lower=st.booleans(),
)
def test_a_whole_number_of_any_unit_is_that_many_bytes(
    number: int, unit: str, space: str, lower: bool
) -> None:
    text = f"{space}{number}{space}{unit}{space}"
    assert parse_size(text.lower() if lower else text) == number * UNITS[unit]


@given(number=st.integers(0, 10**6), digits=st.integers(1, 12), unit=st.sampled_from(sorted(UNITS)))
def test_a_decimal_is_exact_or_refused(number: int, digits: int, unit: str) -> None:
    decimals = str(number % 10**digits).zfill(digits)
    text = f"{number}.{decimals}{unit}"
    exact = Fraction(f"{number}.{decimals}") * UNITS[unit]
    if exact.denominator == 1:
        assert parse_size(text) == exact
    else:
        with pytest.raises(SizeError):
            parse_size(text)


def test_a_decimal_that_no_float_holds_is_read_right() -> None:
    assert parse_size("1.005kB") == 1005
    assert parse_size("4.35GB") == 4_350_000_000
    assert parse_size("1.5M") == 1536 * 1024


BAD = ["", " ", "x", "-1", "+1", "1e3", "1_000", "1,000", "0x10", "1.", ".5", "1.5", "1.5B", "1 2"]
BAD += ["1XB", "1kk", "KB", "٣", "1\N{KELVIN SIGN}B", "nan", "inf", "9" * 400, "0." + "1" * 400]


@pytest.mark.parametrize("text", BAD, ids=ascii)
def test_what_is_no_size_is_a_named_error_that_shows_it(text: str) -> None:
    with pytest.raises(SizeError) as error:
        parse_size(text)
    assert isinstance(error.value, ValueError)
    assert "is not a size" in str(error.value)
    assert "such as 4096, 64KiB or 2GB" in str(error.value)
    assert str(error.value).isprintable()


@given(count=st.integers(0, 2**60))
def test_a_size_that_is_shown_is_right_to_one_digit(count: int) -> None:
    number, unit = format_bytes(count).split(" ")
    assert abs(Fraction(number) * UNITS[unit] - count) <= Fraction(UNITS[unit], 20)
    if unit != "TiB":
        assert Fraction(number) < 1024
    if unit != "B":
        assert Fraction(number) >= 1


@given(number=st.integers(0, 1023), unit=st.sampled_from(["B", "KiB", "MiB", "GiB", "TiB"]))
def test_a_round_size_is_read_back_as_it_was_shown(number: int, unit: str) -> None:
    count = number * UNITS[unit]
    assert parse_size(format_bytes(count)) == count


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (2**20 - 1, "1.0 MiB"),
        (2**40, "1.0 TiB"),
        (2**50, "1024.0 TiB"),
        (-2048, "-2.0 KiB"),
    ],
)
def test_a_size_is_shown_in_the_unit_in_which_it_reads_best(count: int, text: str) -> None:
    assert format_bytes(count) == text


@pytest.mark.parametrize(("offset", "length"), [(-1, 0), (0, -1), (-5, -5)])
def test_a_span_before_the_start_of_a_file_cannot_be_made(offset: int, length: int) -> None:
    with pytest.raises(SpanError, match=f"offset {offset}, length {length}") as error:
        FileSpan(Path("w.data"), offset, length)
    assert isinstance(error.value, ValueError)


def test_a_span_is_half_open_and_may_be_empty() -> None:
    assert FileSpan(Path("w.data"), 5, 0).end == 5
    assert FileSpan(Path("w.data"), 5, 3).end == 8
    assert FileSpan(Path("w.data"), 5, 3) == FileSpan(Path("w.data"), 5, 3)
    assert FileSpan(Path("w.data"), 0, 0) != FileSpan(Path("w.data"), 0, 1)


def test_bytes_in_memory_are_themselves() -> None:
    assert MemoryBytes(b"abc").length == 3
    assert MemoryBytes(b"abc").load() == b"abc"
