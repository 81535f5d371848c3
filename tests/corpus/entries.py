"""Cases: `external_data` entries that are missing, doubled, out of order or extra."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from onnx import TensorProto

from .build import DATA, numbers, point, showing, tensor, write
from .case import CaseBook

__all__ = ["CASES"]

CASES = CaseBook()

COUNT = 300
"""Numbers in each tensor."""
LENGTH = 4 * COUNT
Entries = Iterable[tuple[str, str]]


def data_file(folder: Path) -> None:
    """A data file of three tensors' bytes, without gaps."""
    (folder / DATA).write_bytes(numbers("data", [3 * COUNT]).tobytes())


def weight(name: str, entries: Entries) -> TensorProto:
    """An external tensor of LENGTH bytes with just these entries."""
    return point(tensor(name, [COUNT]), entries)


def of(folder: Path, *tensors: Entries) -> Path:
    """A model of one tensor for each list of entries."""
    data_file(folder)
    return write(folder, showing([weight(f"w{i}", entries) for i, entries in enumerate(tensors)]))


FULL = (("location", DATA), ("offset", str(LENGTH)), ("length", str(LENGTH)))


@CASES.add()
def offset_absent(folder: Path) -> Path:
    """No `offset`: it is 0."""
    return of(folder, (("location", DATA), ("length", str(LENGTH))), FULL)


@CASES.add(onnx_load=False)
def length_absent(folder: Path) -> Path:
    """No `length`: it is dtype x dims. onnx reads to the end of the file instead."""
    return of(folder, (("location", DATA), ("offset", str(LENGTH))), FULL)


@CASES.add(onnx_load=False)
def offset_and_length_absent(folder: Path) -> Path:
    """Only a `location`, of a file longer than the tensor."""
    return of(folder, (("location", DATA),), FULL)


@CASES.add()
def offset_and_length_absent_in_a_file_of_its_own(folder: Path) -> Path:
    """Only a `location`, of a file that is just the tensor."""
    (folder / "own").write_bytes(numbers("own", [COUNT]).tobytes())
    return of(folder, (("location", "own"),), FULL)


@CASES.add(onnx_load=False)
def length_zero(folder: Path) -> Path:
    """`length` "0" with dims that are not empty: it is dtype x dims."""
    return of(folder, (("location", DATA), ("offset", str(LENGTH)), ("length", "0")), FULL)


@CASES.add()
def checksum(folder: Path) -> Path:
    """A right `checksum`: the SHA1 of the whole data file."""
    data_file(folder)
    digest = hashlib.sha1((folder / DATA).read_bytes()).hexdigest()
    return of(folder, (*FULL, ("checksum", digest)), FULL)


@CASES.add()
def checksum_stale(folder: Path) -> Path:
    """A `checksum` that the data file no longer has."""
    return of(folder, (*FULL, ("checksum", hashlib.sha1(b"before").hexdigest())), FULL)


@CASES.add(runs=False)
def basepath(folder: Path) -> Path:
    """A `basepath` key, as onnx's own set_external_data writes: to be reported and dropped."""
    return of(folder, (*FULL, ("basepath", "/tmp/elsewhere")), FULL)


@CASES.add()
def prepacked(folder: Path) -> Path:
    """Keys `prepacked_N` as onnxruntime writes: to be reported and dropped, they name offsets."""
    return of(folder, (*FULL, ("prepacked_0", f"MatMul+1.0:blob|0;{LENGTH};1200")), FULL)


@CASES.add(runs=False)
def unknown_key(folder: Path) -> Path:
    """A key that nobody knows: to be reported and dropped."""
    return of(folder, (*FULL, ("colour", "blue")), FULL)


@CASES.add()
def keys_in_other_order(folder: Path) -> Path:
    """`length` first, `location` last."""
    return of(folder, FULL[::-1], FULL)


@CASES.add(runs=False, checker=False)
def location_twice(folder: Path) -> Path:
    """Two locations: the last one wins in onnx.load, the checker and onnxruntime refuse."""
    return of(folder, (("location", "nowhere"), *FULL), FULL)


@CASES.add()
def offset_and_length_twice(folder: Path) -> Path:
    """Two offsets and two lengths: the last one wins."""
    return of(folder, (("offset", "999999"), ("length", "1"), *FULL), FULL)


@CASES.add()
def leading_zeros(folder: Path) -> Path:
    """Numbers with leading zeros are decimal."""
    padded = (("location", DATA), ("offset", f"000{LENGTH}"), ("length", f"00{LENGTH}"))
    return of(folder, padded, FULL)


@CASES.add()
def entries_of_an_inline_tensor(folder: Path) -> Path:
    """An inline tensor that still carries `external_data` of its past: the bytes inside win."""
    data_file(folder)
    inline = tensor("inline", [COUNT])
    for key, value in FULL:
        inline.external_data.add(key=key, value=value)
    explicit = tensor("explicit", [COUNT])
    explicit.data_location = TensorProto.DEFAULT
    return write(folder, showing([inline, explicit, weight("outside", FULL)]))
