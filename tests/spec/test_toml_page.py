"""docs/skynet_toml.md names every key of the file, no other, and the right defaults."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import PydanticUndefined

from skynet.spec.fields import Section
from skynet.spec.jobs import EvalSpec
from skynet.spec.models import (
    ArtifactSpec,
    BudgetSpec,
    Document,
    EvaluationSpec,
    LimitsSpec,
    MetricSpec,
    ModelSpec,
    ModelsSpec,
    TargetSpec,
)
from skynet.spec.rows import DataSpec

PAGE = (Path(__file__).parents[2] / "docs" / "skynet_toml.md").read_text("utf-8")
SECTIONS: dict[str, type[Section]] = {
    "`[artifact]`": ArtifactSpec, "`[target]`": TargetSpec, "`[metric]`": MetricSpec, "`[data]`": DataSpec,
    "`[models]`": ModelsSpec, "key of a model": ModelSpec, "`[budget]`": BudgetSpec, "`[evaluation]`": EvaluationSpec,
    "`[limits]`": LimitsSpec, "`[eval]`": EvalSpec,
}  # fmt: skip
ROW = re.compile(r"^\| `(\w+)` \| (.*?) \| .* \|$", re.MULTILINE)


def keys_of(title: str) -> dict[str, str]:
    """Return the keys of a table of the page, and what it says of each where it is left out."""
    start = PAGE.index(f"| {title} |" if title.startswith("key") else f"## {title}")
    part = PAGE[start:]
    table = part[part.index("|---") :].split("\n\n")[0]
    return dict(ROW.findall(table))


@pytest.mark.parametrize("title", SECTIONS)
def test_a_table_of_the_page_holds_the_sections_keys(title: str) -> None:
    assert set(keys_of(title)) == set(SECTIONS[title].model_fields)


def test_the_tables_stand_for_every_key_at_the_top() -> None:
    tables = {title.strip("`[]") for title in SECTIONS} - {"key of a model"}
    assert set(keys_of("At the top")) | tables == set(Document.model_fields)


@pytest.mark.parametrize(
    ("title", "key"), [(title, key) for title, section in SECTIONS.items() for key in section.model_fields]
)
def test_a_default_of_the_page_is_the_files(title: str, key: str) -> None:
    told, section = keys_of(title)[key], SECTIONS[title]
    default: Any = section.model_fields[key].get_default(call_default_factory=True)
    if default is PydanticUndefined:
        assert told == "must be there"
    elif default is not None:
        assert told.startswith("`"), "a default is written as TOML"
        given = tomllib.loads(f"x = {told.strip('`')}")["x"]
        if section is LimitsSpec:
            assert section.model_validate({key: given}) == section()
        elif key == "split" and section is DataSpec:
            assert DataSpec(inputs=("a",), split=given) == DataSpec(inputs=("a",))
        else:
            assert given == (list(default) if isinstance(default, tuple) else default)
    else:
        assert not told.startswith("`") or told == "`run.py`"
