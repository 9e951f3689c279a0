"""A Ctrl-C at any moment before a run: words instead of a traceback, and status 130."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from skynet.cli.run import drive

IMPORTING = """
import sys

class Struck:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Struck())
sys.argv = ["skynet", "engines"]
from skynet.cli.entry import main
main()
"""


@pytest.mark.parametrize(
    ("name", "said"),
    [("typer", "Interrupted before anything was started.\n"), ("skynet.cli.engines", "Interrupted.\n")],
)
def test_a_ctrl_c_during_an_import_is_told_in_one_line(name: str, said: str) -> None:
    code = IMPORTING.format(name=name)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", said)


@pytest.mark.parametrize("as_json", [False, True])
def test_a_ctrl_c_before_there_is_a_run_says_that_nothing_was_spent(
    capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    def struck(hooks: object) -> None:
        raise KeyboardInterrupt

    assert drive("words", as_json, struck) == 130  # type: ignore[arg-type]
    told = capsys.readouterr()
    assert told.err == "Interrupted before anything was started; nothing was spent.\n"
    if as_json:
        found = json.loads(told.out)
        assert (found["run"], found["status"], found["finish_reason"], found["metric_calls"]) == (
            None, "interrupted", None, 0,
        )  # fmt: skip
