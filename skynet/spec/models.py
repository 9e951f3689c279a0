"""The sections of `skynet.toml`, each a frozen model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from skynet.spec.fields import (
    Bytes,
    Names,
    PathText,
    Section,
    Texts,
    Timeout,
    VariableName,
    Variables,
    gathered_options,
)
from skynet.spec.jobs import EvalSpec
from skynet.spec.rows import DataSpec

# Set by the gateway from its own arguments; a parameter of the same name would fight with them.
_OWN_PARAMETERS = (
    "model",
    "messages",
    "stream",
    "n",
    "api_key",
    "base_url",
    "api_base",
    "extra_headers",
    "timeout",
    "tools",
)


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        right = False
    if not right:
        raise ValueError("a URL starts with http:// or https:// and names a host")
    return text


def _named(value: Any) -> Any:
    """A bare text is short for a table that holds only the name."""
    return {"name": value} if isinstance(value, str) else value


def _parameters(params: dict[str, Any]) -> dict[str, Any]:
    for key in _OWN_PARAMETERS:
        if key in params:
            raise ValueError(f"params takes no {key!r}: Skynet sets it itself")
    return params


class EngineSpec(Section):
    """The search strategy. `options` holds every other key of the table, for the engine to check."""

    name: str = Field(min_length=1, description="the name of an engine; `skynet engines` lists them")
    optimizer: str | None = Field(default=None, description="the name of an optimizer of the engine")
    labels: bool = Field(default=False, description="true or false: may the engine read expected values of train rows")
    options: dict[str, Any] = Field(default_factory=dict, description="a table of the engine's own options")

    @model_validator(mode="before")
    @classmethod
    def _gather_options(cls, value: Any) -> Any:
        return gathered_options(cls, value)


class ArtifactSpec(Section):
    """What is optimized. `entry` is the function of a code artifact and means nothing for other kinds."""

    kind: Literal["text", "parts", "code", "dspy"] = Field(default="text", description="text, parts, code or dspy")
    path: PathText | None = Field(default=None, description="a file, or the folder of a parts artifact")
    entry: str = Field(default="run", min_length=1, description="the name of a function in a code artifact")


class TargetSpec(Section):
    """How a version is run. Code and dspy artifacts are their own target, and `kind` then equals theirs."""

    kind: Literal["chat", "python", "http", "command", "code", "dspy"] = Field(
        description="chat, python, http or command"
    )
    path: PathText | None = Field(default=None, description="the path of a Python file with run(artifact, input)")
    choices: Names | None = Field(default=None, min_length=2, description="an array of two or more allowed replies")
    timeout: Timeout = 60.0
    env: Variables = Field(default=(), description="an array of names of environment variables")
    url: Annotated[str, AfterValidator(_url)] | None = Field(default=None, description="an http or https URL")
    method: Literal["GET", "POST", "PUT", "PATCH"] = Field(default="POST", description="GET, POST, PUT or PATCH")
    headers: dict[str, str] = Field(default_factory=dict, repr=False, description="a table of texts")
    body: Any = Field(default=None, description="the JSON body, with {{ artifact }} and {{ input.name }}")
    answer: str | None = Field(default=None, description="the path of the answer in the reply")
    trajectory: str | None = Field(default=None, description="the path of the trajectory in the reply")
    cost: str | None = Field(default=None, description="the path of the dollars that the case cost in the reply")
    argv: Texts | None = Field(default=None, min_length=1, description="an array of texts: a program and its arguments")


class MetricSpec(Section):
    """The user's metric: by path, or by the name of a stored one, whose path is then filled in.

    `maximum` and `failure_score` are None when the run is to find them out.
    """

    name: str | None = Field(default=None, min_length=1, description="the name of a metric in the folder metrics")
    path: PathText = Field(default="metric.py", description="the path of the metric file")
    timeout: Timeout = 60.0
    maximum: float | None = Field(default=None, description="a number: the best score there can be")
    failure_score: float | None = Field(default=None, description="a number: the score of a failed case")
    env: Variables = Field(default=(), description="an array of names of environment variables")


class PriceSpec(Section):
    """Dollars per million tokens."""

    input: float = Field(ge=0, description="dollars per million input tokens, 0 or more")
    output: float = Field(ge=0, description="dollars per million output tokens, 0 or more")


class ModelSpec(Section):
    """A model by its LiteLLM name or `local/...`, and how to reach it. Keys are named, never written."""

    name: str = Field(min_length=1, description='the name of a model, such as "openai/my-model"')
    base_url: Annotated[str, AfterValidator(_url)] | None = Field(default=None, description="an http or https URL")
    api_key_env: VariableName | None = Field(default=None, description="the name of an environment variable")
    price: PriceSpec | None = Field(default=None, description="a table { input = ..., output = ... }")
    params: Annotated[dict[str, Any], AfterValidator(_parameters)] = Field(
        default_factory=dict, description="a table of request parameters"
    )


_Model = Annotated[ModelSpec, BeforeValidator(_named)]
_MODEL = 'the name of a model, or a table such as { name = "openai/my-model", base_url = "http://localhost:8000/v1" }'


class ModelsSpec(Section):
    """The model of each role; None when none is set. The metric's falls back to the reflection model."""

    task: _Model | None = Field(default=None, description=_MODEL)
    reflection: _Model | None = Field(default=None, description=_MODEL)
    metric: _Model | None = Field(default=None, description=_MODEL)


_Dollars = Annotated[float, Field(ge=0, description="a number of dollars, 0 or more")]


class BudgetSpec(Section):
    """Upper bounds of one run; None is no bound."""

    metric_calls: int | None = Field(default=None, ge=1, description="a whole number, 1 or more")
    usd: _Dollars | None = Field(default=None, description="a number of dollars, 0 or more")
    tokens: int | None = Field(default=None, ge=1, description="a whole number, 1 or more")
    seconds: float | None = Field(default=None, gt=0, description="a number of seconds above 0")
    usd_by_role: dict[Literal["task", "reflection", "metric"], _Dollars] = Field(
        default_factory=dict, description="a table of dollars by role: task, reflection, metric"
    )


class EvaluationSpec(Section):
    """How cases are run."""

    concurrency: int = Field(default=8, ge=1, description="a whole number, 1 or more: cases run at a time")
    repeats: int = Field(default=1, ge=1, description="a whole number, 1 or more: runs of each case")


class LimitsSpec(Section):
    """What a worker may use and return. Sizes are bytes; `proposer_feedback` is characters."""

    memory: Bytes = Field(default=4 * 1024**3, description='a size such as "4 GiB"')
    prints: Bytes = Field(default=64 * 1024, description='a size such as "64 KiB"')
    output: Bytes = Field(default=4 * 1024**2, description='a size such as "4 MiB"')
    feedback: Bytes = Field(default=64 * 1024, description='a size such as "64 KiB"')
    proposer_feedback: int = Field(default=4096, ge=1, description="a number of characters, 1 or more")
    open_files: int = Field(default=256, ge=16, description="a whole number, 16 or more")


class Document(Section):
    """The file as written, defaults filled in."""

    name: str = Field(min_length=1, description="a text")
    objective: str = Field(default="", description="a text: what the artifact should achieve")
    background: str = Field(default="", description="a text: what a proposer should know besides")
    engine: Annotated[EngineSpec, BeforeValidator(_named)] = Field(
        default=EngineSpec(name="auto"), description='the name of an engine, or a table such as { name = "gepa" }'
    )
    artifact: ArtifactSpec = Field(default=ArtifactSpec(), description="a table [artifact]")
    target: TargetSpec = Field(description="a table [target]")
    metric: MetricSpec = Field(default=MetricSpec(), description="a table [metric]")
    data: DataSpec | None = Field(default=None, description="a table [data]")
    models: ModelsSpec = Field(default=ModelsSpec(), description="a table [models]")
    budget: BudgetSpec = Field(default=BudgetSpec(), description="a table [budget]")
    evaluation: EvaluationSpec = Field(default=EvaluationSpec(), description="a table [evaluation]")
    limits: LimitsSpec = Field(default=LimitsSpec(), description="a table [limits]")
    eval: EvalSpec | None = Field(default=None, description="a table [eval] of an evaluation job")


class Spec(Document):
    """A checked document and the folder that its relative paths start from."""

    root: Path

    def resolve(self, path: str) -> Path:
        """Return `path` of this spec as a path of the file system."""
        return self.root / path
