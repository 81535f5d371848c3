"""An error says what is wrong, then what to do: once, whole, and fit to show."""

from __future__ import annotations

import errno
import os

import pytest

from onnx_align_pass import AlignError, WriteError, errors

HINTED = [
    name
    for name in errors.__all__
    if issubclass(getattr(errors, name), (errors.ModelError, errors.WriteError, errors.PlanError))
    and name not in ("DiskFullError", "ExpansionError", "ModelError", "ShortSourceError")
]


def test_the_text_is_the_sentence_and_the_hint() -> None:
    error = AlignError("it broke", tensor="w", file="f", needed="1", found="2", hint="Mend it.")
    assert error.sentence == "tensor 'w': f: it broke (needed 1, found 2)"
    assert str(error) == f"{error.sentence}. Mend it."
    assert str(AlignError("broken?", hint="Mend it.")) == "broken? Mend it."
    assert str(AlignError("broken")) == AlignError("broken").sentence == "broken"


def test_a_hint_is_never_cut_and_a_fact_is() -> None:
    error = AlignError("p" * 5000, hint="Type " + "h" * 5000 + "\x1b.")
    assert str(error).endswith("h" * 5000 + "\\x1b.")
    assert error.facts()["hint"] == "Type " + "h" * 5000 + "\\x1b."
    assert error.facts()["message"] == error.sentence
    assert len(error.sentence) < 500


@pytest.mark.parametrize("name", HINTED)
def test_an_error_that_a_user_can_cause_has_a_hint(name: str) -> None:
    kind = getattr(errors, name)
    assert kind("it broke").hint
    assert kind("it broke", hint="Mend it.").hint == "Mend it."


@pytest.mark.parametrize("code", sorted(errno.errorcode))
def test_whatever_the_system_says_about_writing_there_is_a_hint(code: int) -> None:
    error = WriteError.of(OSError(code, os.strerror(code)), "f")
    assert error.hint
    assert error.sentence.startswith(f"f: writing failed: {os.strerror(code)}")
    assert isinstance(error, errors.DiskFullError) == (code in (errno.ENOSPC, errno.EDQUOT))
