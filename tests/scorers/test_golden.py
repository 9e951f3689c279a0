"""The similarity metrics of NeMo, bit for bit: what the original computed, recorded in golden.json."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skynet import scorers
from skynet.metric.contract import Unmeasured
from skynet.scorers.normal import squad
from skynet.summary.aggregate import aggregate

CASES: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "golden.json").read_text())["cases"]


def number(result: scorers.Result) -> float:
    """Return the score, NaN for unmeasured: the original has NaN there."""
    return math.nan if isinstance(result, Unmeasured) else result[0]


def same(got: object, recorded: object) -> bool:
    if recorded == "NaN":
        return isinstance(got, float) and math.isnan(got)
    return got == recorded


def per_row(case: dict[str, Any], metric: Callable[..., Any]) -> list[Any]:
    rows = [row if isinstance(row, dict) else {} for row in case["rows"]]
    outputs = [None if isinstance(row, dict) else row for row in case["rows"]]
    return [metric(row, output) for row, output in zip(rows, outputs, strict=True)]


def check_aggregate(values: list[float], recorded: dict[str, Any]) -> None:
    figures = aggregate(values).to_json()
    wanted = {name: value for name, value in recorded.items() if name in figures}
    assert {name: figures[name] for name in wanted} == wanted


SEEDS: dict[str, Callable[[dict[str, Any]], Callable[..., Any]]] = {
    "exact_match_seed": lambda c: scorers.as_metric(
        scorers.exact_match, output=c["candidate"], reference=c["reference"], profile="nemo"
    ),
    "f1_seed": lambda c: scorers.as_metric(
        scorers.f1, output=c["candidate"], reference=c["reference"], profile="nemo"
    ),
    "number_check_absdiff_seed": lambda c: scorers.as_metric(
        scorers.number_check,
        output=c["left_template"],
        reference=c["right_template"],
        operation=c["operation"],
        epsilon=c["epsilon"],
        profile="nemo",
    ),
    "number_check_gt_seed": lambda c: scorers.as_metric(
        scorers.number_check,
        output=c["left_template"],
        reference=c["right_template"],
        operation=c["operation"],
        profile="nemo",
    ),
    **dict.fromkeys(
        ("string_check_seed", "string_check_online"),
        lambda c: scorers.as_metric(
            scorers.string_check,
            output=c["left_template"],
            reference=c["right_template"],
            operation=c["operation"],
            profile="nemo",
        ),
    ),
}


@pytest.mark.parametrize("name", SEEDS)
def test_the_document_s_example_has_the_recorded_rows_and_aggregate(name: str) -> None:
    case = CASES[name]
    values = [number(result) for result in per_row(case, SEEDS[name](case["config"]))]
    assert values == [next(iter(row.values())) for row in case["result"]["per_row"]]
    check_aggregate(values, case["result"]["aggregate"][0])


def test_the_bleu_example_has_the_recorded_sentences_and_corpus() -> None:
    case = CASES["bleu_seed"]
    metric = scorers.as_metric(
        scorers.bleu, output=case["config"]["candidate"], reference=case["config"]["references"], profile="nemo"
    )
    values = [number(result) for result in per_row(case, metric)]
    sentence, corpus = case["result"]["aggregate"]
    assert values == [row["sentence"] for row in case["result"]["per_row"]]
    check_aggregate(values, sentence)
    rows = case["rows"]
    references = [[row["reference_1"], row["reference_2"]] for row in rows]
    assert scorers.corpus_bleu([row["model_output"] for row in rows], references, profile="nemo") == corpus["mean"]


def test_the_variants_of_bleu_have_the_recorded_values() -> None:
    case = CASES["bleu_seed_sacrebleu_variants"]
    rows, recorded = case["rows"], case["result"]
    outputs = [row["model_output"] for row in rows]
    both = [[row["reference_1"], row["reference_2"]] for row in rows]
    first = [row["reference_1"] for row in rows]

    def sentences(references: list[Any], **options: Any) -> list[float]:
        pairs = zip(outputs, references, strict=True)
        return [number(scorers.bleu(output, wanted, profile="nemo", **options)) for output, wanted in pairs]

    assert sentences(both) == recorded["sentence_bleu_both_refs"]
    assert sentences(first) == recorded["sentence_bleu_ref1_only"]
    assert sentences(first, effective_order=False) != recorded["sentence_bleu_ref1_only"]
    assert sentences(both, effective_order=False) == recorded["sentence_effective_order_false"]
    assert scorers.corpus_bleu(outputs, first, profile="nemo") == recorded["corpus_bleu_ref1_only"]
    assert scorers.corpus_bleu(outputs, both) == recorded["corpus_bleu_both_refs_correct_transposed"]
    turned = [list(column) for column in zip(*both, strict=True)]
    assert scorers.corpus_bleu(outputs, turned) == recorded["corpus_bleu_both_refs_WRONG_not_transposed"]


@pytest.mark.parametrize("row", CASES["bleu_edge"]["result"], ids=lambda row: ascii(f"{row['cand']}|{row['ref']}"))
def test_bleu_has_the_recorded_value_under_every_tokenizer(row: dict[str, Any]) -> None:
    assert number(scorers.bleu(row["cand"], row["ref"], profile="nemo")) == row["sentence_bleu"]
    for tokenize in ("intl", "zh", "char"):
        result = scorers.bleu(row["cand"], row["ref"], tokenize=tokenize, profile="nemo")
        assert number(result) == row[f"tokenize={tokenize}"]


@pytest.mark.parametrize("row", CASES["exact_match_edge"]["result"], ids=lambda row: ascii(row["reference"]))
def test_exact_match_normalises_and_scores_as_recorded(row: dict[str, Any]) -> None:
    assert squad(row["reference"]) == row["normalized_reference"]
    assert squad(row["candidate"]) == row["normalized_candidate"]
    assert number(scorers.exact_match(row["candidate"], row["reference"], profile="nemo")) == row["score"]


@pytest.mark.parametrize("row", CASES["f1_edge"]["result"], ids=lambda row: ascii(row["reference"]))
def test_f1_scores_as_recorded(row: dict[str, Any]) -> None:
    assert number(scorers.f1(row["candidate"], row["reference"], profile="nemo")) == row["f1"]


@pytest.mark.parametrize("row", CASES["number_extraction"]["result"], ids=lambda row: ascii(row["text"]))
def test_the_number_of_a_text_is_the_recorded_one(row: dict[str, Any]) -> None:
    if row["number"] == "NaN":
        assert isinstance(scorers.number_check(row["text"], "1", profile="nemo"), Unmeasured)
    else:
        assert number(scorers.number_check(row["text"], str(row["number"]), profile="nemo")) == 1
        assert number(scorers.number_check(row["text"], str(row["number"] + 1), profile="nemo")) == 0


@pytest.mark.parametrize("operation", CASES["number_check_ops"]["result"])
def test_a_comparison_of_numbers_has_the_recorded_results(operation: str) -> None:
    recorded = CASES["number_check_ops"]["result"][operation]
    got = [number(scorers.number_check(left, 2, operation=operation, profile="nemo")) for left in (1, 2, 3, "x")]
    assert all(map(same, got, recorded))


@pytest.mark.parametrize("key", CASES["number_check_epsilon"]["result"])
def test_epsilon_is_inclusive_and_refused_where_recorded(key: str) -> None:
    recorded = CASES["number_check_epsilon"]["result"][key]
    if "|" in key:
        left, right, epsilon = key.replace("eps=", "").split("|")
        options: dict[str, Any] = {"operation": "absolute difference", "epsilon": epsilon}
    else:
        left, right, options = "1", "1", json.loads(key.replace("'", '"'))
    if recorded == "REJECTED":
        with pytest.raises(scorers.ScorerError):
            scorers.number_check(left, right, profile="nemo", **options)
    else:
        result = number(scorers.number_check(left, right, profile="nemo", **options))
        assert result == (1.0 if recorded == "accepted" else recorded)


def test_the_rouge_example_has_the_recorded_rows_and_aggregates() -> None:
    case = CASES["rouge_seed"]
    metric = scorers.as_metric(
        scorers.rouge, output=case["config"]["candidate"], reference=case["config"]["reference"], profile="nemo"
    )
    scores = [result[1]["scores"] for result in per_row(case, metric)]
    for recorded in case["result"]["aggregate"]:
        name = recorded["name"]
        assert [row[name] for row in scores] == [row[name] for row in case["result"]["per_row"]]
        check_aggregate([row[name] for row in scores], recorded)


@pytest.mark.parametrize("stemmer", [True, False])
@pytest.mark.parametrize("profile", ["nemo", "default"])
def test_rouge_has_the_recorded_precision_recall_and_f(stemmer: bool, profile: Any) -> None:
    case = CASES["rouge_seed_variants"]
    for row, recorded in zip(case["rows"], case["result"][f"use_stemmer={stemmer}"], strict=True):
        result = scorers.rouge(
            row["generated_summary"],
            row["reference_summary"],
            variants=["1", "2", "3", "L", "Lsum"],
            stemmer=stemmer,
            profile=profile,
        )
        assert not isinstance(result, Unmeasured)
        for variant, figures in recorded.items():
            name = f"rouge_{variant.removeprefix('rouge')}"
            got = [result[1]["scores"][f"{name}_{part}"] for part in ("precision", "recall", "score")]
            assert got == [figures["precision"], figures["recall"], figures["fmeasure"]]


@pytest.mark.parametrize("row", CASES["rouge_edge"]["result"], ids=lambda row: ascii(row["reference"]))
def test_rouge_scores_as_recorded(row: dict[str, Any]) -> None:
    result = scorers.rouge(row["candidate"], row["reference"], profile="nemo")
    assert not isinstance(result, Unmeasured)
    assert [result[1]["scores"][f"rouge_{variant}_score"] for variant in "12L"] == [
        row["rouge1"],
        row["rouge2"],
        row["rougeL"],
    ]


@pytest.mark.parametrize("operation", CASES["string_check_ops"]["result"])
def test_a_comparison_of_texts_has_the_recorded_results(operation: str) -> None:
    case = CASES["string_check_ops"]
    got = [
        number(scorers.string_check(left, right, operation=operation, profile="nemo"))
        for left, right in case["config"]["pairs(left,right)"]
    ]
    assert got == case["result"][operation]


def test_every_recorded_case_is_read_by_a_test() -> None:
    source = Path(__file__).read_text()
    assert len(CASES) == 18
    assert [name for name in CASES if f'"{name}"' not in source] == []
