"""Running git so that a repository can make it run nothing else.

What a hostile repository could name, and what stands against it here:

    fsmonitor, hooks, pager      overridden on the command line, which beats every config file
    external diff, textconv      overridden, and only plumbing in raw format is used
    clean/process filters        every configured driver is emptied (`without_filters`)
    submodules' own config       never entered (`--ignore-submodules=dirty`)
    lazy fetch of a partial      no protocol is allowed, so no transport, ssh or remote helper
    clone                        is started
    log.showSignature            `rev-list` is used, never `log`
    aliases                      cannot replace built-in commands
    variables of the caller      every `GIT_*` is removed

Optional locks are off, so that a refreshed index is not written back.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MAX_OUTPUT: Final = 8 * 1024 * 1024
"""Bytes of output after which git is stopped."""
_MAX_ERROR: Final = 4096
_MAX_FILTERS: Final = 100

_OVERRIDES: Final = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.editor=false",
    "core.askPass=false",
    "core.sshCommand=false",
    "core.gitProxy=",
    "core.alternateRefsCommand=false",
    "diff.external=",
    "diff.ignoreSubmodules=dirty",
    "log.showSignature=false",
    "protocol.allow=never",
    "credential.helper=",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "i18n.logOutputEncoding=UTF-8",
    "advice.detachedHead=false",
)
_PREFIX: Final = ("--no-pager", *(part for value in _OVERRIDES for part in ("-c", value)))


class GitStopped(Exception):  # noqa: N818  (control flow between these two modules)
    """Git did not answer within the limits; `reason` is for people."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Output of one git process."""

    code: int
    out: bytes
    error: str

    def lines(self) -> list[str]:
        """Return the output as lines, undecodable bytes escaped."""
        return text(self.out).splitlines()


class Deadline:
    """A time limit shared by several steps."""

    def __init__(self, timeout_ms: int) -> None:
        self.timeout_ms = timeout_ms
        self._end = time.monotonic() + timeout_ms / 1000

    def left(self) -> float:
        """Return the seconds left; raises GitStopped when there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise GitStopped(f"time limit of {self.timeout_ms} ms")
        return left


@dataclass(frozen=True, slots=True, kw_only=True)
class Git:
    """A git program and the cleaned environment it runs in."""

    program: str
    env: Mapping[str, str]

    @classmethod
    def find(cls, env: Mapping[str, str]) -> Git | None:
        """Return git as found on an absolute entry of PATH, or None.

        Relative entries are skipped: they would name programs inside the repository.
        """
        entries = [part for part in env.get("PATH", os.defpath).split(":") if part[:1] == "/"]
        program = shutil.which("git", path=":".join(entries))
        return None if program is None else cls(program=program, env=clean_environment(env))

    def with_env(self, extra: Mapping[str, str]) -> Git:
        """Return the same program with further variables."""
        return Git(program=self.program, env={**self.env, **extra})

    def run(self, cwd: Path, arguments: Sequence[str], deadline: Deadline) -> Answer:
        """Run one git command.

        Raises GitStopped when the time or the output limit is reached (the process is killed and
        reaped), or when it cannot be started at all.
        """
        timeout = deadline.left()
        try:
            process = subprocess.Popen(
                [self.program, *_PREFIX, *arguments],
                cwd=cwd,
                env=dict(self.env),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except OSError as failure:
            raise GitStopped(f"git cannot be started: {failure.strerror}") from failure
        with process:
            try:
                out, error = _read(process, time.monotonic() + timeout, deadline)
            except BaseException:
                process.kill()
                raise
        return Answer(code=process.returncode, out=out, error=text(error).strip())

    def without_filters(self, cwd: Path, deadline: Deadline) -> Git:
        """Return a git for which no filter driver of this repository has a command."""
        answer = self.run(
            cwd, ["config", "-z", "--name-only", "--get-regexp", r"^filter\."], deadline
        )
        names = sorted({_driver(key) for key in answer.out.split(b"\0") if key.count(b".") >= 2})
        if len(names) > _MAX_FILTERS:
            raise GitStopped(f"more than {_MAX_FILTERS} filter drivers are configured")
        settings = [
            (f"filter.{os.fsdecode(name)}.{key}", value)
            for name in names
            for key, value in (
                ("clean", ""),
                ("smudge", ""),
                ("process", ""),
                ("required", "false"),
            )
        ]
        extra = {"GIT_CONFIG_COUNT": str(len(settings))}
        for number, (key, value) in enumerate(settings):
            extra[f"GIT_CONFIG_KEY_{number}"] = key
            extra[f"GIT_CONFIG_VALUE_{number}"] = value
        return self.with_env(extra)


def clean_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return `env` without any `GIT_*`, with git's switches for reading only."""
    kept = {name: value for name, value in env.items() if not name.startswith("GIT_")}
    return kept | {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",  # stronger than any protocol.<name>.allow
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


def text(raw: bytes) -> str:
    """Decode what git printed; bytes that are no UTF-8 become visible escapes."""
    return raw.decode("utf-8", "backslashreplace")


def _driver(key: bytes) -> bytes:
    """Return <name> of `filter.<name>.<setting>`; the name may hold dots."""
    return key.split(b".", 1)[1].rsplit(b".", 1)[0]


def _read(process: subprocess.Popen[bytes], end: float, deadline: Deadline) -> tuple[bytes, bytes]:
    """Read both pipes to their ends within the limits."""
    assert process.stdout is not None  # noqa: S101  (both were asked for as pipes)
    assert process.stderr is not None  # noqa: S101
    parts: dict[int, bytearray] = {
        process.stdout.fileno(): bytearray(),
        process.stderr.fileno(): bytearray(),
    }
    out_fd, error_fd = parts
    waiting = select.poll()
    for fd in parts:
        waiting.register(fd, select.POLLIN)
    open_fds = set(parts)
    while open_fds:
        ready = waiting.poll(max(0.0, (end - time.monotonic()) * 1000))
        if not ready:
            raise GitStopped(f"time limit of {deadline.timeout_ms} ms")
        for fd, _ in ready:
            chunk = os.read(fd, 65536)
            if not chunk:
                waiting.unregister(fd)
                open_fds.discard(fd)
            elif fd == error_fd:
                parts[fd] += chunk[: _MAX_ERROR - len(parts[fd])]
            else:
                parts[fd] += chunk
        if len(parts[out_fd]) > MAX_OUTPUT:
            raise GitStopped(f"git printed more than {MAX_OUTPUT // 1024 // 1024} MiB")
    try:
        process.wait(max(0.01, end - time.monotonic()))
    except subprocess.TimeoutExpired as error:
        raise GitStopped(f"time limit of {deadline.timeout_ms} ms") from error
    return bytes(parts[out_fd]), bytes(parts[error_fd])
