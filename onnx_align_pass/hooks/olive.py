"""Olive: what it must be told so that it finds the pass `OnnxAlign`, the last of a workflow.

    olive run --config workflow.json --package-config packages.json

The pass belongs last: later passes of Olive load the weights and write them anew, packed; those
that do not, hard-link a single data file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from onnx_align_pass.errors import UsageError, WriteError
from onnx_align_pass.hooks.missing import exporter
from onnx_align_pass.paths import StrPath

__all__ = ["PASS", "package_config", "write_package_config"]

PASS: Final = "OnnxAlign"
"""The `type` of the pass in a workflow."""

_ENTRY: Final = {
    "module_path": f"onnx_align_pass.hooks.olive_pass.{PASS}",
    "supported_providers": ["*"],
    "supported_accelerators": ["*"],
    "supported_precisions": ["*"],
    "supported_algorithms": [],
    "supported_quantization_encodings": [],
}


def package_config(base: StrPath | None = None) -> dict[str, Any]:
    """Olive's package configuration with this pass in it.

    `olive run --package-config FILE` replaces Olive's own configuration, and with it all passes of
    Olive: so the pass is added to that one.

    Args:
        base: The package configuration to add the pass to; None is that of the installed Olive.

    Raises:
        MissingExporterError: Olive is not installed.
        UsageError: `base` is not a package configuration.
    """
    module = exporter("olive.package_config", "olive")
    path = Path(base or module.OlivePackageConfig.get_default_config_path())
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        return {**config, "passes": {**config["passes"], PASS: dict(_ENTRY)}}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UsageError(
            "this is no package configuration of Olive",
            file=path,
            needed="a JSON object with `passes`",
            found=f"{type(error).__name__}: {error}",
        ) from None


def write_package_config(path: StrPath, base: StrPath | None = None) -> Path:
    """Write `package_config` to a file, for `olive run --package-config`; return its path.

    Raises:
        MissingExporterError: Olive is not installed.
        UsageError: `base` is not a package configuration.
        WriteError: The file cannot be written.
    """
    target = Path(path)
    text = json.dumps(package_config(base), indent=4) + "\n"
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise WriteError.of(error, target) from error
    return target
