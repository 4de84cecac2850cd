"""The contract of `importers/base.py`, over every recorded store of every built-in importer."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from importers import registry
from importers.base import Event, Limits, StoreState, StoreUnreadable
from launcher.harnesses import registry as adapters
from tests.conformance.kit import (
    Case,
    Reader,
    cases,
    copy_home,
    footprint,
    ids_of,
    losses,
    readers,
    told,
)

CASES = [pytest.param(case, id=case.name) for case in cases()]
every_store = pytest.mark.parametrize("case", CASES)
every_file_of_lines = pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name) for case in cases() if case.in_lines],
)


@pytest.fixture
def home(case: Case, tmp_path: Path) -> Path:
    return copy_home(case, tmp_path / "store")


def lines_of(reader: Reader) -> tuple[Path, list[bytes]]:
    """Return the appended file and its lines."""
    path = reader.source().path
    assert path is not None
    return path, path.read_bytes().splitlines(keepends=True)


@every_store
def test_every_store_has_a_session_with_words_in_it(case: Case, home: Path) -> None:
    found = readers(case, home)
    assert found
    for reader in found:
        assert any(isinstance(item, Event) for item in reader.read())


@every_store
def test_reading_changes_nothing(case: Case, home: Path) -> None:
    before = footprint(home)
    for reader in readers(case, home):
        reader.read()
    assert footprint(home) == before


@every_store
def test_an_identity_arrives_once_in_a_read(case: Case, home: Path) -> None:
    for reader in readers(case, home):
        items = [i for i in reader.read() if isinstance(i, Event)]
        assert len(ids_of(reader.importer, list(items))) == len(items)


@every_store
def test_a_second_read_brings_no_event(case: Case, home: Path) -> None:
    for reader in readers(case, home):
        reader.read()
        assert [i for i in reader.read() if isinstance(i, Event)] == []


@every_store
def test_small_batches_bring_the_same(case: Case, home: Path) -> None:
    for reader in readers(case, home):
        reader.read()
        small = Reader(reader.importer, home, reader.native_id)
        small.read(limits=Limits(batch_items=1, batch_bytes=64))
        assert sorted(small.ids()) == sorted(reader.ids())
        assert small.superseded() == reader.superseded()


@every_file_of_lines
def test_growing_line_by_line_brings_the_same(case: Case, home: Path) -> None:
    for reader in readers(case, home):
        path, lines = lines_of(reader)
        reader.read()
        growing = Reader(reader.importer, home, reader.native_id)
        for count in range(1, len(lines) + 1):
            path.write_bytes(b"".join(lines[:count]))
            if growing.source().state is StoreState.PRESENT:
                growing.read(closed=count == len(lines))
        assert sorted(growing.ids()) == sorted(reader.ids())
        assert growing.superseded() == reader.superseded()


@every_file_of_lines
def test_a_half_written_last_line_waits_for_its_end(case: Case, home: Path) -> None:
    for reader in readers(case, home):
        path, lines = lines_of(reader)
        whole = Reader(reader.importer, home, reader.native_id)
        whole.read()
        path.write_bytes(b"".join(lines)[: -len(lines[-1]) // 2 or None])
        reader.read(closed=False)
        assert losses(reader.items) == []
        path.write_bytes(b"".join(lines))
        reader.read()
        assert sorted(reader.ids()) == sorted(whole.ids())


@every_file_of_lines
@pytest.mark.parametrize(
    "junk", [b"{torn\n", b"\x00" * 300 + b"\n", b'"\xe6\x87\n', b"[" * 3000 + b"\n"]
)
def test_a_broken_line_is_said_and_costs_nothing_else(case: Case, home: Path, junk: bytes) -> None:
    for reader in readers(case, home):
        path, lines = lines_of(reader)
        whole = Reader(reader.importer, home, reader.native_id)
        whole.read()
        path.write_bytes(b"".join([*lines[:-1], junk, lines[-1]]))
        reader.read()
        assert sorted(reader.ids()) == sorted(whole.ids())
        (loss,) = losses(reader.items)
        assert loss.position.startswith(f"{path.name}@")
        assert loss.length == len(junk) or loss.length == len(junk) - 1


@every_file_of_lines
def test_a_replaced_file_is_read_again_under_the_same_ids(case: Case, home: Path) -> None:
    for reader in readers(case, home):
        path, _ = lines_of(reader)
        reader.read()
        before = reader.ids()
        shutil.copy(path, path.with_suffix(".new"))
        path.with_suffix(".new").replace(path)
        reader.read()
        assert reader.ids() == before


@every_file_of_lines
def test_ids_do_not_depend_on_json_spelling(case: Case, home: Path) -> None:
    for reader in readers(case, home):
        path, lines = lines_of(reader)
        reader.read()
        spelled = [
            json.dumps(dict(reversed(json.loads(line).items())), indent=None).encode() + b"\n"
            for line in lines
        ]
        path.write_bytes(b"".join(spelled))
        again = Reader(reader.importer, home, reader.native_id)
        again.read()
        assert sorted(again.ids()) == sorted(reader.ids())


@every_store
def test_a_session_that_is_gone_is_missing_and_not_empty(case: Case, home: Path) -> None:
    for reader in readers(case, home):
        for path in reader.source().paths:
            path.unlink(missing_ok=True)
        assert reader.source().state is StoreState.MISSING


@every_store
def test_an_unreadable_session_is_an_error_and_not_empty(case: Case, home: Path) -> None:
    for reader in readers(case, home):
        source = reader.source()
        assert source.path is not None
        source.path.unlink()
        source.path.mkdir()
        located = reader.source()
        if located.state is StoreState.UNREADABLE:
            assert located.detail
            continue
        with pytest.raises(StoreUnreadable):
            list(reader.importer.read(source, None, reader.nodes, Limits(), closed=True))


@every_store
def test_odd_entries_in_the_store_hide_no_session(case: Case, home: Path) -> None:
    before = {reader.native_id for reader in readers(case, home)}
    for folder in {path.parent for reader in readers(case, home) for path in reader.source().paths}:
        (folder / "dangling.jsonl").symlink_to(folder / "nowhere")
        (folder / "directory.jsonl").mkdir()
        (folder / "empty.jsonl").touch()
        os.mkfifo(folder / "pipe.jsonl")
    assert {reader.native_id for reader in readers(case, home)} >= before


@pytest.mark.parametrize("harness", registry.names())
def test_a_missing_store_has_no_sessions(harness: str, tmp_path: Path) -> None:
    importer = registry.get(harness)
    assert list(importer.discover(tmp_path / "nothing")) == []
    assert importer.locate(tmp_path / "nothing", "some-id").state is StoreState.MISSING


@pytest.mark.parametrize("harness", registry.names())
def test_a_blank_variable_counts_as_unset(harness: str, tmp_path: Path) -> None:
    importer = registry.get(harness)
    plain = {"HOME": str(tmp_path)}
    blank = dict.fromkeys(adapters.get(harness).home_variables, "  ")
    assert importer.home({**plain, **blank}) == importer.home(plain)


@pytest.mark.parametrize("harness", registry.names())
def test_a_configured_home_is_where_the_importer_looks(harness: str, tmp_path: Path) -> None:
    adapter = adapters.get(harness)
    wanted = tmp_path / "elsewhere"
    env = {"HOME": str(tmp_path), **adapter.home_environment(wanted)}
    assert registry.get(harness).home(env) == wanted


@pytest.mark.parametrize(
    "case", [pytest.param(c, id=c.name) for c in cases() if c.expected.exists()]
)
def test_a_store_says_what_is_expected(case: Case, home: Path) -> None:
    expected = json.loads(case.expected.read_text(encoding="utf-8"))
    found = {}
    for reader in readers(case, home):
        reader.read()
        found[reader.native_id] = told(reader)
    assert found == expected
