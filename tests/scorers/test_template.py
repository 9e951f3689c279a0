from __future__ import annotations

import pytest

from skynet.scorers import ScorerError, render

ITEM = {"answer": " Paris ", "count": 3, "flag": True, "none": None, "tags": ["a"], "items": "column", "a b": "spaced"}
SAMPLE = {"output_text": "got", "answer": "shadowed"}


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("{{item.answer | lower | trim}}", "paris"),
        ("{{ sample.output_text | upper }}", "GOT"),
        ("{{ item['a b'] }}", "spaced"),
        ("{{ item.count }}", "3"),
        ("{{ item.flag }} {{ item.none }} {{ item.tags }}", 'true null ["a"]'),
        ("{{ item.items }}", "column"),
        ("{{ count }}{{ answer }}", "3shadowed"),
        ("{{ item.answer | replace('Paris', 'Rome') }}\n", " Rome \n"),
        ("{% if item.flag %}yes{% endif %}", "yes"),
    ],
)
def test_a_template_is_filled_in(template: str, filled: str) -> None:
    assert render(template, ITEM, SAMPLE) == filled


@pytest.mark.parametrize("template", ["{{ item.anwser }}", "{{ anwser }}", "{{ sample.anwser | lower }}"])
def test_a_missing_name_lists_the_names_that_are_there(template: str) -> None:
    with pytest.raises(ScorerError) as caught:
        render(template, ITEM, SAMPLE)
    message = str(caught.value)
    assert "anwser" in message
    assert "item has answer, count, flag, none, tags, items, a b; sample has output_text, answer." in message
    assert "Did you mean 'answer'?" in message


@pytest.mark.parametrize(
    "template",
    ["{{ item.__class__.__mro__ }}", "{{ ''.__class__ }}", "{{ item.tags.append(1) }}", "{{ item.pop('answer') }}"],
)
def test_the_sandbox_lets_nothing_out_and_changes_nothing(template: str) -> None:
    with pytest.raises(ScorerError):
        render(template, ITEM, SAMPLE)
    assert ITEM["tags"] == ["a"]


def test_a_syntax_error_names_the_template() -> None:
    with pytest.raises(ScorerError, match=r"template '\{\{ item\.' cannot be filled in"):
        render("{{ item.", ITEM, SAMPLE)
