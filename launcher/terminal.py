"""The terminal before and after a child that may leave it in any state.

The invariant this module protects: after a child that ended abnormally the shell gets the modes
that it had, and a terminal that another job owns by then is left alone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import termios
from collections.abc import Iterator
from typing import Any, Final, Self

RESET: Final = (
    b"\x1b[?1000l\x1b[?1001l\x1b[?1002l\x1b[?1003l"  # mouse tracking
    b"\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l"  # its encodings
    b"\x1b[?1004l"  # focus reports
    b"\x1b[?2004l"  # bracketed paste
    b"\x1b[?2026l"  # synchronised output
    b"\x1b[<u\x1b[>4m"  # keyboard protocol: pop, modifyOtherKeys off
    b"\x1b7\x1b[?1049l"  # alternate screen; saving first keeps the cursor where there was none
    b"\x1b[<u"  # each screen has its own keyboard stack
    b"\x1b[?1l\x1b>"  # cursor keys and keypad
    b"\x1b[?25h\x1b[0m"  # cursor visible, plain text
)
"""Switches off what a full-screen program switches on; each is harmless when it was off."""

_LFLAG: Final = 3


class Terminal:
    """The terminal of this process, as it was when `save` was called."""

    def __init__(self, fd: int | None, *, opened: bool = False) -> None:
        self._fd = fd
        self._opened = opened
        self._modes = _modes(fd)
        self._was_foreground = fd is not None and _foreground(fd) == os.getpgrp()

    @classmethod
    def save(cls) -> Self:
        """Remember the modes and whether we are in the foreground; works without a terminal."""
        for fd in (0, 1, 2):
            with contextlib.suppress(OSError):
                if os.isatty(fd):
                    return cls(fd)
        try:
            return cls(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC), opened=True)
        except OSError:
            return cls(None)

    def close(self) -> None:
        """Close what `save` had to open."""
        if self._opened and self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def in_foreground(self) -> bool:
        """Say whether keys typed now reach our process group as signals."""
        return self._fd is not None and _foreground(self._fd) == os.getpgrp()

    def after(self, child_pid: int, *, abnormal: bool, crashed: bool) -> None:
        """Bring the terminal back after the child has ended.

        Takes the foreground back when the child's own group, or one that is gone, has it. After an
        abnormal end the saved modes are restored; after a crash (death by a signal) the RESET
        sequences are written when stdout is a terminal. Does nothing while another job has it.
        """
        if self._fd is None:
            return
        with _quiet_background():
            owner = _foreground(self._fd)
            if self._was_foreground and owner not in (None, os.getpgrp()):
                self._regain(owner, child_pid)
            if _foreground(self._fd) not in (None, os.getpgrp()):
                return
            if abnormal:
                self._restore_modes(crashed=crashed)
            if crashed:
                _write_reset()

    def _regain(self, owner: int | None, child_pid: int) -> None:
        assert self._fd is not None  # noqa: S101  (the caller has looked)
        if owner is not None and (owner == child_pid or not _group_exists(owner)):
            with contextlib.suppress(OSError):  # the terminal may be closed by now
                os.tcsetpgrp(self._fd, os.getpgrp())

    def _restore_modes(self, *, crashed: bool) -> None:
        assert self._fd is not None  # noqa: S101  (the caller has looked)
        now = _modes(self._fd)
        if self._modes is None or now is None or now == self._modes:
            return
        with contextlib.suppress(termios.error):  # the terminal may be closed by now
            termios.tcsetattr(self._fd, termios.TCSANOW, self._modes)
            if crashed and not now[_LFLAG] & termios.ICANON:
                # bytes that the dead program had asked for, such as mouse reports
                termios.tcflush(self._fd, termios.TCIFLUSH)


def _write_reset() -> None:
    with contextlib.suppress(OSError):  # the terminal may be closed by now
        if os.isatty(1):
            os.write(1, RESET)


def _modes(fd: int | None) -> list[Any] | None:
    if fd is None:
        return None
    try:
        return termios.tcgetattr(fd)
    except termios.error:
        return None


def _foreground(fd: int) -> int | None:
    """Return the foreground group; None where the terminal is not our controlling one."""
    try:
        return os.tcgetpgrp(fd)
    except OSError:
        return None


def _group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@contextlib.contextmanager
def _quiet_background() -> Iterator[None]:
    """Change the terminal from the background without being stopped for it."""
    old = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)
