"""What a look at a model finds: a fault, or what may hurt later. A value, with a code to act on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from onnx_align_pass.errors import AlignError

__all__ = ["Finding", "Severity"]

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a person should know of a model, with what to do about it."""

    code: str
    """What kind it is, in small letters and hyphens: `overlap`, `data-file-missing` ..."""
    severity: Severity
    """`error`: some reader fails, or reads wrong bytes; `warning`: it works, and may hurt."""
    error: AlignError
    """The facts and the sentence; it was not raised, or no further than to here."""

    def __post_init__(self) -> None:
        self.error.as_value()

    @classmethod
    def of(cls, severity: Severity, error: AlignError) -> Finding:
        """Make a finding of an error, which carries its code."""
        return cls(error.code, severity, error)

    def __str__(self) -> str:
        return str(self.error)

    def to_json(self) -> dict[str, Any]:
        """Return plain values for `json.dumps`."""
        facts = self.error.facts()
        del facts["error"]
        return {"code": self.code, "severity": self.severity, **facts}
