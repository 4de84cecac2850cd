from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handoffs.canonical import (
    canonical,
    content_bytes,
    content_digest,
    content_value,
    prepared_id,
    text_digest,
    value_digest,
)
from handoffs.models import Base, Content, Statement
from handoffs.parsing import parse_content
from handoffs.stored import content_from
from ledger.errors import BadDataError
from tests.handoffs.contents import check_ref, content, contents, ref


def test_keys_are_sorted_and_nothing_is_spaced() -> None:
    assert canonical({"b": [1, None, True], "a": "é"}) == '{"a":"é","b":[1,null,true]}'.encode()


def test_composed_and_decomposed_text_are_one() -> None:
    assert canonical(["e\u0301"]) == canonical(["\u00e9"])
    assert text_digest("e\u0301") == text_digest("\u00e9")


@pytest.mark.parametrize(
    "value", [1.5, float("nan"), {1: 2}, {"é": 1, "e\u0301": 2}, "\ud800", b"x", {"a": {1, 2}}]
)
def test_what_has_no_canonical_form_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"canonical JSON|NFC|surrogates"):
        canonical(value)


def test_the_digest_of_a_known_content_stays_what_it_was() -> None:
    value = Content(
        objective="Fix parser",
        state=(Statement(text="Strings work", evidence=(check_ref(),)),),
        disposition=content().disposition,
        next_action=Statement(text="Do comments"),
    )
    assert json.loads(content_bytes(value))["schema"] == "handoff.v1"
    assert content_digest(value) == GOLDEN


GOLDEN = "sha256:c7609c3834f6d9c1f668d565537ca0aafac808156668c0f1e8c5877136c47b90"


@settings(max_examples=40, deadline=None)
@given(contents(), st.randoms(use_true_random=False))
def test_the_digest_does_not_depend_on_the_order_of_keys_and_evidence(
    value: Content, chance: random.Random
) -> None:
    def shuffled(item: Any) -> Any:
        if isinstance(item, dict):
            pairs = [(key, shuffled(inner)) for key, inner in item.items()]
            chance.shuffle(pairs)
            found = dict(pairs)
            if "evidence" in found:
                again = [*found["evidence"], *found["evidence"][:1]]
                chance.shuffle(again)
                found["evidence"] = again
            return found
        return [shuffled(inner) for inner in item] if isinstance(item, list) else item

    parsed = parse_content(json.dumps(shuffled(content_value(value))).encode())
    assert parsed.findings == ()
    assert parsed.content is not None
    assert content_digest(parsed.content) == content_digest(value)


def test_the_words_alone_make_the_digest() -> None:
    assert set(content_value(content())) == {
        *("schema", "objective", "state", "disposition", "next_action", "blocker", "omissions")
    }


def test_other_words_another_digest() -> None:
    assert content_digest(content("One a.py")) != content_digest(content("One b.py"))


def test_a_prepared_id_is_made_from_scope_base_and_words() -> None:
    digest = content_digest(content())
    base = Base(revision=1, content_digest=digest)
    found = prepared_id("w1", None, digest)
    assert found == prepared_id("w1", None, digest)
    assert len({found, prepared_id("w2", None, digest), prepared_id("w1", base, digest)}) == 3
    assert found.startswith("prp_")
    assert len(found) == 4 + 26


def test_a_stored_content_comes_back_as_it_was() -> None:
    value = content(blocker=None)
    assert content_from(content_bytes(value)) == value


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: raw[:-1],
        lambda raw: raw.replace(b"Fix parser", b" Fix parser"),
        lambda raw: raw.replace(b'"blocker":null', b'"blocker":true'),
        lambda raw: raw.replace(b'"continuable"', b'"done"'),
        lambda raw: raw.replace(b'"state":', b'"State":'),
        lambda raw: raw[:0] + b"[]",
        lambda raw: b"\xff" + raw,
    ],
)
def test_a_damaged_row_is_said_to_be_damaged(damage: object) -> None:
    assert callable(damage)
    with pytest.raises(BadDataError):
        content_from(damage(content_bytes(content())))


def test_value_digest_names_its_algorithm() -> None:
    assert value_digest({}).startswith("sha256:")
    assert ref().digest.startswith("sha256:")
