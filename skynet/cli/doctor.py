"""`skynet doctor`: what is looked at, one line each with its repair; the models are called only with consent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from skynet.cli.ending import FAILED
from skynet.cli.model_views import call_model, dearest_call, models_of, spec_of
from skynet.cli.options import require_folder
from skynet.cli.show import print_json
from skynet.errors import SkynetError
from skynet.evaluation.display import number, printable

if TYPE_CHECKING:
    from skynet.runs.doctor import Finding
    from skynet.spec import Spec

_MARKS = {"ok": "ok", "note": "note", "warning": "warn", "failed": "FAIL"}


def run_doctor_command(directory: Path, as_json: bool, accept: bool) -> int:
    """Print every finding; return 1 when one failed. Models are called only with `accept`.

    Raises SkynetError where there is no such folder.
    """
    require_folder(directory)
    findings = []
    for finding in _findings(directory, accept):
        findings.append(finding)
        if not as_json:
            _print(finding)
    failed = [finding for finding in findings if finding.status == "failed"]
    if as_json:
        print_json({"ok": not failed, "findings": [finding.to_json() for finding in findings]})
    elif failed:
        print(f"\n{len(failed)} of {len(findings)} failed.")
    return FAILED if failed else 0


def _findings(directory: Path, accept: bool) -> Iterator[Finding]:
    from skynet.runs.doctor import Finding, examine

    root = directory if directory.is_dir() else directory.parent
    spec = None
    try:
        spec = spec_of(directory)
        told = f"no skynet.toml in {root}" if spec is None else f"{spec.name}: skynet.toml is valid"
        yield Finding(
            "project", "note" if spec is None else "ok", told, "" if spec else "skynet init, for a new project"
        )
    except SkynetError as error:
        yield Finding("project", "failed", str(error), "mend the lines above; `skynet check` then tries the metric")
    yield from examine(root, spec, os.environ)
    if spec is not None:
        yield from _models(spec, accept)


def _models(spec: Spec, accept: bool) -> Iterator[Finding]:
    """Yield one finding for each model of the project."""
    from skynet.runs.doctor import Finding

    models = models_of(spec, embedded=False)
    if not models:
        yield Finding(
            "models", "note", "the project names none", "name one under [models], if the target or engine asks"
        )
    for model in models:
        name = f"model {model.spec.name}"
        if not accept:
            dearest = dearest_call(model)
            cost = "what it costs is unknown" if dearest is None else f"it costs at most ${number(dearest)}"
            yield Finding(name, "note", f"not called: one tiny call, {cost}", "skynet doctor --yes calls it")
            continue
        result = call_model(model, spec.root)
        if result["error"] is not None:
            yield Finding(name, "failed", result["error"], "mend its entry under [models], its key or its server")
        else:
            cost = "cost unknown" if result["cost_usd"] is None else f"${number(result['cost_usd'])}"
            yield Finding(name, "ok", f"answered in {result['latency_ms']:.0f} ms, {cost}")


def _print(finding: Finding) -> None:
    print(printable(f"{_MARKS[finding.status]:<5} {finding.name}: {finding.message}"))
    if finding.repair:
        print(f"      Repair: {printable(finding.repair)}")
