"""`handoff draft --with`: good answers, bad answers, and everything that keeps one from coming.

The sessions were made by stand-ins; the programs that are asked are those of tests/fakes/asked.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.run.desk import ROOT, STANDINS, Answer, Desk, copy_state, until

ASKED = ROOT / "tests" / "fakes" / "asked"
GOOD: dict[str, Any] = {
    "schema": "handoff.v1",
    "objective": "Have `walrus.py` pass its test",
    "state": [
        {"text": "`make` was run and failed with exit 2.", "evidence": ["e3"]},
        {"text": "`walrus.py` is half done: `dive` is missing.", "evidence": []},
    ],
    "disposition": "continuable",
    "next_action": {"text": "Write `dive` in `walrus.py`.", "evidence": []},
    "blocker": None,
    "omissions": [],
}
BAD: dict[str, Any] = {
    **GOOD,
    "state": [{"text": "All tests passed.", "evidence": []}],
    "next_action": {"text": "keep going", "evidence": []},
}
FINDINGS = {"check_claim_uncited", "next_action_empty_wording", "omission_required"}
KEY = "sk-ant-api03-" + "A" * 93 + "AA"


class Asker:
    """A desk whose harnesses are asked: what they answer, what they were given."""

    def __init__(self, desk: Desk, folder: Path) -> None:
        self.desk = desk
        self.folder = folder
        self.log = folder / "questions.jsonl"
        path = os.pathsep.join([str(ASKED), desk.env["PATH"]])
        self.env = {
            "PATH": path,
            "ASKED_LOG": str(self.log),
            "ASKED_ANSWERS": str(folder),
        }

    def answers(self, *given: object) -> Asker:
        """Say what the answers are, in order; the last one goes on."""
        for number, item in enumerate(given, 1):
            text = item if isinstance(item, str) else json.dumps(item)
            (self.folder / f"{number}.txt").write_text(text, encoding="utf-8")
        return self

    def draft(self, *args: str, name: str = "codex", do: str = "", **how: Any) -> Answer:
        """Call `handoff draft --with NAME ARGS`."""
        env = {**self.env, "ASKED_DO": do, **how.pop("env", {})}
        return self.desk.call("handoff", "draft", "--with", name, *args, env=env, **how)

    def data(self, *args: str, code: int = 0, **how: Any) -> Any:
        """Return the data of `--json`."""
        answer = self.draft("--json", *args, **how)
        assert answer.code == code, answer.err
        return answer.data

    @property
    def questions(self) -> list[dict[str, Any]]:
        """What was asked, in order."""
        if not self.log.exists():
            return []
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture(scope="session")
def worked_once(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A desk on which both harnesses have worked; change nothing."""
    root = tmp_path_factory.mktemp("worked")
    copy_state(template / "state", root / "state")
    desk = Desk(root / "desk", root / "state")
    shutil.copytree(template / "repo", desk.repo, symlinks=True)
    (desk.repo / "sub").mkdir()
    (desk.repo / "make").write_text("#!/bin/sh\nexit 2\n")
    (desk.repo / "make").chmod(0o755)
    desk.codex("say: hm ;; run: ./make ;; say: it fails")
    desk.claude("say: the walrus is half done")
    yield desk
    desk.close()


@pytest.fixture
def asker(worked_once: Desk, tmp_path: Path) -> Asker:
    """Ask on that desk with a ledger of its own."""
    desk = copy.copy(worked_once)
    shutil.copytree(worked_once.state, tmp_path / "state", copy_function=shutil.copy2)
    (tmp_path / "state").chmod(0o700)
    desk.state = tmp_path / "state"
    desk.env = {**worked_once.env, "WORKSTREAM_HOME": str(desk.state)}
    return Asker(desk, tmp_path)


def prepared(desk: Desk) -> list[tuple[str, str, bool]]:
    """Prepared id, author's kind, whether it is put away."""
    rows = desk.rows("SELECT prepared_id, author_kind, abandoned_at FROM handoff_prepared")
    return [(row[0], row[1], row[2] is not None) for row in rows]


# --- good answers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["codex", "claude"])
def test_a_good_answer_is_printed_as_the_agents(asker: Asker, name: str) -> None:
    data = asker.answers(GOOD).data(name=name)
    assert data["content"]["objective"] == GOOD["objective"]
    assert data["content"]["state"][0]["evidence"][0]["kind"] == "check"
    assert (data["author"]["kind"], data["author"]["harness"]) == ("agent", name)
    assert data["author"]["session"] == data["asked"]["session"]
    assert [a["problem"] for a in data["asked"]["attempts"]] == [None]
    assert data["asked"]["failure"] is None


def test_the_fork_is_asked_like_no_child_of_a_run(asker: Asker) -> None:
    run = {
        "WORKSTREAM_RUN_ID": "run_x",
        "WORKSTREAM_NAME": "x",
        "WORKSTREAM_ID": "ws_x",
        "CLAUDECODE": "1",
        "CODEX_THREAD_ID": "1",
    }
    scratch = asker.folder / "scratch"
    scratch.mkdir()
    env = {**run, "TMPDIR": str(scratch)}
    answer = asker.answers(GOOD).draft(env=env, cwd=asker.desk.repo / "sub")
    assert answer.code == 0, answer.err
    (asked,) = asker.questions
    assert not run.keys() & asked["env"].keys()
    assert asked["terminal"] is False
    assert asked["cwd"] == str(asker.desk.repo)  # where the session worked
    assert "asking codex for a handoff" in answer.err
    assert "this calls its model" in answer.err
    assert list(scratch.iterdir()) == []


def test_the_question_lists_what_can_be_cited(asker: Asker) -> None:
    asker.answers(GOOD).draft()
    (asked,) = asker.questions
    assert "e4  check `./make` by codex: failed, exit 2" in asked["question"]
    assert 'claude said after you: "the walrus is half done"' in asked["question"]
    assert "unverified_check: the last check failed" in asked["question"]


def test_an_objective_that_was_given_has_to_come_back(asker: Asker) -> None:
    asker.desk.ok("objective", "Feed the walrus")
    fed = {**GOOD, "objective": "Feed the walrus"}
    data = asker.answers(GOOD, fed).data()
    codes = [item["code"] for item in data["asked"]["attempts"][0]["findings"]]
    assert "objective_changed" in codes
    assert data["content"]["objective"] == "Feed the walrus"
    assert '"Feed the walrus"' in asker.questions[0]["question"]


def test_a_configured_entry_is_asked_in_its_own_home(desk: Desk, tmp_path: Path) -> None:
    home = tmp_path / "second-home"
    config = desk.home / "config" / "workstream" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[harness.second]\nuse = "claude"\nhome = "{home}"\nargs = ["--model=m"]\n')
    desk.claude("say: the first one")
    desk.ok("run", "second", "-p", "say: the second one")
    asker = Asker(desk, tmp_path)
    made = {**GOOD, "state": GOOD["state"][1:]}
    data = asker.answers(made).data(name="second")
    assert data["author"]["harness"] == "second"
    (asked,) = asker.questions
    assert asked["env"]["CLAUDE_CONFIG_DIR"] == str(home)
    assert "--model=m" in asked["args"]


def test_an_answer_in_a_code_block_is_read(asker: Asker) -> None:
    text = f"```json\n{json.dumps(GOOD, indent=1)}\n```\n"
    assert asker.answers(text).data()["author"]["kind"] == "agent"


# --- corrections ----------------------------------------------------------------------------------


def test_findings_go_back_and_the_second_answer_counts(asker: Asker) -> None:
    answer = asker.answers(BAD, GOOD).draft("--json")
    attempts = answer.data["asked"]["attempts"]
    assert {f["code"] for f in attempts[0]["findings"]} == FINDINGS
    assert not any(f["severity"] == "E" for f in attempts[1]["findings"])
    assert answer.data["author"]["kind"] == "agent"
    first, second = (item["question"] for item in asker.questions)
    assert "You have answered this before" not in first
    for code in FINDINGS:
        assert code in second
    assert "All tests passed." in second
    assert "asking again (2 of 3)" in answer.err


def test_what_is_never_good_gives_way_to_the_ledgers_draft(asker: Asker) -> None:
    answer = asker.answers(BAD).draft("--json")
    assert answer.code == 0
    assert len(asker.questions) == 3
    data = answer.data
    assert data["author"]["kind"] == "launcher"
    assert "say: hm" in data["content"]["objective"]
    assert data["asked"]["failure"]["code"] == "handoff_refused"
    assert "no handoff by codex: Codex gave no handoff that can be taken in 3 attempts" in (
        answer.err
    )
    assert "check_claim_uncited in state[0]" in answer.err.rpartition("no handoff by codex")[2]
    assert "made from the ledger instead" in answer.err
    assert prepared(asker.desk) == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("I would rather not.", "value_invalid"),
        (json.dumps({**GOOD, "mood": "good"}), "field_unknown"),
        (json.dumps({**GOOD, "state": []}), "state_missing"),
        (json.dumps({**GOOD, "objective": "x" * 600_000}), "content_too_large"),
    ],
)
def test_what_has_not_the_shape_is_a_finding_too(asker: Asker, text: str, code: str) -> None:
    data = asker.answers(text, GOOD).data()
    assert code in [item["code"] for item in data["asked"]["attempts"][0]["findings"]]
    assert data["author"]["kind"] == "agent"
    assert len(asker.questions[1]["question"]) < 40_000


def test_a_secret_in_an_answer_is_seen_by_nobody(asker: Asker) -> None:
    told = {"text": f"The key is {KEY}.", "evidence": [KEY]}
    leaking = {**GOOD, "state": [*GOOD["state"], told]}
    kept = {**leaking, "state": [*GOOD["state"], {**told, "evidence": []}]}
    answer = asker.answers(leaking, kept).draft("--json")
    assert answer.data["author"]["kind"] == "agent"
    assert "redacted" in [item["kind"] for item in answer.data["content"]["omissions"]]
    assert KEY not in answer.out + answer.err
    assert KEY not in asker.questions[1]["question"]
    assert KEY.encode() not in (asker.desk.state / "workstream.db").read_bytes()


# --- who made it ----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["markdown", "json"])
def test_what_is_prepared_unchanged_is_the_agents(asker: Asker, form: str) -> None:
    text = asker.answers(GOOD).draft("--format", form).out
    ((name, _, away),) = prepared(asker.desk)
    assert away
    made = asker.desk.ok("handoff", "prepare", "--json", stdin=text).data
    assert (made["prepared_id"], made["author"]["kind"]) == (name, "agent")
    assert made["author"]["harness"] == "codex"
    assert prepared(asker.desk) == [(name, "agent", False)]


@pytest.mark.parametrize("form", ["markdown", "json"])
def test_what_a_person_edited_is_the_persons(asker: Asker, form: str) -> None:
    text = asker.answers(GOOD).draft("--format", form).out
    edited = text.replace("half done", "nearly done")
    assert edited != text
    made = asker.desk.ok("handoff", "prepare", "--json", stdin=edited).data
    assert (made["author"]["kind"], made["author"]["harness"]) == ("human", None)


def test_the_markdown_form_says_who_wrote_it(asker: Asker) -> None:
    out = asker.answers(GOOD).draft().out
    assert "<!-- Written by codex, session " in out
    fallen = asker.answers(BAD).draft().out
    assert "<!-- Made from the ledger; codex was asked for it in vain: " in fallen


def test_an_answer_is_printed_also_when_its_author_cannot_be_kept(asker: Asker) -> None:
    with asker.desk.database() as db:
        db.execute("BEGIN IMMEDIATE")
        answer = asker.answers(GOOD).draft()
        db.execute("ROLLBACK")
    assert answer.code == 0
    assert "prepared, it will be yours" in answer.err
    assert GOOD["objective"] in answer.out
    assert prepared(asker.desk) == []


def test_it_can_be_prepared_at_once(asker: Asker) -> None:
    answer = asker.answers(GOOD).draft("--prepare")
    name = answer.out.strip()
    assert prepared(asker.desk) == [(name, "agent", False)]
    assert f"commit it with: workstream handoff commit {name}" in answer.err
    asker.desk.ok("handoff", "commit", name)
    shown = asker.desk.ok("handoff", "show", "--json", "r1").data
    assert shown["author"]["kind"] == "agent"
    assert shown["author"]["harness"] == "codex"


def test_a_refused_answer_is_not_prepared(asker: Asker) -> None:
    answer = asker.answers(BAD).draft("--prepare", "--json")
    assert answer.code == 65
    document = json.loads(answer.out)
    assert document["data"] is None
    assert {entry["code"] for entry in document["errors"]} == FINDINGS
    assert prepared(asker.desk) == []


def test_two_options_are_nothing_without_a_harness(asker: Asker) -> None:
    for option in ("--prepare", "--timeout=5"):
        assert asker.desk.call("handoff", "draft", option).code == 64


# --- no answer ------------------------------------------------------------------------------------


def fallen(answer: Answer, why: str) -> None:
    """The ledger's draft came instead, and it is said why."""
    assert answer.code == 0, answer.err
    assert why in answer.err
    assert "made from the ledger instead" in answer.err
    assert "say: hm" in answer.out


@pytest.mark.parametrize("name", ["codex", "claude"])
@pytest.mark.parametrize(
    ("do", "why"),
    [
        ("junk", "did not answer (it ended with"),
        ("exit=3", "did not answer (the model is out, key [redacted:"),
    ],
)
def test_no_answer_is_told_and_not_asked_again(asker: Asker, name: str, do: str, why: str) -> None:
    why = why.replace("with", "without an answer") if name == "codex" and "with" in why else why
    fallen(asker.answers(GOOD).draft(name=name, do=do), why)
    assert len(asker.questions) == 1


def test_an_answer_without_end_is_cut_off(asker: Asker) -> None:
    fallen(asker.draft(name="claude", do="huge"), "it printed more than 4 MiB")


def test_a_program_that_takes_too_long_leaves_nobody_behind(asker: Asker) -> None:
    fallen(asker.draft("--timeout", "1", do="deaf"), "it took longer than 1 s")
    pid = int(Path(f"{asker.log}.child").read_text())
    until(lambda: not running(pid), "the end of its child")
    assert not running(asker.questions[0]["pid"])


def test_with_prepare_the_reason_is_the_error(asker: Asker) -> None:
    refused = asker.draft("--prepare", do="exit=3")
    assert (refused.code, refused.out) == (69, "")
    assert "Codex did not answer (the model is out" in refused.err
    slow = asker.draft("--prepare", "--timeout", "1", do="sleep")
    assert slow.code == 69
    assert "it took longer than 1 s" in slow.err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_program_that_is_asked(
    asker: Asker, number: signal.Signals, code: int
) -> None:
    env = {**asker.env, "ASKED_DO": "sleep"}
    running_ = asker.desk.start("handoff", "draft", "--with", "codex", env=env)
    until(lambda: asker.questions, "the question")
    running_.process.send_signal(number)
    answer = running_.end()
    assert answer.code == code
    assert answer.out == ""
    assert not running(asker.questions[0]["pid"])


def running(pid: int) -> bool:
    """Whether a process lives; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def test_a_harness_that_is_not_installed_is_named(asker: Asker) -> None:
    env = {"PATH": "/usr/bin:/bin"}
    fallen(asker.draft(env=env), "no handoff by codex: Codex is not installed: no codex on PATH")
    assert asker.draft("--prepare", env=env).code == 127


def test_a_harness_that_does_not_exist_is_an_error(asker: Asker) -> None:
    answer = asker.draft(name="walrus")
    assert (answer.code, answer.out) == (69, "")
    assert "there is no harness named walrus" in answer.err


def test_without_a_session_there_is_nobody_to_ask(desk: Desk, tmp_path: Path) -> None:
    desk.codex("say: hm")
    asker = Asker(desk, tmp_path)
    answer = asker.answers(GOOD).draft(name="claude")
    fallen(answer, "no session of claude is linked to main")
    assert asker.questions == []
    assert asker.draft("--prepare", name="claude").code == 69


def test_a_session_that_is_gone_is_not_asked(desk: Desk, tmp_path: Path) -> None:
    desk.codex("say: hm")
    (path,) = desk.session_files("codex")
    path.rename(tmp_path / "elsewhere.jsonl")
    asker = Asker(desk, tmp_path)
    fallen(asker.answers(GOOD).draft(), "is missing in its store")
    assert asker.questions == []


def test_a_session_at_work_is_left_alone(desk: Desk, tmp_path: Path) -> None:
    desk.codex("say: hm")
    busy = desk.start("run", "codex", "exec", "say: going ;; hold: here ;; say: done")
    desk.held("here")
    asker = Asker(desk, tmp_path)
    fallen(asker.answers(GOOD).draft(), "is at work in a run of codex")
    assert asker.draft("--prepare").code == 75
    assert asker.questions == []
    desk.release("here")
    busy.end()
    assert asker.data()["author"]["kind"] == "agent"


def test_a_session_that_is_open_outside_of_us_is_left_alone(desk: Desk, tmp_path: Path) -> None:
    desk.codex("say: hm")
    env = {**desk.env, "PATH": os.pathsep.join([str(STANDINS), desk.env["PATH"]])}
    (path,) = desk.session_files("codex")
    session = path.stem[-36:]
    bare = subprocess.Popen(
        ["codex", "exec", "resume", session, "hold: open ;; say: x"],
        env=env,
        cwd=desk.repo,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    desk.held("open")
    asker = Asker(desk, tmp_path)
    fallen(asker.answers(GOOD).draft(), "the session is being written by")
    desk.release("open")
    bare.wait(60)
    assert asker.questions == []


def test_a_turn_that_was_cut_off_is_mentioned(desk: Desk, tmp_path: Path) -> None:
    desk.call("run", "codex", "exec", "say: hm ;; run: kill -9 $PPID")
    asker = Asker(desk, tmp_path)
    asker.answers(GOOD).draft()
    assert "Your last turn was cut off" in asker.questions[0]["question"]


def test_a_live_run_of_another_harness_is_no_obstacle(desk: Desk, tmp_path: Path) -> None:
    desk.codex("say: hm")
    busy = desk.start("run", "claude", "-p", "hold: there ;; say: done")
    desk.held("there")
    asker = Asker(desk, tmp_path)
    made = {**GOOD, "state": GOOD["state"][1:]}
    assert asker.answers(made).data()["author"]["kind"] == "agent"
    desk.release("there")
    busy.end()
