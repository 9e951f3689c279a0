from __future__ import annotations

import threading
from pathlib import Path

import pytest

from skynet.errors import SkynetError
from skynet.evaluation.worker_setup import METRIC_ENTRY, pickled, worker_setup
from skynet.spec import LimitsSpec


def test_workers_get_the_allowed_environment_and_the_limits(tmp_path: Path) -> None:
    environ = {"PATH": "/bin", "OPENAI_API_KEY": "secret", "MY_VAR": "1"}
    limits = LimitsSpec(memory=1 << 20, open_files=17)
    setup = worker_setup(METRIC_ENTRY, tmp_path / "sub" / "metric.py", tmp_path, limits, environ, ["MY_VAR", "UNSET"])
    assert {name: setup.environment.get(name) for name in ("PATH", "OPENAI_API_KEY", "MY_VAR", "UNSET")} == {
        "PATH": "/bin", "OPENAI_API_KEY": None, "MY_VAR": "1", "UNSET": None
    }  # fmt: skip
    assert (setup.limits.memory, setup.limits.open_files) == (1 << 20, 17)
    assert setup.folder == tmp_path / "sub"


def test_what_a_function_cannot_take_along_is_named() -> None:
    lock = threading.Lock()
    with pytest.raises(SkynetError, match=r"cannot be sent to a worker: .*lock"):
        pickled(lambda input, output: lock.acquire())
