"""Claude Code's hooks and settings: ours beside the person's own, and where hooks are off."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.real.stage import deliveries_in, told, until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.real.stage import Stage

pytestmark = pytest.mark.real

NEWS = "the parser is half done"
OFF = {"disableAllHooks": True}


def _system(stage: Stage) -> str:
    return json.dumps(stage.messages.turns[-1].body["system"])


def _hook(path: Path, text: str) -> dict[str, object]:
    """Return settings with a SessionStart hook that leaves a file and says something."""
    command = f"touch {path}; echo '{text}'"
    return {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": command}]}]}}


@pytest.mark.parametrize("how", ["bare", "safe", "user", "project", "flag"])
def test_where_hooks_are_off_the_system_prompt_tells_in_the_same_run(
    stage: Stage, how: str
) -> None:
    args: list[str] = []
    if how in ("bare", "safe"):
        args = [{"bare": "--bare", "safe": "--safe-mode"}[how]]
    elif how == "user":
        path = stage.claude.store / "settings.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **OFF}))
    elif how == "project":
        stage.write(".claude/settings.json", json.dumps(OFF))
    else:
        args = ["--settings", json.dumps(OFF)]
    done = stage.run("--objective", NEWS, "claude", "-p", *args, "say: fine")
    assert NEWS in _system(stage)
    assert deliveries_in(_system(stage)) == [done.delivery["id"]]
    assert done.delivery["state"] == "unverified"
    assert "hooks are switched off" in done.err
    (row,) = stage.status()["sessions"]
    assert row["native_id"] == done.session
    assert row["seen_through"] == 0


def test_after_an_unverified_delivery_it_is_due_again(stage: Stage) -> None:
    first = stage.run("--objective", NEWS, "claude", "-p", "--safe-mode", "say: one")
    assert first.delivery["state"] == "unverified"
    again = stage.run("claude", "-p", "say: two")
    assert NEWS in told(stage.messages.turns[-1])
    assert again.delivery["state"] == "seen"


def test_without_proof_the_same_is_told_once(stage: Stage) -> None:
    off = ("claude", "-p", "--safe-mode")
    first = stage.run("--objective", NEWS, *off, "say: one")
    assert (first.delivery["state"], first.delivery["told"]) == ("unverified", True)
    again = stage.run(*off, "say: two")
    assert again.session == first.session
    assert again.delivery["state"] == "none"
    assert NEWS not in told(stage.messages.turns[-1])
    (row,) = stage.status()["sessions"]
    assert row["seen_through"] == 0


def test_a_run_without_hooks_is_read_while_it_lives(stage: Stage) -> None:
    child = stage.start("claude", "-p", "--safe-mode", "say: going ;; run: sleep 8 ;; say: late")
    asked = "sleep 8"
    files = stage.claude.session_files
    until(lambda: any(b"tool_use" in path.read_bytes() for path in files()), "the call", 60)
    events = stage.log()
    assert [e["text"] for e in events if e["kind"] == "tool_call"] == [asked]
    assert [e for e in events if e["kind"] == "tool_result"] == []  # it still goes on
    assert {e["origin"] for e in events if e["kind"] != "checkpoint"} == {"run"}
    assert child.wait(60) == 0
    (result,) = [e for e in stage.log() if e["kind"] == "tool_result"]
    assert result["status"] == "ok"


def test_the_persons_own_additions_work_beside_ours(stage: Stage) -> None:
    plugin = stage.root / "their-plugin"
    for name, document in (
        (".claude-plugin/plugin.json", {"name": "theirs", "version": "1.0.0"}),
        ("hooks/hooks.json", _hook(stage.root / "plugin-ran", "plugin words")),
    ):
        path = plugin / name
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(document))
    settings = json.dumps(_hook(stage.root / "settings-ran", "settings words"))
    done = stage.run(
        *("--objective", NEWS, "claude", "-p", "--settings", settings, "--plugin-dir", str(plugin)),
        *("--append-system-prompt", "their own rule", "say: fine"),
    )
    request = stage.messages.turns[-1]
    assert (stage.root / "plugin-ran").exists()
    assert (stage.root / "settings-ran").exists()
    for words in (NEWS, "plugin words", "settings words", "their own rule"):
        assert words in told(request), words
    assert done.delivery["state"] == "seen"
    assert stage.texts("user_message") == ["say: fine"]


@pytest.mark.parametrize("how", ["text", "file"])
def test_the_persons_own_addition_to_the_prompt_stays_when_hooks_are_off(
    stage: Stage, how: str
) -> None:
    if how == "text":
        args = ["--append-system-prompt", "their own rule"]
    else:
        args = ["--append-system-prompt-file", str(stage.write("rules.txt", "their own rule"))]
    stage.run("--objective", NEWS, "claude", "-p", "--safe-mode", *args, "say: fine")
    assert "their own rule" in _system(stage)
    assert NEWS in _system(stage)


def test_without_a_briefing_nothing_is_told_and_the_session_is_followed(stage: Stage) -> None:
    done = stage.run("--no-briefing", "--objective", NEWS, "claude", "-p", "say: fine")
    assert NEWS not in stage.messages.turns[-1].text
    assert done.delivery["state"] == "none"
    assert stage.session(done.session)["current"]
