"""Launch adapter for Claude Code.

Context goes in by a SessionStart hook of settings in the run's folder; it is recorded in the
transcript, so that its delivery can be proven. Of two `--settings` the last wins, so that beside
the person's own the hook comes from a private plugin, although claude then notes the plugin's use
in its configuration. Where hooks are off, the text is appended to the system prompt, which nothing
records. Observed with Claude Code 2.1.197 and 2.1.332.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from launcher.harnesses import (
    claude_args,
    claude_program,
    claude_settings,
    claude_store,
    programs,
)
from launcher.harnesses.argv import Item
from launcher.harnesses.base import (
    About,
    Adapter,
    Asking,
    Channel,
    Invocation,
    Launch,
    LaunchRequest,
    Preflight,
    Program,
    Question,
    Reply,
    Select,
    Spoken,
)
from launcher.harnesses.claude_args import Call
from launcher.harnesses.frame import Frame, no_channel, uuid4

if TYPE_CHECKING:
    from launcher.diagnosis.finding import Finding

HOOK_CAPACITY: Final = 9_900
"""Bytes; claude takes 10,000 UTF-16 units of a hook, and no text has more units than bytes."""
PROMPT_CAPACITY: Final = 60_000
PLUGIN: Final = "plugin"
SETTINGS: Final = "settings.json"
PROMPT_FILE: Final = "system-prompt.txt"
_START_TIMEOUT: Final = 10
_END_TIMEOUT: Final = 3
"""Seconds."""
_PROMPTS: Final = ("--append-system-prompt", "--append-system-prompt-file")
_SNAPSHOT: Final = "--system-prompt-snapshot"
_BYPASS: Final = "--dangerously-skip-permissions"


class Claude(Frame):
    """Launch side of Claude Code."""

    name = "claude"
    title = "Claude Code"
    program_names: tuple[str, ...] = ("claude",)
    verified: tuple[str, ...] = ("2.1.332", "2.1.197")
    install_hint = "npm install -g @anthropic-ai/claude-code"
    home_variables: tuple[str, ...] = ("CLAUDE_CONFIG_DIR",)
    context_capacity = HOOK_CAPACITY

    def __init__(self, managed: Path = claude_settings.MANAGED) -> None:
        self._managed = managed

    def classify(self, args: Sequence[str]) -> Invocation:
        """Understand claude's arguments."""
        return claude_args.classify(args)

    def inspect(self, path: Path, env: Mapping[str, str]) -> Program:
        """Resolve npm's wrapper and ask the native program what it is and can."""
        native = claude_program.native(path)
        questions = programs.Questions(native, env, "CLAUDE_CONFIG_DIR")
        version = programs.version_in(questions.ask("--version"))
        features = {"hooks"}
        if _SNAPSHOT in (questions.ask("--help") or ""):
            features.add("prompt_snapshot")
        problems = () if version else (f"{native} does not tell its version",)
        return Program(
            path=native,
            version=version,
            features=frozenset(features),
            problems=problems,
            complete=questions.all_answered,
        )

    def planned(self, request: LaunchRequest) -> _Plan:
        """Return the launch under construction."""
        return _Plan.of(request, self._managed)

    def preflight(
        self,
        home: Path,
        native_id: str,
        path: Path | None,
        cwd: Path,
        *,
        args: Sequence[str] = (),
    ) -> Preflight:
        """Check a session's file and claude's registry of live processes."""
        del cwd, args  # any directory will do: `plan` resumes by path where the id is not enough
        return claude_store.preflight(home, native_id, path)

    def capabilities(self, program: Program | None) -> Mapping[str, str]:
        """Say what works, for people."""
        del program  # the same for all versions seen
        return {
            "session id": "chosen by us before the start",
            "resume": "by id, or by the file's path from another directory",
            "context on create": "SessionStart hook of settings in the run's folder",
            "context on resume": "the same hook",
            "proof of delivery": "found again in the transcript",
            "one-shot": "-p",
            "interactive": "yes",
            "several sessions in one run": "followed",
        }

    def about(self) -> About:
        """Return what is settled about Claude Code."""
        from launcher.harnesses import claude_about  # only the documentation asks

        return claude_about.ABOUT

    def diagnose(self, home: Path, cwd: Path, env: Mapping[str, str]) -> Sequence[Finding]:
        """Tell how long claude keeps sessions."""
        from launcher.harnesses import claude_diagnosis  # only `doctor` asks

        return claude_diagnosis.diagnose(home, cwd, env, self._managed)

    def ask(self, question: Question) -> Asking:
        """Build the child that asks a session in a fork."""
        from launcher.harnesses import claude_ask  # only `handoff draft --with` asks

        return claude_ask.ask(question)

    def reply(self, question: Question, spoken: Spoken) -> Reply:
        """Read what it answered."""
        from launcher.harnesses import claude_ask  # only `handoff draft --with` asks

        del question  # everything is in what it printed
        return claude_ask.reply(spoken)


class _Plan(NamedTuple):
    """What `channel` and `plan` both derive from a request, so that they agree."""

    request: LaunchRequest
    call: Call
    hooks_off: str | None

    @classmethod
    def of(cls, request: LaunchRequest, managed: Path) -> _Plan:
        call = claude_args.take_apart((*request.entry_args, *request.invocation.args))
        off = claude_settings.hooks_off(call, request.env, request.home, request.cwd, managed)
        return cls(request=request, call=call, hooks_off=off)

    @property
    def channel(self) -> Channel:
        if not self.request.briefing:
            return no_channel("the briefing is switched off for this run")
        if self.hooks_off is None:
            return Channel(name="hook", capacity=HOOK_CAPACITY, proof=True)
        problem = self._prompt_problem()
        if problem is not None:
            return no_channel(f"{self.hooks_off}, and {problem}")
        return Channel(
            name="system_prompt", capacity=PROMPT_CAPACITY, proof=False, why=self.hooks_off
        )

    def launch(self, channel: Channel) -> Launch:
        request = self.request
        flag, files = self._hooks()
        args = list(self.call.args)
        selector, native_id = self._selector()
        ours = [*selector, flag, *self._yolo()]
        if channel.name == "system_prompt" and request.text is not None:
            files[PROMPT_FILE] = self._prompt().encode()
            flag = f"{_PROMPTS[1]}={request.run_dir / PROMPT_FILE}"
            args, placed = _put(args, self.call.options(*_PROMPTS), flag)
            ours += [] if placed else [flag]
            ours += self._no_snapshot()
        return Launch(
            argv=(str(request.program.path), *ours, *args),
            env_set=self._environment(),
            env_remove=_blank(request.env),
            files=files,
            native_id=native_id,
            channel=channel,
            notices=self._notices(channel),
        )

    def _hooks(self) -> tuple[str, dict[str, bytes]]:
        """Return the argument that brings our hooks, and the files it names."""
        document = {"hooks": _session_hooks(shlex.join(self.request.hook_command))}
        if not self.call.has("--settings"):
            path = self.request.run_dir / SETTINGS
            return f"--settings={path}", {SETTINGS: json.dumps(document).encode()}
        manifest = {"name": "workstream", "version": "1.0.0", "description": "Context of this run"}
        return f"--plugin-dir={self.request.run_dir / PLUGIN}", {
            f"{PLUGIN}/.claude-plugin/plugin.json": json.dumps(manifest).encode(),
            f"{PLUGIN}/hooks/hooks.json": json.dumps(document).encode(),
        }

    def _selector(self) -> tuple[list[str], str | None]:
        """Return the arguments that choose the session, and its id; the user's choice stays."""
        request, invocation = self.request, self.request.invocation
        if invocation.select is Select.NONE:
            if request.resume is not None:
                return [f"--resume={self._resumable(request.resume)}"], request.resume
            fresh = uuid4()
            return [f"--session-id={fresh}"], fresh
        if invocation.select is Select.FORK:
            chosen = invocation.facts.get("fork")
            fresh = chosen or uuid4()
            return [] if chosen else [f"--session-id={fresh}"], fresh
        if invocation.select in (Select.CREATE, Select.RESUME):
            return [], invocation.native_id
        return [], None

    def _resumable(self, native_id: str) -> str:
        """Return the id where claude finds it, else the file's path."""
        request = self.request
        if not self.call.has("--worktree") and claude_store.resumable_by_id(
            request.home, native_id, request.cwd
        ):
            return native_id
        path = claude_store.locate(request.home, native_id, request.resume_path)
        return native_id if path is None else str(path.absolute())

    def _yolo(self) -> list[str]:
        if not self.request.yolo or self.call.has(_BYPASS, "--permission-mode"):
            return []
        return [_BYPASS]

    def _prompt_problem(self) -> str | None:
        """Return why our text cannot be put beside the user's own addition to the prompt."""
        if len({item.name for item in self.call.options(*_PROMPTS)}) > 1:
            return f"claude refuses {_PROMPTS[0]} together with {_PROMPTS[1]}"
        path = self._own_file()
        if path is not None and not os.access(path, os.R_OK):
            return f"{path} cannot be read"
        return None

    def _own_file(self) -> Path | None:
        given = self.call.last(_PROMPTS[1])
        return None if given is None else self.request.cwd / given

    def _prompt(self) -> str:
        """Return the user's own addition to the system prompt, and ours after it."""
        path = self._own_file()
        own = self.call.last(_PROMPTS[0])
        if path is not None:
            own = path.read_text(encoding="utf-8", errors="replace")
        return "\n\n".join([*([own] if own else []), self.request.text or ""])

    def _no_snapshot(self) -> list[str]:
        """Have the prompt rendered anew, or a resumed session gets the one of its first turn."""
        if "prompt_snapshot" in self.request.program.features and not self.call.has(_SNAPSHOT):
            return [f"{_SNAPSHOT}=off"]
        return []

    def _environment(self) -> dict[str, str]:
        added = {"CLAUDE_CODE_DISABLE_AGENT_VIEW": "1"}
        if resolve_home(self.request.env) != self.request.home:
            added["CLAUDE_CONFIG_DIR"] = str(self.request.home)
        return added

    def _notices(self, channel: Channel) -> tuple[str, ...]:
        notices = []
        if channel.why is not None and self.request.briefing:
            notices.append(f"no hook: {channel.why}")
        if self.request.env.get("CLAUDE_CODE_SKIP_PROMPT_HISTORY", "").strip():
            notices.append("CLAUDE_CODE_SKIP_PROMPT_HISTORY is set: claude may keep no session")
        if self.request.yolo and self.call.has("--permission-mode"):
            notices.append("yolo is left out: --permission-mode is given")
        return tuple(notices)


def resolve_home(env: Mapping[str, str]) -> Path:
    """Return the store home of an environment; a blank variable counts as unset."""
    named = env.get("CLAUDE_CONFIG_DIR", "").strip()
    return Path(named) if named else Path(env.get("HOME", "/")) / ".claude"


def _session_hooks(command: str) -> Mapping[str, object]:
    """Return the hooks of a run in the form that settings and plugins share."""
    return {
        event: [{"hooks": [{"type": "command", "command": command, "timeout": timeout}]}]
        for event, timeout in (("SessionStart", _START_TIMEOUT), ("SessionEnd", _END_TIMEOUT))
    }


def _put(args: list[str], own: list[Item], flag: str) -> tuple[list[str], bool]:
    """Replace the last of the user's options by ours and take earlier ones, which lose, out."""
    for index, item in enumerate(reversed(own)):
        args[item.start : item.stop] = [flag] if index == 0 else []
    return args, bool(own)


def _blank(env: Mapping[str, str]) -> tuple[str, ...]:
    name = "CLAUDE_CONFIG_DIR"
    return (name,) if name in env and not env[name].strip() else ()


ADAPTER: Final[Adapter] = Claude()
