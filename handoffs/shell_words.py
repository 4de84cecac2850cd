"""Which commands a shell line runs, and whose exit code it gives back.

Not a shell: it knows quotes, operators and here-documents well enough to say for certain when the
exit code of the line is that of a given command, and says "not known" for everything else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
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
    "if then else elif fi for while until do done case esac select function { } [[ ! coproc"
)
_SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
_WRAPPERS: Final = listed(
    "sudo env time nice nohup command exec stdbuf timeout xvfb-run doas ionice chronic caffeinate"
    " setsid unbuffer"
)
_TAKES_NUMBER: Final = frozenset({"timeout"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One simple command of a line."""

    words: tuple[str, ...]
    """Without assignments, wrappers (`env`, `timeout 60`, …) and redirections."""
    decided: bool
    """The exit code of the line speaks for this command: 0 needs its success, and it may be the
    one that made it another."""


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
        return _parse_text(command, depth=0)
    return _parse_words(tuple(command), depth=0, pipefail=False)


def _parse_words(words: tuple[str, ...], *, depth: int, pipefail: bool) -> Line:
    words = _bare(words)
    script = _script(words)
    if script is not None and depth < 3:
        inner, strict = script
        return _parse_text(inner, depth=depth + 1, pipefail=pipefail or strict)
    if not words:
        return Line(parts=(), plain=True)
    return Line(parts=(Part(words=words, decided=True),), plain=True)


def _script(words: tuple[str, ...]) -> tuple[str, bool] | None:
    """Return the script of `bash -lc SCRIPT` and whether pipefail is switched on."""
    if not words or program(words[0]) not in _SHELLS:
        return None
    strict = False
    for index, word in enumerate(words[1:], start=1):
        if word == "pipefail" and words[index - 1] in ("-o", "-eo", "-euo"):
            strict = True
        elif word.startswith("-") and not word.startswith("--") and word.endswith("c"):
            return (words[index + 1], strict) if index + 1 < len(words) else None
    return None


def _parse_text(text: str, *, depth: int, pipefail: bool = False) -> Line:
    if len(text) > MAX_COMMAND:
        return Line(parts=(), plain=False)
    pipelines, plain = _pipelines(_without_here_documents(text))
    return _judged(pipelines, plain=plain, depth=depth, pipefail=pipefail)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pipeline:
    commands: tuple[tuple[str, ...], ...]
    joined: str
    """Operator before it: "", ;, &&, ||."""
    background: bool


class _Reader:
    """Collects words into commands, commands into pipelines."""

    def __init__(self) -> None:
        self.pipelines: list[_Pipeline] = []
        self.plain = True
        """Nothing was met that is not understood."""
        self._commands: list[tuple[str, ...]] = []
        self._words: list[str] = []
        self._joined = ""
        self._to_file = False
        """The next word is where a redirection goes."""

    def take(self, kind: str | None, text: str) -> None:
        """Take one token."""
        if kind == "redirect":
            self._to_file = not text[-1:].isdigit() and not text.endswith("-")
        elif kind == "word":
            if not self._to_file:
                self._words.append(_unquoted(text))
            self._to_file = False
        elif kind == "operator" and text not in ("(", ")"):
            self.close(text)
        elif kind in ("operator", "other"):
            self.plain = False

    def close(self, operator: str) -> None:
        """End the command, and the pipeline unless `operator` continues it."""
        if self._words:
            self._commands.append(tuple(self._words))
            self._words = []
        if operator in ("|", "|&"):
            return
        if self._commands:
            self.pipelines.append(
                _Pipeline(
                    commands=tuple(self._commands),
                    joined=self._joined,
                    background=operator == "&",
                )
            )
            self._commands = []
            self._joined = operator if operator in ("&&", "||") else ";"


def _pipelines(text: str) -> tuple[list[_Pipeline], bool]:
    """Take a line apart; the second value is False when something was not understood."""
    reader = _Reader()
    for match in _TOKEN.finditer(text):
        reader.take(match.lastgroup, match[0])
    reader.close("")
    return reader.pipelines, reader.plain


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
    """Leave out assignments and wrappers in front."""
    index = 0
    while index < len(words):
        word = words[index]
        if _ASSIGNMENT.match(word):
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


def _judged(pipelines: list[_Pipeline], *, plain: bool, depth: int, pipefail: bool) -> Line:
    """Say for each command whether the exit code of the line is its own."""
    if any(command[0] in _KEYWORDS for line in pipelines for command in line.commands):
        plain = False
    last = _last_chain(pipelines)
    stops = False
    parts: list[Part] = []
    for index, line in enumerate(pipelines):
        pipefail = pipefail or _sets(line, "pipefail")
        stops = stops or _sets(line, "e")
        certain = plain and index in last and not line.background
        if plain and stops and not line.background and not _swallowed(pipelines, index):
            certain = True
        for position, command in enumerate(line.commands):
            own = certain and (pipefail or position == len(line.commands) - 1)
            parts += _opened(command, own=own, depth=depth, pipefail=pipefail)
    return Line(parts=tuple(parts), plain=plain)


def _opened(command: tuple[str, ...], *, own: bool, depth: int, pipefail: bool) -> list[Part]:
    inner = _parse_words(command, depth=depth, pipefail=pipefail)
    return [
        Part(
            words=part.words,
            decided=own and inner.plain and part.decided,
        )
        for part in inner.parts
    ]


def _sets(line: _Pipeline, option: str) -> bool:
    """Tell whether a command is `set -e` or `set -o pipefail`."""
    for command in line.commands:
        if command[0] != "set":
            continue
        if option == "pipefail" and "pipefail" in command:
            return True
        if option == "e" and any(
            word.startswith("-") and "e" in word for word in command[1:] if word != "pipefail"
        ):
            return True
    return False


def _last_chain(pipelines: list[_Pipeline]) -> set[int]:
    """Return the pipelines whose success the exit code 0 of the line needs.

    These are the last ones joined by `&&`. An alternative (`||`) takes that away, except one that
    cannot succeed: `|| exit 1`.
    """
    found: set[int] = set()
    index = len(pipelines) - 1
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


def _always_fails(line: _Pipeline) -> bool:
    words = line.commands[-1]
    if words[0] == "false":
        return True
    return words[0] in ("exit", "return") and len(words) > 1 and words[1].lstrip("0").isdigit()


def _swallowed(pipelines: list[_Pipeline], index: int) -> bool:
    """Tell whether `set -e` does not end the line at a failing pipeline."""
    following = pipelines[index + 1 : index + 2]
    return any(line.joined in ("&&", "||") for line in following)
