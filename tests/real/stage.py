"""A person's desk with the real programs on it: a repository, both homes, our command.

The models are scripted servers on 127.0.0.1; what reached them is in `messages.turns` (Claude
Code) and `responses.turns` (Codex). What we recorded is read through our own command, as `--report`
and `--json`, like a person's script would.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.lab.homes import Home, claude_home, codex_home
from tests.lab.programs import harness_program
from tests.lab.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tests.fakes.messages_api import MessagesApi
    from tests.fakes.responses_api import ResponsesApi
    from tests.fakes.server import Request

ROOT: Final = Path(__file__).resolve().parents[2]
OURS: Final = (sys.executable, "-I", str(ROOT / "workstream_entry.py"))
TIME_LIMIT: Final = 60
"""Seconds for one command; a real one-shot turn takes two."""
_DELIVERY: Final = re.compile(r"dlv_[a-z2-7]{10}_[0-9]{4}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a call of ours printed, how it ended, and the report that a run wrote."""

    code: int
    out: str
    err: str
    report: dict[str, Any]

    @property
    def data(self) -> Any:
        """The data of the `--json` document."""
        return json.loads(self.out)["data"]

    @property
    def delivery(self) -> dict[str, Any]:
        """What the report says of the briefing."""
        return dict(self.report["delivery"])

    @property
    def session(self) -> str:
        """The only native session of the run."""
        (session,) = self.report["sessions"]
        return str(session)


class Bench:
    """A repository and an environment in which our command is called as a process of its own."""

    def __init__(self, root: Path, env: Mapping[str, str], state: Path | None = None) -> None:
        self.root = root
        self.repository = root / "project"
        self.state = state or root / "state"
        self.repository.mkdir()
        self.env: dict[str, str] = {
            **env,
            "HOME": str(root),
            "WORKSTREAM_HOME": str(self.state),
            "PYTHONDONTWRITEBYTECODE": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
        }
        self._reports = 0
        self.git("init", "-q", "-b", "main")
        self.write("README.md", "A project.\n")
        self.commit("Begin")

    # -- the repository --------------------------------------------------------------------

    def git(self, *args: str, cwd: Path | None = None) -> str:
        """Call git in the repository and return what it printed."""
        done = subprocess.run(
            ["git", *args],
            cwd=cwd or self.repository,
            env=self.env,
            capture_output=True,
            text=True,
            check=True,
            timeout=TIME_LIMIT,
        )
        return done.stdout

    def write(self, name: str, text: str) -> Path:
        """Write a file of the repository."""
        path = self.repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def commit(self, subject: str) -> None:
        """Commit everything in the repository."""
        self.git("add", "-A")
        person = ("-c", "user.name=person", "-c", "user.email=person@localhost")
        self.git(*person, "commit", "-qm", subject)

    # -- our command -----------------------------------------------------------------------

    def workstream(
        self,
        *args: str,
        code: int | None = 0,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
    ) -> Answer:
        """Call `workstream ARGS` without a terminal and wait for its end.

        `env` is added to the stage's. `code` is the exit status that is expected (None: any).
        """
        done = subprocess.run(
            [*OURS, *args],
            cwd=cwd or self.repository,
            env={**self.env, **(env or {})},
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIME_LIMIT,
        )
        if code is not None and done.returncode != code:
            shown = f"{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
            raise AssertionError(f"{' '.join(args)}: exit {done.returncode}, not {code}\n{shown}")
        return Answer(code=done.returncode, out=done.stdout, err=done.stderr, report={})

    def run(
        self,
        *args: str,
        code: int | None = 0,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Answer:
        """Call `workstream run --yolo --report F ARGS` and return it with its report."""
        report = self.next_report()
        done = self.workstream(
            "run", "--yolo", *reporting(report), *args, code=code, cwd=cwd, env=env
        )
        read = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
        return Answer(code=done.code, out=done.out, err=done.err, report=read)

    def start(
        self, *args: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Start `workstream run --yolo ARGS` in a process group of its own and do not wait."""
        return subprocess.Popen(
            [*OURS, "run", "--yolo", *args],
            cwd=cwd or self.repository,
            env={**self.env, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def terminal(
        self, *args: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> Terminal:
        """Call `workstream ARGS` in a pseudo-terminal; use as a context manager."""
        return Terminal([*OURS, *args], env={**self.env, **(env or {})}, cwd=cwd or self.repository)

    def bare_terminal(self, *argv: str | Path) -> Terminal:
        """Start a program without us in a pseudo-terminal; use as a context manager."""
        return Terminal(argv, env=self.env, cwd=self.repository)

    def next_report(self) -> Path:
        """Return a path for a report file that does not exist yet."""
        self._reports += 1
        return self.root / f"report-{self._reports}.json"

    def log(self, *args: str) -> list[dict[str, Any]]:
        """Return all events of the current workstream, oldest first."""
        return list(self.workstream("log", "-n", "0", "--json", *args).data["events"])

    def texts(self, kind: str, harness: str | None = None) -> list[str]:
        """Return the texts of one kind of event, in sequence."""
        return [
            event["text"]
            for event in self.log()
            if event["kind"] == kind and harness in (None, event["harness"])
        ]

    def status(self) -> Any:
        """Return the data of `status --json`."""
        return self.workstream("status", "--json").data

    def session(self, native_id: str) -> dict[str, Any]:
        """Return what `status` says of one native session."""
        return next(s for s in self.status()["sessions"] if s["native_id"] == native_id)


class Stage(Bench):
    """A bench with Codex and Claude Code, each in a home of its own."""

    def __init__(
        self, root: Path, messages: MessagesApi, responses: ResponsesApi, state: Path | None = None
    ) -> None:
        self.messages = messages
        self.responses = responses
        trusted = [root / "project"]
        self.claude: Home = claude_home(root / "claude-home", messages.port, trusted=trusted)
        self.codex: Home = codex_home(root / "codex-home", responses.port, trusted=trusted)
        programs = (str(harness_program(name).parent) for name in ("codex", "claude"))
        path = os.pathsep.join([*programs, os.environ.get("PATH", os.defpath)])
        super().__init__(root, {**self.claude.env, **self.codex.env, "PATH": path}, state)

    def bare_claude(self, text: str) -> str:
        """Run Claude Code once without us; return the id of the session that it made."""
        before = set(self.claude.session_files())
        subprocess.run(
            ["claude", "-p", "--dangerously-skip-permissions", text],
            env=self.env,
            cwd=self.repository,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=TIME_LIMIT,
        )
        (path,) = set(self.claude.session_files()) - before
        return path.stem

    # -- work of the other harness ---------------------------------------------------------

    def codex_says(self, text: str) -> Answer:
        """Have Codex say something in a run of its own, so that Claude Code has news to get."""
        return self.run("codex", "exec", f"say: {text}")

    def claude_says(self, text: str) -> Answer:
        """Have Claude Code say something in a run of its own, so that Codex has news to get."""
        return self.run("claude", "-p", f"say: {text}")


def reporting(path: Path) -> tuple[str, str]:
    """Return the option that has a run write its report to `path`."""
    return ("--report", str(path))


def read_report(path: Path) -> dict[str, Any]:
    """Return the report that a run in a terminal has written."""
    return dict(json.loads(path.read_text(encoding="utf-8")))


def deliveries_in(text: str) -> list[str]:
    """Return the delivery ids in a text, each once, in order."""
    return list(dict.fromkeys(_DELIVERY.findall(text)))


def delta_in(text: str, delivery: str) -> str:
    """Return what one delivery in a text tells of events, its handoff and notes left out."""
    briefing = text.partition(delivery)[2].partition(delivery)[0]
    return briefing.partition("What happened elsewhere")[2]


def told(request: Request) -> str:
    """Return all that reached the model with a request, without the person's own words."""
    return request.text.replace(request.user_text, "")


def until(ready: Callable[[], bool], what: str, timeout: float = 20) -> None:
    """Wait until something holds; a bounded poll."""
    deadline = time.monotonic() + timeout
    while not ready():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} within {timeout} s")
        time.sleep(0.02)


def children(pid: int) -> list[int]:
    """Return the processes whose parent is `pid`."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(word) for word in text.split()]


def listing(*folders: Path) -> dict[str, tuple[str, int, int]]:
    """Return digest, mtime (ns) and mode of everything below some folders, by path."""
    found = {}
    for path in _everything(folders):
        status = path.lstat()
        if path.is_symlink():
            content = str(path.readlink()).encode()
        else:
            content = path.read_bytes() if path.is_file() else b""
        digest = hashlib.sha256(content).hexdigest()
        found[str(path)] = (digest, status.st_mtime_ns, status.st_mode)
    return found


def _everything(folders: Iterable[Path]) -> Iterable[Path]:
    for folder in folders:
        yield folder
        yield from folder.rglob("*")


def changed(
    before: Mapping[str, tuple[str, int, int]], after: Mapping[str, tuple[str, int, int]]
) -> set[str]:
    """Return the paths that came, went or changed between two listings."""
    return {path for path in {*before, *after} if before.get(path) != after.get(path)}
