"""What is painted on a map, pixel by pixel."""

from __future__ import annotations

from collections import Counter

import pytest

from . import page_models
from .page_parts import (
    Colour,
    Opened,
    box,
    colour_at,
    over,
    pixels,
    point_of,
    shown,
    tip_of,
    wait_for_map,
)
from .page_report import File, Weight, report

pytestmark = pytest.mark.needs_chromium


def is_red(colour: Colour) -> bool:
    red, green, blue = colour
    return red > 2 * green and red > 2 * blue


def test_tensors_of_one_dtype_have_one_colour_and_others_another(opened: Opened) -> None:
    with opened(page_models.small()) as page:
        wait_for_map(page)
        table, attention, mlp = (colour_at(page, at) for at in (900_000, 2_200_000, 2_900_000))
        assert attention == mlp != table
        assert is_red(colour_at(page, 2_550_000))
        assert not any(map(is_red, (table, attention, mlp)))


def test_lines_stand_at_each_boundary_wherever_a_row_starts(opened: Opened) -> None:
    """The second row is one tensor, and nothing but lines differs from its colour."""
    with opened(page_models.small()) as page:
        wait_for_map(page)
        x, y = point_of(page, 700_000)
        for steps, words, boundary in ((0, "16 KiB", 16384), (1, "4 KiB", 4096), (4, "256 B", 256)):
            page.click(x, y)
            for _ in range(steps):
                page.mouse("Wheel", x, y, deltaX=0, deltaY=-60)
            view = shown(page)
            width = page.run("document.querySelector('.over').width")
            assert f"lines at {words}" in page.run("document.querySelector('.range').innerText")
            row = pixels(page, 0, box(page, over())[3] / view["rows"] * 1.5, width, 1)
            usual = Counter(row).most_common(1)[0][0]
            start = view["start"] + view["rowBytes"]
            expected = [
                int((at - start) / view["rowBytes"] * width + 0.5)
                for at in range(start, start + view["rowBytes"])
                if at % boundary == 0
            ]
            lines = [at for at, colour in enumerate(row) if colour != usual]
            assert lines == [at for at in expected if at < width]
        assert view["start"] % 256


def test_dead_bytes_are_seen_however_few_they_are(opened: Opened) -> None:
    """They are a twentieth of a pixel wide here."""
    half, lost = 4 << 30, 66_000
    weights = [
        Weight("one", (1 << 30,), file="w.data", offset=0),
        Weight("two", (1 << 30,), file="w.data", offset=half + lost),
    ]
    with opened(report("model.onnx", weights, {"w.data": File(2 * half + lost)})) as page:
        wait_for_map(page)
        width = box(page, over())[2]
        assert lost * width / shown(page)["rowBytes"] < 0.1
        x, y = point_of(page, half)
        left, top, *_ = box(page, over())
        assert any(map(is_red, pixels(page, x - left, y - top, 2, 5)))
        assert not any(map(is_red, pixels(page, x - left + 4, y - top, 9, 5)))


def test_of_two_tensors_that_overlap_both_are_seen(opened: Opened) -> None:
    with opened(page_models.overlapping()) as page:
        wait_for_map(page)
        x, y = point_of(page, 12_000)
        left, top, *_ = box(page, over())
        assert any(map(is_red, pixels(page, x - left, y - top - 5, 1, 10)))
        for down, name in ((-6, "one"), (6, "two")):
            page.mouse("Moved", x, y + down)
            assert tip_of(page).startswith(name)
