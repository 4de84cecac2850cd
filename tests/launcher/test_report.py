"""What the person is told when a run has ended."""

from __future__ import annotations

import pytest

from launcher.report import delivered


@pytest.mark.parametrize(
    ("state", "events", "told"),
    [
        ("none", 3, None),
        ("seen", 3, "briefing seen"),
        ("acknowledged", 3, "briefing seen, handoff accepted"),
        ("unverified", 3, "briefing unverified (why)"),
        ("failed", 3, "briefing failed (why)"),
        ("failed", 0, "nothing was said, so no briefing was given"),
    ],
)
def test_the_briefing_in_the_last_line(state: str, events: int, told: str | None) -> None:
    assert delivered({"state": state, "reason": "why"}, events) == told
