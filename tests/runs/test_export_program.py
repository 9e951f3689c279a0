from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from skynet.artifact import Artifact
from skynet.runs.export_program import export_program

pytestmark = pytest.mark.xdist_group("dspy")

STATE: dict[str, Any] = {
    "demos": [{"text": "a", "label": "b"}],
    "signature": {
        "instructions": "Label it. ÜBERALL",
        "fields": [{"prefix": "Text:", "description": "${text}"}, {"prefix": "Label:", "description": "${label}"}],
    },
    "lm": None,
    "metadata": {"dependency_versions": {}},
}
USE = "import best; print(best.load_optimized().signature.instructions, best.load_optimized().demos)"


@pytest.mark.parametrize(
    "source",
    [
        'from __future__ import annotations\nimport dspy\nprogram = dspy.Predict("text -> label")',
        'import dspy\ndef build():\n    return dspy.Predict("text -> label")\n',
    ],
    ids=["program", "build"],
)
def test_the_written_file_loads_the_program_with_the_versions_state(source: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(source, encoding="utf-8")
    version = Artifact("dspy", STATE)
    assert export_program(tmp_path / "best.py", version, tmp_path / "program.py") == tmp_path / "best.py"
    assert json.loads((tmp_path / "best.json").read_text(encoding="utf-8")) == STATE
    text = (tmp_path / "best.py").read_text(encoding="utf-8")
    assert text.startswith(source.rstrip())
    assert version.id in text
    done = subprocess.run([sys.executable, "-c", USE], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "Label it. ÜBERALL [{'text': 'a', 'label': 'b'}]"
