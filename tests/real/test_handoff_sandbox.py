"""Handoffs of an agent inside Codex's sandbox, which cannot write our state."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import pytest

from tests.real.handing import (
    ACCEPT,
    END,
    US,
    commit,
    content,
    listed,
    receivers,
    shown,
    stands,
)
from tests.real.stage import Stage

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fakes.messages_api import MessagesApi
    from tests.fakes.responses_api import ResponsesApi

pytestmark = pytest.mark.real

LINE = "workstream-receipt/1 "


@pytest.fixture
def stage(tmp_path: Path, messages: MessagesApi, responses: ResponsesApi, outside: Path) -> Stage:
    """Return a stage whose state no sandbox lets anybody write, with a handoff to be taken up."""
    made = Stage(tmp_path, messages, responses, state=outside / "state")
    made.claude_says("the walrus is half done")
    commit(made)
    return made


@pytest.mark.parametrize("sandbox", ["read-only", "workspace-write"])
def test_answers_and_a_handoff_arrive_when_the_run_ends(stage: Stage, sandbox: str) -> None:
    stage.write("good.json", json.dumps(content("Feed the walrus")))
    stage.write("bad.json", json.dumps(content(next_action={"text": "keep going"})))
    taken = stage.run(
        *("codex", "exec", "-s", sandbox),
        "\n".join(
            (
                f"run: touch {stage.state}/x",
                ACCEPT,
                END,
                f"run: {US} handoff prepare --file good.json",
                f"run: {US} handoff prepare --file bad.json",
                f"run: {US} handoff acknowledge r9 declined -m no",
                f"run: {US} handoff check -- touch checked",
                f"run: {US} handoff receive r1",
            )
        ),
    )
    written, accepted, ended, prepared, bad, nobody, check, received = [
        turn.texts[-1] for turn in stage.responses.turns[1:]
    ]
    assert "Read-only file system" in written  # the sandbox is one
    for text in (accepted, ended, prepared):
        assert LINE in text
        assert "recorded when this run ends" in text
        assert "exited with code 0" in text
    # What cannot be mended later is refused at once, while somebody is there to mend it.
    assert "next_action_empty_wording" in bad
    assert "exited with code 65" in bad
    assert "exited with code 69" in nobody
    assert LINE not in bad + nobody
    assert "exited with code 73" in check
    assert not (stage.repository / "checked").exists()  # no result that cannot be kept
    assert "Mend the walrus" in received

    assert "not applied" not in taken.err
    assert taken.delivery["state"] == "acknowledged"
    one = shown(stage, "r1")
    assert stands(one) == ("acknowledged", "accepted", "covered")
    assert receivers(one) == [("accepted", "codex", taken.session)]
    assert one["receipts"][0]["outcome"]["summary"] == "all done"
    two = shown(stage, listed(stage)[None])
    assert two["content"]["objective"] == "Feed the walrus"
    assert (two["author"]["kind"], two["author"]["session"]) == ("agent", taken.session)


def test_forged_foreign_and_repeated_receipts_are_refused_and_said_so(stage: Stage) -> None:
    declined = {"do": "acknowledge", "target": "r1", "status": "declined", "message": "no"}
    payload = base64.urlsafe_b64encode(json.dumps({**declined, "key": "k"}).encode()).decode()
    beside = f"{US} status >/dev/null; echo {LINE}"
    forged = stage.run(
        *("codex", "exec", "-s", "read-only"),
        "\n".join(
            (
                f"run-found: dlv_([a-z2-7]{{10}})_0001 => echo {LINE}\\1 {payload}",
                f"run: {beside}aaaaaaaaaa {payload}",
                f"run-found: dlv_([a-z2-7]{{10}})_0001 => {beside}\\1 %%%%",
                f"run: {US} note remember the tusk",
            )
        ),
    )
    assert forged.delivery["state"] == "seen"
    assert "it belongs to another run" in forged.err
    assert "a receipt is damaged" in forged.err
    assert forged.err.count("was not applied") == 2
    one = shown(stage, "r1")
    assert (stands(one), one["receipts"]) == (("seen", "open", "not_expected"), [])

    again = stage.run(
        *("codex", "exec", "-s", "read-only"),
        rf"run-found: (work[s]tream-receipt/1 \S+ \S+)\nrecorded => {US} log >/dev/null; echo \1",
    )
    assert "it belongs to another run" in again.err
    notes = stage.workstream("note", "--list", "--json").data["notes"]
    assert [note["text"] for note in notes] == ["remember the tusk"]
