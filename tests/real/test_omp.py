"""OMP under `workstream run`: create, resume, what reaches the model, a kill."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.real.stage import deliveries_in, delta_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.real.family_stage import Family

pytestmark = pytest.mark.real


def test_omp_creates_resumes_and_is_told_what_happened_elsewhere(
    family: Callable[..., Family],
) -> None:
    bench = family("omp", "claude")
    bench.run("claude", "-p", "say: the parser is half done")
    first = bench.run("omp", "-p", "say: grüße ;; run: exit 3 ;; write: made.txt => one\\n")
    assert first.delivery["state"] == "seen"
    at_once = bench.apis["omp"].turns[0]
    assert deliveries_in(at_once.text) == [first.delivery["id"]]
    assert "the parser is half done" in delta_in(at_once.text, first.delivery["id"])

    bench.run("claude", "-p", "say: now it is whole")
    second = bench.run("omp", "-p", "say: good")
    assert second.session == first.session
    assert len(bench.homes["omp"].session_files()) == 1
    news = delta_in(bench.apis["omp"].turns[-1].text, second.delivery["id"])
    assert "now it is whole" in news
    assert "half done" not in news  # told once
    assert second.delivery["state"] == "seen"

    assert bench.texts("assistant_message", "omp") == ["grüße", "done", "good"]
    results = [e for e in bench.log() if e["kind"] == "tool_result"]
    assert [(e["tool"], e["status"], e["exit_code"]) for e in results] == [
        ("bash", "error", 3),
        ("write", "ok", None),
    ]
    assert not any("WORKSTREAM BRIEFING" in event["text"] for event in bench.log())

    told = bench.run("claude", "-p", "say: and back")
    assert "made.txt" in bench.apis["claude"].turns[-1].text
    assert told.delivery["state"] == "seen"
