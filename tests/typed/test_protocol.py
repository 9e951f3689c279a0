from __future__ import annotations

import subprocess
import sys

import pytest
from pydantic import BaseModel, ValidationError

import skynet.typed
from skynet.typed import MetricInput, MetricOutputSpec, MetricResult


class Verdict(BaseModel):
    passed: bool


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        (MetricOutputSpec.continuous_score("x"), "continuous"),
        (MetricOutputSpec.discrete_score("x"), "discrete"),
        (MetricOutputSpec.boolean("x"), "boolean"),
        (MetricOutputSpec.label("x"), "label"),
        (MetricOutputSpec.model("x", Verdict), "model"),
    ],
)
def test_each_factory_declares_its_kind_and_is_required(spec: MetricOutputSpec, kind: str) -> None:
    assert (spec.kind, spec.required) == (kind, True)


def test_an_output_may_be_declared_optional() -> None:
    assert not MetricOutputSpec.boolean("x", required=False).required


def test_an_output_without_a_name_cannot_be_declared() -> None:
    with pytest.raises(ValidationError, match="blank"):
        MetricOutputSpec.label(" ")


@pytest.mark.parametrize("model", [MetricInput, MetricResult])
def test_a_misspelt_field_is_refused(model: type[BaseModel]) -> None:
    with pytest.raises(ValidationError, match="outptus"):
        model.model_validate({"outptus": []})


def test_every_public_name_can_be_imported() -> None:
    missing = [name for name in skynet.typed.__all__ if not hasattr(skynet.typed, name)]
    assert missing == []


def test_an_unknown_name_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(AttributeError, match="MetricResult"):
        skynet.typed.MetricResults  # noqa: B018


def test_importing_every_name_loads_no_heavy_library() -> None:
    heavy = "{'opentelemetry', 'google', 'numpy', 'httpx', 'litellm', 'dspy'}"
    code = f"import sys; from skynet.typed import *; print(sorted({heavy} & {{m.split('.')[0] for m in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_asking_for_a_shape_loads_no_models() -> None:
    code = "import sys; from skynet.typed import shape_of; shape_of(1); print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
