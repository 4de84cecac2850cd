#!/usr/bin/env python3
"""Record small native stores with the real harness programs and the scripted model APIs.

Every recording starts from an empty home whose path has exactly as many characters as
`/home/user`, which replaces it in what is kept: byte offsets inside a store still hold. Long texts
of the vendors are replaced. Only the session files are kept.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.fakes.messages_api import MessagesApi
from tests.fakes.responses_api import ResponsesApi
from tests.lab.homes import DUMMY_KEY, Home, claude_home, codex_home
from tests.lab.programs import harness_program
from tests.lab.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.fakes.server import ScriptedServer

KEPT_HOME: Final = "/home/user"
_LONG: Final = 120
"""Texts of a vendor are longer than this; ours, in the scripts below, are shorter."""
_KEPT: Final = ("say: ", "usage limit")
"""Long texts with one of these are what a recording is about."""
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*"')
_VENDOR_RECORDS: Final = {"api-request-shape": "shape"}
_PRINT: Final = ("-p", "--dangerously-skip-permissions")


def type_turn(api: ScriptedServer, terminal: Terminal, text: str) -> None:
    """Type a prompt and wait until the whole turn is over."""
    before = len(api.turns)
    terminal.submit(text)
    api.wait_turns(before + 1)
    terminal.wait_quiet(1)


def end(terminal: Terminal) -> None:
    """Leave the program as a person does it."""
    terminal.submit("/exit")
    if terminal.wait_exit() != 0:
        message = "the program did not end cleanly"
        raise RuntimeError(message)


def run_claude(home: Home, *arguments: str, **env: str) -> None:
    """Run one `-p` call; its exit status is part of what is recorded, so it may be any."""
    command = [str(harness_program("claude")), *_PRINT, *arguments]
    environment = {name: value for name, value in (home.env | env).items() if value}
    subprocess.run(
        command, env=environment, cwd=home.work, stdin=subprocess.DEVNULL, timeout=120, check=False
    )


def run_codex(home: Home, *arguments: str) -> None:
    """Run one `exec` call."""
    command = [str(harness_program("codex")), "exec", "-s", "danger-full-access"]
    subprocess.run(
        [*command, *arguments],
        env=home.env,
        cwd=home.work,
        stdin=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )


def hook_plugin(home: Home) -> str:
    """Make a plugin whose SessionStart hook prints what stands in `context`."""
    plugin = home.root / "plugin"
    for folder in (".claude-plugin", "hooks"):
        (plugin / folder).mkdir(parents=True)
    (plugin / ".claude-plugin" / "plugin.json").write_text('{"name":"recorded","version":"1.0.0"}')
    command = {"type": "command", "command": f"cat {home.root}/context"}
    hooks = {"hooks": {"SessionStart": [{"hooks": [command]}]}}
    (plugin / "hooks" / "hooks.json").write_text(json.dumps(hooks))
    return str(plugin)


def set_context(home: Home, text: str) -> None:
    """Let the hook print this text as additional context."""
    context = {"hookEventName": "SessionStart", "additionalContext": text}
    (home.root / "context").write_text(json.dumps({"hookSpecificOutput": context}))


# -- what is recorded ------------------------------------------------------------------------


def claude_print_hooks(home: Home, api: ScriptedServer) -> None:
    """Two `-p` runs with SessionStart context; tools with a failure, parallel calls, an edit."""
    del api
    session, plugin = str(uuid.uuid4()), hook_plugin(home)
    set_context(home, "first context d-0001")
    first = (
        "think: look first ;; say: going ;; run: echo $((40+2)); exit 3 ;; write: a.txt => 1\\n2\\n"
        " ;; edit: a.txt => 2 => two ;; parallel: echo left => false ;; say: first part done"
    )
    run_claude(home, "--plugin-dir", plugin, "--session-id", session, first)
    set_context(home, "second context d-0002")
    run_claude(home, "--plugin-dir", plugin, "--resume", session, "say: second part done")


def claude_terminal(home: Home, api: ScriptedServer) -> None:
    """Terminal: a tool, an interrupted turn, a message queued while busy, /branch, /compact."""
    with Terminal([harness_program("claude")], env=home.env, cwd=home.work) as terminal:
        terminal.wait_quiet()
        type_turn(api, terminal, "run: echo seen ;; say: first answer")
        terminal.submit("hold: interrupted")
        api.wait_held("interrupted")
        # What was streamed must be on the screen, else nothing of it is kept.
        terminal.wait_text("working on it")
        terminal.press("escape")
        terminal.wait_text("nterrupted")
        terminal.wait_quiet(1)
        terminal.submit("hold: busy ;; run: echo late ;; say: busy no more")
        api.wait_held("busy")
        terminal.submit("a queued message")
        terminal.wait_text("Queued")
        api.release("busy")
        terminal.wait_text("busy no more")
        terminal.wait_quiet(1)
        terminal.submit("/branch other")
        terminal.wait_quiet(2)
        type_turn(api, terminal, "say: on the branch")
        terminal.submit("/compact")
        terminal.wait_text("Compacted")
        terminal.wait_quiet(1)
        type_turn(api, terminal, "say: after the compaction")
        end(terminal)


def claude_rewound(home: Home, api: ScriptedServer) -> None:
    """Terminal: three prompts, rewound to the second, which is replaced by another."""
    with Terminal([harness_program("claude")], env=home.env, cwd=home.work) as terminal:
        terminal.wait_quiet()
        for text in ("say: one", "say: two", "say: three"):
            type_turn(api, terminal, text)
        _press(terminal, "escape", "escape", "up", "up", "enter", "enter", *["backspace"] * 12)
        type_turn(api, terminal, "say: two again")
        end(terminal)


def claude_usage_limit(home: Home, api: ScriptedServer) -> None:
    """One `-p` run with an account token that meets a five-hour limit."""
    del api
    run_claude(
        home, "fail: usage-limit 7200", ANTHROPIC_API_KEY="", CLAUDE_CODE_OAUTH_TOKEN=DUMMY_KEY
    )


def codex_rewound_first(home: Home, api: ScriptedServer) -> None:
    """Terminal: two prompts, rewound to the first, which is replaced by another."""
    argv = [str(harness_program("codex")), "--no-daemon"]
    with Terminal(argv, env=home.env, cwd=home.work) as terminal:
        terminal.wait_quiet()
        for text in ("say: one", "say: two"):
            type_turn(api, terminal, text)
        _press(terminal, "escape", "escape", "left", "enter", *["backspace"] * 12)
        type_turn(api, terminal, "say: one again")
        end(terminal)


def codex_usage_limit(home: Home, api: ScriptedServer) -> None:
    """Run an `exec` turn near the limit and one that meets it."""
    del api
    run_codex(home, "--skip-git-repo-check", "limits: 85 3600 ;; say: almost there")
    run_codex(home, "--skip-git-repo-check", "fail: usage-limit 7200")


def _press(terminal: Terminal, *keys: str) -> None:
    for key in keys:
        terminal.press(key)
        # Two presses of Escape mean something else when they are far apart.
        terminal.wait_quiet({"backspace": 0.1, "escape": 0.3}.get(key, 0.8))


RECORDINGS: Final[dict[str, Callable[[Home, ScriptedServer], None]]] = {
    "claude/print_hooks": claude_print_hooks,
    "claude/terminal": claude_terminal,
    "claude/rewound": claude_rewound,
    "claude/usage_limit": claude_usage_limit,
    "codex/rewound_first": codex_rewound_first,
    "codex/usage_limit": codex_usage_limit,
}


# -- keeping it ------------------------------------------------------------------------------


def record(name: str, target: Path) -> None:
    """Make one recording and put its session files into `target/<name>`."""
    root = _short_root()
    try:
        codex = name.startswith("codex/")
        keep = _kept_codex if codex else _kept_claude
        api: ScriptedServer = ResponsesApi() if codex else MessagesApi()
        with api:
            home = codex_home(root, api.port) if codex else claude_home(root, api.port)
            RECORDINGS[name](home, api)
        folder = target / name
        shutil.rmtree(folder, ignore_errors=True)
        for path in home.session_files():
            inside = str(path.relative_to(home.root)).replace(_slug(root), _slug(KEPT_HOME))
            kept = folder / inside.removeprefix(".")
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(keep(path.read_bytes(), str(root)))
    finally:
        shutil.rmtree(root)


def _short_root() -> Path:
    parent = Path("/tmp")  # only here is a path as short as /home/user possible
    root = parent / secrets.token_hex(8)[: len(KEPT_HOME) - len(str(parent)) - 1]
    root.mkdir(mode=0o700)
    return root


def _slug(path: Path | str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "-", str(path))


def _moved(raw: bytes, root: str) -> bytes:
    raw = raw.replace(root.encode(), KEPT_HOME.encode())
    return raw.replace(_slug(root).encode(), _slug(KEPT_HOME).encode())


def _kept_codex(raw: bytes, root: str) -> bytes:
    """Replace long texts by others of the same length: records refer to byte offsets."""

    def filler(found: re.Match[bytes]) -> bytes:
        text = found[0]
        keep = len(text) < _LONG or any(kept.encode() in text for kept in _KEPT)
        return text if keep else b'"' + b"x" * (len(text) - 2) + b'"'

    return _STRING.sub(filler, _moved(raw, root))


def _kept_claude(raw: bytes, root: str) -> bytes:
    lines: list[bytes] = []
    for line in _moved(raw, root).split(b"\n"):
        if not line:
            lines.append(line)
            continue
        data = json.loads(line)
        vendor = _VENDOR_RECORDS.get(data.get("type"))
        if vendor is not None:
            data[vendor] = "(scrubbed)"
        kept = json.dumps(_scrubbed(data), ensure_ascii=False, separators=(",", ":"))
        lines.append(kept.encode())
    return b"\n".join(lines)


def _scrubbed(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        return {
            key: os.uname().sysname if key == "osVersion" else _scrubbed(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_scrubbed(inner) for inner in value]
    long = isinstance(value, str) and len(value) > _LONG
    return "(scrubbed)" if long and not any(kept in value for kept in _KEPT) else value


def main() -> int:
    """Make the recordings that are named, or all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", choices=[[], *RECORDINGS], help="default: all")
    default = Path(__file__).resolve().parents[1] / "tests" / "fixtures" / "recorded"
    parser.add_argument("--target", type=Path, default=default)
    options = parser.parse_args()
    for name in options.names or RECORDINGS:
        started = time.monotonic()
        record(name, options.target)
        print(f"{name}: {time.monotonic() - started:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
