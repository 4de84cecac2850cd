"""Codex's command line: subcommands, options, and how a session is chosen in it.

The tables are the union of `--help` of codex 0.98.0, 0.130.0 and 0.171.0, with the hidden
aliases that 0.171.0 accepts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from launcher.harnesses.argv import Item, Kind, Syntax, scan, syntax
from launcher.harnesses.base import Form, Invocation, Select

_COMMON: Final = """
-c --config ONE
--enable ONE
--disable ONE
--remote ONE
--remote-auth-token-env ONE
--strict-config NOTHING
-m --model ONE
--dangerously-bypass-approvals-and-sandbox NOTHING
--yolo NOTHING
--dangerously-bypass-hook-trust NOTHING
--full-auto NOTHING
--approve-for-me NOTHING
--worktree NOTHING
--trust NOTHING
-h --help NOTHING
-V --version NOTHING
"""
_SHARED: Final = """
-i --image MANY
--oss NOTHING
--local-provider ONE
-p --profile ONE
-s --sandbox ONE
-C --cd ONE
--add-dir ONE
"""
_TUI: Final = """
-a --ask-for-approval ONE
--search NOTHING
--no-alt-screen NOTHING
--no-daemon NOTHING
"""
_PICK: Final = """
--last NOTHING
--all NOTHING
--include-non-interactive NOTHING
"""
_EXEC: Final = """
--thread-source ONE
--cyber-access-program ONE
--skip-git-repo-check NOTHING
--ephemeral NOTHING
--ignore-user-config NOTHING
--ignore-rules NOTHING
--output-schema ONE
--color ONE
--json NOTHING
--experimental-json NOTHING
-o --output-last-message ONE
"""
_REVIEW: Final = """
--uncommitted NOTHING
--base ONE
--commit ONE
--title ONE
"""
_ONE_IMAGE: Final = "-i --image ONE\n"


def _table(*parts: str) -> Syntax:
    return syntax("".join(parts), short_equals=True)


_ROOT_TABLE: Final = _table(_COMMON, _SHARED, _TUI)
_EXEC_TABLE: Final = _table(_COMMON, _SHARED, _EXEC)
_TABLES: Final = {
    ("exec",): _EXEC_TABLE,
    ("exec", "resume"): _table(_COMMON, _SHARED, _EXEC, _PICK, _ONE_IMAGE),
    ("exec", "fork"): _table(_COMMON, _SHARED, _EXEC, _PICK, _ONE_IMAGE),
    ("exec", "review"): _table(_COMMON, _SHARED, _EXEC, _REVIEW),
    ("resume",): _table(_COMMON, _SHARED, _TUI, _PICK),
    ("fork",): _table(_COMMON, _SHARED, _TUI, _PICK),
    ("review",): _table(_COMMON, _SHARED, _EXEC, _REVIEW),
}
_ALIASES: Final = {"e": "exec"}
_UTILITY_WORDS: Final = (
    "agents login logout mcp mcp-server plugin app-server remote-control completion update doctor"
    " sandbox debug apply a queue archive delete migrate-rollouts migrate-nfs-db unarchive cloud"
    " cloud-tasks exec-server features help execpolicy responses-api-proxy stdio-to-uds"
    " app"
)
PROMPT: Final = "prompt"
"""Fact: `stdin` when the prompt is read from there, and so can be read only once."""
_UTILITIES: Final = frozenset(_UTILITY_WORDS.split())
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(-?)[0-9a-fA-F]{4}(\1[0-9a-fA-F]{4}){2}\1[0-9a-fA-F]{12}")


class Call(NamedTuple):
    """A codex argument list, taken apart."""

    args: tuple[str, ...]
    command: tuple[str, ...]
    """(), ("exec",), ("exec", "resume"), ("login",), …"""
    command_at: tuple[int, ...]
    """Where those words stand."""
    items: tuple[Item, ...]
    """Everything else, in order; nothing of what follows a utility subcommand."""

    @property
    def one_shot(self) -> bool:
        """Whether it runs without a terminal interface."""
        return self.command[:1] in (("exec",), ("review",))

    @property
    def utility(self) -> bool:
        """Whether no conversation comes of it."""
        if self.command and (self.command[0] in _UTILITIES or self.command == ("exec", "help")):
            return True
        return self.has("--help") or self.has("--version")

    def has(self, name: str) -> bool:
        """Whether an option is given, before any `--`."""
        return any(item.name == name for item in self.items if item.kind is Kind.OPTION)

    def last(self, name: str) -> str | None:
        """Return the value of the last occurrence of an option."""
        values = [i.value for i in self.items if i.kind is Kind.OPTION and i.name == name]
        return values[-1] if values else None

    def words(self) -> tuple[str, ...]:
        """Return the words at the level of the last subcommand: session, prompt."""
        level = len(self.command)
        return tuple(i.name for i in self.items if i.kind is Kind.WORD and i.level == level)


def take_apart(args: Sequence[str]) -> Call:
    """Read an argument list; never raises."""
    command: tuple[str, ...] = ()
    command_at: list[int] = []
    items: list[Item] = []
    table, begin, ended = _ROOT_TABLE, 0, False
    while True:
        for item in scan(args, table, begin, len(command)):
            if item.kind is Kind.END:
                ended = True
            deeper = None if ended or item.kind is not Kind.WORD else _deeper(command, item.name)
            if deeper is not None:
                command, begin = deeper, item.stop
                command_at.append(item.start)
                break
            items.append(item)
        else:
            break
        if command not in _TABLES:
            break
        table = _TABLES[command]
    return Call(args=tuple(args), command=command, command_at=tuple(command_at), items=tuple(items))


def classify(args: Sequence[str]) -> Invocation:
    """Say what an argument list asks for."""
    call = take_apart(args)
    if call.utility:
        return Invocation(form=Form.UTILITY, args=call.args)
    form = Form.ONE_SHOT if call.one_shot else Form.INTERACTIVE
    select, native_id, facts = _selection(call)
    if call.command == ("exec",) and call.words() in ((), ("-",)):
        facts = {**facts, PROMPT: "stdin"}
    return Invocation(form=form, args=call.args, select=select, native_id=native_id, facts=facts)


def _deeper(command: tuple[str, ...], word: str) -> tuple[str, ...] | None:
    """Return the command that a word leads to, if it is a subcommand there."""
    name = _ALIASES.get(word, word)
    if not command:
        return (name,) if (name,) in _TABLES or name in _UTILITIES else None
    if command == ("exec",) and ((*command, name) in _TABLES or name == "help"):
        return (*command, name)
    return None


def _selection(call: Call) -> tuple[Select, str | None, dict[str, str]]:
    if call.has("--ephemeral"):
        return Select.DETACHED, None, {"why": "--ephemeral keeps no session"}
    if call.has("--remote"):
        return Select.DETACHED, None, {"why": "--remote keeps the session on another server"}
    verb = call.command[-1] if call.command else ""
    if verb == "review":
        return Select.CREATE, None, {"why": "a review is a session of its own"}
    if verb not in ("resume", "fork"):
        return Select.NONE, None, {}
    words = call.words()
    native_id = None if call.has("--last") or not words else _uuid(words[0])
    if native_id is None:
        return Select.PICK, None, {"why": "the session is chosen by codex"}
    return (Select.RESUME if verb == "resume" else Select.FORK), native_id, {}


def _uuid(word: str) -> str | None:
    """Return the canonical form of a UUID, None for a session's name."""
    if _UUID.fullmatch(word) is None:
        return None
    digits = word.replace("-", "").lower()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
