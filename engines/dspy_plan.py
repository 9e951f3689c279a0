"""How large a run of each optimizer may be: sized to the metric calls that are left, so that it ends by itself."""

from __future__ import annotations

from dataclasses import dataclass

from .dspy_options import DspyOptions

BOOTSTRAP_SHARE = 0.25  # of the budget, at most, for runs that look for demonstrations
MINIBATCH = 35  # MIPROv2's: trials on so many cases of val where val has more than MINIBATCH_FROM
MINIBATCH_FROM = 50
FULL_EVERY = 5
SIMBA_BATCH, SIMBA_CANDIDATES, SIMBA_ROUNDS = 16, 4, 8
COPRO_BREADTH, COPRO_DEPTH = 6, 3
FEWEST_CASES = 3  # a score on fewer says nothing


class TooSmall(Exception):
    """The metric calls that are left buy no run of the optimizer; the text says what would."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Cases in the splits, predictors in the program, and the metric calls to spend."""

    budget: int
    train: int
    val: int
    predictors: int = 1


@dataclass(frozen=True, slots=True)
class Plan:
    """`train`: cases of train to use; `candidates`, `rounds` and `batch` mean what the optimizer calls so."""

    train: int
    candidates: int = 1
    rounds: int = 1
    batch: int = 1


def gepa(sizes: Sizes, options: DspyOptions) -> Plan:
    """A proposal runs parent and child on a minibatch, and the child on val when it did better."""
    batch = min(options.minibatch_size or 3, sizes.train)
    _enough(sizes, 2 * batch + sizes.val, "one proposal of GEPA")
    return Plan(sizes.train, batch=batch)


def bootstrap(sizes: Sizes, options: DspyOptions) -> Plan:
    """Runs on train until there are demonstrations enough, then one pass over val."""
    _enough(sizes, 1 + sizes.val, "a run of BootstrapFewShot")
    return Plan(min(sizes.train, sizes.budget - sizes.val))


def labeled(sizes: Sizes, options: DspyOptions) -> Plan:
    """One pass over val."""
    _enough(sizes, sizes.val, "a run of LabeledFewShot")
    return Plan(sizes.train)


def random_search(sizes: Sizes, options: DspyOptions) -> Plan:
    """Each candidate is a pass over val; the search for demonstrations is shared by all of them."""
    train = _searched(sizes, options)
    per_candidate = sizes.val + (min(train, 2 * options.max_bootstrapped_demos) if options.labels else 0)
    _enough(sizes, train + 2 * per_candidate, "two candidates of the random search")
    fit = (sizes.budget - train) // per_candidate - 1  # dspy adds the unshuffled candidate
    return Plan(train, candidates=max(1, min(fit, options.candidates or 16)))


def optuna(sizes: Sizes, options: DspyOptions) -> Plan:
    """Each trial is a pass over val."""
    train = _searched(sizes, options)
    _enough(sizes, train + sizes.val, "one trial of BootstrapFewShotWithOptuna")
    return Plan(train, rounds=max(1, min((sizes.budget - train) // sizes.val, options.trials or 16)))


def mipro(sizes: Sizes, options: DspyOptions) -> Plan:
    """A trial is a pass over val, or over a part of it with a whole pass every few trials."""
    train = _searched(sizes, options)
    if sizes.val > MINIBATCH_FROM:
        batch, fixed, per_trial = MINIBATCH, sizes.val, MINIBATCH + sizes.val / FULL_EVERY
    else:
        batch, fixed, per_trial = sizes.val, 0, float(sizes.val)
    _enough(sizes, int(train + fixed + per_trial), "one trial of MIPROv2")
    rounds = max(1, min(int((sizes.budget - train - fixed) / per_trial), options.trials or 30))
    return Plan(train, options.candidates or min(6, max(3, rounds // 2 + 1)), rounds, batch)


def infer_rules(sizes: Sizes, options: DspyOptions) -> Plan:
    """Each candidate is a pass over val, after runs on train for demonstrations."""
    train = _searched(sizes, options)
    _enough(sizes, train + sizes.val, "one candidate of InferRules")
    return Plan(train, candidates=max(1, min((sizes.budget - train) // sizes.val, options.candidates or 10)))


def simba(sizes: Sizes, options: DspyOptions) -> Plan:
    """A round runs a batch once for each candidate that it samples and once for each that it makes; at the end the
    winners run on the whole of train, and the best on val."""
    batch = min(options.minibatch_size or SIMBA_BATCH, sizes.train)
    candidates = options.candidates or SIMBA_CANDIDATES
    while batch >= min(FEWEST_CASES, sizes.train):
        for rounds in range(options.trials or SIMBA_ROUNDS, 0, -1):
            train = sizes.train
            while train >= batch:
                runs = rounds * batch * (2 * candidates + 1) + (min(rounds, candidates) + 1) * train
                if runs + sizes.val <= sizes.budget:
                    return Plan(train, candidates, rounds, batch)
                train //= 2
        batch //= 2
    least = FEWEST_CASES * (2 * candidates + 1) + 2 * FEWEST_CASES + sizes.val
    raise TooSmall(_too_small(sizes, least, "one round of SIMBA"))


def copro(sizes: Sizes, options: DspyOptions) -> Plan:
    """Each instruction is a pass over the cases of train that are used; with several predictors, all of them again."""
    breadth = max(2, options.candidates or COPRO_BREADTH)
    for depth in range(options.trials or COPRO_DEPTH, 0, -1):
        for width in range(breadth, 1, -1):
            passes = width * depth if sizes.predictors == 1 else sizes.predictors * width * depth * (depth + 1) // 2
            train = min(sizes.train, (sizes.budget - sizes.val) // passes)
            if train >= min(FEWEST_CASES, sizes.train):
                return Plan(train, width, depth)
    least = 2 * sizes.predictors * min(FEWEST_CASES, sizes.train) + sizes.val
    raise TooSmall(_too_small(sizes, least, "two instructions of COPRO"))


def proposals(name: str, sizes: Sizes, options: DspyOptions) -> int:
    """Return about how many states the optimizer puts forward within the budget; 0 where it cannot begin."""
    try:
        plan = PLANS[name](sizes, options)
    except TooSmall:
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


def _enough(sizes: Sizes, needed: int, what: str) -> None:
    if sizes.budget < needed:
        raise TooSmall(_too_small(sizes, needed, what))


def _too_small(sizes: Sizes, needed: int, what: str) -> str:
    return f"{what} takes {needed} metric calls, and {max(0, sizes.budget)} are left for the search"
