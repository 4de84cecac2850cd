"""A harness's command line as a table: which options choose a session, and what runs without one.

Most harnesses differ only in names, so that an adapter declares an `Options` and gets `classify`
and `take_apart` from it. What an argument list means is read here and nowhere else; nothing is
changed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from launcher.harnesses.argv import Item, Kind, Syntax, scan
from launcher.harnesses.base import Form, Invocation, Select

UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """An argument list, taken apart."""

    args: tuple[str, ...]
    items: tuple[Item, ...]
    """Options and words in order, the subcommand not among them."""
    command: str | None = None
    """The subcommand, when the first word is one that the table knows."""
    at: int = 0
    """Where arguments of ours belong: behind the subcommand, else at the beginning."""

    def options(self, *names: str) -> list[Item]:
        """Return the occurrences of some options, in order."""
        return [i for i in self.items if i.kind is Kind.OPTION and i.name in names]

    def has(self, *names: str) -> bool:
        """Whether one of these options is given."""
        return any(i.kind is Kind.OPTION and i.name in names for i in self.items)

    def last(self, *names: str) -> str | None:
        """Return the value of the last occurrence of an option that has one."""
        values = [item.value for item in self.options(*names) if item.value is not None]
        return values[-1] if values else None

    def words(self) -> list[Item]:
        """Return the words that are no option and no option's value: mostly the prompt."""
        return [item for item in self.items if item.kind is Kind.WORD]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the options and subcommands of a harness mean. Names are those of the tables."""

    table: Syntax
    """Options before a subcommand, and of a call without one."""
    conversations: Mapping[str, Syntax] = field(default_factory=dict)
    """Subcommands that hold a conversation, with their options."""
    utilities: frozenset[str] = frozenset()
    """Subcommands that hold none."""
    utility_options: frozenset[str] = frozenset({"--help", "--version"})
    one_shot: frozenset[str] = frozenset()
    """Options and subcommands that make a call noninteractive."""
    named: str | None = None
    """Option whose value is a session to resume, or to create when there is none of that id."""
    create: str | None = None
    """Option whose value is the id of a new session."""
    resume: frozenset[str] = frozenset()
    """Options whose value is the session to resume; without a value the harness asks."""
    pick: frozenset[str] = frozenset()
    """Options with which the harness chooses the session: `--continue` and its kin."""
    fork: frozenset[str] = frozenset()
    """Options whose value is a session to fork."""
    forking: frozenset[str] = frozenset()
    """Flags that make a fork of a resume."""
    detached: Mapping[str, str] = field(default_factory=dict)
    """Option -> why no session is kept with it."""
    session_id: re.Pattern[str] = UUID
    """What an id looks like; any other value of an option that names a session is a title, a path
    or a number, so that only the harness knows which session is meant."""

    def take_apart(self, args: Sequence[str]) -> Call:
        """Read an argument list; never raises."""
        items: list[Item] = []
        for item in scan(args, self.table):
            if item.kind is Kind.WORD and not any(i.kind is not Kind.OPTION for i in items):
                command = item.name
                if command in self.utilities:
                    return Call(args=tuple(args), items=tuple(items), command=command)
                if command in self.conversations:
                    items += scan(args, self.conversations[command], item.stop, 1)
                    return Call(args=tuple(args), items=tuple(items), command=command, at=item.stop)
            items.append(item)
        return Call(args=tuple(args), items=tuple(items))

    def classify(self, args: Sequence[str]) -> Invocation:
        """Say what an argument list asks for."""
        call = self.take_apart(args)
        if call.command in self.utilities or call.has(*self.utility_options):
            return Invocation(form=Form.UTILITY, args=call.args)
        alone = call.command in self.one_shot or call.has(*self.one_shot)
        select, native_id, facts = self.selection(call)
        return Invocation(
            form=Form.ONE_SHOT if alone else Form.INTERACTIVE,
            args=call.args,
            select=select,
            native_id=native_id,
            facts=facts,
        )

    def selection(self, call: Call) -> tuple[Select, str | None, dict[str, str]]:
        """Return how a call chooses its session, the id that it names, and what to keep of it."""
        for option, why in self.detached.items():
            if call.has(option):
                return Select.DETACHED, None, {"why": why}
        if call.has(*self.fork):
            return self._forked(call, call.last(*self.fork))
        if call.has(*self.pick):
            return Select.PICK, None, {"why": "the harness chooses the session"}
        if call.has(*self.resume):
            value = call.last(*self.resume)
            if call.has(*self.forking):
                return self._forked(call, value)
            return self._known(Select.RESUME, value, {})
        for select, name in ((Select.NAMED, self.named), (Select.CREATE, self.create)):
            chosen = None if name is None else call.last(name)
            if chosen is not None:
                return select, chosen, {}
        return Select.NONE, None, {}

    def _forked(self, call: Call, value: str | None) -> tuple[Select, str | None, dict[str, str]]:
        option = self.create or self.named
        chosen = None if option is None else call.last(option)
        return self._known(Select.FORK, value, {} if chosen is None else {"fork": chosen})

    def _known(
        self, select: Select, value: str | None, facts: dict[str, str]
    ) -> tuple[Select, str | None, dict[str, str]]:
        if value is None or self.session_id.fullmatch(value) is None:
            return Select.PICK, None, {"why": "the harness chooses the session"}
        return select, value, facts
