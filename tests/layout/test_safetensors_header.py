"""Headers of safetensors files, held against the safetensors library."""

from __future__ import annotations

import json
from typing import Any

import pytest
import safetensors
from hypothesis import example, given
from hypothesis import strategies as st
from safetensors import SafetensorError

from onnx_align_pass.layout.safetensors_header import read_header

GOOD = {
    "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
    "__pad_0__": {"dtype": "U8", "shape": [8], "data_offsets": [24, 32]},
    "b": {"dtype": "I8", "shape": [5], "data_offsets": [32, 37]},
}

DESERIALIZE: Any = safetensors.deserialize
"""It has no types."""


def file_of(header: Any, body: int = 37, *, blanks: int = 0) -> bytes:
    text = (header if isinstance(header, str) else json.dumps(header)).encode() + b" " * blanks
    return len(text).to_bytes(8, "little") + text + bytes(body)


def accepted(data: bytes) -> bool:
    try:
        DESERIALIZE(data)
    except SafetensorError:
        return False
    return True


def read(data: bytes) -> Any:
    return read_header(lambda at, length: data[at : at + length], len(data))


def test_entries_have_their_places_in_the_file() -> None:
    data = file_of(GOOD, blanks=11)
    header = read(data)
    begin = header.nbytes
    assert data[begin - 11 : begin] == b" " * 11
    assert header.problem is None
    assert [(one.name, one.offset - begin, one.length) for one in header.entries] == [
        ("a", 0, 24),
        ("__pad_0__", 24, 8),
        ("b", 32, 5),
    ]
    assert [one.is_padding for one in header.entries] == [False, True, False]


def changed(name: str, **fields: Any) -> dict[str, Any]:
    return {**GOOD, name: {**GOOD[name], **fields}}


FIELDS = '"dtype": "U8", "shape": [37], "data_offsets": [0, 37]'
BAD = {
    "hole": changed("b", data_offsets=[33, 38]),
    "overlap": changed("b", data_offsets=[31, 36]),
    "too many bytes": changed("a", shape=[2, 2]),
    "unknown dtype": changed("a", dtype="F12"),
    "backwards": changed("a", data_offsets=[24, 0]),
    "negative": changed("a", shape=[-2, -3]),
    "fraction": changed("a", shape=[2.0, 3.0]),
    "three offsets": changed("a", data_offsets=[0, 12, 24]),
    "no shape": {"a": {"dtype": "F32", "data_offsets": [0, 24]}},
    "a list": {"a": [1, 2]},
    "a text": {"a": "F32"},
    "metadata of numbers": {**GOOD, "__metadata__": {"a": 1}},
    "metadata of a text": {**GOOD, "__metadata__": "text"},
    "too short": {"a": GOOD["a"]},
    "a name that is no Unicode": {"\ud800": GOOD["a"]},
    "metadata that is no Unicode": {**GOOD, "__metadata__": {"a": "\udfff"}},
    "a field twice": f'{{"a": {{"dtype": "U8", {FIELDS}}}}}',
    "metadata twice": f'{{"__metadata__": {{}}, "__metadata__": {{}}, "a": {{{FIELDS}}}}}',
    "minus zero": '{"a": {"dtype": "U8", "shape": [37], "data_offsets": [-0, 37]}}',
    "past 64 bits on the way to nothing": {
        "z": {"dtype": "U8", "shape": [1 << 32, 1 << 32, 0], "data_offsets": [0, 0]},
        **GOOD,
    },
}


@pytest.mark.parametrize("name", BAD)
def test_what_the_library_refuses_is_a_problem(name: str) -> None:
    data = file_of(BAD[name])
    assert not accepted(data)
    header = read(data)
    assert header is not None
    assert header.problem
    assert header.entries == ()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 8,
        b"\x02" + b"\0" * 7,
        file_of("[]"),
        file_of("{"),
        file_of("{" * 5000),
        file_of('{"a": NaN'),
        file_of(f'{{"a": {{"x": NaN, {FIELDS}}}}}'),
        file_of(f'{{"a": {{"x": 1e999, {FIELDS}}}}}'),
        file_of(f'{{"a": {{"x": {"9" * 400}, {FIELDS}}}}}'),
        file_of('{"a": "\xff'),
        (1 << 63).to_bytes(8, "little") + b"{}",
        (100).to_bytes(8, "little") + b"{}",
        bytes(100),
    ],
    ids=lambda data: data[:12].hex(),
)
def test_what_is_no_header_is_none(data: bytes) -> None:
    assert not accepted(data)
    assert read(data) is None


@pytest.mark.parametrize("depth", [100, 300, 400, 450, 480, 490, 600, 900])
@pytest.mark.parametrize("field", ["dtype", "shape", "data_offsets", "x"])
def test_a_field_that_nests_is_read_or_refused(field: str, depth: int) -> None:
    nested = '{"a":' * depth + "1" + "}" * depth
    data = file_of(f'{{"a": {{{FIELDS}, "{field}": {nested}}}}}')
    found = read(data)
    # The library refuses what nests deeper than 127, wherever it is; we where we look at it.
    assert accepted(data) == (field == "x" and depth == 100)
    assert found is None or found.problem or field == "x"


dtypes = st.sampled_from(["F32", "F16", "U8", "I64", "BOOL", "BF16", "F8_E4M3", "C64", "X"])
entries = st.fixed_dictionaries(
    {
        "dtype": dtypes,
        "shape": st.lists(st.integers(0, 3), max_size=3),
        "data_offsets": st.tuples(st.integers(0, 40), st.integers(0, 40)),
    }
)


@given(header=st.dictionaries(st.sampled_from("abc"), entries, max_size=2), body=st.integers(0, 40))
@example(header={}, body=0)
@example(header={}, body=1)
@example(header=GOOD, body=37)
@example(header=GOOD, body=38)
def test_a_file_is_right_where_the_library_takes_it(header: dict[str, Any], body: int) -> None:
    data = file_of(header, body)
    found = read(data)
    assert found is not None
    assert accepted(data) == (found.problem is None)


@given(data=st.binary(max_size=60))
def test_no_bytes_crash_the_reader(data: bytes) -> None:
    found = read(len(data).to_bytes(8, "little") + b"{" + data)
    assert found is None or found.nbytes <= len(data) + 9
