from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from ledger.redaction import Json, loose_strings, scrub, scrub_json
from ledger.redaction.sieve import suspects
from tests.ledger.secrets_corpus import CASES, HARMLESS

SECRETS = ["".join(case[1:]) for case in CASES]


def missed(texts: list[str]) -> list[str]:
    named = suspects([text.encode("utf-8", "surrogatepass") for text in texts])
    return [text for at, text in enumerate(texts) if at not in named and scrub(text).text != text]


def test_every_text_of_the_corpus_with_a_secret_is_a_suspect() -> None:
    assert missed(SECRETS) == []
    for secret in SECRETS:
        assert suspects([secret.encode()]) == {0}, secret


def test_secrets_are_found_between_all_kinds_of_neighbours() -> None:
    order = random.Random(7)
    texts = SECRETS + HARMLESS + ["", "a", "machine", "--user", "x:", "curl -u", "Bearer"]
    for _ in range(20):
        order.shuffle(texts)
        assert missed(texts) == []


def test_bare_secrets_at_the_edges_of_a_text_are_suspects() -> None:
    bare = [case[2] for case in CASES] + ["n" + case[2] for case in CASES]
    assert missed(bare) == []


def test_texts_that_only_together_would_hold_a_secret_hide_none() -> None:
    for secret in SECRETS:
        for at in range(1, len(secret), max(1, len(secret) // 9)):
            assert missed([secret[:at], secret[at:], secret, secret[at:] + "\n" + secret]) == []


def test_ordinary_texts_are_mostly_not_suspects() -> None:
    plain = [f"the lines {n} of a report about nothing in particular" for n in range(5000)]
    assert suspects([text.encode() for text in plain]) == set()
    spoiled = [*plain[:2500], "password = 'hunter2!x'", *plain[2500:]]
    assert suspects([text.encode() for text in spoiled]) == {2500}


PIECES = st.sampled_from(
    [*SECRETS, *HARMLESS, "password", "=", ": ", "\n", "\0", "'", '"', "--token ", "curl -u ", "@"]
)


@given(st.lists(st.lists(PIECES, max_size=4).map("".join), max_size=8))
def test_no_mixture_of_pieces_escapes(texts: list[str]) -> None:
    assert missed(texts) == []


NAMES = st.sampled_from(
    ["command", "name", "key", "value", "password", "file_path", "API_KEY", "n"]
)
LEAVES = PIECES | st.sampled_from(["curl", "/usr/bin/curl", "-u", "a:b", "--token", "hunter2!x"])
VALUES = st.recursive(
    LEAVES | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_loose_strings_are_all_that_a_json_value_is_scrubbed_for(value: Json) -> None:
    strings = loose_strings(value)
    if strings is not None and all(scrub(string).text == string for string in strings):
        assert scrub_json(value) == (value, {})


def test_a_value_that_a_name_or_a_neighbour_gives_away_is_not_loose() -> None:
    given_away: list[Json] = [
        {"password": "x"},
        {"name": "Authorization", "value": "x"},
        ["--token", "x"],
        [{"a": ["curl", "-u", "a:b"]}],
    ]
    for value in given_away:
        assert loose_strings(value) is None
    assert sorted(loose_strings({"a": ["b", {"c": 1}]}) or ()) == ["a", "b", "c"]
