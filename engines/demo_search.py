"""The search over sets of demonstrations: a race of random sets, then one change at a time to the best."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from skynet.engine import Rejected, SearchEvaluator, SearchTask, Version

from .chat import Layout
from .demonstrations import Demonstration, balanced, write_chat

SMALLEST_RUNG = 4  # val cases under which a total says nothing
PATIENCE = 8  # changes in a row without a gain before the search ends
DRAWS = 50  # attempts to draw a set that was not tried yet

Chosen = tuple[int, ...]


def race_cost(val: int, sets: int) -> int:
    """Return the cases that a race runs: after each rung the better half of the sets goes on to the next."""
    cost, begin = 0, 0
    for end in _rungs(val):
        cost += sets * (end - begin)
        sets, begin = math.ceil(sets / 2), end
    return cost


class DemoSearch:
    """The search over sets, each a tuple of places in the pool; `sizes` are the smallest and the largest set."""

    def __init__(
        self,
        task: SearchTask,
        evaluator: SearchEvaluator,
        layout: Layout,
        pool: Sequence[Demonstration],
        sizes: tuple[int, int],
    ) -> None:
        self._task = task
        self._evaluator = evaluator
        self._layout = layout
        self._pool = pool
        self._rng = random.Random(task.seed)
        self._val = self._rng.sample(task.val, len(task.val))
        self._largest = min(sizes[1], len(pool))
        self._smallest = min(sizes[0], self._largest)
        self._tried: set[Chosen] = set()
        self._totals: dict[tuple[str, int], float] = {}
        self._best: tuple[Chosen, Version] | None = None  # tried on all of val

    def race(self, sets: int) -> None:
        """Run random sets over growing parts of val; the better half of them goes on to the next part."""
        runners = self._random_sets(sets)
        for count in _rungs(len(self._val)):
            ranked = sorted(runners, key=lambda runner: (-self._total(runner[1], count), len(runner[0])))
            runners = ranked if count == len(self._val) else ranked[: math.ceil(len(ranked) / 2)]
        self._best = runners[0] if runners else None

    def climb(self) -> None:
        """Change the best set one step at a time, until the maximum or until nothing gains any more."""
        misses = 0
        while self._best is not None and misses < PATIENCE and not self._perfect(self._best[1]):
            if (changed := self._neighbour(self._best[0])) is None:
                return
            version = self._put(changed, self._best[1])
            if version is not None and self._gains(changed, version, *self._best):
                self._best, misses = (changed, version), 0
            else:
                misses += 1

    def _random_sets(self, count: int) -> list[tuple[Chosen, Version]]:
        sizes = list(range(self._smallest, self._largest + 1))
        order: list[int] = []
        runners: list[tuple[Chosen, Version]] = []
        for _ in range(count + DRAWS):
            if len(runners) == count:
                break
            order = order or self._rng.sample(sizes, len(sizes))
            chosen = balanced(self._pool, order.pop(), self._rng)
            if chosen not in self._tried and (version := self._put(chosen, self._task.start)):
                runners.append((chosen, version))
        return runners

    def _put(self, chosen: Chosen, parent: Version) -> Version | None:
        self._tried.add(chosen)
        shown = [self._pool[place] for place in chosen]
        count = f"{len(shown)} demonstration{'' if len(shown) == 1 else 's'}"
        note = f"{count}: cases {', '.join(one.case for one in shown)}"
        try:
            return self._evaluator.propose(write_chat(self._layout, shown), parent, note)
        except Rejected:  # the host's books keep the reason; the next set is drawn in any case
            return None

    def _total(self, version: Version, count: int) -> float:
        if (total := self._totals.get((version.id, count))) is None:
            total = math.fsum(e.value for e in self._evaluator.evaluate(version, self._val[:count]))
            self._totals[version.id, count] = total
        return total

    def _perfect(self, version: Version) -> bool:
        return self._total(version, len(self._val)) >= self._task.maximum * len(self._val)

    def _gains(self, changed: Chosen, version: Version, chosen: Chosen, best: Version) -> bool:
        for count in _rungs(len(self._val))[-2:]:
            ahead = self._total(version, count) - self._total(best, count)
            if ahead < 0:
                return False
        return ahead > 0 or len(changed) < len(chosen)

    def _neighbour(self, chosen: Chosen) -> Chosen | None:
        for _ in range(DRAWS):
            if (changed := self._change(list(chosen))) not in self._tried:
                return changed
        return None

    def _change(self, chosen: list[int]) -> Chosen:
        others = [place for place in range(len(self._pool)) if place not in chosen]
        moves = ["move"] if len(chosen) > 1 else []
        moves += ["swap"] if others else []
        moves += ["add"] if others and len(chosen) < self._largest else []
        moves += ["drop"] if len(chosen) > self._smallest else []
        if not moves:
            return tuple(chosen)
        move = self._rng.choice(moves)
        if move == "swap":
            chosen[self._rng.randrange(len(chosen))] = self._rng.choice(others)
            return tuple(chosen)
        taken = self._rng.choice(others) if move == "add" else chosen.pop(self._rng.randrange(len(chosen)))
        if move != "drop":
            chosen.insert(self._rng.randint(0, len(chosen)), taken)
        return tuple(chosen)


def _rungs(val: int) -> list[int]:
    """A quarter, half and all of val; for a small val only the parts that can tell something."""
    return [count for count in (math.ceil(val / 4), math.ceil(val / 2)) if SMALLEST_RUNG <= count < val] + [val]
