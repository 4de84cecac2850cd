"""Launch adapter for the Codex CLI.

Context goes in by a SessionStart hook given as session flags: it reaches the model on create,
resume and fork and is found again in the rollout. Where hooks are off or do not exist, what the
installed version really delivers is used instead (`channel`). Observed with codex 0.98.0, 0.130.0
and 0.171.0.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from launcher.harnesses import (
    codex_args,
    codex_config,
    codex_hooks,
    codex_program,
    codex_store,
    programs,
)
from launcher.harnesses.argv import Kind
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
from launcher.harnesses.codex_args import Call
from launcher.harnesses.frame import Frame, no_channel

if TYPE_CHECKING:
    from launcher.diagnosis.finding import Finding

HOOK_CAPACITY: Final = 60_000
"""Bytes; well below `additionalContextLimit`, compared whole up to 60,508."""
PLAIN_HOOK_CAPACITY: Final = 9_000
"""Bytes where there is no such limit to set: codex cuts at 2,500 tokens of four bytes."""
CONTEXT_LIMIT_SINCE: Final = (0, 171, 0)
"""Seen to work with 0.171.0; with 0.130.0 the field makes the hash wrong and the hook untrusted."""
INSTRUCTIONS_CAPACITY: Final = 60_000
"""Bytes; an argument may not exceed 128 KiB."""
MCP_CAPACITY: Final = 9_000
_INSTRUCTIONS: Final = ("developer_instructions",)
_FEATURE_LINE: Final = re.compile(r"^hooks\s+.*\s(true|false)\s*$", re.M)
_NUMBERS: Final = re.compile(r"\d+")
_CAUTIOUS: Final = ("--ask-for-approval", "--sandbox", "--full-auto", "--approve-for-me")
_BYPASS: Final = "--dangerously-bypass-approvals-and-sandbox"


class Codex(Frame):
    """Launch side of the Codex CLI."""

    name = "codex"
    title = "Codex"
    program_names: tuple[str, ...] = ("codex",)
    verified: tuple[str, ...] = ("0.171.0", "0.130.0", "0.98.0")
    install_hint = "npm install -g @openai/codex"
    home_variables: tuple[str, ...] = ("CODEX_HOME",)
    context_capacity = HOOK_CAPACITY

    def __init__(self, system: Path = codex_config.SYSTEM) -> None:
        self._system = system

    def classify(self, args: Sequence[str]) -> Invocation:
        """Understand codex's arguments."""
        return codex_args.classify(args)

    def inspect(self, path: Path, env: Mapping[str, str]) -> Program:
        """Resolve npm's script and ask the native program what it is and can."""
        native = codex_program.native(path)
        questions = programs.Questions(native, env, "CODEX_HOME")
        version = programs.version_in(questions.ask("--version"))
        features = set()
        if "--no-daemon" in (questions.ask("--help") or ""):
            features.add("no_daemon")
        hooks = _FEATURE_LINE.search(questions.ask("features", "list") or "")
        if hooks is not None:
            features.add("hooks" if hooks.group(1) == "true" else "hooks_off_by_default")
        if tuple(map(int, _NUMBERS.findall(version or "")[:3])) >= CONTEXT_LIMIT_SINCE:
            features.add("context_limit")
        problems = [] if version else [f"{native} does not tell its version"]
        if version and hooks is None:
            why = "has no hooks" if questions.all_answered else "did not answer in time"
            problems.append(f"codex {version} {why}: context goes in as instructions")
        return Program(
            path=native,
            version=version,
            features=frozenset(features),
            problems=tuple(problems),
            complete=questions.all_answered,
        )

    def planned(self, request: LaunchRequest) -> _Plan:
        """Return the launch under construction."""
        return _Plan.of(request, self._system)

    def preflight(
        self,
        home: Path,
        native_id: str,
        path: Path | None,
        cwd: Path,
        *,
        args: Sequence[str] = (),
    ) -> Preflight:
        """Check a session's file, archive, writer lock, provider and parent."""
        call = codex_args.take_apart(args)
        return codex_store.preflight(home, native_id, path, cwd, call, self._system)

    def capabilities(self, program: Program | None) -> Mapping[str, str]:
        """Say what works, for people."""
        hooks = program is None or "hooks" in program.features
        fallback = "developer instructions: this version has no hooks"
        return {
            "session id": "given by codex, known from its hook after the start",
            "resume": "by id, interactive and exec",
            "context on create": "SessionStart hook in session flags" if hooks else fallback,
            "context on resume": "the same hook" if hooks else fallback,
            "proof of delivery": "found again in the rollout" if hooks else "none without hooks",
            "one-shot": "exec, review",
            "interactive": "yes",
            "several sessions in one run": "followed" if hooks else "not followed without hooks",
        }

    def about(self) -> About:
        """Return what is settled about Codex."""
        from launcher.harnesses import codex_about  # only the documentation asks

        return codex_about.ABOUT

    def diagnose(self, home: Path, cwd: Path, env: Mapping[str, str]) -> Sequence[Finding]:
        """Tell whether codex's background server runs."""
        from launcher.harnesses import codex_diagnosis  # only `doctor` asks

        del cwd, env
        return codex_diagnosis.diagnose(home)

    def ask(self, question: Question) -> Asking:
        """Build the child that asks a session in a fork."""
        from launcher.harnesses import codex_ask  # only `handoff draft --with` asks

        return codex_ask.ask(question, self._system)

    def reply(self, question: Question, spoken: Spoken) -> Reply:
        """Read what it answered."""
        from launcher.harnesses import codex_ask  # only `handoff draft --with` asks

        return codex_ask.reply(question, spoken)


class _Plan(NamedTuple):
    """What `channel` and `plan` both derive from a request, so that they agree."""

    request: LaunchRequest
    call: Call
    config: codex_config.Config
    resuming: bool
    hooking: codex_hooks.Hooking | None
    """None: this version has no hooks, or the session runs elsewhere."""

    @classmethod
    def of(cls, request: LaunchRequest, system: Path) -> _Plan:
        call = codex_args.take_apart((*request.entry_args, *request.invocation.args))
        hooking = None
        if "hooks" in request.program.features and not call.has("--remote"):
            command = shlex.join(request.hook_command)
            limited = "context_limit" in request.program.features
            hooking = codex_hooks.hook(call, command, limit=limited)
        return cls(
            request=request,
            call=call,
            config=codex_config.read(request.home, request.cwd, call, system),
            resuming=request.resume is not None and call.command in ((), ("exec",)),
            hooking=hooking,
        )

    @property
    def channel(self) -> Channel:
        if not self.request.briefing:
            return no_channel("the briefing is switched off for this run")
        if self.call.has("--remote"):
            return no_channel("the session runs on another server (--remote)")
        if self.call.command[-1:] == ("review",):
            return no_channel("codex runs no session hook for a review")
        why = self.no_hook()
        if why is None:
            limited = "context_limit" in self.request.program.features
            capacity = HOOK_CAPACITY if limited else PLAIN_HOOK_CAPACITY
            return Channel(name="hook", capacity=capacity, proof=True)
        return self._fallback(why)

    def no_hook(self) -> str | None:
        """Return why our hook would not run."""
        if self.hooking is None:
            version = self.request.program.version or "this codex"
            return f"codex {version} has no session hooks"
        return self.config.hooks_off() or self.hooking.problem

    def _fallback(self, why: str) -> Channel:
        creating = not self.resuming and self.request.invocation.select in (
            Select.NONE,
            Select.CREATE,
            Select.DETACHED,
        )
        always = "hooks" not in self.request.program.features
        if creating or always:
            return Channel(
                name="instructions", capacity=INSTRUCTIONS_CAPACITY, proof=False, why=why
            )
        return Channel(name="mcp", capacity=MCP_CAPACITY, proof=False, why=why)

    def launch(self, channel: Channel) -> Launch:
        request = self.request
        files: dict[str, bytes] = {}
        call, ours = self.call, [*self._daemon(), *self._yolo(), *self._where()]
        if self.hooking is not None:
            call = codex_args.take_apart(self.hooking.args)
            ours += self.hooking.flags
        if channel.name == "instructions" and request.text is not None:
            ours += ["-c", f"developer_instructions={codex_hooks.toml(self._instructions())}"]
            call = _without(call, _INSTRUCTIONS)
        if channel.name == "mcp" and request.text is not None:
            files["context.txt"] = request.text.encode()
            ours += self._server()
        return Launch(
            argv=(str(request.program.path), *self._arguments(call, ours)),
            env_set=self._environment(),
            env_remove=_blank(request.env),
            files=files,
            native_id=request.resume if self.resuming else _selected(request.invocation),
            channel=channel,
            notices=self._notices(channel),
        )

    def _arguments(self, call: Call, ours: list[str]) -> list[str]:
        """Put our arguments behind the last subcommand; the user's own keep their order."""
        if not self.resuming:
            at = 0 if call.command == ("review",) or not call.command else call.command_at[-1] + 1
            return [*call.args[:at], *ours, *call.args[at:]]
        session = str(self.request.resume)
        if not call.command:
            return ["resume", session, *ours, *call.args]
        at = call.command_at[-1] + 1
        before, after = _split_at_end(call)
        tail = ["resume", session, *after]
        return [*call.args[:at], *ours, *before[at:], *tail]

    def _daemon(self) -> list[str]:
        if "no_daemon" not in self.request.program.features or self.call.one_shot:
            return []
        return [] if self.call.has("--no-daemon") or self.call.has("--remote") else ["--no-daemon"]

    def _yolo(self) -> list[str]:
        if not self.request.yolo or self._bypassed() or self._cautious() is not None:
            return []
        return [_BYPASS]

    def _bypassed(self) -> bool:
        return self.call.has(_BYPASS) or self.call.has("--yolo")

    def _cautious(self) -> str | None:
        return next((name for name in _CAUTIOUS if self.call.has(name)), None)

    def _where(self) -> list[str]:
        """Name the directory, or the terminal interface asks which one is meant."""
        if not self.resuming or self.call.one_shot or self.call.has("--cd"):
            return []
        return ["-C", str(self.request.cwd)]

    def _instructions(self) -> str:
        """Return the user's own instructions, which ours would replace, and the briefing."""
        theirs = self.config.get(*_INSTRUCTIONS)
        parts = [theirs[0]] if theirs is not None and isinstance(theirs[0], str) else []
        return "\n\n".join([*parts, self.request.text or ""])

    def _server(self) -> list[str]:
        command, *rest = self.request.hook_command
        served = [*rest, "--mcp", str(self.request.run_dir / "context.txt")]
        table = codex_hooks.toml({"command": command, "args": served})
        return ["-c", f"mcp_servers.workstream_context={table}"]

    def _environment(self) -> dict[str, str]:
        request = self.request
        added = codex_program.shim_env(request.program.path, request.env)
        if resolve_home(request.env) != request.home:
            added["CODEX_HOME"] = str(request.home)
        return added

    def _notices(self, channel: Channel) -> tuple[str, ...]:
        notices = list(self.config.problems)
        if channel.why is not None and self.request.briefing:
            notices.append(f"no hook: {channel.why}")
        cautious = self._cautious()
        if self.request.yolo and cautious is not None and not self._bypassed():
            notices.append(f"yolo is left out: {cautious} is given")
        return tuple(notices)


def resolve_home(env: Mapping[str, str]) -> Path:
    """Return the store home of an environment; a blank variable counts as unset."""
    named = env.get("CODEX_HOME", "").strip()
    return Path(named) if named else Path(env.get("HOME", "/")) / ".codex"


def _blank(env: Mapping[str, str]) -> tuple[str, ...]:
    return ("CODEX_HOME",) if "CODEX_HOME" in env and not env["CODEX_HOME"].strip() else ()


def _selected(invocation: Invocation) -> str | None:
    return invocation.native_id if invocation.select is Select.RESUME else None


def _without(call: Call, path: tuple[str, ...]) -> Call:
    """Take the user's own `-c` of a setting out; its value is part of ours."""
    args = list(call.args)
    for given in reversed(codex_config.overrides(call)):
        if given.path == path:
            del args[given.item.start : given.item.stop]
    return codex_args.take_apart(args)


def _split_at_end(call: Call) -> tuple[list[str], list[str]]:
    """Return the arguments before `--` and from it on, so that `resume ID` fits between.

    An option that takes any number of values would take `resume` as one more: its values are
    given one by one instead.
    """
    end = next((item.start for item in call.items if item.kind is Kind.END), len(call.args))
    before, after = list(call.args[:end]), list(call.args[end:])
    last = next((item for item in reversed(call.items) if item.stop <= end), None)
    open_ended = last is not None and last.name == "--image" and last.prefix is None
    if last is not None and open_ended and last.stop == end:
        before[last.start :] = [f"--image={value}" for value in last.values]
    return before, after


ADAPTER: Final[Adapter] = Codex()
