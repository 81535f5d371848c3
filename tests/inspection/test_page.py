"""The page without a browser: what it holds, what it may load, and that no name becomes markup."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnx_align_pass.inspection.markup import Html, coded, data_block, element
from onnx_align_pass.inspection.page import html_page
from onnx_align_pass.inspection.page_columns import columns
from onnx_align_pass.printable import printable

from . import page_models
from .page_models import HOSTILE
from .page_parsed import Parsed

REPORTS = {
    "small": page_models.small,
    "hostile": page_models.hostile,
    "inline only": page_models.inline_only,
    "empty": page_models.empty,
    "overlapping": page_models.overlapping,
    "unreadable": page_models.unreadable,
}
LOADERS = {"src", "srcset", "data", "action", "formaction", "poster", "background", "ping"}
PARTS = {"html", "head", "meta", "title", "link", "style", "body", "header", "main", "footer"}
PARTS |= {"noscript", "script", "section", "nav", "div", "figure", "figcaption", "h1", "h2", "h3"}
PARTS |= {"h4", "p", "ul", "li", "dl", "dt", "dd", "table", "tr", "th", "td", "svg", "rect", "bdi"}
PARTS |= {"span", "b", "small", "code", "button", "a", "details", "summary"}


@pytest.mark.parametrize("name", REPORTS)
def test_a_page_loads_nothing(name: str) -> None:
    page = html_page([REPORTS[name]()])
    for tag, attributes in Parsed(page).tags:
        assert tag in PARTS
        assert not LOADERS & set(attributes), tag
        address = attributes.get("href") or "#"
        assert address.startswith("#") or (tag == "link" and address.startswith("data:image/svg"))
    style, script = Parsed(page).inside["style"][0], Parsed(page).inside["script"][-1]
    assert "url(" not in style
    assert "@import" not in style
    for word in ("fetch", "XMLHttp", "import(", "innerHTML", "eval", "document.write", "http"):
        assert word not in script


@pytest.mark.parametrize("name", REPORTS)
def test_the_policy_allows_the_one_style_and_the_one_script_that_are_there(name: str) -> None:
    parsed = Parsed(html_page([REPORTS[name]()]))
    assert parsed.policy == {
        "default-src": "'none'",
        "img-src": "data:",
        "style-src": hashed(parsed.inside["style"][0]),
        "script-src": hashed(parsed.inside["script"][-1]),
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
    }
    assert len(parsed.inside["style"]) == 1
    plain = [one for tag, one in parsed.tags if tag == "script" and "type" not in one]
    assert len(plain) == 1
    assert not [one for _, one in parsed.tags if any(key.startswith("on") for key in one)]
    assert not [one for _, one in parsed.tags if "style" in one]


def hashed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_a_page_is_the_same_bytes_each_time_and_can_be_written() -> None:
    made = html_page([page_models.hostile()])
    assert made == html_page([page_models.hostile()])
    assert made.encode()


def test_strangers_texts_are_texts_wherever_they_stand() -> None:
    plain, hostile = page_models.hostile(), page_models.hostile()
    for at, one in enumerate(plain["tensors"]):
        one["name"] = f"w{at}"
    page = html_page([hostile])
    assert [tag for tag, _ in Parsed(page).tags] == [
        tag for tag, _ in Parsed(html_page([plain])).tags
    ]
    assert Parsed(page).data[0]["names"] == [printable(name) for name in HOSTILE]
    for name in HOSTILE:
        assert " ".join(printable(name).split()) in Parsed(page).text
    for mark in "\u202e\u2066\u200f\u2028\u2029\x00\x1b\ud800":
        assert mark not in page


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_data_survives_and_ends_no_script(name: str) -> None:
    block = data_block({"names": [name]})
    text = block.removeprefix('<script type="application/json">').removesuffix("</script>")
    assert json.loads(text) == {"names": [name]}
    assert text.isascii()
    assert not set("<>&") & set(text)


@given(st.text(), st.text())
def test_an_element_holds_its_texts_as_they_can_be_shown(inside: str, value: str) -> None:
    parsed = Parsed(element("p", inside, title=value))
    assert [tag for tag, _ in parsed.tags] == ["p"]
    assert parsed.tags[0][1] == {"title": printable(value)}
    assert "".join(parsed.words) == printable(inside)


def test_an_element_has_the_attributes_that_it_is_given() -> None:
    made = element(
        "td", None, Html("<b>"), class_="a", aria_label='"', hidden=True, id=None, x=False
    )
    assert made == '<td class="a" aria-label="&quot;" hidden><b></td>'
    assert element("br") == "<br>"


def test_commands_in_hints_are_told_from_words() -> None:
    assert "".join(coded("Run `align`, then `plan`.")) == (
        "Run <code>align</code>, then <code>plan</code>."
    )
    assert coded("one ` alone") == ["one ` alone"]


def test_the_facts_are_in_the_page_without_its_script() -> None:
    report = page_models.small()
    text = Parsed(html_page([report])).text
    for fact in (
        "model.onnx",
        "1 error, 1 warning",
        "External data 3.6 MiB in 3 data files",
        "Inline 16 B 1 tensor",
        "External tensors 9 2 tied, 1 duplicate (512.0 KiB)",
        "Padding <0.01 % 96 B",
        "Dead bytes 126.5 KiB bytes that no tensor uses",
        "gone.data: there is no such file",
        "Check that the model and its data files are complete",
        "Presets 7 of 10 are satisfied",
        "This file is missing, or may not be read; 1 tensor should be in it.",
        "Shared with variant.onnx.",
        "header 2.04 %",
        "a checksum was ignored",
        "64 KiB or more 8",
        "FLOAT16 1.4 MiB 4",
        report["digest"],
    ):
        assert fact in text, fact
    assert 'title="129,536 bytes"' in html_page([report])


def test_a_preset_that_is_not_satisfied_says_why() -> None:
    report = page_models.small()
    text = Parsed(html_page([report])).text
    for one in report["presets"]:
        assert one["name"] in text
        assert one["why_not"] is None or one["why_not"] in text
    assert "not satisfied: windows" in text
    assert "experimental: made from documents" in text


def test_many_findings_of_one_kind_are_folded_and_counted() -> None:
    report = page_models.large(1000)
    text = Parsed(html_page([report])).text
    assert "misaligned 300 times" in text
    assert "295 more" in text
    assert "195 more: onnx-align inspect --json lists them all" in text
    assert text.count("Repack it: onnx-align align --in-place.") == 1
    assert text.count("it does not start on its boundary") == 105


def test_several_models_are_listed_with_a_link_to_each() -> None:
    reports = [page_models.small(), page_models.inline_only(), page_models.empty()]
    parsed = Parsed(html_page(reports))
    assert parsed.inside["title"] == ["3 models - onnx-align inspect"]
    links = [one["href"] for tag, one in parsed.tags if tag == "a"]
    assert links == ["#model-0", "#model-1", "#model-2"]
    assert {one.get("id") for _, one in parsed.tags} >= {"model-0", "model-1", "model-2"}
    assert "3 models, 3.6 MiB of external data" in parsed.text
    assert len(parsed.data) == 3
    alone = Parsed(html_page(reports[:1]))
    assert "nav" not in [tag for tag, _ in alone.tags]
    assert alone.inside["title"] == ["model.onnx - onnx-align inspect"]


def test_what_is_no_model_says_only_why() -> None:
    parsed = Parsed(html_page([page_models.unreadable(), page_models.small()]))
    assert parsed.text.count("It could not be read") == 2
    assert "broken.onnx: 3 is not a field's tag, at byte 2 Export it." in parsed.text
    assert parsed.text.count("External data") == 2  # in the list, and of the other one
    assert len(parsed.data) == 1
    alone = Parsed(html_page([page_models.unreadable()]))
    assert "It could not be read" in alone.text
    assert "inside the .onnx" not in alone.text
    assert alone.data == []


def test_no_model_at_all_is_a_page_too() -> None:
    assert "0 models" in Parsed(html_page([])).text


@pytest.mark.parametrize("report", [*REPORTS.values(), lambda: page_models.large(500)])
def test_columns_hold_what_the_report_holds(report: Any) -> None:
    model = report()
    held = json.loads(json.dumps(columns(model)))

    def word(column: str, at: int) -> str:
        found = held[column]["words"][held[column]["of"][at]]
        assert isinstance(found, str)
        return found

    for at, tensor in enumerate(model["tensors"]):
        key = str(at)
        place = word("places", at)
        if held["numbers"][at] is not None:
            place = place.replace("#", str(held["numbers"][at]), 1)
        assert held["names"][at] == printable(tensor["name"])
        assert place == printable(tensor["place"])
        assert word("kinds", at) == printable(tensor["kind"])
        assert word("dtypes", at) == printable(tensor["dtype"])
        assert word("shapes", at) == "x".join(map(str, tensor["shape"]))
        home = held["homes"][at]
        assert (None if home < 0 else model["files"][home]["name"]) == tensor["file"]
        assert number(held["bytes"][at]) == tensor["bytes"]
        assert number(held["offsets"][at]) == tensor["offset"]
        if tensor["length"] is not None:
            assert number(held["lengths"].get(key, held["bytes"][at])) == tensor["length"]
        assert held["tied"].get(key) == tensor["tied_to"]
        assert held["same"].get(key) == tensor["same_as"]
        assert held["found"].get(key, []) == tensor["findings"]
    for file, told in zip(held["files"], model["files"], strict=True):
        assert list(unfolded(file)) == [tuple(one) for one in told["ranges"]]


def number(value: int | str | None) -> int | None:
    assert not isinstance(value, int) or value < 2**53
    return None if value is None else int(value)


def unfolded(file: dict[str, Any]) -> Any:
    """Ranges again, from a file's columns."""
    kinds = {"t": "tensor", "p": "padding", "d": "dead", "h": "header"}
    tensors, end = iter(file["tensors"]), 0
    for at, (initial, span) in enumerate(zip(file["kinds"], file["spans"], strict=True)):
        start = end + file["jumps"].get(str(at), 0)
        yield start, span, kinds[initial], next(tensors) if initial == "t" else None
        end = start + span


def test_twenty_thousand_tensors_are_a_page_of_two_megabytes() -> None:
    assert len(html_page([page_models.large(20_000)]).encode()) < 2_500_000


def test_text_and_blocks_stand_out_from_the_paper_in_both_themes() -> None:
    """WCAG 2: 4.5 to 1 for text, 3 to 1 for what a map is made of."""
    style = Parsed(html_page([])).inside["style"][0]
    found = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", style)
    for theme in (0, 1):
        colours = {name: luminance(pair[theme]) for name, *pair in found}
        for name in ("ink", "soft", "accent", "good", "warn", "bad"):
            assert contrast(colours[name], colours["paper"]) >= 4.5, name
            assert contrast(colours[name], colours["panel"]) >= 4.5, name
        blocks = [name for name in colours if name.startswith(("tone-", "step-"))]
        assert len(blocks) == 12
        for name in (*blocks, "padding", "dead", "header"):
            assert contrast(colours[name], colours["paper"]) >= 3, name
        steps = [colours[f"step-{at}"] for at in range(5)]
        assert all(contrast(one, other) > 1.25 for one, other in pairwise(steps))


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: float, other: float) -> float:
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)
