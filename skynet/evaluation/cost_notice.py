"""What the check's target calls may cost, said before they are made."""

from __future__ import annotations

from collections.abc import Sequence

from skynet.data.case import Case
from skynet.evaluation.display import number
from skynet.evaluation.project import Project
from skynet.evaluation.stages import plural
from skynet.models.calls import CallOptions, Scope, build_request, upper_bound
from skynet.models.prices import Price
from skynet.target.prompt import render


def cost_notice(project: Project, cases: Sequence[Case]) -> str:
    """Return one sentence on the target calls of the check; empty when no task model can be called."""
    gateway, spec = project.gateway, project.spec
    if spec.models.task is None or project.start is None or not cases:
        return ""
    name, price = spec.models.task.name, gateway.price("task")
    if price == Price(0.0, 0.0):
        return ""
    if spec.target.kind != "chat":
        return f"The target may call {name} on {plural(len(cases), 'case')}; what that costs depends on what it asks."
    calls = f"The target makes {plural(len(cases), 'call')} to {name}"
    if price is None:
        return f"{calls}; no price is known for it."
    usd = 0.0
    for case in cases:
        options = CallOptions(choices=spec.target.choices)
        messages = render(project.start.content, case.input)
        request = build_request(spec.models.task, messages, options, spec.target.timeout)
        usd += upper_bound("task", request, price, Scope(case=case.id)).usd or 0.0
    return f"{calls}; at most ${number(usd)}."
