"""Which sources are equal: as a comparison of all with all says, and read no more than need be."""

from __future__ import annotations

import random
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnx_align_pass import ExternalDataError, ModelError
from onnx_align_pass.spans import FileSpan, MemoryBytes, Source
from onnx_align_pass.transfer import positional
from onnx_align_pass.transfer.open_source import SourceFiles
from onnx_align_pass.transfer.same_bytes import Content, groups_of_equal

SIZES = (1, 7, 4096, 4097, 8192, 8193, 20_000)
END = 4096
MODULE = "onnx_align_pass.transfer.same_bytes"


@pytest.fixture
def files(tmp_path: Path) -> Iterator[SourceFiles]:
    with SourceFiles(roots=(tmp_path,), owner_uid=None) as opened:
        yield opened


class Made:
    """Bytes that are made, and how often they were."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.length = len(data)
        self.times = 0

    def load(self) -> bytes:
        self.times += 1
        return self.data


def contents_of(sources: list[Source], kinds: list[str] | None = None) -> list[Content]:
    kinds = kinds or ["FLOAT"] * len(sources)
    return [
        Content(n, kind, f"w{n}", one)
        for n, (one, kind) in enumerate(zip(sources, kinds, strict=True))
    ]


def stored(folder: Path, blobs: list[bytes], name: str = "w.data") -> list[Source]:
    """Put blobs into a file, one behind the other."""
    (folder / name).write_bytes(b"".join(blobs))
    starts = [sum(map(len, blobs[:n])) for n in range(len(blobs))]
    return [FileSpan(folder / name, at, len(one)) for at, one in zip(starts, blobs, strict=True)]


def naive(blobs: list[bytes], kinds: list[str]) -> list[list[int]]:
    """Groups of equal ones, each compared with each."""
    groups: list[list[int]] = []
    for n, one in enumerate(zip(blobs, kinds, strict=True)):
        for group in groups:
            if (blobs[group[0]], kinds[group[0]]) == one:
                group.append(n)
                break
        else:
            groups.append([n])
    return [group for group in groups if len(group) > 1]


def blob(rng: random.Random, made: list[bytes]) -> bytes:
    """New bytes, or some that were there, as they are or with one byte changed."""
    if made and rng.random() < 0.7:
        data = bytearray(rng.choice(made))
        if rng.random() < 0.5:
            data[rng.choice((0, len(data) // 2, -1))] ^= 1
        return bytes(data)
    return rng.randbytes(rng.choice(SIZES))


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32), same_hash=st.booleans())
def test_the_groups_are_those_of_a_comparison_of_all_with_all(seed: int, same_hash: bool) -> None:
    rng = random.Random(seed)
    blobs: list[bytes] = []
    for _ in range(rng.randrange(12)):
        blobs.append(blob(rng, blobs))
    kinds = [rng.choice(("FLOAT", "FLOAT", "INT32")) for _ in blobs]
    with TemporaryDirectory() as name:
        found = groups_in(Path(name), rng, blobs, kinds, same_hash)
    assert sorted(map(sorted, found)) == sorted(naive(blobs, kinds))


def groups_in(
    folder: Path, rng: random.Random, blobs: list[bytes], kinds: list[str], same_hash: bool
) -> list[list[int]]:
    """What is found where some lie in a file and some are made."""
    spans = stored(folder, blobs)
    sources = [
        rng.choice((span, span, Made(data), MemoryBytes(data)))
        for span, data in zip(spans, blobs, strict=True)
    ]
    with pytest.MonkeyPatch.context() as patch:
        if same_hash:
            patch.setattr(f"{MODULE}._Search._digest", lambda *_: b"")
            patch.setattr(f"{MODULE}._hash", lambda _: 0)
        with SourceFiles(roots=(folder,), owner_uid=None) as files:
            return groups_of_equal(contents_of(sources, kinds), files)


def test_bytes_decide_and_not_numbers(files: SourceFiles, tmp_path: Path) -> None:
    quiet, other = struct.pack("<I", 0x7FC00000), struct.pack("<I", 0x7FC00001)
    blobs = [quiet, other, quiet, struct.pack("<f", 0.0), struct.pack("<f", -0.0)]
    assert groups_of_equal(contents_of(stored(tmp_path, blobs)), files) == [[0, 2]]


def test_of_large_ones_that_differ_only_the_ends_are_read(
    files: SourceFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size, count = 300_000, 40
    sources = stored(tmp_path, [random.Random(n).randbytes(size) for n in range(count)])
    read = counted(monkeypatch)
    assert groups_of_equal(contents_of(sources), files) == []
    assert sum(read.values()) == count * END
    twins = stored(tmp_path, [b"same" * 5000 + bytes([n]) * 100_000 for n in range(count)], "twins")
    read.clear()
    assert groups_of_equal(contents_of(twins), files) == []
    assert sum(read.values()) == 2 * count * END


def test_small_ones_are_read_together(
    files: SourceFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = stored(tmp_path, [random.Random(n).randbytes(1000) for n in range(2000)])
    read = counted(monkeypatch)
    assert groups_of_equal(contents_of(sources), files) == []
    assert len(read) == 2  # 2 MB, in a buffer of 1 MiB
    assert sum(read.values()) == 2_000_000


def test_a_range_that_is_there_twice_is_looked_at_once(
    files: SourceFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (span,) = stored(tmp_path, [b"x" * 5000])
    read = counted(monkeypatch)
    again = FileSpan(tmp_path / "w.data", 0, 5000)
    assert groups_of_equal(contents_of([span, again, span]), files) == []
    assert not read
    (made,) = stored(tmp_path, [b"x" * 5000], "other.data")
    assert groups_of_equal(contents_of([span, again, made]), files) == [[0, 2]]


def test_ranges_that_overlap_are_read_whole(files: SourceFiles, tmp_path: Path) -> None:
    data = random.Random(0).randbytes(9000)
    (tmp_path / "w.data").write_bytes(data + data)
    (tmp_path / "v.data").write_bytes(data)
    spans = [FileSpan(tmp_path / "w.data", at, 4000) for at in (0, 100, 9000, 9100, 200)]
    spans += [FileSpan(tmp_path / "w.data", at, 30) for at in (50, 9050, 200, 9200)]
    spans += [FileSpan(tmp_path / "v.data", 100, 4000)]
    found = groups_of_equal(contents_of([*spans]), files)
    assert sorted(found) == [[0, 2], [1, 3, 9], [5, 6], [7, 8]]


def test_what_is_alone_is_never_read(files: SourceFiles, tmp_path: Path) -> None:
    missing = FileSpan(tmp_path / "missing", 0, 10)
    assert groups_of_equal(contents_of([missing, MemoryBytes(b"12345")]), files) == []
    assert groups_of_equal(contents_of([missing, MemoryBytes(b"1" * 10)], ["A", "B"]), files) == []


def test_each_lazy_one_is_made_as_few_times_as_may_be(files: SourceFiles) -> None:
    distinct = [Made(bytes([n]) * 100_000) for n in range(5)]
    assert groups_of_equal(contents_of(list(distinct)), files) == []
    assert [one.times for one in distinct] == [1] * 5
    pair = [Made(b"x" * 100_000), Made(b"x" * 100_000)]
    assert groups_of_equal(contents_of(list(pair)), files) == [[0, 1]]
    assert [one.times for one in pair] == [1, 1]
    four = [Made(b"x" * 100_000) for _ in range(4)]
    assert groups_of_equal(contents_of(list(four)), files) == [[0, 1, 2, 3]]
    assert [one.times for one in four] == [2] * 4


def test_empty_ones_share_nothing(files: SourceFiles, tmp_path: Path) -> None:
    empty = FileSpan(tmp_path / "missing", 0, 0)
    assert groups_of_equal(contents_of([empty, empty._replace(offset=4)]), files) == []


def test_a_source_that_cannot_be_read_is_named(files: SourceFiles, tmp_path: Path) -> None:
    (span,) = stored(tmp_path, [b"x" * 10])
    missing = FileSpan(tmp_path / "missing", 0, 10)
    with pytest.raises(ExternalDataError, match="missing"):
        groups_of_equal(contents_of([span, missing]), files)
    (tmp_path / "short").write_bytes(b"x" * 9)
    with pytest.raises(ModelError, match="short"):
        groups_of_equal(contents_of([span, FileSpan(tmp_path / "short", 0, 10)]), files)


def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[int, int]]:
    """Count the bytes of each read: (offset, length)."""
    read: Counter[tuple[int, int]] = Counter()
    real = positional.read_full

    def read_full(fd: int, view: memoryview, offset: int) -> int:
        read[offset, len(view)] += len(view)
        return real(fd, view, offset)

    monkeypatch.setattr("onnx_align_pass.transfer.parts.read_full", read_full)
    return read
