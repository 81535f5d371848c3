"""Where things are on a page that is open, and what it says."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from .chromium import Page

Opened = Callable[..., AbstractContextManager[Page]]
"""Opens the page of some reports; takes what `Browser.page` takes, too."""


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
