"""What both programs share: questions about themselves, the log, the answer, what goes wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

SLEEP_S = 600
HUGE = 6 * 1024 * 1024


def main(name: str, version: str) -> NoReturn:
    """Be the program."""
    args = sys.argv[1:]
    if args[-1:] == ["--version"]:
        _leave(0, version)
    if args[-1:] == ["--help"]:
        _leave(0, "--no-daemon --system-prompt-snapshot")
    if args == ["features", "list"]:
        _leave(0, "hooks                     stable             true")
    number = _log(name, args)
    word, _, value = os.environ.get("ASKED_DO", "").partition("=")
    if word == "junk":
        os.write(1, b"\xff\xfe{not json]\n")
        _leave(0)
    if word == "silent":
        _leave(0)
    if word == "huge":
        os.write(2, b"printing\n")
        sys.stdout.write("x" * HUGE)
        _leave(0)
    if word == "exit":
        sys.stderr.write("the model is out, key sk-ant-api03-" + "A" * 93 + "AA is refused\n")
        _leave(int(value))
    if word in ("sleep", "deaf"):
        _stay(deaf=word == "deaf")
    if word == "write":
        Path(value).write_text("written by the fork", encoding="utf-8")
    _answer(name, args, _text(number))
    _leave(0)


def _log(name: str, args: list[str]) -> int:
    """Note the question and return how many there have been."""
    path = Path(os.environ["ASKED_LOG"])
    line = {
        "name": name,
        "pid": os.getpid(),
        "args": args,
        "env": dict(os.environ),
        "cwd": str(Path.cwd()),
        "question": sys.stdin.read(),
        "terminal": _has_terminal(),
    }
    with path.open("a", encoding="utf-8") as log:
        log.write(json.dumps(line) + "\n")
    return len(path.read_text(encoding="utf-8").splitlines())


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR))
    except OSError:
        return any(os.isatty(fd) for fd in (0, 1, 2))
    return True


def _text(number: int) -> str:
    folder = Path(os.environ["ASKED_ANSWERS"])
    while number > 1 and not (folder / f"{number}.txt").exists():
        number -= 1
    return (folder / f"{number}.txt").read_text(encoding="utf-8")


def _answer(name: str, args: list[str], text: str) -> None:
    if name == "codex":
        option = "--output-last-message="
        (path,) = (word.removeprefix(option) for word in args if word.startswith(option))
        Path(path).write_text(text, encoding="utf-8")
        sys.stdout.write('{"type":"turn.completed"}\n')
        return
    try:
        given = {"structured_output": json.loads(text), "result": ""}
    except ValueError:
        given = {"result": text}
    sys.stdout.write(json.dumps({"type": "result", "is_error": False, **given}) + "\n")


def _stay(*, deaf: bool) -> None:
    if deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen(["sleep", str(SLEEP_S)])
        Path(f"{os.environ['ASKED_LOG']}.child").write_text(str(child.pid), encoding="ascii")
    time.sleep(SLEEP_S)


def _leave(code: int, words: str | None = None) -> NoReturn:
    if words is not None:
        sys.stdout.write(f"{words}\n")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
