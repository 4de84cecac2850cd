"""What both stand-ins share: questions, the log of calls, the person's inputs, turns, how to end.

A stand-in is started in place of a real harness program and behaves as that one does as far as a
launcher and an importer can see. Standard library only; it has to start fast.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import termios
import time
import tty
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, Protocol

from tests.fakes.scripting import Rule, Scenario, Step, Verb, load_scenario, new_call_id

Json = dict[str, Any]

HOLD_LIMIT_S = 60.0
CRASH = b"\x1b[?1000h\x1b[?1003h\x1b[?1006h\x1b[?1049h\x1b[?2004h\x1b[?25l"
"""Mouse, alternate screen, bracketed paste, hidden cursor: what a crash leaves switched on."""


class Session(Protocol):
    """A native session that is being written."""

    id: str

    def user(self, text: str) -> None:
        """Write the person's message, the context of the hooks before it."""

    def say(self, text: str, *, last: bool) -> None:
        """Write words of the model."""

    def context(self, text: str, source: str, command: str, out: str) -> None:
        """Take what a hook printed; it is written before the next message."""

    def call(self, call: str, step: Step) -> None:
        """Write a tool call."""

    def result(self, call: str, step: Step, output: str, code: int) -> None:
        """Write its result."""

    def close(self) -> None:
        """Give up what shows that the session is open."""


class Harness(Protocol):
    """One of the two programs, called once."""

    name: str
    version: str
    help: str
    args: list[str]
    one_shot: bool
    prompt: str | None
    hooks: Mapping[str, Sequence[str]]
    """Commands by event."""

    def utility(self) -> bool:
        """Whether no conversation comes of this call."""

    def open(self) -> Session:
        """Return the session that the arguments ask for. Raises RefusedError."""

    def fresh(self, source: str) -> Session:
        """Return a new session, as `/clear` and `/new` make it."""

    def payload(self, session: Session) -> Json:
        """Return what a hook is given on stdin, but for the event."""

    @property
    def source(self) -> str:
        """startup or resume."""

    received: list[str]
    """Everything that reached the model."""


class RefusedError(Exception):
    """The program ends at once; the message goes to stderr."""


def main(harness: Harness) -> NoReturn:
    """Be the program and end as told."""
    args = harness.args
    if args[-1:] in (["--version"], ["-V"], ["-v"]):
        _leave(0, harness.version)
    if args[-1:] in (["--help"], ["-h"]):
        _leave(0, harness.help)
    if args == ["features", "list"]:
        _leave(0, "hooks                     stable             true")
    do = _told()
    stdin = None if sys.stdin.isatty() else sys.stdin.read()
    _log(harness, stdin)
    if "signal-at-once" in do:
        _signal(do["signal-at-once"])
    if harness.utility():
        _leave(int(do.get("exit", "0")), f"{harness.name} {' '.join(args)}")
    if "crash" in do:
        _crash()
    try:
        _Play(harness, do, stdin).play()
    except RefusedError as refusal:
        sys.stderr.write(f"{refusal}\n")
        _leave(1)
    except KeyboardInterrupt:
        _leave(130)
    if "signal" in do:
        _signal(do["signal"])
    _leave(int(do.get("exit", "0")))


class _Play:
    """One call with a conversation."""

    def __init__(self, harness: Harness, do: Mapping[str, str], stdin: str | None) -> None:
        self._harness, self._do, self._stdin = harness, do, stdin
        self._scenario = _scenario(harness.name)
        self._session: Session | None = None

    def play(self) -> None:
        do = self._do
        if "deaf" in do:
            signal.signal(getattr(signal, f"SIG{do['deaf']}"), signal.SIG_IGN)
        if "trap" in do:
            signal.signal(getattr(signal, f"SIG{do['trap']}"), self._leave_in_order)
        if "window" in do:
            signal.signal(signal.SIGWINCH, _show_size)
        self._hold("start")
        if "nothing" in do:
            return
        if "refuse" in do and self._harness.source == "resume":
            raise RefusedError("ERROR: No saved session found with that ID")
        self._begin(self._harness.open(), self._harness.source)
        self._hold("opened")
        for text in self._inputs():
            if text in ("/clear", "/new"):
                self._start_over(text)
            else:
                self._turn(text)
        self._hold("end")
        self._end("prompt_input_exit")

    def _leave_in_order(self, *_: object) -> None:
        self._end("other")
        _leave(0)

    def _begin(self, session: Session, source: str) -> None:
        self._session = session
        self._run_hooks("SessionStart", source)

    def _end(self, reason: str) -> None:
        if self._session is not None:
            self._run_hooks("SessionEnd", reason)
            self._session.close()

    def _start_over(self, command: str) -> None:
        clear = self._harness.name == "claude" or command == "/clear"
        if self._harness.name == "claude":
            self._run_hooks("SessionEnd", "clear")
        self._begin(self._harness.fresh("clear"), "clear" if clear else "startup")

    def _run_hooks(self, event: str, why: str) -> None:
        """Run our hooks for an event, the way the program does: a shell, the payload on stdin."""
        session = self._session
        assert session is not None
        if "nohooks" in self._do:
            return
        key = "source" if event == "SessionStart" else "reason"
        given = {**self._harness.payload(session), "hook_event_name": event, key: why}
        for command in self._harness.hooks.get(event, ()):
            hurried = event == "SessionEnd" and "hurry" in self._do
            out = _hook(command, given, hurried=hurried)
            context = _context(out)
            if context is not None:
                session.context(context, why, command, out)
                self._harness.received.append(context)

    def _inputs(self) -> Iterator[str]:
        """Yield what the person gives: prompt, what `STANDIN_TYPED` holds, then the keyboard."""
        if self._harness.prompt is not None:
            yield self._harness.prompt
        elif self._harness.one_shot and self._stdin:
            yield self._stdin
        yield from json.loads(os.environ.get("STANDIN_TYPED", "[]"))
        if self._harness.one_shot or not sys.stdin.isatty():
            return
        while True:
            sys.stdout.write(f"{self._harness.name}> ")
            sys.stdout.flush()
            line = sys.stdin.readline()
            if not line or line.strip() in ("/exit", "/quit"):
                return
            yield line.strip()

    def _turn(self, text: str) -> None:
        session = self._session
        assert session is not None
        session.user(text)
        steps = [s for answer in self._scenario.script_for(text).answers for s in answer]
        for number, step in enumerate(steps):
            self._step(session, step, number, last=number == len(steps) - 1)

    def _step(self, session: Session, step: Step, number: int, *, last: bool) -> None:
        if step.verb in (Verb.SAY, Verb.SAY_FOUND):
            words = step.text if step.verb is Verb.SAY else self._found(step.text)
            session.say(words, last=last)
            sys.stdout.write(f"{words}\n")
            sys.stdout.flush()
        elif step.verb is Verb.PARALLEL:
            for command in step.fields:
                self._tool(session, Step(verb=Verb.RUN, fields=(command,)), number)
        elif step.verb in (Verb.RUN, Verb.READ, Verb.WRITE):
            self._tool(session, step, number)
        elif step.verb is Verb.HOLD:
            hold(step.text)
        elif step.verb is Verb.PAUSE:
            time.sleep(float(step.text))
        else:
            message = f"a stand-in cannot play {step.verb}"
            raise RefusedError(message)

    def _tool(self, session: Session, step: Step, number: int) -> None:
        call = new_call_id("toolu" if self._harness.name == "claude" else "call", number, 0)
        session.call(call, step)
        output, code = _carry_out(step)
        self._harness.received.append(output)
        session.result(call, step, output, code)

    def _found(self, pattern: str) -> str:
        """Return what was found last in everything that reached the model."""
        hits = [m for text in self._harness.received for m in re.finditer(pattern, text)]
        if not hits:
            return "not found"
        return str(hits[-1].group(1) if hits[-1].groups() else hits[-1].group())

    def _hold(self, phase: str) -> None:
        for name in filter(None, self._do.get("hold", "").split("+")):
            if name == phase:
                hold(name)


def hold(name: str) -> None:
    """Say that this point is reached, and wait until a test lets us go on."""
    folder = Path(os.environ["STANDIN_HOLD"])
    (folder / f"{name}.held").write_text(str(os.getpid()), encoding="utf-8")
    deadline = time.monotonic() + HOLD_LIMIT_S
    while not (folder / f"{name}.go").exists():
        if time.monotonic() > deadline:
            raise RefusedError(f"nobody released {name}")
        time.sleep(0.005)


def uuid4() -> str:
    """Return a random UUID."""
    return _uuid(int.from_bytes(os.urandom(16)), 4)


def uuid7() -> str:
    """Return a UUID that begins with the time."""
    return _uuid((time.time_ns() // 10**6 << 80) | int.from_bytes(os.urandom(10)), 7)


def _uuid(raw: int, version: int) -> str:
    raw = raw & ~(0xF << 76) | version << 76
    digits = f"{raw & ~(0x3 << 62) | 0x2 << 62:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def now() -> str:
    """Return the time as both programs write it."""
    at = time.time_ns() // 10**6
    return time.strftime("%Y-%m-%dT%H:%M:%S.", time.gmtime(at // 1000)) + f"{at % 1000:03d}Z"


def append(path: Path, record: Mapping[str, Any]) -> None:
    """Append one record in one write, as both programs do."""
    line = json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(fd, line.encode())
    finally:
        os.close(fd)


def _told() -> dict[str, str]:
    """Return what `STANDIN_DO` asks for: `exit=3,trap=TERM`."""
    parts = filter(None, os.environ.get("STANDIN_DO", "").split(","))
    return {name: value for name, _, value in (part.partition("=") for part in parts)}


def _log(harness: Harness, stdin: str | None) -> None:
    path = os.environ.get("STANDIN_LOG")
    if not path:
        return
    terminal: Json = {"isatty": [os.isatty(fd) for fd in (0, 1, 2)]}
    if os.isatty(0):
        terminal |= {"name": os.ttyname(0), "size": list(os.get_terminal_size(0))}
    line = {
        "name": harness.name,
        "pid": os.getpid(),
        "args": harness.args,
        "cwd": str(Path.cwd()),
        "env": dict(os.environ),
        "stdin": stdin,
        "terminal": terminal,
    }
    append(Path(path), line)


def _scenario(name: str) -> Scenario:
    folder = os.environ.get("STANDIN_SCENARIOS")
    return load_scenario(Path(folder) / f"{name}.json") if folder else Scenario()


def save_scenario(path: Path, rules: Sequence[Rule]) -> None:
    """Write a scenario for `STANDIN_SCENARIOS`."""
    document = {"rules": [{"match": r.match.pattern, "script": r.script} for r in rules]}
    path.write_text(json.dumps(document), encoding="utf-8")


def _hook(command: str, payload: Json, *, hurried: bool) -> str:
    process = subprocess.Popen(
        command, shell=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    if hurried:
        process.kill()
    out, _ = process.communicate(json.dumps(payload))
    return out


def _context(out: str) -> str | None:
    try:
        text: object = json.loads(out)["hookSpecificOutput"]["additionalContext"]
    except (ValueError, LookupError, TypeError):
        return None
    return text if isinstance(text, str) else None


def _carry_out(step: Step) -> tuple[str, int]:
    """Do what a tool call asks for; output and exit code."""
    if step.verb is Verb.WRITE:
        Path(step.text).write_text(step.field(1), encoding="utf-8")
        return f"wrote {step.text}", 0
    command = f"cat {step.text}" if step.verb is Verb.READ else step.text
    done = subprocess.run(
        command, shell=True, stdin=subprocess.DEVNULL, stdout=-1, stderr=-2, check=False
    )
    return done.stdout.decode("utf-8", "replace"), done.returncode


def _show_size(*_: object) -> None:
    size = os.get_terminal_size(0)
    os.write(1, f"size {size.columns}x{size.lines}\n".encode())


def _crash() -> NoReturn:
    """Die in the middle of things, with the terminal as it is then."""
    if sys.stdout.isatty():
        tty.setraw(0, termios.TCSANOW)
        os.write(1, CRASH)
    _signal("KILL")


def _signal(name: str) -> NoReturn:
    sys.stdout.flush()
    number = getattr(signal, f"SIG{name}")
    if name not in ("KILL", "STOP"):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    time.sleep(HOLD_LIMIT_S)
    os._exit(70)


def _leave(code: int, words: str | None = None) -> NoReturn:
    if words is not None:
        sys.stdout.write(f"{words}\n")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def lock(path: Path) -> int | None:
    """Lock a file as codex does; None when somebody else has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        return None
    return fd
