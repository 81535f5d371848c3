"""The page in a real browser: themes, screens, fingers, no scripts, and names that are scripts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from onnx_align_pass.inspection.page import html_page
from onnx_align_pass.printable import printable

from . import page_models
from .chromium import Browser, Page
from .page_parts import Colour, Opened, colour_at, point_of, shown, wait_for_map

pytestmark = pytest.mark.needs_chromium


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_is_the_systems_and_can_be_switched(opened: Opened, scheme: str) -> None:
    other = "dark" if scheme == "light" else "light"
    report = page_models.small()
    found = []
    with opened(report, prefers_color_scheme=scheme) as page:
        wait_for_map(page)
        for _ in range(3):
            found.append(look(page))
            page.run("document.getElementById('theme').click()")
    assert [one["button"] for one in found] == [
        f"{one.title()} theme" for one in (other, scheme, other)
    ]
    assert found[0] == found[2]
    for one in ("paper", "tensor", "dead"):
        assert found[0][one] != found[1][one]
    light, dark = found[:2] if scheme == "light" else (found[1], found[0])
    assert sum(light["paper"]) > 600 > 200 > sum(dark["paper"])
    for theme in (light, dark):
        assert theme["tensor"] == theme["swatch"]
        red, green, blue = theme["dead"]
        assert red > green + 60
        assert red > blue + 60


def look(page: Page) -> dict[str, Any]:
    """What is drawn: the paper, a tensor and dead bytes as colours."""
    return {
        "button": page.run("document.getElementById('theme').innerText"),
        "paper": rgb(page.run("getComputedStyle(document.body).backgroundColor")),
        "swatch": rgb(
            page.run("getComputedStyle(document.querySelector('.swatch')).backgroundColor")
        ),
        "tensor": colour_at(page, 900_000),
        "dead": colour_at(page, 2_550_000),
    }


def rgb(text: str) -> Colour:
    red, green, blue = map(int, re.findall(r"\d+", text)[:3])
    return red, green, blue


@pytest.mark.parametrize("width", [320, 400, 1280])
@pytest.mark.parametrize("report", ["small", "hostile", "overlapping", "inline_only", "empty"])
def test_the_page_never_scrolls_sideways(opened: Opened, report: str, width: int) -> None:
    made = getattr(page_models, report)()
    for reports in ([made], [made, page_models.small()]):
        with opened(*reports, width=width) as page:
            page.wait("document.querySelector('.frame')")
            page.settle()
            wide = "document.documentElement.scrollWidth"
            assert page.run(wide) <= width
            for file in range(len(made["files"])):
                if made["files"][file]["bytes"] is not None:
                    wait_for_map(page, file)
            if made["files"]:
                page.click(*point_of(page, 100))
                assert not page.run("document.querySelector('.selected').hidden")
            assert page.run(wide) <= width
            assert page.complaints() == []


def test_names_run_no_script_and_nothing_is_asked_for(opened: Opened, tmp_path: Path) -> None:
    report = page_models.hostile()
    with opened(report, page_models.small()) as page:
        title = page.run("document.title")
        wait_for_map(page)
        for at, name in enumerate(page_models.HOSTILE):
            page.mouse("Moved", *point_of(page, at * 20480 % 163840 + 100))
            page.run("document.querySelector('.frame table').focus()")
            page.key("Home", 36) if at == 0 else page.key("ArrowDown", 40)
            said = page.run("document.querySelector('.selected').textContent")
            assert said.startswith(printable(name))
        assert page.run("document.title") == title
        assert page.run("document.images.length") == 0
        assert page.run("document.scripts.length") == 3
        assert page.complaints() == []
        assert page.requests() == [(tmp_path / "page.html").as_uri()]


def test_what_the_page_did_not_bring_is_refused(opened: Opened) -> None:
    with opened(page_models.small()) as page:
        page.run(
            "document.addEventListener('securitypolicyviolation', e => "
            "(window.refused ??= []).push(e.effectiveDirective)) ?? 0"
        )
        page.run("void (new Image().src = 'http://127.0.0.1:9/a.png')")
        page.run("void document.body.setAttribute('style', 'color: red')")
        page.wait("window.refused?.length >= 2")
        assert set(page.run("window.refused")) == {"img-src", "style-src-attr"}
        for code in (
            "document.body.innerHTML = '<b>'",
            "document.body.setAttribute('onclick', 'x()')",
            "document.createElement('script').text = 'x()'",
        ):
            assert page.run(f"(() => {{ try {{ {code} }} catch (e) {{ return e.name }} }})()") == (
                "TypeError"
            )


def test_without_scripts_the_facts_are_there(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(html_page([page_models.small()]), encoding="utf-8")
    with browser.page(file) as page:
        assert "Scripts are off" not in page.run("document.body.innerText")
        page.call("Emulation.setScriptExecutionDisabled", value=True)
        page.open(file)
        # What is off the screen has no text until it was laid out once.
        page.wait("document.body.innerText.includes('1 error, 1 warning')")
        text = page.run("document.body.innerText")
        assert "Scripts are off" in text
        assert "1 error, 1 warning" in text
        assert "126.5 KiB" in text
        assert "positions starts at 4,096, no multiple of 65,536" in text
        why = "document.querySelector('.badge.no .why').getBoundingClientRect().width"
        assert page.run(why) > 100
        assert "How to read a map" not in text


def test_a_screen_of_many_pixels_and_a_new_size_are_drawn_for(opened: Opened) -> None:
    with opened(page_models.small()) as page:
        wait_for_map(page)
        rows_before = shown(page)["rows"]
        page.resize(400, 800, 3, mobile=True)
        page.wait("(map => map.width === 3 * map.clientWidth)(document.querySelector('.over'))")
        page.settle()
        assert shown(page)["rows"] > rows_before
        x, y = point_of(page, 900_000)
        for kind, points in (("touchStart", [{"x": x, "y": y}]), ("touchEnd", [])):
            page.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)
        page.wait("!document.querySelector('.selected').hidden")
        assert page.complaints() == []


def test_pinching_zooms(opened: Opened) -> None:
    with opened(page_models.large(4000), width=400, height=800) as page:
        wait_for_map(page)
        before = shown(page)["rowBytes"]
        x, y = point_of(page, 30_000_000)
        for kind, apart in (
            ("touchStart", 20),
            ("touchMove", 40),
            ("touchMove", 80),
            ("touchEnd", 0),
        ):
            points = [{"x": x - apart, "y": y, "id": 1}, {"x": x + apart, "y": y, "id": 2}]
            points = points if apart else []
            page.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)
            page.settle()
        assert shown(page)["rowBytes"] == before // 8
        assert page.complaints() == []
