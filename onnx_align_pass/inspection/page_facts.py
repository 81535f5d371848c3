"""What the page says of a model in words: verdict, facts, presets, counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final

from onnx_align_pass.inspection.markup import Html, bar, data_block, element
from onnx_align_pass.inspection.page_columns import columns, tones
from onnx_align_pass.inspection.page_files import files_part
from onnx_align_pass.inspection.page_findings import findings_part, is_read, verdict
from onnx_align_pass.inspection.page_words import boundary, counted, percent, size_text
from onnx_align_pass.units import format_bytes

__all__ = ["model_section", "models_list", "title_of"]

Model = Mapping[str, Any]

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
    yield element("td", size_text(external["bytes"]), class_="number")
    yield element("td", percent(padding, _on_disk(model)), class_="number")
    yield element("td", f"{count:,}", class_="number")
    yield element("td", element("span", text, class_=f"verdict {severity}"))


def model_section(model: Model, at: int, *, alone: bool) -> Html:
    """Make the section of one model, with the data that the script draws from."""
    path = PurePath(model["model"])
    severity, text = verdict(model)
    folder = element("span", f"{path.parent}/", class_="folder") if path.parent.name else None
    heading = element("h1" if alone else "h2", folder, element("bdi", path.name), id=f"model-{at}")
    parts: list[Html | None] = [heading, element("p", text, class_=f"verdict {severity}")]
    parts += _parts(model) if is_read(model) else (findings_part(model),)
    return element("section", *parts, class_="model", aria_labelledby=f"model-{at}")


def _parts(model: Model) -> Sequence[Html | None]:
    return [
        element("dl", *_facts(model), class_="facts"),
        findings_part(model),
        _presets(model),
        element("div", _dtypes(model), _alignment(model), class_="pair"),
        files_part(model),
        element("div", class_="tensors"),
        data_block(columns(model), class_="data"),
    ]


def _facts(model: Model) -> Iterator[Html]:
    external, inline, disk = model["external"], model["inline"], _on_disk(model)
    padding, dead = _total(model, "padding_bytes"), _total(model, "dead_bytes")
    files = counted(len(model["files"]), "data file")
    yield _fact("External data", size_text(external["bytes"]), f"in {files}")
    yield _fact("Inline", size_text(inline["bytes"]), counted(inline["tensors"], "tensor"))
    yield _fact("External tensors", f"{external['tensors']:,}", _tied(model))
    yield _fact("Mappings", f"{external['mappings']:,}", "onnxruntime maps each tensor")
    yield _fact("Padding", percent(padding, disk), size_text(padding))
    said = "bytes that no tensor uses" if dead else "no bytes lie unused"
    yield _fact("Dead bytes", size_text(dead), said, "bad" if dead else "")
    yield _fact("Model file", size_text(model["model_bytes"]), "the .onnx itself")
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
        "h3", "Presets", element("small", f"{satisfied} of {len(badges)} are satisfied")
    )
    return element("div", heading, element("ul", *badges, class_="badges"), class_="presets")


def _preset(one: Mapping[str, Any]) -> Html:
    why = one["why_not"] or (
        "it lies as this preset asks" if one["satisfied"] else "no reason is known"
    )
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
            element("td", size_text(found[name]["bytes"]), class_="number"),
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
    return _counts("Alignment", "offsets of external tensors", ("a multiple of", "tensors"), rows)


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


def _on_disk(model: Model) -> int:
    return sum(file["bytes"] or 0 for file in model["files"])


def _total(model: Model, key: str) -> int:
    return sum(file[key] for file in model["files"])
