"""The page in a real browser: what its maps and its table show, and how they are moved."""

from __future__ import annotations

import pytest

from onnx_align_pass.units import format_bytes

from . import page_models
from .page_parts import Opened, box, over, point_of, rows, shown, tip_of, wait_for_map

pytestmark = pytest.mark.needs_chromium


def test_each_range_says_what_it_is_when_it_is_pointed_at(opened: Opened) -> None:
    report = page_models.small()
    with opened(report) as page:
        for file in (0, 1):
            wait_for_map(page, file)
            for offset, length, kind, tensor in report["files"][file]["ranges"]:
                if length < 2 * shown(page, file)["rowBytes"] / box(page, over(file))[2]:
                    continue  # less than two pixels: seen when one zooms in
                page.mouse("Moved", *point_of(page, offset + length // 2, file))
                said = tip_of(page)
                assert said.startswith(
                    report["tensors"][tensor]["name"] if tensor is not None else kind
                )
                assert f"{length:,} bytes" in said
                assert f"{offset:,} ({offset:#x})" in said
        assert page.complaints() == []


def test_a_tied_and_a_duplicate_tensor_say_so(opened: Opened) -> None:
    with opened(page_models.small()) as page:
        wait_for_map(page)
        page.mouse("Moved", *point_of(page, 100))
        assert "tied: the same bytes as lm_head.weight" in tip_of(page)
        page.mouse("Moved", *point_of(page, 3_300_000))
        assert "duplicate: equal to encoder.0.mlp.weight" in tip_of(page)
        page.mouse("Moved", 1, 1)
        assert tip_of(page) == ""


def test_the_wheel_zooms_to_the_pointer_once_the_map_was_clicked(opened: Opened) -> None:
    with opened(page_models.large(4000)) as page:
        wait_for_map(page)
        before = shown(page)
        x, y = point_of(page, 50_000_000)
        page.mouse("Wheel", x, y, deltaX=0, deltaY=-60)
        assert shown(page) == before
        page.run("scrollTo(0, 0)")
        x, y = point_of(page, 50_000_000)
        page.click(x, y)
        for _ in range(6):
            page.mouse("Wheel", x, y, deltaX=0, deltaY=-60)
        after = shown(page)
        assert after["rowBytes"] == before["rowBytes"] >> 6
        assert after["start"] <= 50_000_000 < after["start"] + after["rows"] * after["rowBytes"]
        there = point_of(page, 50_000_000)
        assert abs(there[1] - y) < 2
        assert abs(there[0] - x) < 100
        for _ in range(9):
            page.mouse("Wheel", x, y, deltaX=0, deltaY=60)
        assert shown(page) == before
        assert page.complaints() == []


def test_a_small_tensor_is_found_when_one_zooms_to_it(opened: Opened) -> None:
    report = page_models.large(20_000)
    at = 15_003
    tensor = report["tensors"][at]
    assert tensor["bytes"] == 64
    with opened(report) as page:
        wait_for_map(page)
        page.run(f"document.querySelector('.tensors input').value = '{tensor['name']}'")
        page.run("document.querySelector('.tensors input').dispatchEvent(new Event('input'))")
        left, top, width, height = box(page, f'tr[data-at="{at}"]')
        page.click(left + width / 2, top + height / 2, times=2)
        assert shown(page)["rowBytes"] == 64
        page.mouse("Moved", *point_of(page, tensor["offset"] + 32))
        assert tip_of(page).startswith(tensor["name"])
        assert f"offset {tensor['offset']:,} ({tensor['offset']:#x}), a multiple of" in tip_of(page)
        assert tensor["name"] in page.run("document.querySelector('.selected').innerText")
        assert page.complaints() == []


def test_buttons_keys_and_dragging_move_the_map(opened: Opened) -> None:
    with opened(page_models.large(4000)) as page:
        wait_for_map(page)
        whole = shown(page)
        page.run("document.querySelector('.map [aria-label=\"Zoom in\"]').click()")
        assert shown(page)["rowBytes"] == whole["rowBytes"] // 2
        page.run(f"document.querySelector('{over()}').focus()")
        for _ in range(3):
            page.key("+", 187, "+")
        zoomed = shown(page)
        assert zoomed["rowBytes"] == whole["rowBytes"] // 16
        page.key("ArrowDown", 40)
        assert shown(page)["start"] == zoomed["start"] + zoomed["rowBytes"]
        page.key("Home", 36)
        assert shown(page)["start"] == 0
        left, top, _, height = box(page, over())
        page.mouse("Pressed", left + 500, top + height - 10, button="left", buttons=1, clickCount=1)
        pitch = height / zoomed["rows"]
        page.mouse("Moved", left + 500, top + height - 10 - 3 * pitch, button="left", buttons=1)
        page.mouse("Released", left + 500, top + height - 10 - 3 * pitch, button="left")
        assert shown(page)["start"] == 3 * zoomed["rowBytes"]
        assert page.run("document.querySelector('.selected').hidden")
        page.click(left + 500, top + 10, times=2)
        assert shown(page) == whole
        page.key("+", 187, "+")
        page.key("Escape", 27)
        assert shown(page) == whole


def test_arrow_keys_go_from_tensor_to_tensor(opened: Opened) -> None:
    report = page_models.small()
    inside = [tensor for *_, tensor in report["files"][0]["ranges"] if tensor is not None]
    with opened(report) as page:
        wait_for_map(page)
        page.run(f"document.querySelector('{over()}').focus()")
        for at in (*inside, inside[-1]):
            page.key("ArrowRight", 39)
            assert page.run("document.querySelector('tr[aria-selected=true]').dataset.at") == str(
                at
            )
        page.key("ArrowLeft", 37)
        said = page.run("document.querySelector('.selected').innerText")
        assert said.startswith(report["tensors"][inside[-2]]["name"])


def test_a_click_on_the_map_selects_the_row_and_the_other_way_round(opened: Opened) -> None:
    report = page_models.large(20_000)
    with opened(report) as page:
        wait_for_map(page)
        page.click(*point_of(page, 1_000_000_000))
        at = int(page.run("document.querySelector('tr[aria-selected=true]').dataset.at"))
        tensor = report["tensors"][at]
        assert abs(tensor["offset"] - 1_000_000_000) < 300_000
        frame, row = box(page, ".frame"), box(page, "tr[aria-selected=true]")
        assert frame[1] < row[1] < frame[1] + frame[3]
        page.run("document.querySelector('.map [aria-label=\"Zoom in\"]').click()")
        page.run("document.querySelector('.frame table').focus()")
        page.key("Home", 36)
        assert page.run("document.querySelector('tr[aria-selected=true]').dataset.at") == "0"
        assert shown(page)["start"] == 0
        page.run("document.querySelector('.selected [aria-label=\"Select nothing\"]').click()")
        assert page.run("document.querySelector('tr[aria-selected=true]') === null")


def test_the_table_draws_what_is_in_view_and_sizes_are_said_as_elsewhere(opened: Opened) -> None:
    report = page_models.large(20_000)
    with opened(report) as page:
        page.wait("document.querySelector('.frame')")
        box(page, ".frame")
        for top in (0, 20_000 * 15, 20_000 * 30):
            page.run(f"document.querySelector('.frame').scrollTop = {top}")
            page.settle()
            drawn = page.run(
                "[...document.querySelectorAll('tr[data-at]')].map(x => +x.dataset.at)"
            )
            assert 14 <= len(drawn) <= 40
            assert drawn[0] <= top // 30 <= drawn[-1] + 1
            for at, cells in zip(drawn, rows(page), strict=True):
                tensor = report["tensors"][at]
                assert tensor["name"].endswith(cells[0].removeprefix("…"))
                assert cells[1] == tensor["dtype"]
                assert cells[2] == " \N{MULTIPLICATION SIGN} ".join(map(str, tensor["shape"]))
                assert cells[3] == format_bytes(tensor["bytes"])
                assert cells[5] == f"{tensor['offset']:,}"
        assert drawn[-1] == 19_999


def test_the_search_keeps_what_has_all_words(opened: Opened) -> None:
    report = page_models.small()
    names = [one["name"] for one in report["tensors"]]
    with opened(report) as page:
        page.wait("document.querySelector('.tensors input')")
        box(page, ".tensors input")
        for typed, kept in {
            "encoder": [name for name in names if "encoder" in name],
            "MLP float16": ["encoder.0.mlp.weight", "encoder.0.mlp.copy"],
            "tied": ["embeddings.word.weight", "lm_head.weight"],
            "duplicate": ["encoder.0.mlp.weight", "encoder.0.mlp.copy"],
            "gone.data error": ["gone.weight"],
            "inline": ["axes"],
            "nothing like that": [],
            "": names,
        }.items():
            page.run("document.querySelector('.tensors input').select()")
            page.key("Delete", 46)
            page.call("Input.insertText", text=typed)
            page.settle()
            assert [cells[0] for cells in rows(page)] == kept
            number = f"{len(kept)} of 10" if typed else "10"
            assert page.run("document.querySelector('.found').innerText") == number
        assert page.complaints() == []


def test_a_column_sorts_up_then_down_then_not(opened: Opened) -> None:
    report = page_models.small()
    sizes = [one["bytes"] for one in report["tensors"]]
    with opened(report) as page:
        page.wait("document.querySelector('.frame')")
        for expected in (sorted(sizes), sorted(sizes, reverse=True), sizes):
            page.run("document.querySelectorAll('.frame th button')[3].click()")
            assert [cells[3] for cells in rows(page)] == list(map(format_bytes, expected))


def test_colours_may_stand_for_size_or_alignment(opened: Opened) -> None:
    with opened(page_models.large(1000)) as page:
        wait_for_map(page)
        seen = {}
        for name in ("size", "alignment", "dtype"):
            page.run(f"document.querySelector('input[value={name}]').click()")
            page.settle()
            seen[name] = page.run(
                "[...document.querySelectorAll('.legend li')].map(x => x.innerText)"
            )
        assert seen["dtype"][:2] == ["FLOAT16", "BFLOAT16"]
        assert seen["dtype"][-2:] == seen["size"][-2:] == ["padding", "dead bytes"]
        assert seen["alignment"][:2] == ["below 64 B", "from 64 B"]
        assert seen["size"][4] == "from 16 MiB"


def test_a_preset_says_why_not_to_the_pointer_and_to_the_keyboard(opened: Opened) -> None:
    report = page_models.small()
    why = next(one["why_not"] for one in report["presets"] if one["name"] == "windows")
    with opened(report) as page:
        left, top, width, height = box(page, ".badge.no")
        page.mouse("Moved", left + width / 2, top + height / 2)
        assert tip_of(page) == why
        page.mouse("Moved", 1, 1)
        assert tip_of(page) == ""
        page.run("document.querySelector('.badge.no').focus()")
        assert tip_of(page) == why
        page.key("Escape", 27)
        assert tip_of(page) == ""
