"""Policies from the flat options that other programs' configuration files hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from onnx_align_pass.errors import UsageError
from onnx_align_pass.policy import LayoutPolicy, StoragePolicy
from onnx_align_pass.rules import Rule
from onnx_align_pass.rules_text import parse_rule

__all__ = ["LAYOUT", "STORAGE", "policies"]

STORAGE: Final[tuple[str, ...]] = (
    "size_threshold_bytes",
    "convert_attribute",
    "external",
    "inline",
    "rules",
)
"""Options that are fields of `StoragePolicy`."""
LAYOUT: Final[tuple[str, ...]] = (
    "alignment",
    "align_threshold",
    "small_alignment",
    "element_floor",
    "pad",
)
"""Options that are fields of `LayoutPolicy`; `external_data_name` is its `data_name`."""
_NAME: Final = "external_data_name"


def policies(options: Mapping[str, Any]) -> tuple[StoragePolicy, LayoutPolicy]:
    """Read options into policies; what is not given has the policies' own defaults.

    Args:
        options: Names of `STORAGE` and `LAYOUT`, and `external_data_name`. Lists of patterns may be
            lists, as JSON and YAML have them. Sizes are whole numbers of bytes. `rules` is a list
            of texts, such as `decoder.*: alignment=64`.

    Raises:
        UsageError: There is no such option.
        RuleTextError: A text is no rule.
        PolicyError: A value cannot be had.
    """
    unknown = sorted(str(name) for name in set(options) - {*STORAGE, *LAYOUT, _NAME})
    if unknown:
        raise UsageError(
            f"there is no option {unknown[0]!r}", needed=", ".join((*LAYOUT, *STORAGE, _NAME))
        )
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in options.items()
    }
    layout: dict[str, Any] = {name: given[name] for name in LAYOUT if name in given}
    if given.get(_NAME) is not None:
        layout["data_name"] = given[_NAME]
    storage: dict[str, Any] = {name: given[name] for name in STORAGE if name in given}
    storage["rules"] = _rules(storage.get("rules") or ())
    return StoragePolicy(**storage), LayoutPolicy(**layout)


def _rules(texts: object) -> tuple[Rule, ...]:
    if not isinstance(texts, tuple):
        raise UsageError(f"rules cannot be {texts!r}", needed="a list of texts")
    return tuple(parse_rule(_text(one)) for one in texts)


def _text(rule: object) -> Any:
    """YAML reads a text with a colon in it, where it stands without quotes, as a mapping of one."""
    if isinstance(rule, Mapping) and len(rule) == 1:
        ((pattern, words),) = rule.items()
        return f"{pattern}: {words}"
    return rule
