from __future__ import annotations

from typing import Any

import pytest

from skynet import scorers
from skynet.metric.contract import Unmeasured
from skynet.metric.signature import call_style
from skynet.scorers import as_metric


def run(metric: Any, output: Any, expected: Any = None, *, input: Any = None, trace: Any = None) -> Any:
    return call_style(metric).call(metric, input or {}, output, expected, trace)


def test_the_only_expected_column_is_taken() -> None:
    assert run(as_metric(scorers.exact_match), "Paris", {"city": "paris"})[0] == 1


def test_a_named_column_is_taken() -> None:
    metric = as_metric(scorers.exact_match, "city")
    assert run(metric, "Paris", {"country": "France", "city": "Paris"})[0] == 1


def test_several_columns_need_a_name() -> None:
    with pytest.raises(scorers.ScorerError, match=r"columns 'country', 'city'; name one, as in as_metric\(exact_match"):
        run(as_metric(scorers.exact_match), "Paris", {"country": "France", "city": "Paris"})


def test_a_column_that_is_not_there_names_the_nearest() -> None:
    with pytest.raises(scorers.ScorerError, match=r"no expected column 'citty'.*Did you mean 'city'"):
        run(as_metric(scorers.exact_match, "citty"), "Paris", {"city": "Paris"})


@pytest.mark.parametrize("expected", [None, {"city": None}])
def test_without_an_expected_value_it_is_unmeasured(expected: Any) -> None:
    assert isinstance(run(as_metric(scorers.exact_match, "city"), "Paris", expected), Unmeasured)


def test_templates_see_input_expected_and_output() -> None:
    metric = as_metric(
        scorers.exact_match, output="{{ sample.output_text | trim }}!", reference="{{ item.prefix }}{{ item.city }}!"
    )
    assert run(metric, " x-Paris ", {"city": "Paris"}, input={"prefix": "x-"})[0] == 1


def test_several_reference_templates_are_several_references() -> None:
    metric = as_metric(scorers.exact_match, reference=["{{ item.one }}", "{{ item.two }}"])
    assert run(metric, "b", {"one": "a", "two": "b"})[0] == 1


def test_options_are_passed_on() -> None:
    assert run(as_metric(scorers.contains_any, values=["refund"], ignore_case=True), "Refund")[0] == 1


def test_a_scorer_that_compares_with_nothing_needs_no_expected_value() -> None:
    assert run(as_metric(scorers.json_valid), "{}")[0] == 1


def test_a_scorer_of_the_trace_is_given_the_trace() -> None:
    trace = [{"name": "search", "arguments": {}}]
    assert run(as_metric(scorers.tool_called, tools="search"), "out", trace=trace)[0] == 1
    assert run(as_metric(scorers.tool_called, "tool"), "out", {"tool": "search"}, trace=trace)[0] == 1


def test_a_function_of_one_s_own_is_a_scorer_by_its_first_parameter() -> None:
    def shouting(output: str, *, loud: float = 1.0) -> scorers.Result:
        return loud if output.isupper() else 0.0, {"feedback": "Shout."}

    assert run(as_metric(shouting, loud=0.5), "YES")[0] == 0.5
    with pytest.raises(scorers.ScorerError, match="must be named output or trace, and it is 'input'"):
        as_metric(lambda input, output: (1.0, {"feedback": "x"}))


@pytest.mark.parametrize(
    ("scorer", "arguments", "message"),
    [
        (scorers.f1, {"profil": "nemo"}, "f1 has no option 'profil'.*Did you mean 'profile'"),
        (scorers.tool_called, {"tools": "a", "output": "{{ x }}"}, "looks at the trace"),
        (scorers.f1, {"column": "a", "reference": "b"}, "one of column, reference and expected"),
        (scorers.regex, {"column": "a", "pattern": "b"}, "one of column, reference and pattern"),
        (scorers.json_valid, {"column": "a"}, "compares with nothing"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(scorer: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(scorers.ScorerError, match=message):
        as_metric(scorer, **arguments)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"reference": 5}, r"exact_match: reference is .*5.*must be text"),
        ({"reference": ["a", 5]}, "reference is"),
        ({"column": 5}, "column is"),
        ({"output": True}, "output is"),
    ],
)
def test_templates_and_columns_must_be_text(options: dict[str, Any], says: str) -> None:
    with pytest.raises(scorers.ScorerError, match=says):
        as_metric(scorers.exact_match, **options)
