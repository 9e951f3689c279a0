from __future__ import annotations

import json
from typing import Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skynet.errors import SkynetError
from skynet.metric.schema import Mismatch, Schema


class Judgement(pydantic.BaseModel):
    passed: bool
    reason: str


OBJECT: dict[str, Any] = {
    "type": "object",
    "properties": {"label": {"enum": ["a", "b"]}, "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["label"],
    "additionalProperties": False,
}


def test_a_pydantic_model_gives_its_json_schema_and_its_objects() -> None:
    schema = Schema(Judgement)
    assert schema.json == Judgement.model_json_schema()
    assert schema.read('{"passed": true, "reason": "ok"}') == Judgement(passed=True, reason="ok")


@pytest.mark.parametrize("reply", ["no", '{"passed": true}', '{"passed": "perhaps", "reason": ""}'])
def test_a_reply_that_the_pydantic_model_refuses_is_a_mismatch(reply: str) -> None:
    with pytest.raises(Mismatch):
        Schema(Judgement).read(reply)


@pytest.mark.parametrize(
    "reply", ['{"label": "a"}', '```json\n{"label": "a"}\n```', '\n```\n{"label": "a"}```\n', ' {"label": "a"} ']
)
def test_one_fence_around_the_reply_is_taken_off(reply: str) -> None:
    assert Schema(OBJECT).read(reply) == {"label": "a"}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, 3.0),
        ({"type": "number"}, 3),
        ({"type": ["string", "null"]}, None),
        ({"const": None}, None),
        ({"enum": [1, "1"]}, 1),
        ({"type": "number", "minimum": 0, "maximum": 1}, 0),
        ({"minLength": 2}, 5),
        ({"additionalProperties": {"type": "integer"}}, {"a": 1}),
        ({"additionalProperties": True}, {"a": "x"}),
        ({"title": "T", "description": "D"}, []),
        (OBJECT, {"label": "b", "tags": ["x"]}),
    ],
)
def test_a_value_that_fits_is_returned(schema: dict[str, Any], value: Any) -> None:
    assert Schema(schema).read(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("schema", "reply", "words"),
    [
        ({"type": "integer"}, "1.5", "must be of type integer; it is 1.5"),
        ({"type": "integer"}, "true", "must be of type integer; it is True"),
        ({"type": "boolean"}, "1", "must be of type boolean"),
        ({"enum": [1, 0]}, "true", r"must be one of \[1, 0\]"),
        ({"const": "x"}, '"y"', "must be one of"),
        ({"minimum": 0}, "-1", "at least 0; it is -1"),
        ({"maximum": 1}, "2", "at most 1"),
        ({"minLength": 1}, '""', "at least 1 characters"),
        ({"maxLength": 1}, '"ab"', "at most 1 characters"),
        ({"minItems": 1}, "[]", "a list of at least 1"),
        ({"maxItems": 1}, "[1, 2]", "a list of at most 1"),
        (OBJECT, "{}", "the reply lacks 'label'"),
        (OBJECT, '{"label": "c"}', "the reply.label must be one of"),
        (OBJECT, '{"label": "a", "tags": ["x", 1]}', r"the reply.tags\[1\] must be of type string"),
        (OBJECT, '{"label": "a", "more": 1}', "has 'more', which the schema does not name"),
        ({"additionalProperties": {"type": "integer"}}, '{"a": "x"}', "the reply.a must be of type integer"),
        ({}, "{", "it is not JSON"),
        ({}, "NaN", "NaN is not JSON"),
        ({}, "[" * 100_000, "it is not JSON"),
    ],
)
def test_a_value_that_does_not_fit_is_located(schema: dict[str, Any], reply: str, words: str) -> None:
    with pytest.raises(Mismatch, match=words):
        Schema(schema).read(reply)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("string", "must be a pydantic model class or a JSON Schema dict; it is 'string'"),
        (int, "must be a pydantic model class"),
        ({"pattern": "x"}, "'pattern', which is not supported.*give a pydantic model class"),
        ({"propertys": {}}, "Did you mean 'properties'"),
        ({"properties": {"a": {"$ref": "#/x"}}}, r"schema.properties.a has the keyword '\$ref'"),
        ({"items": [1]}, "schema.items must be a dict"),
        ({"type": "text"}, "schema.type is 'text'. It must be one of object"),
        ({"enum": "ab"}, "schema.enum must be a list"),
        ({"minimum": True}, "schema.minimum must be a number"),
        ({"properties": []}, "schema.properties must be a dict"),
    ],
)
def test_a_schema_that_cannot_be_checked_is_refused(schema: Any, words: str) -> None:
    with pytest.raises(SkynetError, match=words):
        Schema(schema)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda one: st.lists(one), max_leaves=5))
def test_without_keywords_every_json_value_fits(value: Any) -> None:
    assert Schema({}).read(json.dumps(value)) == value
