"""`handoff draft` and `edit`: from the ledger to words that a person can change."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import click

from handoffs import drafting
from handoffs.canonical import content_value
from handoffs.ledger_facts import STATE_MS, LedgerFacts
from handoffs.markdown import to_markdown
from handoffs.models import Content, Finding, errors
from handoffs.store import leading, reading
from handoffs.validation import validate
from launcher import prompts
from launcher.handing import composing
from launcher.handing.bench import (
    Bench,
    answering,
    finding_entry,
    of_reading,
    tell_findings,
    writing,
)
from launcher.handing.documents import prepared_document
from launcher.handing.preparing import prepared
from launcher.output import emit_json, say
from launcher.reading import answer
from launcher.reading import reading as opened
from ledger import git, runs
from ledger.errors import UnavailableError, UsageError


@click.command("draft")
@click.option("--workstream", metavar="NAME", help="Which workstream of the repository.")
@click.option("--format", "form", type=click.Choice(["markdown", "json"]), default="markdown")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def draft(*, workstream: str | None, form: str, as_json: bool) -> int:
    """Print a handoff made from the ledger alone; edit it, and give it to `handoff prepare`.

    `--format json` prints the content as `prepare --file` takes it; --json wraps it with findings.
    """
    with opened(workstream) as now:
        bench = of_reading(now)
        content = composed(bench)
        found = _findings(bench, content)
    if as_json:
        data = {"content": content_value(content), "findings": [item.value() for item in found]}
        emit_json("handoff", data)
    elif form == "json":
        click.echo(json.dumps(content_value(content), ensure_ascii=False, indent=1))
    else:
        answer(to_markdown(content, found))
    return 0


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
@click.option("--reason", "words", multiple=True, metavar="R", help="Why it is made.")
@click.option("--workstream", metavar="WS", help="Which workstream of the repository.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def edit(*, name: str | None, words: tuple[str, ...], workstream: str | None, as_json: bool) -> int:
    """Edit NAME, or a draft, in $EDITOR until it is clean; then it is prepared."""
    editor = os.environ.get("VISUAL", "").strip() or os.environ.get("EDITOR", "").strip()
    if not editor:
        raise UsageError(
            "no editor is set",
            next_step="Set EDITOR, or: workstream handoff draft > F; handoff prepare --file F",
        )

    def work() -> int:
        with writing(workstream, refresh=True) as bench:
            text = to_markdown(_start(bench, name))
            while True:
                before, text = text, _edited(editor, text)
                made = composing.parsed(bench.store, bench.workstream, bench.worktree, text)
                found = composing.findings(bench.store, bench.workstream, bench.worktree, made)
                if not errors(found):
                    answer_ = prepared(bench, text, words)
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
