"""A rendered handoff read back: what a receiver was told, as values.

`outline` says what a form of a content tells, `read_back` takes it from the text; both give the
same. Texts are as they are shown: with invisible characters written as escapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from handoffs.models import NEXT_ACTION, Basis, Disposition, OmissionKind, Ref
from handoffs.rendering import (
    BEGIN,
    CONTINUED,
    END,
    PREFIX,
    SHORT_DIGEST,
    Form,
    Handed,
    Rendered,
)
from ledger.errors import BadDataError
from ledger.visible import show

_KEY: Final = re.compile(
    r"(handoff (?:full|compact|pointer)|by|notice|superseded|objective|disposition|warning|dropped"
    r"|refs|read|state\[\d{1,4}\] (?:cited|declared)|next_action (?:cited|declared)"
    r"|omission\[\d{1,4}\] [a-z_]{1,40}(?: \([^()\n]{0,600}\))?): ?(.*)",
    re.DOTALL,
)
_HEAD: Final = re.compile(r"(?:prepared|revision (\d{1,18})) (\S{1,60}) (sha256:[0-9a-f]{64})")
_STATE: Final = re.compile(r"(?<=@[0-9a-f]{12})![a-z_]+$")
"""What became of a reference, behind its digest."""
_COURSE: Final = re.compile(r"(continuable|blocked|complete)(?: by state\[(\d{1,4})\])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One text that was told, and the references shown with it, in their short form."""

    text: str
    basis: Basis | None = None
    kind: OmissionKind | None = None
    covers: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """What a form of a handoff tells."""

    form: Form
    revision: int | None
    prepared_id: str
    content_digest: str
    objective: str | None = None
    disposition: Disposition | None = None
    blocker: int | None = None
    told: tuple[tuple[str, Told], ...] = ()
    """`state[i]`, `next_action`, `omission[i]`, in order."""
    refs: tuple[str, ...] = ()
    """References of statements that were dropped."""
    dropped: tuple[str, ...] = ()


def outline(handed: Handed, rendered: Rendered) -> Outline:
    """Return what `rendered` tells of `handed`."""
    content, form = handed.content, rendered.form
    head = Outline(
        form=form,
        revision=handed.revision,
        prepared_id=handed.prepared_id,
        content_digest=handed.content_digest,
    )
    if form is Form.POINTER:
        return head
    dropped = set(rendered.dropped)
    told = [(name, item) for name, item in _everything(handed) if name not in dropped]
    shown = {ref for _, item in told for ref in item.refs}
    refs = () if "refs" in dropped or form is Form.FULL else tuple(map(short, content.refs))
    return Outline(
        form=form,
        revision=head.revision,
        prepared_id=head.prepared_id,
        content_digest=head.content_digest,
        objective=None if "objective" in dropped else show(content.objective),
        disposition=content.disposition,
        blocker=content.blocker,
        told=tuple(told),
        refs=tuple(ref for ref in refs if ref not in shown),
        dropped=rendered.dropped,
    )


def _everything(handed: Handed) -> Iterator[tuple[str, Told]]:
    for field, statement in handed.content.statements:
        refs = tuple(map(short, statement.evidence))
        yield field, Told(text=show(statement.text), basis=statement.basis, refs=refs)
    for index, omission in enumerate(handed.content.omissions):
        ref = () if omission.ref is None else (short(omission.ref),)
        yield (
            f"omission[{index}]",
            Told(text=show(omission.text), kind=omission.kind, covers=omission.covers, refs=ref),
        )


def short(ref: Ref) -> str:
    """Return a reference as it is shown, without what became of it."""
    return f"{ref.kind.value}:{ref.id}@{ref.digest.removeprefix('sha256:')[:SHORT_DIGEST]}"


def read_back(text: str | Sequence[str]) -> Outline:
    """Return what a rendered handoff tells, from its fenced text or its lines.

    Raises BadDataError when it is not one.
    """
    lines = _unfenced(text) if isinstance(text, str) else list(text)
    entries = [*_entries(lines)]
    head = next((entry for entry in entries if entry[0].startswith("handoff ")), None)
    match = None if head is None else _HEAD.fullmatch(head[1])
    if head is None or match is None:
        raise BadDataError("this text holds no handoff")
    values = {key: value for key, value, _ in entries}
    course = _COURSE.fullmatch(values.get("disposition", ""))
    return Outline(
        form=Form(head[0].split()[1]),
        revision=None if match[1] is None else int(match[1]),
        prepared_id=match[2],
        content_digest=match[3],
        objective=values.get("objective"),
        disposition=None if course is None else Disposition(course[1]),
        blocker=None if course is None or course[2] is None else int(course[2]),
        told=tuple(_told(*entry) for entry in entries if _is_told(entry[0])),
        refs=tuple(values.get("refs", "").split()),
        dropped=tuple(values.get("dropped", "").split()),
    )


def _unfenced(text: str) -> list[str]:
    lines: list[str] = []
    ending: str | None = None
    for line in text.split("\n"):
        if ending is None:
            if line.startswith(f"{BEGIN} "):
                ending = END + line[len(BEGIN) :]
        elif line == ending:
            return lines
        elif line.startswith(PREFIX.rstrip()):
            lines.append(line[len(PREFIX) :])
        else:
            break
    raise BadDataError("this text holds no whole handoff")


def _entries(lines: Sequence[str]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield key, text and references; a line that begins with a space continues the text."""
    key: str | None = None
    text: list[str] = []
    refs: tuple[str, ...] = ()
    for line in lines:
        if key is not None and (line.startswith(CONTINUED) or not line.strip()):
            text.append(line[len(CONTINUED) :])
            continue
        if key is not None and line.startswith("= "):
            refs = tuple(_STATE.sub("", token) for token in line[2:].split(" "))
            continue
        if key is not None:
            yield key, "\n".join(text), refs
        match = _KEY.fullmatch(line)
        if match is None:
            raise BadDataError("a line of this handoff cannot be read", detail=line[:80])
        key, text, refs = match[1], [match[2]], ()
    if key is not None:
        yield key, "\n".join(text), refs


def _is_told(key: str) -> bool:
    return key.startswith(("state[", NEXT_ACTION, "omission["))


def _told(key: str, text: str, refs: tuple[str, ...]) -> tuple[str, Told]:
    name, _, rest = key.partition(" ")
    if not name.startswith("omission"):
        return name, Told(text=text, basis=Basis(rest), refs=refs)
    kind, _, covers = rest.partition(" ")
    covered = tuple(covers.strip("()").split())
    return name, Told(text=text, kind=OmissionKind(kind), covers=covered, refs=refs)
