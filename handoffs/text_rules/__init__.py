"""Rules about words: is a text vague, does it claim that a check passed, does it name anything?

All of them are deterministic, know English and a short list of Chinese, look past quoted and
back-quoted spans, and are linear in the text. They are meant to stay quiet on ordinary prose.
"""

from __future__ import annotations

from enum import StrEnum

from handoffs.text_rules.anchors import has_anchor
from handoffs.text_rules.claims import claims_pass
from handoffs.text_rules.empty import Says, says
from handoffs.text_rules.transcript import refers
from handoffs.text_rules.words import sentences, unquoted

__all__ = ["Vague", "claims_pass", "has_anchor", "vague"]


class Vague(StrEnum):
    """Why a text says nothing to somebody who was not there."""

    TRANSCRIPT_REFERENCE = "transcript_reference"
    EMPTY_WORDING = "empty_wording"


def vague(text: str) -> Vague | None:
    """Return why `text` is vague, None when it is not.

    One sentence that sends its reader to a conversation is enough; empty wording must be all of
    it, but for sentences that say nothing at all.
    """
    found = sentences(unquoted(text))
    if any(refers(sentence) for sentence in found):
        return Vague.TRANSCRIPT_REFERENCE
    said = {says(sentence) for sentence in found}
    if Says.SOMETHING in said or said == {Says.NOTHING}:
        return None
    return Vague.EMPTY_WORDING
