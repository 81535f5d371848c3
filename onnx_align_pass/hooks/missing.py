"""The one way in which a hook gets hold of its exporter."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from onnx_align_pass.errors import MissingExporterError

__all__ = ["exporter"]


def exporter(module: str, extra: str) -> ModuleType:
    """Import a module of an exporter.

    Args:
        module: Its full name, such as `optimum.exporters.onnx`.
        extra: The extra of this project that installs it.

    Raises:
        MissingExporterError: It is not installed, or something that it needs is not.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExporterError(module, extra, str(error)) from error
