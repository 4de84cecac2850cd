from __future__ import annotations

import os
from pathlib import Path

import pytest

from importers.base import StoreState, StoreUnreadable
from importers.codex import IMPORTER
from tests.importers.codex.rollouts import (
    FORK,
    SEGMENT,
    THREAD,
    encode,
    meta,
    rollout,
    user,
)

ONE = encode([meta(), user("one")], ordinal=0)


@pytest.mark.parametrize("blank", ["", "  ", None])
def test_blank_home_variable_counts_as_unset(blank: str | None) -> None:
    env = {"HOME": "/home/user"} | ({} if blank is None else {"CODEX_HOME": blank})
    assert IMPORTER.home(env) == Path("/home/user/.codex")
    assert IMPORTER.home(env | {"CODEX_HOME": "/x"}) == Path("/x")


def test_absent_store_and_absent_id_are_missing(tmp_path: Path) -> None:
    assert IMPORTER.locate(tmp_path / "gone", THREAD).state == StoreState.MISSING
    rollout(tmp_path, ONE)
    assert IMPORTER.locate(tmp_path, FORK).state == StoreState.MISSING
    assert IMPORTER.locate(tmp_path, "").state == StoreState.MISSING


def test_id_that_is_part_of_another_is_not_found(tmp_path: Path) -> None:
    rollout(tmp_path, ONE)
    assert IMPORTER.locate(tmp_path, THREAD[:-1]).state == StoreState.MISSING


@pytest.mark.parametrize("packed", [False, True])
def test_archived_session_is_archived_not_missing(tmp_path: Path, packed: bool) -> None:
    path = rollout(tmp_path, ONE, archived=True, packed=packed)
    source = IMPORTER.locate(tmp_path, THREAD)
    assert (source.state, source.paths) == (StoreState.ARCHIVED, (path,))
    assert source.detail is not None
    assert f"codex unarchive {THREAD}" in source.detail


def test_plain_wins_over_packed_and_live_over_archived(tmp_path: Path) -> None:
    rollout(tmp_path, ONE, archived=True)
    rollout(tmp_path, ONE, packed=True)
    plain = rollout(tmp_path, ONE)
    assert IMPORTER.locate(tmp_path, THREAD).paths == (plain,)


def test_segments_are_in_order_and_the_newest_is_last(tmp_path: Path) -> None:
    newest = rollout(tmp_path, ONE, segment=SEGMENT)
    first = rollout(tmp_path, ONE)
    source = IMPORTER.locate(tmp_path, THREAD)
    assert source.paths == (first, newest)
    assert source.path == newest


def test_signature_follows_every_segment(tmp_path: Path) -> None:
    first = rollout(tmp_path, ONE)
    rollout(tmp_path, ONE, segment=SEGMENT)
    before = IMPORTER.locate(tmp_path, THREAD).signature
    with first.open("ab") as file:
        file.write(b"x")
    assert IMPORTER.locate(tmp_path, THREAD).signature != before


def test_newest_thread_is_discovered_first(tmp_path: Path) -> None:
    rollout(tmp_path, ONE)
    rollout(tmp_path, encode([meta(FORK)], ordinal=0), thread=FORK)
    assert [source.native_id for source in IMPORTER.discover(tmp_path)] == [FORK, THREAD]


def test_odd_entries_are_reported_beside_the_good_session(tmp_path: Path) -> None:
    folder = rollout(tmp_path, ONE).parent
    os.mkfifo(folder / "z.jsonl")
    (folder / "rollout-2026-11-30T10-00-00-dangling.jsonl").symlink_to(folder / "gone")
    os.mkfifo(folder / "rollout-2026-11-30T10-00-00-fifo.jsonl")
    (folder / "rollout-2026-11-30T10-00-00-directory.jsonl").mkdir()
    (folder / "notes.txt").write_text("not a session")
    found = {source.native_id: source for source in IMPORTER.discover(tmp_path)}
    assert found.pop(THREAD).state == StoreState.PRESENT
    assert set(found) == {"z.jsonl", "dangling", "fifo", "directory"}
    for source in found.values():
        assert source.state == StoreState.UNREADABLE
        assert source.detail


def test_empty_file_is_present_and_has_no_facts_yet(tmp_path: Path) -> None:
    rollout(tmp_path, b"")
    source = IMPORTER.locate(tmp_path, THREAD)
    assert source.state == StoreState.PRESENT
    with pytest.raises(StoreUnreadable, match="no session record"):
        IMPORTER.describe(source)


def test_folder_that_cannot_be_listed_is_not_absence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As root permissions do not stop us, so the refusal is the operating system's by proxy."""
    real = os.scandir

    def scandir(path: Path | str) -> object:
        if str(path).endswith("sessions"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    source = IMPORTER.locate(tmp_path, THREAD)
    assert source.state == StoreState.UNREADABLE
    assert source.detail is not None
    assert "Permission denied" in source.detail
    assert [each.state for each in IMPORTER.discover(tmp_path)] == [StoreState.UNREADABLE] * 2


def test_finding_a_session_opens_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = rollout(tmp_path, ONE)
    for number in range(50):
        thread = f"01a22cab-0000-7000-8000-1{number:011d}"
        rollout(tmp_path, ONE, thread=thread)
    opened: list[str] = []
    real = os.open

    def spy(target: Path | str, *rest: int) -> int:
        opened.append(str(target))
        return real(target, *rest)

    monkeypatch.setattr(os, "open", spy)
    IMPORTER.locate(tmp_path, THREAD)
    assert opened == [str(path)]
