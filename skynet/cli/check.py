"""`skynet check`: a live table of stages, then the samples and what a run would refuse; or one JSON object."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skynet.cli.ending import FAILED, USAGE
from skynet.cli.show import Hanging, print_json, stage_line
from skynet.errors import SkynetError
from skynet.evaluation.display import json_ready, number, printable

if TYPE_CHECKING:
    from skynet.evaluation.stages import CheckResult, OnStage, Sample, Stage

_SHOWN_CHARS = 300
_SAMPLE_INDENT = 12


def run_check_command(
    directory: Path,
    as_json: bool,
    metric: Path | None,
    output: str | None,
    output_json: str | None,
    input_json: str | None,
    expected: str | None,
    tables: Mapping[str, Any] | None = None,
) -> int:
    """Run the check; return the exit status: 0 without a failed stage, 1 with one, 2 on wrong usage.

    `tables` win over the spec's.
    """
    on_stage = _silent if as_json else _print_stage
    try:
        checked = _checked(directory, metric, output, output_json, input_json, expected, tables, on_stage)
    except SkynetError as error:
        if as_json:  # whoever reads stdout reads an object, whatever happened
            print_json({"ok": False, "stages": [], "samples": [], "error": str(error)})
        print(f"Error: {error}", file=sys.stderr)
        return USAGE
    if as_json:
        print_json(checked.result.to_json())
    else:
        _print_samples(checked.result)
        _print_end(checked.result)
    if checked.refusal:
        print(f"Warning: `skynet run` would refuse: {printable(checked.refusal)}", file=sys.stderr)
    return 0 if checked.result.ok else FAILED


@dataclass(frozen=True, slots=True)
class _Checked:
    """The check's result, and why a run of the project would be refused; empty when it would not."""

    result: CheckResult
    refusal: str = ""


def _checked(
    directory: Path,
    metric: Path | None,
    output: str | None,
    output_json: str | None,
    input_json: str | None,
    expected: str | None,
    tables: Mapping[str, Any] | None,
    on_stage: OnStage,
) -> _Checked:
    if metric is not None:
        return _Checked(_check_metric(directory, metric, output, output_json, input_json, expected, on_stage))
    if any(option is not None for option in (output, output_json, input_json, expected)):
        raise SkynetError("--output, --output-json, --input and --expected go with --metric FILE")
    return _check_project(directory, tables, on_stage)


def _check_project(directory: Path, tables: Mapping[str, Any] | None, on_stage: OnStage) -> _Checked:
    from skynet.evaluation.check_project import check_project
    from skynet.evaluation.project import Project
    from skynet.runs.engine_check import checked_engine
    from skynet.runs.outlook import would_refuse
    from skynet.spec import load_spec

    spec = load_spec(directory, tables)
    engine, options = checked_engine(spec)  # a wrong name or option is told before anything is spent
    with Project(spec) as project:
        result = check_project(project, on_stage=on_stage, on_notice=_print_notice)
        return _Checked(result, would_refuse(project, engine, options))


def _check_metric(
    directory: Path,
    metric: Path,
    output: str | None,
    output_json: str | None,
    input_json: str | None,
    expected: str | None,
    on_stage: OnStage,
) -> CheckResult:
    from skynet.evaluation.check_project import check_metric

    if (output is None) == (output_json is None):
        raise SkynetError("--metric FILE needs one of --output TEXT and --output-json JSON: the output to score")
    value = output if output_json is None else _parsed("--output-json", output_json)
    return check_metric(
        metric,
        value,
        input=_object("--input", input_json),
        expected=_object("--expected", expected),
        folder=directory,
        on_stage=on_stage,
    )


def _parsed(option: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise SkynetError(f"{option} is not JSON: {error}. It got {text!r}.") from None


def _object(option: str, text: str | None) -> dict[str, Any] | None:
    value = None if text is None else _parsed(option, text)
    if value is not None and not isinstance(value, dict):
        example = '{"label": "billing"}'
        raise SkynetError(f"{option} takes a JSON object keyed by column, such as '{example}'; got {text}")
    return value


def _silent(stage: Stage) -> None:
    """With --json nothing but the object is printed."""


def _console() -> Any:
    from rich.console import Console

    return Console(highlight=False, soft_wrap=not sys.stdout.isatty())


def _print_notice(text: str) -> None:
    print(text, file=sys.stderr)


def _print_stage(stage: Stage) -> None:
    _console().print(stage_line(stage))


def _print_samples(result: CheckResult) -> None:
    from rich.text import Text

    console = _console()
    for sample in result.samples:
        console.print()
        case = Text().append(printable(f"Case {sample.case}:"), style="bold")
        console.print(Hanging(case, _measures(sample), 0))
        named = ", ".join(f"{name} {number(value)}" for name, value in sample.scores.items())
        rows = {"output": _short(sample.output), "feedback": _short(sample.feedback or ""), "scores": named}
        for name, text in rows.items():
            if text:
                console.print(Hanging(Text().append(f"  {name}", style="dim"), text, _SAMPLE_INDENT))


def _measures(sample: Sample) -> str:
    """Return score, time and cost of a sample; time and cost only where its target was called."""
    parts = ["no score" if sample.score is None else f"score {number(sample.score)}"]
    if sample.elapsed_ms is not None:
        parts.append(f"{number(sample.elapsed_ms)} ms")
        parts.append("cost unknown" if sample.cost_usd is None else f"${number(sample.cost_usd)}")
    return ", ".join(parts)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(json_ready(value), ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}... ({len(text):,} characters)"


def _print_end(result: CheckResult) -> None:
    failed = [stage.name for stage in result.stages if stage.status == "failed"]
    warned = sum(stage.status == "warning" for stage in result.stages)
    if failed:
        end = f"The contract check failed at {failed[0]}."
    elif result.missing_model:
        end = f"Nothing failed, but the check waits for a {result.missing_model} model; name one under [models]."
    else:
        warnings = f" with {warned} warnings" if warned > 1 else " with a warning" if warned else ""
        end = f"The contract check passed{warnings}."
    print(f"\n{end} Metric calls: {result.metric_calls}.")
