"""A person's desk for the real console command: own home, own state, own repository."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = Path(__file__).resolve().parent / "programs"
FIXTURES = ROOT / "tests" / "fixtures"
ENTRY = ROOT / "workstream_entry.py"
TIME_LIMIT = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a call printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The envelope's data; the envelope itself is checked first."""
        return self.envelope["data"]

    @property
    def envelope(self) -> dict[str, Any]:
        """The one JSON document on stdout."""
        document = json.loads(self.out)
        assert set(document) == {"version", "command", "data", "errors"}
        assert document["version"] == 1
        return dict(document)


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Where commands are called; nothing of the real home is visible from there."""

    root: Path
    state: Path

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def repo(self) -> Path:
        return self.root / "repo"

    @property
    def log(self) -> Path:
        """Calls of the stand-ins, one JSON line each."""
        return self.state.parent / "calls.jsonl"

    @property
    def env(self) -> dict[str, str]:
        """The whole environment of a call."""
        python = str(Path(sys.executable).parent)
        return {
            "PATH": os.pathsep.join([str(PROGRAMS), python, "/usr/local/bin", "/usr/bin", "/bin"]),
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_STATE_HOME": str(self.home / "state"),
            "WORKSTREAM_HOME": str(self.state),
            "STANDIN_LOG": str(self.log),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
        }

    def run(
        self,
        *args: str | bytes,
        env: dict[str, str] | None = None,
        without: Sequence[str] = (),
        cwd: Path | None = None,
        stdin: str = "",
    ) -> Answer:
        """Call the command; `env` is added to the desk's, `without` is taken out of it."""
        variables = {**self.env, **(env or {})}
        for name in without:
            del variables[name]
        done = subprocess.run(
            [sys.executable, "-I", str(ENTRY), *args],
            env=variables,
            cwd=cwd or self.repo,
            input=stdin.encode(),
            capture_output=True,
            timeout=TIME_LIMIT,
            check=False,
        )
        answer = Answer(
            code=done.returncode,
            out=done.stdout.decode("utf-8"),
            err=done.stderr.decode("utf-8", "replace"),
        )
        assert "Traceback" not in answer.err + answer.out, answer.err
        return answer

    def ok(self, *args: str | bytes, **how: Any) -> Answer:
        """Call the command, which must end with 0."""
        answer = self.run(*args, **how)
        assert answer.code == 0, answer.err or answer.out
        return answer

    def quick(self, *args: str) -> Answer:
        """Call the command inside this process: for what is told by its words alone.

        Standard streams, environment and directory are the desk's for the length of the call.
        """
        from launcher.cli import main

        out, err = (
            io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
            for _ in "ab"
        )
        with (
            mock.patch.dict(os.environ, self.env, clear=True),
            mock.patch.object(sys, "stdin", io.StringIO()),
            contextlib.chdir(self.repo),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            code = main(args)
        texts = []
        for stream in (out, err):
            stream.flush()
            buffer = stream.buffer
            assert isinstance(buffer, io.BytesIO)
            texts.append(buffer.getvalue().decode("utf-8"))
        answer = Answer(code=code, out=texts[0], err=texts[1])
        assert "Traceback" not in answer.err + answer.out, answer.err
        return answer

    def calls(self) -> list[dict[str, Any]]:
        """Return what the stand-ins were called with."""
        if not self.log.exists():
            return []
        return [json.loads(line) for line in self.log.read_bytes().splitlines()]


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")


def make(root: Path) -> Desk:
    """Make a desk with an empty home and a repository with one commit."""
    desk = Desk(root=root, state=root / "state")
    for folder in (desk.home, desk.repo):
        folder.mkdir(parents=True)
    git(desk.repo, "init", "-q", "-b", "main")
    (desk.repo / "readme.txt").write_text("hello\n", encoding="utf-8")
    git(desk.repo, "add", "readme.txt")
    git(desk.repo, "commit", "-q", "-m", "first")
    return desk


def git(folder: Path, *args: str) -> None:
    """Call git in a folder, without anybody's configuration."""
    who = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.com"]
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *who, *args], cwd=folder, env=env, check=True, capture_output=True)
