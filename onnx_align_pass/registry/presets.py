"""Presets by name: those of this package, and what other distributions register."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from typing import Final

from onnx_align_pass.errors import PresetError, cause_of
from onnx_align_pass.presets import PRESETS, Preset
from onnx_align_pass.printable import printable
from onnx_align_pass.registry.entry import is_strangers
from onnx_align_pass.registry.points import UNREADABLE, name_problem, points_of

__all__ = ["PRESET_GROUP", "PresetInfo", "find_preset", "list_presets"]

PRESET_GROUP: Final = "onnx_align_pass.presets"
"""The group of entry points in which distributions register presets: `name = "module:PRESET"`."""


@dataclass(frozen=True, slots=True)
class PresetInfo:
    """A preset that is installed. Its texts are fit for a terminal."""

    name: str
    origin: str
    """`onnx-align-pass`, or the name of another distribution."""
    preset: Preset | None
    """None where it cannot be used."""
    problem: str | None = None
    """Why it cannot be used."""


def find_preset(name: str) -> Preset:
    """Look a preset up by its name; those of this package come first.

    Raises:
        PresetError: There is none of this name, or it cannot be used.
    """
    wanted = name.strip().lower().replace("_", "-")
    if wanted in PRESETS:
        return PRESETS[wanted]
    known = [*PRESETS]
    for info in _third_party():
        known.append(info.name)
        if info.name == wanted and info.preset is not None:
            return info.preset
        if info.name == wanted:
            raise PresetError(
                f"the preset {wanted!r} of {info.origin} is not usable: {info.problem}",
                hint="Mend or remove the distribution that registers it.",
            )
    raise PresetError.unknown(name, known)


def list_presets() -> tuple[PresetInfo, ...]:
    """List every preset. Imports those of others; one that fails is listed with the reason."""
    ours = (PresetInfo(one.name, one.origin, one) for one in PRESETS.values())
    return (*ours, *_third_party())


def _third_party() -> Iterator[PresetInfo]:
    found, unreadable = points_of(PRESET_GROUP)
    for origin in unreadable:
        yield PresetInfo(printable(origin), printable(origin), None, UNREADABLE)
    taken = {name: preset.origin for name, preset in PRESETS.items()}
    for name, origin, place in found:
        problem = name_problem(name, taken.get(name), "preset")
        taken.setdefault(name, origin)
        loaded = problem or _load(name, origin, place)
        shown = printable(name), printable(origin)
        if isinstance(loaded, Preset):
            yield PresetInfo(*shown, loaded)
        else:
            yield PresetInfo(*shown, None, printable(loaded))


def _load(name: str, origin: str, place: str) -> Preset | str:
    """The preset, or why there is none."""
    try:
        found: object = EntryPoint(name, place, PRESET_GROUP).load()
    except BaseException as error:
        if not is_strangers(error, place):
            raise
        return cause_of(error)
    if not isinstance(found, Preset):
        return f"{place} is no Preset"
    return replace(found, name=name, origin=origin)
