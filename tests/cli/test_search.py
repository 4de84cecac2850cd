"""`search`: any words at all give hits or "no match", never an error of the database."""

from __future__ import annotations

import pytest

from tests.cli.desk import Desk

PAST = ("--workstream", "past")
NASTY = [
    "pre-edit",
    'say "hi',
    "memory:safe",
    "don't",
    "foo AND",
    "(python",
    "ubuntu 20.04",
    "NEAR(a b)",
    "*",
    "a* OR b",
    "^start",
    "-",
    "- -",
    "--",
    '"',
    '""',
    "'; DROP TABLE event; --",
    "text:file",
    "scope : w1",
    "{a b} : c",
    "日本語",
    "é e\u0301",
    "\U0001f600",
    "\u202e",
    "a" * 5000,
    " ".join(f"w{n}" for n in range(500)),
]


@pytest.mark.parametrize("query", NASTY, ids=range(len(NASTY)))
def test_b169_any_query_is_answered(furnished_once: Desk, query: str) -> None:
    answer = furnished_once.quick("search", *PAST, "--json", "--", query)
    assert answer.code == 0
    assert answer.envelope["errors"] == []
    assert answer.data["total"] >= len(answer.data["hits"]) >= 0


def test_words_are_found_with_snippet_and_place(furnished_once: Desk) -> None:
    answer = furnished_once.ok("search", "file", *PAST, "--json")
    assert answer.data["total"] > 0
    for hit in answer.data["hits"]:
        shown = furnished_once.quick("show", f"e{hit['seq']}", *PAST, "--json").data
        assert shown["event_id"] == hit["event_id"]
        assert hit["snippet"]


def test_no_match_is_no_error(furnished_once: Desk) -> None:
    answer = furnished_once.quick("search", "zzzunheardof", *PAST)
    assert (answer.code, answer.out) == (0, "")
    assert "0 matches" in answer.err


def test_limit_offset_kind_and_harness_narrow_the_answer(furnished_once: Desk) -> None:
    def seqs(*options: str) -> list[int]:
        data = furnished_once.quick("search", "a*", *PAST, "--json", *options).data
        return [hit["seq"] for hit in data["hits"]]

    everything = seqs("--limit", "1000")
    assert len(everything) > 3
    assert seqs("--limit", "2") + seqs("--limit", "2", "--offset", "2") == everything[:4]
    of_codex = seqs("--harness", "codex", "--limit", "1000")
    of_claude = seqs("--harness", "claude", "--limit", "1000")
    assert sorted(of_codex + of_claude) == sorted(everything)
    assert set(seqs("--kind", "user_message")) < set(everything)
    assert seqs("--since", "2030-01-01") == []
    assert seqs("--until", "2030-01-01", "--limit", "1000") == everything


def test_a_misspelt_option_is_told_and_not_searched_for(furnished_once: Desk) -> None:
    answer = furnished_once.quick("search", *PAST, "file", "--harnes", "codex")
    assert answer.code == 64
    assert "--harness" in answer.err
