"""Questions to the person, on the terminal: asked on stderr, answered on stdin. Never in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ledger.visible import show

if TYPE_CHECKING:
    from launcher.catchup import Candidate

BUSY_KEYS = {"w": "wait", "s": "stop", "t": "take over", "q": "quit"}


def confirm(question: str) -> bool:
    """Ask yes or no; no is the default, and the answer to a closed terminal."""
    try:
        return click.confirm(f"workstream: {show(question)}", default=False, err=True)
    except click.Abort:
        sys.stderr.write("\n")
        return False


def agree(question: str) -> bool:
    """Ask yes or no; yes is the default. Raises click.Abort when the person gives up."""
    return click.confirm(f"workstream: {show(question)}", default=True, err=True)


def choose(question: str, options: Sequence[str]) -> str:
    """Ask for one of a few words. Raises click.Abort when the person gives up."""
    kind = click.Choice(list(options))
    answer: str = click.prompt(f"workstream: {question}", type=kind, err=True)
    return answer


def busy(description: str) -> str:
    """Say who holds the workstream and ask what to do: wait, stop, take over or quit."""
    sys.stderr.write(
        f"workstream: busy: {show(description)}\n"
        "  [w] wait   [s] stop it and wait   [t] take over   [q] quit\n"
    )
    try:
        key = click.prompt("workstream", type=click.Choice(list(BUSY_KEYS)), default="q", err=True)
    except click.Abort:
        return "quit"
    return BUSY_KEYS[key]


def adopt(title: str, found: Sequence[Candidate]) -> str | None:
    """Offer sessions that began without us; return the chosen native id, or None for a new one."""
    sys.stderr.write(f"workstream: {title} sessions of this repository that began outside:\n")
    for number, candidate in enumerate(found, 1):
        sys.stderr.write(f"  [{number}] {show(candidate.line, newline=False)}\n")
    try:
        answer = click.prompt(
            "workstream: go on with one of them, or Enter for a new one",
            type=click.IntRange(0, len(found)),
            default=0,
            show_default=False,
            err=True,
        )
    except click.Abort:
        return None
    return found[answer - 1].native_id if answer else None
