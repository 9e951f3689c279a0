"""Which of dspy's optimizers there are here, which are refused and why, and the options of the engine `dspy`."""

from __future__ import annotations

from difflib import get_close_matches

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

OPTIMIZERS = (
    "GEPA", "MIPROv2", "SIMBA", "COPRO", "BootstrapFewShot", "BootstrapFewShotWithRandomSearch",
    "BootstrapFewShotWithOptuna", "LabeledFewShot", "InferRules", "BetterTogether",
)  # fmt: skip
REFLECTIVE = ("GEPA", "MIPROv2", "SIMBA", "COPRO", "InferRules")  # they need a model that proposes
WITH_OPTUNA = ("MIPROv2", "BootstrapFewShotWithOptuna")
LABELS_NEEDED = ("LabeledFewShot", "InferRules")
LABEL_BLIND = ("GEPA", "SIMBA", "COPRO")

_WEIGHTS = "it trains the weights of a model, and a version here is a program's state"
REFUSED = {
    "KNNFewShot": "its result is a closure over labelled rows that picks demonstrations anew for each input, not a "
    "state that program.load reads",
    "BootstrapFinetune": _WEIGHTS,
    "GRPO": _WEIGHTS,
    "ArborGRPO": _WEIGHTS,
    "Ensemble": "its result is several programs and a vote over them, not the state of one",
    "AvatarOptimizer": "it works on dspy.Avatar alone and judges runs by a feedback of its own instead of the metric's",
    "ReAnchor": "it moves decision thresholds by labelled rows, and the metric is not asked",
    "Flex": "dspy.Flex runs source written by a model inside the engine's own process",
}
_NOT_HERE = "; ".join(f"{name}, since {reason}" for name, reason in REFUSED.items())
_ALIASES = {"BootstrapRS": "BootstrapFewShotWithRandomSearch", "MIPRO": "MIPROv2"}


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")


def optimizer_named(name: str) -> str:
    """Return dspy's name of an optimizer written like it, or with underscores. Raises ValueError saying why not."""
    known = {_plain(item): item for item in OPTIMIZERS} | {_plain(alias): item for alias, item in _ALIASES.items()}
    refused = {_plain(item): item for item in REFUSED}
    if _plain(name) in known:
        return known[_plain(name)]
    if _plain(name) in refused:
        full = refused[_plain(name)]
        raise ValueError(f"{full} is not supported: {REFUSED[full]}")
    close = get_close_matches(_plain(name), known, 1)
    hint = f" Did you mean {known[close[0]]}?" if close else ""
    raise ValueError(f"dspy has no optimizer {name!r} here.{hint} There are {', '.join(OPTIMIZERS)}")


class DspyOptions(BaseModel):
    """Options of `dspy`. Numbers left out are sized to the budget; those given are upper bounds of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    optimizer: str = Field(default="GEPA", description=f"one of {', '.join(OPTIMIZERS)}. Not here: {_NOT_HERE}")
    labels: bool = False
    strategy: tuple[str, ...] = Field(
        default=("BootstrapFewShotWithRandomSearch", "GEPA"), description="BetterTogether: optimizers in their order"
    )
    threshold: float | None = Field(
        default=None, description="the score from which a run may be shown as a demonstration; None for the maximum"
    )
    max_bootstrapped_demos: int = Field(default=4, ge=1, description="demonstrations from the program's own runs")
    max_labeled_demos: int = Field(default=8, ge=1, description="with labels: demonstrations from rows of train")
    candidates: int | None = Field(default=None, ge=1, description="how many candidates an optimizer tries")
    trials: int | None = Field(default=None, ge=1, description="MIPROv2 and Optuna: trials; SIMBA and COPRO: rounds")
    minibatch_size: int | None = Field(default=None, ge=1, description="GEPA, SIMBA: train cases of one proposal")
    num_rules: int = Field(default=10, ge=1, description="InferRules: rules to write")

    @field_validator("optimizer")
    @classmethod
    def _known(cls, value: str) -> str:
        return optimizer_named(value)

    @field_validator("strategy")
    @classmethod
    def _known_steps(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        steps = tuple(optimizer_named(name) for name in value)
        if not steps or "BetterTogether" in steps:
            raise ValueError("strategy names one optimizer or more, and not BetterTogether itself")
        return steps

    @model_validator(mode="after")
    def _labels_fit(self) -> DspyOptions:
        needing = [name for name in self.used if name in LABELS_NEEDED]
        if needing and not self.labels:
            raise ValueError(f"{needing[0]} shows expected values of train to a model; set labels = true to allow that")
        if self.labels and all(name in LABEL_BLIND for name in self.used):
            raise ValueError(f"{self.used[0]} works without labels; leave labels out")
        return self

    @property
    def used(self) -> tuple[str, ...]:
        """The optimizers that run."""
        return self.strategy if self.optimizer == "BetterTogether" else (self.optimizer,)
