"""Hooks switched off, and hooks of the person's own, beside ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.real.codex_terminal import codex
from tests.real.stage import deliveries_in, told

if TYPE_CHECKING:
    from pathlib import Path

    from tests.real.stage import Stage

pytestmark = pytest.mark.real

OFF = ("-c", "features.hooks=false")
ASK = "tool: mcp__workstream_context/briefing => {} ;; say: fine"


@pytest.mark.parametrize("off", [OFF, ("--disable", "hooks"), ()], ids=["-c", "--disable", "file"])
def test_without_hooks_the_same_run_delivers_by_other_means(
    stage: Stage, off: tuple[str, ...]
) -> None:
    if not off:
        with (stage.codex.store / "config.toml").open("a", encoding="utf-8") as file:
            file.write("[features]\nhooks = false\n")
    stage.claude_says("the parser is half done")
    created = stage.run("codex", "exec", *off, "say: one")
    assert "half done" in told(stage.responses.turns[-1])
    assert created.delivery["state"] == "seen"  # found in the rollout
    assert "briefing by instructions" in created.err
    assert deliveries_in(stage.responses.turns[-1].text) == [created.delivery["id"]]

    stage.workstream("note", "now it is whole")
    resumed = stage.run("codex", "exec", *off, ASK)
    assert resumed.session == created.session
    pointed, called = stage.responses.turns[-2:]
    assert "not up to date" in told(pointed)
    assert "now it is whole" in called.text
    assert resumed.delivery["state"] == "seen"  # the model asked for it, and got it
    assert "briefing by mcp" in resumed.err
    assert stage.texts("user_message", "codex") == ["say: one", ASK]
    assert not any("WORKSTREAM BRIEFING" in event["text"] for event in stage.log())


def test_a_briefing_that_the_model_did_not_fetch_stays_unverified_and_owed(stage: Stage) -> None:
    session = stage.run("codex", "exec", "say: one").session
    stage.workstream("note", "the parser is half done")
    ignored = stage.run("codex", "exec", *OFF, "say: I do not ask")
    assert ignored.session == session
    assert ignored.delivery["state"] == "unverified"
    assert stage.session(session)["seen_through"] == 0
    again = stage.run("codex", "exec", "say: two")
    assert again.delivery["state"] == "seen"
    assert "half done" in told(stage.responses.turns[-1])


def test_hooks_of_the_persons_own_work_beside_ours(stage: Stage, tmp_path: Path) -> None:
    """One in the file, one by -c: the first is trusted by the person's own flag here."""
    with (stage.codex.store / "config.toml").open("a", encoding="utf-8") as file:
        file.write(f"[[hooks.SessionStart]]\n[[hooks.SessionStart.hooks]]\n{_hook('file')}")
    stage.claude_says("the parser is half done")
    flag = f"hooks.SessionStart=[{{hooks=[{_inline(tmp_path, 'flag')}]}}]"
    trusting = "--dangerously-bypass-hook-trust"
    done = stage.run("codex", "exec", trusting, "-c", flag, "say: one")
    request = stage.responses.turns[-1]
    assert "words of the file hook" in told(request)
    assert (tmp_path / "flag").read_text(encoding="utf-8") == "ran\n"
    assert "half done" in told(request)
    assert done.delivery["state"] == "seen"
    assert stage.texts("user_message", "codex") == ["say: one"]


@pytest.mark.terminal
def test_our_hooks_ask_for_no_trust(stage: Stage) -> None:
    stage.claude_says("the parser is half done")
    with codex(stage) as one:
        shown = one.terminal.raw.decode(errors="replace").lower()
        assert "review" not in shown
        assert "trust" not in shown
        assert "half done" in told(one.say("say: one"))
        assert one.leave()["delivery"]["state"] == "seen"
    assert "trusted_hash" not in (stage.codex.store / "config.toml").read_text(encoding="utf-8")


def _hook(name: str) -> str:
    return f'type = "command"\ncommand = "echo words of the {name} hook"\n'


def _inline(folder: Path, name: str) -> str:
    return f'{{type="command",command="echo ran >> {folder / name}"}}'
