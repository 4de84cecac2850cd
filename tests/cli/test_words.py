"""A person's words: notes and the objective, and how they reach the next agent."""

from __future__ import annotations

from tests.cli.desk import Desk


def test_a_note_and_the_objective_are_in_the_next_briefing_and_a_note_is_told_once(
    desk: Desk,
) -> None:
    desk.ok("run", "--new", "w", "claude", "-p", "begin")
    desk.ok("objective", "ship", "the", "blue", "button")
    desk.ok("note", "the staging server is down")
    desk.ok("note", "--pin", "never touch vendored code")
    desk.ok("note", "--dead-end", "caching the token")
    due = desk.ok("briefing", "codex").out
    for words in (
        "ship the blue button",
        "the staging server is down",
        "never touch vendored code",
        "caching the token",
    ):
        assert words in due
    desk.ok("run", "codex", "exec", "go on")
    desk.ok("run", "claude", "-p", "and back")
    desk.ok("run", "codex", "exec", "once more")
    (sent,) = desk.ok("status", "--json").data["last_run"]["deliveries"]
    again = desk.ok("briefing", "--delivery", sent["id"]).out
    assert "never touch vendored code" in again
    assert "the staging server is down" not in again


def test_a_retired_note_is_in_no_briefing(furnished: Desk) -> None:
    past = ("--workstream", "past")
    number = furnished.ok("note", "--list", *past, "--json").data["notes"][0]["id"]
    assert "mind the gap" in furnished.ok("briefing", "codex", *past).out
    furnished.ok("note", "--retire", str(number), *past)
    assert "mind the gap" not in furnished.ok("briefing", "codex", *past).out
    assert furnished.ok("note", "--list", *past, "--json").data["notes"] == []


def test_a_note_from_stdin_keeps_its_lines(furnished: Desk) -> None:
    past = ("--workstream", "past")
    furnished.ok("note", "-", *past, stdin="first line\nsecond line\n")
    texts = [n["text"] for n in furnished.ok("note", "--list", *past, "--json").data["notes"]]
    assert "first line\nsecond line" in [text.strip() for text in texts]


def test_an_empty_note_is_refused(furnished: Desk) -> None:
    answer = furnished.run("note", "-", "--workstream", "past", stdin="  \n")
    assert answer.code in (64, 65)


def test_a_secret_in_a_note_is_replaced_before_it_is_stored(furnished: Desk) -> None:
    token = "ghp_" + "A1b2C3d4E5" * 3 + "F6g7H8"
    furnished.ok("note", f"use {token}", "--workstream", "past")
    assert token not in furnished.ok("note", "--list", "--workstream", "past").out
    assert token.encode() not in (furnished.state / "workstream.db").read_bytes()


def test_a_secret_in_the_objective_is_replaced_before_it_is_stored(furnished: Desk) -> None:
    token = "ghp_" + "A1b2C3d4E5" * 3 + "F6g7H8"
    furnished.ok("objective", f"use {token}", "--workstream", "past")
    assert token not in furnished.ok("objective", "--workstream", "past").out
