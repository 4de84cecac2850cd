"""A person's desk with stand-ins on it: our command as a process, held, killed and looked at.

Nothing is mocked: the installed command, its ledger, the hook, two stand-in programs that write
native sessions. Their faults are told by variables, see tests/fakes/standins/README.md.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab.terminal import Terminal

ROOT = Path(__file__).resolve().parents[2]
STANDINS = ROOT / "tests" / "fakes" / "standins"
COMMAND = (sys.executable, "-I", str(ROOT / "workstream_entry.py"))
TIME_LIMIT = 60.0
"""Seconds for whatever is waited for; the machine may be busy."""
PERSON = ("-c", "user.name=person", "-c", "user.email=person@localhost")


def until(ready: Callable[[], object], what: str = "it") -> None:
    """Wait until something is so; a bounded poll."""
    end = time.monotonic() + TIME_LIMIT
    while not ready():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.01)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How a command of ours ended and what it printed."""

    code: int
    out: str
    err: str
    report: dict[str, Any]

    @property
    def data(self) -> Any:
        """Data of the JSON envelope."""
        return json.loads(self.out)["data"]

    @property
    def delivery(self) -> str:
        """State of the delivery, as reported."""
        return str(self.report["delivery"]["state"])


class Running:
    """A command of ours that was started and not waited for."""

    def __init__(self, process: subprocess.Popen[str], report: Path) -> None:
        self.process = process
        self._report = report

    @property
    def pid(self) -> int:
        return self.process.pid

    def kill(self) -> None:
        """Kill -9, and reap."""
        self.process.kill()
        self.process.wait(TIME_LIMIT)

    def end(self) -> Answer:
        """Wait for the end."""
        out, err = self.process.communicate(timeout=TIME_LIMIT)
        assert "Traceback" not in err + out, err
        report = json.loads(self._report.read_text()) if self._report.exists() else {}
        return Answer(code=self.process.returncode, out=out, err=err, report=report)


class Desk:
    """Home, repository, state and stand-ins below one folder."""

    def __init__(self, root: Path, state: Path) -> None:
        self.root = root
        self.state = state
        self.home = root / "home"
        self.repo = root / "repo"
        self.log = root / "calls.jsonl"
        self.holds = root / "holds"
        for folder in (self.home, self.holds):
            folder.mkdir(parents=True)
        self._started: list[subprocess.Popen[str]] = []
        self._terminals: list[Terminal] = []
        self._reports = 0
        self.env = {
            "PATH": os.pathsep.join(
                [str(STANDINS), str(Path(sys.executable).parent), "/usr/bin", "/bin"]
            ),
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "WORKSTREAM_HOME": str(state),
            "STANDIN_LOG": str(self.log),
            "STANDIN_HOLD": str(self.holds),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            "LANG": "C.UTF-8",
            "TERM": "xterm",
        }

    # -- our command ------------------------------------------------------------------------

    def start(
        self,
        *args: str,
        do: str = "",
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
        stdin: int = subprocess.DEVNULL,
        stderr: int = subprocess.PIPE,
        before: Sequence[str] = (),
    ) -> Running:
        """Start `workstream ARGS`; a `run` writes a report. `do` is STANDIN_DO."""
        self._reports += 1
        report = self.root / f"report-{self._reports}.json"
        words = [*args[:1], "--report", str(report), *args[1:]] if args[:1] == ("run",) else args
        process = subprocess.Popen(
            [*before, *COMMAND, *words],
            env={**self.env, "STANDIN_DO": do, **(env or {})},
            cwd=cwd or self.repo,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
        self._started.append(process)
        return Running(process, report)

    def call(self, *args: str, stdin: str | None = None, **how: Any) -> Answer:
        """Call `workstream ARGS` and wait for its end."""
        if stdin is None:
            return self.start(*args, **how).end()
        running = self.start(*args, stdin=subprocess.PIPE, **how)
        assert running.process.stdin is not None
        running.process.stdin.write(stdin)
        return running.end()

    def ok(self, *args: str, **how: Any) -> Answer:
        """Call it; it has to end with 0."""
        answer = self.call(*args, **how)
        assert answer.code == 0, answer.err
        return answer

    def claude(self, prompt: str, *options: str, **how: Any) -> Answer:
        """One managed turn of Claude Code."""
        return self.ok("run", *options, "claude", "-p", prompt, **how)

    def codex(self, prompt: str, *options: str, **how: Any) -> Answer:
        """One managed turn of Codex."""
        return self.ok("run", *options, "codex", "exec", prompt, **how)

    def terminal(self, *args: str, do: str = "", **how: Any) -> Terminal:
        """Start `workstream ARGS` on a terminal of its own."""
        env = {**self.env, "STANDIN_DO": do, **how.pop("env", {})}
        terminal = Terminal([*COMMAND, *args], env=env, cwd=how.pop("cwd", self.repo), **how)
        self._terminals.append(terminal)
        return terminal

    # -- stand-ins --------------------------------------------------------------------------

    def held(self, name: str) -> int:
        """Wait until a stand-in holds at a point; returns its pid."""
        path = self.holds / f"{name}.held"
        until(lambda: path.exists() and path.read_text(), f"the hold {name}")
        return int(path.read_text())

    def release(self, name: str) -> None:
        """Let it go on."""
        (self.holds / f"{name}.go").touch()

    def calls(self, name: str | None = None) -> list[dict[str, Any]]:
        """Return the calls of the stand-ins, in order."""
        if not self.log.exists():
            return []
        calls = [json.loads(line) for line in self.log.read_bytes().splitlines()]
        return [call for call in calls if name in (None, call["name"])]

    def session_files(self, harness: str) -> list[Path]:
        """Return the native session files, oldest first."""
        folder = ".claude/projects" if harness == "claude" else ".codex/sessions"
        found = (self.home / folder).rglob("*.jsonl")
        return sorted(found, key=lambda path: path.stat().st_mtime_ns)

    # -- the ledger -------------------------------------------------------------------------

    def rows(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        """Query the ledger."""
        with self.database() as db:
            return db.execute(sql, values).fetchall()

    @contextmanager
    def database(self) -> Iterator[sqlite3.Connection]:
        """Open the ledger as a second program would."""
        db = sqlite3.connect(self.state / "workstream.db", isolation_level=None, timeout=TIME_LIMIT)
        db.row_factory = sqlite3.Row
        try:
            yield db
        finally:
            db.close()

    def texts(self) -> list[str]:
        """Return the texts of the messages in the ledger, oldest first."""
        events = json.loads(self.call("log", "-n", "0", "--json").out)["data"]["events"]
        return [e["text"] for e in events if e["kind"] in ("user_message", "assistant_message")]

    def deliveries(self) -> list[str]:
        """States of all deliveries, oldest first."""
        return [str(r["state"]) for r in self.rows("SELECT state FROM delivery ORDER BY rowid")]

    def status(self) -> Any:
        """Data of `status --json`."""
        return self.ok("status", "--json").data

    # -- the repository ---------------------------------------------------------------------

    def git(self, *args: str, cwd: Path | None = None) -> str:
        """Call git in the repository."""
        done = subprocess.run(
            ["git", *PERSON, *args],
            cwd=cwd or self.repo,
            env=self.env,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    # -- the end ----------------------------------------------------------------------------

    def close(self) -> None:
        """End what is left over of ours."""
        for terminal in self._terminals:
            terminal.close()
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.wait(TIME_LIMIT)
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
        for call in self.calls():
            if alive(call["pid"]):
                os.kill(call["pid"], signal.SIGKILL)


def alive(pid: int) -> bool:
    """Whether a stand-in still runs under this pid; a zombie does not."""
    try:
        if b"standins" not in Path(f"/proc/{pid}/cmdline").read_bytes():
            return False
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def make_repository(folder: Path) -> None:
    """Make a repository with one commit."""
    folder.mkdir(parents=True)
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    (folder / "readme.txt").write_text("hello\n")
    for args in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run(["git", *PERSON, *args], cwd=folder, env=env, check=True)


def copy_state(template: Path, to: Path) -> None:
    """Copy an empty state whose programs were asked for their versions already."""
    shutil.copytree(template, to, copy_function=shutil.copy2)
    to.chmod(0o700)
