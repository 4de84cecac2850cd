"""Rows over a long history: the briefing and searches of a workstream of many events."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench import stores
from bench.measure import Row, environment, ms, share, timed
from bench.words import Words
from launcher import briefing
from launcher.place import here
from ledger import append, content, git, ids, ingest, repositories, sessions, workstreams
from ledger.incoming import Context
from ledger.model import EventKind, Origin, Workstream
from ledger.search import search
from ledger.store import Store, open_store

_BATCH: Final = 5000
_KINDS: Final = (
    (EventKind.USER_MESSAGE, "user"),
    (EventKind.ASSISTANT_MESSAGE, "assistant"),
    (EventKind.TOOL_CALL, "tool"),
    (EventKind.TOOL_RESULT, "tool"),
)
QUERIES: Final = (
    "regression", "the", "parse12 load7", '"returned value"', "数据库", "迁移失败", "nosuchword",
    "object -class", "pytest auth3", "exception handler statement", "def test", "sync5*",
    "error", "import", "is not the same as", "文档",
)  # fmt: skip
_FORMAT: Final = 1


def build(folder: Path, events: int) -> Path:
    """Return a state directory with one workstream of so many events, made when missing.

    The rows go through the ledger's own way in, so that chain, digests and index are valid.
    """
    state = folder / f"history-{events}-{_FORMAT}"
    if state.exists():
        return state
    scratch = state.with_suffix(".part")
    shutil.rmtree(scratch, ignore_errors=True)
    project = stores.repository(folder / "project")
    with open_store(scratch) as store:
        keys = git.describe(project, environment(folder / "home")).keys
        repository = repositories.create(store, keys)
        target = workstreams.create(store, repository.id, "long")
        _fill(store, target, events)
    scratch.rename(state)
    return state


def _fill(store: Store, target: Workstream, events: int) -> None:
    session = sessions.link_session(
        store,
        target,
        harness="claude",
        entry="claude",
        home=Path("/nowhere"),
        native_id="long",
        one_shot=False,
        origin=Origin.OUTSIDE,
        deliver=True,
    )
    author = append.Author(harness="claude", session=session.id, run=None, origin=Origin.OUTSIDE)
    store.db.execute("PRAGMA wal_autocheckpoint = 8000")
    made = 0
    for rows in _rows(store, events):
        with store.transaction() as db:
            where = ingest.context_id(store, Context(owner="bench", host=store.host_id))
            for row in rows:
                row.context = where
            done = append.append(store, target.id, rows, author)
            db.executemany(
                "INSERT INTO membership (session, eid, depth, record, block, active)"
                " VALUES (?,?,?,?,0,1)",
                [(session.id, done.first_eid + n, made + n, made + n) for n in range(len(rows))],
            )
        made += len(rows)


def _rows(store: Store, events: int) -> Iterator[list[append.Row]]:
    words = Words(stores.SEED)
    texts = [words.prose(words.size(220, 3000) + 30) for _ in range(3000)]
    texts += [words.output(words.size(300, 3000) + 30) for _ in range(1500)]
    rows: list[append.Row] = []
    for number in range(events):
        kind, role = _KINDS[number % 4]
        text = f"{words.random.choice(texts)[: words.random.randint(40, 900)]} n{number}"
        raw = text.encode()
        tool = "Bash" if role == "tool" else None
        rows.append(
            append.Row(
                event_id=ids.event_id("claude", kind, (str(number),)),
                kind=str(kind),
                role=role,
                text=text,
                raw=raw,
                size=len(raw),
                tag=store.tag(content.canonical(raw, tool, None, None)),
                at=1_790_000_000_000 + number * 1000,
                context=0,
                call_id=f"call-{number // 4}" if tool else None,
                tool=tool,
                tool_input='{"command":"make check"}' if kind is EventKind.TOOL_CALL else None,
                exit_code=0 if kind is EventKind.TOOL_RESULT else None,
                status="ok" if kind is EventKind.TOOL_RESULT else None,
                turn=f"turn-{number // 40}",
            )
        )
        if len(rows) == _BATCH:
            yield rows
            rows = []
    if rows:
        yield rows


def rows(folder: Path, events: int, repeats: int) -> list[Row]:
    """Briefing, search, and their growth against a quarter of the history."""
    quarter = build(folder, events // 4)
    state = build(folder, events)
    brief, searching = _briefing(folder, state, repeats), _searches(state, repeats)
    brief_before = _briefing(folder, quarter, repeats)
    found_before = _searches(quarter, repeats)
    p50, p95 = share(searching, 0.5), share(searching, 0.95)
    many = f"{events:,} events"
    return [
        Row(
            name=f"briefing from {many}",
            figure=f"{ms(share(brief, 0.5))} median, {ms(brief[-1])} worst",
            target="<= 50 ms",
            ok=share(brief, 0.5) <= 0.050,
        ),
        Row(
            name=f"search over {many}, {len(QUERIES)} queries",
            figure=f"p50 {ms(p50)}, p95 {ms(p95)}",
            target="p50 <= 20 ms, p95 <= 100 ms",
            ok=p50 <= 0.020 and p95 <= 0.100,
        ),
        Row(
            name="growth: briefing, 4x history",
            figure=f"{ms(share(brief_before, 0.5))} -> {ms(share(brief, 0.5))}",
            target="constant (<= 1.5x)",
            ratio=f"{share(brief, 0.5) / share(brief_before, 0.5):.2f}x",
            ok=share(brief, 0.5) <= 1.5 * share(brief_before, 0.5),
        ),
        Row(
            name="growth: search p50, 4x history",
            figure=f"{ms(share(found_before, 0.5))} -> {ms(p50)}",
            target="",
            ratio=f"{p50 / share(found_before, 0.5):.2f}x",
        ),
    ]


def _briefing(folder: Path, state: Path, repeats: int) -> list[float]:
    project = stores.repository(folder / "project")
    with open_store(state, "ro") as store:
        (target,) = workstreams.list_all(store)
        env = environment(folder / "home", state)
        scene = briefing.Scene(
            place=here({**env, "PWD": str(project)}),
            state=git.state(project),
            entry="codex",
            command="workstream",
        )

        def compose() -> object:
            made = briefing.compose(store, target, None, scene, budget=9000, purpose="new")
            if made is None or made.bytes > 9000:
                raise RuntimeError("no briefing, or one over the budget")
            return made

        compose()
        return timed(compose, repeats)


def _searches(state: Path, repeats: int) -> list[float]:
    times: list[float] = []
    with open_store(state, "ro") as store:
        (target,) = workstreams.list_all(store)
        for query in QUERIES:
            times += timed(
                lambda query=query: search(store, query, workstreams=[target.id]),  # type: ignore[misc]
                max(3, repeats // 3),
            )
    return sorted(times)
