from __future__ import annotations

from typing import Any

import pytest

from skynet.typed import MetricError
from skynet.typed.adapters.columns import Columns, of_library, text_or_none, texts_or_none


def case(output: Any = "out", expected: Any = None, fields: dict[str, str] | None = None, **input: Any) -> Columns:
    return Columns(input or {"q": "question"}, output, expected, "the trace", fields or {})


def test_a_field_is_the_column_that_fields_names_else_the_column_of_its_name() -> None:
    both = case({"context": "from output"}, {"context": "from expected"}, docs="d", context="from input")
    assert both.field("context") == "from output"
    assert case(docs=["d"], fields={"context": "docs"}).field("context") == ["d"]
    assert case().field("context") is None


@pytest.mark.parametrize(("column", "value"), [("input", {"q": "question"}), ("output", "out"), ("trace", "the trace")])
def test_a_field_may_be_filled_with_the_whole_of_it(column: str, value: Any) -> None:
    assert case(fields={"x": column}).field("x") == value


def test_a_column_called_output_comes_before_the_whole_output() -> None:
    found = Columns({"output": "an input column"}, "out", None, None, {"x": "output"})
    assert found.field("x") == "an input column"


def test_a_column_that_is_not_there_lists_those_that_are() -> None:
    with pytest.raises(MetricError, match=r"names no column; there are 'label', 'q'.*Did you mean 'label'"):
        case(expected={"label": 1}, fields={"x": "lable"}).field("x")


def test_without_an_expected_value_a_column_may_be_missing() -> None:
    assert case(fields={"x": "label"}).reference("x") is None


def test_one_column_stands_for_itself_and_several_for_a_dict() -> None:
    assert case().question("input") == "question"
    assert case(a=1, b=2).question("input") == {"a": 1, "b": 2}
    assert case(expected={"label": "x"}).reference("reference") == "x"
    assert case({"answer": "a", "why": "b"}).answer("answer") == "a"
    assert case({"reply": "a"}).answer("answer") == {"reply": "a"}


def test_texts_are_made_of_any_value_and_none_stays() -> None:
    assert (text_or_none(None), text_or_none({"a": 1})) == (None, '{"a": 1}')
    assert (texts_or_none(None), texts_or_none("a"), texts_or_none(["a", 1])) == (None, ["a"], ["a", "1"])


def test_only_a_library_that_is_loaded_is_looked_into() -> None:
    assert of_library("json.decoder", "JSONDecoder") is not None
    assert of_library("no_such_library.part", "Name") is None
