"""bleu and corpus_bleu: n-gram overlap with one or more references, counted by sacrebleu, 0 to 100."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from skynet.metric.show import show
from skynet.scorers.difference import expected_and_got
from skynet.scorers.result import NO_REFERENCE, Profile, Result, ScorerError, extra, is_nemo, one_of_options, references
from skynet.scorers.text import composed, separate, text_of

MAXIMUM = 100.0
Tokenizer: TypeAlias = Literal["13a", "intl", "zh", "char", "none"]
_TOKENIZERS = ("13a", "intl", "zh", "char", "none")  # those of sacrebleu's that need no download


def bleu(
    output: object,
    expected: object,
    *,
    tokenize: Tokenizer | None = None,
    effective_order: bool = True,
    profile: Profile = "default",
) -> Result:
    """Score the sentence BLEU against every expected text, 0 to 100; the pair declares this range.

    Without `tokenize` (sacrebleu's: 13a, intl, zh, char, none) it is 13a, with scripts without spaces taken by
    character.
    """
    nemo = is_nemo("bleu", profile)
    got, right = text_of(output), references(expected, output)
    if not right:
        return NO_REFERENCE
    score = _sentence(got, right, tokenize, effective_order, nemo)
    others = len(right) - 1
    feedback = f"BLEU {score:.1f} of 100. {expected_and_got(right[0], got, others)}"
    if score >= MAXIMUM:
        feedback = f"Correct: {show(got)}."
    return score, {"feedback": feedback, "scores": {"sentence": score}, "range": [0.0, MAXIMUM]}


def _sentence(got: str, right: list[str], tokenize: Tokenizer | None, effective_order: bool, nemo: bool) -> float:
    sacrebleu = extra("bleu", "sacrebleu")
    options = {"tokenize": _tokenizer(tokenize), "use_effective_order": effective_order}
    if nemo:
        return _from_counts(sacrebleu.sentence_bleu(got, right, **options), effective_order)
    if composed(got).split() in [composed(reference).split() for reference in right]:
        return MAXIMUM  # also of two empty texts, which have no n-grams to count
    prepared = [_prepared(text, tokenize) for text in (got, *right)]
    return _bounded(_from_counts(sacrebleu.sentence_bleu(prepared[0], prepared[1:], **options), effective_order))


def corpus_bleu(
    outputs: Sequence[object],
    expected: Sequence[object],
    *,
    tokenize: Tokenizer | None = None,
    profile: Profile = "default",
) -> float:
    """Return the BLEU of all rows together, 0 to 100: `expected` holds a text, or several, for each output.

    Not the mean of `bleu`: n-grams are counted over the whole corpus. The profile nemo reads only the first text of
    each row. Raises ScorerError when the lengths differ or a row has no expected text.
    """
    nemo = is_nemo("corpus_bleu", profile)
    if len(outputs) != len(expected):
        raise ScorerError(f"corpus_bleu: {len(outputs)} outputs but expected texts for {len(expected)} rows.")
    rows = [references(texts, output) for texts, output in zip(expected, outputs, strict=True)]
    if not rows:
        raise ScorerError("corpus_bleu: there are no rows.")
    if [] in rows:
        raise ScorerError(f"corpus_bleu: row {rows.index([]) + 1} has no expected text.")
    sacrebleu = extra("corpus_bleu", "sacrebleu")
    got = [text_of(output) for output in outputs]
    if nemo:
        return _corpus(sacrebleu, got, [[row[0]] for row in rows], tokenize)
    prepared = [[_prepared(text, tokenize) for text in row] for row in rows]
    return _bounded(_corpus(sacrebleu, [_prepared(text, tokenize) for text in got], prepared, tokenize))


def _corpus(sacrebleu: Any, got: list[str], rows: list[list[str]], tokenize: Tokenizer | None) -> float:
    """Count with one stream of references per position, which is sacrebleu's order; short rows leave a gap."""
    width = max(len(row) for row in rows)
    streams = [[row[index] if index < len(row) else None for row in rows] for index in range(width)]
    counted = sacrebleu.corpus_bleu(got, streams, tokenize=_tokenizer(tokenize), force=True)
    return _from_counts(counted, effective_order=False)


def _from_counts(counted: Any, effective_order: bool) -> float:
    """Return the score of sacrebleu's counts. The last digits of its own score differ between Python 3.11 and 3.12."""
    if not any(counted.counts):
        return 0.0
    pairs = zip(counted.precisions, counted.totals, strict=True)
    precisions = [precision for precision, total in pairs if total or not effective_order]
    if not all(precisions):
        return 0.0
    return float(counted.bp * math.exp(math.fsum(map(math.log, precisions)) / len(precisions)))


def _tokenizer(tokenize: Tokenizer | None) -> str:
    if tokenize is None:
        return "13a"
    one_of_options("bleu", "tokenize", tokenize, _TOKENIZERS)
    return tokenize


def _prepared(text: str, tokenize: Tokenizer | None) -> str:
    return separate(composed(text)) if tokenize is None else text


def _bounded(score: float) -> float:
    return min(max(score, 0.0), MAXIMUM)  # sacrebleu's own maximum is 100.00000000000004
