"""A workstream in a real git repository, with a recorded past, for tests of the store."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from handoffs.ledger_facts import LedgerFacts
from handoffs.models import (
    ActorKind,
    Author,
    Confirmation,
    Content,
    Disposition,
    LiveChecks,
    Omission,
    OmissionKind,
    Ref,
    Statement,
)
from handoffs.repository import snapshot
from handoffs.resolver import Resolver
from handoffs.store import committing, preparing
from handoffs.store.committing import Committed
from handoffs.store.preparing import Circumstances, PreparedAnswer
from importers.base import Event, FileFact, Kind
from leases.holder import Holder, holder_here
from ledger import events, git, repositories, workstreams
from ledger.gitstate import GitState
from ledger.model import RepositoryKeys, RepositoryKind, SessionRow, Workstream
from ledger.store import Store
from tests.ledger.making import START, apply, event, link

ALL_CONFIRMED = LiveChecks(
    live_state=Confirmation.CONFIRMED,
    capability=Confirmation.CONFIRMED,
    authorization=Confirmation.CONFIRMED,
)
PERSON = Author(kind=ActorKind.HUMAN, owner="ada")


def run_git(folder: Path, *args: str) -> str:
    """Call git without anybody's configuration."""
    who = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.com"]
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *who, *args], cwd=folder, env=env, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@dataclass
class Setting:
    """One workstream, its work tree, and short ways to do things there."""

    store: Store
    workstream: Workstream
    tree: Path
    records: int = 0
    sessions: dict[str, SessionRow] = field(default_factory=dict)

    def session(self, name: str = "codex") -> SessionRow:
        """Return the session of a harness, linked at first use."""
        if name not in self.sessions:
            self.sessions[name] = link(
                self.store, self.workstream, f"native-{name}", harness=name, entry=name
            )
        return self.sessions[name]

    def add(self, *items: Any, harness: str = "codex", run: str | None = None) -> None:
        """Import items into a session."""
        apply(self.store, self.session(harness), items, run=run)
        self.workstream = workstreams.get(self.store, self.workstream.id)

    def record(self) -> int:
        """Return the next record number."""
        self.records += 1
        return self.records

    def says(self, text: str, *, agent: bool = False, **how: Any) -> str:
        """Import a message and return its reference."""
        kind = Kind.ASSISTANT_MESSAGE if agent else Kind.USER_MESSAGE
        self.add(event(self.record(), text, kind=kind), **how)
        return f"e{self.workstream.head_seq}"

    def runs(
        self,
        command: str,
        exit_code: int = 0,
        output: str = "",
        *,
        at: int | None = None,
        **how: Any,
    ) -> str:
        """Import a command with its result and return the reference of the result."""
        number = self.record()
        when = START + 10 * number if at is None else at
        call: Event = event(
            number,
            command,
            kind=Kind.TOOL_CALL,
            call_id=f"call-{number}",
            tool="exec_command",
            tool_input={"command": command},
            at=when,
        )
        number = self.record()
        result = event(
            number,
            output,
            kind=Kind.TOOL_RESULT,
            call_id=call.call_id,
            tool="exec_command",
            exit_code=exit_code,
            status="ok" if exit_code == 0 else "error",
            at=when + 1,
        )
        self.add(call, result, **how)
        return f"e{self.workstream.head_seq}"

    def edits(self, path: str, *, at: int | None = None, harness: str = "codex") -> None:
        """Import that a file was edited."""
        when = START + 10 * self.record() if at is None else at
        self.add(FileFact(path=str(self.tree / path), action="edit", at=when), harness=harness)

    # --- handoffs -------------------------------------------------------------------------------

    def ref(self, word: str) -> Ref:
        """Resolve evidence as a person writes it."""
        found = Resolver(self.store, self.workstream, self.tree)(word)
        assert found is not None, word
        return found

    def content(
        self, *evidence: str, words: str = "`a.py` rejects bad input", **how: Any
    ) -> Content:
        """A content with one declared and, with evidence, one cited statement."""
        refs = tuple(self.ref(word) for word in evidence)
        state = [Statement(text=words)]
        if refs:
            state.append(Statement(text="The request in `a.py` is recorded", evidence=refs))
        values: dict[str, Any] = {
            "objective": "Fix parser",
            "state": tuple(state),
            "disposition": Disposition.CONTINUABLE,
            "next_action": Statement(text="Add a test for `a.py`", evidence=refs),
            "omissions": (Omission(kind=OmissionKind.OTHER, text="nothing was measured"),),
        }
        return Content(**{**values, **how})

    def facts(
        self, content: Content | None = None, *, state: GitState | None = None
    ) -> LedgerFacts:
        """The facts of the ledger now."""
        now = workstreams.get(self.store, self.workstream.id)
        return LedgerFacts(self.store, now, self.tree, content=content, state=state)

    def prepare(self, content: Content, **around: Any) -> PreparedAnswer:
        """Prepare as a person."""
        values: dict[str, Any] = {
            "author": PERSON,
            "git": snapshot(git.state(self.tree, timeout_ms=20_000)),
        }
        return preparing.prepare(
            self.store,
            self.workstream,
            content,
            self.facts(content),
            Circumstances(**{**values, **around}),
        )

    @property
    def holder(self) -> Holder:
        """This process, for a short lease."""
        return holder_here(self.store, run="hand-test", env={}, purpose="handoff")

    def commit(self, given: Any) -> Committed:
        """Commit as a person, under a lease of its own."""
        name = given if isinstance(given, str) else getattr(given, "prepared", given)
        content = None if isinstance(name, str) else name.content
        return committing.commit(
            self.store, self.workstream, name, self.facts(content), PERSON, holder=self.holder
        )

    def committed(self, content: Content) -> Committed:
        """Prepare and commit."""
        return self.commit(self.prepare(content))

    def event(self, word: str) -> Any:
        """Return an event."""
        return events.get(self.store, self.workstream, word)


def make(store: Store, workstream: Workstream, folder: Path) -> Setting:
    """Return a setting whose work tree has one commit."""
    folder.mkdir()
    run_git(folder, "init", "-q", "-b", "main")
    (folder / "a.py").write_text("print(1)\n", encoding="utf-8")
    run_git(folder, "add", "a.py")
    run_git(folder, "commit", "-q", "-m", "first")
    return Setting(store=store, workstream=workstream, tree=folder.resolve())


def setting(store: Store, folder: Path) -> Setting:
    """Return a setting in a folder: a repository, a workstream `main`, a work tree."""
    keys = RepositoryKeys(
        kind=RepositoryKind.GIT,
        name="project",
        worktree=str(folder / "tree"),
        common_dir=str(folder),
    )
    workstream = workstreams.create(store, repositories.create(store, keys).id, "main")
    return make(store, workstream, folder / "tree")
