"""torch: write a program that its exporter made, aligned; or export and write in one call.

Only public names of torch are used, nothing of it is patched, and only `export_aligned` imports it.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path
from typing import Any, Final, Protocol, Unpack, cast

import onnx_ir as ir

from onnx_align_pass.errors import DestinationError, UsageError
from onnx_align_pass.hooks.initializers import initializers_as_asked
from onnx_align_pass.hooks.missing import exporter
from onnx_align_pass.hooks.save_options import SaveOptions
from onnx_align_pass.hooks.torch_tensors import (
    one_tensor_a_storage,
    require_data,
    require_parameters,
)
from onnx_align_pass.paths import StrPath
from onnx_align_pass.report import AlignReport
from onnx_align_pass.saving import check_save, save

__all__ = [
    "Program",
    "export_aligned",
    "save_program",
]


class Program(Protocol):
    """What `torch.onnx.export(..., dynamo=True)` returns, or anything else that has a model."""

    @property
    def model(self) -> ir.Model:
        """The model."""


def save_program(
    program: Program,
    path: StrPath,
    *,
    include_initializers: bool = True,
    keep_initializers_as_inputs: bool = False,
    **options: Unpack[SaveOptions],
) -> AlignReport:
    """Write a program as `ONNXProgram.save` does, aligned, streamed and crash-safe.

    Weights go from torch's memory to the file one tensor at a time. Initializers that are one
    memory in torch share one range in the data file. The program is unchanged afterwards, also
    when the save fails.

    Args:
        program: A `torch.onnx.ONNXProgram`, or anything else with an `ir.Model` as its `model`.
        path: The `.onnx` to write; replaced with its own data, as `save` does.
        include_initializers: Whether the main graph's initializers are written.
        keep_initializers_as_inputs: Whether they are listed as graph inputs too, so that they can
            be overridden, or supplied, at inference.
        options: The keywords of `onnx_align_pass.save`.

    Returns:
        What was written.

    Raises:
        UninitializedTensorError: A tensor has no bytes: fake, on the meta device, freed, sparse, or
            never set.
        UsageError: `program` has no model.
        ModelError: The model or the destination is refused; nothing is written.
        WriteError: Writing failed; what was there before is whole.
    """
    _switch_external_data(cast(dict[str, Any], options))
    model = _model_of(program)
    if not include_initializers:
        _check_left_out(model, Path.cwd() / path)
    with (
        initializers_as_asked(
            model.graph, include=include_initializers, as_inputs=keep_initializers_as_inputs
        ),
        one_tensor_a_storage(model),
    ):
        require_data(model)
        return save(model, path, **options)


def export_aligned(
    model: Any,
    args: tuple[Any, ...] = (),
    path: StrPath | None = None,
    *,
    include_initializers: bool = True,
    keep_initializers_as_inputs: bool = False,
    **options: Any,
) -> AlignReport:
    """Export a torch model with `torch.onnx.export` and write it aligned.

    The program itself is not kept. To keep it, to change it before it is written, or not to lose a
    long export to a full disk, do the two steps yourself: `torch.onnx.export(..., dynamo=True)`,
    then `save_program`.

    Args:
        model: A `torch.nn.Module` or a `torch.export.ExportedProgram`.
        args: Example inputs, as for `torch.onnx.export`.
        path: The `.onnx` to write.
        include_initializers: See `save_program`.
        keep_initializers_as_inputs: See `save_program`.
        options: The keywords of `onnx_align_pass.save` go there, all others to
            `torch.onnx.export`. `verify` is that of `save`: what was written is read back.

    Returns:
        What was written.

    Raises:
        MissingExporterError: torch is not installed.
        UsageError: There is no path, or an argument makes no sense; nothing was exported.
        UninitializedTensorError: A parameter, buffer or input has no data; nothing was exported.
        WriteError: The folder is missing, or may not be written to; nothing was exported.
        AlignError: See `save_program`. What the exporter raises is passed on.
    """
    if path is None:
        raise UsageError("there is no path to write to", hint="Pass path='model.onnx'.")
    _refuse(options)
    saving = {key: options.pop(key) for key in SaveOptions.__optional_keys__ if key in options}
    _switch_external_data(saving)
    check_save(path, **saving)
    torch_onnx = exporter("torch.onnx", "torch")
    require_parameters(model, args)
    program = torch_onnx.export(model, args, f=None, dynamo=True, **options)
    return save_program(
        program,
        path,
        include_initializers=include_initializers,
        keep_initializers_as_inputs=keep_initializers_as_inputs,
        **cast(SaveOptions, saving),
    )


_FIXED: Final[dict[str, tuple[object, str]]] = {
    "f": (None, "Pass the path as `path`."),
    "dynamo": (True, "The TorchScript exporter makes no program; export to a file, then "
               "`onnx_align_pass.align_file` it."),
    "export_params": (True, "Pass include_initializers=False."),
    "fallback": (False, "The TorchScript exporter, to which it falls back, makes no program."),
}  # fmt: skip
"""Arguments of `torch.onnx.export` that have one value here, and what to do for another one."""


def _refuse(options: dict[str, Any]) -> None:
    """Take out the arguments that torch's exporter is not given, and refuse what they cannot be."""
    for name, (only, hint) in _FIXED.items():
        if name not in options:
            continue
        value = options.pop(name)
        if value is not only:
            raise UsageError(f"{name} cannot be {value!r}", needed=repr(only), hint=hint)


def _switch_external_data(saving: MutableMapping[str, Any]) -> None:
    """Take out torch's switch; `save` has a name under the same word."""
    value = saving.get("external_data")
    if value is False:
        raise UsageError(
            "external_data cannot be False",
            needed="True, or the data file's name",
            hint="Weights inline: pass storage=StoragePolicy(inline=('.*',)).",
        )
    if value is True:
        del saving["external_data"]


def _check_left_out(model: ir.Model, path: Path) -> None:
    """Refuse to replace a model whose data files hold the weights that are left out.

    Nothing would point at those files any more, and they would go.
    """
    for value in model.graph.initializers.values():
        tensor = value.const_value
        if not isinstance(tensor, ir.ExternalTensor) or not path.exists():
            continue
        if (Path.cwd() / tensor.path).is_relative_to(path.parent):
            raise DestinationError(
                "the weights that are left out lie beside the model that would be replaced",
                tensor=value.name,
                file=path,
                found=str(tensor.path),
                hint="Save the structure under another name.",
            )


def _model_of(program: Program) -> ir.Model:
    model = getattr(program, "model", None)
    if isinstance(model, ir.Model):
        return model
    raise UsageError(
        "this is no exported program",
        needed="what torch.onnx.export(..., dynamo=True) returns",
        found=type(program).__name__,
        hint="An ir.Model is saved by `onnx_align_pass.save`."
        if isinstance(program, ir.Model)
        else "Pass dynamo=True to the exporter: without it, it returns None.",
    )
