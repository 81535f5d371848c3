"""onnx-passes: the pass `write-aligned`, and the section of its configuration that it reads.

    imports: [onnx_align_pass.hooks.onnx_passes_pass]
    passes: [cleanup, write-aligned]
    onnx_align: {path: aligned/model.onnx, alignment: 65536}

with `onnx-passes model.onnx -c config.yaml`. The option `-o` of onnx-passes writes a file of its
own, which has nothing of this.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from onnx_align_pass.errors import UsageError
from onnx_align_pass.hooks.missing import exporter
from onnx_align_pass.hooks.options import policies
from onnx_align_pass.policy import LayoutPolicy, StoragePolicy

__all__ = ["NAME", "SECTION", "WriteRequest", "register", "write_request"]

NAME: Final = "write-aligned"
"""What onnx-passes calls the pass."""
SECTION: Final = "onnx_align"
"""The section of onnx-passes' configuration, and of its state, that is the pass's own."""

_SWITCHES: Final = {"verify": False, "force": False, "durable": True}


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """What a section asks for.

    Raises:
        PolicyError: A value cannot be had.
    """

    path: Path
    storage: StoragePolicy
    layout: LayoutPolicy
    verify: bool
    force: bool
    durable: bool


def write_request(config: Mapping[str, Any] | None) -> WriteRequest:
    """Read the section of a configuration of onnx-passes.

    Args:
        config: The whole configuration. The section has `path`, where the model goes; and may have
            `verify`, `force` (replace a data file that no model claims), `durable`, and the options
            of `hooks.options`.

    Raises:
        UsageError: There is no such section or no path in it, or an option that does not exist.
        PolicyError: A value cannot be had.
    """
    section = (config or {}).get(SECTION)
    if not isinstance(section, Mapping) or not isinstance(section.get("path"), str | os.PathLike):
        raise UsageError(
            f"the configuration does not say where {NAME} writes",
            needed=f"a section {SECTION} with a path",
            hint=f"Add `{SECTION}: {{path: aligned/model.onnx}}`.",
        )
    options = dict(section)
    path = Path(options.pop("path"))
    switches = {name: _switch(name, options.pop(name, usual)) for name, usual in _SWITCHES.items()}
    storage, layout = policies(options)
    return WriteRequest(path, storage, layout, **switches)


def register() -> type[Any]:
    """Register the pass with onnx-passes, once, as `write-aligned`; return its class.

    For programs; in a configuration, `imports` does it.

    Raises:
        MissingExporterError: onnx-passes is not installed.
    """
    exporter("onnx_passes.passes", "onnx-passes")
    found: type[Any] = exporter(f"{__name__}_pass", "onnx-passes").WriteAligned
    return found


def _switch(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{name} cannot be {value!r}", needed="true or false")
    return value
