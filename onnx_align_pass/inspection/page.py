"""The page of `inspect --html`: one file that loads nothing, with facts, maps and tensors.

All that it says in words is in its HTML, so that it reads without scripts too. A script draws the
maps and the table from data that is embedded as JSON. The page allows itself no more than the one
style and the one script that it came with, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, Final

from onnx_align_pass._version import __version__
from onnx_align_pass.inspection.markup import Html, element
from onnx_align_pass.inspection.page_facts import model_section, models_list, title_of

__all__ = ["html_page"]

_SCRIPTS: Final = ("words.js", "model.js", "view.js", "map.js", "table.js", "page.js")
"""In the order in which they build on each other."""
_PLACEHOLDER: Final = re.compile(r"\{\{(\w+)\}\}")


def html_page(models: Sequence[Mapping[str, Any]]) -> str:
    """Make the page of some models, to be written as UTF-8.

    Args:
        models: What `inspect --json` gives out under `models`.
    """
    style = _asset("page.css")
    script = f'"use strict";\n(() => {{\n{"".join(map(_asset, _SCRIPTS))}}})();\n'
    parts = {
        "policy": _policy(style, script),
        "version": __version__,
        "title": element("title", title_of(models)),
        "style": style,
        "models": _content(models),
        "script": script,
    }
    return _PLACEHOLDER.sub(lambda found: parts[found[1]], _asset("page.html"))


def _content(models: Sequence[Mapping[str, Any]]) -> Html:
    sections = [model_section(one, at, alone=len(models) == 1) for at, one in enumerate(models)]
    return Html("\n".join(sections if len(models) == 1 else [models_list(models), *sections]))


def _asset(name: str) -> str:
    return files("onnx_align_pass.inspection").joinpath("assets", name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """What the browser may load and run: nothing but these two, and images made of themselves."""
    rules = {
        "default-src": "'none'",
        "img-src": "data:",
        "style-src": _hash(style),
        "script-src": _hash(script),
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
