"""What a check of models found, as values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onnx_align_pass.findings import Finding
from onnx_align_pass.printable import printable
from onnx_align_pass.report import SCHEMA_VERSION

__all__ = ["ModelVerification", "VerifyReport"]


@dataclass(frozen=True, slots=True)
class ModelVerification:
    """What the check of one model found. Sizes are bytes."""

    model: Path
    findings: tuple[Finding, ...]
    checked: tuple[str, ...] = ()
    """What was looked at: `bounds`, `overlap`, `sizes`, `checker`, `layout` ..."""
    tensors: int = 0
    bytes_compared: int = 0
    """Bytes that were read and compared with those of the other model."""
    bytes_shared: int = 0
    """Bytes that are the same range of one file in both models: equal, and not read."""
    digest: str | None = None
    """The content digest, where it was asked for."""
    seconds: float = 0.0

    @property
    def errors(self) -> int:
        """Findings that are errors."""
        return sum(one.severity == "error" for one in self.findings)

    @property
    def warnings(self) -> int:
        """Findings that are warnings."""
        return len(self.findings) - self.errors

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong; warnings do not count."""
        return not self.errors

    def to_json(self) -> dict[str, Any]:
        """Return plain values for `json.dumps`."""
        values = {
            "model": printable(str(self.model)),
            "ok": self.ok,
            "findings": [one.to_json() for one in self.findings],
            "checked": list(self.checked),
            "tensors": self.tensors,
            "bytes_compared": self.bytes_compared,
            "bytes_shared": self.bytes_shared,
            "seconds": round(self.seconds, 6),
        }
        return values if self.digest is None else {**values, "digest": self.digest}


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What a check found: one entry a model, in their order."""

    models: tuple[ModelVerification, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings of all models."""
        return tuple(one for model in self.models for one in model.findings)

    @property
    def errors(self) -> int:
        """Findings that are errors, of all models."""
        return sum(model.errors for model in self.models)

    @property
    def warnings(self) -> int:
        """Findings that are warnings, of all models."""
        return sum(model.warnings for model in self.models)

    @property
    def bytes_compared(self) -> int:
        """Bytes that were read and compared, of all models."""
        return sum(model.bytes_compared for model in self.models)

    @property
    def bytes_shared(self) -> int:
        """Bytes that are the same range of one file in both models, of all models."""
        return sum(model.bytes_shared for model in self.models)

    @property
    def seconds(self) -> float:
        """Wall time."""
        return sum(model.seconds for model in self.models)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong with any model; warnings do not count."""
        return not self.errors

    def to_json(self) -> dict[str, Any]:
        """Return plain values for `json.dumps`."""
        return {
            "schema_version": SCHEMA_VERSION,
            "ok": self.ok,
            "models": [model.to_json() for model in self.models],
            "totals": {
                "models": len(self.models),
                "errors": self.errors,
                "warnings": self.warnings,
                "tensors": sum(model.tensors for model in self.models),
                "bytes_compared": self.bytes_compared,
                "bytes_shared": self.bytes_shared,
                "seconds": round(self.seconds, 6),
            },
        }
