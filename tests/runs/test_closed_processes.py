"""What code that a model wrote finds of the keys and the metric in /proc, as a user who is not root."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import plain_user
from tests.loopback import ModelServer, model_server
from tests.projects import write_project

__all__ = ["model_server"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /proc to close")

CURIOUS = """
import os

def parent(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])

def look(pid):
    found = []
    for name in ("environ", "mem"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                found.append("key" if b"sk-nobodys-business" in file.read(0 if name == "mem" else -1) else "open")
        except PermissionError:
            found.append("closed")
    return found

def run(input):
    host = parent(parent(parent(os.getpid())))
    with open(FOLDER + "/metric.pid") as file:
        metric = int(file.read())
    return f"host {look(host)} metric {look(metric)}"
"""
METRIC = """
import os

def score(input, output, expected=None):
    with open("metric.pid", "w") as file:
        file.write(str(os.getpid()))
    with open("seen.txt", "a") as file:
        file.write(str(output) + "\\n")
    return 0.5, {"feedback": "Fine."}
"""


def test_code_can_read_neither_the_hosts_environment_nor_the_metrics_memory(
    model_server: ModelServer, tmp_path: Path
) -> None:
    model = f'{{ name = "openai/m", base_url = "{model_server.url}", api_key_env = "SECRET_KEY" }}'
    tables = f'[models]\nreflection = {model}\n[engine]\nname = "best_of_n"\nn = 1\n[budget]\nmetric_calls = 40\n'
    write_project(tmp_path, metric=METRIC, target="", more=tables + "[evaluation]\nconcurrency = 1\n")
    spec = (tmp_path / "skynet.toml").read_text("utf-8").replace('path = "start.txt"', 'kind = "code"\npath = "a.py"')
    (tmp_path / "skynet.toml").write_text(spec, "utf-8")
    (tmp_path / "a.py").write_text(f"FOLDER = {str(tmp_path)!r}\n{CURIOUS}", "utf-8")
    (tmp_path / "metric.pid").write_text(str(os.getpid()), "utf-8")  # before the first score: a process that is open
    command = [sys.executable, "-m", "skynet.cli.main", "run", str(tmp_path), "--trust-artifacts", "--yes"]
    process = plain_user.start(command, env={**os.environ, "SECRET_KEY": "sk-nobodys-business"}, stderr=subprocess.PIPE)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    seen = (tmp_path / "seen.txt").read_text("utf-8").splitlines()
    closed = "['closed', 'closed']"
    assert f"host {closed} metric {closed}" in seen
    assert all(line.startswith(f"host {closed}") for line in seen if line.startswith("host")), seen
