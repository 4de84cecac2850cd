from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from handoffs.answer_schema import answer_schema
from handoffs.parsing import parse_content

ANSWER: dict[str, Any] = {
    "schema": "handoff.v1",
    "objective": "Fix parser",
    "state": [{"text": "`a.py` is half done", "evidence": []}],
    "disposition": "blocked",
    "next_action": None,
    "blocker": 0,
    "omissions": [{"kind": "other", "text": "nothing was measured", "covers": ["state[0]"]}],
}


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for value in schema.values():
            yield from objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from objects(value)


def test_every_object_is_closed_and_complete() -> None:
    found = list(objects(answer_schema()))
    assert len(found) == 4  # content, statement twice, omission
    for item in found:
        assert item["required"] == list(item["properties"])
        assert item["additionalProperties"] is False


def test_an_answer_with_exactly_these_members_is_a_content() -> None:
    schema: Any = answer_schema()
    assert list(ANSWER) == schema["required"]
    parsed = parse_content(json.dumps(ANSWER))
    assert parsed.findings == ()
    assert parsed.content is not None


def test_it_is_small_enough_for_an_argument() -> None:
    assert len(json.dumps(answer_schema())) < 4_000
