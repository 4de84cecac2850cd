"""`handoff check -- COMMAND`: run it here, and keep what came of it as evidence."""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
import time
from collections import deque
from pathlib import Path
from typing import Final

import click

from handoffs import check_outcome
from handoffs.ledger_facts import STATE_MS
from handoffs.models import CheckStatus
from handoffs.store import checks
from launcher.handing.bench import writing
from launcher.output import emit_json, iso, say
from ledger import git, host
from ledger.errors import UsageError

HEAD: Final = 4 * 1024
TAIL: Final = 12 * 1024
"""Bytes of the output's beginning and end that are kept."""
_CHUNK: Final = 64 * 1024


@click.command("check", context_settings={"ignore_unknown_options": True})
@click.option("--workstream", metavar="NAME", help="Which workstream of the repository.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND...")
def check(*, workstream: str | None, as_json: bool, words: tuple[str, ...]) -> int:
    """Run COMMAND and record its result; the exit code is the command's own."""
    if not words:
        raise UsageError("name a command: workstream handoff check -- COMMAND")
    with writing(workstream) as bench:  # before the command runs: what cannot be kept is not run
        ran = _run(list(words), bench.place.cwd, quiet=as_json)
        row = checks.record(
            bench.store,
            bench.workstream,
            ran,
            git.state(bench.worktree, timeout_ms=STATE_MS),
            worktree=str(bench.worktree),
            run=None if bench.run is None else bench.run.id,
            owner=host.user_name(),
        )
    if as_json:
        emit_json("handoff", _document(row))
    else:
        say(f"{row.id}: {row.status}, cite it as {row.id}")
    return 127 if row.exit_code is None else row.exit_code % 256


def _run(words: list[str], cwd: Path, *, quiet: bool) -> checks.Ran:
    """Run the command with its output on ours (on stderr when ours is a document)."""
    out = sys.stderr.buffer if quiet else sys.stdout.buffer
    digest, kept = hashlib.sha256(), _Kept()
    started = time.time_ns() // 1_000_000
    code: int | None = None
    try:
        with subprocess.Popen(
            words, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as process:
            if process.stdout is None:
                raise RuntimeError("the command has no output")
            while chunk := os.read(process.stdout.fileno(), _CHUNK):
                digest.update(chunk)
                kept.add(chunk)
                out.write(chunk)
                out.flush()
        code = process.returncode if process.returncode >= 0 else 128 - process.returncode
    except OSError as error:
        kept.add(f"cannot start {words[0]}: {error.strerror}".encode())
    command = shlex.join(words)
    output = kept.text
    outcome = check_outcome.decide(words, code, output)
    status = CheckStatus.UNAVAILABLE if code is None else outcome.status
    return checks.Ran(
        command=command,
        cwd=str(cwd),
        exit_code=code,
        status=status,
        failures=outcome.failures,
        started_at=started,
        ended_at=time.time_ns() // 1_000_000,
        output_digest="sha256:" + digest.hexdigest(),
        output_bytes=kept.total,
        output=output,
    )


class _Kept:
    """The beginning and the end of an output of any length."""

    def __init__(self) -> None:
        self.total = 0
        self._head = b""
        self._tail: deque[bytes] = deque()
        self._held = 0

    def add(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self.total += len(chunk)
        room = HEAD - len(self._head)
        self._head += chunk[:room]
        rest = chunk[room:]
        if rest:
            self._tail.append(rest)
            self._held += len(rest)
        while self._tail and self._held - len(self._tail[0]) >= TAIL:
            self._held -= len(self._tail.popleft())

    @property
    def text(self) -> str:
        """What was kept, with a line that says how much was not."""
        tail = b"".join(self._tail)[-TAIL:]
        left_out = self.total - len(self._head) - len(tail)
        mark = f"\n[… {left_out} bytes …]\n".encode() if left_out > 0 else b""
        return (self._head + mark + tail).decode("utf-8", "replace")


def _document(row: checks.CheckRow) -> dict[str, object]:
    return {
        "id": row.id,
        "digest": row.digest,
        "command": row.command,
        "exit_code": row.exit_code,
        "status": str(row.status),
        "failures": row.failures,
        "started_at": iso(row.started_at),
        "ended_at": iso(row.ended_at),
        "duration_ms": row.ended_at - row.started_at,
        "cwd": row.cwd,
        "output_digest": row.output_digest,
        "output_bytes": row.output_bytes,
        "git": {
            "head": row.head,
            "branch": row.branch,
            "dirty_digest": row.dirty_digest,
            "tree": row.tree,
        },
    }
