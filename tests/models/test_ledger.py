from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from skynet.models.ledger import Ledger, LedgerEntry, Role, Totals


def _entry(role: Role = "task", tokens: int | None = 10, cost: float | None = 0.5) -> LedgerEntry:
    return LedgerEntry(role, "m", tokens, tokens, cost, 1.0, None, None, 0.0)


def test_totals_are_by_role() -> None:
    ledger = Ledger()
    for entry in (_entry(), _entry(), _entry("metric", 1, 0.25)):
        ledger.append(entry)
    assert ledger.totals() == {"task": Totals(2, 20, 20, 1.0), "metric": Totals(1, 1, 1, 0.25)}


def test_calls_without_tokens_or_price_are_counted_as_such() -> None:
    ledger = Ledger()
    ledger.append(_entry(tokens=None, cost=None))
    ledger.append(_entry())
    assert ledger.totals()["task"] == Totals(2, 10, 10, 0.5, unmetered=1, unpriced=1)


def test_no_entry_is_lost_between_threads() -> None:
    ledger = Ledger()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: ledger.append(_entry()), range(2000)))
    assert len(ledger.entries()) == ledger.totals()["task"].calls == 2000
