from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from importers import rows
from importers.base import StoreUnreadable
from tests.conformance.kit import footprint


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Return a live program's connection, which never checkpoints by itself."""
    (tmp_path / "store").mkdir()
    db = sqlite3.connect(tmp_path / "store" / "odd name #1?.db", isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA wal_autocheckpoint = 0")
    db.execute("CREATE TABLE said (id INTEGER PRIMARY KEY, words TEXT)")
    with contextlib.closing(db):
        yield db


@pytest.fixture
def path(writer: sqlite3.Connection, tmp_path: Path) -> Path:
    assert writer.in_transaction is False
    return tmp_path / "store" / "odd name #1?.db"


def say(db: sqlite3.Connection, *words: str) -> None:
    db.executemany("INSERT INTO said (words) VALUES (?)", [(word,) for word in words])


def heard(path: Path) -> list[str]:
    with rows.opened(path) as db:
        return [row["words"] for row in db.execute("SELECT words FROM said ORDER BY id")]


def test_what_only_the_log_holds_is_read_while_the_writer_lives(
    writer: sqlite3.Connection, path: Path
) -> None:
    say(writer, "one")
    writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    say(writer, "two", "drei ☕")
    assert heard(path) == ["one", "two", "drei ☕"]


def test_what_is_not_committed_is_not_read(writer: sqlite3.Connection, path: Path) -> None:
    say(writer, "one")
    writer.execute("BEGIN")
    say(writer, "two")
    assert heard(path) == ["one"]
    writer.execute("COMMIT")
    assert heard(path) == ["one", "two"]


@pytest.mark.parametrize("state", ["live", "killed", "closed", "emptied"])
def test_reading_leaves_nothing_and_changes_nothing(
    writer: sqlite3.Connection, path: Path, tmp_path: Path, state: str
) -> None:
    say(writer, "one", "two")
    home = path.parent
    if state == "killed":  # the files as they are without a process that has them open
        shutil.copytree(home, tmp_path / "left")
        home = tmp_path / "left"
        (home / f"{path.name}-shm").unlink()
    elif state == "closed":
        writer.close()
    elif state == "emptied":
        writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    home.chmod(0o755)
    before = footprint(home)
    assert heard(home / path.name) == ["one", "two"]
    assert footprint(home) == before


def test_a_store_that_cannot_be_written_is_read(writer: sqlite3.Connection, path: Path) -> None:
    say(writer, "one")
    for file in path.parent.iterdir():
        file.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        assert heard(path) == ["one"]
    finally:
        path.parent.chmod(0o700)


def test_the_writer_is_never_locked_out(writer: sqlite3.Connection, path: Path) -> None:
    say(writer, "one")
    with rows.opened(path) as db:
        writer.execute("PRAGMA busy_timeout = 0")
        say(writer, "two")
        assert writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
        assert [row["words"] for row in db.execute("SELECT words FROM said")] == ["one"]


def test_no_copy_is_left_behind(
    writer: sqlite3.Connection, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    say(writer, "one")
    with rows.opened(path) as db:
        assert db.execute("SELECT count(*) FROM said").fetchone()[0] == 1
        assert list(scratch.iterdir()) == []
    assert list(scratch.iterdir()) == []


def test_a_database_that_is_written_while_it_is_read_is_said(
    writer: sqlite3.Connection, path: Path
) -> None:
    say(writer, "one")
    writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def read_meanwhile() -> None:
        with rows.opened(path):
            say(writer, "two")
            writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    with pytest.raises(rows.ChangedMeanwhile):
        read_meanwhile()


def test_nothing_can_be_written_through_it(writer: sqlite3.Connection, path: Path) -> None:
    say(writer, "one")
    with pytest.raises(StoreUnreadable, match="readonly"), rows.opened(path) as db:
        db.execute("INSERT INTO said (words) VALUES ('no')")


@pytest.mark.parametrize("odd", ["missing", "directory", "pipe", "text"])
def test_what_is_no_database_cannot_be_read(tmp_path: Path, odd: str) -> None:
    path = tmp_path / "store.db"
    if odd == "directory":
        path.mkdir()
    elif odd == "pipe":
        os.mkfifo(path)
    elif odd == "text":
        path.write_text("no database, only words, but many of them" * 30)
    with pytest.raises(StoreUnreadable, match=r"store\.db"), rows.opened(path) as db:
        db.execute("SELECT 1 FROM sqlite_master")


def test_a_signature_sees_what_only_the_log_holds(writer: sqlite3.Connection, path: Path) -> None:
    say(writer, "one")
    before = rows.signature(path)
    assert rows.signature(path) == before
    say(writer, "two")
    assert rows.signature(path) != before
