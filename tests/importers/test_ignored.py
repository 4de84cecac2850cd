from __future__ import annotations

from typing import Any

import pytest

from importers.base import Batch, Event, FileFact, Item, Kind, LeftOut, SessionFacts
from importers.ignored import IGNORED, Ignored


def call(name: str, text: str = "", **tool_input: Any) -> Event:
    return Event(
        identity=(name,),
        kind=Kind.TOOL_CALL,
        role="assistant",
        text=text,
        at=1,
        depth=1,
        record=1,
        call_id=name,
        tool="Read",
        tool_input=tool_input,
    )


def result(name: str) -> Event:
    return Event(
        identity=(name, "r"),
        kind=Kind.TOOL_RESULT,
        role="tool",
        text="content",
        at=1,
        depth=2,
        record=2,
        call_id=name,
    )


def batch(*items: Item) -> Batch:
    return Batch(items=items, state="", facts=SessionFacts(native_id="n"), read_bytes=1)


@pytest.mark.parametrize(
    ("pattern", "path", "ignored"),
    [
        ("*.pem", "keys/a.pem", True),
        ("*.pem", "/w/keys/a.pem", True),
        ("*.pem", "a.pem.txt", False),
        ("private/", "private/plan.md", True),
        ("private/", "src/private/plan.md", True),
        ("secrets/*", "secrets/a/b", True),
        ("secrets/*", "other/secrets.md", False),
        (".env", "/w/.env", True),
        (".env", "/w/.envrc", False),
    ],
)
def test_patterns_match_like_in_a_shell(pattern: str, path: str, ignored: bool) -> None:
    assert Ignored([pattern], "/w").matches(path) is ignored


@pytest.mark.parametrize(
    "touching",
    [
        call("c", file_path="/w/.env"),
        call("c", command="cat .env | head"),
        call("c", "cat ./.env"),
        call("c", changes={"/w/.env": {"type": "add"}}),
        call("c", command=["cat", ".env"]),
    ],
)
def test_a_call_on_an_ignored_path_is_left_out_with_its_result(touching: Event) -> None:
    kept = Ignored([".env"], "/w").without(batch(touching, result("c"), result("other")))
    assert kept.items == (result("other"), LeftOut(kind=IGNORED, number=2))


def test_the_result_is_left_out_in_a_later_batch_too() -> None:
    rules = Ignored([".env"], "/w")
    rules.without(batch(call("c", file_path=".env")))
    assert rules.without(batch(result("c"))).items == (LeftOut(kind=IGNORED, number=1),)


def test_file_facts_of_ignored_paths_are_left_out() -> None:
    fact = FileFact(path="/w/.env", action="edit", at=1)
    assert Ignored([".env"], "/w").without(batch(fact)).items == (LeftOut(kind=IGNORED, number=1),)


def test_without_patterns_the_batch_is_the_same_object() -> None:
    given = batch(call("c", file_path=".env"))
    assert Ignored([], "/w").without(given) is given
