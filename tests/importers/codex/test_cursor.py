"""Whatever happens to a rollout between reads: the ledger ends up with what a clean read gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from importers.base import Limits
from importers.codex import IMPORTER
from tests.importers.codex.rollouts import (
    Ledger,
    agent,
    answer,
    call,
    command,
    developer,
    encode,
    event,
    imported,
    meta,
    rollout,
    user,
)

RECORDS = st.lists(
    st.sampled_from(
        [
            user("hello"),
            user("hello"),
            agent("done"),
            command("call_1", "ls", "a\n"),
            call("call_2", "lookup", q="x"),
            answer("call_2", "found"),
            developer("dlv_abcdefgh23_0001"),
            event("task_started", turn_id="t1"),
            event("task_complete", turn_id="t1"),
            {"type": "zz-progress"},
        ]
    ),
    max_size=12,
)
BROKEN = st.sampled_from([b"\0" * 20 + b"\n", b"\n", b'{"type":"event_msg"\n', b"\xff\xfe\n"])
STEPS = st.one_of(
    st.tuples(st.just("append"), RECORDS),
    st.tuples(st.just("partial"), st.integers(1, 400)),
    st.tuples(st.just("broken"), BROKEN),
    st.tuples(st.just("truncate"), st.integers(0, 3000)),
    st.tuples(st.just("rewrite"), RECORDS),
    st.tuples(st.just("replace"), RECORDS),
    st.tuples(st.just("read"), st.integers(0, 3)),
)


class Writer:
    """Does to a file what a program, a crash or a person may do to it."""

    def __init__(self, home: Path) -> None:
        self.path = rollout(home, encode([meta()], ordinal=0))
        self.second = 100

    def lines(self, records: list[dict[str, Any]]) -> bytes:
        self.second += len(records)
        return encode(records, ordinal=self.second, start=self.second)

    def do(self, step: str, value: Any) -> None:
        content = self.path.read_bytes()
        if step == "append":
            content += self.lines(value)
        elif step == "partial":
            content += self.lines([user("p" * 300)])[:value]
        elif step == "broken":
            content += value
        elif step == "truncate":
            content = content[:value]
        elif step == "rewrite":
            self.second = 200
            content = self.lines([meta(), *value])
        elif step == "replace":
            other = self.path.with_name("other.tmp")
            other.write_bytes(self.lines([meta(), *value]))
            other.replace(self.path)
            return
        with self.path.open("r+b") as file:
            file.truncate(0)
            file.write(content)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=st.lists(STEPS, max_size=12), size=st.integers(1, 5))
def test_any_history_of_a_file_leads_to_the_clean_reading(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, Any]], size: int
) -> None:
    home = tmp_path_factory.mktemp("home")
    writer, ledger = Writer(home), Ledger()
    limits = Limits(batch_items=size)
    for step, value in steps:
        if step == "read":
            ledger.read(IMPORTER.locate(home, _thread(home)), limits=limits, batches=value or None)
        else:
            writer.do(step, value)
    source = IMPORTER.locate(home, _thread(home))
    ledger.read(source, limits=limits)
    assert ledger.membership() == imported(home, source.native_id).membership()
    assert list(IMPORTER.read(source, ledger.state, ledger.nodes, limits, closed=False)) == []


def _thread(home: Path) -> str:
    return next(IMPORTER.discover(home)).native_id


def test_only_what_is_new_is_read_again(tmp_path: Path) -> None:
    path = rollout(tmp_path, encode([meta(), *[user(f"m{n}") for n in range(500)]], ordinal=0))
    ledger = imported(tmp_path)
    with path.open("ab") as file:
        file.write(encode([user("last")], ordinal=501, start=900))
    batches = list(
        IMPORTER.read(
            IMPORTER.locate(tmp_path, _thread(tmp_path)),
            ledger.state,
            ledger.nodes,
            Limits(),
            closed=False,
        )
    )
    assert sum(batch.read_bytes for batch in batches) < 500
    assert [getattr(each, "text", None) for batch in batches for each in batch.items] == ["last"]


def test_cursor_stays_small(tmp_path: Path) -> None:
    records = [meta()]
    for number in range(1000):
        records += [user(f"u{number}"), call(f"c{number}", "lookup"), answer(f"c{number}", "x")]
    rollout(tmp_path, encode(records, ordinal=0))
    state = imported(tmp_path).state
    assert state is not None
    assert len(state) < 10_000


def test_state_of_another_version_or_thread_starts_over(tmp_path: Path) -> None:
    rollout(tmp_path, encode([meta(), user("one")], ordinal=0))
    for state in ("{}", "not json", '{"version":99}', '{"version":1,"thread":"other"}'):
        ledger = Ledger(state=state)
        ledger.read(IMPORTER.locate(tmp_path, _thread(tmp_path)))
        assert ledger.conversation() == [("user", "one")]


def test_compressing_and_unpacking_again_adds_nothing(tmp_path: Path) -> None:
    content = encode([meta(), user("one"), agent("two")], ordinal=0)
    plain = rollout(tmp_path, content)
    ledger = imported(tmp_path)
    plain.unlink()
    packed = rollout(tmp_path, content, packed=True)
    ledger.read(IMPORTER.locate(tmp_path, _thread(tmp_path)))
    assert ledger.new == 0
    rollout(tmp_path, content + encode([user("three")], ordinal=3, start=9))
    assert packed.exists()
    ledger.read(IMPORTER.locate(tmp_path, _thread(tmp_path)))
    assert ledger.new == 1
    assert ledger.conversation() == [("user", "one"), ("assistant", "two"), ("user", "three")]
