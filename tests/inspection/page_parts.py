"""Where things are on a page that is open, and what it says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager

from .chromium import Page

Opened = Callable[..., AbstractContextManager[Page]]
"""Opens the page of some reports; takes what `Browser.page` takes, too."""
Colour = tuple[int, int, int]
"""Red, green, blue."""


def box(page: Page, selector: str) -> tuple[float, float, float, float]:
    """Left, top, width and height of an element, in view."""
    found = page.run(
        f"(() => {{ const found = document.querySelector('{selector}');"
        "found.scrollIntoView({block: 'center'});"
        "const {left, top, width, height} = found.getBoundingClientRect();"
        "return [left, top, width, height]; })()"
    )
    page.settle()
    left, top, width, height = found
    return left, top, width, height


def shown(page: Page, file: int = 0) -> dict[str, int]:
    """What a map shows: `start`, `rowBytes` and `rows`."""
    page.settle()
    data = page.run(f"({{...document.querySelector('{over(file)}').dataset}})")
    return {name: int(value) for name, value in data.items()}


def over(file: int = 0) -> str:
    return f'[data-file="{file}"] .over'


def wait_for_map(page: Page, file: int = 0) -> None:
    page.run(f"document.querySelector('[data-file=\"{file}\"]').scrollIntoView()")
    page.wait(f"document.querySelector('{over(file)}')?.dataset.rows")


def point_of(page: Page, offset: int, file: int = 0) -> tuple[float, float]:
    """Where the map draws the middle of a byte; it must be in view of the map."""
    left, top, width, height = box(page, over(file))
    view = shown(page, file)
    row, rest = divmod(offset - view["start"], view["rowBytes"])
    assert 0 <= row < view["rows"]
    return left + (rest + 0.5) / view["rowBytes"] * width, top + (row + 0.5) * height / view["rows"]


def tip_of(page: Page) -> str:
    return str(page.run("(tip => tip.hidden ? '' : tip.innerText)(document.getElementById('tip'))"))


def rows(page: Page) -> list[list[str]]:
    """Texts of the rows of the table that are drawn."""
    code = "[...document.querySelectorAll('.frame tbody tr[data-at]')].map(row => [...row.cells]"
    return list(page.run(f"{code}.map(cell => cell.innerText))"))


def pixels(page: Page, left: float, top: float, width: int, height: int) -> list[Colour]:
    """What is painted on the first map, in pixels from its corner, line by line."""
    numbers = page.run(
        "[...document.querySelector('.map .rows canvas').getContext('2d')"
        f".getImageData({round(left)}, {round(top)}, {width}, {height}).data]"
    )
    return [(numbers[at], numbers[at + 1], numbers[at + 2]) for at in range(0, len(numbers), 4)]


def colour_at(page: Page, offset: int) -> Colour:
    """The colour that most of the pixels around a byte have, on the first map."""
    x, y = point_of(page, offset)
    left, top, *_ = box(page, over())
    return Counter(pixels(page, x - left - 4, y - top - 4, 9, 9)).most_common(1)[0][0]
