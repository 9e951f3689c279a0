"""`metric.yaml`: a metric as a table of typed checks instead of a Python file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from skynet.spec.faults import Fault, SpecError, shape_fault, shown
from skynet.spec.fields import Section, array, gathered_options

ENDINGS = (".yaml", ".yml")
_DEEPEST = 8  # tables inside tables whose keys are looked at; by an alias a table may hold itself
_Names = Annotated[tuple[str, ...], BeforeValidator(array)]


class MetricCheckSpec(Section):
    """One check. `options` holds every other key of the table, for the scorer to check.

    With a threshold the check passes (1) at that score or above it and fails (0) under it; `not` turns it round.
    """

    type: str = Field(min_length=1, description="a scorer, judge, metric (with path), or a name in the folder metrics")
    weight: float | None = Field(default=None, ge=0, description="a number of 0 or more")
    threshold: float | None = Field(default=None, description="a number, on the scale of the check's own score")
    negated: bool = Field(default=False, alias="not", description="true or false")
    options: dict[str, Any] = Field(default_factory=dict, description="a table of the check's options")

    @model_validator(mode="before")
    @classmethod
    def _gather_options(cls, value: Any) -> Any:
        if not isinstance(value, dict) or "not" not in value:
            return gathered_options(cls, value)
        rest = {key: part for key, part in value.items() if key != "not"}
        return {**gathered_options(cls, rest), "not": value["not"]}


class MetricFile(Section):
    """The whole file. `view` reduces the checks' scores to one; left out, it is the mean, or that by weight."""

    checks: dict[str, MetricCheckSpec] = Field(min_length=1, description="a table of checks by name, each with a type")
    view: Literal["single", "all", "any", "mean", "weighted_mean"] | None = Field(
        default=None, description="single, all, any, mean or weighted_mean"
    )
    signals: _Names | None = Field(default=None, description="a list of names of checks")
    missing: Literal["unmeasured", "drop", "zero"] = Field(default="unmeasured", description="unmeasured, drop or zero")


class MetricFileError(SpecError):
    """A metric.yaml that cannot be used. `line` is that of its first fault; `syntax`: it is no YAML."""

    def __init__(self, file: str, faults: list[Fault], line: int | None, *, syntax: bool = False) -> None:
        super().__init__(file, faults)
        self.line = line
        self.syntax = syntax


def parse_metric_file(source: bytes, file: str) -> tuple[MetricFile, dict[str, int]]:
    """Return the checked file and the line of each dotted key. Raises MetricFileError; `file` is what it is called."""
    data, lines = _read(source, file)
    if not isinstance(data, dict):
        raise MetricFileError(file, [Fault("file", shown(data), "should be a table with `checks`.")], 1)
    _require_text_names(data.get("checks"), file, lines)
    try:
        return MetricFile.model_validate(data), lines
    except ValidationError as error:
        faults = [shape_fault(detail, MetricFile) for detail in error.errors(include_url=False)]
        places = (line_of(fault.key, lines) for fault in faults)
        raise MetricFileError(file, faults, next(filter(None, places), None)) from None


def _require_text_names(checks: Any, file: str, lines: dict[str, int]) -> None:
    for name in checks if isinstance(checks, dict) else ():
        if not isinstance(name, str):
            fault = Fault("checks", shown(name), "is a name, and must be text; put it in quotes.")
            raise MetricFileError(file, [fault], line_of(f"checks.{name}", lines))


def line_of(key: str, lines: dict[str, int]) -> int | None:
    """Return the line of the dotted key, or of the innermost table around it that the file has."""
    while key and key not in lines:
        key = key.rpartition(".")[0]
    return lines.get(key)


def _read(source: bytes, file: str) -> tuple[Any, dict[str, int]]:
    import yaml

    try:
        node = yaml.compose(source, yaml.SafeLoader)
        lines: dict[str, int] = {}
        for key, place in _keys(node, ""):
            if key in lines:
                fault = Fault(key, "", f"stands in line {lines[key]} already; give each key once.")
                raise MetricFileError(file, [fault], place)
            lines[key] = place
        return yaml.safe_load(source), lines
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date such as 2026-13-01
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        told = f"not valid YAML: {getattr(error, 'problem', None) or error}."
        fault = Fault("syntax", "", told)
        raise MetricFileError(file, [fault], line, syntax=True) from None


def _keys(node: Any, above: str, depth: int = 0) -> Iterator[tuple[str, int]]:
    """Yield every key of the tables inside tables, dotted, with its line."""
    if node is None or node.id != "mapping" or depth == _DEEPEST:
        return
    for key, value in node.value:
        dotted = f"{above}.{key.value}" if above else str(key.value)
        yield dotted, key.start_mark.line + 1
        yield from _keys(value, dotted, depth + 1)
