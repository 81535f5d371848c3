"""The page of codes: each code with its severity, by the table that it stands in."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

__all__ = ["SEVERITY"]

_PAGE: Final = Path(__file__).parents[2] / "docs" / "reference" / "findings.md"
_CODE: Final = re.compile(r"`([a-z0-9]+(?:-[a-z0-9]+)*)`")


def _read() -> dict[str, str]:
    found: dict[str, str] = {}
    severity = ""
    for line in _PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            severity = {"## Errors": "error", "## Warnings": "warning"}.get(line, "")
        elif line.startswith("|"):
            for code in _CODE.findall(line.split("|")[1]):
                assert found.setdefault(code, severity) == severity != "", code
    return found


SEVERITY: Final = _read()
