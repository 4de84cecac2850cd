from __future__ import annotations

import pytest

from importers.own_output import holds_briefing, receipts, runs_us, without_briefings

ID = "dlv_abcdefgh23_0001"
FENCE = f"===== BEGIN WORKSTREAM {ID} =====\n| one\n| two\n===== END WORKSTREAM {ID} ====="


@pytest.mark.parametrize(
    "command",
    [
        "workstream search x",
        "cd /x && workstream log -n 5 | head",
        "WORKSTREAM_HOME=/tmp/s workstream note 'a b'",
        "/home/user/.local/bin/workstream show e12",
        "'/opt/workstream' show e1",
        "'/home/a user/bin/workstream' handoff acknowledge r1 accepted",
        '"/home/a user/bin/ws" note x',
        "/opt/venv/bin/python3.11 -I /src/workstream_entry.py handoff outcome completed -m x",
        "'/a b/python' -I '/a b/workstream_entry.py' log",
        "ws handoff prepare",
        "env A=1 ws --json search foo",
        "out=$(ws status --short); echo $out",
        "uvx workstream list",
        "if true; then workstream status; fi",
        "workstream",
    ],
)
def test_a_command_that_runs_us_is_recognised(command: str) -> None:
    assert runs_us(command)


@pytest.mark.parametrize(
    "command",
    [
        "cat workstream.toml",
        "grep -r workstream .",
        "ls workstream/",
        "ws --port 80",
        "ws wss://host",
        "npm install ws",
        "./workstream_entry.py",
        "echo news | sort",
        "cd workstream && make",
        "python -m pytest tests/workstream",
        "python -m mypy workstream_entry.py",
        "echo 'see /x/workstream' && true",
    ],
)
def test_a_command_that_only_mentions_us_is_not(command: str) -> None:
    assert not runs_us(command)


def test_fence_is_taken_out_and_its_id_returned() -> None:
    assert without_briefings(f"before\n{FENCE}\nafter") == ("before\nafter", [ID])


def test_fence_without_end_reaches_to_the_end() -> None:
    cut = FENCE.rpartition("=====\n")[0] + "=====\n| one"
    assert without_briefings(f"go on\n{FENCE[:60]}\n| one\n| tw")[0] == "go on"
    assert without_briefings(cut) == ("", [ID])


def test_two_fences_and_words_between_them() -> None:
    other = FENCE.replace("_0001", "_0002")
    text, ids = without_briefings(f"{FENCE}\nwords\n{other}")
    assert (text, ids) == ("words", [ID, ID.replace("_0001", "_0002")])


def test_words_about_a_briefing_stay() -> None:
    text = f"The line BEGIN WORKSTREAM starts it, with {ID}.\n  BEGIN WORKSTREAM without an id"
    assert without_briefings(text) == (text, [])


def test_output_with_a_fence_line_is_recognised() -> None:
    assert holds_briefing(f"x\n{FENCE}")
    assert not holds_briefing("it says BEGIN WORKSTREAM somewhere")


def test_receipt_lines_are_found() -> None:
    assert receipts("noise\nworkstream-receipt/1 nonce abc\r\nrecorded") == [
        "workstream-receipt/1 nonce abc"
    ]


def test_a_briefing_that_was_never_printed_is_ours_as_well() -> None:
    fence = "BEGIN WORKSTREAM BRIEFING dlv_@@@@@@@@@@_@@@@\n| x\nEND WORKSTREAM BRIEFING {}\n"
    text = "before\n" + fence.format("dlv_@@@@@@@@@@_@@@@") + "after\n"
    rest, found = without_briefings(text)
    assert rest == "before\nafter"
    assert found == ["dlv_@@@@@@@@@@_@@@@"]
