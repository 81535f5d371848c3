"""The codes of findings: those that the source can give are those that the documents list."""

from __future__ import annotations

import re
from pathlib import Path

from onnx_align_pass import errors
from onnx_align_pass.errors import AlignError, ModelError
from onnx_align_pass.inspection import faults, file_hazards, hazards, odd_tensors

ROOT = Path(errors.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "findings.md"
GIVEN = re.compile(r'code(?::\s*\w+)?\s*=\s*"([a-z0-9-]+)"|_Kind\(\s*"([a-z0-9-]+)"')
WARNED = re.compile(r'_warning\(\s*one,\s*"([a-z0-9-]+)"')
EITHER = re.compile(r'code="([a-z0-9-]+)" if \w+ else "([a-z0-9-]+)"')
LISTED = re.compile(r"`([a-z0-9]+(?:-[a-z0-9]+)*)`")
NEVER_FOUND = {"failed", "bad-entry", "bad-tensor", "data-file-unsafe"}
"""Codes of classes whose errors all give another."""


def given_codes() -> set[str]:
    """Every code that stands in the source."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(ROOT.rglob("*.py"))]
    texts = [text for text in texts if "usual_code" in text or 'code="' in text or "_Kind(" in text]
    texts += [(ROOT / "inspection" / "file_hazards.py").read_text(encoding="utf-8")]
    patterns = (GIVEN, WARNED, EITHER)
    found = [one for text in texts for pattern in patterns for one in pattern.findall(text)]
    codes = {code for one in found for code in ([one] if isinstance(one, str) else one) if code}
    return codes | {"data-file-missing"}


def test_every_code_is_documented_and_no_other() -> None:
    tables = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    listed = {code for line in tables for code in LISTED.findall(line.split("|")[1])}
    assert given_codes() - NEVER_FOUND == listed


def test_a_module_lists_the_codes_that_it_gives() -> None:
    for module in (faults, hazards, file_hazards, odd_tensors):
        own = Path(str(module.__file__)).read_text(encoding="utf-8")
        codes = {code for code in given_codes() if f'"{code}"' in own}
        assert codes
        assert codes <= set(LISTED.findall(module.__doc__ or "")), module.__name__


def test_every_error_of_a_model_has_a_code() -> None:
    kinds = [getattr(errors, name) for name in errors.__all__]
    assert all(isinstance(kind.usual_code, str) and kind.usual_code for kind in kinds)
    assert ModelError("it broke").code == AlignError.usual_code
    assert ModelError("it broke", code="broken").code == "broken"
    assert "code" not in ModelError("it broke", code="broken").facts()
