"""Scripted tasks of realistic shape, each with what is true at its end."""

from __future__ import annotations

from bench.handoff.tasks import changing, long, short, switching, very_long
from bench.handoff.tasks.task import Task

TASKS: tuple[Task, ...] = (
    *short.TASKS,
    *long.TASKS,
    *changing.TASKS,
    *switching.TASKS,
    *very_long.TASKS,
)

QUICK: tuple[Task, ...] = tuple(
    task
    for task in TASKS
    if task.name
    in {
        "check older than the last edit",
        "killed in a command",
        "Japanese, changed mind",
        "todos half done, killed",
        "port changed early",
        "cleared, claude",
        "plan of the other harness",
    }
)
"""A few of every kind, for a first look and for the test suite."""
