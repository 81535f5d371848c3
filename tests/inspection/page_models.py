"""Reports to make pages of: small, large, hostile, empty."""

from __future__ import annotations

from dataclasses import replace

from .page_report import File, Report, Weight, laid, report


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
        replace(
            parts[at % len(parts)],
            name=f"model.layers.{at // len(parts)}.{parts[at % len(parts)].name}",
        )
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
    for at in range(len(findings)):
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


def unreadable() -> Report:
    """What is no model."""
    message = "broken.onnx: 3 is not a field's tag, at byte 2"
    found = {"code": "broken-model", "severity": "error", "message": message, "hint": "Export it."}
    return report("broken.onnx", [], {}, [found]) | {"presets": [], "readable": False}


def overlapping() -> Report:
    """Two tensors that share bytes, a file of none, and numbers that no float holds."""
    weights = [
        Weight("one", (4096,), file="w.data", offset=0),
        Weight("two", (4096,), file="w.data", offset=8192),
        Weight("none", (0, 4), file="w.data", offset=24576),
        Weight("three", (1024,), file="w.data", offset=24576),
    ]
    made = report("overlap.onnx", weights, {"w.data": File(28672), "zero.data": File(0)})
    made["tensors"][2] |= {"shape": [2**40, 2**40], "bytes": 2**82, "offset": 2**63 - 1}
    return made
