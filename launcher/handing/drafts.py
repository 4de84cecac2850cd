"""`handoff draft` and `edit`: from the ledger to words that a person can change."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from handoffs import drafting
from handoffs.canonical import content_value
from handoffs.ledger_facts import STATE_MS, LedgerFacts
from handoffs.markdown import to_markdown
from handoffs.models import Content, Finding, HostObservation, Reason, errors
from handoffs.repository import snapshot
from handoffs.store import leading, observing, reading
from handoffs.store import preparing as records
from handoffs.store.preparing import Circumstances
from handoffs.validation import validate
from launcher import prompts
from launcher.handing import composing, occasions
from launcher.handing.bench import (
    Bench,
    answering,
    finding_entry,
    of_reading,
    our_command,
    tell_findings,
    writing,
)
from launcher.handing.documents import prepared_document
from launcher.handing.occasions import Given
from launcher.handing.preparing import prepared
from launcher.output import emit_json, say
from launcher.reading import answer
from launcher.reading import reading as opened
from ledger import git, runs
from ledger.errors import BusyError, StateError, UnavailableError, UsageError

if TYPE_CHECKING:
    from launcher.handing.agent_draft import AgentDraft


@click.command("draft")
@click.option("--with", "harness", metavar="HARNESS", help="Ask its session here, in a fork.")
@click.option("--prepare", "keep", is_flag=True, help="Prepare what it writes, as its own.")
@click.option(
    "--timeout",
    "seconds",
    type=click.IntRange(1, 3600),
    metavar="SECONDS",
    help="How long it may take in all; 300 if not given.",
)
@click.option("--workstream", metavar="NAME", help="Which workstream of the repository.")
@click.option("--format", "form", type=click.Choice(["markdown", "json"]), default="markdown")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def draft(
    *,
    harness: str | None,
    keep: bool,
    seconds: int | None,
    workstream: str | None,
    form: str,
    as_json: bool,
) -> int:
    """Print a handoff, made from the ledger alone; edit it, and give it to `handoff prepare`.

    --with asks the agent that did the work, in a fork of its session that can change nothing and
    is not kept; this calls its model. What it writes is checked like anything that is prepared,
    and it may correct it twice; if that fails, the ledger's draft is printed, and stderr says why.

    `--format json` prints the content as `prepare --file` takes it; --json wraps it with findings
    and with who wrote it.
    """
    if harness is None and (keep or seconds is not None):
        raise UsageError("--prepare and --timeout go with --with HARNESS")

    def work() -> int:
        with opened(workstream) as now:
            bench = of_reading(now)
            if harness is None:
                _print(bench, composed(bench), None, form=form, as_json=as_json)
            elif keep:
                bench.store.require_writable()  # before a model is called
                _prepare_asked(bench, _asked(bench, harness, seconds), as_json=as_json)
            else:
                _print_asked(bench, _asked(bench, harness, seconds), form=form, as_json=as_json)
        return 0

    return answering(work, as_json=as_json)


def _asked(bench: Bench, harness: str, seconds: int | None) -> AgentDraft:
    from launcher.handing import agent_draft  # most drafts do without

    return agent_draft.ask(bench, harness, seconds=seconds or agent_draft.TIME_LIMIT)


def _print_asked(bench: Bench, asked: AgentDraft, *, form: str, as_json: bool) -> None:
    from launcher.handing import telling_draft

    if asked.content is None:
        telling_draft.tell_fallback(asked)
        _print(bench, composed(bench), asked, form=form, as_json=as_json)
        return
    kept = _kept(bench, asked.content, _around(bench, asked))
    telling_draft.tell_success(asked, kept=kept is not None)
    _print(bench, asked.content, asked, form=form, as_json=as_json, kept=kept)


def _kept(bench: Bench, content: Content, around: Circumstances) -> str | None:
    """Keep what an agent wrote under its name; None where that cannot be done, which is told."""
    try:
        bench.store.require_writable()
        return records.keep(bench.store, bench.workstream, content, around)
    except (StateError, BusyError) as error:
        say(f"who wrote this could not be kept; prepared, it will be yours: {error.message}")
        return None


def _prepare_asked(bench: Bench, asked: AgentDraft, *, as_json: bool) -> None:
    """Prepare an agent's answer as the agent's own. Raises the reason why there is none."""
    if asked.content is None:
        raise asked.failure or UnavailableError(f"{asked.title} gave no handoff")
    from launcher.handing import telling_draft

    content = asked.content
    facts = LedgerFacts(bench.store, bench.workstream, bench.worktree, content=content)
    done = records.prepare(bench.store, bench.workstream, content, facts, _around(bench, asked))
    name = done.prepared.prepared_id
    if as_json:
        document = prepared_document(done.prepared, done.warnings, existed=done.existed)
        emit_json("handoff", {**document, **telling_draft.source_document(asked, name)})
        return
    click.echo(name)
    tell_findings(done.warnings)
    say(f"commit it with: {our_command()} handoff commit {name}")


def _around(bench: Bench, asked: AgentDraft) -> Circumstances:
    return Circumstances(
        author=asked.author,
        author_session=None if asked.session is None else asked.session.id,
        reasons=(Reason.USER_REQUESTED,),
        observations=_observations(bench, asked),
        objective=bench.workstream.objective,
        git=snapshot(git.state(bench.worktree, timeout_ms=STATE_MS)),
        run=None if bench.run is None else bench.run.id,
    )


def _observations(bench: Bench, asked: AgentDraft | None) -> tuple[HostObservation, ...]:
    """Return what is recorded of the context of the session that wrote it, else of the last."""
    if asked is None or asked.session is None:
        return bench.observations
    return observing.of_sessions(bench.store, [asked.session.id])


def _print(
    bench: Bench,
    content: Content,
    asked: AgentDraft | None,
    *,
    form: str,
    as_json: bool,
    kept: str | None = None,
) -> None:
    found = _findings(bench, content)
    if as_json:
        from launcher.handing import telling_draft

        data = {
            "content": content_value(content),
            "findings": [item.value() for item in found],
            "observations": [item._asdict() for item in _observations(bench, asked)],
        }
        emit_json("handoff", {**data, **telling_draft.source_document(asked, kept)})
    elif form == "json":
        click.echo(json.dumps(content_value(content), ensure_ascii=False, indent=1))
    elif asked is None:
        answer(to_markdown(content, found))
    else:
        from launcher.handing import telling_draft

        answer(to_markdown(content, found, telling_draft.comments(asked, kept=kept is not None)))


def composed(bench: Bench) -> Content:
    """Return a draft of the last run in which something happened. Raises UnavailableError."""
    store, workstream = bench.store, bench.workstream
    rows = store.all(
        "SELECT id FROM run WHERE workstream = ? ORDER BY started_at DESC, id DESC LIMIT 20",
        workstream.id,
    )
    state = git.state(bench.worktree, timeout_ms=STATE_MS)
    for row in rows:
        run = runs.get(store, row["id"])
        active = runs.sessions_with_events(store, run)
        content = drafting.compose(store, workstream, run, state, active) if active else None
        if content is not None:
            return content
    raise UnavailableError(
        f"nothing happened in {workstream.name} yet that a handoff could be made from",
        next_step="Write one by hand: workstream handoff prepare --file F",
    )


def _findings(bench: Bench, content: Content) -> tuple[Finding, ...]:
    facts = LedgerFacts(bench.store, bench.workstream, bench.worktree, content=content)
    return validate(content, facts)


@click.command("edit")
@click.argument("name", required=False)
@occasions.options
@click.option("--workstream", metavar="WS", help="Which workstream of the repository.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def edit(
    *,
    name: str | None,
    words: tuple[str, ...],
    observed: tuple[str, ...],
    said_by: str | None,
    workstream: str | None,
    as_json: bool,
) -> int:
    """Edit NAME, or a draft, in $EDITOR until it is clean; then it is prepared."""
    editor = os.environ.get("VISUAL", "").strip() or os.environ.get("EDITOR", "").strip()
    if not editor:
        raise UsageError(
            "no editor is set",
            next_step="Set EDITOR, or: workstream handoff draft > F; handoff prepare --file F",
        )

    def work() -> int:
        with writing(workstream, refresh=True) as bench:
            why = Given(words, observed, said_by)
            occasions.demand(why, bench.author.kind, bench.observations)  # before the work is done
            text = to_markdown(_start(bench, name))
            while True:
                before, text = text, _edited(editor, text)
                made = composing.parsed(bench.store, bench.workstream, bench.worktree, text)
                found = composing.findings(bench.store, bench.workstream, bench.worktree, made)
                if not errors(found):
                    answer_ = prepared(bench, text, why)
                    break
                tell_findings(found)
                if text == before or not _again():
                    if as_json:
                        emit_json("handoff", None, [finding_entry(item) for item in found])
                    else:
                        say("abandoned: nothing was prepared")
                    return 65
                if made.content is not None:
                    text = to_markdown(made.content, found)
        if as_json:
            document = prepared_document(
                answer_.prepared, answer_.warnings, existed=answer_.existed
            )
            emit_json("handoff", document)
        else:
            click.echo(answer_.prepared.prepared_id)
        return 0

    return answering(work, as_json=as_json)


def _start(bench: Bench, name: str | None) -> Content:
    if name is not None:
        return reading.exact(bench.store, bench.workstream, name).content
    found = leading.leading(bench.store, bench.workstream)
    return composed(bench) if found is None else found.content


def _again() -> bool:
    return sys.stdin.isatty() and prompts.confirm("Edit it again?")


def _edited(editor: str, text: str) -> str:
    with tempfile.TemporaryDirectory(prefix="workstream-handoff-") as folder:
        path = Path(folder) / "handoff.md"
        path.write_text(text, encoding="utf-8")
        try:
            done = subprocess.run([*shlex.split(editor), str(path)], check=False)
        except OSError as error:
            raise UnavailableError(f"cannot start {editor}", detail=error.strerror) from error
        if done.returncode:
            raise UnavailableError(f"{editor} ended with {done.returncode}: nothing was prepared")
        return path.read_text(encoding="utf-8", errors="surrogateescape")
