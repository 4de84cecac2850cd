"""The script language that both scripted model APIs speak.

The text a person types carries what the "model" shall do, one step per line (` ;; ` separates
steps on one line, for terminals). The language is described in README.md beside this file. The
same text drives both APIs; each of them turns steps into the tool calls its client knows.

Nothing is remembered between requests except how often a `fail` or `drop` with a limit was
served: how far a script has come is read from the call ids in the request itself, so that a
killed, resumed or forked session goes on exactly where its own history stands.
"""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path


class Verb(StrEnum):
    """What one line of a script asks for."""

    SAY = "say"
    SAY_FOUND = "say-found"
    THINK = "think"
    RUN = "run"
    RUN_FOUND = "run-found"
    PARALLEL = "parallel"
    READ = "read"
    WRITE = "write"
    EDIT = "edit"
    TOOL = "tool"
    HOLD = "hold"
    PAUSE = "pause"
    FAIL = "fail"
    DROP = "drop"
    TOKENS = "tokens"
    LIMITS = "limits"


TOOL_VERBS: Final = frozenset(
    {Verb.RUN, Verb.RUN_FOUND, Verb.PARALLEL, Verb.READ, Verb.WRITE, Verb.EDIT, Verb.TOOL}
)
"""Verbs after which the model has to wait for a result: they end an answer."""

_FIELDS: Final = {
    Verb.RUN_FOUND: 2,
    Verb.WRITE: 2,
    Verb.TOOL: 2,
    Verb.FAIL: 2,
    Verb.DROP: 2,
    Verb.EDIT: 3,
    Verb.PARALLEL: 100,
}
"""How many fields a line may have; where nothing is said, the whole line is one."""

_ESCAPED: Final = frozenset({Verb.SAY, Verb.THINK, Verb.WRITE, Verb.EDIT})
_LINE: Final = re.compile(
    r"^\s*(" + "|".join(sorted((re.escape(v) for v in Verb), key=len, reverse=True)) + r"):\s?(.*)$"
)
_FIELD_BREAK: Final = re.compile(r"\t| => ")
_CALL_ID: Final = re.compile(r"^(?:call|toolu)_s(\d+)n\d+_[0-9a-f]+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step: the verb and its fields (split at a tab or ` => `)."""

    verb: Verb
    fields: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The field of a verb that takes a single one."""
        return self.field(0)

    def field(self, index: int, default: str = "") -> str:
        """The field at `index`, or `default` when the line was shorter."""
        return self.fields[index] if index < len(self.fields) else default


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token figures of one answer."""

    input: int = 120
    cached: int = 0
    output: int = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A parsed script: the answers in order, and the token figures of each of them."""

    answers: tuple[tuple[Step, ...], ...]
    usage: Usage = field(default_factory=Usage)

    def answer(self, index: int) -> tuple[Step, ...]:
        """The answer number `index`; past the end, a plain `done`."""
        if index < len(self.answers):
            return self.answers[index]
        return (Step(verb=Verb.SAY, fields=("done",)),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Serve `script` when `match` is found in the person's last text."""

    match: re.Pattern[str]
    script: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Scripts chosen by the person's text, for prompts that do not carry their own."""

    rules: tuple[Rule, ...] = ()
    title: str = "Scripted title"
    summary: str = "Scripted summary of the conversation so far."

    def script_for(self, user_text: str) -> Script:
        """Return the first matching rule's script, else the script in the text itself."""
        for rule in self.rules:
            found = rule.match.search(user_text)
            if found is not None:
                return parse(found.expand(rule.script) if found.groups() else rule.script)
        return parse(user_text)


def load_scenario(path: Path) -> Scenario:
    """Read `{"rules": [{"match": REGEX, "script": TEXT}], "title": …, "summary": …}`."""
    data = json.loads(path.read_text(encoding="utf-8"))
    rules = tuple(
        Rule(match=re.compile(rule["match"]), script=rule["script"])
        for rule in data.get("rules", ())
    )
    plain = Scenario()
    return Scenario(
        rules=rules,
        title=data.get("title", plain.title),
        summary=data.get("summary", plain.summary),
    )


def parse(text: str) -> Script:
    """Parse a text; one without any step is answered with `echo: <text>`."""
    steps = list(_steps(text))
    if not steps:
        return Script(answers=((Step(verb=Verb.SAY, fields=(f"echo: {text.strip()}",)),),))
    usage = Usage()
    answers: list[tuple[Step, ...]] = []
    current: list[Step] = []
    for step in steps:
        if step.verb is Verb.TOKENS:
            usage = _usage(step)
            continue
        current.append(step)
        if step.verb in TOOL_VERBS:
            answers.append(tuple(current))
            current = []
    # A turn must end with words, else the client would ask the model again for ever.
    if not any(step.verb in (Verb.SAY, Verb.SAY_FOUND) for step in current):
        current.append(Step(verb=Verb.SAY, fields=("done",)))
    answers.append(tuple(current))
    return Script(answers=tuple(answers), usage=usage)


def _steps(text: str) -> list[Step]:
    steps = []
    for written in text.replace(" ;; ", "\n").split("\n"):
        found = _LINE.match(written)
        if found is None:
            continue
        verb = Verb(found[1])
        line, breaks = found[2].rstrip(), _FIELDS.get(verb, 1) - 1
        parts = _FIELD_BREAK.split(line, maxsplit=breaks) if breaks else [line]
        if verb in _ESCAPED:
            parts = [_unescape(part) for part in parts]
        steps.append(Step(verb=verb, fields=tuple(parts)))
    return steps


def _unescape(text: str) -> str:
    replaced = {"\\n": "\n", "\\t": "\t", "\\\\": "\\"}
    return re.sub(r"\\[nt\\]", lambda found: replaced[found[0]], text)


def _usage(step: Step) -> Usage:
    figures = [int(figure) for figure in re.findall(r"\d+", step.text)]
    if not figures:
        message = f"tokens: needs INPUT [CACHED] OUTPUT, got {step.text!r}"
        raise ValueError(message)
    cached = figures[1] if len(figures) > 2 else 0
    output = figures[-1] if len(figures) > 1 else Usage().output
    return Usage(input=figures[0], cached=cached, output=output)


def new_call_id(prefix: str, answer: int, number: int) -> str:
    """Return a call id, unique everywhere, that says which answer of its script made it."""
    return f"{prefix}_s{answer}n{number}_{uuid.uuid4().hex[:16]}"


def next_answer(call_ids: list[str]) -> int:
    """Return the number of the answer due after the calls made since the person's last text."""
    made = [int(found[1]) for found in map(_CALL_ID.match, call_ids) if found is not None]
    return max(made) + 1 if made else 0
