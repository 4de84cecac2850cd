"""`forget`: what is named goes for good, and only after somebody has said so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from launcher.forgetting import age
from ledger.errors import UsageError
from tests.cli.desk import Desk

PAST = ("--workstream", "past")


def _events(desk: Desk) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = desk.ok("log", *PAST, "-n", "0", "--json").data["events"]
    return events


def _bytes(desk: Desk) -> bytes:
    return b"".join(p.read_bytes() for p in desk.state.rglob("*") if p.is_file())


def test_an_event_goes_from_log_index_and_file_and_the_chain_still_verifies(
    furnished: Desk,
) -> None:
    furnished.ok("note", "unrelated", *PAST)
    furnished.ok("run", *PAST, "claude", "-p", "the word is xylophonist")
    (event,) = [e for e in _events(furnished) if "xylophonist" in e["text"] and e["role"] == "user"]
    reply = next(e for e in _events(furnished) if e["text"].startswith("claude heard the word"))
    answer = furnished.ok(
        "forget", "--event", f"e{event['seq']}", "--event", reply["event_id"][:20], *PAST,
        "--why", "a slip", "--yes",
    )  # fmt: skip
    assert "forgot 2 events" in answer.err
    assert answer.out == ""
    left = {e["seq"]: (e["text"], e["status"]) for e in _events(furnished)}
    assert left[event["seq"]] == ("", "forgotten")
    assert furnished.ok("search", "xylophonist", *PAST, "--json").data["total"] == 0
    assert b"xylophonist" not in _bytes(furnished)
    furnished.ok("verify")


def test_a_dry_run_counts_and_changes_nothing(furnished: Desk) -> None:
    before = _events(furnished)
    answer = furnished.ok("forget", *PAST, "--dry-run")
    assert f"would forget {len(before)} events" in answer.err
    assert "1 note" in answer.err
    assert _events(furnished) == before


def test_without_a_terminal_it_needs_yes(furnished: Desk) -> None:
    answer = furnished.run("forget", *PAST)
    assert answer.code == 64
    assert "--yes" in answer.err
    assert len(_events(furnished)) > 10


def test_a_session_stays_forgotten_when_it_is_imported_again(furnished: Desk) -> None:
    store = furnished.home / "codex"
    session = furnished.ok("import", "codex", "--home", str(store), "--all", "--list", "--json")
    (native,) = [s["native_id"] for s in session.data["sessions"]]
    furnished.ok("forget", "--session", native, "--yes")
    texts = [e["text"] for e in _events(furnished) if e["session"] == native]
    assert set(texts) == {""}
    for into in ("past", "elsewhere"):
        again = furnished.ok("import", "codex", "--home", str(store), "--all", "--into", into)
        assert f"skipped {native}: it was forgotten on request" in again.err
    assert {e["text"] for e in _events(furnished) if e["session"] == native} == {""}
    furnished.ok("verify")
    furnished.ok("forget", "--session", native, "--yes")


def test_a_whole_workstream_goes_and_its_name_is_free(furnished: Desk) -> None:
    furnished.ok("forget", *PAST, "--yes")
    assert furnished.ok("list", "--json").data["workstreams"] == []
    assert furnished.run("log", *PAST).code == 69
    furnished.ok("verify")
    furnished.ok("run", "--new", "past", "claude", "-p", "a new life")


def test_by_age(furnished: Desk) -> None:
    furnished.ok("run", *PAST, "claude", "-p", "fresh words")
    everything = len(_events(furnished))
    assert "forget 0 events" in furnished.ok("forget", "--older-than", "5000d", "--dry-run").err
    answer = furnished.ok("forget", *PAST, "--older-than", "0h", "--dry-run")
    assert f"would forget {everything} events" in answer.err


def test_backups_that_still_hold_it_are_named(furnished: Desk, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    furnished.ok("backup", str(copy))
    assert str(copy) in furnished.ok("forget", "--event", "e1", *PAST, "--yes").err


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ((), 64),
        (("--event", "e1", "--session", "x", *PAST), 64),
        (("--event", "e1", "--older-than", "1d", *PAST), 64),
        (("--older-than", "soon"), 64),
        (("--event", "e99999", *PAST), 69),
        (("--session", "nobody"), 69),
        (("--workstream", "nowhere"), 69),
    ],
)
def test_what_is_not_there_or_has_no_meaning_is_refused(
    furnished_once: Desk, args: tuple[str, ...], code: int
) -> None:
    answer = furnished_once.quick("forget", *args, "--yes")
    assert (answer.code, answer.out) == (code, "")


def test_ages() -> None:
    assert [age(text) for text in ("12h", "90d", "6 w", "1y")] == [
        43_200_000,
        7_776_000_000,
        3_628_800_000,
        31_557_600_000,
    ]
    with pytest.raises(UsageError):
        age("-3d")
