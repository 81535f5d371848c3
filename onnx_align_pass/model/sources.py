"""Where a tensor's bytes lie, as the model says it, checked against dtype and shape.

Strings only: whether a data file exists, and how long it is, is asked of the descriptor that is
copied from.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias

import onnx

from onnx_align_pass.errors import ExternalDataError, TensorError, UnsafeDataFileError
from onnx_align_pass.model.decode import DecodedTensor
from onnx_align_pass.model.schema import ELEMENT_BITS, TYPED_FIELD_OF, TYPED_FIELDS, dtype_name
from onnx_align_pass.model.skeleton import Skeleton
from onnx_align_pass.model.walk import walk
from onnx_align_pass.spans import MAX_FILE_BYTES, FileSpan, MemoryBytes, Source
from onnx_align_pass.tensors import Slot, TensorFacts

__all__ = [
    "DROPPED",
    "KEY_TWICE",
    "LENGTH_DERIVED",
    "OFFSET_DERIVED",
    "STALE_CHECKSUM",
    "UNKNOWN_KEY",
    "Located",
    "data_file_names",
    "external_tensors",
    "facts_of",
    "locate",
    "location_of",
]

_PAYLOAD: Final = {*TYPED_FIELDS, onnx.TensorProto.DESCRIPTOR.fields_by_name["raw_data"].number}
_EXTERNAL: Final = onnx.TensorProto.EXTERNAL
_MOST_DIMS: Final = 64
_MOST_DIGITS: Final = 80
_MOST_LETTERS: Final = 1 << 15
"""Of a location: no system has longer paths, and to resolve one takes the square of its length."""
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")
LENGTH_DERIVED: Final = "no length: taken from element type and shape"
OFFSET_DERIVED: Final = "no offset: taken as 0"
STALE_CHECKSUM: Final = "a checksum of the old data file: dropped, it would be stale"
KEY_TWICE: Final = "an external data key given twice: the last one counts, the other is dropped"
UNKNOWN_KEY: Final = "an external data key that describes the old file: dropped"
DROPPED: Final = frozenset({STALE_CHECKSUM, KEY_TWICE, UNKNOWN_KEY})
"""Notes of entries that the result will not have."""
_BAD_HINT: Final = "The model is damaged; export it again."
_MENDABLE_HINT: Final = (
    "`onnx-align repair` mends what takes no guess, such as a length that counts padding; "
    "else export the model again."
)


Located: TypeAlias = tuple[Source, str, str | None, tuple[str, ...]]
"""A tensor's bytes; `field` and `home` of its `TensorRequest`; what its entries had to say."""


def facts_of(slot: Slot, tensor: onnx.TensorProto, file: Path) -> TensorFacts:
    """Return what a storage decision may depend on.

    Raises:
        TensorError: A dimension is negative, or the size does not fit 63 bits.
    """
    shape = tuple(tensor.dims[:])  # a slice is read twice as fast as an iterator
    data_type = tensor.data_type
    bits = ELEMENT_BITS.get(data_type, 0)
    # Thousands of dimensions would multiply to a number of megabytes.
    count = math.prod(shape) if len(shape) <= _MOST_DIMS else _bounded_product(shape)
    nbytes = (count * bits + 7) // 8
    if (shape and min(shape) < 0) or nbytes > MAX_FILE_BYTES:
        raise TensorError(
            "its shape is negative, or multiplies to more bytes than a file can hold",
            tensor=slot.name,
            file=file,
            found=f"shape {list(shape)}",
            hint=_BAD_HINT,
            code="bad-shape",
        )
    external = tensor.data_location == _EXTERNAL
    return TensorFacts(slot, dtype_name(data_type), shape, nbytes, bits, external)


def _bounded_product(shape: tuple[int, ...]) -> int:
    if 0 in shape:
        return 0
    count = 1
    for dim in shape:
        count *= dim
        if abs(count) > MAX_FILE_BYTES:
            return MAX_FILE_BYTES + 1
    return count


def locate(facts: TensorFacts, tensor: onnx.TensorProto, skeleton: Skeleton) -> Located:
    """Find a tensor's bytes, and check that as many are named as dtype and shape need.

    Raises:
        TensorError: Dtype, shape and the bytes' number contradict each other, or the bytes are
            named twice.
        ExternalDataError: The entries of an external tensor cannot be followed.
    """
    if facts.is_external:
        return _external(facts, tensor, skeleton)
    return _inline(facts, tensor, skeleton)


def _inline(facts: TensorFacts, tensor: onnx.TensorProto, skeleton: Skeleton) -> Located:
    if tensor.HasField("segment"):
        raise _segment(facts, skeleton)
    cut = skeleton.cut_of(tensor)
    held = [field.name for field, _ in tensor.ListFields() if field.number in _PAYLOAD]
    if cut is not None:
        held.remove("raw_data")  # the placeholder
        held.append(cut.field_name)
    if len(held) > 1:
        raise _twice(facts, skeleton, held)
    if not held:
        raise _mismatch(facts, skeleton.path, "no bytes at all")
    if held[0] not in ("raw_data", TYPED_FIELD_OF[tensor.data_type]):
        raise _mismatch(facts, skeleton.path, f"numbers in {held[0]}")
    if cut is not None and cut.payload is not None:
        source: Source = cut.payload
    elif cut is not None:
        return _decoded(facts, tensor, skeleton, cut.fields, held[0]), held[0], None, ()
    elif held[0] == "raw_data":
        source = MemoryBytes(tensor.raw_data)
    else:
        whole = (tensor.SerializeToString(),)
        return _decoded(facts, tensor, skeleton, whole, held[0]), held[0], None, ()
    if source.length != facts.nbytes:
        raise _mismatch(facts, skeleton.path, f"{source.length:,} inline bytes")
    return source, "inline" if held[0] == "raw_data" else held[0], None, ()


def _decoded(
    facts: TensorFacts,
    tensor: onnx.TensorProto,
    skeleton: Skeleton,
    fields: tuple[Source | bytes, ...],
    field_name: str,
) -> DecodedTensor:
    name, file = facts.slot.name, skeleton.path
    return DecodedTensor(
        name, file, fields, field_name, tensor.data_type, facts.shape, facts.nbytes
    )


def _external(facts: TensorFacts, tensor: onnx.TensorProto, skeleton: Skeleton) -> Located:
    if tensor.data_type not in TYPED_FIELD_OF:
        raise TensorError(
            f"external data of type {facts.dtype} cannot be sized",
            tensor=facts.slot.name,
            file=skeleton.path,
            hint="Strings must be inline; a type that onnx does not know needs a newer onnx.",
            code="unsized-type",
        )
    if tensor.HasField("segment"):
        raise _segment(facts, skeleton)
    if (  # spelt out: asked of every external tensor
        tensor.raw_data
        or tensor.float_data
        or tensor.int32_data
        or tensor.int64_data
        or tensor.double_data
        or tensor.uint64_data
    ):
        held = [one.name for one, value in tensor.ListFields() if one.number in _PAYLOAD and value]
        raise _twice(facts, skeleton, ["external data", *held])
    notes: tuple[str, ...] = ()
    entries = tensor.external_data[:]  # a slice is read faster than an iterator
    if len(entries) == 3:
        one, two, three = entries
    if (
        len(entries) == 3
        and one.key == "location"
        and two.key == "offset"
        and three.key == "length"
    ):
        location, offset_text, length_text = one.value, two.value, three.value
    else:
        location, offset_text, length_text, notes = _unusual(tensor)
    found = skeleton.homes.get(location)
    if found is None:
        name = _plain(facts, location, skeleton.path)
        found = skeleton.homes[location] = (name, skeleton.data_path(name))
    home, path = found
    offset, length = _range(facts, skeleton.path, offset_text, length_text)
    if length != facts.nbytes:
        if length:
            raise _mismatch(facts, skeleton.path, f"length {length:,}", _MENDABLE_HINT)
        length = facts.nbytes
        notes = (*notes, LENGTH_DERIVED)
    return FileSpan(path, offset, length), "inline", home, notes


def _range(facts: TensorFacts, file: Path, offset: str, length: str) -> tuple[int, int]:
    # `isdigit` alone takes digits of other scripts; int() alone takes signs, spaces, underscores.
    digits = f"{offset}{length}"  # bytes, which are text that is not UTF-8, become no digits
    if not (digits.isdigit() and digits.isascii() and offset and length):
        texts = f"offset {offset!r}, length {length!r}"
        raise _bad_range(facts, file, "its range is not in numbers of bytes", texts)
    start = int(offset) if len(digits) <= _MOST_DIGITS else MAX_FILE_BYTES
    if start + facts.nbytes > MAX_FILE_BYTES:
        raise _bad_range(facts, file, "its range is past what a file can hold", digits)
    return start, int(length)


def _unusual(tensor: onnx.TensorProto) -> tuple[str, str, str, tuple[str, ...]]:
    """Location, offset and length of entries in another order or number, and what to note.

    Of a key that is given twice the last entry counts, as onnx and onnxruntime read it.
    """
    entries = {entry.key: entry.value for entry in tensor.external_data}
    twice = len(tensor.external_data) > len(entries)
    location = entries.pop("location", "")
    offset, length = entries.pop("offset", "0"), entries.pop("length", "0")
    notes = [STALE_CHECKSUM if key == "checksum" else UNKNOWN_KEY for key in entries]
    if all(entry.key != "offset" for entry in tensor.external_data):
        notes.append(OFFSET_DERIVED)
    return location, offset, length, (*notes, *[KEY_TWICE][: int(twice)])


def _plain(facts: TensorFacts, location: str, file: Path) -> str:
    """Check a location, and return it as a plain name; each spelling is looked at once."""
    if not location:
        raise _bad_location(facts, file, "it is external but names no location", None)
    if not isinstance(location, str):  # protobuf hands out bytes when text is not UTF-8
        raise _bad_location(facts, file, "its location is not UTF-8", repr(location))
    if len(location) > _MOST_LETTERS:
        long = f"{len(location):,} characters"
        raise _bad_location(facts, file, "its location is longer than any path", long)
    parts = location.split("/")
    if (
        location.startswith("/")
        or ".." in parts
        or "\\" in location
        or _CONTROL.search(location)
        or (len(location) > 1 and location[1] == ":")
    ):
        raise UnsafeDataFileError(
            "its location is not a relative path inside the model's folder",
            tensor=facts.slot.name,
            file=file,
            found=repr(location),
            hint="Move the data file beside the model, and export or repair its location.",
            code="unsafe-location",
        )
    home = "/".join(part for part in parts if part not in ("", "."))
    if parts[-1] in ("", "."):
        raise _bad_location(facts, file, "its location names no file", repr(location))
    return home


def _segment(facts: TensorFacts, skeleton: Skeleton) -> TensorError:
    return TensorError(
        "it is a segment of a larger tensor, which no reader of ONNX supports",
        tensor=facts.slot.name,
        file=skeleton.path,
        hint="Export the model again, with whole tensors.",
        code="segment",
    )


def _twice(facts: TensorFacts, skeleton: Skeleton, found: list[str]) -> TensorError:
    return TensorError(
        "its bytes are given twice",
        tensor=facts.slot.name,
        file=skeleton.path,
        found=" and ".join(found),
        hint="A tensor has exactly one of them; export the model again.",
        code="bytes-twice",
    )


def _mismatch(facts: TensorFacts, file: Path, found: str, hint: str = _BAD_HINT) -> TensorError:
    return TensorError(
        "its bytes contradict its element type and shape",
        tensor=facts.slot.name,
        file=file,
        needed=f"{facts.nbytes:,} bytes for {facts.dtype} {list(facts.shape)}",
        found=found,
        hint=hint,
        code="wrong-size",
    )


def _bad_range(facts: TensorFacts, file: Path, problem: str, found: str) -> ExternalDataError:
    return ExternalDataError(
        problem, tensor=facts.slot.name, file=file, found=found, hint=_BAD_HINT, code="bad-range"
    )


def _bad_location(
    facts: TensorFacts, file: Path, problem: str, found: str | None
) -> ExternalDataError:
    return ExternalDataError(
        problem, tensor=facts.slot.name, file=file, found=found, hint=_BAD_HINT, code="bad-location"
    )


def external_tensors(skeleton: Skeleton) -> Iterator[tuple[Slot, onnx.TensorProto]]:
    """List the tensors of a model that are external, with their slots."""
    return (
        (slot, one)
        for slot, one in walk(skeleton.proto, file=skeleton.path)
        if one.data_location == _EXTERNAL
    )


def location_of(slot: Slot, tensor: onnx.TensorProto, file: Path) -> tuple[str, str]:
    """Return the location of an external tensor, as the model spells it and as a plain name.

    Raises:
        ExternalDataError: It names none, or none that leads into the model's folder.
    """
    location = _unusual(tensor)[0]
    unsized = TensorFacts(slot, dtype_name(tensor.data_type), (), 0, 0, True)
    return location, _plain(unsized, location, file)


def data_file_names(skeleton: Skeleton) -> frozenset[str]:
    """Names of the data files that a model points at, as far as they are names at all."""
    locations = {
        entry.value
        for _, tensor in external_tensors(skeleton)
        for entry in tensor.external_data
        if entry.key == "location"
    }
    return frozenset(one for one in locations if isinstance(one, str) and "\0" not in one)
