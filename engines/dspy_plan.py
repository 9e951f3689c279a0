"""How large a run of each optimizer may be: sized to the metric calls that are left, so that it ends by itself.

All is counted in cases: one of them takes as many metric calls as it has repetitions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from math import ceil

from .dspy_options import DspyOptions

BOOTSTRAP_SHARE = 0.25  # of the budget, at most, for runs that look for demonstrations
MINIBATCH = 35  # MIPROv2's: trials on so many cases of val where val has more than MINIBATCH_FROM
MINIBATCH_FROM = 50
FULL_EVERY = 5
SIMBA_BATCH, SIMBA_CANDIDATES, SIMBA_ROUNDS = 16, 4, 8
COPRO_BREADTH, COPRO_DEPTH = 6, 3
FEWEST_CASES = 3  # a score on fewer says nothing
_LEAST = {
    "GEPA": "one proposal of GEPA", "MIPROv2": "one trial of MIPROv2", "SIMBA": "one round of SIMBA",
    "COPRO": "two instructions of COPRO", "BootstrapFewShot": "a run of BootstrapFewShot",
    "BootstrapFewShotWithRandomSearch": "two candidates of the random search",
    "BootstrapFewShotWithOptuna": "one trial of BootstrapFewShotWithOptuna",
    "LabeledFewShot": "a run of LabeledFewShot", "InferRules": "one candidate of InferRules",
}  # fmt: skip


class TooSmall(Exception):
    """The metric calls that are left buy no run of the optimizer; the text says how many would."""

    def __init__(self, what: str, needed: int, left: int) -> None:
        super().__init__(f"{what} takes {needed} metric calls, and {max(0, left)} are left for the search")


@dataclass(frozen=True, slots=True)
class Sizes:
    """Cases in the splits, predictors in the program, and the cases that can be paid for, each `repeats` times."""

    budget: int
    train: int
    val: int
    predictors: int = 1
    repeats: int = 1


@dataclass(frozen=True, slots=True)
class Plan:
    """`train`: cases of train to use; `candidates`, `rounds` and `batch` mean what the optimizer calls so."""

    train: int
    candidates: int = 1
    rounds: int = 1
    batch: int = 1


def gepa(sizes: Sizes, options: DspyOptions) -> Plan | None:
    """A proposal runs parent and child on a minibatch, and the child on val when it did better."""
    batch = min(options.minibatch_size or 3, sizes.train)
    return Plan(sizes.train, batch=batch) if sizes.budget >= 2 * batch + sizes.val else None


def bootstrap(sizes: Sizes, options: DspyOptions) -> Plan | None:
    """Runs on train until there are demonstrations enough, then one pass over val."""
    return Plan(min(sizes.train, sizes.budget - sizes.val)) if sizes.budget > sizes.val else None


def labeled(sizes: Sizes, options: DspyOptions) -> Plan | None:
    """One pass over val."""
    return Plan(sizes.train) if sizes.budget >= sizes.val else None


def random_search(sizes: Sizes, options: DspyOptions) -> Plan | None:
    """Each candidate is a pass over val; the search for demonstrations is shared by all of them."""
    train = _searched(sizes, options)
    per_candidate = sizes.val + (min(train, 2 * options.max_bootstrapped_demos) if options.labels else 0)
    fit = (sizes.budget - train) // per_candidate - 1  # dspy adds the unshuffled candidate
    return Plan(train, candidates=min(fit, options.candidates or 16)) if fit >= 1 else None


def optuna(sizes: Sizes, options: DspyOptions) -> Plan | None:
    """Each trial is a pass over val."""
    train = _searched(sizes, options)
    rounds = min((sizes.budget - train) // sizes.val, options.trials or 16)
    return Plan(train, rounds=rounds) if rounds >= 1 else None


def mipro(sizes: Sizes, options: DspyOptions) -> Plan | None:
    """A trial is a pass over val, or over a part of it with a whole pass every few trials."""
    train = _searched(sizes, options)
    if sizes.val > MINIBATCH_FROM:
        batch, fixed, per_trial = MINIBATCH, sizes.val, MINIBATCH + sizes.val / FULL_EVERY
    else:
        batch, fixed, per_trial = sizes.val, 0, float(sizes.val)
    if sizes.budget < int(train + fixed + per_trial):
        return None
    rounds = max(1, min(int((sizes.budget - train - fixed) / per_trial), options.trials or 30))
    return Plan(train, options.candidates or min(6, max(3, rounds // 2 + 1)), rounds, batch)


def infer_rules(sizes: Sizes, options: DspyOptions) -> Plan | None:
    """Each candidate is a pass over val, after runs on train for demonstrations."""
    train = _searched(sizes, options)
    candidates = min((sizes.budget - train) // sizes.val, options.candidates or 10)
    return Plan(train, candidates=candidates) if candidates >= 1 else None


def simba(sizes: Sizes, options: DspyOptions) -> Plan | None:
    """A round runs a batch once for each candidate that it samples, which takes one metric call a case, and once for
    each that it makes; at the end the winners run on the whole of train, and the best on val."""
    batch = min(options.minibatch_size or SIMBA_BATCH, sizes.train)
    candidates = options.candidates or SIMBA_CANDIDATES
    fewest = min(FEWEST_CASES, batch)
    while batch >= fewest:
        for rounds in range(options.trials or SIMBA_ROUNDS, 0, -1):
            train = sizes.train
            while train >= batch:
                samples = ceil(rounds * batch * candidates / sizes.repeats)
                runs = rounds * batch * (candidates + 1) + (min(rounds, candidates) + 1) * train
                if samples + runs + sizes.val <= sizes.budget:
                    return Plan(train, candidates, rounds, batch)
                train //= 2
        batch //= 2
    return None


def copro(sizes: Sizes, options: DspyOptions) -> Plan | None:
    """Each instruction is a pass over the cases of train that are used; with several predictors, all of them again."""
    breadth = max(2, options.candidates or COPRO_BREADTH)
    for depth in range(options.trials or COPRO_DEPTH, 0, -1):
        for width in range(breadth, 1, -1):
            passes = width * depth if sizes.predictors == 1 else sizes.predictors * width * depth * (depth + 1) // 2
            train = min(sizes.train, (sizes.budget - sizes.val) // passes)
            if train >= min(FEWEST_CASES, sizes.train):
                return Plan(train, width, depth)
    return None


def plan_run(name: str, sizes: Sizes, options: DspyOptions) -> Plan:
    """Return the size of an optimizer's run. Raises TooSmall."""
    plan = PLANS[name](sizes, options)
    if plan is None:
        raise TooSmall(_LEAST[name], least(name, sizes, options) * sizes.repeats, sizes.budget * sizes.repeats)
    return plan


def least(name: str, sizes: Sizes, options: DspyOptions) -> int:
    """Return the fewest cases that the optimizer can begin with."""
    return next(cases for cases in count(1) if PLANS[name](replace(sizes, budget=cases), options) is not None)


def share(left: int, val: int, steps: int) -> int:
    """Return the cases of the next of BetterTogether's `steps`, a pass over val after each of them kept back."""
    return max(0, left - steps * val) // steps


def proposals(sizes: Sizes, options: DspyOptions) -> int:
    """Return about how many states are put forward within the budget; 0 where the search cannot begin."""
    if options.optimizer != "BetterTogether":
        return _proposals(options.optimizer, sizes, options)
    steps = options.strategy
    each = replace(sizes, budget=share(sizes.budget, sizes.val, len(steps)))
    counts = [_proposals(name, each, options) for name in steps]
    return sum(counts) if all(counts) else 0


def _proposals(name: str, sizes: Sizes, options: DspyOptions) -> int:
    plan = PLANS[name](sizes, options)
    if plan is None:
        return 0
    if name == "GEPA":
        return max(1, int(sizes.budget / (2 * plan.batch + sizes.val / 2)))
    if name in ("MIPROv2", "BootstrapFewShotWithOptuna"):
        return plan.rounds
    if name in ("BootstrapFewShotWithRandomSearch", "InferRules"):
        return plan.candidates
    return 1


PLANS = {
    "GEPA": gepa, "MIPROv2": mipro, "SIMBA": simba, "COPRO": copro, "BootstrapFewShot": bootstrap,
    "BootstrapFewShotWithRandomSearch": random_search, "BootstrapFewShotWithOptuna": optuna,
    "LabeledFewShot": labeled, "InferRules": infer_rules,
}  # fmt: skip


def _searched(sizes: Sizes, options: DspyOptions) -> int:
    """Return how many cases of train are looked through for demonstrations."""
    wanted = max(2 * options.max_bootstrapped_demos, int(sizes.budget * BOOTSTRAP_SHARE))
    return max(1, min(sizes.train, wanted, sizes.budget // 2))
