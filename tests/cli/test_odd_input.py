"""Whatever is typed, piped or exported: an answer or one message, never a traceback."""

from __future__ import annotations

import json
import os

import pytest

from tests.cli.desk import Desk

PAST = ("--workstream", "past")
ODD: dict[str, bytes] = {
    "invalid-utf8": b"caf\xe9 \xff\xfe",
    "huge": b"x" * 120_000,
    "controls": b"a\x1b[31mb\x07\rc\nd",
    "bidi": "a\u202eb\u2066c".encode(),
    "emoji": "👩‍👩‍👧 \U0001f600".encode(),
    "dashes": b"--",
    "percent": b"%s %n {0}",
    "empty": b"",
}


@pytest.mark.parametrize("word", ODD.values(), ids=ODD)
@pytest.mark.parametrize(
    "command",
    [
        ("show",),
        ("search",),
        ("log", "--workstream"),
        ("briefing",),
        ("rename", "--dry-run"),
    ],
    ids=lambda command: str(command[0]),
)
def test_an_odd_word_gets_an_answer_or_one_message(
    furnished_once: Desk, command: tuple[str, ...], word: bytes
) -> None:
    scope = () if command[0] == "log" else PAST
    answer = furnished_once.quick(*command[:1], *scope, *command[1:], os.fsdecode(word))
    assert answer.code in (0, 64, 65, 69)
    assert "internal error" not in answer.err
    assert "\x1b" not in answer.err + answer.out
    if answer.code:
        assert answer.err.startswith("workstream: ")
        assert answer.out == ""


@pytest.mark.parametrize("word", [b"caf\xe9 \xff", b"\x00nul\x00", b"\xed\xa0\xbd"])
def test_odd_bytes_on_stdin_become_a_note_or_one_message(furnished: Desk, word: bytes) -> None:
    import subprocess
    import sys

    from tests.cli.desk import ENTRY

    done = subprocess.run(
        [sys.executable, "-I", str(ENTRY), "note", "-", *PAST],
        env=furnished.env,
        cwd=furnished.repo,
        input=word,
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, 65)
    assert b"Traceback" not in done.stderr
    assert b"internal error" not in done.stderr
    listed = furnished.ok("note", "--list", *PAST, "--json")
    texts = [note["text"] for note in listed.data["notes"]]
    assert len(texts) == (2 if done.returncode == 0 else 1)
    assert not any("\0" in text for text in furnished.ok("briefing", "codex", *PAST).out)


def test_a_surrogate_in_an_argument_stays_one_json_document(furnished: Desk) -> None:
    furnished.ok("note", b"bad \xff byte", *PAST)
    out = furnished.ok("note", "--list", *PAST, "--json").out
    (note,) = [n for n in json.loads(out)["data"]["notes"] if n["text"].startswith("bad")]
    assert note["text"].isprintable()


@pytest.mark.parametrize(
    "env",
    [
        {"WORKSTREAM_BUDGET": "lots"},
        {"WORKSTREAM_BRIEFING": "perhaps"},
        {"WORKSTREAM_WAIT": "-"},
    ],
    ids=lambda env: next(iter(env)),
)
def test_a_wrong_variable_is_named_and_its_value_is_not_printed(
    desk: Desk, env: dict[str, str]
) -> None:
    answer = desk.run("status", env=env)
    ((name, value),) = env.items()
    assert answer.code == 78
    assert name in answer.err
    assert value not in answer.err.replace(name, "").split()


def test_a_nul_in_an_environment_file_is_refused_with_its_line(desk: Desk) -> None:
    (desk.repo / "x.env").write_bytes(b"A=1\nB=\0\n")
    answer = desk.run("run", "--env-file", "x.env", "codex")
    assert answer.code == 65
    assert "line 2" in answer.err
