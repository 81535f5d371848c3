"""A page taken apart, without a browser."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any


class Parsed(HTMLParser):
    """A page as a browser would take it apart."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, list[str]] = {"script": [], "style": [], "title": []}
        self.words: list[str] = []
        self._open = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open = tag
        if tag in self.inside:
            self.inside[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open in self.inside:
            self.inside[self._open][-1] += data
        else:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    @property
    def data(self) -> list[Any]:
        kinds = [attributes.get("type") for tag, attributes in self.tags if tag == "script"]
        pairs = zip(kinds, self.inside["script"], strict=True)
        return [json.loads(text) for kind, text in pairs if kind == "application/json"]

    @property
    def policy(self) -> dict[str, str]:
        (found,) = (one for _, one in self.tags if one.get("http-equiv"))
        assert found["http-equiv"] == "Content-Security-Policy"
        rules = [rule.partition(" ") for rule in (found["content"] or "").split("; ")]
        return {name: value for name, _, value in rules}
