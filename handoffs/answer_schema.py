"""The content's shape as a JSON schema, for a model that is asked for one.

Every object has all of its members required and no others allowed, and only `type`, `enum`,
`anyOf` and descriptions are used: what strict structured output of providers and the harnesses' own
checks take. Evidence is a short name, which the ledger resolves; a model knows no digests.
Sizes are checked afterwards, with everything else.
"""

from __future__ import annotations

from handoffs.models import SCHEMA, Disposition, OmissionKind

Json = dict[str, object]


def answer_schema() -> Json:
    """Return the schema of a content as a model gives it."""
    return _object(
        schema={"type": "string", "enum": [SCHEMA]},
        objective=_text("What the work is for"),
        state=_list(_statement("One fact of where the work stands")),
        disposition={"type": "string", "enum": [str(word) for word in Disposition]},
        next_action={"anyOf": [_statement("The one next thing to do"), {"type": "null"}]},
        blocker={
            "type": ["integer", "null"],
            "description": "When blocked: index in state, from 0, of the statement that says by"
            " what; else null",
        },
        omissions=_list(
            _object(
                kind={"type": "string", "enum": [str(word) for word in OmissionKind]},
                text=_text("What is left out or not known"),
                covers=_list(_text("state[0], state[1], … or next_action")),
            )
        ),
    )


def _statement(description: str) -> Json:
    evidence = _list(_text("A name of the list, such as e12"))
    return _object(text=_text(description), evidence=evidence)


def _object(**members: Json) -> Json:
    return {
        "type": "object",
        "properties": members,
        "required": list(members),
        "additionalProperties": False,
    }


def _list(item: Json) -> Json:
    return {"type": "array", "items": item}


def _text(description: str) -> Json:
    return {"type": "string", "description": description}
