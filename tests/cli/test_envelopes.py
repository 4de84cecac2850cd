"""The JSON contract: keys and types of every document, pinned by golden files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.desk import FIXTURES, Desk
from tests.cli.shapes import shape

GOLDEN = Path(__file__).parent / "golden"
PAST = ("--workstream", "past")
CODEX = str(FIXTURES / "codex" / "plain" / "codex-home")

CASES: dict[str, tuple[str, ...]] = {
    "status": ("status", *PAST, "--json"),
    "log": ("log", *PAST, "-n", "0", "--json"),
    "show": ("show", "e1", *PAST, "--json"),
    "search": ("search", "file", *PAST, "--json"),
    "list": ("list", "--json"),
    "note-list": ("note", "--list", *PAST, "--json"),
    "note-add": ("note", "another", *PAST, "--json"),
    "objective": ("objective", *PAST, "--json"),
    "objective-set": ("objective", "make it work", *PAST, "--json"),
    "briefing": ("briefing", "codex", *PAST, "--json"),
    "import": ("import", "codex", "--home", CODEX, "--all", "--into", "past", "--json"),
    "import-list": ("import", "codex", "--home", CODEX, "--all", "--list", "--json"),
    "recover": ("recover", "--json"),
    "verify": ("verify", "--json"),
    "doctor": ("doctor", "--json"),
    "harnesses": ("harnesses", "--json"),
    "config": ("config", "--json"),
}


def _golden(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_bytes())


@pytest.mark.parametrize("name", CASES)
def test_a_document_has_the_keys_and_types_that_were_promised(furnished: Desk, name: str) -> None:
    args = CASES[name]
    document = furnished.ok(*args).envelope
    assert document["command"] == args[0]
    assert shape(document) == _golden(name)


def test_a_run_adds_lease_sessions_and_last_run_to_the_status(furnished: Desk) -> None:
    furnished.ok("run", *PAST, "claude", "-p", "hello")
    furnished.ok("run", *PAST, "codex", "exec", "and on")
    answer = furnished.ok("status", *PAST, "--json")
    assert shape(answer.envelope) == _golden("status-after-runs")
    (delivery,) = answer.data["last_run"]["deliveries"]
    sent = furnished.ok("briefing", "--delivery", delivery["id"], *PAST, "--json")
    assert shape(sent.envelope) == _golden("briefing-delivery")


@pytest.mark.parametrize(
    ("args", "code", "exit_code"),
    [
        (("show", "e99999", *PAST, "--json"), "unavailable", 69),
        (("log", "--workstream", "nowhere", "--json"), "unavailable", 69),
        (("log", "--kind", "poem", *PAST, "--json"), "usage", 64),
        (("log", "--wrong", "--json"), "usage", 64),
        (("harnes", "--json"), "usage", 64),
        (("briefing", "nobody", *PAST, "--json"), "unavailable", 69),
        (("search", "a", "--since", "whenever", *PAST, "--json"), "usage", 64),
    ],
)
def test_an_error_is_an_envelope_too(
    furnished_once: Desk, args: tuple[str, ...], code: str, exit_code: int
) -> None:
    answer = furnished_once.run(*args)
    assert answer.code == exit_code
    document = answer.envelope
    assert (document["command"], document["data"]) == (args[0], None)
    (error,) = document["errors"]
    assert shape(error) | {"detail": "any", "next": "any"} == {
        "code": "string",
        "message": "string",
        "detail": "any",
        "next": "any",
    }
    assert error["code"] == code
    assert answer.err == ""


def test_times_are_iso_with_milliseconds_and_z(furnished_once: Desk) -> None:
    events = furnished_once.ok("log", *PAST, "-n", "0", "--json").data["events"]
    for event in events:
        whole, _, rest = event["occurred_at"].partition(".")
        assert len(whole) == len("2026-11-30T13:36:04")
        assert len(rest) == len("038Z")
        assert rest.endswith("Z")
