"""What the page says of a model's data files, with a place for the map of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onnx_align_pass.inspection.markup import Html, element
from onnx_align_pass.inspection.page_words import counted, percent, size_text

__all__ = ["files_part"]


def files_part(model: Mapping[str, Any]) -> Html:
    """List the data files."""
    if not model["files"]:
        text = "Nothing is external: all weights are inside the .onnx."
        return element("div", element("h3", "Data files"), element("p", text))
    figures = [_file(file, at) for at, file in enumerate(model["files"])]
    heading = element("h3", "Data files", element("small", f"{len(figures):,}"))
    return element("div", heading, *figures, class_="files")


def _file(file: Mapping[str, Any], at: int) -> Html:
    size = file["bytes"]
    name = element("h4", element("bdi", file["name"]))
    if size is None:
        there = counted(file["tensors"], "tensor")
        text = f"This file is missing, or may not be read; {there} should be in it."
        return element("figure", element("figcaption", name, element("p", text, class_="error")))
    parts = [
        size_text(size),
        counted(file["tensors"], "tensor"),
        _part("padding", file["padding_bytes"], size),
        _part("dead", file["dead_bytes"], size) if file["dead_bytes"] else None,
        _part(_head(file), file["header_bytes"], size) if file["header_bytes"] else None,
        "safetensors" if file["format"] == "safetensors" else None,
        counted(file["links"], "hard link") if (file["links"] or 1) > 1 else None,
    ]
    facts = element("ul", *(element("li", one) for one in parts if one), class_="inline")
    shared = None
    if file["shared_with"]:
        text = f"Shared with {', '.join(file['shared_with'])}."
        shared = element("p", text, class_="warning")
    caption = element("figcaption", name, facts, shared)
    return element("figure", caption, element("div", class_="map", data_file=at))


def _head(file: Mapping[str, Any]) -> str:
    """What stands before the tensors: a model may be its own data file."""
    return "header" if file["format"] == "safetensors" else "the model itself"


def _part(name: str, size: int, whole: int) -> Html:
    text = f"{name} {percent(size, whole)}" if size else f"no {name}"
    return element("span", text, title=f"{size:,} bytes")
