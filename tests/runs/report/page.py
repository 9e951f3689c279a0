"""Reads a page back as a browser would, as far as the tests ask about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = {"meta", "br", "line", "circle", "path", "rect", "input"}


@dataclass(slots=True)
class Element:
    name: str
    attributes: dict[str, str | None]
    text: str = ""


@dataclass
class Page(HTMLParser):
    """Every element in order, each with all text inside it. Raises AssertionError where tags do not nest."""

    source: str
    elements: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[Element] = []
        self.feed(self.source)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        self.elements.append(element)
        if tag not in _VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().name == tag

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def named(self, name: str) -> list[Element]:
        return [element for element in self.elements if element.name == name]

    def by_id(self, id_: str) -> Element:
        [found] = [element for element in self.elements if element.attributes.get("id") == id_]
        return found

    def with_class(self, class_: str) -> list[Element]:
        return [one for one in self.elements if class_ in (one.attributes.get("class") or "").split()]
