"""What the page says of a model in words: verdict, facts, findings, presets, counts, files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final

from onnx_align_pass.inspection.markup import Html, bar, data_block, element
from onnx_align_pass.inspection.page_columns import columns, tones
from onnx_align_pass.inspection.page_findings import counted, findings_part, verdict
from onnx_align_pass.units import format_bytes

__all__ = ["model_section", "models_list", "title_of"]

Model = Mapping[str, Any]

_COARSEST: Final = 65536
"""The alignment up to which offsets are told apart."""
_TONES: Final = 6
"""Colours for dtypes; the ones after these share a grey."""


def title_of(models: Sequence[Model]) -> str:
    """The page's title."""
    if len(models) == 1:
        return f"{PurePath(models[0]['model']).name} - onnx-align inspect"
    return f"{len(models):,} models - onnx-align inspect"


def models_list(models: Sequence[Model]) -> Html:
    """Make the list of several models at the top, each a link to its section."""
    head = {"Model": None, "External data": "number", "Padding": "number", "Tensors": "number"}
    cells = [element("th", text, scope="col", class_=kind) for text, kind in head.items()]
    rows = [element("tr", *cells, element("th", "Verdict", scope="col"))]
    rows += [element("tr", *_row(one, at)) for at, one in enumerate(models)]
    total = sum(one["external"]["bytes"] for one in models)
    text = f"{counted(len(models), 'model')}, {format_bytes(total)} of external data"
    table = element("table", *rows)
    return element("nav", element("h1", text), table, aria_label="models", class_="models")


def _row(model: Model, at: int) -> Iterator[Html]:
    severity, text = verdict(model)
    external, padding = model["external"], _total(model, "padding_bytes")
    count = external["tensors"] + model["inline"]["tensors"]
    yield element("td", element("a", element("bdi", model["model"]), href=f"#model-{at}"))
    yield element("td", _size(external["bytes"]), class_="number")
    yield element("td", _percent(padding, _on_disk(model)), class_="number")
    yield element("td", f"{count:,}", class_="number")
    yield element("td", element("span", text, class_=f"verdict {severity}"))


def model_section(model: Model, at: int, *, alone: bool) -> Html:
    """Make the section of one model, with the data that the script draws from."""
    path = PurePath(model["model"])
    severity, text = verdict(model)
    folder = element("span", f"{path.parent}/", class_="folder") if path.parent.name else None
    heading = element("h1" if alone else "h2", folder, element("bdi", path.name), id=f"model-{at}")
    return element(
        "section",
        heading,
        element("p", text, class_=f"verdict {severity}"),
        element("dl", *_facts(model), class_="facts"),
        findings_part(model),
        _presets(model),
        element("div", _dtypes(model), _alignment(model), class_="pair"),
        _files(model),
        element("div", class_="tensors"),
        data_block(columns(model), class_="data"),
        class_="model",
        aria_labelledby=f"model-{at}",
    )


def _facts(model: Model) -> Iterator[Html]:
    external, inline, disk = model["external"], model["inline"], _on_disk(model)
    padding, dead = _total(model, "padding_bytes"), _total(model, "dead_bytes")
    files = counted(len(model["files"]), "data file")
    yield _fact("External data", _size(external["bytes"]), f"in {files}")
    yield _fact("Inline", _size(inline["bytes"]), counted(inline["tensors"], "tensor"))
    yield _fact("External tensors", f"{external['tensors']:,}", _tied(model))
    yield _fact("Mappings", f"{external['mappings']:,}", "onnxruntime maps each tensor")
    yield _fact("Padding", _percent(padding, disk), _size(padding))
    said = "bytes that no tensor uses" if dead else "no bytes lie unused"
    yield _fact("Dead bytes", _size(dead), said, "bad" if dead else "")
    yield _fact("Model file", _size(model["model_bytes"]), "the .onnx itself")
    if model["digest"]:
        yield _fact("Digest", element("code", model["digest"]), None, "wide")


def _fact(name: str, value: str, more: str | None, kind: str = "") -> Html:
    inside = element("dd", element("b", value), element("small", more) if more else None)
    return element("div", element("dt", name), inside, class_=kind or None)


def _tied(model: Model) -> str | None:
    said = []
    if tied := sum(map(len, model["tied"])):
        said.append(f"{tied:,} tied")
    copies = [(one["bytes"], len(one["tensors"]) - 1) for one in model["duplicates"]]
    if count := sum(more for _, more in copies):
        wasted = format_bytes(sum(size * more for size, more in copies))
        said.append(f"{counted(count, 'duplicate')} ({wasted})")
    return ", ".join(said) or None


def _presets(model: Model) -> Html | None:
    if not model["presets"]:
        return None
    badges = [element("li", _preset(one)) for one in model["presets"]]
    satisfied = sum(one["satisfied"] for one in model["presets"])
    heading = element(
        "h3", "Presets", element("small", f"{satisfied} of {len(badges)} are satisfied as it lies")
    )
    return element("div", heading, element("ul", *badges, class_="badges"), class_="presets")


def _preset(one: Mapping[str, Any]) -> Html:
    why = one["why_not"] or ("it lies as this preset asks" if one["satisfied"] else "unknown why")
    if one["breaches"] > 1:
        why += f" ({one['breaches']:,} breaches)"
    if one["experimental"]:
        why += "; experimental: made from documents, not tried on the consumer"
    mark = "satisfied" if one["satisfied"] else "not satisfied"
    return element(
        "button",
        element("span", f"{mark}: ", class_="unseen"),
        one["name"],
        element("span", why, class_="why"),
        type="button",
        class_=f"badge {'yes' if one['satisfied'] else 'no'}",
    )


def _dtypes(model: Model) -> Html:
    found = model["dtypes"]
    most = max((one["bytes"] or 0 for one in found.values()), default=0) or 1
    rows = [
        _count_row(
            name,
            bar((found[name]["bytes"] or 0) / most, tone_class(at)),
            element("td", _size(found[name]["bytes"]), class_="number"),
            element("td", f"{found[name]['tensors']:,}", class_="number"),
        )
        for at, name in enumerate(tones(model))
    ]
    return _counts("Dtypes", "all tensors", ("dtype", "bytes", "tensors"), rows)


def tone_class(at: int) -> str:
    """The colour of the dtype at a place of `tones`; the script uses the same."""
    return f"tone-{min(at, _TONES)}"


def _alignment(model: Model) -> Html | None:
    found = {int(key): count for key, count in model["alignment"].items()}
    if not found:
        return None
    most = max(found.values()) or 1
    rows = [
        _count_row(
            boundary(key),
            bar(found[key] / most),
            element("td", f"{found[key]:,}", class_="number"),
        )
        for key in sorted(found, reverse=True)
    ]
    return _counts(
        "Alignment", "offsets of external tensors", ("a multiple of", "tensors"), rows
    )


def boundary(size: int) -> str:
    """An alignment as people say it."""
    text = format_bytes(size).replace(".0 ", " ")
    return f"{text} or more" if size >= _COARSEST else text


def _counts(name: str, of: str, head: Sequence[str], rows: list[Html]) -> Html:
    first, *rest = head
    cells = [element("th", first, scope="col", colspan=2)]
    cells += [element("th", text, scope="col", class_="number") for text in rest]
    table = element("table", element("tr", *cells), *rows, class_="counts")
    return element("div", element("h3", name, element("small", of)), table)


def _count_row(name: str, drawn: Html, *cells: Html) -> Html:
    return element(
        "tr", element("th", name, scope="row"), element("td", drawn, class_="drawn"), *cells
    )


def _files(model: Model) -> Html:
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
        text = f"This file is missing; {counted(file['tensors'], 'tensor')} should be in it."
        return element("figure", element("figcaption", name, element("p", text, class_="error")))
    parts = [
        _size(size),
        counted(file["tensors"], "tensor"),
        _part("padding", file["padding_bytes"], size),
        _part("dead", file["dead_bytes"], size) if file["dead_bytes"] else None,
        _part("header", file["header_bytes"], size) if file["header_bytes"] else None,
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


def _part(name: str, size: int, whole: int) -> Html:
    text = f"{name} {_percent(size, whole)}" if size else f"no {name}"
    return element("span", text, title=f"{size:,} bytes")


def _size(size: int | None) -> Html:
    """A size as people read it, exact where one points at it."""
    if size is None:
        return element("span", "unknown")
    return element("span", format_bytes(size), title=f"{size:,} bytes")


def _percent(part: int, whole: int) -> str:
    percent = 100 * part / whole if whole else 0
    return "<0.01 %" if 0 < percent < 0.005 else f"{percent:.2f} %"


def _on_disk(model: Model) -> int:
    return sum(file["bytes"] or 0 for file in model["files"])


def _total(model: Model, key: str) -> int:
    return sum(file[key] for file in model["files"])
