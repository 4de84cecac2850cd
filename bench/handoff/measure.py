"""Play every task, deliver it in every way and size, and score what arrived."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from bench.handoff.facts import CLASSES, Score, Truth, score
from bench.handoff.rivals import RIVALS, everything
from bench.handoff.tasks.task import Task
from bench.handoff.work import Work, scrubbed

BUDGETS: Final = (2048, 4096, 8192, 16_384)
WAYS: Final = ("nothing", *RIVALS, "handoff", "handoff + delta", "everything shown")
NO_BUDGET: Final = 0
"""Budget of the two ways that have none: the floor and the ceiling."""
_PATH: Final = 48
"""Characters of a task's folder: bytes must not depend on where temporary files are kept."""


class Delivered(NamedTuple):
    """One task, handed over in one way with one budget."""

    task: str
    way: str
    budget: int
    bytes: int
    score: Score
    text: str


class Figures(NamedTuple):
    """One way with one budget, over all tasks."""

    way: str
    budget: int
    classes: dict[str, float]
    """Mean share of the facts carried, over the tasks that have such facts."""
    mean: float
    worst: float
    worst_task: str
    misled: int
    """Tasks in which a replaced statement was repeated as current."""
    replaced: int
    """Tasks in which something was replaced."""
    bytes: float

    def document(self) -> dict[str, object]:
        """Return it for JSON."""
        return self._asdict()


def deliver(tasks: Sequence[Task], budgets: Sequence[int] = BUDGETS) -> Iterator[Delivered]:
    """Play tasks and yield what each way delivers. Nothing of this machine's user is read."""
    with _folder() as folder, scrubbed(folder) as env:
        for task in tasks:
            root = folder / "task"
            root.mkdir()
            work = Work(root, task.seed, env)
            try:
                truth = task.play(work)
                yield from _each(task, work, truth, budgets)
            finally:
                work.close()
                shutil.rmtree(root)


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="handoff-") as made:
        real = Path(made).resolve()
        padded = real / ("x" * max(1, _PATH - len(str(real)) - 1))
        padded.mkdir()
        yield padded


def _each(task: Task, work: Work, truth: Truth, budgets: Sequence[int]) -> Iterator[Delivered]:
    for way, text in (("nothing", ""), ("everything shown", everything(work.shown))):
        yield Delivered(task.name, way, NO_BUDGET, len(text.encode()), score(truth, text), text)
    for budget in budgets:
        texts = {name: way(work.shown, budget) for name, way in RIVALS.items()}
        texts["handoff"] = work.handoff(budget)
        texts["handoff + delta"] = work.handoff_and_delta(budget)
        for way, text in texts.items():
            size = len(text.encode())
            if size > budget:
                raise RuntimeError(f"{way} took {size} bytes of {budget} for {task.name}")
            yield Delivered(task.name, way, budget, size, score(truth, text), text)


def figures(delivered: Sequence[Delivered]) -> list[Figures]:
    """Return the rows of the table: ways in their order, budgets within."""
    rows = []
    for way in WAYS:
        for budget in sorted({item.budget for item in delivered}):
            mine = [d for d in delivered if (d.way, d.budget) == (way, budget)]
            if mine:
                rows.append(_figures(way, budget, mine))
    return rows


def _figures(way: str, budget: int, mine: Sequence[Delivered]) -> Figures:
    classes = {}
    for name in CLASSES:
        shares = [d.score.shares[name] for d in mine if name in d.score.shares]
        if shares:
            classes[name] = sum(shares) / len(shares)
    worst = min(mine, key=lambda d: d.score.carried)
    return Figures(
        way=way,
        budget=budget,
        classes=classes,
        mean=sum(d.score.carried for d in mine) / len(mine),
        worst=worst.score.carried,
        worst_task=worst.task,
        misled=sum(d.score.misled is True for d in mine),
        replaced=sum(d.score.misled is not None for d in mine),
        bytes=sum(d.bytes for d in mine) / len(mine),
    )
