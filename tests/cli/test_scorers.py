from __future__ import annotations

from skynet.scorers.plugins import installed_scorers
from tests.cli.command import skynet


def test_the_text_is_a_block_for_each_scorer() -> None:
    blocks = skynet("scorers").out.split("\n\n")
    infos = installed_scorers().scorers
    assert [block.split()[0] for block in blocks] == [info.name for info in infos]
    first = " ".join(blocks[0].split())
    assert f"({infos[0].package} {infos[0].version})" in first
    assert infos[0].description in first
    assert first.endswith("expected, profile='default'")


def test_json_holds_what_is_installed() -> None:
    assert skynet("scorers", "--json").json == [
        {**info.to_json(), "options": [{"name": one.name, "default": one.default} for one in info.options]}
        for info in installed_scorers().scorers
    ]
