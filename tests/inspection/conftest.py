"""A browser for the tests that need one: absent, they skip and say so; required, they fail.

`ONNX_ALIGN_REQUIRE=chromium` says that it is installed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from onnx_align_pass.inspection.page import html_page

from .chromium import Browser, Page, program
from .page_parts import Opened
from .page_report import Report


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    path = program()
    if path is None:
        if "chromium" in os.environ.get("ONNX_ALIGN_REQUIRE", "").split(","):
            pytest.fail("needs chromium, which is required here", pytrace=False)
        pytest.skip("needs chromium: apt-get install chromium")
    with Browser(path, tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Opened:
    """Open the page of some reports; its arguments are those of `Browser.page`."""

    def open_page(*reports: Report, **how: Any) -> AbstractContextManager[Page]:
        file = tmp_path / "page.html"
        file.write_text(html_page(reports), encoding="utf-8")
        return browser.page(file, **how)

    return open_page
