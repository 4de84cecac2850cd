"""Drive an interactive program in a pseudo-terminal that answers like a real one.

A thread reads all the time, so that the program never blocks on its output and its questions to
the terminal (cursor position, device attributes, colours) are answered at once, whatever the
test is doing.
"""

from __future__ import annotations

import re
import threading
import time
from typing import TYPE_CHECKING, Final, Self

import pexpect  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

_ANSWERS: Final[tuple[tuple[re.Pattern[bytes], bytes], ...]] = (
    (re.compile(rb"\x1b\[6n"), b"\x1b[1;1R"),
    (re.compile(rb"\x1b\[5n"), b"\x1b[0n"),
    (re.compile(rb"\x1b\[0?c"), b"\x1b[?62;22c"),
    (re.compile(rb"\x1b\[>0?c"), b"\x1b[>1;10;0c"),
    (re.compile(rb"\x1b\]10;\?(?:\x07|\x1b\\)"), b"\x1b]10;rgb:dddd/dddd/dddd\x1b\\"),
    (re.compile(rb"\x1b\]11;\?(?:\x07|\x1b\\)"), b"\x1b]11;rgb:1111/1111/1111\x1b\\"),
)
_LONGEST_QUESTION: Final = 16
_CONTROL: Final = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # a title, a colour
    r"|\x1b[P_^X][^\x1b]*\x1b\\"  # device control and application strings
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # movement, colours, modes
    r"|\x1b[ -/]*[0-~]"
)
KEYS: Final = {
    "enter": b"\r",
    "escape": b"\x1b",
    "ctrl-c": b"\x03",
    "ctrl-d": b"\x04",
    "ctrl-z": b"\x1a",
    "up": b"\x1b[A",
    "down": b"\x1b[B",
    "right": b"\x1b[C",
    "left": b"\x1b[D",
    "tab": b"\t",
    "backspace": b"\x7f",
}


class Terminal:
    """One program in its own pseudo-terminal; use as a context manager, which ends it."""

    def __init__(
        self,
        argv: Sequence[str | Path],
        *,
        env: Mapping[str, str],
        cwd: Path,
        rows: int = 40,
        columns: int = 120,
    ) -> None:
        self._child = pexpect.spawn(
            str(argv[0]),
            [str(argument) for argument in argv[1:]],
            env=dict(env),
            cwd=str(cwd),
            dimensions=(rows, columns),
            timeout=None,
        )
        self._child.delaybeforesend = None
        # A killed program with many threads is not gone after pexpect's tenth of a second.
        self._child.ptyproc.delayafterterminate = 1.0
        self.pid: int = self._child.pid
        self.raw = b""
        """Everything that the program has written."""
        self._last_activity = time.monotonic()
        self._mark = 0
        self._hanging = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    # -- input -----------------------------------------------------------------------------

    def press(self, *keys: str) -> None:
        """Press keys by name (KEYS), or a single character."""
        for key in keys:
            self.send(KEYS.get(key, key.encode()))

    def send(self, raw: bytes) -> None:
        """Send bytes as they are; later waits look at what is written from now on."""
        self._mark = len(self.raw)
        self._last_activity = time.monotonic()
        self._child.send(raw)

    def paste(self, text: str) -> None:
        """Paste a text as a terminal does it."""
        self.send(b"\x1b[200~" + text.encode() + b"\x1b[201~")

    def submit(self, text: str, timeout: float = 20, settle: float = 0) -> None:
        """Paste a prompt, see it in the input line, and press Enter after `settle` seconds.

        Gemini CLI takes an Enter that follows a paste at once for a part of it.
        """
        self.paste(text)
        self.wait_text(text[-12:], timeout)
        time.sleep(settle)
        self.press("enter")

    def resize(self, rows: int, columns: int) -> None:
        """Change the size of the terminal."""
        self._child.setwinsize(rows, columns)

    # -- output ----------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """What was written since the last input, without control sequences and blanks.

        Programs skip over blank cells instead of writing them, so blanks cannot be compared.
        """
        return _squeezed(self.raw[self._mark :])

    def wait_text(self, text: str, timeout: float = 20) -> None:
        """Wait until `text` was written since the last input; blanks are not compared."""
        wanted = "".join(text.split())
        self._wait(lambda: wanted in self.text, timeout, f"{text!r} was not shown")

    def wait_quiet(self, seconds: float = 0.5, timeout: float = 20) -> None:
        """Wait until nothing was typed or written for `seconds`, and something was before."""
        self._wait(
            lambda: bool(self.raw) and time.monotonic() - self._last_activity > seconds,
            timeout,
            "the program did not come to rest",
        )

    # -- the end ---------------------------------------------------------------------------

    def wait_exit(self, timeout: float = 20) -> int:
        """Wait for the end and return the exit status, `-n` for signal n."""
        self._reader.join(timeout)
        if self._reader.is_alive():
            self._complain(f"the program did not end within {timeout} s")
        self._child.wait()
        if self._child.signalstatus is not None:
            return -int(self._child.signalstatus)
        return int(self._child.exitstatus)

    def hang_up(self) -> None:
        """Close the terminal under the program, as a closed window does, and kill nothing."""
        self._hanging.set()
        self._reader.join(5)
        self._child.ptyproc.fileobj.close()
        self._child.ptyproc.closed = self._child.closed = True

    def close(self) -> None:
        """Hang up, and kill what stays."""
        if self._reader.is_alive():
            self._child.close(force=True)
        self._reader.join(5)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- inside ----------------------------------------------------------------------------

    def _read(self) -> None:
        while True:
            try:
                data = self._child.read_nonblocking(65536, timeout=0.1)
            except pexpect.TIMEOUT:
                if self._hanging.is_set():
                    return
                continue
            except (pexpect.EOF, OSError, ValueError):
                return
            unanswered = self.raw[-_LONGEST_QUESTION:] if self.raw else b""
            self.raw += data
            self._last_activity = time.monotonic()
            self._answer(unanswered, data)

    def _answer(self, before: bytes, data: bytes) -> None:
        """Answer the questions that end in `data`; one may have begun in `before`."""
        for question, answer in _ANSWERS:
            for found in question.finditer(before + data):
                if found.end() > len(before):
                    self._child.send(answer)

    def _wait(self, ready: Callable[[], bool], timeout: float, complaint: str) -> None:
        deadline = time.monotonic() + timeout
        while not ready():
            if time.monotonic() > deadline:
                self._complain(f"{complaint} within {timeout} s")
            if not self._reader.is_alive() and not ready():
                self._complain(f"{complaint} before the program ended")
            time.sleep(0.02)

    def _complain(self, what: str) -> None:
        shown = _CONTROL.sub(" ", self.raw[-6000:].decode(errors="replace"))
        message = f"{what}; last output:\n{shown}"
        raise TimeoutError(message)


def _squeezed(raw: bytes) -> str:
    return "".join(_CONTROL.sub("", raw.decode(errors="replace")).split())
