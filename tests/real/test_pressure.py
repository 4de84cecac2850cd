"""A context that is full, as the real programs record it, and what is done about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.real.stage import Stage

pytestmark = pytest.mark.real

ONE_SHOT = {"codex": ("codex", "exec"), "claude": ("claude", "-p")}


def context(stage: Stage, session: str) -> dict[str, Any]:
    return dict(stage.session(session)["context"])


@pytest.mark.parametrize("harness", ["codex", "claude"])
def test_a_session_that_is_full_and_ends_at_once_is_not_resumed_again(
    stage: Stage, harness: str
) -> None:
    """Both compact first and then fail: the figures after it do not say that it is full."""
    call = ONE_SHOT[harness]
    first = stage.run(*call, "tokens: 170000 10 ;; say: nearly full").session
    seen = context(stage, first)
    assert seen["source"] == "session_store"
    assert seen["tokens"] in (170_000, 170_010)  # codex counts the answer in
    assert (seen["limit"], seen["percent"]) == (
        (258_400, 65) if harness == "codex" else (None,) * 2
    )
    refused = stage.run(*call, "fail: too-long", code=1)
    assert refused.session == first
    assert context(stage, first)["exceeded_at"] is not None
    again = stage.run(*call, "say: fresh")
    assert again.session != first
    assert "the last run of this session ended at once without an answer" in again.err
    assert "its harness said that the context is full" in again.err
    assert again.delivery["state"] == "seen"
    new = context(stage, again.session)
    assert (new["compactions"], new["exceeded_at"]) == (0, None)
    assert new["tokens"] < 170_000
    insisted = stage.run("--no-rollover", *call, "say: further")
    assert insisted.session == again.session


@pytest.mark.parametrize(
    ("harness", "threshold"), [("codex", "PERCENT"), ("claude", "TOKENS")], ids=["codex", "claude"]
)
def test_the_policy_prepares_a_draft_when_the_figures_say_so(
    stage: Stage, harness: str, threshold: str
) -> None:
    folder = stage.root / ".config" / "workstream"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(
        'rollover = "automatic-draft"\nrollover_percent = 60\nrollover_tokens = 160000\n'
    )
    ended = stage.run(*ONE_SHOT[harness], "tokens: 170000 10 ;; say: much was read")
    (line,) = [line for line in ended.err.splitlines() if "a draft is prepared" in line]
    words = "its context is 65 % full" if threshold == "PERCENT" else "its context holds 170,000"
    assert words in line
    name = stage.status()["rollover"]["draft"]
    assert f"workstream handoff commit {name}" in line
    shown = stage.workstream("handoff", "show", name, "--json").data
    (seen,) = shown["observations"]
    assert seen["source"] == f"session_store:{harness}:{ended.session}"
    assert shown["policy"]["boundary"]["state"] == "complete"
    assert stage.workstream("handoff", "commit", name, "--json").data["state"] == "committed"
