"""Reading a native argument list with a table of its options, without changing it.

Only what a table knows is interpreted. A value of an option is never taken for a word (prompt,
subcommand, session), whatever it looks like; an option that no table knows is taken to have no
value of its own, and nothing behind it is reinterpreted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple


class Takes(StrEnum):
    """How many values an option takes."""

    NOTHING = "nothing"
    ONE = "one"
    """Exactly one, also when it begins with a dash."""
    MAYBE = "maybe"
    """One, when the next argument does not begin with a dash."""
    MANY = "many"
    """One, and every further argument up to the next one that begins with a dash."""


class Kind(StrEnum):
    """What an item of an argument list is."""

    OPTION = "option"
    WORD = "word"
    END = "end"
    """The `--` after which everything is a word."""


class Syntax(NamedTuple):
    """The options of one command, by every spelling."""

    takes: Mapping[str, Takes]
    names: Mapping[str, str]
    """Spelling -> name; names of unlisted spellings are the spellings."""
    short_equals: bool
    """Whether `-m=x` means the value `x` (clap) or `=x` (commander)."""
    long_equals: bool = True
    """Whether `--model=x` is understood at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One option with its values, one word, or the end of options."""

    kind: Kind
    name: str
    """Option: its name; word: the word; end: `--`."""
    values: tuple[str, ...] = ()
    start: int
    stop: int
    """`args[start:stop]` holds it; short options of one cluster share their start."""
    prefix: str | None = None
    """What stands before the value in the same argument (`--config=`); None: separate."""
    known: bool = True
    level: int = 0
    """0: before the first subcommand, 1: after it, …"""

    @property
    def value(self) -> str | None:
        """The first value, if any."""
        return self.values[0] if self.values else None


def syntax(spec: str, *, short_equals: bool, long_equals: bool = True) -> Syntax:
    """Build a table from lines like `-m --model ONE`; the last spelling is the name.

    `X` may be NOTHING, ONE, MAYBE or MANY.
    """
    takes: dict[str, Takes] = {}
    names: dict[str, str] = {}
    for line in spec.split("\n"):
        *spellings, how = line.split() or [""]
        for spelling in spellings:
            takes[spelling] = Takes[how]
            names[spelling] = spellings[-1]
    return Syntax(takes=takes, names=names, short_equals=short_equals, long_equals=long_equals)


def scan(args: Sequence[str], table: Syntax, begin: int = 0, level: int = 0) -> Iterator[Item]:
    """Yield the items of `args[begin:]` in order; the caller may stop at a subcommand."""
    at = begin
    while at < len(args):
        arg = args[at]
        if arg == "--":
            yield Item(kind=Kind.END, name=arg, start=at, stop=at + 1, level=level)
            for index in range(at + 1, len(args)):
                yield _word(args[index], index, level)
            return
        if not arg.startswith("-") or arg == "-":
            yield _word(arg, at, level)
            at += 1
            continue
        items = _options(args, at, table)
        yield from (replace(item, level=level) for item in items)
        at = items[-1].stop


def with_value(args: Sequence[str], item: Item, value: str) -> list[str]:
    """Return a copy of `args` in which an option's first value is replaced."""
    changed = list(args)
    if item.prefix is None:
        changed[item.start + 1] = value
    else:
        changed[item.start] = item.prefix + value
    return changed


def _word(arg: str, at: int, level: int) -> Item:
    return Item(kind=Kind.WORD, name=arg, start=at, stop=at + 1, level=level)


def _options(args: Sequence[str], at: int, table: Syntax) -> list[Item]:
    """Return the option or the cluster of options at `at`."""
    arg = args[at]
    if arg in table.takes:
        return [_separate(args, at, arg, table)]
    if arg.startswith("--"):
        return [_long(arg, at, table)]
    return _cluster(args, at, table)


def _long(arg: str, at: int, table: Syntax) -> Item:
    if not table.long_equals:
        return replace(_flag(arg, at), known=False)
    spelling, equals, value = arg.partition("=")
    known = spelling in table.takes and bool(equals)
    return Item(
        kind=Kind.OPTION,
        name=table.names.get(spelling, spelling),
        values=(value,) if equals else (),
        start=at,
        stop=at + 1,
        prefix=spelling + "=" if equals else None,
        known=known,
    )


def _separate(args: Sequence[str], at: int, spelling: str, table: Syntax) -> Item:
    """Return an option whose values, if it takes any, are the following arguments."""
    stop = at + 1
    takes = table.takes[spelling]
    more = stop < len(args)
    if more and (
        takes in (Takes.ONE, Takes.MANY) or (takes is Takes.MAYBE and not _dashed(args[stop]))
    ):
        stop += 1
    while takes is Takes.MANY and stop < len(args) and not _dashed(args[stop]):
        stop += 1
    return Item(
        kind=Kind.OPTION,
        name=table.names[spelling],
        values=tuple(args[at + 1 : stop]),
        start=at,
        stop=stop,
    )


def _cluster(args: Sequence[str], at: int, table: Syntax) -> list[Item]:
    """Return the options of a cluster such as `-pr ID` or `-mMODEL`."""
    arg = args[at]
    items: list[Item] = []
    for index in range(1, len(arg)):
        spelling, rest = "-" + arg[index], arg[index + 1 :]
        takes = table.takes.get(spelling)
        if takes is None:
            break
        if takes is Takes.NOTHING:
            items.append(_flag(table.names[spelling], at))
        elif rest:
            items.append(_attached(arg, index, at, table))
            return items
        else:
            item = _separate(args, at, spelling, table)
            items.append(item)
            return items
    else:
        return items
    unknown = "-" + arg[index:]
    return [*items, replace(_flag(unknown, at), known=False)]


def _flag(name: str, at: int) -> Item:
    return Item(kind=Kind.OPTION, name=name, start=at, stop=at + 1)


def _attached(arg: str, index: int, at: int, table: Syntax) -> Item:
    prefix = arg[: index + 1]
    if table.short_equals and arg[index + 1] == "=":
        prefix += "="
    return replace(
        _flag(table.names["-" + arg[index]], at), values=(arg[len(prefix) :],), prefix=prefix
    )


def _dashed(arg: str) -> bool:
    return arg.startswith("-") and arg != "-"
