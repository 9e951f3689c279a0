from __future__ import annotations

import pytest

from skynet import scorers
from skynet.metric.contract import Unmeasured


def score(result: scorers.Result) -> float:
    assert not isinstance(result, Unmeasured)
    return result[0]


def test_the_score_is_the_f_of_the_main_variant() -> None:
    result = scorers.rouge("a b c", "a x c", main="1")
    assert not isinstance(result, Unmeasured)
    assert result[0] == result[1]["scores"]["rouge_1_score"] == pytest.approx(2 / 3)


def test_precision_recall_and_f_of_each_variant_stand_in_the_scores() -> None:
    result = scorers.rouge("a b", "a b c d", variants=["2"])
    assert not isinstance(result, Unmeasured)
    assert result[1]["scores"]["rouge_2_precision"] == 1
    assert result[1]["scores"]["rouge_2_recall"] == pytest.approx(1 / 3)
    assert "rouge_1_score" not in result[1]["scores"]


@pytest.mark.parametrize("text", ["你好世界", "Привет мир", "نص عربي", "नमस्ते दुनिया", "สวัสดี"])
def test_words_of_every_script_count(text: str) -> None:
    assert score(scorers.rouge(text, text)) == 1
    assert score(scorers.rouge(text, text, profile="nemo")) == 0


def test_an_accent_does_not_split_a_word() -> None:
    assert score(scorers.rouge("naïve approach", "na ve approach", stemmer=False)) < 1


def test_emoji_are_words() -> None:
    assert score(scorers.rouge("👍", "👎")) == 0


def test_two_texts_without_words_are_compared_as_they_are() -> None:
    assert score(scorers.rouge("!!!", "!!!")) == 1
    assert score(scorers.rouge("!!!", "???")) == 0
    assert score(scorers.rouge("", "")) == 1


def test_the_best_of_several_references_counts_for_each_variant() -> None:
    assert score(scorers.rouge("the cat sat", ["a dog", "the cat sat"])) == 1


def test_a_long_text_is_scored_without_a_table_of_its_square() -> None:
    words = [f"w{index * 7919 % 5003}" for index in range(20_000)]
    result = scorers.rouge(" ".join(words), " ".join(words[::2]), variants=["L"], stemmer=False)
    assert not isinstance(result, Unmeasured)
    assert result[1]["scores"]["rouge_L_recall"] == 1


def test_variants_are_a_list_of_known_names() -> None:
    with pytest.raises(scorers.ScorerError, match="must be a list"):
        scorers.rouge("a", "a", variants="12")  # type: ignore[arg-type]
    with pytest.raises(scorers.ScorerError, match="must be one of '1', '2'"):
        scorers.rouge("a", "a", variants=["l"])  # type: ignore[list-item]
