"""Against stand-ins of autoevals' shape."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from skynet.metric.contract import Unmeasured, validate
from skynet.typed import adapt


class Scorer:
    """As the library has it: `eval` takes anything, the scorer's own parameters stand in `_run_eval_sync`."""

    def eval(self, output: Any, expected: Any = None, **kwargs: Any) -> Any:
        return self._run_eval_sync(output, expected, **kwargs)

    async def eval_async(self, output: Any, expected: Any = None, **kwargs: Any) -> Any:
        return self.eval(output, expected, **kwargs)

    def _run_eval_sync(self, output: Any, expected: Any = None, **kwargs: Any) -> Any:
        score = None if output == "skip" else float(output == expected)
        return SimpleNamespace(name="Scorer", score=score, metadata={"rationale": f"It is {expected}.", "choice": "A"})


class Faithful(Scorer):
    def _run_eval_sync(self, output: Any, expected: Any = None, context: Any = None, **kwargs: Any) -> Any:
        assert kwargs == {"input": {"q": "Capital?", "context": "a text"}, "strict": True}
        return {"name": "Faithful", "score": len(context)}


def run(scorer: Any, output: Any = "Paris", input: Any = None, **options: Any) -> Any:
    return validate(adapt(scorer, **options)(input or {"q": "Capital?"}, output, {"city": "Paris"}))


def test_score_rationale_and_choice_are_kept() -> None:
    found = run(Scorer)
    assert (found.score, found.feedback, found.side_info["choice"]) == (1.0, "It is [expected value removed].", "A")


def test_a_score_of_none_is_unmeasured() -> None:
    assert isinstance(run(Scorer(), "skip"), Unmeasured)


def test_columns_that_the_scorer_names_and_arguments_are_passed_on() -> None:
    found = run(Faithful(), input={"q": "Capital?", "context": "a text"}, arguments={"strict": True})
    assert found.score == 6.0
