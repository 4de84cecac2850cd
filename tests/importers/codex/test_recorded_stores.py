"""Recorded stores: every message that was recorded, exactly once, in order, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from importers.base import AgentCheck, FileFact, LeftOut, Limits, StoreState, Turn, Usage
from importers.codex import IMPORTER
from tests.importers.codex.rollouts import Ledger, imported

FIXTURES = Path(__file__).parents[2] / "fixtures" / "codex"
EXPECTED: dict[str, dict[str, Any]] = json.loads((FIXTURES / "EXPECTED.json").read_text())


def homes() -> list[Path]:
    return sorted(path for path in FIXTURES.iterdir() if path.is_dir())


def expected_of(home: Path, thread: str) -> list[dict[str, Any]]:
    """Return the files of a thread in the order of their start."""
    found = [
        dict(facts, path=name)
        for name, facts in EXPECTED.items()
        if name.startswith(f"{home.name}/") and facts["thread_id"] == thread
    ]
    return sorted(found, key=lambda facts: facts["segment_id"])


def inherited(home: Path, facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the messages that a file's conversation begins with, by its history base."""
    base = facts["history_base"]
    if base is None:
        return []
    parent = next(
        each
        for name, each in EXPECTED.items()
        if name.startswith(f"{home.name}/") and each["segment_id"] == base["thread_id"]
    )
    return inherited(home, parent) + [
        (message["role"], message["text"])
        for message in parent["messages_in_file"]
        if message["ordinal"] < base["end_ordinal_exclusive"]
    ]


def threads() -> list[tuple[Path, str]]:
    pairs = {
        (FIXTURES / name.split("/")[0], facts["thread_id"]) for name, facts in EXPECTED.items()
    }
    return sorted(pairs)


def in_file(facts: dict[str, Any]) -> list[tuple[str, str]]:
    return [(message["role"], message["text"]) for message in facts["messages_in_file"]]


@pytest.mark.parametrize(
    ("home", "thread"), threads(), ids=lambda value: getattr(value, "name", value)
)
def test_active_conversation_is_the_newest_file_after_what_it_inherits(
    home: Path, thread: str
) -> None:
    files = expected_of(home, thread)
    ledger = imported(home / "codex-home", thread)
    newest = files[-1]
    assert ledger.conversation() == inherited(home, newest) + in_file(newest)
    everything = [row for facts in files for row in in_file(facts)]
    both = ledger.conversation() + ledger.conversation(active=False)
    assert sorted(both) == sorted(inherited(home, files[0]) + everything)
    assert ledger.losses == []


@pytest.mark.parametrize(
    ("home", "thread"), threads(), ids=lambda value: getattr(value, "name", value)
)
@pytest.mark.parametrize("closed", [False, True])
def test_second_read_yields_nothing(home: Path, thread: str, closed: bool) -> None:
    ledger = imported(home / "codex-home", thread, closed=closed)
    source = IMPORTER.locate(home / "codex-home", thread)
    assert list(IMPORTER.read(source, ledger.state, ledger.nodes, Limits(), closed=closed)) == []
    assert ledger.nodes.cleared == 0


@pytest.mark.parametrize("home", homes(), ids=lambda home: home.name)
def test_batches_do_not_change_what_is_read(home: Path) -> None:
    for source in IMPORTER.discover(home / "codex-home"):
        whole, small = Ledger(), Ledger()
        whole.read(source)
        small.read(source, limits=Limits(batch_items=1))
        assert small.present() == whole.present()
        assert small.of(Turn) == whole.of(Turn)
        assert small.of(FileFact) == whole.of(FileFact)


@pytest.mark.parametrize("home", homes(), ids=lambda home: home.name)
def test_every_file_is_discovered_and_described(home: Path) -> None:
    sources = list(IMPORTER.discover(home / "codex-home"))
    expected = [facts for name, facts in EXPECTED.items() if name.startswith(f"{home.name}/")]
    assert {path.name for source in sources for path in source.paths} == {
        name.rsplit("/", 1)[1] for name in EXPECTED if name.startswith(f"{home.name}/")
    }
    for source in sources:
        assert source.state == StoreState.PRESENT
        facts = IMPORTER.describe(source)
        recorded = next(each for each in expected if each["thread_id"] == source.native_id)
        subagent = recorded["thread_source"] == "subagent"
        assert facts.native_id == recorded["thread_id"]
        assert facts.version == recorded["cli_version"]
        assert facts.subagent_of == (recorded["parent_thread_id"] if subagent else None)
        assert facts.parent == (None if subagent else recorded["forked_from_id"])
        assert facts.one_shot == {"exec": True, "cli": False}.get(str(recorded["source"]))
        assert facts.first_cwd == "/home/user/project"


@pytest.mark.parametrize(
    ("home", "thread"), threads(), ids=lambda value: getattr(value, "name", value)
)
def test_turn_ends_and_compactions_are_those_recorded(home: Path, thread: str) -> None:
    ledger = imported(home / "codex-home", thread)
    states = {turn.turn: turn.state for turn in ledger.of(Turn)}
    files = expected_of(home, thread)
    for turn in (turn for facts in files for turn in facts["turns"]):
        if turn["turn_id"] in states:
            end = {"aborted": "interrupted"}.get(turn["end"], turn["end"])
            assert states[turn["turn_id"]] == end
    compactions = [row for row in ledger.present() if row[0] == "compaction"]
    assert len(compactions) == sum(facts["compactions"] for facts in files)
    counted = [usage.compactions for usage in ledger.of(Usage)]
    assert sum(counted) == len(compactions)


def calls(ledger: Ledger) -> list[tuple[str, str, int | None, str | None]]:
    return [
        (event.tool or "", event.text, event.exit_code, event.status)
        for event in ledger.events.values()
        if event.tool
    ]


@pytest.mark.parametrize("name", ["tools", "codemode", "legacy_0_130"])
def test_tools_are_the_same_whatever_the_shape_of_the_store(name: str) -> None:
    home = FIXTURES / name / "codex-home"
    source = next(IMPORTER.discover(home))
    found = calls(imported(home, source.native_id))
    assert found[:8] == [
        ("exec_command", "printf 'README\\n'; ls; false", None, None),
        ("exec_command", "README\nREADME\n", 1, "error"),
        ("apply_patch", "create /home/user/project/hello.txt", None, None),
        ("apply_patch", "Success. Updated the following files:\nA hello.txt\n", None, "ok"),
        ("exec_command", "cat hello.txt", None, None),
        ("exec_command", "hello\nworld\n", 0, "ok"),
        ("web_search", "codex rollout format", None, None),
        ("web_search", "", None, "ok"),
    ]
    extra = [
        ("mcp__tickets__get_ticket", 'tickets.get_ticket {"id": "T-7"}', None, None),
        ("mcp__tickets__get_ticket", 'ticket: {"id": "T-7"}', None, "ok"),
    ]
    assert found[8:] == (extra if name == "tools" else [])


def test_interrupted_command_keeps_its_partial_output() -> None:
    home = FIXTURES / "interrupted" / "codex-home"
    ledger = imported(home, next(IMPORTER.discover(home)).native_id, closed=True)
    assert calls(ledger) == [
        ("exec_command", "echo begin; sleep 40; echo end", None, None),
        ("exec_command", "begin\n", None, "interrupted"),
    ]


def test_subagents_give_facts_and_no_messages() -> None:
    home = FIXTURES / "subagents" / "codex-home"
    root = next(
        source.native_id
        for source in IMPORTER.discover(home)
        if IMPORTER.describe(source).subagent_of is None
    )
    ledger = imported(home, root)
    checks = ledger.of(AgentCheck)
    assert [(check.command, check.exit_code) for check in checks] == [("ls | wc -l", 0)] * 2
    assert len({check.agent for check in checks}) == 2
    assert not any("There is 1 file" in text for _, text in ledger.conversation())
    assert sum(left.number for left in ledger.of(LeftOut) if left.kind == "subagent") >= 4


def test_injected_context_is_counted_and_never_stored() -> None:
    home = FIXTURES / "hook_context" / "codex-home"
    ledger = imported(home, next(IMPORTER.discover(home)).native_id)
    texts = " ".join(text for _, text, _, _ in ledger.present())
    assert "Handoff" not in texts
    assert "Project rule" not in texts
    left = {each.kind: each.number for each in ledger.of(LeftOut)}
    assert left["injected"] == 4


def test_usage_holds_the_last_figures_of_the_store() -> None:
    home = FIXTURES / "tools" / "codex-home"
    usage = imported(home, next(IMPORTER.discover(home)).native_id).of(Usage)[-1]
    assert (usage.model, usage.context_tokens, usage.limit_tokens, usage.output_tokens) == (
        "gpt-5.5",
        4255,
        258400,
        127,
    )


def test_reading_leaves_the_store_as_it_is(tmp_path: Path) -> None:
    import shutil

    home = tmp_path / "home"
    shutil.copytree(FIXTURES / "rewound" / "codex-home", home)

    def listing() -> dict[str, tuple[int, int, bytes]]:
        return {
            str(path.relative_to(home)): (
                path.stat().st_mtime_ns,
                path.stat().st_ctime_ns,
                path.read_bytes() if path.is_file() else b"",
            )
            for path in [home, *home.rglob("*")]
        }

    before = listing()
    for source in IMPORTER.discover(home):
        IMPORTER.describe(source)
        Ledger().read(source, closed=True)
    assert listing() == before
