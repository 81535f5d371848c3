"""What may hurt of a data file: who refuses it, who else needs it, what is in it besides tensors.

These are warnings:

- `dots-in-location`, `hub-cache`, `data-file-symlink`, `hard-link`: onnx refuses the data file
- `unportable-name`: other systems have no file of its name, or people take it for another
- `names-alike`: some systems take its name for that of another data file
- `data-in-model`: the data file is the .onnx itself
- `shared-data-file`: other models point at it; repacked in place, they would read wrong bytes
- `bad-safetensors`: its header is not as the format has it
- `dead-bytes`: over 1 % of it, or 1 MiB, belongs to no tensor
- `wide-gap`: onnx 1.23 and newer refuse to save again what lies behind one of over 64 KiB
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from onnx_align_pass.errors import ExternalDataError
from onnx_align_pass.findings import Finding
from onnx_align_pass.inspection.files import LookedAt
from onnx_align_pass.inspection.found import Found, found
from onnx_align_pass.inspection.inventory import Inventory
from onnx_align_pass.layout.names import SAFETENSORS
from onnx_align_pass.layout.portable import why_unportable
from onnx_align_pass.spelling import alike

__all__ = ["find_file_hazards"]

WIDE_GAP: Final = 1 << 16
"""What onnx's `save_external_data` fills: `_MAX_EXTERNAL_DATA_PADDING`."""

MUCH_DEAD: Final = 1 << 20


def find_file_hazards(one: LookedAt, inventory: Inventory) -> Iterator[Found]:
    """List what may hurt of a data file."""
    if ".." in one.report.name:
        yield _warning(
            one,
            "dots-in-location",
            "onnx refuses a location with two dots in it",
            hint="Repack it with another --external-data.",
        )
    yield from _name(one, inventory)
    if one.report.nbytes is not None:
        yield from _links(one, inventory)
        yield from _header(one)
        yield from _dead(one)
        yield from _wide_gap(one, inventory)


def _name(one: LookedAt, inventory: Inventory) -> Iterator[Found]:
    name = one.report.name
    reason = why_unportable(name)
    if reason is not None:
        yield _warning(
            one,
            "unportable-name",
            "the data file's name is none on all systems",
            found=reason,
            hint="Repack it with another --external-data.",
        )
    if inventory.names_alike[alike(name)] > 1:
        yield _warning(
            one,
            "names-alike",
            "where upper and lower case, or ways to write a letter, are one, it is another file",
            hint="Repack it with an --external-data for all.",
        )


def _links(one: LookedAt, inventory: Inventory) -> Iterator[Found]:
    folder, target = os.path.realpath(inventory.skeleton.path.parent), os.path.realpath(one.path)
    if not target.startswith(os.path.join(folder, "")):
        yield _warning(
            one,
            "hub-cache",
            "model and data are links into another folder, as in the cache of the Hugging Face Hub",
            found=f"its target {target}",
            hint="onnxruntime reads it; onnx and onnx-ir refuse it. Repack it to a new folder.",
        )
    elif target != os.path.join(folder, *one.report.name.split("/")):
        yield _warning(
            one,
            "data-file-symlink",
            "the data file is a link, or lies behind one: onnx refuses it",
            found=f"its target {target}",
            hint="Put the file itself there, or repack the model to a new folder.",
        )
    if one.is_model:
        yield _warning(
            one,
            "data-in-model",
            "the model is its own data file",
            hint="Repack it to a new destination; in place it is refused.",
        )
    elif one.report.links != 1:
        yield _warning(
            one,
            "hard-link",
            "the data file has other names: onnx and onnx-ir refuse it",
            found=f"{one.report.links} links",
            hint="Copy it, or repack the model to a new folder.",
        )
    if one.report.shared_with:
        yield _warning(
            one,
            "shared-data-file",
            "other models point at the data file",
            found=", ".join(one.report.shared_with),
            hint="Repack it to a new destination: in place the others would read wrong bytes.",
        )


def _header(one: LookedAt) -> Iterator[Found]:
    if one.header is None and one.path.suffix.lower() == SAFETENSORS:
        problem: str | None = "it has no header of the format"
    else:
        problem = None if one.header is None else one.header.problem
    if problem is not None:
        yield _warning(
            one,
            "bad-safetensors",
            "readers of safetensors refuse the data file",
            found=problem,
            hint="Repack it with the preset safetensors, or give it another name.",
        )


def _dead(one: LookedAt) -> Iterator[Found]:
    dead = one.report.dead_bytes
    if one.report.shared_with:
        return  # what this model does not use is others'
    if dead > min(MUCH_DEAD, (one.report.nbytes or 0) // 100):
        yield _warning(
            one,
            "dead-bytes",
            "bytes of the data file belong to no tensor",
            found=f"{dead:,} of {one.report.nbytes:,} bytes",
            hint="Repack it: only tensors are written.",
        )


def _wide_gap(one: LookedAt, inventory: Inventory) -> Iterator[Found]:
    end, widest, behind = 0, WIDE_GAP, None
    for part in one.report.ranges:
        if part.kind == "tensor":
            if part.offset - end > widest:
                widest, behind = part.offset - end, part.tensor
            end = max(end, part.offset + part.length)
    if behind is not None and not one.is_model:
        error = ExternalDataError(
            "there is a gap in front of it that onnx 1.23 and newer refuse to save again",
            tensor=inventory.entries[behind].slot.name,
            file=one.path,
            needed=f"at most {WIDE_GAP:,} bytes",
            found=f"{widest:,} bytes",
            hint="All read it. "
            + (
                "Those of other models lie between; a data file of its own has no such gap."
                if one.report.shared_with
                else "Repack it with an alignment of at most 64 KiB."
            ),
            code="wide-gap",
        )
        yield found("warning", error, behind)


def _warning(
    one: LookedAt, code: str, problem: str, *, found: str | None = None, hint: str
) -> Found:
    error = ExternalDataError(problem, file=one.path, found=found, hint=hint, code=code)
    return Found(Finding.of("warning", error))
