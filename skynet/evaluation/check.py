"""The contract check: it proves on three cases that the metric works before anything else is spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.evaluation import stages as at
from skynet.evaluation.display import apart, number
from skynet.evaluation.record import Record
from skynet.evaluation.scoring import MetricResult, as_result
from skynet.evaluation.signals import (
    feedback_finding,
    leak_finding,
    perfect_finding,
    perfect_output,
    reward_finding,
    score_finding,
)
from skynet.evaluation.stages import CheckResult, OnStage, Sample, StageList, StageStatus, plural, sentence, told
from skynet.workers.fault import Fault
from skynet.workers.worker import Outcome

LOADING = (at.METRIC_FILE, at.METRIC_LOAD, at.METRIC_FUNCTION, at.REWARD_SPEC)


class Bench(Protocol):
    """Where the check runs and scores: plainly, or through the books of a run."""

    def load_metric(self) -> Outcome:
        """Load the metric into a worker."""
        ...

    def load_target(self) -> Fault | None:
        """Make the target ready; return why it cannot be."""
        ...

    def evaluate(self, artifact: Artifact, case: Case) -> Record:
        """Run and score the artifact on the case."""
        ...

    def score_output(self, case: Case, output: Any, like: Record | None, repetition: int) -> MetricResult:
        """Score an output that no target call made, or one that `like` has measured already."""
        ...


class ContractCheck:
    """One check of one project. `start` is None when the first version is still to be written.

    `given` are outputs by case id, scored without running a target.
    """

    def __init__(
        self,
        bench: Bench,
        cases: Sequence[Case],
        start: Artifact | None,
        *,
        on_stage: OnStage = lambda stage: None,
        warnings: Sequence[str] = (),
        given: Mapping[str, Any] | None = None,
    ) -> None:
        self._bench = bench
        self._cases = cases
        self._start = start
        self._stages = StageList(on_stage)
        self._warnings = warnings
        self._given = given
        self._info: dict[str, Any] = {}
        self._missing_models: list[str] = []
        self._outputs: dict[str, Any] = {}
        self._records: dict[str, Record] = {}
        self._scored: dict[str, MetricResult] = {}
        self._perfect: dict[str, MetricResult] = {}
        self._stand_ins: set[str] = set()
        self._waits = False
        self._by_provider: bool | None = None  # of the first failure on a sample, None before one
        self._calls = 0

    def run(self) -> CheckResult:
        """Run every stage that the ones before it allow, with at most seven metric calls."""
        stopped = ""
        for step in (self._load, self._sample, self._run_outputs, self._call_metric, self._judge, self._repeat):
            stopped = step()
            if stopped:
                break
        status: StageStatus = "pending" if self._waits else "skipped"
        stages = self._stages.rest(status, f"not reached: {stopped}")
        samples = tuple(self._sample_of(case) for case in self._cases if case.id in self._outputs)
        return CheckResult(
            stages,
            samples,
            metric_calls=self._calls,
            missing_model=" and a ".join(self._missing_models) or None,
            reward_spec=self._info.get("reward_spec"),
            by_provider=bool(self._by_provider),
        )

    def _load(self) -> str:
        outcome = self._bench.load_metric()
        if outcome.fault is not None:
            return self._not_loaded(outcome)
        self._info = outcome.value
        warned = self._info["warnings"]
        for name in LOADING[:-1]:
            messages = [message for stage, message in warned if stage == name]
            self._stages.add(name, "warning" if messages else "passed", " ".join(messages))
        spec = self._info["reward_spec"]
        if spec is None:
            self._stages.add(at.REWARD_SPEC, "skipped", "the metric defines no REWARD_SPEC")
        else:
            weights = ", ".join(f"{part} {number(weight)}" for part, weight in spec["weights"].items())
            self._stages.add(at.REWARD_SPEC, "passed", weights)
        return ""

    def _not_loaded(self, outcome: Outcome) -> str:
        fault = outcome.fault or Fault("died", "the worker ended")
        failed_at = fault.data.get("stage", at.METRIC_LOAD)
        for name in LOADING[: LOADING.index(failed_at)]:
            self._stages.add(name, "passed")
        self._stages.add(failed_at, "failed", told(fault, outcome.stderr), file=fault.file, line=fault.line)
        return f"{failed_at} failed"

    def _sample(self) -> str:
        if not self._cases:
            self._stages.add(at.SAMPLE_CASES, "failed", "there are no cases in train and val to sample from")
            return "there are no sample cases"
        ids = ", ".join(case.id for case in self._cases)
        message = " ".join([f"{plural(len(self._cases), 'case')}: {ids}.", *self._warnings])
        self._stages.add(at.SAMPLE_CASES, "warning" if self._warnings else "passed", message)
        return ""

    def _run_outputs(self) -> str:
        if self._given is not None:
            self._outputs = dict(self._given)
            self._stages.add(at.RUN_OUTPUT, "skipped", "the output was given")
            return ""
        unready = None if self._start is None else self._bench.load_target()
        missing = unready.data.get("no_model") if unready is not None else None
        if self._start is None or missing:
            self._missing_models += [missing] if missing else []
            why = f"no {missing} model is set under [models]" if missing else "there is no start version yet"
            return self._stand_in("pending" if missing else "skipped", why)
        if unready is not None:
            self._stages.add(at.RUN_OUTPUT, "failed", told(unready), file=unready.file, line=unready.line)
            return "the target did not load"
        return self._run_start(self._start)

    def _run_start(self, start: Artifact) -> str:
        for case in self._cases:
            record = self._bench.evaluate(start, case)
            self._records[case.id] = record
            self._calls += record.metric_called
            if record.failure != "target" and not (record.failure == "provider" and not record.metric_called):
                self._outputs[case.id] = record.output
        failed = [record for record in self._records.values() if record.case not in self._outputs]
        if not failed:
            self._stages.add(at.RUN_OUTPUT, "passed", plural(len(self._outputs), "output"))
            return ""
        fault = failed[0].fault or Fault("raised", failed[0].feedback)
        where = {"case": failed[0].case, "file": fault.file, "line": fault.line}
        if missing := fault.data.get("no_model"):
            self._missing_models.append(missing)
            why = f"the target calls llm, and no {missing} model is set under [models]"
            return self._stand_in("pending", why, case=failed[0].case)
        if start.kind == "code" and failed[0].failure == "target":
            return self._stand_in("warning", f"the start version fails: {told(fault)}", **where)
        message = _also(told(fault, failed[0].stderr), len(failed) - 1)
        self._by_provider = all(record.failure == "provider" for record in failed)
        self._stages.add(at.RUN_OUTPUT, "failed", message, **where)
        return "" if self._outputs else "no sample has an output"

    def _stand_in(self, status: StageStatus, why: str, **where: Any) -> str:
        """Let expected values stand in for missing outputs; without any, the rest waits for the first real output."""
        for case in self._cases:
            if case.id not in self._outputs and case.expected is not None:
                self._outputs[case.id] = perfect_output(case)
                self._stand_ins.add(case.id)
        if not self._outputs:
            self._stages.add(at.RUN_OUTPUT, status, f"{why}, and no case has an expected value to stand in", **where)
            self._stages.rest("pending", "the first three measured evaluations of the search are the check")
            return "there is no output to score"
        self._stages.add(at.RUN_OUTPUT, status, f"{why}; expected values stand in for outputs", **where)
        return ""

    def _call_metric(self) -> str:
        for case in self._cases:
            record = self._records.get(case.id)
            if case.id not in self._outputs:
                continue
            if record is not None and record.metric_called:
                self._scored[case.id] = as_result(record)
            else:
                self._scored[case.id] = self._score(case, self._outputs[case.id], 0)
        return self._no_model() or self._called() or self._returned()

    def _score(self, case: Case, output: Any, repetition: int) -> MetricResult:
        like = None if case.id in self._stand_ins else self._records.get(case.id)
        result = self._bench.score_output(case, output, like, repetition)
        self._calls += result.executed
        return result

    def _no_model(self) -> str:
        waiting = [case for case, result in self._scored.items() if result.no_model]
        if not waiting:
            return ""
        self._missing_models.append("metric")
        self._waits = True
        message = "the metric calls llm, and no metric or reflection model is set under [models]"
        self._stages.add(at.METRIC_CALL, "pending", message, case=waiting[0])
        return "the metric needs a model"

    def _called(self) -> str:
        faults = {case: result.fault for case, result in self._scored.items() if result.fault is not None}
        broken = {case: fault for case, fault in faults.items() if fault.kind != "bad_return"}
        if not broken:
            self._stages.add(at.METRIC_CALL, "passed", plural(len(self._scored), "call"))
            return ""
        # An exception on an expected value that stands in for an output may be the stand-in's fault.
        serious = {case: f for case, f in broken.items() if case not in self._stand_ins or f.kind != "raised"}
        case, fault = next(iter((serious or broken).items()))
        message = _also(told(fault, self._scored[case].stderr), len(broken) - 1)
        if serious and self._by_provider is None:
            self._by_provider = all(one.kind == "provider" for one in serious.values())
        self._stages.add(at.METRIC_CALL, "failed" if serious else "warning", message, **self._where(case, fault))
        return "the metric failed on every sample" if len(broken) == len(self._scored) else ""

    def _where(self, case: str, fault: Fault) -> dict[str, Any]:
        """Return case, file and line of a failure; the definition of `score` where nothing tells a line."""
        known = fault if fault.file else None
        return {
            "case": case,
            "file": known.file if known else self._info["file"],
            "line": known.line if known else self._info["line"],
        }

    def _returned(self) -> str:
        faults = {case: result.fault for case, result in self._scored.items() if result.fault is not None}
        bad = {case: fault for case, fault in faults.items() if fault.kind == "bad_return"}
        if bad:
            case, fault = next(iter(bad.items()))
            message = _also(fault.message, len(bad) - 1)
            self._stages.add(at.RETURN_VALUE, "failed", message, **self._where(case, fault))
            return "the return value is not valid"
        warnings = [(case, text) for case, result in self._scored.items() for text in result.warnings]
        unmeasured = [case for case, result in self._scored.items() if result.unmeasured is not None]
        if unmeasured and len(unmeasured) == len(self._scored):
            warnings.append((unmeasured[0], f"every sample is unmeasured: {self._scored[unmeasured[0]].unmeasured}"))
        if not self._measured() and not unmeasured:
            return "no sample was scored"
        if warnings:
            case, text = warnings[0]
            self._stages.add(at.RETURN_VALUE, "warning", text, case=case)
        else:
            self._stages.add(at.RETURN_VALUE, "passed", f"{plural(len(self._measured()), 'valid pair')}")
        return ""

    def _measured(self) -> dict[str, MetricResult]:
        return {case: result for case, result in self._scored.items() if result.score is not None}

    def _judge(self) -> str:
        self._judge_perfect()
        measured = self._measured()
        feedback = {case: result.feedback for case, result in measured.items()}
        right = {case.id for case in self._cases if self._outputs.get(case.id) == perfect_output(case)}
        perfect = [result.score for result in self._perfect.values() if result.score is not None]
        scores = [result.score for result in measured.values() if result.score is not None]
        found = [
            "" if self._stand_ins else score_finding(scores, perfect),  # expected values may well all score the same
            # Of an output that is the expected value, "Right." is all there is to say.
            feedback_finding([text for case, text in feedback.items() if case not in right]),
            reward_finding(self._info.get("reward_spec"), [result.scores for result in measured.values()]),
        ]
        warned = " ".join(f"{sentence(text)}" for text in found if text)
        note = sentence(leak_finding(feedback, self._cases))
        message = " ".join(part for part in (warned, note) if part)
        self._stages.add(at.SIGNAL, "warning" if warned else "passed", message)
        return ""

    def _judge_perfect(self) -> None:
        cases = [case for case in self._cases if case.expected is not None and case.id in self._scored]
        if not cases:
            self._stages.add(at.PERFECT_ANSWER, "skipped", "no sample has an expected value")
            return
        for case in cases:
            stands_in = case.id in self._stand_ins
            self._perfect[case.id] = self._scored[case.id] if stands_in else self._perfect_of(case)
        failed = next((result.fault for result in self._perfect.values() if result.fault is not None), None)
        if failed is not None:
            message = f"the metric failed on an expected value taken as the output: {failed}"
            self._stages.add(at.PERFECT_ANSWER, "skipped", message)
            return
        pairs = [(case.id, self._scored[case.id].score, self._perfect[case.id].score) for case in cases]
        finding = perfect_finding(pairs)
        best = max((score for _, _, score in pairs if score is not None), default=None)
        message = finding or ("" if best is None else f"expected values score up to {number(best)}")
        self._stages.add(at.PERFECT_ANSWER, "warning" if finding else "passed", message)

    def _perfect_of(self, case: Case) -> MetricResult:
        perfect = perfect_output(case)
        if perfect == self._outputs[case.id]:
            return self._scored[case.id]
        return self._score(case, perfect, 0)

    def _repeat(self) -> str:
        case = next((case for case in self._cases if case.id in self._measured()), None)
        if case is None:
            self._stages.add(at.REPEATABILITY, "skipped", "no sample was measured")
            return ""
        first = self._scored[case.id]
        again = self._score(case, self._outputs[case.id], 1)
        if again.fault is not None:
            message = f"the second time the same output failed: {again.fault}"
        elif again.score is None or first.score is None:
            message = f"the same output was measured once, then unmeasured: {again.unmeasured}"
        elif again.score != first.score:
            once, then = apart(first.score, again.score)
            message = f"the same output scored {once}, then {then}; raise [evaluation] repeats"
        else:
            self._stages.add(at.REPEATABILITY, "passed", f"the same output scored {number(first.score)} twice")
            return ""
        self._stages.add(at.REPEATABILITY, "warning", message, case=case.id)
        return ""

    def _sample_of(self, case: Case) -> Sample:
        result = self._scored.get(case.id, MetricResult())
        record = None if case.id in self._stand_ins else self._records.get(case.id)
        text = result.feedback if result.unmeasured is None else f"unmeasured: {result.unmeasured}"
        return Sample(
            case.id,
            output=self._outputs[case.id],
            score=result.score,
            feedback=text if result.fault is None and case.id in self._scored else None,
            scores=dict(result.scores),
            elapsed_ms=None if record is None else record.elapsed_ms,
            cost_usd=None if record is None else record.cost_usd,
        )


def _also(message: str, others: int) -> str:
    """Return the message of one failure, with how many others there are."""
    if not others:
        return message
    end = "\n" if "\n" in message else " " if message.endswith(".") else ". "
    return f"{message}{end}{plural(others, 'more case')} failed too."
