"""rouge: overlap of n-grams and of the longest common subsequence, counted by rouge-score, 0 to 1."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from skynet.metric.show import show
from skynet.scorers.difference import expected_and_got
from skynet.scorers.edits import common_length
from skynet.scorers.result import NO_REFERENCE, Profile, Result, ScorerError, extra, is_nemo, one_of_options, references
from skynet.scorers.text import separate, text_of, unify_case

Variant: TypeAlias = Literal["1", "2", "3", "4", "5", "6", "7", "8", "9", "L", "Lsum"]
_VARIANTS = (*"123456789", "L", "Lsum")
_SHORTEST_STEMMED = 4  # characters, as in rouge-score


def rouge(
    output: object,
    expected: object,
    *,
    variants: Sequence[Variant] = ("1", "2", "3", "L"),
    main: Variant = "L",
    stemmer: bool = True,
    profile: Profile = "default",
) -> Result:
    """Score the F-measure of the variant `main`; precision, recall and F of every variant stand in `scores`.

    Of several expected texts the best counts, for each variant. ASCII texts with words score as rouge-score scores
    them; words of other scripts count too. Equal texts without a word score 1.
    """
    nemo = is_nemo("rouge", profile)
    wanted = _checked(variants, main)
    got, right = text_of(output), references(expected, output)
    if not right:
        return NO_REFERENCE
    scorer = _Scorer(wanted, stemmer, nemo)
    per_reference = [scorer.score(reference, got) for reference in right]
    chosen = {variant: max((scores[variant] for scores in per_reference), key=lambda one: one[2]) for variant in wanted}
    scores: dict[str, float] = {}
    for variant, (precision, recall, f_measure) in chosen.items():
        scores[f"rouge_{variant}_score"] = f_measure
        scores[f"rouge_{variant}_precision"] = precision
        scores[f"rouge_{variant}_recall"] = recall
    score = scores[f"rouge_{main}_score"]
    feedback = _feedback(main, chosen[main], got, right)
    return score, {"feedback": feedback, "scores": scores}


def _checked(variants: Sequence[Variant], main: Variant) -> tuple[Variant, ...]:
    if isinstance(variants, str):
        raise ScorerError(f'rouge: variants is {show(variants)}; it must be a list such as ["1", "2", "L"].')
    for variant in (*variants, main):
        one_of_options("rouge", "variant", variant, _VARIANTS)
    return tuple(dict.fromkeys((*variants, main)))


def _feedback(main: str, scores: tuple[float, float, float], got: str, right: list[str]) -> str:
    precision, recall, f_measure = scores
    if f_measure == 1:
        return f"Correct: {show(got)}."
    figures = f"ROUGE-{main} {f_measure:.3f}: precision {precision:.3f}, recall {recall:.3f}."
    return f"{figures} {expected_and_got(right[0], got, len(right) - 1)}"


class _Scorer:
    """rouge-score with our tokens. ROUGE-L is measured apart: its table there grows with the product of the lengths."""

    def __init__(self, variants: tuple[Variant, ...], stemmer: bool, nemo: bool) -> None:
        self._variants = variants
        self._nemo = nemo
        self._tokenizer = _library_tokenizer(stemmer) if nemo else _UnicodeTokenizer(stemmer)
        counted = [f"rouge{variant}" for variant in variants if variant != "L"]
        module = extra("rouge", "rouge_score.rouge_scorer")
        self._library = module.RougeScorer(counted, tokenizer=self._tokenizer)
        self._f_measure = extra("rouge", "rouge_score.scoring").fmeasure

    def score(self, expected: str, got: str) -> dict[Variant, tuple[float, float, float]]:
        """Return precision, recall and F of each variant."""
        wanted, found = self._tokenizer.tokenize(expected), self._tokenizer.tokenize(got)
        if not self._nemo and not wanted and not found:
            same = 1.0 if unify_case(expected).split() == unify_case(got).split() else 0.0
            return dict.fromkeys(self._variants, (same, same, same))
        counted = self._library.score(expected, got)
        scores: dict[Variant, tuple[float, float, float]] = {}
        for variant in self._variants:
            if variant == "L":
                scores[variant] = self._longest(wanted, found)
            else:
                one = counted[f"rouge{variant}"]
                scores[variant] = (float(one.precision), float(one.recall), float(one.fmeasure))
        return scores

    def _longest(self, wanted: list[str], found: list[str]) -> tuple[float, float, float]:
        if not wanted or not found:
            return 0.0, 0.0, 0.0
        common = common_length(wanted, found)
        precision, recall = common / len(found), common / len(wanted)
        return precision, recall, float(self._f_measure(precision, recall))


@lru_cache(maxsize=2)
def _library_tokenizer(stemmer: bool) -> Any:
    return extra("rouge", "rouge_score.tokenizers").DefaultTokenizer(stemmer)


@lru_cache(maxsize=1)
def _porter() -> Any:
    return extra("rouge", "nltk.stem.porter").PorterStemmer()


class _UnicodeTokenizer:
    """Words of letters, marks and digits of any script, and single symbols such as emoji; ASCII words are stemmed."""

    def __init__(self, stemmer: bool) -> None:
        self._stem = _porter().stem if stemmer else None

    def tokenize(self, text: str) -> list[str]:
        """Return the tokens in order."""
        return [self._stemmed(word) for word in _split(separate(unify_case(text)))]

    def _stemmed(self, word: str) -> str:
        if self._stem is None or len(word) < _SHORTEST_STEMMED or not word.isascii():
            return word
        return str(self._stem(word))


def _split(text: str) -> list[str]:
    pieces: list[str] = []
    for char in text:
        category = unicodedata.category(char)
        if category[0] in "LMN":
            pieces.append(char)
        else:
            pieces.append(f" {char} " if category == "So" else " ")
    return "".join(pieces).split()
