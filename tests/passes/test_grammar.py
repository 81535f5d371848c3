"""Words and their quotes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnx_align_pass.passes.grammar import Word, read_spec, spec_text, word_text

from .words import TEXTS, in_quotes


@given(
    options=st.dictionaries(
        st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True),
        st.lists(TEXTS, min_size=1, max_size=3),
        max_size=3,
    )
)
def test_words_are_read_as_they_were_written(options: dict[str, list[str]]) -> None:
    text = spec_text("x", [(k, ",".join(map(word_text, words))) for k, words in options.items()])
    spec = read_spec(text)
    assert (spec.name, list(spec.options)) == ("x", list(options))
    assert {k: [word.text for word in words] for k, words in spec.options.items()} == options


@pytest.mark.parametrize("text", ["a", r"a\.b", "a=b", "(x|y)*", "重み", "/tmp/a.onnx", "-", "a.b"])
def test_quotes_stand_only_where_they_are_needed(text: str) -> None:
    assert word_text(text) == text
    assert read_spec(f"x{{y={text}}}").options["y"] == (Word(text),)


@pytest.mark.parametrize("mark", list(" \n\"{}<>,'"))
def test_a_mark_of_the_grammar_is_quoted(mark: str) -> None:
    assert word_text(f"a{mark}b") == in_quotes(f"a{mark}b")
