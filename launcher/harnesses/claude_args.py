"""Claude Code's command line: subcommands, options, and how a session is chosen in it.

The table is the union of the options that 2.1.197 and 2.1.332 define, hidden ones included.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Final, NamedTuple

from launcher.harnesses.argv import Item, Kind, scan, syntax
from launcher.harnesses.base import Form, Invocation, Select

_TABLE: Final = syntax(
    """
--add-dir MANY
--advisor ONE
--agent ONE
--agent-color ONE
--agent-id ONE
--agent-name ONE
--agent-type ONE
--agents ONE
--allow-dangerously-skip-permissions NOTHING
--allowedTools --allowed-tools MANY
--append-subagent-system-prompt ONE
--append-subagent-system-prompt-file ONE
--append-system-prompt ONE
--append-system-prompt-file ONE
--attach-serve ONE
--autocompact ONE
--ax-screen-reader NOTHING
--bare NOTHING
--betas MANY
--bg --background NOTHING
--brief NOTHING
--channels MANY
--chrome NOTHING
--client-data-url ONE
--cloud MAYBE
-c --continue NOTHING
--correlation-id ONE
--dangerously-load-development-channels MANY
--dangerously-skip-permissions NOTHING
-d --debug MAYBE
-d2e --debug-to-stderr NOTHING
--debug-file ONE
--deep-link-cwd-b64 ONE
--deep-link-last-fetch ONE
--deep-link-origin NOTHING
--deep-link-repo ONE
--desktop NOTHING
--disable-slash-commands NOTHING
--disallowedTools --disallowed-tools MANY
--effort ONE
--environment ONE
--exclude-dynamic-system-prompt-sections NOTHING
--fallback-model ONE
--fast-mode ONE
--file MANY
--fork-session NOTHING
--forward-home-settings ONE
--forward-subagent-text NOTHING
--from-link NOTHING
--from-pr MAYBE
-h --help NOTHING
--ide NOTHING
--include-hook-events NOTHING
--include-partial-messages NOTHING
--inherit-permission-mode ONE
--init NOTHING
--init-only NOTHING
--initialize-fields ONE
--input-format ONE
--json-schema ONE
--lead-verify-key ONE
--maintenance NOTHING
--managed-settings ONE
--max-budget-usd ONE
--max-thinking-tokens ONE
--max-turns ONE
--mcp-config MANY
--messaging-socket-path ONE
--model ONE
-n --name ONE
--no-chrome NOTHING
--no-session-persistence NOTHING
--output-format ONE
--parent-session-id ONE
--permission-mode ONE
--permission-prompt-tool ONE
--permission-prompts ONE
--plan-mode-instructions ONE
--plan-mode-required NOTHING
--plugin-dir ONE
--plugin-dir-no-mcp ONE
--plugin-url ONE
--prefill ONE
--prefill-b64 ONE
-p --print NOTHING
--proactivity ONE
--prompt-suggestions MAYBE
--rc MAYBE
--remote MAYBE
--remote-control MAYBE
--remote-control-session-name-prefix ONE
--replay-user-messages NOTHING
--restricted NOTHING
-r --resume MAYBE
--resume-drops-turn ONE
--resume-session-at ONE
--rewind-files ONE
--safe-mode NOTHING
--sdk-url ONE
--session-began-as-copy ONE
--session-id ONE
--session-mirror NOTHING
--setting-sources ONE
--settings ONE
--strict-mcp-config NOTHING
--system-prompt ONE
--system-prompt-file ONE
--system-prompt-snapshot ONE
--task-budget ONE
--team-name ONE
--teammate-mode ONE
--teleport MAYBE
--thinking ONE
--thinking-display ONE
--tmux NOTHING
--tools MANY
--verbose NOTHING
-v --version NOTHING
-w --worktree MAYBE
--watch-artifact ONE
--watch-artifact-no-autoreact ONE
--workload ONE
""",
    short_equals=False,
)
_COMMAND_WORDS: Final = (
    "agents attach auth auto-mode config daemon doctor gateway import install kill logs mcp"
    " plugin plugins project purge rc remote-control respawn rm setup-token stop ultrareview"
    " update upgrade"
)
_COMMANDS: Final = frozenset(_COMMAND_WORDS.split())
_ALONE: Final = frozenset({"-V", "--update", "--upgrade"})
"""Understood by the program when they are the only argument."""
_ELSEWHERE: Final = frozenset(
    {"--background", "--cloud", "--remote", "--environment", "--desktop", "--attach-serve"}
)
"""Options whose conversation does not run in this terminal's process."""
_PICKS: Final = frozenset({"--continue", "--from-pr", "--teleport"})
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)


class Call(NamedTuple):
    """A claude argument list, taken apart."""

    args: tuple[str, ...]
    items: tuple[Item, ...]

    def options(self, *names: str) -> list[Item]:
        """Return the occurrences of some options, in order."""
        return [i for i in self.items if i.kind is Kind.OPTION and i.name in names]

    def has(self, *names: str) -> bool:
        """Whether one of these options is given."""
        return bool(self.options(*names))

    def last(self, name: str) -> str | None:
        """Return the value of the last occurrence of an option."""
        found = self.options(name)
        return found[-1].value if found else None

    @property
    def command(self) -> str | None:
        """The subcommand: the first word, when it is one and no `--` stands before it."""
        for item in self.items:
            if item.kind is Kind.END:
                return None
            if item.kind is Kind.WORD:
                return item.name if item.name in _COMMANDS else None
        return None

    @property
    def utility(self) -> bool:
        """Whether no conversation of this process comes of it."""
        if self.command is not None or self.has("--help", "--version", *_ELSEWHERE):
            return True
        return len(self.args) == 1 and self.args[0] in _ALONE


def take_apart(args: Sequence[str]) -> Call:
    """Read an argument list; never raises."""
    return Call(args=tuple(args), items=tuple(scan(args, _TABLE)))


def classify(args: Sequence[str]) -> Invocation:
    """Say what an argument list asks for."""
    call = take_apart(args)
    if call.utility:
        return Invocation(form=Form.UTILITY, args=call.args)
    form = Form.ONE_SHOT if call.has("--print") else Form.INTERACTIVE
    select, native_id, facts = _selection(call)
    return Invocation(form=form, args=call.args, select=select, native_id=native_id, facts=facts)


def _selection(call: Call) -> tuple[Select, str | None, dict[str, str]]:
    if call.has("--no-session-persistence"):
        return Select.DETACHED, None, {"why": "--no-session-persistence keeps no session"}
    if call.has("--resume") and not call.has(*_PICKS):
        return _resumed(call)
    if call.has(*_PICKS):
        return Select.PICK, None, {"why": "the session is chosen by claude"}
    chosen = call.last("--session-id")
    return (Select.NONE, None, {}) if chosen is None else (Select.CREATE, chosen, {})


def _resumed(call: Call) -> tuple[Select, str | None, dict[str, str]]:
    value = call.last("--resume") or ""
    path = PurePath(value) if value.endswith(".jsonl") else None
    named = path.stem if path is not None else value
    if _UUID.fullmatch(named) is None:
        return Select.PICK, None, {"why": "the session is chosen by claude"}
    facts = {} if path is None else {"path": value}
    if not call.has("--fork-session"):
        return Select.RESUME, named, facts
    fork = call.last("--session-id")
    return Select.FORK, named, facts if fork is None else {**facts, "fork": fork}
