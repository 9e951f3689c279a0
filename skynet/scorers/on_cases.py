"""as_metric: a whole `score(input, output, expected)` out of a scorer, one column or templates, and options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from skynet.errors import nearest
from skynet.metric.contract import Unmeasured
from skynet.metric.show import show
from skynet.scorers.result import NO_REFERENCE, Result, ScorerError
from skynet.scorers.template import render
from skynet.scorers.text import text_of

Metric: TypeAlias = Callable[..., Any]
SUBJECTS = ("output", "trace")  # what a scorer's first parameter is called, by what it looks at
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Shape:
    """What a scorer looks at, the parameter that it compares with (None: it needs nothing), and its options."""

    name: str
    subject: str
    against: str | None
    options: Mapping[str, inspect.Parameter]


def is_scorer(function: object) -> bool:
    """Return whether the function is called as a scorer: its first parameter is named output or trace."""
    return callable(function) and next(iter(_parameters(function)), "") in SUBJECTS


def shape_of(scorer: Callable[..., Any]) -> Shape:
    """Return the shape of a scorer. Raises ScorerError for any other function."""
    name = getattr(scorer, "__name__", type(scorer).__name__)
    parameters = _parameters(scorer)
    first = next(iter(parameters), "")
    if first not in SUBJECTS:
        message = f"{name} is not a scorer: its first parameter must be named output or trace"
        raise ScorerError(f"{message}, and it is {show(first)}." if first else f"{message}.")
    by_place = [key for key, one in parameters.items() if one.kind in _POSITIONAL and key != first]
    options = {key: one for key, one in parameters.items() if key != first and one.kind not in _VARIABLE}
    return Shape(name, first, by_place[0] if by_place else None, options)


def _parameters(function: Any) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def as_metric(
    scorer: Callable[..., Result],
    column: str | None = None,
    *,
    output: str | None = None,
    reference: str | Sequence[str] | None = None,
    **options: Any,
) -> Metric:
    """Return a metric that applies the scorer to each case.

    The scorer's second argument is the value of the expected column `column`; of the only column when left out; the
    filled-in template, or several, in `reference`; or an option of its name. `output` is a template too.
    Raises ScorerError for options that the scorer does not have.
    """
    shape = shape_of(scorer)
    _check(shape, column, output, reference, options)
    compares = shape.against is not None and shape.against not in options

    def score(input: Any, output_value: Any, expected: Any = None, *, trace: Any = None) -> Any:
        case = _Case(input, output_value, expected)
        subject = trace if shape.subject == "trace" else case.filled(output) if output is not None else output_value
        if not compares:
            return scorer(subject, **options)
        wanted = case.references(reference) if reference is not None else case.column(shape.name, column)
        return wanted if isinstance(wanted, Unmeasured) else scorer(subject, wanted, **options)

    score.__name__ = shape.name
    score.__doc__ = scorer.__doc__
    return score


def _check(shape: Shape, column: object, output: object, reference: object, options: Mapping[str, Any]) -> None:
    several = list(reference) if isinstance(reference, list | tuple) else [reference]
    for name, value in (("column", column), ("output", output), *(("reference", one) for one in several)):
        if value is not None and not isinstance(value, str):
            raise ScorerError(f"{shape.name}: {name} is {show(value)}; it must be text (put it in quotes).")
    for name in options:
        if name not in shape.options:
            known = f"Its options: {', '.join(shape.options) or 'none'}.{nearest(name, shape.options)}"
            raise ScorerError(f"{shape.name} has no option {name!r}. {known}")
    if output is not None and shape.subject != "output":
        raise ScorerError(f"{shape.name} looks at the trace, so a template for the output changes nothing.")
    sources = [source for source in (column, reference, options.get(shape.against or "")) if source is not None]
    if len(sources) > 1:
        raise ScorerError(f"{shape.name}: give one of column, reference and {shape.against}, not several.")
    if shape.against is None and sources:
        raise ScorerError(f"{shape.name} compares with nothing, so it takes no column and no reference.")


@dataclass(frozen=True, slots=True)
class _Case:
    input: Any
    output: Any
    expected: Any

    def column(self, scorer: str, name: str | None) -> Any:
        """Return the expected value of the column, or of the only one."""
        if self.expected is None:
            return NO_REFERENCE
        if not isinstance(self.expected, Mapping):
            raise ScorerError(f"{scorer}: the expected value is {show(self.expected)}, not a dict keyed by column.")
        there = ", ".join(map(repr, self.expected))
        if name is None and len(self.expected) != 1:
            example = f"as_metric({scorer}, {next(iter(self.expected), 'label')!r})"
            raise ScorerError(f"{scorer}: the case has the expected columns {there}; name one, as in {example}.")
        wanted = next(iter(self.expected)) if name is None else name
        if wanted not in self.expected:
            hint = nearest(wanted, self.expected)
            raise ScorerError(f"{scorer}: there is no expected column {wanted!r}; there are {there}.{hint}")
        value = self.expected[wanted]
        return NO_REFERENCE if value is None else value

    def references(self, templates: str | Sequence[str]) -> str | list[str]:
        return self.filled(templates) if isinstance(templates, str) else [self.filled(one) for one in templates]

    def filled(self, template: str) -> str:
        """Fill in a template: `item` is the input and the expected columns, `sample` the output."""
        item = {**_columns(self.input), **_columns(self.expected)}
        return render(template, item, {"output_text": text_of(self.output), "output": self.output})


def _columns(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
