"""`python -m bench.handoff [--json] [--write] [--quick] [--only WORD] [--show WAY]`."""

from __future__ import annotations

import argparse
import json
import sys
import time

from bench.handoff.measure import BUDGETS, WAYS, Delivered, deliver, figures
from bench.handoff.table import page, table
from bench.handoff.tasks import QUICK, TASKS
from bench.measure import ROOT

PAGE = ROOT / "docs" / "handoff-benchmark.md"


def main() -> int:
    """Compare the ways and print the table. Returns the exit code: 0, whatever the figures say."""
    parser = argparse.ArgumentParser(prog="python -m bench.handoff", description=__doc__)
    parser.add_argument("--json", action="store_true", help="figures and tasks as JSON")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    parser.add_argument("--quick", action="store_true", help="a few tasks of every kind")
    parser.add_argument("--only", default="", help="only tasks whose name holds this word")
    parser.add_argument("--show", choices=WAYS, help="print what this way delivers")
    parser.add_argument("--budget", type=int, action="append", help="bytes; may be repeated")
    asked = parser.parse_args()
    tasks = [task for task in (QUICK if asked.quick else TASKS) if asked.only in task.name]
    if not tasks:
        parser.error(f"no task has {asked.only!r} in its name")
    if asked.write and (asked.quick or asked.only or asked.budget):
        parser.error("--write takes all tasks and budgets")
    began = time.perf_counter()
    delivered = list(deliver(tasks, tuple(asked.budget or BUDGETS)))
    if asked.show:
        _show([item for item in delivered if item.way == asked.show])
    rows = figures(delivered)
    if asked.json:
        document = {"version": 1, "rows": [row.document() for row in rows]}
        document["tasks"] = [_document(item) for item in delivered]
        print(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        print(table(rows))
        took = time.perf_counter() - began
        print(f"{len(tasks)} tasks in {took:.1f} s", file=sys.stderr)
    if asked.write:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(page(rows, len(tasks)), encoding="utf-8")
    return 0


def _show(delivered: list[Delivered]) -> None:
    for item in delivered:
        print(f"=== {item.task}, {item.way}, {item.budget}: {item.bytes} bytes")
        print(item.text)
        print(f"--- carried {item.score.carried:.2f}, misled {item.score.misled}")
        for pattern in item.score.missing:
            print(f"--- missing: {pattern}")


def _document(item: Delivered) -> dict[str, object]:
    return {
        "task": item.task,
        "way": item.way,
        "budget": item.budget,
        "bytes": item.bytes,
        "carried": item.score.carried,
        "classes": item.score.shares,
        "misled": item.score.misled,
        "missing": list(item.score.missing),
    }


if __name__ == "__main__":
    sys.exit(main())
