from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import skynet
from skynet.artifact import Artifact
from skynet.data.dataset import sample_cases
from skynet.evaluation.check import ContractCheck
from skynet.evaluation.check_project import PlainBench
from skynet.evaluation.project import Project
from skynet.evaluation.stages import STAGES, CheckResult, Stage
from skynet.spec import load_spec
from tests.loopback import ModelServer, status
from tests.metric.test_documented_examples import CHECKS, EXACT, JUDGE, REWARD
from tests.projects import CHAT, METRIC, RUN, model, stage, statuses, write_project

GOOD = 'def score(input, output, expected=None):\n    return 1.0, {"feedback": f"Fine: {input}."}\n'
PASSED = dict.fromkeys(STAGES, "passed") | {"Reward spec": "skipped"}
Check = Callable[..., CheckResult]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Write a project and check it."""

    def run(metric: str | bytes = METRIC, run: str = RUN, **options: Any) -> CheckResult:
        return skynet.check(write_project(tmp_path / "project", metric, run, **options))

    return run


@pytest.fixture
def server() -> Iterator[ModelServer]:
    server = ModelServer("PASS. It says it all.")
    yield server
    server.close()


def only_failed(result: CheckResult) -> Stage:
    """Return the one failed stage; what comes after it must not have passed."""
    (failed,) = [item for item in result.stages if item.status == "failed"]
    assert not result.ok
    return failed


def body(*lines: str) -> str:
    return "def score(input, output, expected=None):\n" + "".join(f"    {line}\n" for line in lines)


# The order of the stages, and what a good metric gets


def test_a_good_metric_passes_every_stage_in_the_documented_order(check: Check) -> None:
    result = check()
    assert list(statuses(result).items()) == list(PASSED.items())
    assert (result.ok, len(result.samples)) == (True, 3)


def test_stages_are_announced_as_they_are_known(tmp_path: Path) -> None:
    with Project(load_spec(write_project(tmp_path))) as project:
        seen: list[str] = []
        cases = sample_cases(project.dataset, 3, 0)
        bench = PlainBench(project.metric, project)
        result = ContractCheck(bench, cases, project.start, on_stage=lambda item: seen.append(item.name)).run()
    assert seen == list(STAGES) == [item.name for item in result.stages]


def test_three_samples_come_from_train_and_val_and_show_different_expected_values(check: Check) -> None:
    parts = ["test"] * 4 + ["train", "val"] * 4
    rows = [{"text": f"text {n}", "label": "ab"[n % 5 == 0], "part": part} for n, part in enumerate(parts)]
    result = check(rows=rows, more='[data.split]\ncolumn = "part"\n')
    assert len(result.samples) == 3
    assert {int(sample.case) for sample in result.samples} & {1, 2, 3, 4} == set()
    shown = {rows[int(sample.case) - 1]["label"] for sample in result.samples}
    assert shown == {"a", "b"}


def test_fewer_rows_than_samples_are_all_taken(check: Check) -> None:
    result = check(rows=[{"text": "text 1", "label": "label 1"}], more="[data.split]\ntrain = 1\n")
    assert [sample.case for sample in result.samples] == ["1"]
    assert stage(result, "Sample cases").status == "warning"
    assert "There is no test split" in stage(result, "Sample cases").message


@pytest.mark.parametrize("perfect_is_met", [True, False])
def test_at_most_seven_metric_calls_are_made_and_all_are_counted(
    tmp_path: Path, check: Check, perfect_is_met: bool
) -> None:
    log = tmp_path / "calls.txt"
    count = f"open({str(log)!r}, 'a').write('x')"
    run = "def run(artifact, input):\n    return 'label ' + input['text'][-1]\n" if perfect_is_met else RUN
    result = check(METRIC.replace("expected=None):\n", f"expected=None):\n    {count}\n"), run)
    assert result.metric_calls == len(log.read_text())
    assert result.metric_calls == (4 if perfect_is_met else 7)


# Metric file, Metric load, Metric function, Reward spec


def spec_of(weights: str, *parts: str) -> str:
    return "REWARD_SPEC = {" + ", ".join([f'"weights": {weights}', *parts]) + "}\n" + GOOD


WEIGHTS = '{"accuracy": 1, "speed": 1, "cost": 0}'


@pytest.mark.parametrize(
    ("metric", "name", "line", "words"),
    [
        ("", "Metric file", None, "metric.py is empty"),
        (b"x = 1\ny = 2\nz = '\xff'\n", "Metric file", 3, "Save it as UTF-8"),
        ("def score(:\n", "Metric load", 1, "not valid Python"),
        ("import no_such_package_x\n" + GOOD, "Metric load", 1, "pip install no_such_package_x"),
        ("\nraise ValueError('boo')\n", "Metric load", 2, "ValueError: boo"),
        ("import os\nos._exit(9)\n", "Metric load", None, "exit status 9"),
        ("\nclass score:\n    pass\n", "Metric function", 2, "`score` is a class"),
        ("def scor(a, b): ...\n", "Metric function", None, "Did you mean 'scor'"),
        ("def score(input): ...\n", "Metric function", 1, "at least input and output"),
        ("def score(a, b, c, d): ...\n", "Metric function", 1, "nothing fills d"),
        ("def score(a, b, *, judge): ...\n", "Metric function", 1, "requires the keyword judge"),
        (spec_of('{"accuracy": 1, "speed": 1}'), "Reward spec", 1, "cost"),
        (spec_of('{"accuracy": -1, "speed": 1, "cost": 1}'), "Reward spec", 1, "accuracy"),
        (spec_of('{"accuracy": 0, "speed": 0, "cost": 0}'), "Reward spec", 1, "0"),
        (spec_of(WEIGHTS), "Reward spec", 1, "speed"),
        (spec_of(WEIGHTS, '"speed": {"reference": 0}'), "Reward spec", 1, "speed"),
        (spec_of(WEIGHTS, '"speed": {"reference": "fast"}'), "Reward spec", 1, "speed"),
    ],
)
def test_a_metric_that_cannot_be_loaded_fails_its_stage_and_nothing_is_spent(
    tmp_path: Path, check: Check, metric: str | bytes, name: str, line: int | None, words: str
) -> None:
    log = tmp_path / "ran.txt"
    result = check(metric, f"def run(artifact, input):\n    open({str(log)!r}, 'w')\n")
    failed = only_failed(result)
    assert (failed.name, failed.line) == (name, line)
    assert words in failed.message
    before, after = STAGES[: STAGES.index(name)], STAGES[STAGES.index(name) + 1 :]
    assert {statuses(result)[item] for item in before} <= {"passed"}
    assert {statuses(result)[item] for item in after} <= {"skipped"}
    assert (result.metric_calls, result.samples, log.exists()) == (0, (), False)


@pytest.mark.parametrize(
    "metric",
    [
        b"\xef\xbb\xbf" + METRIC.encode(),
        METRIC.replace("\n", "\r\n"),
        "score = lambda input, output, expected: (float(output == expected['label']), {'feedback': input['text']})\n",
        METRIC.replace("def score", "def judge").replace("expected=None", "expected, k")
        + "import functools\nscore = functools.partial(judge, k=1)\n",
        METRIC.replace("expected=None", "*, expected"),
        METRIC.replace("input, output, expected=None", "*values").replace(
            "if output", "input, output, expected = values\n    if output"
        ),
        METRIC.replace("expected=None", "expected=None, trace=None"),
        METRIC.replace("def score", "async def score"),
        "class Judge:\n" + METRIC.replace("\n", "\n    ").replace("score(", "__call__(self, ") + "\nscore = Judge()\n",
    ],
    ids=["bom", "crlf", "lambda", "partial", "keyword", "starred", "trace", "async", "instance"],
)
def test_every_way_to_write_score_is_accepted(check: Check, metric: str | bytes) -> None:
    result = check(metric)
    assert result.ok
    assert {item.status for item in result.stages} <= {"passed", "skipped", "warning"}
    assert {sample.score for sample in result.samples} <= {0.0, 1.0}
    assert stage(result, "Metric return value").status == "passed"


def test_two_score_functions_warn_and_the_last_counts(check: Check) -> None:
    result = check("def score(input, output):\n    return 5, {'feedback': 'first'}\n" + GOOD)
    assert stage(result, "Metric function").status == "warning"
    assert "defined 2 times" in stage(result, "Metric function").message
    assert {sample.score for sample in result.samples} == {1.0}


def test_a_neighbouring_module_is_imported(check: Check) -> None:
    metric = "from rules import VALUE\n" + body('return VALUE, {"feedback": "OK " + input["text"]}')
    assert {sample.score for sample in check(metric, beside={"rules.py": "VALUE = 0.25"}).samples} == {0.25}


@pytest.mark.parametrize(
    "name",
    ["skynet.py", "skynet/__init__.py", "json.py", "random.py", "typing.py", "pydantic.py", "frames.py", "child.py"],
)
def test_a_file_named_like_a_library_or_one_of_ours_hides_nothing(check: Check, name: str) -> None:
    metric = "import json\nfrom skynet import verdict\n" + METRIC
    run = "import json, random\nfrom skynet import llm\n" + RUN
    result = check(metric, run, beside={name: "raise SystemExit('shadowed')"})
    assert result.ok
    hidden = name in ("skynet.py", "skynet/__init__.py", "json.py")
    assert (stage(result, "Metric load").status == "warning") is hidden


def test_a_reward_spec_is_shown_and_must_be_used(check: Check) -> None:
    spec = 'REWARD_SPEC = {"weights": {"accuracy": 3, "speed": 1, "cost": 0}, "speed": {"reference": 9}}\n'
    result = check(spec + GOOD)
    assert stage(result, "Reward spec").status == "passed"
    assert "accuracy" in stage(result, "Reward spec").message
    assert stage(result, "Signal").status == "warning"
    assert "REWARD_SPEC weighs accuracy, speed" in stage(result, "Signal").message


# Run output


@pytest.mark.parametrize(
    ("run", "line", "words"),
    [
        ("x = 1\n", None, "defines no function `run`"),
        ("def run(artifact): ...\n", 1, "cannot be called as run(artifact, input)"),
        ("import no_such_package_x\n", 1, "pip install no_such_package_x"),
        (
            "def run(artifact, input):\n    return input['nothing']\n",
            2,
            "KeyError: 'nothing'\n2 more cases failed too.",
        ),
        ("def run(artifact, input):\n    return {1}\n", None, "set. What may cross: None, bool"),
        ("def run(artifact, input):\n    raise SystemExit\n", 2, "SystemExit"),
        ("import os\ndef run(artifact, input):\n    os._exit(5)\n", None, "exit status 5. 2 more cases failed too."),
    ],
)
def test_a_target_that_fails_on_every_sample_fails_run_output(
    check: Check, run: str, line: int | None, words: str
) -> None:
    result = check(METRIC, run)
    failed = only_failed(result)
    assert (failed.name, failed.line) == ("Run output", line)
    assert words in failed.message
    assert result.metric_calls == 0
    assert statuses(result)["Metric call"] == "skipped"


def test_samples_that_ran_are_scored_though_another_one_failed(check: Check) -> None:
    run = "def run(artifact, input):\n    assert '1' not in input['text']\n    return 'x'\n"
    rows = [{"text": f"text {n}", "label": f"label {n}"} for n in (1, 2, 3)]
    result = check(METRIC, run, rows=rows, more="[data.split]\ntrain = 3\n")
    assert only_failed(result).name == "Run output"
    assert only_failed(result).case == "1"
    assert {sample.case: sample.score for sample in result.samples} == {"2": 0.0, "3": 0.0}
    assert stage(result, "Metric return value").message == "2 valid pairs"


# Metric call and Metric return value


@pytest.mark.parametrize(
    ("lines", "line", "words"),
    [
        (("x = 1", "raise ValueError('boo')"), 3, "ValueError: boo"),
        (("raise SystemExit(4)",), 2, "SystemExit: 4"),
        (("import os", "os._exit(4)"), 1, "exit status 4"),
        (("import os, signal", "os.kill(os.getpid(), signal.SIGSEGV)"), 1, "SIGSEGV"),
        (("import time", "time.sleep(60)"), 3, "took more than 0.3 s"),
        (("return 1, {'feedback': 'OK', 'note': 'x' * 5_000_000}",), 1, "at most 4,194,304 may cross"),
    ],
)
def test_a_metric_that_fails_on_every_sample_fails_metric_call(
    tmp_path: Path, lines: tuple[str, ...], line: int, words: str
) -> None:
    folder = write_project(tmp_path, body(*lines))
    spec = folder / "skynet.toml"
    spec.write_text(spec.read_text().replace("[metric]\ntimeout = 10", "[metric]\ntimeout = 0.3"))
    result = skynet.check(folder)
    failed = only_failed(result)
    assert (failed.name, failed.line, os.path.basename(failed.file or "")) == ("Metric call", line, "metric.py")
    assert failed.case == result.samples[0].case
    assert words in failed.message
    assert "skynet/workers" not in failed.message
    assert [sample.score for sample in result.samples] == [None] * 3
    assert result.metric_calls == 3


def test_a_metric_that_fails_on_one_sample_only_fails_and_the_others_are_judged(check: Check) -> None:
    rows = [{"text": f"text {n}", "label": f"label {n}"} for n in (1, 2, 3)]
    metric = body("assert '2' not in input['text']", "return 0.5, {'feedback': input['text']}")
    result = check(metric, rows=rows, more="[data.split]\ntrain = 3\n")
    failed = only_failed(result)
    assert (failed.name, failed.case, failed.line) == ("Metric call", "2", 2)
    assert "more case" not in failed.message
    assert stage(result, "Metric return value").message == "2 valid pairs"


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        ("0.8", "There is no side info"),
        ("(x for x in ())", "returned a generator"),
        ("open", "There is no side info"),
        ("(float('nan'), {'feedback': 'OK'})", "The score is NaN"),
        ("(complex(1, 2), {'feedback': 'OK'})", "complex number"),
        ("(1, {'feedbak': 'OK'})", "Did you mean 'feedbak'"),
    ],
)
def test_a_wrong_return_fails_with_case_line_and_what_would_be_right(check: Check, returned: str, words: str) -> None:
    result = check("\n" + body(f"return {returned}"))
    failed = only_failed(result)
    assert (failed.name, failed.line, failed.case) == ("Metric return value", 2, result.samples[0].case)
    assert words in failed.message
    assert failed.message.endswith("2 more cases failed too.")
    assert stage(result, "Metric call").status == "passed"
    assert [sample.output for sample in result.samples].count("other") >= 2
    assert {statuses(result)[name] for name in ("Perfect answer", "Signal", "Repeatability")} == {"skipped"}


def test_blank_feedback_is_valid_with_a_warning(check: Check) -> None:
    result = check(body("return float(output == expected['label']), {'feedback': ' '}"))
    assert result.ok
    assert statuses(result)["Metric return value"] == "warning"
    assert "blank" in stage(result, "Metric return value").message


def test_unmeasured_samples_are_no_failure(check: Check) -> None:
    result = check("from skynet import unmeasured\n" + body("return unmeasured('no reference')"))
    assert result.ok
    assert stage(result, "Metric return value").status == "warning"
    assert "every sample is unmeasured: no reference" in stage(result, "Metric return value").message
    assert stage(result, "Repeatability").status == "skipped"
    assert [(sample.score, sample.feedback) for sample in result.samples] == [(None, "unmeasured: no reference")] * 3


def test_lone_surrogates_and_huge_values_pass_through(check: Check) -> None:
    metric = body("return len(output), {'feedback': output + chr(0xDFFF), 'scores': {'a': 0}}")
    result = check(metric, "def run(artifact, input):\n    return chr(0xD800) + ' ' * 9 + input['text']\n")
    assert result.ok
    assert {str(sample.output)[0] for sample in result.samples} == {"\ud800"}
    result._repr_html_().encode("utf-8")
    huge = check(GOOD, "def run(artifact, input):\n    return [10**6000]\n")
    assert huge.ok
    assert "0x" in huge._repr_html_()


# Perfect answer, Signal, Repeatability


@pytest.mark.parametrize(
    ("metric", "status", "words"),
    [
        (
            body("return float(output != expected['label']), {'feedback': input['text']}"),
            "warning",
            "scores 0, less than",
        ),
        (body("return float(output == expected), {'feedback': input['text']}"), "warning", "no expected value scores"),
        (
            body("assert output != expected['label']", "return 0, {'feedback': input['text']}"),
            "skipped",
            "AssertionError",
        ),
        (METRIC, "passed", "expected values score up to 1"),
    ],
)
def test_the_perfect_answer_warns_at_most(check: Check, metric: str, status: str, words: str) -> None:
    result = check(metric, "def run(artifact, input):\n    return 'never'\n")
    assert result.ok
    assert (stage(result, "Perfect answer").status, words in stage(result, "Perfect answer").message) == (status, True)


def test_the_perfect_answer_is_scored_with_the_samples_measurements(check: Check) -> None:
    metric = "from skynet import observation\n" + body(
        "seen = observation().elapsed_ms", "return seen is not None, {'feedback': input['text']}"
    )
    assert stage(check(metric), "Perfect answer").message == "expected values score up to 1"


def test_without_expected_values_there_is_no_perfect_answer(tmp_path: Path) -> None:
    folder = write_project(tmp_path, body("return len(input['text']), {'feedback': input['text']}"))
    result = skynet.check(folder, cases=[{"input": {"text": "a"}}, {"input": {"text": "bb"}}])
    assert (result.ok, stage(result, "Perfect answer").status) == (True, "skipped")
    assert result.metric_calls == 3


@pytest.mark.parametrize(
    ("returned", "status", "words"),
    [
        (
            "1, {'feedback': 'It is right for ' + input['text']}",
            "warning",
            "every output scored 1; a metric that never",
        ),
        ("output == expected['label'], {'feedback': 'Wrong.'}", "warning", "every feedback is 'Wrong.'"),
        ("output == expected['label'], {'feedback': ''}", "warning", "Some feedback is blank"),
        (
            "output == expected['label'], {'feedback': f'Want {expected[\"label\"]}.'}",
            "passed",
            "carries expected values",
        ),
        ("output == expected['label'], {'feedback': 'See ' + input['text']}", "passed", ""),
    ],
)
def test_the_signal_stage_reads_scores_and_feedback(check: Check, returned: str, status: str, words: str) -> None:
    result = check(body(f"return {returned}"))
    assert result.ok
    assert stage(result, "Signal").status == status
    assert words.lower() in stage(result, "Signal").message.lower()


def test_a_metric_that_draws_numbers_is_not_repeatable(check: Check) -> None:
    metric = "import random\n" + body("return random.random(), {'feedback': input['text']}")
    result = check(metric)
    assert (result.ok, stage(result, "Repeatability").status) == (True, "warning")
    assert stage(result, "Repeatability").case == result.samples[0].case
    assert "raise [evaluation] repeats" in stage(result, "Repeatability").message


# Models


def test_a_metric_that_needs_a_model_is_pending_without_one(tmp_path: Path) -> None:
    result = skynet.check(write_project(tmp_path, JUDGE), cases=[{"input": {"question": "q", "text": "t"}}])
    assert (result.ok, result.missing_model) == (True, "metric")
    later = STAGES[STAGES.index("Metric call") :]
    assert {statuses(result)[name] for name in later} == {"pending"}
    assert "no metric or reflection model is set" in stage(result, "Metric call").message
    assert [(sample.output, sample.score) for sample in result.samples] == [("other", None)]


def test_a_caught_missing_model_is_pending_all_the_same(check: Check) -> None:
    metric = "from skynet import llm\n" + body(
        "try: llm('x')", "except Exception: pass", "return 1, {'feedback': input['text']}"
    )
    assert check(metric).missing_model == "metric"


def test_a_target_that_calls_llm_without_a_model_is_pending_and_expected_values_stand_in(check: Check) -> None:
    run = "from skynet import llm\ndef run(artifact, input):\n    return llm('x')\n"
    result = check(METRIC, run)
    assert (result.ok, result.missing_model) == (True, "task")
    assert stage(result, "Run output").status == "pending"
    assert stage(result, "Metric return value").status == "passed"
    assert {(sample.score, sample.elapsed_ms, sample.cost_usd) for sample in result.samples} == {(1.0, None, None)}
    both = check("from skynet import llm\n" + body("return 1, {'feedback': llm('x')}"), run)
    assert both.missing_model == "task and a metric"


def test_a_chat_without_a_task_model_is_pending_and_names_it(check: Check) -> None:
    result = check(METRIC, target=CHAT)
    assert (result.ok, result.missing_model) == (True, "task")
    assert "no task model is set" in stage(result, "Run output").message
    assert stage(result, "Metric return value").status == "passed"


def test_after_a_failure_what_follows_is_skipped_and_not_pending(check: Check) -> None:
    result = check(body("return 1"), target=CHAT)
    assert only_failed(result).name == "Metric return value"
    assert statuses(result)["Signal"] == "skipped"


def test_a_chat_runs_on_the_task_model_and_says_beforehand_what_it_may_cost(check: Check, server: ModelServer) -> None:
    server.reply = lambda body: body["messages"][-1]["content"].replace("text", "label")
    result = check(METRIC, target=CHAT, more=model(server.url, "task"))
    assert result.ok
    assert {sample.score for sample in result.samples} == {1.0}
    assert all(sample.cost_usd is not None and sample.cost_usd > 0 for sample in result.samples)
    (notice,) = result.notices
    assert "3 calls to openai/loopback; at most $0.0" in notice


def test_a_judge_asks_the_metric_model_and_the_target_the_task_model(tmp_path: Path, server: ModelServer) -> None:
    task = ModelServer("from the task model")
    models = f'{model(server.url, "metric")}task = {{ name = "openai/t", base_url = "{task.url}" }}\n'
    run = "from skynet import llm\ndef run(artifact, input):\n    return llm(input['question'])\n"
    rows = [{"question": "Capital?", "label": f"{n}"} for n in range(10)]
    folder = write_project(tmp_path, JUDGE, run, rows=rows, more=models)
    spec = folder / "skynet.toml"
    spec.write_text(spec.read_text().replace('["text"]', '["question"]'))
    result = skynet.check(folder)
    task.close()
    assert result.ok
    assert {sample.output for sample in result.samples} == {"from the task model"}
    assert {(sample.score, sample.feedback) for sample in result.samples} == {(1.0, "PASS. It says it all.")}
    assert {sample.cost_usd for sample in result.samples} == {None}
    assert len(task.requests) == 3
    assert "from the task model" in server.requests[0].body["messages"][1]["content"]


def test_a_failed_llm_discards_the_score_even_when_it_is_caught(check: Check, server: ModelServer) -> None:
    server.fail_always(status(400, "quota is used up"))
    metric = "from skynet import llm\n" + body(
        "try: llm('x')", "except Exception: pass", "return 1, {'feedback': input['text']}"
    )
    result = check(metric, more=model(server.url))
    assert only_failed(result).name == "Metric call"
    assert "quota is used up" in only_failed(result).message
    assert [sample.score for sample in result.samples] == [None] * 3


# Without a start version; code artifacts


def without_start(folder: Path) -> Path:
    spec = folder / "skynet.toml"
    spec.write_text(spec.read_text().replace('path = "start.txt"', ""))
    return folder


def test_without_a_start_version_expected_values_stand_in(tmp_path: Path) -> None:
    result = skynet.check(without_start(write_project(tmp_path)))
    assert result.ok
    assert stage(result, "Run output").status == "skipped"
    assert "no start version yet; expected values stand in" in stage(result, "Run output").message
    assert stage(result, "Metric return value").status == "passed"
    assert (stage(result, "Perfect answer").status, result.metric_calls) == ("passed", 4)


def test_stand_ins_that_all_score_the_same_are_no_sign_of_a_constant_metric(tmp_path: Path) -> None:
    result = skynet.check(without_start(write_project(tmp_path)))
    assert len({sample.score for sample in result.samples}) == 1
    assert stage(result, "Signal").status == "passed"


def test_right_for_every_stand_in_is_no_constant_feedback(tmp_path: Path) -> None:
    told = 'return float(right), {"feedback": "Right." if right else "No."}'
    metric = body('right = output == expected["label"]', told)
    assert stage(skynet.check(without_start(write_project(tmp_path / "a", metric))), "Signal").message == ""
    wrong = stage(skynet.check(write_project(tmp_path / "b", metric)), "Signal")
    assert "Every feedback is 'No.'" in wrong.message


def test_on_a_stand_in_an_exception_warns_and_a_wrong_shape_fails(tmp_path: Path) -> None:
    raised = skynet.check(without_start(write_project(tmp_path / "a", body("raise ValueError('boo')"))))
    assert (raised.ok, stage(raised, "Metric call").status) == (True, "warning")
    assert "ValueError: boo" in stage(raised, "Metric call").message
    wrong = skynet.check(without_start(write_project(tmp_path / "b", body("return 1"))))
    assert only_failed(wrong).name == "Metric return value"


def test_without_a_stand_in_the_search_is_the_check(tmp_path: Path) -> None:
    folder = without_start(write_project(tmp_path, METRIC))
    result = skynet.check(folder, cases=[{"input": {"text": "a"}}])
    assert (result.ok, result.metric_calls) == (True, 0)
    later = STAGES[STAGES.index("Metric call") :]
    assert {statuses(result)[name] for name in later} == {"pending"}
    assert "first three measured evaluations of the search" in stage(result, "Metric call").message


def test_a_code_artifact_whose_start_fails_on_a_sample_warns_and_goes_on(tmp_path: Path) -> None:
    run = "def run(artifact, input):\n    assert '1' not in input['text']\n    return 'x'\n"
    rows = [{"text": f"text {n}", "label": f"label {n}"} for n in (1, 2, 3)]
    folder = write_project(tmp_path, METRIC, run, rows=rows, more="[data.split]\ntrain = 3\n")
    with Project(load_spec(folder)) as project:
        bench = PlainBench(project.metric, project)
        result = ContractCheck(bench, project.dataset.train, Artifact("code", "text")).run()
    assert result.ok
    assert (stage(result, "Run output").status, stage(result, "Run output").case) == ("warning", "1")
    assert "AssertionError" in stage(result, "Run output").message
    # The expected value stands in for the failed sample only.
    assert {sample.case: (sample.output, sample.score) for sample in result.samples} == {
        "1": ("label 1", 1.0), "2": ("x", 0.0), "3": ("x", 0.0)
    }  # fmt: skip
    assert [sample.elapsed_ms is None for sample in result.samples] == [True, False, False]


# The documented examples, unchanged


@pytest.mark.parametrize(
    ("metric", "labels", "run"),
    [
        (EXACT, ["a", "b", "c"], "def run(artifact, input):\n    return 'a'\n"),
        (CHECKS, [["x", "y"]] * 3, "def run(artifact, input):\n    return '{\"x\": 1}'\n"),
        (REWARD, ["a", "b", "c"], "def run(artifact, input):\n    return 'a'\n"),
    ],
    ids=["exact match", "several checks", "reward"],
)
def test_a_documented_example_runs_unchanged(tmp_path: Path, metric: str, labels: list[Any], run: str) -> None:
    column = "fields" if metric == CHECKS else "label"
    folder = write_project(tmp_path, metric, run)
    result = skynet.check(folder, cases=[{"input": {"n": n}, "expected": {column: x}} for n, x in enumerate(labels)])
    assert result.ok
    assert stage(result, "Metric return value").status == "passed"
    assert all(sample.score is not None for sample in result.samples)
    if metric == REWARD:
        assert set(result.samples[0].scores) == {"accuracy", "speed", "cost"}
        assert result.samples[0].scores["cost"] == 1.0
