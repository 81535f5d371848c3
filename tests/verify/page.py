"""The page that defines the digest: its program, its example, and the digest that it promises."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["PROMISED", "TEXT", "canonical_of", "oracle_digest", "run_example"]

TEXT = (Path(__file__).parents[2] / "docs" / "reference" / "digest.md").read_text(encoding="utf-8")
_PROGRAM, _EXAMPLE = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
(PROMISED,) = re.findall(r"```\n([0-9a-f]{64})\n```", TEXT)

_names: dict[str, Any] = {}
exec(_PROGRAM, _names)
oracle_digest: Callable[[Path], str] = _names["digest"]
"""The digest, computed by the program on the page."""
canonical_of: Callable[[Any], bytes] = _names["canonical"]
"""The canonical form of a message, by that program."""


def run_example() -> None:
    """Write the page's example model into the working directory."""
    exec(_EXAMPLE, _names)
