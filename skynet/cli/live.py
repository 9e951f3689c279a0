"""The live view of a run on stderr: one block that renews itself on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from skynet.cli.show import stage_line
from skynet.errors import SkynetError
from skynet.evaluation.display import printable
from skynet.runs.progress import Followed, Standing

if TYPE_CHECKING:
    from rich.text import Text

    from skynet.evaluation.budget import Budget
    from skynet.evaluation.stages import Stage
    from skynet.runs.money import History
    from skynet.runs.outlook import Outlook
    from skynet.runs.progress import Progress
    from skynet.runs.runner import Runner
    from skynet.runs.store import RunRow

_LINE_SECONDS = 10.0  # without a terminal, a line at least this often
_LOOK_SECONDS = 0.25
_FEEDBACK_CHARS = 160
_BAR = 24


class LiveView:
    """Shows the check's stages as they end, then the search. `quiet` shows nothing."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._runner: Runner | None = None
        self.run: str | None = None  # its id, once it is stored
        self._live: Any = None
        self._followed: Followed | None = None
        self._standing = Standing()
        self._unpriced = False  # whether an earlier attempt called a model without a price
        self._done = threading.Event()
        self._lines: threading.Thread | None = None

    def on_outlook(self, outlook: Outlook) -> None:
        """Say what the budget buys."""
        if not self._quiet:
            print(outlook.sentence(), file=sys.stderr)

    def on_resumed(self, history: History, limit: int | None) -> None:
        """Say what a resume found."""
        self._unpriced = _has_unpriced(history)
        if not self._quiet:
            print(resumed_sentence(history, limit), file=sys.stderr)

    def on_notice(self, told: str) -> None:
        """Say what a fork took over, or what a resume could not look at."""
        if not self._quiet:
            print(told, file=sys.stderr)

    def on_stage(self, stage: Stage) -> None:
        """Print one stage of the check."""
        if not self._quiet:
            self._console().print(stage_line(stage))

    def on_runner(self, runner: Runner, row: RunRow) -> None:
        """Begin to show a run."""
        self._runner, self.run = runner, row.id
        self._followed = Followed(runner.books.events)
        if self._quiet:
            return
        print(f"Run {row.id}, engine {runner.engine.name}", file=sys.stderr)
        if sys.stderr.isatty():
            from rich.live import Live

            self._live = Live(get_renderable=self._block, console=self._console(), refresh_per_second=4)
            self._live.start()
        else:
            self._lines = threading.Thread(target=self._print_lines, name="skynet-view", daemon=True)
            self._lines.start()

    def _console(self) -> Any:
        if self._live is not None:
            return self._live.console
        from rich.console import Console

        return Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())

    def _block(self) -> Text:
        from rich.text import Text

        if self._runner is None:
            return Text("")
        now = self._runner.board.now()
        return Text(printable("\n".join(self._rows(self._runner, now))))

    def _stands(self) -> Standing:
        """Return how the run stands by its stored events; while the store cannot be read, how it stood."""
        if self._followed is not None:
            try:
                self._standing = self._followed.look()
            except SkynetError:
                return self._standing  # the run meets the same fault, and tells it
        return self._standing

    def _rows(self, runner: Runner, now: Progress) -> list[str]:
        rows = [f"{now.stage}{f' ({now.lane})' if now.lane else ''}: {spent_so_far(runner.budget, self._unpriced)}"]
        stands = self._stands()
        if stands.best_val is not None:
            start = "" if stands.start_val is None else f", start {stands.start_val:.4g}"
            count = f"{stands.versions} version{'' if stands.versions == 1 else 's'}"
            rows.append(f"best on val {stands.best_val:.4g}{start}, {count}")
        if now.last_feedback:
            feedback = " ".join(now.last_feedback.split())
            rows.append(f"last feedback: {feedback[:_FEEDBACK_CHARS]}")
        return rows

    def _print_lines(self) -> None:
        shown: tuple[object, ...] = ()
        last = 0.0
        while not self._done.wait(_LOOK_SECONDS):
            if self._runner is None:
                continue
            now = self._runner.board.now()
            state = (now.stage, now.lane, self._stands().best_version)
            if now.stage == "check" or (state == shown and time.monotonic() - last < _LINE_SECONDS):
                continue
            shown, last = state, time.monotonic()
            print(printable("; ".join(self._rows(self._runner, now)[:2])), file=sys.stderr, flush=True)

    def __enter__(self) -> LiveView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._live is not None:
            self._live.stop()
        if self._lines is not None:
            self._lines.join()


def spent_so_far(budget: Budget, unpriced: bool) -> str:
    """Return what was spent by now, and of how much; `unpriced`: the dollars are known to be a lower bound."""
    spent, limits, seconds = budget.spent, budget.limits, budget.active_seconds
    parts = []
    if limits.metric_calls:
        share = min(1.0, spent.metric_calls / limits.metric_calls)
        filled = round(share * _BAR)
        bar = "#" * filled + "." * (_BAR - filled)
        parts.append(f"[{bar}] {spent.metric_calls} of {limits.metric_calls} metric calls{_left(seconds, share)}")
    else:
        parts.append(f"{spent.metric_calls} metric calls")
    cost = _cost(spent.usd, unpriced or budget.usd_is_lower_bound, "cost unknown")
    parts.append(cost if limits.usd is None else f"{cost} of ${limits.usd:.2f}")
    parts.append(f"{seconds:.0f} s" if limits.seconds is None else f"{seconds:.0f} of {limits.seconds:.0f} s")
    return ", ".join(parts)


def resumed_sentence(history: History, limit: int | None) -> str:
    """Return what earlier attempts paid, in one sentence."""
    of = "" if limit is None else f" of {limit:,}"
    cost = _cost(history.paid.usd, _has_unpriced(history), "an unknown amount")
    text = f"Resumed at {history.charged.metric_calls:,}{of} metric calls, {cost} already paid."
    if history.in_flight_requests:
        many = "request was" if history.in_flight_requests == 1 else "requests were"
        text += (
            f" {history.in_flight_requests} {many} in flight at the stop and will be asked again; what they reserved "
            "stays charged."
        )
    return f"{text} Nothing else that was paid is paid again."


def _has_unpriced(history: History) -> bool:
    return any(entry.cost_usd is None for entry in history.entries)


def _cost(usd: float, lower_bound: bool, unknown: str) -> str:
    """Write what was spent; a lower bound of nothing is `unknown`, not zero."""
    from skynet.runs.report.show import spent

    return unknown if lower_bound and usd == 0 else spent(usd, lower_bound)


def _left(seconds: float, share: float) -> str:
    """Return how much time is left at the pace so far, once there is a pace to tell from."""
    if not 0.05 < share < 1:
        return ""
    return f", about {seconds / share - seconds:.0f} s left"
