from __future__ import annotations

import pytest

from skynet.typed import EvalInputItem, shape_of
from tests.typed.conftest import Returns


class Evaluator:
    async def evaluate_item(self, item: EvalInputItem) -> object:
        return None


@pytest.mark.parametrize(
    ("value", "shape"),
    [(Returns({}), "typed"), (Evaluator(), "toolkit"), (Returns, None), (Evaluator, None), (len, None), (None, None)],
)
def test_an_instance_is_told_by_its_methods_and_a_class_is_none(value: object, shape: str | None) -> None:
    assert shape_of(value) == shape
