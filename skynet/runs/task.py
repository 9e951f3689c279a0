"""The task that an engine is given: what it may see of a project, and nothing else."""

from __future__ import annotations

from typing import Any

from skynet.engine import LabelledCase, SearchTask, Version
from skynet.evaluation.evaluator import task_cases
from skynet.evaluation.project import Project


def search_task(project: Project, start: Version, options: Any, *, maximum: float = 1.0, **more: Any) -> SearchTask:
    """Return the task. Expected values are in it only for an engine whose options say `labels = true`."""
    data, spec = project.dataset, project.spec
    outputs = spec.data.outputs if spec.data else ()
    labelled = data.train if getattr(options, "labels", False) else ()
    return SearchTask(
        kind=spec.artifact.kind,
        target=spec.target.kind,
        start=start,
        objective=spec.objective,
        background=spec.background,
        train=task_cases({case.id: case for case in data.train}),
        val=task_cases({case.id: case for case in data.val}),
        seed=project.seed,
        maximum=maximum,
        labelled_train=tuple(
            LabelledCase(case.id, dict(case.input), dict(case.expected))
            for case in labelled
            if case.expected is not None
        ),
        output_column=outputs[0] if len(outputs) == 1 else None,
        repeats=spec.evaluation.repeats,
        **more,
    )
