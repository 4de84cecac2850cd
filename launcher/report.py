"""What `run` says: one line before the start, one at the end, the plan of a dry run, the report."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from launcher import child, launching
from launcher.launching import Job, Ready
from launcher.output import local_time, plural, say, size
from launcher.planning import Target
from ledger import runs
from ledger.errors import StateError
from ledger.ids import DELIVERY_PLACEHOLDER
from ledger.model import RunRow

if TYPE_CHECKING:
    from launcher.run import Started
    from leases.lease import Lease


def start_line(job: Job, run: RunRow, target: Target, ready: Ready) -> None:
    """Print the line before the start; one-shot runs are quiet unless something was lost."""
    notices = [*target.notices, *ready.launch.notices, *job.program.problems]
    if ready.launch.channel.why is not None and ready.briefed.first is not None:
        notices.append(f"briefing by {ready.launch.channel.name}: {ready.launch.channel.why}")
    if job.options.quiet:
        return
    for notice in notices:
        say(notice)
    if job.one_shot:
        return
    where = f"{job.choice.workstream.name} ({job.choice.reason})"
    say(f"{where} · {_session(job, target)} · {_briefing(ready)}{_directory(job, run)}")


def _session(job: Job, target: Target) -> str:
    name = job.entry.name
    if target.resume is not None:
        return f"{name} resumes {target.resume}"
    if target.mode == "native":
        return f"{name} as you asked"
    if target.mode in ("resume", "fork"):
        return f"{name} {target.mode}s {job.invocation.native_id or 'your choice'}"
    return f"{name}, new session"


def _briefing(ready: Ready) -> str:
    first = ready.briefed.first
    if first is None:
        return f"no briefing ({ready.briefed.omitted_reason})"
    text = f"briefing {size(first.bytes)}: {plural(first.new, 'event')}"
    return text + (f", {first.left_out:,} left out" if first.left_out else "")


def _directory(job: Job, run: RunRow) -> str:
    worktree = job.place.checkout.keys.worktree
    before = runs.before(job.store, run)
    if before is None or before.worktree == worktree:
        return ""
    return f" · in {worktree}, last run in {before.worktree}"


def end(
    job: Job,
    held: Lease,
    started: Started,
    status: child.ExitStatus,
    finished: Mapping[str, Any] | None,
) -> None:
    """Print the line at the end and write the report file."""
    document = dict(finished or {})
    run = started.run
    failed = document.get("failed")
    if failed is not None:
        say(f"the session is not imported yet: {failed}")
        say("nothing is lost: the next `workstream run` or `workstream recover` goes on with it")
    elif not job.options.quiet:
        _end_line(job, document)
    if job.options.report is not None:
        write_report(job.options.report, _report(job, held, run, started, status, document))


def _end_line(job: Job, document: Mapping[str, Any]) -> None:
    for notice in document.get("notices", ()):
        say(notice)
    for loss in document.get("annotations", ()):
        say(f"not imported: {loss.get('reason')} at {loss.get('position')}")
    limit = document.get("limit")
    if limit is not None:
        say(limit_line(job.entry.name, limit))
    if job.one_shot:
        return
    total = sum(
        count for kind, count in document.get("imported", {}).items() if kind != "checkpoint"
    )
    parts = [f"{job.choice.workstream.name}: {plural(total, 'event')} imported"]
    told = delivered(document.get("delivery", {}), total)
    parts += [] if told is None else [told]
    say(" · ".join(parts) + " · go on: workstream run")


def delivered(delivery: Mapping[str, Any], events: int) -> str | None:
    """Return what a person is told of the briefing of a run in which so many events happened."""
    state = delivery.get("state")
    if state in (None, "none"):
        return None
    if state == "seen":
        return "briefing seen"
    if state == "acknowledged":
        return "briefing seen, handoff accepted"
    if state == "unverified" and delivery.get("told"):
        return "briefing given and answered, without proof (unverified)"
    if state == "failed" and not events:
        return "nothing was said, so no briefing was given"
    return f"briefing {state} ({delivery.get('reason') or 'due again'})"


def limit_line(entry: str, limit: Mapping[str, Any]) -> str:
    """Return the sentence about a provider limit: which, until when, how to go on elsewhere."""
    resets = limit.get("resets_at")
    until = f" until {local_time(resets)}" if isinstance(resets, int) else ""
    return f"{entry} reached its provider's limit{until}; go on elsewhere: workstream run HARNESS"


def _report(
    job: Job,
    held: Lease,
    run: RunRow,
    started: Started,
    status: child.ExitStatus,
    document: Mapping[str, Any],
) -> dict[str, Any]:
    durations = {
        "start": round((started.spawned - started.began) * 1000),
        "total": round((time.monotonic() - started.began) * 1000),
        **document.get("durations", {}),
    }
    none = {"id": None, "state": "none", "bytes": 0, "included": 0, "omitted": 0}
    return {
        "version": 1,
        "run": run.id,
        "workstream": job.choice.workstream.name,
        "workstream_id": job.choice.workstream.uid,
        "harness": job.entry.name,
        "started": True,
        "sessions": document.get("sessions", []),
        "token": held.token,
        "exit_code": status.exit_code,
        "signal": status.signal,
        "outcome": document.get("outcome"),
        "imported": document.get("imported", {}),
        "annotations": document.get("annotations", []),
        "delivery": {**none, **document.get("delivery", {})},
        "limit": document.get("limit"),
        "durations": durations,
        "failed": document.get("failed"),
    }


def not_started(path: Path, error: Exception, exit_code: int) -> None:
    """Write the report of a run that did not start."""
    write_report(
        path,
        {
            "version": 1,
            "run": None,
            "started": False,
            "exit_code": exit_code,
            "signal": None,
            "sessions": [],
            "imported": {},
            "annotations": [],
            "delivery": {"id": None, "state": "none", "bytes": 0, "included": 0, "omitted": 0},
            "error": str(error),
        },
    )


def write_report(path: Path, document: Mapping[str, Any]) -> None:
    """Write a report 0600, whole or not at all; a failure is told, never raised."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fd = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            json.dump(document, file, ensure_ascii=False, indent=1)
            file.write("\n")
        scratch.replace(path)
    except OSError as error:
        scratch.unlink(missing_ok=True)
        say(f"cannot write the report {path}: {error.strerror}")


def plan(job: Job, target: Target, run: RunRow, run_dir: Path) -> None:
    """Print what a run would do: argv, names of changed variables, files, briefing."""
    import shlex

    from ledger import redaction

    ready = launching.prepare(job, run, target, run_dir)
    launch = ready.launch
    lines = [
        f"workstream  {job.choice.workstream.name} ({job.choice.reason})",
        f"harness     {job.entry.name}: {job.program.path} {job.program.version or ''}",
        f"session     {_session(job, target)}",
        f"directory   {job.place.cwd}",
        f"argv        {shlex.join(redaction.scrub(word).text for word in launch.argv)}",
        f"variables   {', '.join(ready.changed)}",
        f"channel     {launch.channel.name}"
        + (f" ({launch.channel.why})" if launch.channel.why else ""),
        f"files       {', '.join(_files(run_dir)) or 'none'}",
        f"briefing    {_briefing(ready)}",
    ]
    lines += [f"notice      {notice}" for notice in (*target.notices, *launch.notices)]
    print("\n".join(lines))
    if ready.briefed.first is not None:
        print("\n" + ready.briefed.first.text.replace(DELIVERY_PLACEHOLDER, "dlv_(new)"))


def _files(run_dir: Path) -> list[str]:
    try:
        return sorted(
            str(path.relative_to(run_dir)) for path in run_dir.rglob("*") if path.is_file()
        )
    except OSError as error:
        raise StateError(f"cannot list {run_dir}", detail=error.strerror) from error
