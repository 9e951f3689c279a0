"""What holds for every scorer and any text: valid, bounded, deterministic, symmetric, and full for equal texts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skynet import scorers
from skynet.metric.contract import Scored, Unmeasured, validate

Two = Callable[[Any, Any], scorers.Result]

COMPARING: dict[str, Two] = {
    "exact_match": scorers.exact_match,
    "f1": scorers.f1,
    "bleu": scorers.bleu,
    "rouge": scorers.rouge,
    "string_check": scorers.string_check,
    "levenshtein": scorers.levenshtein,
    "contains_any": scorers.contains_any,
    "contains_all": scorers.contains_all,
    "one_of": scorers.one_of,
}
OTHERS: dict[str, Two] = {
    "number_check": scorers.number_check,
    "json_fields": scorers.json_fields,
    "json_valid": lambda output, _: scorers.json_valid(output),
    "regex": lambda output, _: scorers.regex(output, r"\d+"),
    "tool_called": lambda output, _: scorers.tool_called([{"name": output, "arguments": {}}], "search"),
}
NEMO: dict[str, Two] = {
    f"{scorer.__name__} nemo": functools.partial(scorer, profile="nemo")
    for scorer in (
        scorers.exact_match,
        scorers.f1,
        scorers.bleu,
        scorers.rouge,
        scorers.number_check,
        scorers.string_check,
    )
}
SYMMETRIC = ("exact_match", "f1", "rouge", "string_check", "levenshtein")
SCRIPTS = {
    "Latin": "The quick brown fox jumps, again",
    "Cyrillic": "Съешь ещё этих мягких булок",
    "Greek": "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία",
    "Arabic": "نص حكيم له سر قاطع",
    "Hebrew": "דג סקרן שט בים מאוכזב",
    "Devanagari": "ऋषियों को सताने वाले दुष्ट",
    "Bengali": "আমি কাঁচ খেতে পারি",
    "Tamil": "நான் கண்ணாடி சாப்பிடுவேன்",
    "Telugu": "నేను గాజు తినగలను",
    "Gujarati": "હું કાચ ખાઈ શકું છું",
    "Gurmukhi": "ਮੈਂ ਗਲਾਸ ਖਾ ਸਕਦਾ ਹਾਂ",
    "Thai": "ฉันกินกระจกได้",
    "Lao": "ຂອ້ຍກິນແກ້ວໄດ້",
    "Khmer": "ខ្ញុំអាចញុំកញ្ចក់បាន",
    "Myanmar": "ကျွန်တော်မှန်စားနိုင်တယ်",
    "Georgian": "მინას ვჭამ და არა მტკივა",
    "Armenian": "Կրնամ ապակի ուտել",
    "Ethiopic": "መስታወት መብላት እችላለሁ",
    "Hangul": "나는 유리를 먹을 수 있어요",
    "Han": "我能吞下玻璃而不伤身体",
    "Kana": "わたしはガラスをたべられます",
    "Emoji": "👍🏽 🎉 👩‍🔬",
}
anything = st.text(st.characters(exclude_categories=()))  # lone surrogates too
numeric = st.text(st.sampled_from("0123456789.,'_-+−/%eE×^$ ١٢½²\u00a0x"))
texts = anything | numeric | st.sampled_from([*SCRIPTS.values(), "", " ", "!!!", "a", "the", "{}", "[1", "NaN"])


def score_of(result: scorers.Result) -> float | None:
    """Return the score after the contract's own check; None for unmeasured."""
    checked = validate(result)
    return None if isinstance(checked, Unmeasured) else checked.score


def maximum(name: str) -> float:
    return 100.0 if name.startswith("bleu") else 1.0


@pytest.mark.parametrize("name", [*COMPARING, *OTHERS, *NEMO])
@settings(max_examples=60)
@given(output=texts, expected=texts)
@example(output="\ud800", expected="\udfff\ud800")
@example(output="İ", expected="i̇")
@example(output="1" * 5000, expected="9" * 400 + ".5")
def test_any_two_texts_get_the_same_valid_result_twice(name: str, output: str, expected: str) -> None:
    scorer = {**COMPARING, **OTHERS, **NEMO}[name]
    result = scorer(output, expected)
    checked = validate(result)
    if isinstance(checked, Scored):
        assert checked.feedback.strip()
        slack = 1e-9 if name == "bleu nemo" else 0  # the original's own maximum is a little above 100
        assert 0 <= checked.score <= maximum(name) + slack
        inner = [value for key, value in checked.scores.items() if key not in ("difference", "distance")]
        assert all(0 <= value <= maximum(name) + slack for value in inner)
    assert scorer(output, expected) == result


@pytest.mark.parametrize("name", SYMMETRIC)
@settings(max_examples=60)
@given(one=texts, other=texts)
def test_the_order_of_the_texts_does_not_matter(name: str, one: str, other: str) -> None:
    assert score_of(COMPARING[name](one, other)) == score_of(COMPARING[name](other, one))


@pytest.mark.parametrize("name", COMPARING)
@settings(max_examples=60)
@given(text=texts)
def test_a_text_equals_itself(name: str, text: str) -> None:
    assert score_of(COMPARING[name](text, text)) == maximum(name)


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("name", COMPARING)
def test_equal_texts_of_a_script_score_the_maximum_and_others_less(name: str, script: str) -> None:
    text = SCRIPTS[script]
    assert score_of(COMPARING[name](text, text)) == maximum(name)
    other = SCRIPTS["Latin" if script != "Latin" else "Greek"]
    assert score_of(COMPARING[name](other, text)) != maximum(name)


@pytest.mark.parametrize("script", [script for script in SCRIPTS if script != "Emoji"])
@pytest.mark.parametrize("name", ["f1", "rouge", "bleu", "levenshtein"])
def test_a_part_of_a_text_scores_between_in_every_script(name: str, script: str) -> None:
    text = SCRIPTS[script]
    part = text[: text.index(" ", len(text) // 3)] if " " in text else text[: len(text) // 2]
    score = score_of(COMPARING[name](part, text))
    assert score is not None
    assert 0 < score < maximum(name)


@pytest.mark.parametrize("value", [None, True, 3, 2.5, b"bytes", ["a", 1], {"a": {"b": None}}, {1: "x"}, object()])
@pytest.mark.parametrize("name", [*COMPARING, *OTHERS, *NEMO])
def test_an_output_that_is_not_text_is_scored_as_text(name: str, value: object) -> None:
    scorer = {**COMPARING, **OTHERS, **NEMO}[name]
    validate(scorer(value, "a"))
    validate(scorer("a", value))


@pytest.mark.parametrize(
    "name", ["exact_match", "f1", "bleu", "rouge", "number_check", "string_check", "levenshtein", "json_fields"]
)
def test_without_an_expected_value_a_comparison_is_unmeasured(name: str) -> None:
    assert isinstance({**COMPARING, **OTHERS}[name]("a", None), Unmeasured)


@settings(max_examples=200)
@given(
    one=st.text(st.characters(codec="ascii"), max_size=60),
    other=st.text(st.characters(codec="ascii"), max_size=60),
    stemmer=st.booleans(),
)
def test_rouge_of_ascii_texts_with_words_is_rouge_score_s_own(one: str, other: str, stemmer: bool) -> None:
    from rouge_score.rouge_scorer import RougeScorer

    if not any(char.isalnum() for char in one + other):
        return
    result = scorers.rouge(one, other, variants=["1", "2", "L", "Lsum"], stemmer=stemmer)
    assert not isinstance(result, Unmeasured)
    library = RougeScorer(["rouge1", "rouge2", "rougeL", "rougeLsum"], use_stemmer=stemmer).score(other, one)
    for variant in ("1", "2", "L", "Lsum"):
        own = [result[1]["scores"][f"rouge_{variant}_{part}"] for part in ("precision", "recall", "score")]
        assert own == list(library[f"rouge{variant}"])
