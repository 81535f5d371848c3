"""The codes of findings: those that the source can give are those that the documents list."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

from onnx_align_pass import errors
from onnx_align_pass.errors import AlignError, ModelError
from onnx_align_pass.inspection import faults, file_hazards, hazards, odd_tensors

from .code_page import SEVERITY

ROOT = Path(errors.__file__).parent
LISTED = re.compile(r"`([a-z0-9]+(?:-[a-z0-9]+)*)`")
BY_POSITION = {"Breach": 0, "_Kind": 0, "_warning": 1, "_of_size": 2}
"""Calls that take a code, and which argument it is."""
NEVER_FOUND = {"failed", "bad-entry", "bad-tensor", "data-file-unsafe"}
"""Codes of classes whose errors all give another, where they become findings."""


def codes_in(path: Path) -> set[str]:
    """Every code that a module can give: what `code` is set to, and what is passed as one."""
    named: dict[str, list[ast.expr]] = defaultdict(list)
    given: list[ast.expr] = []
    for one in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match one:
            case ast.Assign(targets=[ast.Name(name)], value=value):
                named[name].append(value)
            case ast.AnnAssign(target=ast.Name(name), value=ast.expr() as value):
                named[name].append(value)
            case ast.Call(func=ast.Name(name), args=args) if name in BY_POSITION:
                given.append(args[BY_POSITION[name]])
            case ast.keyword(arg="code", value=value):
                given.append(value)
    given += named["code"] + named["usual_code"]
    used = [one.id for value in given for one in ast.walk(value) if isinstance(one, ast.Name)]
    given += [value for name in used for value in named[name]]
    return {text for value in given for text in texts_in(value)}


def texts_in(value: ast.expr) -> list[str]:
    """The constants that an expression can be; those that it asks about do not count."""
    if isinstance(value, ast.IfExp):
        return [*texts_in(value.body), *texts_in(value.orelse)]
    return [value.value] if isinstance(value, ast.Constant) and isinstance(value.value, str) else []


GIVEN = {code for one in ROOT.rglob("*.py") for code in codes_in(one)}


def test_every_code_is_documented_and_no_other() -> None:
    assert set(SEVERITY) == GIVEN - NEVER_FOUND


def test_a_module_lists_the_codes_that_it_gives() -> None:
    for module in (faults, hazards, file_hazards, odd_tensors):
        codes = codes_in(Path(str(module.__file__)))
        assert codes
        assert codes <= set(LISTED.findall(module.__doc__ or "")), module.__name__


def test_every_error_of_a_model_has_a_code() -> None:
    kinds = [getattr(errors, name) for name in errors.__all__]
    assert all(isinstance(kind.usual_code, str) and kind.usual_code for kind in kinds)
    assert ModelError("it broke").code == AlignError.usual_code
    assert ModelError("it broke", code="broken").code == "broken"
    assert "code" not in ModelError("it broke", code="broken").facts()
