"""The child process: started on the inherited terminal, waited for, and never left behind.

The invariants this module protects:

- The child runs nothing before `on_spawned` has returned, so that its pid is on record first. A
  launcher that dies before that leaves no harness behind.
- The child sees what it would see without us: terminal, process group, signal dispositions, mask,
  descriptors. Keys reach it from the terminal, never through us.
- The launcher outlives the child and knows how it ended, whatever is sent to it.

Python forks only the calling thread, and a lock that another one holds stays locked in the child.
Between fork and exec the child therefore imports nothing and takes no lock; still, start other
threads (the heartbeat) after `spawn` where there is a choice.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, Self

from launcher.terminal import Terminal
from ledger.errors import NotExecutableError, NotFoundError, WorkstreamError
from ledger.host import Life, life, process_start

if TYPE_CHECKING:
    from signal import Signals

TERM_GRACE_S: Final = 10.0
"""Time from a SIGTERM to the SIGKILL."""
HANGUP_GRACE_S: Final = 3.0
"""Time from a SIGHUP to the SIGTERM that follows it."""

_KEYBOARD: Final = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
_HANDLED: Final = (*_KEYBOARD, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGCONT)
SHIELD: Final = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)
"""What `wait` can keep without effect after the child's end; job control is not among it."""
_NEEDED: Final = (signal.SIGCHLD, signal.SIGCONT)
"""Handled even where the parent had them ignored: waiting depends on them."""
_PYTHON_IGNORES: Final = ("SIGPIPE", "SIGXFSZ", "SIGXFZ")
_GO: Final = b"g"
_FAILED: Final = 127


class ExitStatus(NamedTuple):
    """How a child ended."""

    code: int | None
    """Exit status; None when a signal ended it."""
    signal: int | None = None
    hung_up: bool = False
    """Our terminal was closed meanwhile: stdout and stderr lead to the log now."""
    resume_error: Exception | None = None
    """What `on_resume` raised; the wait went on."""

    @property
    def exit_code(self) -> int:
        """Status for our own exit: the child's, or 128 + signal as a shell has it."""
        return 128 + self.signal if self.signal is not None else self.code or 0


def spawn(
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    *,
    on_spawned: Callable[[int, int], None],
    term_grace_s: float = TERM_GRACE_S,
    hangup_grace_s: float = HANGUP_GRACE_S,
) -> Child:
    """Start `argv[0]` (a full path; no search, no shell) and return it once it is running.

    `on_spawned(pid, start time)` is called before the program is executed; when it raises, nothing
    is executed and the error goes on. From here on until `Child.wait` returns the launcher takes
    no signal as its own. Raises NotFoundError or NotExecutableError when the program cannot be
    executed. Main thread only.
    """
    terminal, signals = Terminal.save(), _Signals()
    go, failures = _Pipe(), _Pipe()
    with go, failures:
        pid = _fork(argv, env, cwd, terminal, signals, go, failures)
        child = Child(
            pid,
            terminal,
            signals,
            term_grace_s=term_grace_s,
            hangup_grace_s=hangup_grace_s,
        )
        try:
            failures.close_write()
            go.close_read()
            on_spawned(pid, child.start)
            with contextlib.suppress(BrokenPipeError):  # it was killed: `wait` tells how
                os.write(go.write_fd, _GO)
            go.close_write()
            child.await_exec(failures.read_fd, argv[0], cwd)
        except BaseException:
            child.abandon()
            raise
    return child


def _fork(
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    terminal: Terminal,
    signals: _Signals,
    go: _Pipe,
    failures: _Pipe,
) -> int:
    """Fork with all signals blocked, so that none meets half-installed handlers."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        signals.install()
        pid = os.fork()
        if pid == 0:
            _become(argv, env, cwd, signals, mask, go, failures)
    except BaseException:
        signals.restore()
        terminal.close()
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return pid


class Child:
    """A running child. Made by `spawn`; `wait` has to be called."""

    def __init__(
        self,
        pid: int,
        terminal: Terminal,
        signals: _Signals,
        *,
        term_grace_s: float,
        hangup_grace_s: float,
    ) -> None:
        self.pid = pid
        self.start = process_start(pid) or 0
        """Start time as in `ledger.host.process_start`; 0 where it cannot be seen."""
        self.started = time.monotonic()
        """When it was forked, on the monotonic clock in seconds."""
        self._terminal, self._signals = terminal, signals
        self._log: Path | None = None
        self._term_grace, self._hangup_grace = term_grace_s, hangup_grace_s
        self._ended: tuple[int | None, int | None] | None = None
        self._schedule: list[tuple[float, Signals]] = []
        self._hung_up = False
        self._on_resume: Callable[[], None] | None = None
        self._resume_error: Exception | None = None

    def wait(
        self,
        *,
        on_resume: Callable[[], None] | None = None,
        log: Path | None = None,
        shielded: bool = False,
    ) -> ExitStatus:
        """Wait until the child has ended and the terminal is in order again.

        A child that stops (Ctrl-Z) stops this process too; when both go on, `on_resume` is called:
        the lease may have been taken meanwhile. SIGTERM and SIGHUP go to the child, followed by
        SIGTERM and SIGKILL after the graces. `log` is where our stdout and stderr lead after a
        hangup (none: nowhere). Signal handlers are as before afterwards; when `shielded`, those of
        `SHIELD` stay without effect until `unshield`, so that the finish of the run is not cut off.
        """
        self._log = log
        self._on_resume = on_resume
        try:
            while self._ended is None:
                self._step(None)
        finally:
            self._signals.restore(keep=SHIELD if shielded and self._ended else ())
        code, number = self._ended
        self._terminal.after(self.pid, abnormal=code != 0, crashed=number is not None)
        self._terminal.close()
        return ExitStatus(
            code=code,
            signal=number,
            hung_up=self._hung_up,
            resume_error=self._resume_error,
        )

    def unshield(self) -> None:
        """Give back what `wait` kept."""
        self._signals.restore()

    def await_exec(self, failures_fd: int, program: str, cwd: Path) -> None:
        """Return once the program was executed or the child died; raise why it could not be."""
        while not self._step(failures_fd):
            continue
        raw = os.read(failures_fd, 64)
        if raw:
            raise _ExecFailure.parse(raw).as_error(program, cwd)

    def abandon(self) -> None:
        """Reap a child that never executed its program and give signals and terminal back."""
        if self._ended is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self._ended = (_FAILED, None)
        self._signals.restore()
        self._terminal.close()

    def _step(self, fd: int | None) -> bool:
        """Handle what happens next; True when `fd` can be read."""
        poll = select.poll()
        poll.register(self._signals.fd, select.POLLIN)
        if fd is not None:
            poll.register(fd, select.POLLIN)
        ready = {which for which, _ in poll.poll(self._patience_ms())}
        for number in self._signals.take():
            self._react(number)
        self._send_due()
        self._reap()
        return fd in ready

    def _react(self, number: int) -> None:
        if number == signal.SIGTERM:
            self._forward(signal.SIGTERM, (self._term_grace, signal.SIGKILL))
        elif number == signal.SIGHUP:
            self._leave_terminal()
            self._forward(
                signal.SIGHUP,
                (self._hangup_grace, signal.SIGTERM),
                (self._hangup_grace + self._term_grace, signal.SIGKILL),
            )
        elif number in (signal.SIGINT, signal.SIGQUIT):
            if not self._terminal.in_foreground():
                # no key did this: it was sent to us alone, by a program
                self._send(number)
        elif number == signal.SIGCONT:
            self._resume()

    def _forward(self, number: int, *later: tuple[float, Signals]) -> None:
        self._send(number)
        self._continue()
        now = time.monotonic()
        known = {which for _, which in self._schedule}
        self._schedule += [(now + after, which) for after, which in later if which not in known]
        self._schedule.sort()

    def _patience_ms(self) -> float | None:
        if not self._schedule:
            return None
        return max(0.0, (self._schedule[0][0] - time.monotonic()) * 1000)

    def _send_due(self) -> None:
        while self._schedule and self._schedule[0][0] <= time.monotonic():
            self._send(self._schedule.pop(0)[1])
            self._continue()

    def _send(self, number: int) -> None:
        if self._ended is None:
            os.kill(self.pid, number)  # not reaped yet: the pid is still the child's

    def _continue(self) -> None:
        """Wake the child if it is stopped; one that runs is not bothered with a second SIGCONT."""
        if self._ended is None and life(self.pid, self.start) is not Life.RUNNING:
            self._send(signal.SIGCONT)

    def _reap(self) -> None:
        while self._ended is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            if pid == 0:
                return
            if os.WIFSTOPPED(status):
                self._stop_too()
            elif os.WIFEXITED(status):
                self._ended = (os.WEXITSTATUS(status), None)
            elif os.WIFSIGNALED(status):
                self._ended = (None, os.WTERMSIG(status))

    def _stop_too(self) -> None:
        """Follow a child that stopped, so that the shell's prompt returns.

        Only this process: the child stopped itself and the terminal stopped the rest of the group.
        Returns when somebody continues us (`fg`), or at once for the init process of a container,
        which cannot be stopped.
        """
        if not self._schedule:
            os.kill(os.getpid(), signal.SIGSTOP)
        self._continue()

    def _resume(self) -> None:
        self._continue()
        if self._on_resume is None:
            return
        try:
            self._on_resume()
        except Exception as error:
            self._resume_error = error  # reported later: the child still has to be waited for

    def _leave_terminal(self) -> None:
        """Point stdout and stderr at the log: writing to a closed terminal would fail at exit."""
        if self._hung_up:
            return
        self._hung_up = True
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        try:
            fd = os.open(self._log or os.devnull, flags, 0o600)
        except OSError:
            fd = os.open(os.devnull, flags)
        os.dup2(fd, 1)
        os.dup2(fd, 2)
        os.close(fd)


class _Pipe:
    """A pipe whose ends are closed once each: a closed number may belong to another file."""

    def __init__(self) -> None:
        self.read_fd, self.write_fd = os.pipe()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.close_read()
        self.close_write()

    def close_read(self) -> None:
        fd, self.read_fd = self.read_fd, -1
        if fd >= 0:
            os.close(fd)

    def close_write(self) -> None:
        fd, self.write_fd = self.write_fd, -1
        if fd >= 0:
            os.close(fd)


class _Signals:
    """Signal handling for the life of one child.

    Handlers that do nothing, not SIG_IGN: what is ignored stays ignored through exec. Arrivals are
    read from a pipe, in order. What the parent of this program had ignored (nohup, `&` in a
    script) stays ignored, here and in the child.
    """

    def __init__(self) -> None:
        self._pipe = _Pipe()
        os.set_blocking(self._pipe.read_fd, False)
        os.set_blocking(self._pipe.write_fd, False)
        self._previous: dict[int, Any] = {}
        self._previous_fd = -1
        self._installed = False
        self.ignored: frozenset[int] = frozenset()
        """Signals that were ignored when we came."""

    @property
    def fd(self) -> int:
        """Readable when a signal has arrived."""
        return self._pipe.read_fd

    def install(self) -> None:
        found = {number: signal.getsignal(number) for number in _HANDLED}
        self.ignored = frozenset(n for n, handler in found.items() if handler == signal.SIG_IGN)
        self._previous_fd = signal.set_wakeup_fd(self._pipe.write_fd, warn_on_full_buffer=False)
        self._installed = True
        for number in _HANDLED:
            if number not in self.ignored or number in _NEEDED:
                self._previous[number] = signal.signal(number, _note)

    def take(self) -> list[int]:
        """Return the signals that have arrived since the last call."""
        try:
            return list(os.read(self._pipe.read_fd, 4096))
        except BlockingIOError:
            return []

    def restore(self, keep: Sequence[int] = ()) -> None:
        """Put everything back but `keep`; may be called again for those, or in vain."""
        for number in [which for which in self._previous if which not in keep]:
            handler = self._previous.pop(number)
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        if self._installed:
            signal.set_wakeup_fd(self._previous_fd)
            self._installed = False
        self._pipe.close()

    def reset_in_child(self) -> None:
        """Give the child the dispositions that this program was started with."""
        signal.set_wakeup_fd(-1)
        for number in _HANDLED:
            ignored = number in self.ignored
            signal.signal(number, signal.SIG_IGN if ignored else signal.SIG_DFL)
        for name in _PYTHON_IGNORES:
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.SIG_DFL)


class _ExecFailure(NamedTuple):
    """What the child reports when it cannot execute the program."""

    stage: str
    number: int

    def render(self) -> bytes:
        return f"{self.stage} {self.number}".encode()

    @classmethod
    def parse(cls, raw: bytes) -> _ExecFailure:
        stage, _, number = raw.decode("ascii", "replace").partition(" ")
        return cls(stage=stage, number=int(number))

    def as_error(self, program: str, cwd: Path) -> WorkstreamError:
        detail = os.strerror(self.number)
        if self.stage == "chdir":
            return NotExecutableError(f"cannot enter {cwd}", detail=detail)
        if self.number == errno.ENOENT:
            return NotFoundError(
                f"there is no program {program}",
                detail=f"{detail}; for a script, also when its interpreter is missing",
            )
        if self.number == errno.E2BIG:
            return NotExecutableError(
                f"cannot start {program}",
                detail=detail,
                next_step="Arguments and environment together are larger than the system allows.",
            )
        return NotExecutableError(f"cannot execute {program}", detail=detail)


def _become(
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    signals: _Signals,
    mask: set[int] | set[Signals],
    go: _Pipe,
    failures: _Pipe,
) -> NoReturn:
    """Be the child: wait for the go, then become the program. Never returns, whatever happens."""
    stage = "prepare"
    try:
        go.close_write()  # or the end of the launcher would not be seen
        signals.reset_in_child()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if os.read(go.read_fd, 1) == _GO:
            stage = "chdir"
            os.chdir(cwd)
            stage = "exec"
            os.execve(argv[0], list(argv), dict(env))  # noqa: S606  (that is the point)
    except OSError as error:
        os.write(failures.write_fd, _ExecFailure(stage=stage, number=error.errno or 0).render())
    except ValueError:  # a NUL byte in an argument
        os.write(failures.write_fd, _ExecFailure(stage=stage, number=errno.EINVAL).render())
    finally:
        os._exit(_FAILED)


def _note(number: int, frame: object) -> None:
    """Do nothing: the wakeup descriptor has the number."""
