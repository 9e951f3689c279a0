from __future__ import annotations

from importlib.metadata import entry_points, version

import pytest

from skynet.runs.engines import GROUP, list_engines
from tests.cli.command import skynet


def test_json_lists_every_registered_engine_with_its_package_and_version() -> None:
    listed = skynet("engines", "--json").json
    assert {row["name"] for row in listed} == {point.name for point in entry_points(group=GROUP)}
    own = next(row for row in listed if row["name"] == "best_of_n")
    assert (own["package"], own["version"]) == ("skynet-optimizer", version("skynet-optimizer"))
    assert own["problem"] is None


def test_options_are_listed_with_type_and_default() -> None:
    listed = {row["name"]: row["options"] for row in skynet("engines", "--json").json}
    assert listed["best_of_n"]["n"] == "int | None, default None"
    assert listed["gepa"]["part_selection"] == "Literal['round_robin', 'all'], default 'round_robin'"


def test_the_text_says_of_each_engine_whether_it_can_run_here() -> None:
    out = skynet("engines").out
    for info in list_engines():
        assert f"{info.name}  ({info.package} {info.version}, can run here)" in out


def test_no_line_is_wider_than_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for command in ("engines", "scorers"):
        assert max(map(len, skynet(command).out.splitlines())) <= 80
