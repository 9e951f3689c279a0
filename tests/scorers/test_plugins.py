from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from skynet.scorers import SCORERS, ScorerError, installed_scorers, named
from skynet.scorers.plugins import Option

PLUGIN = '''
print("printed while it is imported")

def polite(output, expected=None, *, words=("please",), strict):
    """Score how polite
    the output is.

    Details that the list leaves out.
    """
    return 1.0, {"feedback": "Polite."}

class Similarity:
    """The toolkit's kind of evaluator."""

    def __init__(self, kind="cosine"):
        self.kind = kind

number = 3
'''
ENTRIES = """
[skynet.scorers]
polite = politeness:polite
similarity = politeness:Similarity
broken = politeness_broken:score
absent = politeness:nowhere
number = politeness:number
exact-match = politeness:polite
quits = politeness_quits:score
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on sys.path that looks as an installed distribution does."""
    (tmp_path / "politeness.py").write_text(PLUGIN)
    (tmp_path / "politeness_broken.py").write_text("import a_package_that_nobody_has\n")
    (tmp_path / "politeness_quits.py").write_text("raise SystemExit(3)\n")
    info = tmp_path / "politeness-1.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: politeness\nVersion: 1.5\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("politeness", "politeness_broken", "politeness_quits"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def test_skynet_s_own_scorers_are_listed_first_with_description_and_options() -> None:
    infos = installed_scorers().scorers
    assert tuple(info.name for info in infos[: len(SCORERS)]) == SCORERS
    assert all(info.package == "skynet-optimizer" and info.description for info in infos[: len(SCORERS)])
    assert infos[0].options == (Option("expected", None), Option("profile", "'default'"))


def test_a_plugin_is_listed_with_its_package(plugin: Path) -> None:
    [polite] = [info for info in installed_scorers().scorers if info.name == "polite"]
    assert (polite.package, polite.version) == ("politeness", "1.5")
    assert polite.description == "Score how polite the output is."
    assert polite.options == (Option("expected", "None"), Option("words", "('please',)"), Option("strict", None))


def test_the_options_of_a_class_are_those_of_its_constructor(plugin: Path) -> None:
    [similarity] = [info for info in installed_scorers().scorers if info.name == "similarity"]
    assert similarity.options == (Option("kind", "'cosine'"),)


def test_each_broken_plugin_is_one_warning_line(plugin: Path) -> None:
    warnings = [line for line in installed_scorers().warnings if "politeness" in line]
    assert [line.split("'")[1] for line in warnings] == ["absent", "broken", "exact-match", "number", "quits"]
    assert all("\n" not in line for line in warnings)
    assert "No module named 'a_package_that_nobody_has'" in warnings[1]
    assert "Skynet has a scorer of this name" in warnings[2]


def test_a_scorer_is_found_by_its_name(plugin: Path) -> None:
    assert named("exact-match") is named("exact_match")
    assert named("polite")("x", strict=True)[0] == 1.0
    with pytest.raises(ScorerError, match="'broken' of the package politeness is left out: ModuleNotFoundError"):
        named("broken")
    with pytest.raises(ScorerError, match=r"no scorer 'polit'.*Did you mean 'polite'"):
        named("polit")


def test_the_command_lists_plugins_and_outlives_broken_ones(plugin: Path) -> None:
    start = f"import sys; sys.path.insert(0, {str(plugin)!r}); from skynet.cli.main import main"
    code = f"{start}; sys.argv[1:] = ARGS; main()"
    runs = {}
    for arguments in (["scorers"], ["scorers", "--json"]):
        command = [sys.executable, "-c", code.replace("ARGS", repr(arguments))]
        runs[len(arguments)] = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "polite" in runs[1].stdout
    listed = json.loads(runs[2].stdout)
    [polite] = [info for info in listed if info["name"] == "polite"]
    assert polite["options"][2] == {"name": "strict", "default": None}
    assert sum(line.startswith("Warning: ") for line in runs[2].stderr.splitlines()) == 5
