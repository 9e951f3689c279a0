from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.cli.command import skynet as in_this_process

ROOT = Path(__file__).parent.parent.parent
HEAVY = {"dspy", "gepa", "httpx", "jinja2", "litellm", "numpy", "openai", "pydantic", "rich", "sqlalchemy", "yaml"}


def skynet(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "skynet.cli.main", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def modules_after(code: str) -> set[str]:
    """Return the names of all modules that a fresh interpreter holds after the code."""
    script = f"import json, sys\n{code}\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_help_names_every_command() -> None:
    done = skynet("--help")
    assert done.returncode == 0
    for name in ("init", "check", "run", "demo", "versions", "engines", "scorers", "runs", "models"):
        assert f"  {name} " in done.stdout


@pytest.mark.parametrize(
    ("group", "names"),
    [
        ("runs", ["list", "show", "watch", "cancel", "resume", "diff", "export", "delete"]),
        ("models", ["pull", "list", "test"]),
        ("judge", ["calibrate"]),
    ],
)
def test_a_group_names_its_commands(group: str, names: list[str]) -> None:
    done = skynet(group, "--help")
    assert done.returncode == 0
    for name in names:
        assert f"  {name} " in done.stdout


@pytest.mark.parametrize("words", [[], ["runs"], ["models"], ["judge"]], ids=" ".join)
def test_in_a_list_of_commands_no_sentence_is_cut_at_80_columns(words: list[str]) -> None:
    shown = in_this_process(*words, "--help").out  # as on a terminal of 80 columns
    assert max(map(len, shown.splitlines())) <= 80
    assert "..." not in shown.partition("Commands:")[2]


def test_version_is_the_distributions() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    done = skynet("--version")
    assert (done.returncode, done.stdout) == (0, f"skynet {version}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["init", "--nonsense"],
        ["init", "--template", "nonsense"],
        ["check", "a", "b"],
        ["check", "--metric"],
    ],
)
def test_wrong_usage_exits_2_without_a_traceback(arguments: list[str]) -> None:
    done = skynet(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Error: " in done.stderr
    assert "Traceback" not in done.stderr


def test_a_refusal_is_one_message_on_stderr_and_exits_2(tmp_path: Path) -> None:
    (tmp_path / "metric.py").write_text("")
    done = skynet("init", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"Error: {tmp_path} already holds metric.py.")
    assert done.stderr.count("\n") == 1


def test_init_writes_the_template_that_is_asked_for(tmp_path: Path) -> None:
    done = skynet("init", str(tmp_path / "new"), "--template", "reward")
    assert (done.returncode, done.stderr) == (0, "")
    assert "REWARD_SPEC" in (tmp_path / "new" / "metric.py").read_text()


def test_importing_the_command_line_brings_only_options_and_the_bottom_room() -> None:
    ours = {name for name in modules_after("import skynet.cli.main") if name.split(".")[0] == "skynet"}
    assert {name for name in ours if not name.startswith("skynet.cli")} == {"skynet", "skynet.errors"}
    assert not ours & {"skynet.cli.show", "skynet.cli.run", "skynet.cli.run_views", "skynet.cli.model_views"}


def test_help_loads_no_heavy_library() -> None:
    code = "import skynet.cli.main as m\ntry:\n    m.app(['--help'])\nexcept SystemExit:\n    pass"
    assert {name.split(".")[0] for name in modules_after(code)} & HEAVY == set()
