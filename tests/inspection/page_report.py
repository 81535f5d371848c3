"""Reports as `inspect --json` prints them, made without a model: what the page is shown."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

SIZES = {"FLOAT": 4, "FLOAT16": 2, "BFLOAT16": 2, "INT8": 1, "INT64": 8, "UINT8": 1, "BOOL": 1}
LARGEST_PADDING = 65536

Report = dict[str, Any]


@dataclass(frozen=True)
class Weight:
    """One tensor of a report; inline when it has no file."""

    name: str
    shape: tuple[int, ...]
    dtype: str = "FLOAT"
    file: str | None = None
    offset: int | None = None
    kind: str = "initializer"
    same_as: int | None = None

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * SIZES[self.dtype]


@dataclass(frozen=True)
class File:
    """A data file; `bytes` is None where it is missing."""

    bytes: int | None
    header: int = 0
    shared_with: tuple[str, ...] = ()
    links: int | None = 1


def report(
    model: str,
    weights: Sequence[Weight],
    files: Mapping[str, File],
    findings: Iterable[Mapping[str, Any]] = (),
    notes: Iterable[str] = (),
) -> Report:
    """A report that says of these weights what inspect would."""
    first: dict[tuple[str, int, int], int] = {}
    tied: dict[int, list[int]] = defaultdict(list)
    found = list(findings)
    tensors = []
    for at, one in enumerate(weights):
        root = None
        if one.file is not None and one.offset is not None:
            root = first.setdefault((one.file, one.offset, one.nbytes), at)
            tied[root].append(at)
        tensors.append(
            {
                "name": one.name,
                "place": f"graph.initializer[{at}]",
                "kind": one.kind,
                "dtype": one.dtype,
                "shape": list(one.shape),
                "bytes": one.nbytes,
                "file": one.file,
                "offset": one.offset,
                "length": None if one.file is None else one.nbytes,
                "alignment": None if one.offset is None else alignment(one.offset),
                "tied_to": None if root in (None, at) else root,
                "same_as": one.same_as,
                "findings": [
                    n for n, finding in enumerate(found) if finding.get("tensor") == one.name
                ],
            }
        )
    external = [one for one in weights if one.file is not None]
    inline = [one for one in weights if one.file is None]
    copies: dict[int, list[int]] = defaultdict(list)
    for at, one in enumerate(weights):
        if one.same_as is not None:
            copies[one.same_as].append(at)
    return {
        "model": model,
        "readable": True,
        "model_bytes": 4096 + 180 * len(weights) + sum(one.nbytes for one in inline),
        "digest": None,
        "inline": {"tensors": len(inline), "bytes": sum(one.nbytes for one in inline)},
        "external": {
            "tensors": len(external),
            "bytes": sum(length for _, _, length in first),
            "mappings": len(external),
        },
        "dtypes": {
            dtype: {
                "tensors": sum(one.dtype == dtype for one in weights),
                "bytes": sum(one.nbytes for one in weights if one.dtype == dtype),
            }
            for dtype in sorted({one.dtype for one in weights})
        },
        "alignment": aligned(external),
        "files": [file_report(name, file, weights) for name, file in files.items()],
        "tensors": tensors,
        "tied": [group for group in tied.values() if len(group) > 1],
        "duplicates": [
            {"bytes": weights[root].nbytes, "tensors": [root, *group]}
            for root, group in copies.items()
        ],
        "presets": presets(external),
        "findings": found,
        "notes": list(notes),
    }


def alignment(offset: int) -> int:
    """The largest power of two that an offset is a multiple of, up to 65,536."""
    return max(size for size in (1 << power for power in range(17)) if offset % size == 0)


def aligned(weights: Iterable[Weight]) -> dict[str, int]:
    counted = Counter(alignment(one.offset) for one in weights if one.offset is not None)
    return {str(key): counted[key] for key in sorted(counted)}


def file_report(name: str, file: File, weights: Sequence[Weight]) -> Report:
    claims = sorted(
        (one.offset, one.nbytes, at)
        for at, one in enumerate(weights)
        if one.file == name and one.offset is not None
    )
    ranges: list[list[Any]] = [[0, file.header, "header", None]] if file.header else []
    end, last = file.header, None
    for offset, length, at in [*claims, (file.bytes or 0, 0, -1)]:
        if file.bytes is None or (offset, length) == last:
            continue
        if offset > end:
            kind = "padding" if offset - end <= LARGEST_PADDING else "dead"
            ranges.append([end, offset - end, kind, None])
        if at >= 0:
            ranges.append([offset, length, "tensor", at])
        end, last = max(end, offset + length), (offset, length)

    def total(kind: str) -> int:
        return sum(length for _, length, what, _ in ranges if what == kind)

    return {
        "name": name,
        "bytes": file.bytes,
        "format": "safetensors" if file.header else "raw",
        "live_bytes": (file.bytes or 0) - sum(map(total, ("padding", "dead", "header"))),
        "padding_bytes": total("padding"),
        "dead_bytes": total("dead"),
        "header_bytes": file.header,
        "tensors": sum(one.file == name for one in weights),
        "links": file.links,
        "shared_with": list(file.shared_with),
        "alignment": aligned(one for one in weights if one.file == name),
        "ranges": ranges,
    }


def presets(external: Sequence[Weight]) -> list[Report]:
    asked = {"page": 4096, "packed": 4, "ort": 64, "windows": 65536, "simd": 64, "cuda": 256}
    asked |= {"apple": 16384, "web": 16, "hub": 64, "vulkan": 65536}
    made = []
    for name, boundary in asked.items():
        wrong = [one for one in external if (one.offset or 0) % boundary]
        why = (
            f"{wrong[0].name} starts at {wrong[0].offset:,}, no multiple of {boundary:,}"
            if wrong
            else None
        )
        made.append(
            {
                "name": name,
                "satisfied": not wrong,
                "why_not": why,
                "breaches": len(wrong),
                "experimental": name in ("apple", "vulkan"),
            }
        )
    return made


def laid(weights: Iterable[Weight], file: str, boundary: int, start: int = 0) -> list[Weight]:
    """Give weights offsets in a file, one after another."""
    placed, end = [], start
    for one in weights:
        offset = -(-end // boundary) * boundary
        placed.append(replace(one, file=file, offset=offset))
        end = offset + one.nbytes
    return placed
