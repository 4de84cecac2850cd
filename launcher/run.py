"""`workstream run`: acquire, catch up, plan, brief, spawn, wait, finish.

The exit code is the harness's own once it was started, whatever happens afterwards; ours, from the
table in `ledger/errors.py`, before that.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from importers import registry as importer_registry
from launcher import (
    child,
    ending,
    executables,
    folder,
    launching,
    planning,
    pressure,
    prompts,
    report,
)
from launcher.asking import Asked, ask_for, last_harness
from launcher.catchup import adoptable, catch_up, finish_unfinished
from launcher.config import checked_budget
from launcher.harnesses.base import Form, Select
from launcher.launching import Job
from launcher.options import RunOptions
from launcher.output import say
from launcher.place import Place
from launcher.planning import Target
from launcher.resolve import Choice, choose_or_create
from launcher.unmanaged import pass_through, unmanaged, without_state
from leases import lease as leases
from leases.errors import LeaseHeld
from leases.heartbeat import Heartbeat
from leases.holder import holder_here
from ledger import host, ids, runs, sessions, workstreams
from ledger.errors import BusyError, StateError, WorkstreamError
from ledger.model import Outcome, RunRow, Step
from ledger.store import Store, open_store

FAST_FAILURE_MS = 8_000
"""A resume that ends with an error this soon, and touched nothing, is taken for a refusal."""


def run(options: RunOptions, place: Place) -> int:
    """Do one managed run and return the exit code. Raises our errors before the child starts."""
    if options.budget is not None:
        checked_budget(options.budget, "--budget")
    for warning in place.config.warnings:
        say(warning)
    named = options.harness if options.harness not in (None, "-") else None
    asked = None if named is None else ask_for(place, named, options.args)
    if asked is not None and asked.invocation.form is Form.UTILITY:
        pass_through(place, options, asked)
    if options.unmanaged:
        unmanaged(place, options, asked)
    if options.dry_run:
        from launcher.dryrun import dry_run

        return dry_run(place, options, asked)
    try:
        with open_store(place.home) as store:
            _refuse_nested(store, place)
            return _managed(store, place, options, asked)
    except StateError as error:
        return without_state(place, options, asked, error)


def _refuse_nested(store: Store, place: Place) -> None:
    run_id = place.env.get("WORKSTREAM_RUN_ID", "").strip()
    outer = runs.find(store, run_id) if run_id else None
    if outer is None or outer.step is Step.CLOSED:
        return
    view = leases.inspect(store, outer.workstream)
    if view is None or view.holder is None or view.holder.run != outer.id:
        return
    name = workstreams.get(store, outer.workstream).name
    raise BusyError(
        f"this is inside a run of workstream {name} already ({outer.entry}, {outer.id})",
        next_step="Start the harness without a run of its own: workstream run --unmanaged …",
    )


# --- the managed run ----------------------------------------------------------------------------


def _managed(store: Store, place: Place, options: RunOptions, asked: Asked | None) -> int:
    choice = _choose(store, place, options)
    if asked is None:
        asked = ask_for(place, last_harness(store, place, options, choice), options.args)
        if asked.invocation.form is Form.UTILITY:
            pass_through(place, options, asked)
    job = make_job(store, place, options, choice, asked)
    held = _acquire(job)
    try:
        heartbeat = Heartbeat(store, held)  # opens its connection before the fork
        started = _start(job, held)
    except BaseException:
        leases.release(store, choice.workstream.id, held.token)
        raise
    return _watch(job, held, started, heartbeat)


class _Question(Exception):  # noqa: N818
    """Something only the person can answer came up inside a transaction."""


def _choose(store: Store, place: Place, options: RunOptions) -> Choice:
    """Find or create the workstream; no transaction is open while the person thinks."""
    answers: dict[str, bool] = {}

    def ask(question: str) -> bool:
        if question not in answers:
            raise _Question(question)
        return answers[question]

    while True:
        try:
            with store.transaction():
                choice = choose_or_create(
                    store,
                    place,
                    name=options.workstream,
                    new=options.new,
                    ask=ask if place.terminal else None,
                )
                bring_handoff(store, choice, options)
                if options.objective is None:
                    return choice
                who = host.user_name()
                workstreams.set_objective(store, choice.workstream, options.objective, by=who)
                return choice._replace(workstream=workstreams.get(store, choice.workstream.id))
        except _Question as question:
            answers[str(question)] = prompts.confirm(str(question))


def bring_handoff(store: Store, choice: Choice, options: RunOptions) -> None:
    """Do what `--from` asks for. Raises UsageError and UnavailableError."""
    if options.source is None:
        return
    from launcher.handing import bringing

    where, new = choice.workstream, choice.created
    bringing.bring(store, choice.repository, where, options.source, new=new)


def make_job(
    store: Store,
    place: Place,
    options: RunOptions,
    choice: Choice,
    asked: Asked,
    cache: Path | None = None,
) -> Job:
    """Return what is known before a launch is built. Raises NotFoundError and its kin."""
    env = launching.child_environment(place, asked.entry, options, asked.adapter)
    path = executables.find(asked.adapter, asked.entry, env, options.executable)
    cache = cache or store.home / "programs.json"
    program = executables.inspect(asked.adapter, path, env, cache)
    importer = importer_registry.get(asked.adapter.name)
    return Job(
        store=store,
        place=place,
        options=options,
        choice=choice,
        entry=asked.entry,
        adapter=asked.adapter,
        importer=importer,
        program=program,
        invocation=asked.invocation,
        env=env,
        store_home=importer.home(env),
        one_shot=asked.invocation.form is Form.ONE_SHOT,
    )


def _acquire(job: Job) -> leases.Lease:
    """Take the lease, waiting or asking as the person wants. Raises LeaseHeld (75)."""
    store, workstream = job.store, job.choice.workstream
    holder = holder_here(
        store, run=ids.random_id("run_"), env=job.place.env, harness=job.entry.name
    )
    if job.options.take_over:
        return leases.take_over(store, workstream.id, holder)
    wait = job.options.wait if job.options.wait is not None else job.place.config.wait
    deadline = time.monotonic() + wait
    while True:
        try:
            return leases.acquire(store, workstream.id, holder)
        except LeaseHeld as held:
            if time.monotonic() < deadline:
                time.sleep(min(0.5, max(0.0, deadline - time.monotonic())))
                continue
            if not job.place.terminal or job.options.quiet or job.one_shot:
                raise
            answer = prompts.busy(held.description)
            if answer == "quit":
                raise
            if answer == "take over":
                return leases.take_over(store, workstream.id, holder, seen_token=held.view.token)
            if answer == "stop":
                ending.ask_to_stop(held.view)
            deadline = time.monotonic() + 3600


class Started(NamedTuple):
    """A run whose child is alive."""

    run: RunRow
    target: Target
    ready: launching.Ready
    process: child.Child
    began: float
    """Monotonic seconds at the begin of the run."""
    spawned: float
    """Monotonic seconds when the child was started."""


def _start(job: Job, held: leases.Lease) -> Started:
    began = time.monotonic()
    store = job.store
    finish_unfinished(store, job.choice.workstream, held, quiet=job.options.quiet)
    catch_up(store, job.choice.workstream, job.place, say_losses=not job.options.quiet)
    job = job._replace(
        choice=job.choice._replace(workstream=workstreams.get(store, job.choice.workstream.id)),
        options=_maybe_adopt(job),
    )
    # Catching up, or a question, may have taken longer than the lease lasts; nobody beats yet.
    leases.renew(store, job.choice.workstream.id, held.token)
    target = planning.decide(planning_request(job, held), one_shot=job.one_shot)
    if target.worn is not None:
        target = proposed(job, target, prompts.agree)
        leases.renew(store, job.choice.workstream.id, held.token)
    if job.options.adopt is not None or job.invocation.select in (Select.RESUME, Select.NAMED):
        # Perhaps linked just now, by the person's choice: its past is not the work of this run.
        catch_up(store, job.choice.workstream, job.place, say_losses=not job.options.quiet)
    _warn_of_neighbours(job)
    row = record(job, held, target)
    return _launch(job, held, target, row, began)


def _warn_of_neighbours(job: Job) -> None:
    """Say that another workstream runs in the same work tree: both change the same files."""
    worktree = job.place.checkout.keys.worktree
    workstream = job.choice.workstream.id
    if job.options.quiet:
        return
    for live in leases.live_elsewhere(job.store, worktree, workstream=workstream):
        say(f"workstream {live.name} is running in this work tree too: {live.description}")


def planning_request(job: Job, held: leases.Lease | None) -> planning.Request:
    """Return what the target is decided from; without a lease nothing is known of an old child."""
    return planning.Request(
        store=job.store,
        choice=job.choice,
        entry=job.entry.name,
        adapter=job.adapter,
        importer=job.importer,
        home=job.store_home,
        invocation=job.invocation,
        options=job.options,
        cwd=job.place.cwd,
        entry_args=job.entry.args,
        old_child_may_live=held is not None and _old_child_may_write(job, held),
        full=pressure.thresholds(job.place.config),
    )


def _old_child_may_write(job: Job, held: leases.Lease) -> bool:
    """Tell whether the child of the run before may still write a session of this harness.

    One of another harness keeps nobody from resuming what it never opened.
    """
    if held.verdict is None or not held.verdict.child_may_live:
        return False
    before = None if held.previous is None else held.previous.holder
    run = None if before is None else runs.find(job.store, before.run)
    return run is None or run.harness == job.adapter.name


def proposed(job: Job, target: Target, ask: Callable[[str], bool]) -> Target:
    """Propose a new session where the linked one is worn out; asks a person at a terminal."""
    from launcher import rollover

    nobody = not job.place.terminal or job.one_shot or job.options.quiet
    return rollover.proposed(target, job.entry.name, None if nobody else ask)


def _maybe_adopt(job: Job) -> RunOptions:
    """On a terminal, offer sessions of an empty workstream's repository that began without us."""
    options = job.options
    if not job.place.terminal or job.one_shot or options.quiet or options.fresh or options.adopt:
        return options
    if job.invocation.select is not Select.NONE or job.choice.workstream.head_seq:
        return options
    found = adoptable(job.store, job.importer, job.store_home, job.place)
    chosen = prompts.adopt(job.adapter.title, found) if found else None
    return options if chosen is None else replace(options, adopt=chosen)


def _launch(job: Job, held: leases.Lease, target: Target, row: RunRow, began: float) -> Started:
    store = job.store
    try:
        run_dir = folder.create(store.home, row.id)
        with store.transaction():
            ready = launching.prepare(job, row, target, run_dir)
            native = ready.launch.native_id or row.native_id
            runs.advance(store, row, Step.BRIEFED, native_id=native)
        report.start_line(job, row, target, ready)
        process = _spawn(job, held, row, ready)
    except BaseException:
        runs.close(store, row, Outcome.SPAWN_FAILED, None)
        folder.remove(store.home, row.id)
        raise
    run = runs.get(store, row.id)
    return Started(
        run=run,
        target=target,
        ready=ready,
        process=process,
        began=began,
        spawned=time.monotonic(),
    )


def _spawn(job: Job, held: leases.Lease, row: RunRow, ready: launching.Ready) -> child.Child:
    store = job.store

    def on_spawned(pid: int, start: int | None) -> None:
        with store.transaction():
            leases.check(store, job.choice.workstream.id, held.token)
            leases.record_child(store, job.choice.workstream.id, held.token, pid, start)
            runs.advance(
                store,
                row,
                Step.RUNNING,
                child_pid=pid,
                child_start=start,
                spawned_at=store.clock.now_ms(),
            )
            workstreams.remember_choice(
                store,
                job.choice.repository.id,
                job.place.checkout.keys.worktree,
                job.choice.workstream,
            )

    return child.spawn(ready.launch.argv, ready.environment, job.place.cwd, on_spawned=on_spawned)


def record(job: Job, held: leases.Lease, target: Target) -> RunRow:
    """Store the planned run. Raises LeaseLostError."""
    holder = holder_here(job.store, run=held.run, env=job.place.env, harness=job.entry.name)
    return runs.create(
        job.store,
        id=held.run,
        workstream=job.choice.workstream,
        entry=job.entry.name,
        harness=job.adapter.name,
        store_id=sessions.native_store(job.store, job.adapter.name, job.store_home),
        token=held.token,
        one_shot=job.one_shot,
        mode=target.mode,
        native_id=target.resume or job.invocation.native_id,
        cwd=str(job.place.cwd),
        worktree=job.place.checkout.keys.worktree,
        argv=[job.adapter.name, *job.entry.args, *job.options.args],
        program=job.program.version,
        host_id=holder.place.host_id,
        boot_id=holder.place.boot_id,
        pid_ns=holder.place.pid_ns,
        pid=holder.pid,
        pid_start=holder.pid_start or 0,
    )


def _watch(job: Job, held: leases.Lease, started: Started, heartbeat: Heartbeat) -> int:
    """Wait for the child, finish the run, report. Returns the child's exit code.

    Once the child has ended no signal cuts the finish off: the status is the answer.
    """
    log = job.store.home / "launcher.log"
    heartbeat.start()
    try:
        status = started.process.wait(on_resume=heartbeat.poke, log=log, shielded=True)
        again = _refused(job, started, status)
        if again is not None:
            heartbeat.stop()  # no thread may hold a lock while the second child is forked
            started.process.unshield()
            try:
                heartbeat = Heartbeat(job.store, held)
                started = _second_try(job, held, started, again)
                heartbeat.start()
                status = started.process.wait(on_resume=heartbeat.poke, log=log, shielded=True)
            except WorkstreamError as error:
                say(f"no second start: {error}")  # the first one's status stays the answer
        finished = ending.finish(job, held, started.run, status)
        heartbeat.stop()
        report.end(job, held, started, status, finished)
    finally:
        heartbeat.stop()
        started.process.unshield()
    return status.exit_code


def _refused(job: Job, started: Started, status: child.ExitStatus) -> str | None:
    """Return why a resume of ours is taken for refused by the harness, or None."""
    session = started.target.session
    if started.target.resume is None or session is None:
        return None
    if status.exit_code == 0 or status.signal is not None:
        return None
    if (time.monotonic() - started.spawned) * 1000 > FAST_FAILURE_MS:
        return None
    if job.invocation.facts.get("prompt") == "stdin":
        return None  # it was read, or there was none: a second try would find nothing there
    try:
        events = folder.events(folder.path_of(job.store.home, started.run.id))
        source = job.importer.locate(job.store_home, started.target.resume)
        known = sessions.signature(job.store, session)
    except WorkstreamError:
        return None  # nothing is known, so nothing is tried again
    if any(event.event == "SessionStart" for event in events) or source.signature != known:
        return None
    return f"{job.adapter.title} refused to resume {started.target.resume}"


def _second_try(job: Job, held: leases.Lease, started: Started, why: str) -> Started:
    """Start once more, with a new session; never a third time."""
    say(f"{why}; a new session is started")
    folder.remove(job.store.home, started.run.id)
    with job.store.transaction():
        runs.advance(job.store, started.run, Step.PLANNED, mode="create", native_id=None)
    target = Target(mode="create")
    return _launch(job, held, target, runs.get(job.store, started.run.id), started.began)
