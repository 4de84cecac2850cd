from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from leases.holder import Holder, holder_here
from ledger.store import Store


@dataclass
class FakeClock:
    """Both clocks, set by hand, in milliseconds."""

    now: int = 1_700_000_000_000
    boot: int = 5_000_000

    def now_ms(self) -> int:
        return self.now

    def boot_ms(self) -> int:
        return self.boot

    def pass_ms(self, milliseconds: int) -> None:
        """Let time pass on both clocks."""
        self.now += milliseconds
        self.boot += milliseconds


def seed(store: Store, count: int = 1) -> None:
    """Make a repository with workstreams 1..count."""
    with store.transaction() as db:
        db.execute("INSERT INTO repository VALUES ('rep', 'proj', 'git', 1)")
        db.executemany(
            "INSERT INTO workstream (id, uid, repository, name, created_at, chain)"
            " VALUES (?, ?, 'rep', ?, 1, zeroblob(32))",
            [(number, f"uid{number}", f"ws{number}") for number in range(1, count + 1)],
        )


@dataclass
class Setting:
    """A store with workstreams 1 to 3 and a clock in our hands."""

    store: Store
    clock: FakeClock
    home: Path
    runs: int = field(default=0)

    def holder(self, run: str | None = None) -> Holder:
        """This very process as the holder of a new run."""
        self.runs += 1
        name = run or f"run_{self.runs}"
        return holder_here(self.store, run=name, env={}, harness="codex")
