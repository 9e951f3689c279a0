"""Builds HTML in which a plain string never becomes markup: children and attributes are escaped, markup is a type."""

from __future__ import annotations

import html
from collections.abc import Iterable

from skynet.runs.report.show import legible

_VOID = {"meta", "br", "line", "circle", "path", "rect", "input"}


class Markup(str):
    """Text that is markup already. Made by `tag` and `join`, and for this package's own constants."""

    __slots__ = ()


def tag(name: str, /, *children: str | None, **attributes: str | float | bool | None) -> Markup:
    """Return an element. `class_` is the attribute class, `_` in a name becomes `-`; None and False are left out."""
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{_escaped(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _VOID:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{join(children)}</{name}>")


def join(children: Iterable[str | None]) -> Markup:
    """Return the children one after another, escaped unless they are markup."""
    return Markup("".join(child if isinstance(child, Markup) else _escaped(child) for child in children if child))


def table(
    head: Iterable[str], rows: Iterable[Iterable[str]], *, numeric: Iterable[int] = (), class_: str = ""
) -> Markup:
    """Return a table with column headers, the first cell of each row its header.

    `numeric` columns are aligned right. Every cell names its column, so that a narrow screen can stack them.
    """
    names, right = list(head), set(numeric)
    columns = [tag("th", name, scope="col", class_="num" if at in right else None) for at, name in enumerate(names)]
    body = []
    for row in rows:
        cells = [
            tag("th", cell, scope="row") if at == 0 else
            tag("td", tag("div", cell), class_="num" if at in right else None, data_label=names[at])
            for at, cell in enumerate(row)
        ]  # fmt: skip
        body.append(tag("tr", *cells))
    return tag("table", tag("thead", tag("tr", *columns)), tag("tbody", *body), class_=class_ or None)


def _escaped(text: str) -> str:
    return html.escape(legible(text), quote=True)
