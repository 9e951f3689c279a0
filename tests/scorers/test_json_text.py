from __future__ import annotations

import pytest

from skynet import scorers
from skynet.metric.contract import Unmeasured


def parts(result: scorers.Result) -> tuple[float, str]:
    assert not isinstance(result, Unmeasured)
    return result[0], result[1]["feedback"]


@pytest.mark.parametrize("output", ['{"a": 1}', "[]", "1", '"x"', "null", {"a": [1]}, "9" * 5000])
def test_json_is_valid(output: object) -> None:
    assert parts(scorers.json_valid(output))[0] == 1


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ('{"a": 1,}', "line 1, column"),
        ("```json\n{}\n```", "code fence"),
        ("NaN", "NaN is not JSON"),
        ('{"a": Infinity}', "Infinity is not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("", "line 1, column 1"),
        ({"a": float("nan")}, "not JSON compliant"),
        ({"a": object()}, "not JSON serializable"),
    ],
)
def test_what_is_not_json_says_why_and_where(output: object, reason: str) -> None:
    number, said = parts(scorers.json_valid(output))
    assert number == 0
    assert reason in said


def test_the_fraction_of_equal_fields_is_the_score() -> None:
    result = scorers.json_fields('{"name": "Ada", "age": 36}', {"name": "Ada", "age": 37, "city": "London"})
    assert not isinstance(result, Unmeasured)
    assert result[0] == pytest.approx(1 / 3)
    assert result[1]["scores"] == {"format": 1.0, "fields": pytest.approx(1 / 3)}
    assert result[1]["feedback"] == "age: expected 37, got 36. Missing: city, expected 'London'."


def test_the_first_difference_of_a_field_is_named_by_its_path() -> None:
    expected = {"to": {"city": "Paris", "lines": [1, 2]}}
    assert "to.lines[1]: expected 2, got 3." in parts(
        scorers.json_fields({"to": {"city": "Paris", "lines": [1, 3]}}, expected)
    )[1]
    assert "to.lines: expected 2 items, got 1." in parts(
        scorers.json_fields({"to": {"city": "Paris", "lines": [1]}}, expected)
    )[1]
    assert "Not expected: to.zip, which is 1." in parts(
        scorers.json_fields({"to": {"city": "Paris", "lines": [1, 2], "zip": 1}}, expected)
    )[1]


@pytest.mark.parametrize(("got", "wanted", "score"), [(1, 1.0, 1), (True, 1, 0), ("1", 1, 0), (None, None, 1)])
def test_values_are_equal_as_json_values(got: object, wanted: object, score: int) -> None:
    assert parts(scorers.json_fields({"a": got}, {"a": wanted}))[0] == score


def test_only_the_named_keys_are_compared() -> None:
    assert parts(scorers.json_fields({"a": 1, "b": 2}, {"a": 1, "b": 3}, keys=["a"]))[0] == 1


@pytest.mark.parametrize("output", ["not json", "[1]"])
def test_an_output_that_is_no_object_has_no_format(output: str) -> None:
    result = scorers.json_fields(output, {"a": 1})
    assert not isinstance(result, Unmeasured)
    assert (result[0], result[1]["scores"]) == (0, {"format": 0.0, "fields": 0.0})


@pytest.mark.parametrize("expected", ["not json", "[1]", [1]])
def test_an_expected_value_that_is_no_object_is_unmeasured(expected: object) -> None:
    assert isinstance(scorers.json_fields({"a": 1}, expected), Unmeasured)
