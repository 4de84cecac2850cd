"""`handoff prepare`, `commit` and `abandon`."""

from __future__ import annotations

import click

from handoffs.ledger_facts import STATE_MS, LedgerFacts
from handoffs.repository import snapshot
from handoffs.store import committing, reading
from handoffs.store import preparing as records
from handoffs.store.preparing import Circumstances, PreparedAnswer
from launcher.handing import composing, occasions
from launcher.handing.bench import (
    Bench,
    answering,
    given,
    or_receipt,
    our_command,
    tell_findings,
    writing,
)
from launcher.handing.documents import author_document, prepared_document
from launcher.handing.occasions import Given
from launcher.output import emit_json, iso, say
from leases.errors import LeaseHeld
from ledger import git


@click.command("prepare")
@click.option("--file", "path", metavar="F", help="Read it from a file; `-` or none: stdin.")
@occasions.options
@click.option("--objective", metavar="TEXT", help="The objective it has to bring back unchanged.")
@click.option("--workstream", metavar="NAME", help="Which workstream of the repository.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def prepare(
    *,
    path: str | None,
    words: tuple[str, ...],
    observed: tuple[str, ...],
    said_by: str | None,
    objective: str | None,
    workstream: str | None,
    as_json: bool,
) -> int:
    """Check a handoff, JSON or its Markdown form, and keep it, ready to be committed."""
    text = given(path)
    why = Given(words, observed, said_by)

    def work() -> int:
        with writing(workstream, refresh=True) as bench:
            answer = prepared(bench, text, why, objective=objective)
        if as_json:
            document = prepared_document(answer.prepared, answer.warnings, existed=answer.existed)
            emit_json("handoff", document)
        else:
            click.echo(answer.prepared.prepared_id)
            tell_findings(answer.warnings)
            say(f"commit it with: {our_command()} handoff commit {answer.prepared.prepared_id}")
        return 0

    def payload() -> dict[str, object]:
        return {"do": "handoff_prepared", "text": text, **why.payload()}

    def examine(bench: Bench) -> None:
        _, around = occasions.observed(why, bench.author.kind, bench.observations)
        where = (bench.store, bench.workstream, bench.worktree)
        composing.refuse_hopeless(*where, text, around=around)

    return answering(
        lambda: or_receipt(work, payload, workstream, examine=examine), as_json=as_json
    )


def prepared(
    bench: Bench, text: str, why: Given | tuple[str, ...] = (), *, objective: str | None = None
) -> PreparedAnswer:
    """Prepare what was written; `why` are the reasons at least. Raises RefusedError."""
    given_ = why if isinstance(why, Given) else Given(why)
    occasion, findings = occasions.observed(given_, bench.author.kind, bench.observations)
    made = composing.parsed(bench.store, bench.workstream, bench.worktree, text)
    session = bench.session
    content, facts = composing.checked(
        bench.store,
        bench.workstream,
        bench.worktree,
        made,
        around=findings,
        objective=objective,
        author=None if session is None else session.id,
    )
    return records.prepare(
        bench.store,
        bench.workstream,
        content,
        facts,
        Circumstances(
            author=bench.author,
            author_session=None if session is None else session.id,
            reasons=occasion.reasons,
            statement=occasion.statement,
            observations=occasion.observations,
            objective=bench.workstream.objective,
            git=snapshot(git.state(bench.worktree, timeout_ms=STATE_MS)),
            run=None if bench.run is None else bench.run.id,
        ),
        expected_objective=objective,
    )


@click.command("commit")
@click.argument("prepared_id")
@click.option("--after-run", is_flag=True, help="When the live run ends, if there is one.")
@click.option("--workstream", metavar="NAME", help="Which workstream of the repository.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def commit(*, prepared_id: str, after_run: bool, workstream: str | None, as_json: bool) -> int:
    """Make PREPARED_ID the handoff that counts."""

    def work() -> int:
        with writing(workstream) as bench:
            try:
                done = _commit(bench, prepared_id)
            except LeaseHeld:
                if not after_run:
                    raise
                records.queue(bench.store, bench.workstream, prepared_id, bench.author)
                if as_json:
                    emit_json("handoff", {"prepared_id": prepared_id, "state": "queued"})
                else:
                    say("it is committed when the live run ends")
                return 0
        if as_json:
            emit_json("handoff", _document(done))
        else:
            state = str(done.state).replace("_", " ")
            click.echo(f"r{done.revision.revision}")
            say(f"{state}" + ("" if done.is_head else "; a newer revision is the head"))
        return 0

    return answering(work, as_json=as_json)


def _commit(bench: Bench, name: str) -> committing.Committed:
    value = reading.prepared_value(bench.store, name)
    facts = LedgerFacts(
        bench.store,
        bench.workstream,
        bench.worktree,
        content=None if value is None else value.content,
        state=git.state(bench.worktree, timeout_ms=STATE_MS),
    )
    return committing.commit(
        bench.store,
        bench.workstream,
        name,
        facts,
        bench.author,
        token=bench.token,
        holder=bench.holder,
    )


def _document(done: committing.Committed) -> dict[str, object]:
    revision = done.revision
    return {
        "state": str(done.state),
        "is_head": done.is_head,
        "revision": revision.revision,
        "scope_id": revision.scope_id,
        "content_digest": revision.content_digest,
        "prepared_id": revision.prepared_id,
        "committed_at": iso(revision.committed_at),
        "by": author_document(revision.by),
    }


@click.command("abandon")
@click.argument("prepared_id")
@click.option("--workstream", metavar="NAME", help="Which workstream of the repository.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def abandon(*, prepared_id: str, workstream: str | None, as_json: bool) -> int:
    """Put PREPARED_ID away: it leads no briefing any more."""
    with writing(workstream) as bench:
        records.abandon(bench.store, bench.workstream, prepared_id)
    if as_json:
        emit_json("handoff", {"prepared_id": prepared_id, "state": "abandoned"})
    else:
        say(f"{prepared_id} is put away")
    return 0
