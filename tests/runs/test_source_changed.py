"""Code that is edited while a run goes on: nothing is scored with it, and the run says which file it was."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from skynet.runs import schema
from skynet.runs.session import open_store

from .plans import METRIC, RUN, drive, plan, write_plans
from .scripted import scripted

__all__ = ["scripted"]

pytestmark = pytest.mark.usefixtures("scripted")

# At its 9th call the file writes another version of itself and has its worker replaced, as an editor and a crash do.
EDIT = '''
    import os
    if os.path.exists("{log}") and len(open("{log}").readlines()) >= 9:
        text = open(__file__).read()
        open(__file__, "w").write(text.replace("return {value}", "return {other}"))
        os._exit(3)
'''


def edited(code: str, before: str, log: str, value: str, other: str) -> str:
    return code.replace(before, EDIT.format(log=log, value=value, other=other).lstrip("\n") + before, 1)


@pytest.mark.parametrize("file", ["metric.py", "run.py"])
def test_a_file_that_changes_during_a_run_ends_it_and_is_named(tmp_path: Path, file: str) -> None:
    folder = write_plans(tmp_path, plan("start", 0.25), plan("better", 0.75))
    if file == "metric.py":
        code = edited(METRIC, '    if output == "metric raises":', "scored.txt", "output, {", "0.9, {")
    else:
        code = edited(RUN, '    value = plan["cases"]', "ran.txt", "value\\n", "0.9\\n")
    (folder / file).write_text(code)
    result = drive(folder)
    assert (result.status, result.finish_reason) == ("failed", "error")
    assert f"{file} changed while this was going on" in result.message
    with open_store(folder) as store, store.read() as connection:
        scores = set(connection.scalars(sa.select(schema.evaluations.c.score)))
    assert 0.9 not in scores
