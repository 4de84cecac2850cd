"""Who can be asked; the asking itself is in tests/run/test_agent_draft.py."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from launcher import asking
from launcher.config import HarnessEntry
from launcher.handing import agent_draft
from launcher.harnesses import registry
from launcher.harnesses.base import Askable
from ledger.errors import UsageError


def test_only_those_that_promise_to_leave_no_trace_are_named() -> None:
    named = agent_draft.askable()
    assert {"codex", "claude"} <= set(named)
    for name in registry.names():
        assert isinstance(registry.get(name), Askable) == (name in named)


def test_another_harness_is_refused_with_the_names_of_those(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entry = HarnessEntry(name="walrus", use="walrus")
    asked: Any = SimpleNamespace(entry=entry, adapter=SimpleNamespace(title="Walrus Code"))
    monkeypatch.setattr(asking, "ask_for", lambda *_: asked)
    bench: Any = SimpleNamespace(place=None)
    with pytest.raises(UsageError, match="Walrus Code cannot be asked") as refused:
        agent_draft.ask(bench, "walrus")
    assert refused.value.next_step is not None
    assert "codex" in refused.value.next_step
