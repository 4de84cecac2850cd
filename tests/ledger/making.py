"""Builders for ledger tests: small native events, sessions, runs and leases."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from importers.base import Event, Item, Kind, Node
from ledger import runs, sessions
from ledger.incoming import Applied, Context, CursorStep
from ledger.ingest import Ingest, cursor
from ledger.model import Origin, RunRow, SessionRow, Workstream
from ledger.nodes import SessionNodes
from ledger.store import Store

START = 1_700_000_000_000
CONTEXT = Context(owner="ada", host="host-1", cwd="/somewhere", head="abc123")


class SetClock:
    """A clock that stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = START

    def now_ms(self) -> int:
        return self.now

    def boot_ms(self) -> int:
        return self.now - START


def event(
    record: int,
    text: str = "hello",
    *,
    kind: Kind = Kind.USER_MESSAGE,
    name: str | None = None,
    **columns: Any,
) -> Event:
    """An event whose identity is its record number unless it has a name."""
    roles = {Kind.USER_MESSAGE: "user", Kind.ASSISTANT_MESSAGE: "assistant"}
    values: dict[str, Any] = {
        "identity": (name or f"record-{record}",),
        "kind": kind,
        "role": roles.get(kind, "tool"),
        "text": text,
        "at": START + record,
        "depth": record,
        "record": record,
    }
    return Event(**{**values, **columns})


def link(
    store: Store,
    workstream: Workstream | int,
    native_id: str = "native-1",
    **columns: Any,
) -> SessionRow:
    values: dict[str, Any] = {
        "harness": "codex",
        "entry": "codex",
        "home": "/stores/codex",
        "one_shot": False,
        "origin": Origin.OUTSIDE,
        "deliver": True,
    }
    return sessions.link_session(store, workstream, native_id=native_id, **{**values, **columns})


def apply(
    store: Store,
    session: SessionRow,
    items: Iterable[Item],
    *,
    run: str | None = None,
    restart: bool = False,
    state: str = "state",
) -> Applied:
    """Apply one batch at the stored cursor, as the import service does."""
    from importers.base import Batch, SessionFacts
    from importers.service import sort_items

    facts = SessionFacts(native_id=session.native_id)
    batch = Batch(items=tuple(items), state=state, facts=facts, read_bytes=1)
    additions, _ = sort_items(batch)
    nodes = SessionNodes(store, session.id, Node)
    if restart:
        nodes.clear()
    before = cursor(store, session.id)
    step = CursorStep(
        expected=None if before is None else before.version, state=state, signature=""
    )
    origin = Origin.RUN if run else Origin.OUTSIDE
    ingest = Ingest(store, session, run=run, origin=origin, context=CONTEXT)
    return ingest.apply(additions, step, nodes=nodes, facts=facts)


def hold_lease(store: Store, workstream: Workstream, token: int = 1, run: str = "run-x") -> int:
    """Write a held lease as `leases/` would."""
    with store.transaction() as db:
        db.execute(
            "INSERT INTO lease (workstream, token, run) VALUES (?,?,?)"
            " ON CONFLICT (workstream) DO UPDATE SET token = excluded.token, run = excluded.run",
            (workstream.id, token, run),
        )
    return token


def start_run(store: Store, workstream: Workstream, **columns: Any) -> RunRow:
    values: dict[str, Any] = {
        "entry": "codex",
        "harness": "codex",
        "store_id": sessions.native_store(store, "codex", "/stores/codex"),
        "token": 1,
        "one_shot": False,
        "cwd": "/project",
        "worktree": "/project",
        "argv": ["codex"],
        "host_id": "host-1",
        "boot_id": "boot-1",
        "pid_ns": 1,
        "pid": 100,
        "pid_start": 5,
    }
    values |= columns
    hold_lease(store, workstream, values["token"])
    return runs.create(store, workstream=workstream, **values)
