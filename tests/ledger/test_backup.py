from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger import backup as backups
from ledger import events, notes, workstreams
from ledger.backup import backup, restore
from ledger.errors import (
    BadDataError,
    BusyError,
    StateNewerError,
    UnavailableError,
    UsageError,
)
from ledger.forget import forget
from ledger.model import Workstream
from ledger.search import search
from ledger.store import DATABASE, Store, open_store
from ledger.verify import verify
from tests.ledger.making import SetClock, apply, event, link, start_run


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "copies").mkdir()
    return tmp_path / "copies" / "ledger.backup"


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def fill(store: Store, workstream: Workstream, *records: int, native: str = "native-1") -> None:
    session = link(store, workstream, native)
    apply(store, session, [event(n, f"{native} text {n}", name=f"{native}-{n}") for n in records])


def texts(home: Path, workstream: Workstream) -> list[str]:
    with open_store(home, "rw") as store:
        return [row.text for row in events.log(store, workstream)]


@pytest.mark.usefixtures("umask")
def test_a_backup_is_one_private_sound_file(
    store: Store, workstream: Workstream, target: Path
) -> None:
    fill(store, workstream, 0, 1)
    made = backup(store, target)
    assert (made.path, made.events, made.bytes) == (target, 2, target.stat().st_size)
    assert [path.name for path in target.parent.iterdir()] == [target.name]
    assert target.stat().st_mode & 0o777 == 0o600
    with sqlite3.connect(f"file:{target}?mode=ro&immutable=1", uri=True) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert copy.execute("SELECT count(*) FROM event").fetchone() == (2,)


def test_a_backup_holds_what_is_still_in_the_journal(
    store: Store, workstream: Workstream, target: Path
) -> None:
    store.db.execute("PRAGMA wal_autocheckpoint = 0")
    fill(store, workstream, 0)
    with open_store(store.home, "ro") as reader:
        backup(reader, target)
    with sqlite3.connect(target) as copy:
        assert copy.execute("SELECT count(*) FROM event").fetchone() == (1,)


def test_an_existing_file_is_replaced_only_when_forced(store: Store, target: Path) -> None:
    target.write_text("precious")
    with pytest.raises(UsageError, match="is there already"):
        backup(store, target)
    assert target.read_text() == "precious"
    backup(store, target, force=True)
    assert target.read_bytes().startswith(b"SQLite format 3")


def test_the_ledger_itself_is_no_target(store: Store) -> None:
    with pytest.raises(UsageError, match="the ledger itself"):
        backup(store, store.path, force=True)


def test_a_directory_that_is_not_there_is_an_error_without_traces(
    store: Store, tmp_path: Path
) -> None:
    with pytest.raises(UnavailableError, match="cannot write"):
        backup(store, tmp_path / "missing" / "file")


def test_a_backup_is_noted(store: Store, workstream: Workstream, target: Path) -> None:
    fill(store, workstream, 0)
    backup(store, target)
    row = store.one("SELECT path, head FROM backup_record")
    assert row is not None
    assert tuple(row) == (str(target), f'{{"{workstream.uid}": 1}}')


def test_a_restore_puts_the_ledger_back_and_keeps_the_present_one(
    store: Store, workstream: Workstream, target: Path
) -> None:
    fill(store, workstream, 0)
    backup(store, target)
    fill(store, workstream, 1)
    store.close()
    done = restore(store.home, target)
    assert texts(store.home, workstream) == ["native-1 text 0"]
    assert done.kept is not None
    assert done.kept.name.startswith("workstream.db.before-restore-")
    with sqlite3.connect(done.kept) as kept:
        assert kept.execute("SELECT count(*) FROM event").fetchone() == (2,)
    assert store.path.stat().st_mode & 0o777 == 0o600
    assert not list(store.home.glob(".restore-*"))
    with open_store(store.home, "rw") as again:
        assert verify(again) == []
        assert search(again, "text").total == 1


def test_a_restore_says_what_is_newer_than_the_backup(
    store: Store, workstream: Workstream, target: Path
) -> None:
    fill(store, workstream, 0)
    backup(store, target)
    fill(store, workstream, 1, 2)
    fill(store, workstream, 0, native="native-2")
    start_run(store, workstream)
    workstreams.create(store, workstream.repository, "empty")
    store.db.execute("UPDATE lease SET run = NULL")
    store.close()
    (behind,) = restore(store.home, target).behind
    assert (behind.name, behind.events, behind.runs) == ("main", 3, 1)
    assert behind.sessions == ("codex:native-2",)


def test_a_backup_of_a_ledger_can_start_a_new_home(
    store: Store, workstream: Workstream, target: Path, tmp_path: Path
) -> None:
    fill(store, workstream, 0)
    backup(store, target)
    done = restore(tmp_path / "new home", target)
    assert (done.kept, done.behind, done.compared) == (None, (), False)
    assert texts(tmp_path / "new home", workstream) == ["native-1 text 0"]


def test_a_backup_of_another_ledger_is_said_to_be_one(
    store: Store, tmp_path: Path, target: Path
) -> None:
    with open_store(tmp_path / "other") as other:
        backup(other, target)
    store.close()
    assert restore(store.home, target).other_store


def test_a_restore_waits_for_a_live_run(store: Store, workstream: Workstream, target: Path) -> None:
    backup(store, target)
    start_run(store, workstream)
    store.db.execute("UPDATE lease SET expires_at = 4102444800000")
    store.close()
    with pytest.raises(BusyError, match="a run is going on in the workstream 'main'"):
        restore(store.home, target)
    assert restore(store.home, target, force=True).kept is not None


def test_a_restore_refuses_while_another_process_has_the_ledger_open(
    store: Store, workstream: Workstream, target: Path
) -> None:
    fill(store, workstream, 0)
    backup(store, target)
    with pytest.raises(BusyError, match="another process has the ledger"):
        restore(store.home, target)
    fill(store, workstream, 1)
    assert store.one("PRAGMA journal_mode")[0] == "wal"  # type: ignore[index]


def test_a_forced_restore_does_not_mix_journals(
    store: Store, workstream: Workstream, target: Path
) -> None:
    fill(store, workstream, 0)
    backup(store, target)
    store.db.execute("PRAGMA wal_autocheckpoint = 0")
    fill(store, workstream, 1)
    done = restore(store.home, target, force=True)
    assert texts(store.home, workstream) == ["native-1 text 0"]
    fill(store, workstream, 2)
    store.close()
    assert texts(store.home, workstream) == ["native-1 text 0"]
    assert done.kept is not None
    with sqlite3.connect(done.kept) as kept:
        assert kept.execute("SELECT count(*) FROM event").fetchone() == (3,)


def test_a_damaged_ledger_is_replaced(store: Store, workstream: Workstream, target: Path) -> None:
    fill(store, workstream, 0)
    backup(store, target)
    store.close()
    store.path.write_bytes(b"garbage" * 1000)
    done = restore(store.home, target)
    assert (done.compared, done.kept is not None) == (False, True)
    assert texts(store.home, workstream) == ["native-1 text 0"]


@pytest.mark.parametrize("what", ["text", "empty", "other", "cut"])
def test_a_file_that_is_no_ledger_changes_nothing(
    store: Store, workstream: Workstream, target: Path, what: str
) -> None:
    fill(store, workstream, 0)
    if what == "text":
        target.write_text("hello")
    elif what == "empty":
        target.touch()
    elif what == "other":
        with sqlite3.connect(target) as other:
            other.execute("CREATE TABLE workstream (uid, head_seq)")
    else:
        backup(store, target)
        target.write_bytes(target.read_bytes()[:-8192])
    store.close()
    with pytest.raises(BadDataError):
        restore(store.home, target)
    assert texts(store.home, workstream) == ["native-1 text 0"]
    assert backups.kept_copies(store.home) == []


def test_a_file_that_is_not_there_is_an_error(store: Store, target: Path) -> None:
    with pytest.raises(UnavailableError, match="there is no file"):
        restore(store.home, target)


def test_a_backup_of_a_newer_schema_is_refused(store: Store, target: Path) -> None:
    backup(store, target)
    with sqlite3.connect(target) as copy:
        copy.execute("PRAGMA user_version = 99")
    store.close()
    with pytest.raises(StateNewerError):
        restore(store.home, target)


def test_a_restore_leaves_the_backup_as_it_was(
    store: Store, workstream: Workstream, target: Path
) -> None:
    fill(store, workstream, 0)
    backup(store, target)
    store.close()

    def look() -> tuple[bytes, int, list[Path]]:
        return target.read_bytes(), target.stat().st_mtime_ns, list(target.parent.iterdir())

    before = look()
    restore(store.home, target)
    assert look() == before


def test_what_was_forgotten_since_the_backup_does_not_come_back(
    store: Store, workstream: Workstream, target: Path
) -> None:
    fill(store, workstream, 0, 1)
    notes.add(store, workstream, "a note", author="ada")
    backup(store, target)
    forget(store, events=[events.get(store, workstream, "e1").event_id], who="ada")
    store.close()
    done = restore(store.home, target)
    assert done.forgotten == 1
    assert texts(store.home, workstream) == ["", "native-1 text 1"]
    assert b"native-1 text 0" not in store.path.read_bytes()
    with open_store(store.home, "rw") as again:
        assert verify(again) == []
        assert search(again, "text").total == 1


def test_a_session_forgotten_since_the_backup_stays_forgotten(
    store: Store, workstream: Workstream, target: Path
) -> None:
    session = link(store, workstream)
    fill(store, workstream, 0, 1)
    backup(store, target)
    forget(store, session=session, who="ada")
    store.close()
    assert restore(store.home, target).forgotten == 2
    assert texts(store.home, workstream) == ["", ""]


def test_fencing_tokens_do_not_repeat_after_a_restore(
    store: Store, workstream: Workstream, target: Path, clock: SetClock
) -> None:
    from leases.holder import holder_here
    from leases.lease import acquire, release

    def run_once(opened: Store) -> int:
        clock.now += 1
        holder = holder_here(opened, run="run_x", env={}, harness="codex")
        lease = acquire(opened, workstream.id, holder)
        assert release(opened, workstream.id, lease.token)
        return lease.token

    tokens = [run_once(store)]
    backup(store, target)
    tokens += [run_once(store), run_once(store)]
    store.close()
    restore(store.home, target)
    with open_store(store.home, "rw", clock=clock) as again:
        tokens.append(run_once(again))
    assert tokens == sorted(set(tokens))


def test_older_ledgers_in_the_home_are_known(store: Store, target: Path) -> None:
    backup(store, target)
    store.close()
    restore(store.home, target)
    restore(store.home, target)
    names = [path.name for path in backups.kept_copies(store.home)]
    assert len(names) == 2
    assert all(name.startswith(DATABASE) for name in names)
