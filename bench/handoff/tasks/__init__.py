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
