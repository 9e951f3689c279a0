from __future__ import annotations

from typing import Any

import pytest

from skynet import scorers
from skynet.metric.contract import Unmeasured


def score(result: scorers.Result) -> float:
    assert not isinstance(result, Unmeasured)
    return result[0]


def test_bleu_declares_its_range_and_stays_in_it() -> None:
    result = scorers.bleu("hello there", "hello there")
    assert not isinstance(result, Unmeasured)
    assert result[0] == 100.0
    assert result[1]["range"] == [0.0, 100.0]
    assert result[1]["scores"] == {"sentence": 100.0}


def test_every_reference_counts() -> None:
    references = ["The cat sits on the mat.", "A cat is sitting on the mat."]
    both = score(scorers.bleu("The cat is on the mat.", references))
    assert both > score(scorers.bleu("The cat is on the mat.", references[0]))


def test_scripts_without_spaces_are_taken_by_character() -> None:
    assert score(scorers.bleu("你好世界", "你好")) == pytest.approx(31.947155212313625)
    assert score(scorers.bleu("你好世界", "你好", tokenize="13a")) == 0


def test_two_empty_texts_are_equal() -> None:
    assert score(scorers.bleu("", " ")) == 100
    assert score(scorers.bleu("", "a")) == 0


def test_corpus_bleu_uses_every_reference_of_every_row() -> None:
    outputs = ["The cat is on the mat.", "Hello world!"]
    references = [["The cat sits on the mat.", "A cat is sitting on the mat."], "Hello world!"]
    assert scorers.corpus_bleu(outputs, references) > scorers.corpus_bleu(outputs, [references[0][0], references[1]])


@pytest.mark.parametrize(
    ("outputs", "expected", "message"),
    [
        (["a"], ["a", "b"], "1 outputs but expected texts for 2 rows"),
        ([], [], "no rows"),
        (["a", "b"], ["a", None], "row 2 has no expected text"),
    ],
)
def test_a_corpus_that_does_not_fit_is_refused(outputs: list[str], expected: list[Any], message: str) -> None:
    with pytest.raises(scorers.ScorerError, match=message):
        scorers.corpus_bleu(outputs, expected)


def test_an_unknown_tokenizer_names_those_that_need_no_download() -> None:
    with pytest.raises(scorers.ScorerError, match="'13a', 'intl', 'zh', 'char', 'none'"):
        scorers.bleu("a", "a b", tokenize="flores200")  # type: ignore[arg-type]


@pytest.mark.parametrize(("scorer", "package"), [(scorers.bleu, "sacrebleu"), (scorers.rouge, "rouge_score")])
def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch, scorer: Any, package: str) -> None:
    import sys

    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)  # Python's own way to say: not importable
    with pytest.raises(scorers.ScorerError, match=r"pip install 'skynet-optimizer\[scorers\]'"):
        scorer("a b", "a c")


def test_importing_the_scorers_loads_no_package_that_counts() -> None:
    import subprocess
    import sys

    heavy = ["jinja2", "nltk", "numpy", "regex", "rouge_score", "sacrebleu", "pydantic"]
    code = f"import sys, skynet.scorers; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
