"""The figures as a Markdown table, and the page of the documentation that holds it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.handoff.facts import CLASSES
from bench.handoff.measure import Figures

_HEAD: Final = (
    "| way | budget | objective | open | check | files | decision | **all** | worst | misled |"
    " bytes |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
)
_PAGE: Final = Path(__file__).with_name("page.md")
"""The page around the table; `{table}` and `{tasks}` stand where they come."""


def table(rows: Sequence[Figures]) -> str:
    """Return the table."""
    lines = [_HEAD]
    for row in rows:
        shares = " | ".join(_share(row.classes.get(name)) for name in CLASSES)
        budget = f"{row.budget / 1024:g} KiB" if row.budget else ""
        lines.append(
            f"| {row.way} | {budget} | {shares} | **{_share(row.mean)}** | {_share(row.worst)} |"
            f" {row.misled} of {row.replaced} | {row.bytes:,.0f} |"
        )
    return "\n".join(lines)


def page(rows: Sequence[Figures], tasks: int) -> str:
    """Return the page."""
    return _PAGE.read_text(encoding="utf-8").format(table=table(rows), tasks=tasks)


def _share(value: float | None) -> str:
    """Write a share, rounded down: 100 % is all of it."""
    return "" if value is None else f"{int(100 * value + 1e-9)} %"
