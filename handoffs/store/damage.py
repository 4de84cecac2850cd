"""Rows of handoffs that are not what they were written as: found by reading every one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from handoffs.canonical import content_digest
from handoffs.stored import content_from
from ledger.errors import BadDataError

if TYPE_CHECKING:
    from ledger.store import Store

_TABLES: Final[dict[str, Callable[[sqlite3.Row], str]]] = {
    "handoff_revision": lambda row: f"r{row['revision']}",
    "handoff_prepared": lambda row: str(row["prepared_id"]),
    "handoff_draft": lambda row: str(row["prepared_id"]),
    "handoff_transfer": lambda row: str(row["prepared_id"]),
}


def damaged(store: Store) -> Iterator[tuple[str, str, str]]:
    """Yield (workstream, name of the handoff, what is wrong) for every damaged row."""
    for table, name in _TABLES.items():
        rows = store.all(
            f"SELECT t.*, workstream.name AS workstream_name FROM {table} AS t"
            " JOIN workstream ON workstream.id = t.workstream"
        )
        for row in rows:
            wrong = _wrong(row)
            if wrong is not None:
                yield str(row["workstream_name"]), name(row), wrong


def _wrong(row: sqlite3.Row) -> str | None:
    try:
        content = content_from(row["content"])
    except BadDataError as error:
        return str(error)
    if content_digest(content) != row["content_digest"]:
        return "its content does not have the digest it was stored under"
    return None
