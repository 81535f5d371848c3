"""`onnx-align presets`: layouts by consumer, with what each costs."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onnx_align_cli.options import AsJson, given_path
from onnx_align_cli.signals import SIGNALS
from onnx_align_cli.streams import say_json
from onnx_align_pass.printable import printable

if TYPE_CHECKING:
    from onnx_align_pass.layout.bloat import Bloat
    from onnx_align_pass.registry.presets import PresetInfo

__all__ = ["Priced", "presets"]


@dataclass(frozen=True, slots=True)
class Priced:
    """A preset with what it adds to some weights."""

    info: PresetInfo
    cost: Bloat | None
    """None where it cannot be used, or refuses the weights."""


def presets(
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="SRC",
            help="A model: say what each preset would add to its weights.",
            show_default="a BERT base in float16",
            parser=given_path,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the presets: who each is for, its numbers, their reason, and the bytes that they add.

    What is called experimental was made from its consumer's documents, and not run on it. Installed
    packages may bring more. Example: onnx-align presets model.onnx
    """
    with SIGNALS.held(), redirect_stdout(sys.stderr):
        from onnx_align_cli.show_presets import show_presets
        from onnx_align_pass.layout.bloat import REFERENCE
        from onnx_align_pass.registry.presets import list_presets

        found = list_presets()
    priced = [Priced(one, _cost(one, source)) for one in found]
    of = REFERENCE if source is None else printable(str(source))
    if as_json:
        say_json({"weights": of, "presets": [_values(one) for one in priced]})
    else:
        show_presets(priced, of)


def _cost(info: PresetInfo, source: Path | None) -> Bloat | None:
    from onnx_align_pass.align import plan_file
    from onnx_align_pass.errors import UsageError
    from onnx_align_pass.layout.bloat import Bloat, bloat, reference_weights

    preset = info.preset
    if preset is None:
        return None
    if source is None:
        return bloat(preset.storage, preset.layout, reference_weights())
    try:
        plan = plan_file(source, storage=preset.storage, layout=preset.layout)
    except UsageError:
        return None
    return Bloat(plan.tensor_bytes, plan.total_bytes - plan.tensor_bytes)


def _values(one: Priced) -> dict[str, Any]:
    info, preset = one.info, one.info.preset
    values: dict[str, Any] = {
        "name": info.name,
        "origin": info.origin,
        "problem": info.problem,
    }
    if preset is None:
        return values
    layout = preset.layout
    values |= {
        "consumer": preset.consumer,
        "reason": preset.reason,
        "experimental": preset.experimental,
        "advice": preset.advice,
        "alignment": layout.alignment,
        "align_threshold": layout.align_threshold,
        "small_alignment": layout.small_alignment,
        "element_floor": layout.element_floor,
        "pad": layout.pad,
        "size_threshold_bytes": preset.storage.size_threshold_bytes,
        "max_shard_size_bytes": layout.max_shard_size_bytes,
        "max_file_bytes": layout.max_file_bytes,
        "max_files": layout.max_files,
        "data_name": layout.data_name,
    }
    if one.cost is not None:
        values |= {
            "added_bytes": one.cost.added_bytes,
            "added_percent": round(one.cost.percent, 4),
        }
    return values
