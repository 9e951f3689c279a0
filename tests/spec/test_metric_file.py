from __future__ import annotations

import pytest

from skynet.spec.metric_file import MetricFileError, line_of, parse_metric_file

GOOD = b"""
checks:
  right:
    type: bleu
    column: label
    threshold: 0
    not: true
    options: {weight: 5}
"""


def test_a_check_gathers_every_other_key_as_an_option() -> None:
    file, lines = parse_metric_file(GOOD, "metric.yaml")
    check = file.checks["right"]
    assert (check.type, check.threshold, check.negated, check.weight) == ("bleu", 0.0, True, None)
    assert check.options == {"column": "label", "weight": 5}
    assert lines["checks.right.threshold"] == 6


def test_the_line_of_an_unknown_key_is_that_of_the_table_around_it() -> None:
    lines = {"checks": 2, "checks.right": 3}
    assert (line_of("checks.right.weight", lines), line_of("other", lines)) == (3, None)


@pytest.mark.parametrize(
    ("source", "line", "says"),
    [
        ("checks:\n  a: {type: f1, weight: -1}", 2, r"checks\.a\.weight = -1: should be a number of 0 or more"),
        ("checks:\n  a:\n    type: f1\n    not: maybe", 4, r'checks\.a\.not = "maybe": should be true or false'),
        ("checks:\n  a: {type: f1, threshold: high}", 2, r'threshold = "high": should be a number, on the scale'),
        ("checks:\n  a: {column: x}", 2, r"checks\.a\.type: is missing; it should be a scorer"),
        ("chekcs: {}", 1, r"chekcs = {}: no such key\. Did you mean 'checks'\?"),
        ("view: al\nchecks: {a: {type: f1}}", 1, r"view = \"al\": should be single.*Did you mean 'all'"),
        ("checks:\n  1: {type: f1}", 2, r"checks = 1: is a name, and must be text; put it in quotes"),
        ("checks: {}", 1, r"checks = {}: should be a table of checks"),
        ("- a", 1, r"should be a table with `checks`"),
        ("checks:\n  a: {type: f1}\n  a: {type: bleu}", 3, r"checks\.a: stands in line 2 already"),
    ],
)
def test_a_fault_names_file_key_value_line_and_what_would_be_right(source: str, line: int, says: str) -> None:
    with pytest.raises(MetricFileError, match=says) as caught:
        parse_metric_file(source.encode(), "my.yaml")
    assert str(caught.value).startswith("my.yaml: ")
    assert (caught.value.line, caught.value.syntax) == (line, False)


@pytest.mark.parametrize(
    ("source", "line"),
    [("checks: [", 1), ("a: b\n c: d", 2), ("a: !!python/name:os.system x", None), ("a: 2026-13-01", None)],
)
def test_what_is_no_plain_yaml_is_a_fault_of_syntax(source: str, line: int | None) -> None:
    with pytest.raises(MetricFileError, match="not valid YAML") as caught:
        parse_metric_file(source.encode(), "my.yaml")
    assert caught.value.syntax
    assert line is None or caught.value.line == line


def test_a_table_that_holds_itself_is_a_fault_and_no_endless_search() -> None:
    with pytest.raises(MetricFileError, match=r"checks\.a\.type: is missing"):
        parse_metric_file(b"checks: &all\n  a: *all", "my.yaml")
