"""Claude Code as a stand-in: arguments, hooks, transcript, registry of the living.

Records in the shape of Claude Code 2.1.332, as recorded in tests/fixtures/recorded.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.fakes.scripting import Step, Verb
from tests.fakes.standins.program import Json, RefusedError, Session, append, now, uuid4

_VALUED = {
    "--append-system-prompt",
    "--append-system-prompt-file",
    "--effort",
    "--model",
    "--output-format",
    "--permission-mode",
    "--plugin-dir",
    "--session-id",
    "--setting-sources",
    "--settings",
    "--system-prompt-snapshot",
}
_PLAIN = {
    "-p",
    "--print",
    "-c",
    "--continue",
    "--bare",
    "--dangerously-skip-permissions",
    "--fork-session",
    "--no-session-persistence",
    "--verbose",
}
_UTILITIES = {"doctor", "mcp", "config", "update", "plugin", "auth"}


class Claude:
    """One call of `claude`."""

    name = "claude"
    version = "2.1.332 (Claude Code)"
    help = "Usage: claude [options] [command] [prompt]\n  --system-prompt-snapshot <mode>"

    def __init__(self, args: list[str]) -> None:
        self.args = args
        self.received: list[str] = []
        self._options: dict[str, list[str]] = {}
        self._words: list[str] = []
        self.hooks: Mapping[str, Sequence[str]] = {}
        if not self.utility() and args[-1:] not in (["--version"], ["--help"], ["-v"], ["-h"]):
            self._take_apart()
            self.hooks = self._session_hooks()
        self.one_shot = "-p" in self._options or "--print" in self._options
        self.prompt = self._words[0] if self._words else None
        named = os.environ.get("CLAUDE_CONFIG_DIR")
        self.home = Path(named or f"{os.environ['HOME']}/.claude")

    def utility(self) -> bool:
        return self.args[:1] != [] and self.args[0] in _UTILITIES

    @property
    def source(self) -> str:
        return "resume" if "--resume" in self._options else "startup"

    def open(self) -> Session:
        for option in ("--append-system-prompt-file",):
            self.received += [Path(path).read_text() for path in self._options.get(option, ())]
        self.received += self._options.get("--append-system-prompt", [])
        wanted = self._options.get("--resume")
        if wanted:
            return self._resumed(wanted[-1])
        given = self._options.get("--session-id")
        session = given[-1] if given else uuid4()
        if given and self._find(session) is not None:
            raise RefusedError(f"Error: Session ID {session} is already in use.")
        return Transcript(self, session, self._bucket() / f"{session}.jsonl")

    def fresh(self, source: str) -> Session:
        del source
        session = uuid4()
        return Transcript(self, session, self._bucket() / f"{session}.jsonl")

    def payload(self, session: Session) -> Json:
        assert isinstance(session, Transcript)
        return {
            "session_id": session.id,
            "transcript_path": str(session.path),
            "cwd": str(Path.cwd()),
            "model": "claude-opus-5-5",
        }

    def _resumed(self, wanted: str) -> Session:
        session = Path(wanted).stem if wanted.endswith(".jsonl") else wanted
        path = Path(wanted) if wanted.endswith(".jsonl") else self._find(session)
        if path is None or not path.is_file():
            raise RefusedError(f"No conversation found with session ID: {session}")
        if "--fork-session" in self._options:
            raise RefusedError("a stand-in makes no forks")
        self.received += path.read_text("utf-8", "replace").split("\n")
        return Transcript(self, session, path)

    def _find(self, session: str) -> Path | None:
        return next((self.home / "projects").glob(f"*/{session}.jsonl"), None)

    def _bucket(self) -> Path:
        return self.home / "projects" / re.sub("[^A-Za-z0-9]", "-", os.path.realpath("."))

    def _take_apart(self) -> None:
        rest = list(self.args)
        while rest:
            word = rest.pop(0)
            name, equals, value = word.partition("=")
            if word == "--":
                self._words += rest
                return
            if name in ("-r", "--resume"):
                given = value if equals else rest.pop(0) if rest else ""
                self._options.setdefault("--resume", []).append(given)
            elif name in _VALUED:
                self._options.setdefault(name, []).append(value if equals else rest.pop(0))
            elif word in _PLAIN:
                self._options.setdefault(word, []).append("")
            elif word.startswith("-"):
                raise SystemExit(f"error: unknown option '{word}'")
            else:
                self._words.append(word)

    def _session_hooks(self) -> Mapping[str, Sequence[str]]:
        if "--bare" in self._options:
            return {}
        found: dict[str, list[str]] = {}
        for document in self._hook_documents():
            for event, groups in document.get("hooks", {}).items():
                for group in groups:
                    found.setdefault(event, []).extend(h["command"] for h in group["hooks"])
        return found

    def _hook_documents(self) -> Iterator[Json]:
        for given in self._options.get("--settings", ())[-1:]:
            inline = given.lstrip().startswith("{")
            yield json.loads(given if inline else Path(given).read_bytes())
        for folder in self._options.get("--plugin-dir", ()):
            json.loads((Path(folder) / ".claude-plugin" / "plugin.json").read_bytes())
            yield json.loads((Path(folder) / "hooks" / "hooks.json").read_bytes())


class Transcript:
    """A session file; nothing is written before the first message."""

    def __init__(self, harness: Claude, session: str, path: Path) -> None:
        self.id, self.path = session, path
        self._harness = harness
        self._parent = _leaf(path)
        self._pending: list[Json] = []
        self._turn = ""
        self._entry = harness.home / "sessions" / f"{os.getpid()}.json"
        self._register()

    def context(self, text: str, source: str, command: str, out: str) -> None:
        ran = {
            "type": "hook_success",
            "hookName": f"SessionStart:{source}",
            "toolUseID": uuid4(),
            "hookEvent": "SessionStart",
            "content": "",
            "stdout": out,
            "stderr": "",
            "exitCode": 0,
            "command": command,
        }
        given = {
            "type": "hook_additional_context",
            "content": [text],
            "hookName": "SessionStart",
            "toolUseID": "SessionStart",
            "hookEvent": "SessionStart",
        }
        self._pending += [ran, given]

    def user(self, text: str) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        for attachment in self._pending:
            self._write("attachment", attachment=attachment)
        self._pending = []
        self._turn = uuid4()
        self._write(
            "user",
            promptId=self._turn,
            message={"role": "user", "content": text},
            promptSource="sdk" if self._harness.one_shot else "typed",
            turnOrigin="sdk" if self._harness.one_shot else "human",
        )
        self._write("attachment", attachment={"type": "environment", "snapshot": {}})

    def say(self, text: str, *, last: bool) -> None:
        self._assistant({"type": "text", "text": text}, "end_turn" if last else None)
        if last:
            append(
                self.path,
                {"type": "last-prompt", "leafUuid": self._parent, "sessionId": self.id},
            )

    def call(self, call: str, step: Step) -> None:
        name, given = _tool(step)
        self._assistant({"type": "tool_use", "id": call, "name": name, "input": given}, "tool_use")

    def result(self, call: str, step: Step, output: str, code: int) -> None:
        del step
        failed = code != 0
        text = f"Exit code {code}\n{output}" if failed else output
        block = {"tool_use_id": call, "type": "tool_result", "content": text, "is_error": failed}
        told: object = f"Error: {text}" if failed else {"stdout": output, "stderr": ""}
        message = {"role": "user", "content": [block]}
        self._write("user", promptId=self._turn, message=message, toolUseResult=told)

    def close(self) -> None:
        self._entry.unlink(missing_ok=True)

    def _assistant(self, block: Json, stop: str | None) -> None:
        message = {
            "id": f"msg_{uuid4()[:8]}",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-5-5",
            "content": [block],
            "stop_reason": stop,
            "usage": {"input_tokens": 120, "output_tokens": 12},
        }
        self._write("assistant", message=message, requestId=f"req_{uuid4()[:8]}")

    def _write(self, kind: str, **fields: object) -> None:
        uuid = uuid4()
        record = {
            "parentUuid": self._parent,
            "isSidechain": False,
            "type": kind,
            **fields,
            "uuid": uuid,
            "timestamp": now(),
            "userType": "external",
            "entrypoint": "sdk-cli" if self._harness.one_shot else "cli",
            "cwd": str(Path.cwd()),
            "sessionId": self.id,
            "version": "2.1.332",
            "gitBranch": "main",
        }
        append(self.path, record)
        self._parent = uuid

    def _register(self) -> None:
        self._entry.parent.mkdir(parents=True, exist_ok=True)
        started = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
        entry = {
            "pid": os.getpid(),
            "sessionId": self.id,
            "cwd": str(Path.cwd()),
            "procStart": started,
            "kind": "interactive",
            "status": "idle",
        }
        self._entry.write_text(json.dumps(entry), encoding="utf-8")


def _leaf(path: Path) -> str | None:
    """Return the record that a resumed session goes on from."""
    if not path.exists():
        return None
    for line in reversed(path.read_bytes().splitlines()):
        try:
            uuid = json.loads(line).get("uuid")
        except ValueError:
            continue
        if isinstance(uuid, str):
            return uuid
    return None


def _tool(step: Step) -> tuple[str, Json]:
    if step.verb is Verb.WRITE:
        return "Write", {"file_path": str(Path.cwd() / step.text), "content": step.field(1)}
    if step.verb is Verb.READ:
        return "Read", {"file_path": str(Path.cwd() / step.text)}
    return "Bash", {"command": step.text, "description": "Scripted command"}
