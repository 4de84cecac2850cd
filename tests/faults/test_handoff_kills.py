"""`kill -9` at every arrow of a handoff's states: before, in and right after its transaction.

The real command is killed at a statement of its own (tests/lab/dying.py). What is left is exactly
the state before the arrow or the one after it, and the same command given again ends as if nothing
had been, however often it is repeated.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.run.desk import COMMAND, ROOT, TIME_LIMIT, Desk, alive, copy_state, until

pytestmark = pytest.mark.xdist_group("handoff kills")  # its scenes are played once

DYING = ROOT / "tests" / "lab" / "dying.py"
US = shlex.join(COMMAND)
CONFIRMED = "--confirmed live_state,capability,authorization"

Rows = list[tuple[object, ...]]


def words(text: str) -> str:
    """A handoff, as `handoff prepare` takes it."""
    return json.dumps(
        {
            "schema": "handoff.v1",
            "objective": "Mend the walrus",
            "state": [{"text": text, "evidence": ["e1"]}],
            "disposition": "continuable",
            "next_action": {"text": "Finish `walrus.py`", "evidence": []},
        }
    )


# --- what is so before the arrows -----------------------------------------------------------------


def prepare(desk: Desk, text: str) -> str:
    return str(desk.ok("handoff", "prepare", "--json", stdin=words(text)).data["prepared_id"])


def worked(desk: Desk) -> dict[str, str]:
    """One run of Codex, and so a draft."""
    desk.codex("say: the walrus is half done")
    return {}


def prepared(desk: Desk) -> dict[str, str]:
    worked(desk)
    return {"old": prepare(desk, "`old.py` is there"), "one": prepare(desk, "`one.py` is there")}


def committed(desk: Desk) -> dict[str, str]:
    names = prepared(desk)
    desk.ok("handoff", "commit", names["one"])
    return names


def seen(desk: Desk) -> dict[str, str]:
    """A revision that Claude Code has seen, and two preparations that build on it."""
    names = committed(desk)
    assert desk.claude("say: I look at it").delivery == "seen"
    return {**names, "two": prepare(desk, "`two.py` is there")}


def accepted(desk: Desk) -> dict[str, str]:
    names = seen(desk)
    desk.ok("handoff", "acknowledge", "r1", "accepted", *CONFIRMED.split(), "--key", "k1")
    return names


def returned(desk: Desk) -> dict[str, str]:
    names = seen(desk)
    desk.ok("handoff", "acknowledge", "r1", "declined", "-m", "which one")
    return names


def cut_off(desk: Desk) -> dict[str, str]:
    """A run of Claude Code that saw and accepted the handoff, and was killed with its launcher."""
    names = committed(desk)
    take = f"run: {US} handoff acknowledge r1 accepted {CONFIRMED} --key k1"
    running = desk.start("run", "claude", "-p", f"{take} ;; say: taken ;; hold: taken")
    pid = desk.held("taken")
    names["two"] = prepare(desk, "`two.py` is there")
    desk.ok("handoff", "commit", "--after-run", names["two"])
    running.kill()
    end(pid)
    return names


def unread(desk: Desk) -> dict[str, str]:
    """A run of Claude Code that saw the handoff, was killed, and of which nothing was imported."""
    names = committed(desk)
    running = desk.start("run", "claude", "-p", "say: I look at it ;; hold: looking")
    pid = desk.held("looking")
    running.kill()
    end(pid)
    return names


def unseen(desk: Desk) -> dict[str, str]:
    """A run of Claude Code that was given the handoff, and killed before it wrote it down."""
    names = committed(desk)
    running = desk.start("run", "claude", "-p", "say: x", do="hold=opened")
    pid = desk.held("opened")
    running.kill()
    end(pid)
    return names


def end(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    until(lambda: not alive(pid), "the harness to end")


# --- the arrows -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """One arrow of the state diagram, and the command that goes along it."""

    name: str
    scene: Callable[[Desk], dict[str, str]]
    command: str
    """Words of ours; `{one}` is the prepared id of that name."""
    moves: str
    """Beginning of the statement that moves it."""
    shows: str
    """Query whose answer is the state that the arrow leads away from and to."""
    stdin: str = ""


TARGET = "SELECT status, receipt_key FROM handoff_receipt"
PREPARED = "SELECT prepared_id, abandoned_at IS NULL FROM handoff_prepared ORDER BY prepared_id"
HEAD = "SELECT revision, content_digest FROM handoff_head"
HISTORY = "SELECT revision, prepared_id, content FROM handoff_revision ORDER BY revision"
COVERED = "SELECT receipt_key, status FROM handoff_outcome"
RECEIPT = "INSERT INTO handoff_receipt"
REVISION = "INSERT INTO handoff_revision"
SETTLED = "UPDATE delivery SET state = ?, reason"
ACKNOWLEDGED = "UPDATE delivery SET state = ?1"

ARROWS = [
    Arrow(
        name="draft->prepared",
        scene=worked,
        command="handoff prepare",
        stdin=words("`one.py` is there"),
        moves="INSERT INTO handoff_prepared",
        shows=PREPARED,
    ),
    Arrow(
        name="prepared->head",
        scene=prepared,
        command="handoff commit {one}",
        moves=REVISION,
        shows=HISTORY,
    ),
    Arrow(
        name="head->superseded",
        scene=seen,
        command="handoff commit {two}",
        moves="UPDATE handoff_head",
        shows=HEAD,
    ),
    Arrow(
        name="prepared->replaced",
        scene=seen,
        command="handoff commit {two}",
        moves="DELETE FROM handoff_prepared",
        shows=PREPARED,
    ),
    Arrow(
        name="prepared->abandoned",
        scene=prepared,
        command="handoff abandon {one}",
        moves="UPDATE handoff_prepared SET abandoned_at",
        shows=PREPARED,
    ),
    Arrow(
        name="prepared->head, queued behind a run",
        scene=cut_off,
        command="recover",
        moves=REVISION,
        shows=HISTORY,
    ),
    Arrow(
        name="prepared->launched",
        scene=unread,
        command="recover",
        moves="INSERT INTO delivery",
        shows="SELECT count(*) FROM delivery",
    ),
    Arrow(
        name="launched->found",
        scene=unread,
        command="recover",
        moves="INSERT INTO sighting",
        shows="SELECT delivery, active FROM sighting",
    ),
    Arrow(
        name="launched->seen",
        scene=unread,
        command="recover",
        moves=SETTLED,
        shows="SELECT 1 FROM delivery WHERE state = 'seen'",
    ),
    Arrow(
        name="seen->acknowledged, answered in the run",
        scene=cut_off,
        command="recover",
        moves=ACKNOWLEDGED,
        shows="SELECT 1 FROM delivery WHERE state = 'acknowledged'",
    ),
    Arrow(
        name="seen->acknowledged",
        scene=seen,
        command=f"handoff acknowledge r1 accepted {CONFIRMED}",
        moves=ACKNOWLEDGED,
        shows="SELECT state FROM delivery",
    ),
    Arrow(
        name="launched->failed",
        scene=unseen,
        command="recover",
        moves=SETTLED,
        shows="SELECT reason FROM delivery WHERE state = 'failed'",
    ),
    Arrow(
        name="transfer: open->accepted, coverage: not_expected->awaiting_outcome",
        scene=seen,
        command=f"handoff acknowledge r1 accepted {CONFIRMED}",
        moves=RECEIPT,
        shows=TARGET,
    ),
    Arrow(
        name="transfer: open->returned(needs_clarification)",
        scene=seen,
        command="handoff acknowledge r1 needs_clarification -m which",
        moves=RECEIPT,
        shows=TARGET,
    ),
    Arrow(
        name="transfer: open->returned(declined)",
        scene=seen,
        command="handoff acknowledge r1 declined -m no",
        moves=RECEIPT,
        shows=TARGET,
    ),
    Arrow(
        name="transfer: returned->open",
        scene=returned,
        command="handoff commit {two}",
        moves=REVISION,
        shows=HISTORY,
    ),
    Arrow(
        name="coverage: awaiting_outcome->covered",
        scene=accepted,
        command="handoff outcome completed -m done --receipt k1",
        moves="INSERT INTO handoff_outcome",
        shows=COVERED,
    ),
    Arrow(
        name="draft->draft of the next run",
        scene=unread,
        command="recover",
        moves="INSERT INTO handoff_draft",
        shows="SELECT entry, run FROM handoff_draft",
    ),
]

POINTS = ["before", "inside", "after"]
"""At the transaction's BEGIN, at its COMMIT with everything in it done, right after that."""


# --- playing them ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """An arrow's command that nobody disturbed."""

    state: Path
    statements: list[str]

    def point(self, arrow: Arrow, point: str) -> str:
        """Return where the arrow's transaction begins, commits or has committed, for the killer."""
        played = self.statements
        moved = next(n for n, sql in enumerate(played) if sql.startswith(arrow.moves))
        begins = max(n for n in range(moved) if played[n].startswith("BEGIN"))
        commits = next(n for n in range(moved, len(played)) if played[n] == "COMMIT")
        return {
            "before": f"before:{begins}",
            "inside": f"before:{commits}",
            "after": f"after:{commits}",
        }[point]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A desk on which a scene was played once; each test goes on with a copy of its state."""

    desk: Desk
    names: dict[str, str]
    played: dict[str, Played] = field(default_factory=dict)

    def copy(self) -> Path:
        """Return a copy of the state before the arrow."""
        to = self.desk.root / f"state-{len(list(self.desk.root.iterdir()))}"
        copy_state(self.desk.state, to)
        return to

    def call(self, arrow: Arrow, state: Path, point: str | None = None) -> int:
        """Give the arrow's command; with a point it is watched, and perhaps killed there."""
        words = shlex.split(arrow.command.format(**self.names))
        program = COMMAND if point is None else (sys.executable, "-I", str(DYING), point)
        done = subprocess.run(
            [*program, *words],
            env={**self.desk.env, "WORKSTREAM_HOME": str(state)},
            cwd=self.desk.repo,
            input=arrow.stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIME_LIMIT,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode

    def undisturbed(self, arrow: Arrow) -> Played:
        """Return how the command ends when nothing happens to it; given once for each."""
        words = arrow.command + arrow.stdin
        if words not in self.played:
            state = self.copy()
            trace = state / "trace"
            assert self.call(arrow, state, f"trace:{trace}") == 0
            self.played[words] = Played(state=state, statements=trace.read_text().splitlines())
        return self.played[words]


@pytest.fixture(scope="module")
def stages(
    tmp_path_factory: pytest.TempPathFactory, template: Path
) -> Iterator[Callable[[Arrow], Stage]]:
    made: dict[str, Stage] = {}

    def stage(arrow: Arrow) -> Stage:
        name = arrow.scene.__name__
        if name not in made:
            root = tmp_path_factory.mktemp(name)
            copy_state(template / "state", root / "state")
            desk = Desk(root / "desk", root / "state")
            shutil.copytree(template / "repo", desk.repo, symlinks=True)
            made[name] = Stage(desk=desk, names=arrow.scene(desk))
        return made[name]

    yield stage
    for each in made.values():
        each.desk.close()


TABLES = ["prepared", "revision", "head", "draft", "transfer", "receipt", "outcome", "check"]
FREE = {"at", "created_at", "committed_at", "abandoned_at", "updated_at", "printed_at", "found_at"}
"""Columns that tell when something was done."""
SALTED = {"prepared_id", "content_digest", "observations", "at_seq"}
"""Of a draft: made of digests that each import of the same record salts anew, of ages, of counts
that a second observation of the tree adds to."""


def everything(state: Path) -> dict[str, Rows]:
    """Return all that is recorded of handoffs, but for the times; and that no lease is held."""
    tables = [f"handoff_{name}" for name in TABLES] + ["delivery", "sighting"]
    with sqlite3.connect(state / "workstream.db") as db:
        found: dict[str, Rows] = {}
        for table in tables:
            free = FREE | (SALTED if table == "handoff_draft" else set())
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            kept = ", ".join(name for name in columns if name not in free)
            found[table] = db.execute(f"SELECT {kept} FROM {table} ORDER BY 1, 2").fetchall()
        found["lease"] = db.execute("SELECT 1 FROM lease WHERE run IS NOT NULL").fetchall()
        found["run"] = db.execute("SELECT id, step, outcome FROM run ORDER BY id").fetchall()
        events = "SELECT event_id FROM event WHERE kind NOT IN ('checkpoint') ORDER BY 1"
        found["event"] = db.execute(events).fetchall()
    db.close()
    found["handoff_draft"] = [tuple(map(unsalted, row)) for row in found["handoff_draft"]]
    return found


def unsalted(value: object) -> object:
    """Return a content without the digests of its evidence."""
    return re.sub('"digest":"sha256:[0-9a-f]*"', "", value) if isinstance(value, str) else value


def shown(state: Path, query: str) -> Rows:
    """Return the arrow's own state."""
    with sqlite3.connect(state / "workstream.db") as db:
        rows = db.execute(query).fetchall()
    db.close()
    return rows


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("arrow", ARROWS, ids=lambda arrow: arrow.name)
def test_killed_at_an_arrow_it_was_not_gone_or_gone_whole_and_is_gone_once(
    stages: Callable[[Arrow], Stage], arrow: Arrow, point: str
) -> None:
    stage = stages(arrow)
    undisturbed = stage.undisturbed(arrow)
    before = shown(stage.desk.state, arrow.shows)
    after = shown(undisturbed.state, arrow.shows)
    assert before != after, "the command does not go along this arrow"
    state = stage.copy()
    assert stage.call(arrow, state, undisturbed.point(arrow, point)) == -signal.SIGKILL
    assert shown(state, arrow.shows) == (after if point == "after" else before)
    assert stage.call(arrow, state) == 0
    left = everything(state)
    for table, rows in everything(undisturbed.state).items():
        assert left[table] == rows, table


# --- prepared->launched, on the launcher's and on the harness's side ------------------------------

BRIEFED = Arrow(
    name="prepared->launched, by the launcher",
    scene=committed,
    command="run claude -p 'say-found: (Mend the walrus)'",
    moves="INSERT INTO briefing",
    shows="SELECT id FROM briefing WHERE handoff IS NOT NULL",
)
BROUGHT = Arrow(
    name="transfer to another workstream",
    scene=committed,
    command="run --new B --from main@1 codex exec 'say-found: (Mend the walrus)'",
    moves="INSERT INTO handoff_transfer",
    shows="SELECT name, revision FROM handoff_transfer JOIN workstream ON id = workstream",
)


@pytest.mark.parametrize("point", POINTS)
def test_a_launcher_killed_while_it_briefs_has_delivered_nothing_and_the_next_one_does(
    stages: Callable[[Arrow], Stage], point: str
) -> None:
    stage = stages(BRIEFED)
    undisturbed = stage.undisturbed(BRIEFED)
    state = stage.copy()
    assert stage.call(BRIEFED, state, undisturbed.point(BRIEFED, point)) == -signal.SIGKILL
    assert bool(shown(state, BRIEFED.shows)) == (point == "after")
    assert shown(state, "SELECT 1 FROM delivery") == []
    assert stage.call(BRIEFED, state) == 0
    assert shown(state, "SELECT state FROM delivery") == [("seen",)]
    outcomes = "SELECT outcome FROM run WHERE entry = 'claude' ORDER BY started_at"
    assert shown(state, outcomes) == [("spawn_failed",), ("ended",)]
    assert everything(state)["lease"] == []


@pytest.mark.parametrize("point", POINTS)
def test_a_workstream_is_started_with_the_handoff_it_was_to_have_or_not_at_all(
    stages: Callable[[Arrow], Stage], point: str
) -> None:
    stage = stages(BROUGHT)
    undisturbed = stage.undisturbed(BROUGHT)
    state = stage.copy()
    assert stage.call(BROUGHT, state, undisturbed.point(BROUGHT, point)) == -signal.SIGKILL
    brought = [("B", 1)] if point == "after" else []
    assert shown(state, BROUGHT.shows) == brought
    assert len(shown(state, "SELECT 1 FROM workstream")) == 1 + len(brought)
    again = "run --workstream B codex exec 'say-found: (Mend the walrus)'"
    assert stage.call(replace(BROUGHT, command=again) if brought else BROUGHT, state) == 0
    assert shown(state, BROUGHT.shows) == [("B", 1)]
    assert shown(state, "SELECT state FROM delivery") == [("seen",)]


def test_a_hook_killed_before_it_notes_what_it_prints_has_delivered_nothing(desk: Desk) -> None:
    committed(desk)
    running = desk.start("run", "claude", "-p", "say-found: (Mend the walrus)", do="hold=start")
    desk.held("start")
    (folder,) = (desk.state / "runs").iterdir()
    events = folder / "events.jsonl"
    events.unlink()
    os.mkfifo(events)  # who writes to it waits for a reader
    desk.release("start")
    until((folder / "delivery.0001").exists, "the hook")
    (hook,) = processes(str(folder / "hook.py"))
    events.unlink()
    os.kill(hook, signal.SIGKILL)
    ended = running.end()
    assert ended.out == "not found\n"
    assert desk.rows("SELECT 1 FROM delivery") == []
    assert ended.delivery == "failed"
    again = desk.claude("say-found: (Mend the walrus)")
    assert (again.out, again.delivery) == ("Mend the walrus\n", "seen")


def processes(file: str) -> list[int]:
    """Return the processes whose program is a Python file; not the shell that started one."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if file.encode() in words:
            found.append(int(path.parent.name))
    return found
