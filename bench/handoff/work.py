"""A task played through the product: native stores, import, checkpoint, draft, briefing.

Only the harness is missing: its session files are written by the script, and what the hook would
have recorded is put where the hook puts it. The rest is the program's own code, in this process,
with a clock that the script moves.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Final

from bench.handoff.chatter import Chatter
from bench.handoff.natives import NATIVES, Native, start_of
from bench.handoff.talk import Shown, Talk
from handoffs.rendering import BEGIN, Handed, fenced, render
from handoffs.store import leading, receiving
from launcher import briefing, finish, folder
from launcher.place import Place, here
from leases import lease as leases
from leases.holder import holder_here
from ledger import deliveries, git, ids, repositories, runs, sessions, workstreams
from ledger.model import RunRow, Step, Workstream
from ledger.store import open_store

START: Final = 1_795_000_000_000
"""Milliseconds: 2026-11-18, a Wednesday."""
BRIEFING: Final = 9_000
"""Budget of the briefings between the runs of a task: the program's default."""
PAUSE: Final = 600_000
"""Milliseconds between two runs."""
_PERSON: Final = ("-c", "user.name=person", "-c", "user.email=person@example.com")
_DATE: Final = "2026-11-18T08:00:00Z"


class ScriptedClock:
    """A clock that stands still until the script moves it."""

    def __init__(self) -> None:
        self.now = START

    def now_ms(self) -> int:
        """Return the script's time."""
        return self.now

    def boot_ms(self) -> int:
        """Return the time since the script's begin."""
        return self.now - START


class Work:
    """A workstream in a repository, and the harnesses that work on it in turn."""

    def __init__(self, root: Path, seed: int, env: Mapping[str, str]) -> None:
        self.tree = root / "project"
        self.shown: list[Shown] = []
        self._root = root
        self._env = {**env, "PWD": str(self.tree)}
        self._chatter = Chatter(seed)
        self._clock = ScriptedClock()
        self._talks: dict[str, Talk] = {}
        _git(root, self._env, "init", "-q", "-b", "main", str(self.tree))
        self.commits("README.md")
        self._store = open_store(root / "state", clock=self._clock)
        keys = git.describe(self.tree, self._env).keys
        self._repository = repositories.create(self._store, keys)
        self._workstream = workstreams.create(self._store, self._repository.id, "work")

    # --- what a script does -----------------------------------------------------------------------

    def commits(self, *paths: str, message: str = "start") -> None:
        """Commit files; those that are not there are made first."""
        for path in paths:
            file = self.tree / path
            if not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text("value = 0\n", encoding="utf-8")
        _git(self.tree, self._env, "add", "-A")
        _git(self.tree, self._env, *_PERSON, "commit", "-q", "-m", message)

    def objective(self, text: str) -> None:
        """The person says what the workstream is for."""
        workstreams.set_objective(self._store, self._workstream, text, by="person")

    @contextmanager
    def run(self, harness: str, *, killed: bool = False, again: bool = False) -> Iterator[Talk]:
        """One managed run: briefed, played, finished. `again` resumes the harness's session."""
        started = _Started(self, harness, again=again)
        yield started.talk
        started.end(killed=killed)

    # --- what is handed over ----------------------------------------------------------------------

    def handoff(self, budget: int) -> str:
        """Return the leading handoff alone in `budget` bytes, fence included."""
        workstream = self._now()
        found = leading.leading(self._store, workstream)
        if found is None:
            raise RuntimeError("no handoff was drafted")
        state = git.state(self.tree)
        received = receiving.observe(self._store, workstream, found, self.tree, state=state)
        handed = Handed(
            content=found.content,
            content_digest=found.content_digest,
            prepared_id=found.prepared_id,
            revision=found.revision,
            author=found.author,
            at=found.created_at,
            evidence=received.evidence,
        )
        scaffold = len(fenced((), ids.DELIVERY_PLACEHOLDER).encode())
        rendered = render(handed, budget=budget - scaffold)
        text = fenced(rendered.lines, ids.DELIVERY_PLACEHOLDER)
        if not text.startswith(BEGIN) or len(text.encode()) > budget:
            raise RuntimeError(f"the handoff does not keep its {budget} bytes")
        return text

    def handoff_and_delta(self, budget: int) -> str:
        """Return what a session that knows nothing would be told: handoff and delta."""
        composed = self._compose("claude", None, budget)
        if composed is None:
            raise RuntimeError("nothing is due after a task")
        return composed.text

    def close(self) -> None:
        """Close the ledger."""
        self._store.close()

    # --- the run, from inside ---------------------------------------------------------------------

    def _now(self) -> Workstream:
        return workstreams.get(self._store, self._workstream.id)

    def _compose(
        self, harness: str, native: Native | None, budget: int
    ) -> briefing.Composed | None:
        receiver = None
        if native is not None:
            receiver = sessions.by_native(self._store, harness, native.id, home=self._home(harness))
        scene = briefing.Scene(
            place=self._place(), state=git.state(self.tree), entry=harness, command="workstream"
        )
        purpose = "new" if receiver is None else "session"
        return briefing.compose(
            self._store, self._now(), receiver, scene, budget=budget, purpose=purpose
        )

    def _place(self) -> Place:
        with chdir(self.tree):
            return here(self._env)

    def _home(self, harness: str) -> Path:
        return self._root / harness


class _Started:
    """A run that goes on."""

    def __init__(self, work: Work, harness: str, *, again: bool) -> None:
        self._work, self._harness = work, harness
        store, self._home = work._store, work._home(harness)
        clock = work._clock
        clock.now += PAUSE
        at = start_of(clock.now)
        known = work._talks.get(harness) if again else None
        native = (
            NATIVES[harness](work._chatter, str(work.tree), at) if known is None else (known.native)
        )
        native.moved_on(at)
        self._source = "startup" if known is None else "resume"
        self.talk = Talk(native, work.tree, work._chatter, work.shown)
        self.run = self._record()
        self._folder = folder.create(store.home, self.run.id)
        self._told = self._deliver(native, known)

    def _record(self) -> RunRow:
        store, tree = self._work._store, str(self._work.tree)
        run = ids.random_id("run_")
        holder = holder_here(store, run=run, env={}, harness=self._harness)
        lease = leases.acquire(store, self._work._workstream.id, holder)
        row = runs.create(
            store,
            id=run,
            workstream=self._work._workstream,
            entry=self._harness,
            harness=self._harness,
            store_id=sessions.native_store(store, self._harness, self._home),
            token=lease.token,
            one_shot=False,
            mode="create",
            cwd=tree,
            worktree=tree,
            argv=[self._harness],
            host_id=holder.place.host_id,
            boot_id=holder.place.boot_id,
            pid_ns=holder.place.pid_ns,
            pid=holder.pid,
            pid_start=holder.pid_start or 0,
        )
        runs.advance(store, row, Step.RUNNING, spawned_at=store.clock.now_ms())
        return runs.get(store, run)

    def _deliver(self, native: Native, known: Talk | None) -> tuple[int, str] | None:
        """Brief the session as a start does; returns briefing and delivery for the event file."""
        work = self._work
        composed = work._compose(self._harness, None if known is None else native, BRIEFING)
        if composed is None:
            return None
        receiver = None
        if known is not None:
            receiver = sessions.by_native(work._store, self._harness, native.id, home=self._home)
        row = deliveries.add_briefing(
            work._store,
            self.run.id,
            purpose="new" if receiver is None else "session",
            session=receiver,
            text=composed.text,
            after_seq=composed.after,
            through_seq=composed.through,
            included=composed.included,
            omitted=composed.omitted,
            marks_through=composed.marks_through,
            notes_through=composed.notes_through,
            handoff=composed.handoff,
        )
        delivery = ids.delivery_id(self.run.nonce, 1)
        native.delivered(composed.text.replace(ids.DELIVERY_PLACEHOLDER, delivery))
        return row.id, delivery

    def end(self, *, killed: bool) -> None:
        """Write the store, end the run, finish it as the program does."""
        work, store = self._work, self._work._store
        lines = []
        natives = [talk.native for talk in _chain(self.talk)]
        for native in natives:
            path = native.write_to(self._home)
            first = native is natives[0]
            told = self._told if first else None
            event = {
                "version": 1,
                "at": store.clock.now_ms(),
                "event": "SessionStart",
                "session": native.id,
                "transcript": str(path),
                "source": self._source if first else "clear",
                "cwd": str(work.tree),
                "briefing": None if told is None else told[0],
                "delivery": None if told is None else told[1],
            }
            lines.append(json.dumps(event) + "\n")
        folder.write(self._folder, folder.EVENTS, "".join(lines).encode())
        work._clock.now = int(max(n.at for n in natives).timestamp() * 1000) + 1000
        ended: dict[str, object] = {"ended_at": store.clock.now_ms(), "exit_code": 0}
        if killed:
            ended = {}
        runs.advance(store, self.run, Step.ENDED, **ended)
        finished = finish.finish(store, runs.get(store, self.run.id), recovery=killed)
        leases.release(store, work._workstream.id, self.run.token)
        bad = [note for note in finished.notices if "handoff" in note]
        if bad or finished.annotations:
            raise RuntimeError(f"the run did not end well: {bad or finished.annotations}")
        work._talks[self._harness] = Talk(natives[-1], work.tree, work._chatter, work.shown)


def _chain(talk: Talk | None) -> Iterator[Talk]:
    while talk is not None:
        yield talk
        talk = talk.after


def _git(where: Path, env: Mapping[str, str], *args: str) -> None:
    where.mkdir(parents=True, exist_ok=True)
    dated = {**env, "GIT_AUTHOR_DATE": _DATE, "GIT_COMMITTER_DATE": _DATE}
    subprocess.run(["git", *args], cwd=where, env=dated, check=True)


@contextmanager
def scrubbed(folder: Path) -> Iterator[dict[str, str]]:
    """Give this process an environment with nothing of the person's in it, for a while.

    The program reads its configuration from the environment also where it finishes a run.
    """
    before = dict(os.environ)
    home = folder / "home"
    home.mkdir(parents=True, exist_ok=True)
    env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "LANG": "C.UTF-8"}
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    os.environ.clear()
    os.environ.update(env)
    try:
        yield env
    finally:
        os.environ.clear()
        os.environ.update(before)
