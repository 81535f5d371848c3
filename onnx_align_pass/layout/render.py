"""A plan as canonical text and as JSON: the same plan is the same text, byte for byte."""

from __future__ import annotations

from typing import Any

from onnx_align_pass.layout.plan import LayoutPlan, Placement, PlannedFile
from onnx_align_pass.printable import printable
from onnx_align_pass.report import SCHEMA_VERSION
from onnx_align_pass.tensors import TensorRequest

__all__ = ["padding_percent", "plan_json", "plan_text", "totals_text"]


def plan_text(plan: LayoutPlan) -> str:
    """Say a plan line by line: files, tensors, what stays inline, notes, totals."""
    lines = list(map(_file_line, plan.files))
    lines += map(_placement_line, plan.placements)
    lines += map(_inline_line, plan.inline)
    lines += [f"note {printable(note)}" for note in plan.notes]
    return "\n".join([*lines, totals_text(plan), ""])


def totals_text(plan: LayoutPlan) -> str:
    """Say a plan's totals in one line."""
    headers = f"{plan.header_bytes} bytes of headers, " if plan.header_bytes else ""
    return (
        f"total {len(plan.placements)} external tensors in {len(plan.files)} files, "
        f"{len(plan.inline)} inline; {plan.tensor_bytes} bytes of tensors, {headers}"
        f"{plan.padding_bytes} bytes of padding ({padding_percent(plan):.2f} %)"
    )


def padding_percent(plan: LayoutPlan) -> float:
    """Padding in percent of the data files' bytes."""
    return 100 * plan.padding_bytes / plan.total_bytes if plan.total_bytes else 0.0


def _file_line(file: PlannedFile) -> str:
    header = f", header {len(file.header)}" if file.header else ""
    return f"file {printable(file.name)} {file.size}{header}"


def _placement_line(one: Placement) -> str:
    facts = one.request.facts
    tied = f" tied to {one.tied_to}" if one.tied_to else ""
    return (
        f"external {facts.slot.place} {facts.slot.name!r} {facts.dtype}"
        f"{list(facts.shape)}: {printable(one.request.origin)} -> {printable(one.file)} "
        f"@ {one.offset} + {one.length}, padding {one.padding}{tied} "
        f"({one.request.decision.reason})"
    )


def _inline_line(request: TensorRequest) -> str:
    facts = request.facts
    return (
        f"inline {facts.slot.place} {facts.slot.name!r} {facts.dtype}"
        f"{list(facts.shape)}: {printable(request.origin)}, {facts.nbytes} bytes "
        f"({request.decision.reason})"
    )


def plan_json(plan: LayoutPlan) -> dict[str, Any]:
    """Return a plan as plain values for `json.dumps`."""
    return {
        "schema_version": SCHEMA_VERSION,
        "files": [
            {
                "name": printable(file.name),
                "bytes": file.size,
                "header_bytes": len(file.header),
            }
            for file in plan.files
        ],
        "tensors": [_tensor(one.request, one) for one in plan.placements]
        + [_tensor(request, None) for request in plan.inline],
        "notes": [printable(note) for note in plan.notes],
        "totals": {
            "external_tensors": len(plan.placements),
            "inline_tensors": len(plan.inline),
            "files": len(plan.files),
            "tensor_bytes": plan.tensor_bytes,
            "header_bytes": plan.header_bytes,
            "padding_bytes": plan.padding_bytes,
            "padding_percent": round(padding_percent(plan), 4),
            "data_bytes": plan.total_bytes,
        },
    }


def _tensor(request: TensorRequest, placement: Placement | None) -> dict[str, Any]:
    facts = request.facts
    to: dict[str, Any] | None = None
    if placement is not None:
        to = {
            "file": printable(placement.file),
            "offset": placement.offset,
            "length": placement.length,
            "alignment": placement.alignment,
            "padding": placement.padding,
            "tied_to": placement.tied_to,
        }
    return {
        "place": facts.slot.place,
        "name": printable(facts.slot.name),
        "kind": facts.slot.kind.value,
        "dtype": facts.dtype,
        "shape": list(facts.shape),
        "bytes": facts.nbytes,
        "from": printable(request.origin),
        "to": to,
        "why": request.decision.reason,
    }
