from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from launcher import hook
from launcher.harnesses.base import Dialect
from ledger import ids

NONCE = "k3q7zz5m2a"
USUAL = Dialect()


class Run:
    """A run's folder with the hook in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.events = folder / "events.jsonl"
        self.script = folder / "hook.py"
        self.script.write_bytes(Path(hook.__file__).read_bytes())
        self.briefing("linked", "for the linked session")
        self.briefing("new", "for a new one")
        self.briefing("clear", "a pointer")
        self.briefing("compact", "after compaction")
        entry = {name: {"id": n, "file": f"{name}.txt"} for n, name in enumerate(BRIEFINGS, 1)}
        self.write(
            {
                "sessions": {"s-linked": entry["linked"]},
                "new": entry["new"],
                "clear": entry["clear"],
                "compact": {"s-linked": entry["compact"]},
                "compact_new": entry["new"],
            }
        )

    def briefing(self, name: str, text: str) -> None:
        body = f"BEGIN {ids.DELIVERY_PLACEHOLDER}\n{text} é\nEND {ids.DELIVERY_PLACEHOLDER}\n"
        (self.folder / f"{name}.txt").write_text(body, encoding="utf-8")

    def write(
        self, briefings: dict[str, Any], dialect: Dialect = USUAL, *, proof: bool = True
    ) -> None:
        settings = {
            "version": 1,
            "run": "r",
            "nonce": NONCE,
            "dialect": dialect.document(),
            "proof": proof,
            "events": str(self.events),
            "briefings": briefings,
        }
        (self.folder / "hook.json").write_text(json.dumps(settings), encoding="utf-8")

    def call(
        self, payload: dict[str, Any] | str, *arguments: str
    ) -> subprocess.CompletedProcess[bytes]:
        text = payload if isinstance(payload, str) else json.dumps(payload)
        return subprocess.run(
            [sys.executable, "-I", "-S", str(self.script), *arguments],
            input=text.encode(),
            capture_output=True,
            env={},
            timeout=30,
            check=False,
        )

    def context(self, **payload: Any) -> str | None:
        done = self.call({"hook_event_name": "SessionStart", **payload})
        assert (done.returncode, done.stderr) == (0, b"")
        if not done.stdout:
            return None
        output = json.loads(done.stdout)["hookSpecificOutput"]
        assert output["hookEventName"] == "SessionStart"
        return str(output["additionalContext"])

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.events.read_text("utf-8").splitlines()]


BRIEFINGS = ("linked", "new", "clear", "compact")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def test_the_placeholder_is_the_ledgers() -> None:
    assert hook.PLACEHOLDER == ids.DELIVERY_PLACEHOLDER


@pytest.mark.parametrize(
    ("session", "source", "expected"),
    [
        ("s-linked", "startup", "for the linked session"),
        ("s-linked", "resume", "for the linked session"),
        ("s-linked", "fork", "for the linked session"),
        ("s-other", "startup", "for a new one"),
        ("s-other", "fork", "for a new one"),
        ("s-other", "resume", "for a new one"),
        ("s-other", "clear", "a pointer"),
        ("s-linked", "clear", "a pointer"),
        ("s-linked", "compact", "after compaction"),
        ("s-other", "compact", "for a new one"),
    ],
)
def test_the_briefing_is_the_receivers(run: Run, session: str, source: str, expected: str) -> None:
    text = run.context(session_id=session, source=source)
    assert text is not None
    assert f"\n{expected} é\n" in text


@pytest.mark.parametrize("known", [True, False])
def test_the_fork_that_a_run_makes_is_told_what_is_new_to_its_parent(run: Run, known: bool) -> None:
    new = {"id": 2, "file": "new.txt"}
    parents = {"id": 1, "file": "linked.txt"} if known else None
    run.write({"sessions": {}, "new": new, "fork": parents})
    text = run.context(session_id="s-fork", source="fork")
    assert (text is not None and "for the linked session" in text) is known
    assert text is not None or not known  # nothing is new to the parent: nothing is said
    later = run.context(session_id="s-later", source="fork")
    assert later is not None
    assert "for a new one" in later


@pytest.mark.parametrize("source", ["startup", "resume", "compact"])
def test_a_linked_session_without_news_gets_nothing(run: Run, source: str) -> None:
    new = {"id": 8, "file": "new.txt"}
    nothing = {"s-linked": None}
    run.write({"sessions": nothing, "compact": nothing, "new": new, "compact_new": new})
    assert run.context(session_id="s-linked", source=source) is None
    assert run.context(session_id="s-other", source=source) is not None


def test_every_printing_gets_an_id_of_its_own(run: Run) -> None:
    for number in (1, 2, 3):
        text = run.context(session_id="s-linked", source="resume")
        delivery = ids.delivery_id(NONCE, number)
        assert text is not None
        assert text.startswith(f"BEGIN {delivery}\n")
        assert text.endswith(f"END {delivery}\n")
    assert [line["delivery"] for line in run.lines()] == [
        ids.delivery_id(NONCE, n) for n in (1, 2, 3)
    ]


def test_hooks_at_the_same_time_never_share_an_id(run: Run) -> None:
    with ThreadPoolExecutor(8) as pool:
        texts = list(
            pool.map(lambda n: run.context(session_id=f"s{n}", source="startup"), range(16))
        )
    assert len({text for text in texts if text}) == 16
    assert len({line["delivery"] for line in run.lines()}) == 16
    assert len(run.lines()) == 16


def test_an_event_is_noted_with_what_the_harness_said(run: Run) -> None:
    run.context(
        session_id="s-linked", source="resume", cwd="/w", model="m", transcript_path="/t/s.jsonl"
    )
    (line,) = run.lines()
    assert line.pop("at") > 1_600_000_000_000
    assert line == {
        "version": 1,
        "event": "SessionStart",
        "session": "s-linked",
        "transcript": "/t/s.jsonl",
        "source": "resume",
        "reason": None,
        "cwd": "/w",
        "model": "m",
        "agent": None,
        "briefing": 1,
        "delivery": ids.delivery_id(NONCE, 1),
        "proof": True,
    }


def test_the_end_of_a_session_is_noted_and_nothing_printed(run: Run) -> None:
    done = run.call({"hook_event_name": "SessionEnd", "session_id": "s", "reason": "clear"})
    assert (done.returncode, done.stdout) == (0, b"")
    (line,) = run.lines()
    assert (line["event"], line["reason"]) == ("SessionEnd", "clear")
    assert line["briefing"] is None
    assert line["delivery"] is None


def test_a_subagent_gets_nothing(run: Run) -> None:
    assert run.context(session_id="s-linked", source="startup", agent_id="a1") is None
    assert run.lines()[0]["delivery"] is None


def test_without_briefings_nothing_is_printed(run: Run) -> None:
    run.write({"sessions": {}})
    assert run.context(session_id="s-linked", source="startup") is None
    assert run.lines()[0]["session"] == "s-linked"


@pytest.mark.parametrize(
    "payload", ["", "{", "[]", "null", "7", '"x"', '{"hook_event_name": 7}', "\udcff".__repr__()]
)
def test_a_payload_that_is_no_event_never_fails_the_harness(run: Run, payload: str) -> None:
    done = run.call(payload)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_missing_briefing_file_prints_nothing_and_claims_nothing(run: Run) -> None:
    (run.folder / "linked.txt").unlink()
    assert run.context(session_id="s-linked", source="startup") is None
    assert not run.events.exists()


def test_a_missing_configuration_never_fails_the_harness(run: Run) -> None:
    (run.folder / "hook.json").unlink()
    assert run.context(session_id="s", source="startup") is None


def test_text_that_is_not_utf_8_is_delivered_readable(run: Run) -> None:
    (run.folder / "linked.txt").write_bytes(b"bad \xff byte")
    assert run.context(session_id="s-linked", source="startup") == "bad \ufffd byte"


def test_numbers_run_out_without_a_second_use(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(hook, "MOST_DELIVERIES", 2)
    assert [hook.next_number(str(tmp_path)) for _ in range(2)] == [1, 2]
    with pytest.raises(OSError, match="no delivery number"):
        hook.next_number(str(tmp_path))


def test_the_hook_loads_little() -> None:
    code = f"import sys; exec(open({hook.__file__!r}).read(), {{}}); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    heavy = {"subprocess", "typing", "dataclasses", "sqlite3", "uuid", "logging", "asyncio"}
    assert heavy.isdisjoint(done.stdout.split())


class TestServer:
    """The MCP server for harnesses without hooks."""

    def talk(self, run: Run, *messages: dict[str, Any]) -> list[dict[str, Any]]:
        (run.folder / "context.txt").write_text("what changed é", encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(run.script), "--mcp", str(run.folder / "context.txt")],
            input="".join(json.dumps(message) + "\n" for message in messages).encode(),
            capture_output=True,
            env={},
            timeout=30,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def ask(self, run: Run, method: str, **params: Any) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": 4, "method": method, "params": params}
        (answer,) = self.talk(run, message)
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", 4)
        return answer

    def test_it_points_at_its_tool(self, run: Run) -> None:
        result = self.ask(run, "initialize", protocolVersion="2025-03-26")["result"]
        assert result["instructions"] == hook.POINTER
        assert result["protocolVersion"] == "2025-03-26"
        assert len(hook.POINTER.encode()) < 247

    def test_its_tool_answers_with_the_text(self, run: Run) -> None:
        tools = self.ask(run, "tools/list")["result"]["tools"]
        assert [tool["name"] for tool in tools] == ["briefing"]
        result = self.ask(run, "tools/call", name="briefing", arguments={})["result"]
        assert result["content"] == [{"type": "text", "text": "what changed é"}]

    def test_an_unknown_method_is_an_error(self, run: Run) -> None:
        assert self.ask(run, "resources/list")["error"]["code"] == -32601

    def test_a_notification_gets_no_answer(self, run: Run) -> None:
        assert self.talk(run, {"jsonrpc": "2.0", "method": "notifications/initialized"}) == []


NEW = {"sessions": {}, "new": {"id": 2, "file": "new.txt"}}


def test_another_dialect_is_spoken_as_the_adapter_says(run: Run) -> None:
    run.write(
        NEW,
        Dialect(
            session="sessionId",
            transcript="transcriptPath",
            events={"sessionStart": "SessionStart"},
            sources={"new": "startup"},
            answer='{"additionalContext":"@briefing"}',
        ),
    )
    payload = {"sessionId": "s", "source": "new", "transcriptPath": "/t"}
    done = run.call(payload, "--event", "sessionStart")
    (line,) = run.lines()
    assert json.loads(done.stdout)["additionalContext"].startswith("BEGIN dlv_")
    told = {name: line[name] for name in ("event", "session", "source", "transcript")}
    assert told == {
        "event": "SessionStart",
        "session": "s",
        "source": "startup",
        "transcript": "/t",
    }


def test_with_prompts_a_session_is_told_once_in_a_run(run: Run) -> None:
    run.write(NEW, Dialect(delivers="Prompt", events={"UserPromptSubmit": "Prompt"}))
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "s"}
    assert run.context(session_id="s", source="startup") is None
    first, second = run.call(prompt), run.call(prompt)
    other = run.call({**prompt, "session_id": "../t"})
    printed = json.loads(first.stdout)["hookSpecificOutput"]
    assert printed["hookEventName"] == "UserPromptSubmit"
    assert second.stdout == b""
    assert json.loads(other.stdout)["hookSpecificOutput"]["additionalContext"]


def test_a_fork_told_with_its_first_prompt_gets_what_is_new_to_its_parent(run: Run) -> None:
    entry = {"id": 3, "file": "clear.txt"}
    run.write({**NEW, "fork": entry}, Dialect(delivers="Prompt"))
    run.context(session_id="fork", source="startup")
    told = [
        run.call({"hook_event_name": "Prompt", "session_id": name}).stdout.decode()
        for name in ("fork", "another")
    ]
    assert ["a pointer" in text for text in told] == [True, False]


def test_plain_text_is_printed_where_the_harness_wants_it(run: Run) -> None:
    run.write(NEW, Dialect(answer=hook.TEXT))
    done = run.call({"hook_event_name": "SessionStart", "session_id": "s", "source": "startup"})
    assert done.stdout.decode().startswith("BEGIN dlv_")
    assert "é" in done.stdout.decode()


def test_a_printing_without_proof_says_so(run: Run) -> None:
    run.write(NEW, proof=False)
    run.context(session_id="s", source="startup")
    assert [line["proof"] for line in run.lines()] == [False]
