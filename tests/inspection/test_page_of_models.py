"""The page of real reports: of every odd model, good or bad, that the corpus has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from onnx_align_pass import ModelError
from onnx_align_pass.inspecting import inspect_file
from onnx_align_pass.inspection.page import html_page
from tests.corpus import BAD, CASES

from .page_parsed import Parsed
from .page_parts import Opened
from .page_report import Report


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> list[Report]:
    """One of each model of the corpus that is a model at all."""
    return list(reports_of(tmp_path_factory.mktemp("corpus")))


def reports_of(folder: Path) -> Iterator[Report]:
    builders = {name: case.build for name, case in CASES.items()}
    builders |= {name: case.build for name, case in BAD.items()}
    for name, build in builders.items():
        home = folder / name
        home.mkdir()
        with suppress(ModelError):
            yield inspect_file(build(home)).to_json()


def test_every_model_has_a_page_that_tells_its_facts(reports: list[Report]) -> None:
    assert len(reports) > 150
    for report in reports:
        parsed = Parsed(html_page([report]))
        (data,) = parsed.data
        assert len(data["names"]) == len(report["tensors"])
        assert [one["name"] for one in data["files"]] == [one["name"] for one in report["files"]]
        for finding in report["findings"]:
            assert " ".join(finding["message"].split()) in parsed.text
        for preset in report["presets"]:
            assert (preset["why_not"] or preset["name"]) in parsed.text


@pytest.mark.needs_chromium
def test_dozens_of_them_are_drawn_on_one_page(opened: Opened, reports: list[Report]) -> None:
    reports = [one for one in reports[::3] if one["presets"]]
    maps = sum(one["bytes"] is not None for report in reports for one in report["files"])
    with opened(*reports, height=2000) as page:
        top = 0
        while top < page.run("document.documentElement.scrollHeight"):
            page.run(f"scrollTo(0, {top})")
            page.settle()
            top += 2000
        assert page.run("document.querySelectorAll('.frame').length") == len(reports)
        page.wait(f"document.querySelectorAll('.over[data-rows]').length === {maps}")
        assert page.run("document.documentElement.scrollWidth") <= 1280
        assert page.complaints() == []
