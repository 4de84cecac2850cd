"""The harness's own todo list: TodoWrite (whole list) and the task tools (one item at a time).

Input and result shapes are those of the type declarations of Claude Code 2.1.197.
"""

from __future__ import annotations

import re
from typing import Final

from importers.base import Json, Plan
from importers.claude.state import TASKS

STATUSES: Final = ("pending", "in_progress", "completed")
TASK_TOOLS: Final = frozenset({"TaskCreate", "TaskUpdate", "TaskList"})
_CREATED: Final = re.compile(r"Task #(\S+) created")


def todo_plan(tool_input: Json, at: int) -> Plan | None:
    """Return the plan that a TodoWrite call sets."""
    todos = tool_input.get("todos") if isinstance(tool_input, dict) else None
    if not isinstance(todos, list):
        return None
    items = tuple(
        (str(todo["content"]), _status(todo.get("status")))
        for todo in todos
        if isinstance(todo, dict) and isinstance(todo.get("content"), str)
    )
    return Plan(items=items, at=at)


def _status(value: object) -> str:
    return value if isinstance(value, str) and value in STATUSES else "pending"


def apply_task(
    tasks: dict[str, list[str]],
    tool: str,
    given: dict[str, object],
    result: dict[str, object],
    text: str,
) -> bool:
    """Apply a successful task call to the list of tasks; return whether it changed."""
    before = {key: list(value) for key, value in tasks.items()}
    if tool == "TaskCreate":
        _create(tasks, given, result, text)
    elif tool == "TaskUpdate":
        _update(tasks, given)
    else:
        _replace(tasks, result)
    while len(tasks) > TASKS:
        del tasks[next(iter(tasks))]
    return tasks != before


def _create(
    tasks: dict[str, list[str]], given: dict[str, object], result: dict[str, object], text: str
) -> None:
    task = result.get("task")
    number = task.get("id") if isinstance(task, dict) else None
    if number is None and (found := _CREATED.search(text)):
        number = found[1]
    subject = given.get("subject")
    if number is not None and isinstance(subject, str):
        tasks[str(number)] = [subject, "pending"]


def _update(tasks: dict[str, list[str]], given: dict[str, object]) -> None:
    number = str(given.get("taskId") or "")
    if given.get("status") == "deleted":
        tasks.pop(number, None)
        return
    task = tasks.get(number)
    if task is None:
        return
    if isinstance(given.get("subject"), str):
        task[0] = str(given["subject"])
    if given.get("status") in STATUSES:
        task[1] = str(given["status"])


def _replace(tasks: dict[str, list[str]], result: dict[str, object]) -> None:
    listed = result.get("tasks")
    if not isinstance(listed, list):
        return
    tasks.clear()
    for task in listed:
        if isinstance(task, dict) and isinstance(task.get("subject"), str):
            tasks[str(task.get("id"))] = [str(task["subject"]), _status(task.get("status"))]


def task_plan(tasks: dict[str, list[str]], at: int) -> Plan:
    """Return the plan as it stands now."""
    return Plan(items=tuple((subject, status) for subject, status in tasks.values()), at=at)
