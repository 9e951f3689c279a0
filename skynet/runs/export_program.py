"""The best version of a DSPy program as a program file: the user's own file, its state beside it, and a loader."""

from __future__ import annotations

from pathlib import Path

from skynet.artifact import Artifact
from skynet.evaluation.artifact_files import read_text
from skynet.runs.export import own_form, write_text

LOADER = '''

def load_optimized():
    """Return the program with the instructions and demonstrations of version {version}, which stand in {state}."""
    from pathlib import Path

    optimized = {made}
    optimized.load(str(Path(__file__).with_name("{state}")))
    return optimized
'''


def export_program(path: Path, artifact: Artifact, program: Path) -> Path:
    """Write the program file to `path` and the version's state to a .json file of the same name; return `path`.

    `program` is the user's own file, whose source the written one begins with. Raises ExportError, or SkynetError
    where the user's file cannot be read.
    """
    state = path.with_suffix(".json")
    source = read_text(program)
    # The order in which a worker looks for the program: its name, else build().
    made = 'globals()["program"].deepcopy() if "program" in globals() else build()'
    write_text(state, own_form(artifact))
    loader = LOADER.format(version=artifact.id, state=state.name, made=made)
    return write_text(path, source.rstrip() + "\n" + loader)
