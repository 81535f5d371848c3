"""Policies from the flat options that other programs' configuration files hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from onnx_align_pass.errors import UsageError
from onnx_align_pass.policy import LayoutPolicy, StoragePolicy

__all__ = ["LAYOUT", "STORAGE", "policies"]

STORAGE: Final[tuple[str, ...]] = (
    "size_threshold_bytes",
    "convert_attribute",
    "external",
    "inline",
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
            lists, as JSON and YAML have them. Sizes are whole numbers of bytes.

    Raises:
        UsageError: There is no such option.
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
    return StoragePolicy(**storage), LayoutPolicy(**layout)
