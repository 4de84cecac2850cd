"""What a run hands over, how much, to whom: faults reported of programs of this kind."""

from __future__ import annotations

import json
import re

import pytest

from tests.run.desk import COMMAND, Desk


def context(desk: Desk, harness: str) -> list[str]:
    """Return everything that hooks gave to a harness, from its own files."""
    found = []
    for file in desk.session_files(harness):
        for line in file.read_bytes().splitlines():
            record = json.loads(line)
            given = record.get("attachment") or record.get("payload") or {}
            if given.get("type") == "hook_additional_context":
                found += given["content"]
            elif given.get("role") == "developer":
                found.append(given["content"][0]["text"])
    return found


@pytest.mark.parametrize("idle", ["nothing", "no turn"])
def test_b147_b148_a_run_without_a_turn_consumes_nothing(desk: Desk, idle: str) -> None:
    desk.claude("say: the ibex climbs")
    if idle == "nothing":
        empty = desk.ok("run", "codex", "exec", "x", do="nothing")
    else:
        empty = desk.ok("run", "codex")  # the session starts, the hook prints, nobody types
        assert empty.delivery == "failed"
    assert empty.report["imported"] == {}
    assert desk.session_files("codex") == []
    again = desk.codex("say-found: (ibex climbs)")
    assert (again.out, again.delivery) == ("ibex climbs\n", "seen")
    assert desk.codex("say: nothing new").delivery == "none", context(desk, "codex")[-1]


def test_b152_b154_o10_a_packet_fits_whatever_happened_and_whatever_is_asked_for(
    desk: Desk,
) -> None:
    small = " ;; ".join(f"say: small number {n} {'and more ' * 30}" for n in range(80))
    large = "run: head -c 5000000 /dev/zero | tr '\\0' x"
    desk.codex(f"{small} ;; {large} ;; say: last words")
    desk.claude("say-found: (last words)", "--budget", "60000")
    (told,) = context(desk, "claude")
    assert len(told.encode()) <= 9_900
    assert "last words" in told
    assert "small number 79" in told  # the large one does not push out the rest
    assert "x" * 2_000 not in told
    assert re.search("Left out: [0-9]+ events", told)
    codex = desk.codex("say: ok", "--budget", "60000")
    assert codex.delivery == "seen"
    assert len(context(desk, "codex")[-1].encode()) <= 60_000


def test_b161_a_packet_that_is_read_back_is_no_history(desk: Desk) -> None:
    own = desk.root / "bin" / "workstream"
    own.parent.mkdir()
    own.write_text(f'#!/bin/sh\nexec {" ".join(COMMAND)} "$@"\n')
    own.chmod(0o755)
    env = {"PATH": f"{own.parent}:{desk.env['PATH']}"}
    file = 'run: cat "$WORKSTREAM_HOME"/runs/*/briefings/*.txt'
    for number in range(2):
        desk.claude(f"say: c{number} ;; {file} ;; run: workstream briefing codex", env=env)
        desk.codex(f"say: x{number} ;; {file} ;; run: workstream log", env=env)
    assert context(desk, "claude")
    events = json.loads(desk.call("log", "-n", "0", "--json").out)["data"]["events"]
    results = [e["text"] for e in events if e["kind"] == "tool_result"]
    assert len(results) == 8, [(e["text"][:80], e["tool"], e["harness"]) for e in events]
    assert max(len(text) for text in results) < 300
    assert [text for text in results if "c0" in text] == []


def test_b162_no_briefing_gives_nothing_and_counts_nothing_as_seen(desk: Desk) -> None:
    desk.claude("say: the yak grazes")
    without = desk.codex("say-found: (yak grazes)", "--no-briefing")
    assert (without.out, without.delivery) == ("not found\n", "none")
    assert context(desk, "codex") == []
    with_it = desk.codex("say-found: (yak grazes)")
    assert (with_it.out, with_it.delivery) == ("yak grazes\n", "seen")


def test_b163_a_tree_that_moved_on_is_told_and_left_alone(desk: Desk) -> None:
    desk.codex("say: looked around")
    desk.git("checkout", "-q", "-b", "elsewhere")
    (desk.repo / "new.txt").write_text("new\n")
    desk.git("add", "new.txt")
    desk.git("commit", "-qm", "A new file")
    (desk.repo / "readme.txt").write_text("dirty\n")
    desk.claude("say: went on", "--workstream", "main")
    desk.codex("say: back", "--workstream", "main")
    told = context(desk, "codex")[-1]
    assert "branch is now elsewhere, was main" in told
    for what in (desk.git("rev-parse", "HEAD")[:7], "A new file", "new.txt", "readme.txt"):
        assert what in told
    assert desk.git("stash", "list") == ""
    assert desk.git("branch", "--show-current") == "elsewhere\n"
    assert (desk.repo / "readme.txt").read_text() == "dirty\n"
    assert desk.git("status", "--porcelain") == " M readme.txt\n"
