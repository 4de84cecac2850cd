"""From a planned run to a running child: folder, briefings, hook, argv, environment, spawn.

The invariant this module protects: the child does not execute before its pid and start time are
committed, and a launch that fails leaves ledger, links and the person's files as they were.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from importers.base import Importer
from launcher import briefing, folder
from launcher.config import HarnessEntry
from launcher.harnesses import registry
from launcher.harnesses.base import (
    Adapter,
    Channel,
    Invocation,
    Launch,
    LaunchRequest,
    Program,
    Select,
)
from launcher.options import RunOptions
from launcher.place import Place
from launcher.planning import Target
from launcher.resolve import Choice
from ledger import deliveries, git, ids, sessions
from ledger.model import BriefingRow, RunRow, SessionRow
from ledger.store import Store

MAX_RECEIVERS = 20
"""Linked sessions that get a briefing of their own; older ones are given the one for a new one."""

ENTRY = "workstream_entry.py"
STANDARD = ("/bin", "/usr/bin", "/usr/local/bin")
"""Directories that are on PATH in every shell."""

MAX_FOREIGN = 500
"""Sessions of other workstreams that the hook knows and gives nothing, should one be opened."""


class Job(NamedTuple):
    """Everything that is known before a launch is built."""

    store: Store
    place: Place
    options: RunOptions
    choice: Choice
    entry: HarnessEntry
    adapter: Adapter
    importer: Importer
    program: Program
    invocation: Invocation
    env: Mapping[str, str]
    """The child's environment before the adapter's own changes."""
    store_home: Path
    one_shot: bool


class Briefed(NamedTuple):
    """The briefings of a run, and the one its first session will get."""

    rows: tuple[BriefingRow, ...]
    first: briefing.Composed | None
    omitted_reason: str | None = None
    """Why there is none: "--no-briefing", "nothing new", "no channel"."""


class Ready(NamedTuple):
    """A launch that only has to be executed."""

    launch: Launch
    briefed: Briefed
    environment: Mapping[str, str]
    changed: tuple[str, ...]
    """Names of variables that were set or removed."""


def request(job: Job, target: Target, run_dir: Path, text: str | None) -> LaunchRequest:
    """Return what the adapter builds a launch from."""
    hook = (sys.executable, "-I", "-S", str(run_dir / "hook.py"))
    return LaunchRequest(
        invocation=job.invocation,
        program=job.program,
        entry_args=job.entry.args,
        env=job.env,
        cwd=job.place.cwd,
        home=job.store_home,
        run_dir=run_dir,
        hook_command=hook,
        resume=target.resume,
        resume_path=target.path,
        resume_cwd=target.cwd,
        yolo=job.options.yolo or job.place.config.yolo,
        briefing=_wants_briefing(job),
        text=text,
    )


def prepare(job: Job, run: RunRow, target: Target, run_dir: Path) -> Ready:
    """Compose and store the briefings, write the run's folder, build argv and environment.

    Raises the errors of the adapter, the store and the folder; nothing has been started then.
    """
    channel = job.adapter.channel(request(job, target, run_dir, None))
    briefed = _brief(job, run, target, channel, run_dir)
    text = None
    if channel.name not in ("hook", "none") and briefed.first is not None:
        text = _print_now(job.store, run, briefed, channel, _starting(job, target))
    launch = job.adapter.plan(request(job, target, run_dir, text), channel)
    for name, data in launch.files.items():
        folder.write(run_dir, name, data)
    environment, changed = _environment(job, run, launch)
    return Ready(launch=launch, briefed=briefed, environment=environment, changed=changed)


def _wants_briefing(job: Job) -> bool:
    if job.options.briefing is not None:
        return job.options.briefing
    return job.place.config.briefing


# --- briefings ----------------------------------------------------------------------------------


def _brief(job: Job, run: RunRow, target: Target, channel: Channel, run_dir: Path) -> Briefed:
    hook: dict[str, object] = {
        "version": 1,
        "run": run.id,
        "nonce": run.nonce,
        "dialect": job.adapter.dialect.document(),
        "proof": channel.proof,
        "events": str(run_dir / folder.EVENTS),
        "briefings": {},
    }
    source = Path(__file__).with_name("hook.py")
    if not _wants_briefing(job) or channel.name == "none":
        _install_hook(run_dir, hook, source)
        why = channel.why if _wants_briefing(job) else None
        return Briefed(rows=(), first=None, omitted_reason=why or "switched off")
    budget = min(job.options.budget or job.place.config.budget, channel.capacity)
    scene = briefing.Scene(
        place=job.place,
        state=git.state(Path(job.place.checkout.worktree)),
        entry=job.entry.name,
        command=our_command(),
        told=not channel.proof,
    )
    store, workstream = job.store, job.choice.workstream
    rows: list[BriefingRow] = []

    def stored(purpose: str, receiver: SessionRow | None) -> briefing.Composed | None:
        composed = briefing.compose(
            store, workstream, receiver, scene, budget=budget, purpose=purpose
        )
        if composed is not None:
            rows.append(_store_briefing(store, run, purpose, receiver, composed))
            folder.write(run_dir, f"briefings/{rows[-1].id}.txt", composed.text.encode())
        return composed

    plan: dict[str, object] = {"sessions": {}, "compact": {}}
    for native_id in sessions.linked_elsewhere(store, run.store, workstream, limit=MAX_FOREIGN):
        for key in ("sessions", "compact"):
            _place(plan, key, native_id, rows, None)
    by_session: dict[str, briefing.Composed | None] = {}
    starting = _starting(job, target)
    for receiver in _receivers(job, starting):
        composed = stored("session", receiver)
        by_session[receiver.native_id] = composed
        _place(plan, "sessions", receiver.native_id, rows, composed)
        _place(plan, "compact", receiver.native_id, rows, stored("compact", receiver))
    fresh = stored("new", None)
    plan["new"] = None if fresh is None else _entry(rows[-1])
    for purpose in ("clear", "compact"):
        composed = stored(purpose, None)
        key = "clear" if purpose == "clear" else "compact_new"
        plan[key] = None if composed is None else _entry(rows[-1])
    if starting is not None and target.session is None:  # the run makes a fork of it
        row = next((r for r in rows if (r.purpose, r.session) == ("session", starting.id)), None)
        plan["fork"] = None if row is None else _entry(row)
    if channel.name == "hook":  # another channel delivers at the start, and nothing may do so twice
        hook["briefings"] = plan
    _install_hook(run_dir, hook, source)
    first = fresh if starting is None else by_session.get(starting.native_id)
    return Briefed(rows=tuple(rows), first=first, omitted_reason=None if first else "nothing new")


def _starting(job: Job, target: Target) -> SessionRow | None:
    """Return the session whose history the child begins with: the resumed one, a fork's parent."""
    if target.session is not None or job.invocation.select is not Select.FORK:
        return target.session
    if job.invocation.native_id is None:
        return None
    parent = sessions.by_native(
        job.store, job.importer.name, job.invocation.native_id, home=job.store_home
    )
    ours = parent is not None and parent.workstream == job.choice.workstream.id
    return parent if ours else None


def _receivers(job: Job, starting: SessionRow | None) -> list[SessionRow]:
    linked = [
        row
        for row in sessions.of_workstream(job.store, job.choice.workstream)
        if row.entry == job.entry.name and row.home == str(job.store_home) and row.deliver
    ]
    linked.sort(key=lambda row: row.last_at or row.linked_at, reverse=True)
    chosen = linked[:MAX_RECEIVERS]
    if starting is not None and all(r.id != starting.id for r in chosen):
        chosen.append(starting)
    return chosen


def _place(
    plan: dict[str, object],
    key: str,
    native_id: str,
    rows: list[BriefingRow],
    composed: briefing.Composed | None,
) -> None:
    table = plan[key]
    if isinstance(table, dict):
        table[native_id] = None if composed is None else _entry(rows[-1])


def _entry(row: BriefingRow) -> dict[str, object]:
    return {"id": row.id, "file": f"briefings/{row.id}.txt"}


def _store_briefing(
    store: Store,
    run: RunRow,
    purpose: str,
    receiver: SessionRow | None,
    composed: briefing.Composed,
) -> BriefingRow:
    return deliveries.add_briefing(
        store,
        run.id,
        purpose=purpose,
        session=None if receiver is None else receiver.id,
        text=composed.text,
        after_seq=composed.after,
        through_seq=composed.through,
        included=composed.included,
        omitted=composed.omitted,
        marks_through=composed.marks_through,
        notes_through=composed.notes_through,
        handoff=composed.handoff,
    )


def _install_hook(run_dir: Path, hook: Mapping[str, object], source: Path) -> None:
    folder.write(run_dir, "hook.json", json.dumps(hook, ensure_ascii=False).encode())
    folder.write(run_dir, "hook.py", source.read_bytes())


def _print_now(
    store: Store, run: RunRow, briefed: Briefed, channel: Channel, starting: SessionRow | None
) -> str | None:
    """Stamp the briefing for a channel without a hook: printed once, by us, at the start."""
    wanted = ("session", starting.id) if starting is not None else ("new", None)
    row = next((r for r in briefed.rows if (r.purpose, r.session) == wanted), None)
    if row is None:
        return None
    delivery = ids.delivery_id(run.nonce, len(deliveries.of_run(store, run.id)) + 1)
    deliveries.record_printed(
        store,
        delivery,
        run.id,
        row.id,
        channel=channel.name,
        source="start",
        session=row.session,
        at=store.clock.now_ms(),
        proof=channel.proof,
    )
    return row.text.replace(ids.DELIVERY_PLACEHOLDER, delivery)


# --- environment --------------------------------------------------------------------------------


def _environment(job: Job, run: RunRow, launch: Launch) -> tuple[dict[str, str], tuple[str, ...]]:
    before = dict(job.place.env)
    after = dict(job.env)
    foreign = (*registry.parent_variables(), *job.adapter.parent_variables)
    for name in (*foreign, *launch.env_remove):
        if name not in job.options.env and name not in job.entry.env:
            after.pop(name, None)
    after.update(launch.env_set)
    after["WORKSTREAM_ID"] = job.choice.workstream.uid
    after["WORKSTREAM_RUN_ID"] = run.id
    after["WORKSTREAM_NAME"] = job.choice.workstream.name
    after["WORKSTREAM_HOME"] = str(job.store.home)
    names = {n for n in before.keys() | after.keys() if before.get(n) != after.get(n)}
    return after, tuple(sorted(names))


def child_environment(
    place: Place, entry: HarnessEntry, options: RunOptions, adapter: Adapter
) -> dict[str, str]:
    """Return the environment the harness is resolved and started with: ours, entry's, options'."""
    env = dict(place.env)
    for name in adapter.home_variables:
        if not env.get(name, "x").strip():
            del env[name]  # blank means unset, for every reader of it alike
    if entry.home is not None:
        env.update(adapter.home_environment(Path(entry.home)))
    env.update(entry.env)
    env.update(options.env)
    env.update(adapter.store_environment((*entry.args, *options.args)))
    return env


def our_command() -> str:
    """Return how an agent's shell calls us: this very program, by its path, quoted for a shell.

    The plain name only where every shell has its directory: some harnesses run commands in a login
    shell, and a system's profile may set PATH anew, without the place that we were installed in.
    """
    own = Path(sys.argv[0])
    if own.name == ENTRY:  # called by its file, from a checkout
        return shlex.join([sys.executable, "-I", str(own.absolute())])
    if own.name not in ("workstream", "ws"):  # not a command of ours: somebody's own script
        return "workstream"
    path = own.absolute()
    return own.name if str(path.parent) in STANDARD else shlex.quote(str(path))
