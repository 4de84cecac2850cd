"""Which commands a shell line runs, and whose exit code it gives back.

Not a shell: it knows quotes, operators and here-documents well enough to say for certain when the
exit code of the line is that of a given command, and says "not known" for everything else.
Groups, `( … )` and `{ …; }`, are read; loops and conditions are not.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from handoffs.vocabulary import listed

MAX_COMMAND: Final = 64 * 1024
"""Characters of a command line that are looked at."""

_TOKEN: Final = re.compile(
    r"(?P<space>[ \t]+|\\\n)"
    r"|(?P<comment>(?<![^\s;&|()])\#[^\n]*)"
    r"|(?P<redirect>\d*(?:>>|>\||>&|<&|<>|&>>|&>|<<<|>|<(?!<))(?:&?\d*-?)?)"
    r"|(?P<operator>&&|\|\||\|&|;;|[;&|\n()])"
    r"|(?P<word>(?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|\$\((?:[^()'\"]|'[^']*'|\"[^\"]*\")*\)|`[^`]*`|[^\s;&|()<>'\"`\\])+)"
    r"|(?P<other>.)",
    re.DOTALL,
)
_HERE: Final = re.compile(r"<<-?\s*(['\"]?)([A-Za-z_]\w*)\1")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=")
_KEYWORDS: Final = listed(
    "if then else elif fi for while until do done case esac select function [[ ! coproc"
)
_LEADING: Final = listed("if then else elif while until do ! coproc")
"""Keywords that stand before a command."""
SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
_WRAPPERS: Final = listed(
    "sudo env time nice nohup command exec stdbuf timeout xvfb-run doas ionice chronic caffeinate"
    " setsid unbuffer"
)
_TAKES_NUMBER: Final = frozenset({"timeout"})
_STDOUT: Final = frozenset({">", ">>", ">|", "1>", "1>>", "&>", "&>>", ">&"})
MAX_DEPTH: Final = 3
"""Shells within shells that are opened."""
MAX_GROUPS: Final = 50
"""Groups within groups that are read."""
MAX_THROUGH: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One simple command of a line."""

    words: tuple[str, ...]
    """Without assignments, wrappers (`env`, `timeout 60`, …) and redirections."""
    decided: bool
    """The exit code of the line speaks for this command: 0 needs its success, and it may be the
    one that made it another."""
    through: tuple[str, ...] = ()
    """Programs that its output is piped through, in order, MAX_THROUGH at most."""
    target: str | None = None
    """File that its output goes to instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The commands of a line. `plain` is False when a construct was not understood."""

    parts: tuple[Part, ...]
    plain: bool


def program(word: str) -> str:
    """Return the name of a program without its directory."""
    return word.rpartition("/")[2]


def parse(command: str | Sequence[str]) -> Line:
    """Return the commands of a shell line, or of an argument list (a shell with -c is opened)."""
    if isinstance(command, str):
        return _parse_text(command, depth=0, rules=_Rules())
    return _parse_words(tuple(command), depth=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    """Options of the shell at one place."""

    pipefail: bool = False
    stops: bool = False
    """`set -e`."""


def _parse_words(words: tuple[str, ...], *, depth: int) -> Line:
    words = _bare(words)
    script = _script(words)
    if script is not None and depth < MAX_DEPTH:
        text, strict = script
        return _parse_text(text, depth=depth + 1, rules=strict)
    if not words:
        return Line(parts=(), plain=True)
    return Line(parts=(Part(words=words, decided=True),), plain=True)


def _script(words: tuple[str, ...]) -> tuple[str, _Rules] | None:
    """Return the script of `bash -lc SCRIPT` and the options that are switched on."""
    if not words or program(words[0]) not in SHELLS:
        return None
    rules = _Rules()
    for index, word in enumerate(words[1:], start=1):
        flags = word.startswith("-") and not word.startswith("--")
        if word == "pipefail" and words[index - 1].endswith("o"):
            rules = replace(rules, pipefail=True)
        if flags and "e" in word:
            rules = replace(rules, stops=True)
        if flags and word.endswith("c"):
            return (words[index + 1], rules) if index + 1 < len(words) else None
    return None


def _parse_text(text: str, *, depth: int, rules: _Rules) -> Line:
    if len(text) > MAX_COMMAND:
        return Line(parts=(), plain=False)
    reader = _Reader()
    for match in _TOKEN.finditer(_without_here_documents(text)):
        reader.take(match.lastgroup, match[0])
    pipelines = reader.finish()
    plain = reader.plain and not _is_trapped(pipelines)
    judged = _Judge(plain=plain, depth=depth)
    judged.take(pipelines, own=True, rules=rules, through=(), target=None)
    return Line(parts=tuple(judged.parts), plain=judged.plain)


def _without_here_documents(text: str) -> str:
    if "<<" not in text:
        return text
    kept: list[str] = []
    ending: str | None = None
    for line in text.split("\n"):
        if ending is not None:
            ending = None if line.strip() == ending else ending
            continue
        match = None if "<<<" in line else _HERE.search(line)
        if match is None:
            kept.append(line)
        else:
            ending = match[2]
            kept.append(line[: match.start()] + line[match.end() :])
    return "\n".join(kept)


# --- reading ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Command:
    """A simple command, or a group of pipelines."""

    words: tuple[str, ...] = ()
    group: tuple[_Pipeline, ...] | None = None
    shares: bool = False
    """The group is `{ …; }`, which changes the shell that it stands in."""
    target: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pipeline:
    commands: tuple[_Command, ...]
    joined: str
    """Operator before it: ;, &&, ||."""
    background: bool


class _Frame:
    """What was read of one group so far; the outermost is the line."""

    def __init__(self, closing: str) -> None:
        self.closing = closing
        self.pipelines: list[_Pipeline] = []
        self.commands: list[_Command] = []
        self.words: list[str] = []
        self.group: _Frame | None = None
        """The group that the command being read is."""
        self.joined = ";"
        self.target: str | None = None

    def end(self, operator: str) -> None:
        """End the command, and the pipeline unless `operator` continues it."""
        if self.words or self.group is not None:
            self.commands.append(
                _Command(
                    words=tuple(self.words),
                    group=None if self.group is None else tuple(self.group.pipelines),
                    shares=self.group is not None and self.group.closing == "}",
                    target=self.target,
                )
            )
        self.words, self.group, self.target = [], None, None
        if operator in ("|", "|&"):
            return
        if self.commands:
            self.pipelines.append(
                _Pipeline(
                    commands=tuple(self.commands),
                    joined=self.joined,
                    background=operator == "&",
                )
            )
            self.commands = []
            self.joined = operator if operator in ("&&", "||") else ";"


class _Reader:
    """Collects words into commands, commands into pipelines, pipelines into groups."""

    def __init__(self) -> None:
        self.plain = True
        """Nothing was met that is not understood."""
        self._frames = [_Frame("")]
        self._to_file: bool | None = None
        """The next word is where a redirection goes: True for the standard output."""

    def take(self, kind: str | None, text: str) -> None:
        """Take one token."""
        top = self._frames[-1]
        if kind == "redirect":
            whole = text[-1:].isdigit() or text.endswith("-")
            self._to_file = None if whole else text in _STDOUT
        elif kind == "word":
            self._word(top, text)
        elif kind == "operator" and text == "(":
            self._open(top, ")")
        elif kind == "operator" and text == ")":
            self._close(")")
        elif kind == "operator":
            top.end(text)
        elif kind == "other":
            self.plain = False

    def _word(self, top: _Frame, text: str) -> None:
        if self._to_file is not None:
            top.target = _unquoted(text) if self._to_file else top.target
        elif text == "{" and not top.words:
            self._open(top, "}")
        elif text == "}" and not top.words and top.closing == "}":
            self._close("}")
        else:
            top.words.append(_unquoted(text))
            self.plain = self.plain and top.group is None
        self._to_file = None

    def _open(self, top: _Frame, closing: str) -> None:
        if top.words or top.group is not None or len(self._frames) > MAX_GROUPS:
            self.plain = False  # a function, an array, a pattern
            return
        self._frames.append(_Frame(closing))

    def _close(self, closing: str) -> None:
        top = self._frames[-1]
        if top.closing != closing:
            self.plain = False
            return
        top.end("")
        self._frames.pop()
        self._frames[-1].group = top

    def finish(self) -> tuple[_Pipeline, ...]:
        """Return the pipelines of the line."""
        while len(self._frames) > 1:
            self.plain = False
            self._close(self._frames[-1].closing)
        self._frames[0].end("")
        return tuple(self._frames[0].pipelines)


def _unquoted(word: str) -> str:
    if "'" not in word and '"' not in word and "\\" not in word:
        return word
    return re.sub(
        r"'([^']*)'|\"((?:\\.|[^\"\\])*)\"|\\(.)",
        lambda match: next((part for part in match.groups() if part is not None), ""),
        word,
        flags=re.DOTALL,
    )


def _bare(words: tuple[str, ...]) -> tuple[str, ...]:
    """Leave out keywords, assignments and wrappers in front."""
    index = 0
    while index < len(words):
        word = words[index]
        if _ASSIGNMENT.match(word) or word in _LEADING:
            index += 1
        elif program(word) in _WRAPPERS:
            name = program(word)
            index += 1
            while index < len(words) and words[index].startswith("-"):
                index += 2 if words[index] in ("-k", "-s", "-n", "-u") else 1
            index += name in _TAKES_NUMBER and index < len(words)
        else:
            break
    return words[index:]


# --- judging ------------------------------------------------------------------------------------


class _Judge:
    """Says for each command whether the exit code of the line is its own."""

    def __init__(self, *, plain: bool, depth: int) -> None:
        self.plain = plain
        self.parts: list[Part] = []
        self._depth = depth

    def take(
        self,
        pipelines: tuple[_Pipeline, ...],
        *,
        own: bool,
        rules: _Rules,
        through: tuple[str, ...],
        target: str | None,
    ) -> _Rules:
        """Add the commands of a group; return the options that hold behind it."""
        heads = (command.words[:1] for line in pipelines for command in line.commands)
        if any(head and head[0] in _KEYWORDS for head in heads):
            self.plain = False
        last = _last_chain(pipelines)
        for index, line in enumerate(pipelines):
            rules = _switched(line, rules)
            certain = index in last and not line.background
            if rules.stops and not line.background and not _swallowed(pipelines, index):
                certain = True
            names = tuple(map(_named, line.commands))
            for position, command in enumerate(line.commands):
                after = names[position + 1 : position + 1 + MAX_THROUGH]
                mine = own and certain and (rules.pipefail or not after)
                behind = self._command(
                    command,
                    own=mine,
                    rules=rules,
                    through=(*after, *through)[:MAX_THROUGH],
                    target=command.target or target,
                )
                rules = behind if command.shares and len(line.commands) == 1 else rules
        return rules

    def _command(
        self,
        command: _Command,
        *,
        own: bool,
        rules: _Rules,
        through: tuple[str, ...],
        target: str | None,
    ) -> _Rules:
        if command.group is not None:
            return self.take(command.group, own=own, rules=rules, through=through, target=target)
        inner = _parse_words(command.words, depth=self._depth)
        self.parts += [
            Part(
                words=part.words,
                decided=own and inner.plain and part.decided,
                through=(*part.through, *through),
                target=part.target or target,
            )
            for part in inner.parts
        ]
        return rules


def _named(command: _Command) -> str:
    words = _bare(command.words)
    return program(words[0]) if words else "("


def _switched(line: _Pipeline, rules: _Rules) -> _Rules:
    """Return the options behind a command, which may be `set -e` or `set +o pipefail`."""
    for command in line.commands:
        words = command.words
        if words[:1] != ("set",):
            continue
        for before, word in itertools.pairwise(words):
            if word == "pipefail":
                rules = replace(rules, pipefail=before.startswith("-"))
            elif word[:1] in ("-", "+") and "e" in word:
                rules = replace(rules, stops=word[0] == "-")
    return rules


def _is_trapped(pipelines: tuple[_Pipeline, ...]) -> bool:
    """Tell whether `trap '… exit …'` may give the line another exit code."""
    return any(
        command.words[:1] == ("trap",) and "exit" in " ".join(command.words[1:2])
        for line in pipelines
        for command in line.commands
    )


def _last_chain(pipelines: tuple[_Pipeline, ...]) -> set[int]:
    """Return the pipelines whose success the exit code 0 of the line needs.

    These are the last ones joined by `&&`. An alternative (`||`) takes that away, except one that
    cannot succeed: `|| exit 1`. `exit $?` gives on what the command before it gave.
    """
    found: set[int] = set()
    index = len(pipelines) - 1
    if index > 0 and pipelines[index].joined == ";" and _gives_on(pipelines[index]):
        index -= 1
    if index >= 0 and pipelines[index].joined == "||" and _always_fails(pipelines[index]):
        index -= 1
    while index >= 0:
        line = pipelines[index]
        found.add(index)
        if line.joined == "||":
            return set()
        if line.joined != "&&":
            break
        index -= 1
    return found


def _gives_on(line: _Pipeline) -> bool:
    return len(line.commands) == 1 and line.commands[0].words == ("exit", "$?")


def _always_fails(line: _Pipeline) -> bool:
    command = line.commands[-1]
    if command.group is not None:
        group = command.group
        return (
            bool(group)
            and all(item.joined != "||" and not item.background for item in group)
            and _always_fails(group[-1])
        )
    words = command.words
    if words[0] == "false":
        return True
    if words[0] not in ("exit", "return") or len(words) < 2 or not words[1].isdigit():
        return False
    return int(words[1][:9]) % 256 != 0


def _swallowed(pipelines: tuple[_Pipeline, ...], index: int) -> bool:
    """Tell whether `set -e` does not end the line at a failing pipeline."""
    following = pipelines[index + 1 : index + 2]
    return any(line.joined in ("&&", "||") for line in following)
