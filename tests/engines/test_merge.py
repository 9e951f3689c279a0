from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from engines.gepa import Gepa
from engines.merge import Member, Merge, find_merge
from skynet.engine import Content, Evaluation, Rejected, SearchTask, TaskCase, Version

from .host import Books, ScriptedModels, run
from .rules import rules_task, score_rules

START = Member({"head": "h", "foot": "f"}, {0: 0.0, 1: 0.0, 2: 0.5})
HEAD = Member({"head": "H", "foot": "f"}, {0: 1.0, 1: 0.0, 2: 0.5}, [0])
FOOT = Member({"head": "h", "foot": "F"}, {0: 0.0, 1: 0.9, 2: 0.5}, [0])


def test_each_part_comes_from_the_version_that_changed_it() -> None:
    merge = find_merge([START, HEAD, FOOT], set())
    assert merge == Merge({"head": "H", "foot": "F"}, (1, 2), (0, 1))


def test_a_part_that_both_changed_comes_from_the_version_with_the_better_mean() -> None:
    both = replace(FOOT, parts={"head": "other", "foot": "F"}, scores={0: 0.0, 1: 1.0, 2: 0.8})
    merge = find_merge([START, HEAD, both], set())
    assert merge is None  # it would be the better version itself
    better = replace(HEAD, scores={0: 1.0, 1: 0.5, 2: 1.0})
    merge = find_merge([START, better, both], set())
    assert merge is not None
    assert merge.parts == {"head": "H", "foot": "F"}


def test_versions_are_not_merged_when_one_leads_nowhere() -> None:
    worse = replace(FOOT, scores={0: 0.0, 1: 0.0, 2: 0.4})
    assert find_merge([START, HEAD, worse], set()) is None


def test_a_version_and_its_ancestor_are_not_merged() -> None:
    child = Member({"head": "H", "foot": "F"}, {0: 0.0, 1: 1.0, 2: 0.5}, [1])
    assert find_merge([START, HEAD, child], set()) is None


def test_an_artifact_of_one_part_has_nothing_to_merge() -> None:
    one = [replace(member, parts={"artifact": member.parts["head"] + member.parts["foot"]}) for member in (HEAD, FOOT)]
    assert find_merge([replace(START, parts={"artifact": "hf"}), *one], set()) is None


def test_the_pair_with_the_most_to_gain_is_taken_and_tried_pairs_are_left_out() -> None:
    more = replace(FOOT, parts={"head": "h", "foot": "FF"}, scores={0: 0.0, 1: 1.0, 2: 0.5})
    members = [START, HEAD, FOOT, more]
    first = find_merge(members, set())
    assert first is not None
    assert first.pair == (1, 3)
    second = find_merge(members, {(1, 3)})
    assert second is not None
    assert second.pair == (1, 2)


def test_the_latest_common_ancestor_counts() -> None:
    middle = Member({"head": "h", "foot": "f2"}, {0: 0.1, 1: 0.1, 2: 0.5}, [0])
    left = Member({"head": "H", "foot": "f2"}, {0: 1.0, 1: 0.1, 2: 0.5}, [1])
    right = Member({"head": "h", "foot": "F"}, {0: 0.1, 1: 0.9, 2: 0.5}, [1])
    merge = find_merge([START, middle, left, right], set())
    assert merge is not None
    assert merge.parts == {"head": "H", "foot": "F"}


# The search: each part mends one half of the cases.


def halves_task(**changes: Any) -> SearchTask:
    return rules_task(start={"foot": "f", "head": "h"}, val=8, **changes)


def score_halves(content: Content, case: TaskCase) -> Evaluation:
    """GREET in the head mends even cases, SIGN in the foot odd ones; each alone makes the other half a bit worse."""
    assert isinstance(content, dict)
    words = {"head": "GREET" in content["head"], "foot": "SIGN" in content["foot"]}
    mine, other = ("head", "foot") if int(case.id[1:]) % 2 == 0 else ("foot", "head")
    score = 1.0 if words[mine] else 0.4 if words[other] else 0.5
    return replace(score_rules(content, case), value=score, score=score, scores={}, feedback="no")


def from_nothing(prompt: str, number: int) -> str:
    """Rewrites from nothing: the head greets, the foot signs."""
    part = "head" if "the part 'head'" in prompt else "foot"
    return f"```\n{'GREET' if part == 'head' else 'SIGN'} {number}\n```"


def search(task: SearchTask, **options: Any) -> Books:
    books = Books(task, score_halves, 300)
    run(Gepa(), task, books, ScriptedModels(from_nothing), **options)
    return books


def merges(books: Books) -> list[Version]:
    return [version for version in books.versions.values() if version.note.startswith("merged: ")]


def both(version: Version) -> bool:
    return "GREET" in version.content["head"] and "SIGN" in version.content["foot"]  # type: ignore[index]


def test_gepa_merges_two_versions_that_lead_on_different_cases() -> None:
    found = [seed for seed in range(6) if merges(search(halves_task(seed=seed), max_proposals=8))]
    assert found
    books = search(halves_task(seed=found[0]), max_proposals=8)
    merged = merges(books)[0]
    assert both(merged)
    assert books.value(merged) == 1.0
    assert merged.parent in books.versions


SCRIPT = """
from tests.engines.test_merge import halves_task, merges, search
runs = [search(halves_task(seed=seed), max_proposals=8) for seed in range(6)]
assert any(merges(books) for books in runs)
print([books.calls for books in runs])
"""


def test_merging_does_not_follow_the_hash_seed() -> None:
    told = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            cwd=Path(__file__).parents[2],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "77")
    ]
    assert told[0] == told[1]


def test_without_merges_none_is_made() -> None:
    assert not any(merges(search(halves_task(seed=seed), max_proposals=8, max_merges=0)) for seed in range(6))


def test_a_merge_that_the_host_rejects_costs_no_evaluation() -> None:
    class Strict(Books):
        def propose(self, content: Content, parent: Version | None, note: str = "") -> Version:
            if note.startswith("merged"):
                raise Rejected("not today")
            return super().propose(content, parent, note)

    for seed in range(6):
        task = halves_task(seed=seed)
        books = Strict(task, score_halves, 300)
        run(Gepa(), task, books, ScriptedModels(from_nothing), max_proposals=8)
        assert not merges(books)


def test_the_choice_does_not_depend_on_the_order_of_parts() -> None:
    members = [START, HEAD, FOOT]
    shuffled = [replace(member, parts=dict(sorted(member.parts.items()))) for member in members]
    assert find_merge(members, set()) == find_merge(shuffled, set())
