"""Ready-made scorers: each compares an output with what was expected and returns what `score` returns."""

from skynet.scorers.bleu_score import bleu, corpus_bleu
from skynet.scorers.composing import compose
from skynet.scorers.edits import levenshtein
from skynet.scorers.json_text import json_fields, json_valid
from skynet.scorers.judging import judge
from skynet.scorers.number import number_check
from skynet.scorers.on_cases import as_metric
from skynet.scorers.overlap import exact_match, f1
from skynet.scorers.plugins import installed_scorers, named
from skynet.scorers.result import Result, ScorerError
from skynet.scorers.rouge_variants import rouge
from skynet.scorers.template import render
from skynet.scorers.tools import tool_called
from skynet.scorers.words import contains_all, contains_any, one_of, regex, string_check

SCORERS = (
    "exact_match",
    "f1",
    "bleu",
    "rouge",
    "number_check",
    "string_check",
    "regex",
    "json_valid",
    "json_fields",
    "levenshtein",
    "contains_any",
    "contains_all",
    "one_of",
    "tool_called",
)

__all__ = [
    "SCORERS",
    "Result",
    "ScorerError",
    "as_metric",
    "bleu",
    "compose",
    "contains_all",
    "contains_any",
    "corpus_bleu",
    "exact_match",
    "f1",
    "installed_scorers",
    "json_fields",
    "json_valid",
    "judge",
    "levenshtein",
    "named",
    "number_check",
    "one_of",
    "regex",
    "render",
    "rouge",
    "string_check",
    "tool_called",
]
