"""Secrets in a handoff are replaced before anything of it is digested or stored."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from handoffs.models import MAX_OMISSIONS, Content, Omission, OmissionKind, Statement
from ledger.redaction import scrub

_MARKER: Final = re.compile(r"\[redacted:[a-z0-9_-]+\]")
_TEXT: Final = "secrets were replaced in this handoff"


def scrubbed(content: Content) -> Content:
    """Return the content without secrets; an omission `redacted` says so where there were any."""
    clean = replace(
        content,
        objective=_clean(content.objective),
        state=tuple(_statement(item) for item in content.state),
        next_action=None if content.next_action is None else _statement(content.next_action),
        omissions=tuple(replace(item, text=_clean(item.text)) for item in content.omissions),
    )
    said = any(item.kind is OmissionKind.REDACTED for item in clean.omissions)
    if said or redactions(clean) == 0 or len(clean.omissions) >= MAX_OMISSIONS:
        return clean
    note = Omission(kind=OmissionKind.REDACTED, text=_TEXT)
    return replace(clean, omissions=(*clean.omissions, note))


def redactions(content: Content) -> int:
    """Return how many markers of replaced secrets stand in a content."""
    texts = [content.objective, *(item.text for _, item in content.statements)]
    texts += [item.text for item in content.omissions]
    return sum(len(_MARKER.findall(text)) for text in texts)


def _statement(item: Statement) -> Statement:
    return replace(item, text=_clean(item.text))


def _clean(text: str) -> str:
    return scrub(text).text
