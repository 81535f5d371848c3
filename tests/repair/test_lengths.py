"""A length is cut only where the bytes behind the tensor cannot be the tensor's."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from onnx_align_pass.mending import lengths
from onnx_align_pass.mending.lengths import Surplus
from onnx_align_pass.spans import FileSpan
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.parts import parts_of


def judged(
    path: Path, spans: Sequence[tuple[int, int]], which: int, length: int, *, window: int = 64
) -> bool:
    """Whether the length of one of the tensors may be cut."""
    found = [FileSpan(path, offset, nbytes) for offset, nbytes in spans]
    with SourceFiles(roots=(path.parent,), owner_uid=None) as files:
        surplus = Surplus(found, files, memoryview(bytearray(window)))
        return surplus.is_padding(found[which], length, "w")


def naive(content: bytes, spans: Sequence[tuple[int, int]], which: int, length: int) -> bool:
    """Whether each byte of the surplus is another tensor's, or zero: byte by byte."""
    offset, nbytes = spans[which]
    claimed = {at for start, size in spans for at in range(start, start + size)}
    behind = range(offset + nbytes, min(offset + length, len(content)))
    return all(at in claimed or content[at] == 0 for at in behind)


@pytest.mark.parametrize("seed", range(300))
def test_what_is_cut_has_nothing_behind_it_that_may_be_its_own(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    spans, end = [], 0
    for _ in range(rng.randint(1, 5)):
        offset = end + rng.choice([0, 0, 1, 7, -end % 64])
        spans.append((offset, rng.randint(1, 90)))
        end = sum(spans[-1])
    content = bytearray(end + rng.choice([0, 1, 64, -end % 64]))
    for offset, nbytes in spans:
        content[offset : offset + nbytes] = rng.randbytes(nbytes)
    for _ in range(rng.choice([0, 0, 1, 3])):
        content[rng.randrange(len(content))] = 1
    path = tmp_path / "data"
    path.write_bytes(content)
    for which, (offset, nbytes) in enumerate(spans):
        for length in {nbytes + 1, nbytes - nbytes % -64, len(content) - offset, 10_000}:
            if length > nbytes and judged(path, spans, which, length):
                assert naive(bytes(content), spans, which, length)


@pytest.mark.parametrize("boundary", [2, 16, 64, 4096, 65536])
@pytest.mark.parametrize("nbytes", [1, 15, 1200, 4097])
@pytest.mark.parametrize("start", [0, 64, 65536])
def test_padding_up_to_a_boundary_is_cut(
    boundary: int, nbytes: int, start: int, tmp_path: Path
) -> None:
    length = nbytes - nbytes % -boundary
    path = tmp_path / "data"
    path.write_bytes(bytes(start) + b"\1" * nbytes + bytes(length - nbytes) + b"\1" * 100)
    if length > nbytes:
        spans = [(start, nbytes), (start + length, 100)]
        assert judged(path, spans, 0, length)
        path.write_bytes(path.read_bytes()[: start + nbytes])  # the end of it is not there
        assert judged(path, spans[:1], 0, length)


def test_zeros_that_are_as_long_as_their_boundary_are_not_cut(tmp_path: Path) -> None:
    """A float32 tensor called float16 has twice its bytes: half of them could be zero."""
    path = tmp_path / "data"
    path.write_bytes(b"\1" * 1000 + bytes(1000))
    assert not judged(path, [(0, 1000)], 0, 2000)
    path.write_bytes(b"\1" * 1024 + bytes(3072))
    assert not judged(path, [(0, 1024)], 0, 4096 + 1024)
    assert judged(path, [(0, 1024)], 0, 2048)


def test_a_long_stretch_of_zeros_is_no_padding_whatever_the_boundary(tmp_path: Path) -> None:
    path = tmp_path / "data"
    with path.open("wb") as file:
        file.write(b"\1" * 1024)
        file.truncate(1 << 30)
    assert not judged(path, [(0, 1024)], 0, 1 << 30)


def test_each_byte_is_read_once_however_many_lengths_count_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some writers let every tensor claim all that follows it."""
    read = Counter[int]()

    def counted(span: FileSpan, *rest: Any) -> Iterator[tuple[int, memoryview]]:
        for at, part in parts_of(span, *rest):
            read.update(range(span.offset + at, span.offset + at + len(part)))
            yield at, part

    monkeypatch.setattr(lengths, "parts_of", counted)
    path, spans = tmp_path / "data", [(at * 64, 40) for at in range(200)]
    path.write_bytes(bytes(200 * 64))
    found = [FileSpan(path, *one) for one in spans]
    with SourceFiles(roots=(tmp_path,), owner_uid=None) as files:
        surplus = Surplus(found, files, memoryview(bytearray(64)))
        assert all(surplus.is_padding(one, 200 * 64 - one.offset, "w") for one in found)
        assert surplus.is_padding(found[0], 70, "w")
    assert set(read.values()) == {1}


def test_what_was_asked_before_changes_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"\1" * 40 + bytes(24) + b"\1" * 64)
    span = FileSpan(path, 0, 40)
    with SourceFiles(roots=(tmp_path,), owner_uid=None) as files:
        surplus = Surplus([span], files, memoryview(bytearray(8)))
        assert [surplus.is_padding(span, length, "w") for length in (128, 64, 128, 48)] == [
            False,
            True,
            False,
            True,
        ]


def test_nothing_is_cut_where_tensors_overlap(tmp_path: Path) -> None:
    """The second has the surplus of the first; it is the first that may have the wrong type."""
    path = tmp_path / "data"
    path.write_bytes(bytes(128))
    assert not judged(path, [(0, 32), (0, 64)], 0, 64)
