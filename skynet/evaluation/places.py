"""How many calls of one model are under way at a time, and how many cases wait for a place among them."""

from __future__ import annotations

from skynet.models.gateway import CONCURRENCY
from skynet.models.prices import LOCAL_PREFIX
from skynet.spec import Spec

SHARE_AHEAD = 8  # cases that run for each one that waits ready


def calls_at_once(spec: Spec) -> int:
    """Return how many calls of one model are under way: as many as cases where a case is one call, else what the
    programs of the cases ask for, within a limit that any server bears."""
    if spec.target.kind == "chat":
        return spec.evaluation.concurrency
    return max(CONCURRENCY, spec.evaluation.concurrency)


def cases_ahead(spec: Spec, concurrency: int) -> int:
    """Return how many cases more than `concurrency` may be begun, so that a server never waits for the store.

    A chat target's cases wait for a place at the server with everything stored that a call needs before it starts.
    Elsewhere a case's place is a worker's, or the model on this machine takes one call at a time anyway.
    """
    task = spec.models.task
    if spec.target.kind != "chat" or task is None or task.name.startswith(LOCAL_PREFIX):
        return 0
    return concurrency // SHARE_AHEAD
