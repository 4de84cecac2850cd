from __future__ import annotations

from handoffs.pastes import collapse_pastes


def test_long_pastes_collapse_to_their_first_line() -> None:
    paste = "```\n" + "\n".join(f"log {n}" for n in range(40)) + "\n```"
    kept = collapse_pastes(f"look at this:\n\n{paste}\n\nwhy?")
    assert kept == "look at this:\n\n```\n[pasted: 43 lines]\nwhy?"


def test_a_short_message_stays_as_it_is() -> None:
    assert collapse_pastes("why?\n\nbecause") == "why?\n\nbecause"
