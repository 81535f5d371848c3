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
                "findings": [n for n, finding in enumerate(found) if finding.get("tensor") == one.name],
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
    return next(size for size in (2**n for n in range(16, -1, -1)) if offset % size == 0)


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
        why = f"{wrong[0].name} starts at {wrong[0].offset:,}, no multiple of {boundary:,}" if wrong else None
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


def small() -> Report:
    """Ten tensors in two files and a missing one: tied, duplicate, overlapping, with dead bytes."""
    name = "model.onnx.data"
    first = laid(
        [
            Weight("embeddings.word.weight", (2048, 256)),
            Weight("encoder.0.attention.weight", (256, 768), "FLOAT16"),
            Weight("encoder.0.attention.bias", (768,), "FLOAT16"),
        ],
        name,
        4096,
    )
    after = 2_621_440
    second = laid(
        [
            Weight("encoder.0.mlp.weight", (256, 1024), "FLOAT16"),
            Weight("encoder.0.mlp.copy", (256, 1024), "FLOAT16", same_as=3),
            Weight("encoder.0.scales", (1000,), "FLOAT"),
        ],
        name,
        4096,
        after,
    )
    weights = [
        *first,
        *second,
        Weight("lm_head.weight", (2048, 256), file=name, offset=0),
        Weight("positions", (96, 250), "INT64", "model.safetensors", 4096),
        Weight("gone.weight", (64, 64), file="gone.data", offset=0),
        Weight("axes", (2,), "INT64"),
    ]
    findings = [
        {
            "code": "data-file-missing",
            "severity": "error",
            "message": "tensor 'gone.weight': gone.data: there is no such file",
            "tensor": "gone.weight",
            "file": "gone.data",
            "hint": "Check that the model and its data files are complete, or export it again.",
        },
        {
            "code": "dead-bytes",
            "severity": "warning",
            "message": "model.onnx.data: 129,536 bytes that no tensor uses",
            "file": name,
            "hint": "`onnx-align align --in-place` drops them.",
        },
    ]
    files = {
        name: File(3_673_472),
        "model.safetensors": File(4096 + 96 * 250 * 8, header=4000, shared_with=("variant.onnx",)),
        "gone.data": File(None, links=None),
    }
    made = report("models/small/model.onnx", weights, files, findings, ["a checksum was ignored"])
    made["digest"] = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    return made


def large(count: int = 20_000) -> Report:
    """A decoder with many small tensors beside its matrices, in one file."""
    parts = [
        Weight("self_attn.q_proj.weight", (256, 256), "FLOAT16"),
        Weight("self_attn.q_proj.scales", (256, 2)),
        Weight("self_attn.k_proj.weight", (64, 256), "INT8"),
        Weight("self_attn.k_proj.zero_points", (64,), "UINT8"),
        Weight("mlp.gate_proj.weight", (344, 256), "FLOAT16"),
        Weight("mlp.gate_proj.bias", (344,), "FLOAT16"),
        Weight("input_layernorm.weight", (256,)),
        Weight("mlp.down_proj.weight", (256, 344), "BFLOAT16"),
    ]
    named = [
        replace(parts[at % len(parts)], name=f"model.layers.{at // len(parts)}.{parts[at % len(parts)].name}")
        for at in range(count)
    ]
    half = count // 2
    lower = laid(named[:half], "model.onnx.data", 4096)
    end = (lower[-1].offset or 0) + lower[-1].nbytes
    upper = laid(named[half:], "model.onnx.data", 64, end + 9_000_001)
    size = (upper[-1].offset or 0) + upper[-1].nbytes
    findings = [
        {
            "code": "misaligned",
            "severity": "warning",
            "message": f"tensor '{one.name}': it does not start on its boundary",
            "tensor": one.name,
            "hint": "Repack it: onnx-align align --in-place.",
        }
        for one in upper[:300]
    ]
    # Linear in the number of tensors: none of them is looked for by name here.
    made = report("model.onnx", [*lower, *upper], {"model.onnx.data": File(size)})
    made["findings"] = findings
    for at in range(300):
        made["tensors"][half + at]["findings"] = [at]
    return made


HOSTILE = [
    "<img src=x onerror=\"document.title='hurt'\">",
    "</script><script>document.title='hurt'</script>",
    "<!-- <script>",
    "\"'`&amp;&lt;{{script}}{{models}}",
    "\u202egnp.exe\u2066\u200f",
    "\u2028line\u2029\x00\x1b[31m\ud800",
    "שלום.weight",
    "x" * 4000,
    "__proto__",
    "javascript:document.title='hurt'",
]
"""Names that would like to be something else."""


def hostile() -> Report:
    """Strangers' texts in every field that holds a text."""
    weights = laid([Weight(name, (64, 64)) for name in HOSTILE], HOSTILE[0], 4096)
    file = File(5 * 4096 + 9 * 16384, shared_with=tuple(HOSTILE))
    findings = [
        {"code": name, "severity": "error", "message": name, "tensor": name, "hint": name}
        for name in HOSTILE
    ]
    made = report(f"{HOSTILE[0]}/{HOSTILE[1]}.onnx", weights, {HOSTILE[0]: file}, findings, HOSTILE)
    for tensor, name in zip(made["tensors"], HOSTILE, strict=True):
        tensor |= {"place": name, "dtype": name, "kind": name}
    made["dtypes"] = {name: {"tensors": 1, "bytes": 16384} for name in HOSTILE}
    made["presets"] = [
        {"name": name, "satisfied": False, "why_not": name, "breaches": 1, "experimental": False}
        for name in HOSTILE
    ]
    made["digest"] = HOSTILE[0]
    return made


def inline_only() -> Report:
    """A model without external data."""
    weights = [Weight(f"conv{n}.weight", (3, 3), kind="attribute") for n in range(12)]
    return report("tiny.onnx", weights, {})


def empty() -> Report:
    """A model without a tensor."""
    return report("empty.onnx", [], {})


def overlapping() -> Report:
    """Two tensors that share bytes, one of no bytes, and numbers that no float holds."""
    weights = [
        Weight("one", (4096,), file="w.data", offset=0),
        Weight("two", (4096,), file="w.data", offset=8192),
        Weight("none", (0, 4), file="w.data", offset=24576),
        Weight("three", (1024,), file="w.data", offset=24576),
    ]
    made = report("overlap.onnx", weights, {"w.data": File(28672)})
    made["tensors"][2] |= {"shape": [2**40, 2**40], "bytes": 2**82, "offset": 2**63 - 1}
    return made
