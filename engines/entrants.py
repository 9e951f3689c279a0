"""The engines that take part in a search of `auto`: named in its options and found as plugins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from skynet.engine import Engine, Kind, Message, ModelReply, Models, SearchTask

GROUP = "skynet.engines"
TEXT_LANES = ("demos", "best_of_n", "gepa")
PROGRAM_OPTIMIZERS = ("BootstrapFewShotWithRandomSearch", "MIPROv2", "GEPA")


class LaneSpec(BaseModel):
    """One lane as the options give it: the name of an engine, and every other key an option of that engine."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @property
    def title(self) -> str:
        """The name under which the run shows the lane."""
        optimizer = self.given.get("optimizer")
        return f"{self.name}: {optimizer}" if optimizer else self.name

    @property
    def given(self) -> dict[str, Any]:
        """The options that were given to the engine."""
        return dict(self.model_extra or {})


@dataclass(frozen=True, slots=True)
class Entrant:
    """One lane's engine with its options. `continues`: it may take up the winner with what the run has left."""

    title: str
    engine: Engine
    options: Any
    continues: bool

    def view(self, task: SearchTask) -> SearchTask:
        """Return the task as this engine may see it: labels only where it uses them."""
        return task if getattr(self.options, "labels", False) else replace(task, labelled_train=())

    def refusal(self, task: SearchTask, models: Models) -> str | None:
        """Return why the engine cannot work on the task, or None."""
        return self.engine.applies(self.view(task), models, self.options)

    def buys(self, task: SearchTask, budget: int) -> int:
        """Return about how many proposals so many metric calls buy."""
        return self.engine.estimate(self.view(task), budget, self.options)


class AnyModels:
    """Stands for models where none is asked and only their being there is assumed: an estimate before the run."""

    def has(self, role: str) -> bool:
        """Say yes."""
        return True

    def complete(self, messages: Sequence[Message], **options: Any) -> str:
        """Refuse: there is no model."""
        raise RuntimeError("an estimate asks no model")

    def ask(self, request: Mapping[str, Any], role: str = "reflection") -> ModelReply:
        """Refuse: there is no model."""
        raise RuntimeError("an estimate asks no model")


def default_lanes(kind: Kind) -> tuple[LaneSpec, ...]:
    """Return the lanes of an artifact of this kind, in their order."""
    if kind == "dspy":
        optimizers = [LaneSpec.model_validate({"name": "dspy", "optimizer": name}) for name in PROGRAM_OPTIMIZERS]
        return (LaneSpec(name="demos"), *optimizers)
    return tuple(LaneSpec(name=name) for name in TEXT_LANES)


def make_entrant(lane: LaneSpec, labels: bool) -> Entrant:
    """Return the lane's engine and options. Raises ValueError naming the lane, the fault and what would be right."""
    points = {point.name: point for point in entry_points(group=GROUP)}
    if lane.name == "auto" or lane.name not in points:
        known = ", ".join(sorted({*points} - {"auto"}))
        raise ValueError(f"lane {lane.name!r} is no engine that auto can run; those are: {known}")
    engine = cast(Engine, points[lane.name].load()())
    options = _options(engine, lane, labels)
    used = getattr(options, "used", ())  # of dspy: the optimizers that run
    continues = lane.name == "gepa" or used == ("GEPA",)
    return Entrant(lane.title, engine, options, continues)


def _options(engine: Engine, lane: LaneSpec, labels: bool) -> Any:
    """Return the engine's options, with labels where they are allowed and the engine can use them."""
    choices = [lane.given]
    if labels and "labels" not in lane.given and "labels" in getattr(engine.Options, "model_fields", {}):
        choices = [{**lane.given, "labels": True}, lane.given]
    faults: list[str] = []
    for given in choices:
        try:
            return engine.Options(**given)
        except ValidationError as error:
            faults = list(_faults(error))
    raise ValueError(f"lane {lane.title!r}: {'; '.join(faults)}")


def _faults(error: ValidationError) -> Iterable[str]:
    for detail in error.errors():
        yield f"{'.'.join(map(str, detail['loc'])) or 'options'}: {detail['msg']}; it got {detail['input']!r}"
