"""Rows of handoffs that are not what they were written as: found by reading every one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from handoffs.canonical import content_digest
from handoffs.store import answering, reading, rows
from handoffs.store.reading import Found
from ledger.errors import BadDataError

if TYPE_CHECKING:
    from ledger.store import Store


def _matching(make: Callable[[sqlite3.Row], Found]) -> Callable[[sqlite3.Row], object]:
    """Return a reader of rows with a content, which has to have the digest beside it."""

    def read(row: sqlite3.Row) -> None:
        if content_digest(make(row).content) != row["content_digest"]:
            raise BadDataError("its content does not have the digest it was stored under")

    return read


def _prepared_name(row: sqlite3.Row) -> str:
    return f"handoff {row['prepared_id']}"


_TABLES: Final[dict[str, tuple[Callable[[sqlite3.Row], str], Callable[[sqlite3.Row], object]]]] = {
    "handoff_revision": (lambda row: f"handoff r{row['revision']}", _matching(reading.of_revision)),
    "handoff_prepared": (_prepared_name, _matching(reading.of_prepared)),
    "handoff_draft": (_prepared_name, _matching(reading.of_draft)),
    "handoff_transfer": (_prepared_name, _matching(reading.of_transfer)),
    "handoff_receipt": (lambda row: f"receipt {row['receipt_key']}", rows.receipt),
    "handoff_outcome": (lambda row: f"outcome {row['outcome_key']}", answering.outcome_from),
}
"""How a row of each table is named, and what reads it whole."""


def damaged(store: Store) -> Iterator[tuple[str, str, str]]:
    """Yield (workstream, name of the handoff, what is wrong) for every damaged row."""
    for table, (name, read) in _TABLES.items():
        found = store.all(
            f"SELECT t.*, workstream.name AS workstream_name, NULL AS source_name FROM {table} AS t"
            " JOIN workstream ON workstream.id = t.workstream"
        )
        for row in found:
            try:
                read(row)
            except BadDataError as error:
                yield str(row["workstream_name"]), name(row), str(error)
    yield from _heads(store)


def _heads(store: Store) -> Iterator[tuple[str, str, str]]:
    found = store.all(
        "SELECT w.name, h.revision, (SELECT max(revision) FROM handoff_revision AS r"
        " WHERE r.workstream = h.workstream) AS newest,"
        " (SELECT content_digest FROM handoff_revision AS r WHERE r.workstream = h.workstream"
        " AND r.revision = h.revision) IS h.content_digest AS same"
        " FROM handoff_head AS h JOIN workstream AS w ON w.id = h.workstream"
    )
    for row in found:
        if row["newest"] != row["revision"] or not row["same"]:
            yield row["name"], f"head r{row['revision']}", "it is not the newest revision"
