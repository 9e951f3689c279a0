"""The failure to load a metric, by the stage of the contract check that it ends."""

from __future__ import annotations

from typing import Literal

from skynet.errors import SkynetError

Stage = Literal["Metric file", "Metric load", "Metric function", "Reward spec"]


class LoadProblem(SkynetError):
    """The metric cannot be used: the stage, the text, the line of metric.py, and the user's frames if there are any."""

    def __init__(self, stage: Stage, message: str, line: int | None = None, traceback: str = "") -> None:
        super().__init__(message)
        self.stage: Stage = stage
        self.message = message
        self.line = line
        self.traceback = traceback
