"""`onnx-align passes`: which onnx-ir passes can be named, and their options."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from math import isfinite
from typing import TYPE_CHECKING, Any

from onnx_align_cli import options
from onnx_align_cli.signals import SIGNALS
from onnx_align_cli.streams import say_json

if TYPE_CHECKING:
    from onnx_align_pass.registry.listing import PassInfo, PassOption

__all__ = ["passes"]


def passes(as_json: options.AsJson = False) -> None:
    """List the onnx-ir passes that can be run by name, with their options.

    Those of onnx-ir and onnxscript, our own, and what installed packages register.
    Example: onnx-align passes, then onnx-align align model.onnx out/ --before NAME
    """
    # A package that prints when it is imported must not get into the result.
    with SIGNALS.held(), redirect_stdout(sys.stderr):
        from onnx_align_cli.show_passes import show_passes
        from onnx_align_pass.registry.listing import list_passes

        found = list_passes()
    if as_json:
        say_json({"passes": [_values(one) for one in found]})
    else:
        show_passes(found)


def _values(one: PassInfo) -> dict[str, Any]:
    return {
        "name": one.name,
        "aliases": list(one.aliases),
        "summary": one.summary,
        "origin": one.origin,
        "options": [_option_values(option) for option in one.options],
        "problem": one.problem,
    }


def _option_values(one: PassOption) -> dict[str, Any]:
    plain = isinstance(one.default, bool | int | str | tuple | None)
    plain = plain or (isinstance(one.default, float) and isfinite(one.default))  # JSON has no inf
    return {
        "name": one.name,
        "type": one.type,
        "required": one.required,
        "default": one.default if plain else str(one.default),
    }
