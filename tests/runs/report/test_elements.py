from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from skynet.runs.report.elements import Markup, join, table, tag
from tests.runs.report.page import Page


@given(st.text(), st.text())
def test_a_plain_string_never_becomes_markup(text: str, value: str) -> None:
    page = Page(tag("p", text, title=value))
    assert [element.name for element in page.elements] == ["p"]
    assert list(page.elements[0].attributes) == ["title"]


def test_children_that_are_markup_stay_markup() -> None:
    assert tag("p", tag("b", "<"), "&", None) == "<p><b>&lt;</b>&amp;</p>"


def test_markup_joined_with_a_string_is_escaped_again() -> None:
    assert join([tag("b") + "x"]) == "&lt;b&gt;&lt;/b&gt;x"
    assert isinstance(join([]), Markup)


def test_attributes_without_a_value_are_left_out() -> None:
    assert tag("a", class_=None, hidden=True, open=False, data_label="x") == '<a hidden data-label="x"></a>'


def test_a_table_has_column_and_row_headers() -> None:
    page = Page(table(("Name", "Count"), [("a", "1")], numeric=(1,)))
    assert [(one.text, one.attributes["scope"]) for one in page.named("th")] == [
        ("Name", "col"),
        ("Count", "col"),
        ("a", "row"),
    ]
    assert [(one.text, one.attributes["data-label"]) for one in page.named("td")] == [("1", "Count")]
