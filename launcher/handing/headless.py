"""A child without a terminal, bounded in time and output, that leaves nobody behind.

It runs in a session of its own, so that it finds no terminal to ask on. Ctrl-C, SIGTERM and SIGHUP
end its whole process group before they end us.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from launcher.harnesses.base import Spoken
from ledger.errors import NotExecutableError, NotFoundError, UnavailableError

MAX_OUT: Final = 4 * 1024 * 1024
"""Bytes on stdout; whoever prints more is ended."""
MAX_ERR: Final = 64 * 1024
"""Bytes of the end of stderr that are kept."""
GRACE_S: Final = 3.0
"""Between SIGTERM and SIGKILL."""
_LOOK_S: Final = 0.1
_CHUNK: Final = 64 * 1024
_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def call(
    argv: Sequence[str], env: Mapping[str, str], cwd: Path, stdin: Path, *, seconds: float
) -> Spoken:
    """Run it to its end and return what it printed.

    Raises UnavailableError when it takes longer than `seconds` or prints too much, NotFoundError
    and NotExecutableError when it does not start, KeyboardInterrupt for Ctrl-C, SystemExit for the
    other two signals.
    """
    with _signals() as caught, stdin.open("rb") as given:
        child = _start(argv, env, cwd, given.fileno())
        try:
            out, err = _listen(child, caught, time.monotonic() + seconds, seconds)
        finally:
            _end(child)
        _heed(caught)
    code = child.returncode
    return Spoken(code=code if code >= 0 else 128 - code, out=out, err=err)


def _start(
    argv: Sequence[str], env: Mapping[str, str], cwd: Path, stdin: int
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            list(argv),
            env=dict(env),
            cwd=cwd,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no program at {argv[0]}", detail=error.strerror) from error
    except OSError as error:
        raise NotExecutableError(f"cannot start {argv[0]}", detail=error.strerror) from error


def _listen(
    child: subprocess.Popen[bytes], caught: list[int], deadline: float, seconds: float
) -> tuple[bytes, bytes]:
    """Collect what it prints until it has ended, whoever else still holds its pipes."""
    out, err = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        for stream, into in ((child.stdout, out), (child.stderr, err)):
            if stream is None:
                raise RuntimeError("the child has no pipes")
            os.set_blocking(stream.fileno(), False)
            selector.register(stream, selectors.EVENT_READ, into)
        ended = False
        while not ended:
            ended = child.poll() is not None  # before the last look into the pipes
            for key, _ in selector.select(0 if ended else _LOOK_S):
                if not _read(key.fd, key.data):
                    selector.unregister(key.fileobj)
            del err[:-MAX_ERR]
            _heed(caught)
            if len(out) > MAX_OUT:
                raise UnavailableError(f"it printed more than {MAX_OUT // 1024**2} MiB")
            if not ended and time.monotonic() > deadline:
                raise UnavailableError(f"it took longer than {seconds:.0f} s")
    return bytes(out), bytes(err)


def _read(fd: int, into: bytearray) -> bool:
    """Take what is there now; False at the end of the stream."""
    while len(into) <= MAX_OUT:
        try:
            chunk = os.read(fd, _CHUNK)
        except BlockingIOError:
            return True
        if not chunk:
            return False
        into += chunk
    return True


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the child and everybody it left in its group."""
    if child.poll() is None:
        _signal(child, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(GRACE_S)
    _signal(child, signal.SIGKILL)
    child.wait()
    for stream in (child.stdout, child.stderr):
        if stream is not None:
            stream.close()


def _signal(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, number)


def _heed(caught: list[int]) -> None:
    """Do what a signal that was noted asks for: everything is unwound, then we end."""
    if caught:
        raise KeyboardInterrupt if caught[0] == signal.SIGINT else SystemExit(128 + caught[0])


@contextlib.contextmanager
def _signals() -> Iterator[list[int]]:
    """Note the signals that would end us at once, and leave the child behind."""
    caught: list[int] = []
    before = {number: signal.getsignal(number) for number in _ENDING}
    heeded = [number for number, action in before.items() if action is not signal.SIG_IGN]
    for number in heeded:
        signal.signal(number, lambda got, _frame: caught.append(got))
    try:
        yield caught
    finally:
        for number in heeded:
            signal.signal(number, before[number])
