"""Every call that reads a stranger's model: each takes it, and a folder for what it makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import onnx_ir as ir

from onnx_align_pass import align_file, load, plan_file
from onnx_align_pass.digesting import digest_of
from onnx_align_pass.findings import Finding
from onnx_align_pass.inlining import inline_file
from onnx_align_pass.inspecting import inspect_file, inspect_folder
from onnx_align_pass.renaming import rename_file
from onnx_align_pass.repairing import find_repairs, repair_file
from onnx_align_pass.shared import align_shared
from onnx_align_pass.verifying import verify_file

__all__ = ["ENTRY_POINTS", "READERS", "SINGLE_MODEL", "WRITERS", "EntryPoint"]

EntryPoint = Callable[[Path, Path], None]
"""Raises a `ModelError` for a model that is refused, or found to be wrong."""


def _fresh(model: Path, out: Path) -> None:
    align_file(model, out / "result.onnx", durable=False)


def _in_place(model: Path, out: Path) -> None:
    align_file(model, durable=False)


def _folder(model: Path, out: Path) -> None:
    align_file(model.parent, out / "results", durable=False)


def _plan(model: Path, out: Path) -> None:
    plan_file(model)


def _inspect(model: Path, out: Path) -> None:
    _raise_first(inspect_file(model).findings)


def _inspect_folder(model: Path, out: Path) -> None:
    _raise_first(one for report in inspect_folder(model.parent) for one in report.findings)


def _verify(model: Path, out: Path) -> None:
    _raise_first(verify_file(model).models[0].findings)


def _digest(model: Path, out: Path) -> None:
    digest_of(model)


def _load(model: Path, out: Path) -> None:
    for value in load(model, allow_loss=True).graph.initializers.values():
        if isinstance(value.const_value, ir.ExternalTensor):
            value.const_value.tobytes()


def _find_repairs(model: Path, out: Path) -> None:
    _raise_first(find_repairs(model).remaining)


def _repair(model: Path, out: Path) -> None:
    repair_file(model, out / "result.onnx", durable=False)


def _rename(model: Path, out: Path) -> None:
    rename_file(model, out / "result.onnx", durable=False)


def _inline(model: Path, out: Path) -> None:
    inline_file(model, out / "result.onnx", durable=False)


def _shared(model: Path, out: Path) -> None:
    align_shared([model], out / "shared", shared_data="all.data", durable=False)


def _raise_first(findings: Iterable[Finding]) -> None:
    for one in findings:
        if one.severity == "error":
            raise one.error


READERS: Final[dict[str, EntryPoint]] = {
    "plan": _plan,
    "inspect": _inspect,
    "inspect folder": _inspect_folder,
    "verify": _verify,
    "digest": _digest,
    "load": _load,
    "find repairs": _find_repairs,
}
WRITERS: Final[dict[str, EntryPoint]] = {
    "fresh": _fresh,
    "in place": _in_place,
    "folder": _folder,
    "repair": _repair,
    "rename": _rename,
    "inline": _inline,
    "shared": _shared,
}
ENTRY_POINTS: Final = {**READERS, **WRITERS}
SINGLE_MODEL: Final = {
    name: call for name, call in ENTRY_POINTS.items() if not name.endswith("folder")
}
"""Those that look at nothing of the folder but what the model names."""
