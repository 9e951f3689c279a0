from __future__ import annotations

import pytest

from skynet.metric.quoting import QUOTED, without_quotations


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ('It says "yes" twice', f"It says {QUOTED} twice"),
        ("It says «yes» twice", f"It says {QUOTED} twice"),
        ("It says `yes` twice", f"It says {QUOTED} twice"),
        ("the answer's and the judge's", "the answer's and the judge's"),
        ('a 5" screen', 'a 5" screen'),
        ("before\n> quoted\nafter", "before\nafter"),
        ("before\n~~~text\nfenced\n~~~\nafter", "before\nafter"),
        ("before\n```\nnever closed", "before"),
        ("```\nonly this\n```", "only this"),
        ("**bold** and _slanted_", "bold and slanted"),
        ("snake_case", "snake_case"),
        ("one ~~struck~~ word", f"one {QUOTED} word"),
        ("<b>word</b>", "\nword\n"),
        ('{"verdict": "yes"}', f"{{{QUOTED}: yes}}"),
    ],
)
def test_what_is_quoted_is_taken_out(text: str, own: str) -> None:
    assert without_quotations(text) == own
