"""The pass that Olive imports, by its package configuration (`hooks.olive` makes one).

Nothing else imports this module: it imports Olive at its top.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Set
from pathlib import Path
from typing import Any, Final

from olive.model import ONNXModelHandler
from olive.model.utils import resolve_onnx_path
from olive.passes import Pass
from olive.passes.onnx.common import get_context_bin_file_names
from olive.passes.pass_config import PassConfigParam

from onnx_align_pass.align import align_file
from onnx_align_pass.errors import (
    DestinationExistsError,
    UnsafeDataFileError,
    UsageError,
    WriteError,
)
from onnx_align_pass.hooks.options import policies
from onnx_align_pass.policy import LayoutPolicy, StoragePolicy

__all__ = ["OnnxAlign"]

_LAYOUT: Final = LayoutPolicy()
_STORAGE: Final = StoragePolicy()
_OPTIONS: Final[dict[str, tuple[type, Any, str]]] = {
    "alignment": (
        int,
        _LAYOUT.alignment,
        "Bytes, a power of two: every external tensor starts at a multiple of it.",
    ),
    "align_threshold": (
        int,
        _LAYOUT.align_threshold,
        "Tensors of fewer bytes get small_alignment in place of alignment.",
    ),
    "small_alignment": (
        int,
        _LAYOUT.small_alignment,
        "Bytes, a power of two: alignment of the tensors below align_threshold.",
    ),
    "element_floor": (
        bool,
        _LAYOUT.element_floor,
        "Never align below the size of an element.",
    ),
    "pad": (
        str,
        _LAYOUT.pad,
        "What is rounded up to the alignment: none, file (its end) or tensor (each one's end).",
    ),
    "size_threshold_bytes": (
        int,
        _STORAGE.size_threshold_bytes,
        "Tensors of at least this many bytes are external data, smaller ones inline.",
    ),
    "convert_attribute": (
        bool,
        _STORAGE.convert_attribute,
        "Whether tensors in attributes (Constant) are external data too.",
    ),
    "rules": (
        list,
        None,
        "Texts such as 'decoder.*: alignment=64', each for the tensors that its pattern names.",
    ),
    "external_data_name": (
        str,
        None,
        "Name of the data file; by default that of the model and .data.",
    ),
}
_RUN: Final[dict[str, tuple[type, Any, str]]] = {
    "verify": (bool, False, "Read the result back and compare it with its source."),
    "durable": (bool, True, "Return only when the result is on the disk."),
}


class OnnxAlign(Pass):  # Olive lists it by this name
    """Writes the model with aligned weights in one data file. Last in a workflow."""

    @classmethod
    def _default_config(cls, accelerator_spec: Any) -> dict[str, Any]:
        del accelerator_spec  # a boundary that suits one device suits the others
        return {
            name: PassConfigParam(type_=kind, default_value=default, description=description)
            for name, (kind, default, description) in {**_OPTIONS, **_RUN}.items()
        }

    def _run_for_config(self, model: Any, config: Any, output_model_path: str) -> Any:
        if not isinstance(model, ONNXModelHandler):
            raise UsageError(
                "OnnxAlign takes an ONNX model",
                found=type(model).__name__,
                hint="Put OnnxConversion, or another exporter, before it.",
            )
        source = Path(model.model_path)
        target = Path(resolve_onnx_path(output_model_path, source.name))
        storage, layout = policies({name: getattr(config, name) for name in _OPTIONS})
        report = align_file(
            source,
            target,
            storage=storage,
            layout=layout,
            verify=config.verify,
            overwrite=True,  # what a run of Olive that was killed left in its cache
            durable=config.durable,
        )
        _carry(model, target, {file.name for one in report.models for file in one.data_files})
        return ONNXModelHandler(
            model_path=str(target.parent),
            onnx_file_name=target.name,
            inference_settings=model.inference_settings,
            use_ort_extensions=model.use_ort_extensions,
            external_initializers_file_name=model.external_initializers_file_name,
            constant_inputs_file_name=model.constant_inputs_file_name,
        )


def _carry(model: Any, target: Path, written: Set[str]) -> None:
    """Bring along the other files that Olive keeps beside a model: adapters, compiled contexts.

    Raises:
        UnsafeDataFileError: The model names a compiled context outside its folder.
        DestinationExistsError: One of them has the name of the model or of its data.
        WriteError: A file cannot be copied.
    """
    folder = Path(model.model_path).parent
    files = {
        model.external_initializers_file_name: model.external_initializers_path,
        model.constant_inputs_file_name: model.constant_inputs_path,
    }
    # Of the result, whose weights are outside it: Olive parses the whole file.
    for name in get_context_bin_file_names(target):
        files[name] = folder / name if _is_beside(name, folder) else None
    for name, path in files.items():
        if path is None:
            continue
        if os.path.normpath(name) in {target.name, *written}:
            raise DestinationExistsError(
                "a file beside the model has the name of its data",
                file=name,
                hint="Set external_data_name to another.",
            )
        copy = target.parent / name
        try:
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)
        except OSError as error:
            raise WriteError.of(error, copy, doing="copying") from error


def _is_beside(name: str, folder: Path) -> bool:
    """Whether this is a file of the folder; else the context is in the attribute itself."""
    if not os.path.isfile(folder / name):
        return False
    if not Path(os.path.realpath(folder / name)).is_relative_to(os.path.realpath(folder)):
        raise UnsafeDataFileError(
            "a compiled context lies outside the model's folder",
            file=name,
            hint="Put it beside the model.",
        )
    return True
