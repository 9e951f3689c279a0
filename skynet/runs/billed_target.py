"""A target that spends dollars itself, behind budget and journal: what its replies report is paid like a model call."""

from __future__ import annotations

import hashlib
import threading
import time

from skynet.artifact import Artifact
from skynet.evaluation.budget import Budget, BudgetSpent, Reservation
from skynet.evaluation.execution import current_purse
from skynet.evaluation.guards import Stop
from skynet.evaluation.project import Project
from skynet.models.calls import current_place
from skynet.models.ledger import TARGET, Ledger, LedgerEntry
from skynet.runs.fault import StoreError
from skynet.runs.journal import Journal
from skynet.target.base import Target, TargetResult, Ticket


def bill(project: Project, budget: Budget, journal: Journal, ledger: Ledger) -> None:
    """Have the project's target billed where it spends by itself: over HTTP, as a command, or with keys of its own."""
    spec = project.spec.target
    if spec.kind in ("http", "command") or project.unmetered:
        project.target = BilledTarget(
            project.target, spec.kind, budget, journal, ledger, reports=spec.kind == "http" and spec.cost is not None
        )


class BilledTarget:
    """Books each run of a target under the role `target`: set aside at the dearest so far, settled at what it reports.

    What the first run costs is not known before it. One that was sent and reports nothing stays charged at what was set
    aside, and makes the run's dollars a lower bound.
    """

    def __init__(
        self, target: Target, kind: str, budget: Budget, journal: Journal, ledger: Ledger, *, reports: bool
    ) -> None:
        self._target = target
        self._kind = kind
        self._budget = budget
        self._journal = journal
        self._ledger = ledger
        self._reports = reports
        self._lock = threading.Lock()
        paid = (entry.cost_usd or 0.0 for entry in ledger.entries() if entry.role == TARGET)
        self._dearest = max(paid, default=0.0)

    def load(self) -> TargetResult | None:
        """Make the target ready."""
        return self._target.load()

    def run(self, artifact: Artifact, ticket: Ticket) -> TargetResult:
        """Run the target once and book it. Raises Stop where the budget's dollars are used up."""
        usd = self._dearest if self._reports else None
        held = self._reserve(usd)
        try:
            key = self._begin(usd, ticket)
        except BaseException:
            held.release()
            raise
        try:
            result = self._target.run(artifact, ticket)
        except BaseException:
            self._leave(held, key, usd)
            raise
        cancelled = result.fault is not None and result.fault.kind == "cancelled"
        if cancelled and (result.elapsed_ms is not None or result.cost_usd != 0):
            self._leave(held, key, usd)
        elif result.elapsed_ms is None:  # nothing ran
            held.release()
            self._journal.cancel("model", key)
        else:
            self._end(held, key, usd, ticket, result)
        return result

    def _reserve(self, usd: float | None) -> Reservation:
        """Set the dollars aside; an unknown price counts only once the target ran, so it is told when it is settled."""
        try:
            return (current_purse.get() or self._budget).reserve(usd=usd or 0.0, role=TARGET)
        except BudgetSpent as spent:
            raise Stop(spent.reason, str(spent)) from None

    def _begin(self, usd: float | None, ticket: Ticket) -> str:
        """Store that a run begins, and return its key: a number more where an attempt lost what came of the last."""
        number = 0
        while self._journal.get("model", key := _key(number)) is not None:
            number += 1
        try:
            self._journal.begin(
                "model", key, {"usd": usd, "tokens": 0, "role": TARGET}, version=ticket.version, case_id=ticket.case.id,
                role=TARGET, model=self._kind, scope=current_place.get(),
            )  # fmt: skip
        except StoreError as error:
            raise Stop("error", str(error)) from error
        return key

    def _leave(self, held: Reservation, key: str, usd: float | None) -> None:
        """Keep charged what was set aside: the run was under way when it was stopped."""
        held.settle(usd=usd)
        self._journal.leave("model", key)

    def _end(self, held: Reservation, key: str, usd: float | None, ticket: Ticket, result: TargetResult) -> None:
        """Book the run. The row of one without a cost says what was reserved, which a resume charges again."""
        cost = result.cost_usd if self._reports else None
        held.settle(usd=usd if cost is None else cost, lower_bound=cost is None)
        entry = LedgerEntry(
            role=TARGET, model=self._kind, prompt_tokens=None, completion_tokens=None, cost_usd=cost,
            latency_ms=result.elapsed_ms or 0.0, case=ticket.case.id, version=ticket.version, at=time.time(),
        )  # fmt: skip
        self._ledger.append(entry)
        with self._lock:
            self._dearest = max(self._dearest, cost or 0.0)
        try:
            self._journal.end("model", key, {}, status="ok", cost_usd=cost, latency_ms=entry.latency_ms)
        except StoreError as error:
            raise Stop("error", str(error)) from error

    def clock_floor_ms(self) -> float | None:
        """Return the least that a run can be clocked at."""
        return self._target.clock_floor_ms()

    def close(self) -> None:
        """Leave the target to the project, which closes it."""


def _key(number: int) -> str:
    return hashlib.sha256(f"{TARGET}|{current_place.get()}|{number}".encode()).hexdigest()[:32]
