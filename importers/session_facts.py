"""What a session says about itself, gathered record by record and kept with the cursor."""

from __future__ import annotations

import msgspec

from importers.base import SessionFacts


class Facts(msgspec.Struct, omit_defaults=True):
    """`SessionFacts` under construction."""

    cwd: str | None = None
    first_cwd: str | None = None
    parent: str | None = None
    one_shot: bool | None = None
    model: str | None = None
    provider: str | None = None
    version: str | None = None
    named: str | None = None
    """Title that the person gave."""
    titled: str | None = None
    """Title that the harness made up."""
    started_at: int | None = None
    last_at: int | None = None
    subagent_of: str | None = None

    def note(self, cwd: str | None, relocated: str | None, version: str | None) -> None:
        """Take over what a later record says."""
        self.cwd = relocated or cwd or self.cwd
        self.version = version or self.version

    def time(self, at: int | None) -> None:
        """Widen the span of the session's own times."""
        if at is not None:
            self.started_at = min(self.started_at or at, at)
            self.last_at = max(self.last_at or at, at)

    def of(self, native_id: str) -> SessionFacts:
        """Return the facts in the contract's form."""
        return SessionFacts(
            native_id=native_id,
            cwd=self.cwd,
            first_cwd=self.first_cwd,
            parent=self.parent,
            subagent_of=self.subagent_of,
            one_shot=self.one_shot,
            model=self.model,
            provider=self.provider,
            version=self.version,
            title=self.named or self.titled,
            started_at=self.started_at,
            last_at=self.last_at,
        )
