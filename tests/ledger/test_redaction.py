from __future__ import annotations

import json
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.redaction import SCRUB_VERSION, Json, scrub, scrub_json
from tests.ledger.secrets_corpus import CASES, HARMLESS, JWT, TOKENS, alnum

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("kind", "before", "secret", "after"),
    CASES,
    ids=[f"{number}-{case[0]}" for number, case in enumerate(CASES)],
)
def test_a_secret_is_replaced_by_its_typed_marker_and_nothing_else(
    kind: str, before: str, secret: str, after: str
) -> None:
    scrubbed = scrub(before + secret + after)
    assert scrubbed.text == f"{before}[redacted:{kind}]{after}"
    assert scrubbed.counts == {kind: 1}


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert scrub(text).text == text
    assert scrub(text).counts == {}


def test_ordinary_lines_stay_ordinary_in_one_text() -> None:
    text = "\n".join(HARMLESS)
    assert scrub(text).text == text


def test_the_corpus_is_as_large_as_promised() -> None:
    assert len({kind for kind, *_ in CASES}) >= 80
    assert len(set(HARMLESS)) >= 100


@pytest.mark.parametrize("case", CASES, ids=str)
def test_scrubbing_twice_changes_nothing_more(case: tuple[str, str, str, str]) -> None:
    once = scrub("".join(case[1:]))
    again = scrub(once.text)
    assert again.text == once.text
    assert again.counts == {}


def test_all_secrets_in_one_text_are_found_and_counted() -> None:
    text = "\n".join(before + secret + after for _, before, secret, after in CASES)
    scrubbed = scrub(text)
    assert sum(scrubbed.counts.values()) == len(CASES)
    for _, _, secret, _ in CASES:
        if len(secret) > 12:
            assert secret not in scrubbed.text


def test_a_token_in_an_assignment_keeps_the_name_and_the_more_exact_type() -> None:
    token = dict(TOKENS)["npm-token"]
    assert scrub(f"NPM_TOKEN={token}").text == "NPM_TOKEN=[redacted:npm-token]"


def test_text_around_is_kept_byte_for_byte_with_surrogates_and_nul() -> None:
    text = f"\ud83d é\x00 {JWT} 密\u202e"
    assert scrub(text).text == "\ud83d é\x00 [redacted:jwt] 密\u202e"


def test_a_secret_inside_a_forged_marker_is_found() -> None:
    token = dict(TOKENS)["github-token"]
    assert token not in scrub(f"password=[redacted:{token}]").text


def test_version_is_a_positive_integer() -> None:
    assert SCRUB_VERSION >= 1


def test_nested_inputs_are_scrubbed_and_the_input_is_not_changed() -> None:
    value: Json = {
        "command": "curl -H 'X-Api-Key: abc123def' https://h",
        "env": [{"API_TOKEN": "zzz"}, {"plain": "text"}],
        "count": 3,
        "flag": None,
    }
    copy = json.loads(json.dumps(value))
    scrubbed, counts = scrub_json(value)
    assert value == copy
    assert scrubbed == {
        "command": "curl -H 'X-Api-Key: [redacted:key]' https://h",
        "env": [{"API_TOKEN": "[redacted:token]"}, {"plain": "text"}],
        "count": 3,
        "flag": None,
    }
    assert counts == {"key": 1, "token": 1}


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "Passwd",
        "token",
        "secret",
        "api_key",
        "apiKey",
        "API-KEY",
        "authorization",
        "client_secret",
        "accessToken",
        "private_key",
        "DB_PASSWORD",
        "credentials",
        "x-api-key",
    ],
)
def test_a_string_under_a_secret_name_is_masked_whole(name: str) -> None:
    scrubbed, counts = scrub_json({name: "plain words of it"})
    assert isinstance(scrubbed, dict)
    assert str(scrubbed[name]).startswith("[redacted:")
    assert sum(counts.values()) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"max_tokens": "4096"},
        {"token": "$TOKEN"},
        {"password": ""},
        {"token_type": "bearer"},
        {"key": "value"},
        {"password": None},
        {"token": 12},
        {"author": "bob"},
        {"file_path": "/a/secrets.py"},
        {"password": "[redacted:password]"},
    ],
)
def test_other_fields_are_kept(fields: dict[str, str | int | None]) -> None:
    assert scrub_json(dict(fields)) == (fields, {})


def test_named_value_pairs_are_masked() -> None:
    pair = {"name": "Authorization", "value": "plain"}
    assert scrub_json([dict(pair)])[0] == [
        {"name": "Authorization", "value": "[redacted:authorization]"}
    ]


def test_argument_vectors_are_masked() -> None:
    argv = ["tool", "--password", "foo", "--verbose", "x"]
    assert scrub_json([*argv])[0] == ["tool", "--password", "[redacted:password]", "--verbose", "x"]
    assert scrub_json(["curl", "-u", "bob:foo"])[0] == ["curl", "-u", "bob:[redacted:password]"]


def test_secret_keys_are_masked_without_losing_a_field() -> None:
    first, second = (f"ghp_{letter}{alnum(35)}" for letter in "ab")
    scrubbed, _ = scrub_json({first: 1, second: 2})
    assert scrubbed == {"[redacted:github-token]": 1, "[redacted:github-token]#2": 2}


def test_bottomless_nesting_ends_in_a_marker() -> None:
    value: list[object] = []
    for _ in range(5000):
        value = [value]
    _, counts = scrub_json(value)  # type: ignore[arg-type]
    assert counts == {"nested-too-deep": 1}


_PIECES = st.sampled_from(
    [case[part] for case in CASES for part in (1, 2, 3)]
    + [
        "password",
        "token",
        "=",
        ": ",
        '"',
        "'",
        '\\"',
        " ",
        "\n",
        "\\n",
        "--",
        "://",
        "@",
        ":",
        ";",
    ]
    + ["[redacted:token]", "[redacted:", "]", "secret", "key", "Cookie: ", "a=", "Bearer ", "xxxx"]
)


@given(st.lists(_PIECES | st.text(max_size=8), max_size=12).map("".join))
def test_any_text_is_stable_after_one_pass(text: str) -> None:
    once = scrub(text).text
    assert scrub(once).text == once


@given(st.text())
def test_any_string_is_accepted(text: str) -> None:
    assert isinstance(scrub(text).text, str)


def _repeated(unit: str, size: int) -> str:
    return (unit * (size // len(unit) + 1))[:size]


_HOSTILE: dict[str, Callable[[int], str]] = {
    name: partial(_repeated, unit)
    for name, unit in {
        "letters": "a",
        "dots": ".",
        "dashes": "-",
        "blanks": " ",
        "newlines": "\n",
        "quotes": '"',
        "backslashes": "\\",
        "begin": "-----BEGIN",
        "private": "-----BEGIN PRIVATE KEY-----",
        "private-lines": "-----BEGIN PRIVATE KEY-----\n",
        "begin-end": "-----BEGIN PRIVATE KEY----------END",
        "putty": "private-lines: 1\n",
        "x=": "x=",
        "password-json": '"password":"',
        "password-json-blank": '"password":" a ',
        "escaped-json": '\\"token\\":\\"',
        "escaped-deep": '\\\\\\"password\\\\\\":\\"',
        "password=": "password=",
        "token-blank": "token ",
        "key": "api_key",
        "eyJ": "eyJ",
        "eyJ-": "eyJ-",
        "eyJ.": "eyJaaaaaaaaaa.",
        "sk-": "sk-",
        "sk-long": "sk-aaaaaaaaaaaaaaaaaaaa ",
        "url": "://",
        "url-colon": "://a:",
        "url-user": "https://aaaaaaaaaaaaaaaaaaaaaaaa:",
        "at": "@",
        "cookie": "cookie: ",
        "cookie-pairs": "cookie: a=b; ",
        "netrc": "machine a login b password ",
        "machine": "machine ",
        "curl": "curl -u ",
        "curl-p": "mysql -p",
        "flags": "--a",
        "flag-password": " --password ",
        "bearer": "bearer ",
        "authorization": "authorization: bearer ",
        "xml": "<password>",
        "xml-open": "</<a",
        "discord": "Maaaaaaaaaaaaaaaaaaaaaaaa.",
        "hex": "0123456789abcdef",
        "nral": "0nral",
        "telegram": "12345678:aa",
        "atlas": ".atlasv1.",
        "sendgrid": "SG.aaaaaaaaaaaaaaaaaaaa",
        "azure": "aaa8Q~",
        "env": "A_TOKEN=",
        "slack": "xoxb-",
        "github": "ghp_",
        "wide": "密码",
    }.items()
}


def _seconds(text: str) -> float:
    best = float("inf")
    for _ in range(2):
        begin = time.process_time()
        scrub(text)
        best = min(best, time.process_time() - begin)
    return best


@pytest.mark.parametrize("name", _HOSTILE)
def test_cost_grows_linearly_on_hostile_text(name: str) -> None:
    make = _HOSTILE[name]
    small, large = _seconds(make(100_000)), _seconds(make(400_000))
    # Linear is 4, quadratic 16; costs below the floor are noise.
    assert large <= 9 * max(small, 0.005)
