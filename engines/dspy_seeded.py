"""BootstrapFewShotWithOptuna with a seed: dspy's own draws its trials anew each time, so no run could be replayed."""

from __future__ import annotations

from typing import Any

import optuna
from dspy.teleprompt import BootstrapFewShot, BootstrapFewShotWithOptuna

from skynet.engine import SearchBroken


class SeededOptuna(BootstrapFewShotWithOptuna):  # type: ignore[misc]
    """The same search, from a seeded sampler; its objective is dspy's."""

    def compile(self, student: Any, *, max_demos: int, trainset: list[Any], valset: list[Any], seed: int) -> Any:
        """Return the program of the best trial. Raises SearchBroken where there is no demonstration to choose."""
        self.valset = valset
        self.student = student.reset_copy()
        bootstrap = BootstrapFewShot(
            metric=self.metric, max_bootstrapped_demos=max_demos, max_labeled_demos=self.max_labeled_demos
        )
        self.compiled_teleprompter = bootstrap.compile(self.student, teacher=student.deepcopy(), trainset=trainset)
        if not all(predictor.demos for predictor in self.compiled_teleprompter.predictors()):
            raise SearchBroken(
                "no run on train was good enough to be shown, so Optuna has nothing to choose from; "
                "lower `threshold`, or set labels = true to show rows of train",
                reason="error",
            )
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
        study.optimize(self.objective, n_trials=self.num_candidate_sets)
        return study.best_trial.user_attrs["program"]
