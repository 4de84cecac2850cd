"""The form of a content that a person edits: Markdown with one heading per part.

It round-trips: what `to_markdown` writes of a valid content, `from_markdown` reads as the same.
Sections are `# Objective`, `# Disposition`, `# State`, `# Next action`, `# Omissions`; statements
stand below `## state[0]`, omissions below `## redacted` (their kind). `- evidence: …`,
`- covers: …` and `- ref: …` lines end an entry. A text line that looks like one of these is
written behind a backslash. Comments are for the person and are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from handoffs.models import (
    NEXT_ACTION,
    SCHEMA,
    Content,
    Finding,
    Omission,
    RefKind,
    Statement,
    state_field,
)
from handoffs.parsing import Parsed, Resolve, merged, parse_content
from handoffs.shape import invalid

_HELP: Final = (
    "One heading per part; comments like this one are not read. A text line that begins with #,"
    " <!--, a backslash or a line such as - evidence: is written behind a backslash. Evidence is a"
    " short reference (e1532, a commit, a check id) or kind:id@sha256:digest."
)
_LOOKS_LIKE_OURS: Final = re.compile(r"\\|#|<!--|- (?:evidence|covers|ref):")
_DETAIL: Final = re.compile(r"- (evidence|covers|ref):[ \t]*(.*)")
_REF: Final = re.compile(r"([a-z]+):([!-~]{1,200})@(sha256:[0-9a-f]{64})")
_STATE: Final = re.compile(r"state\[(\d{1,6})\]")
_BLOCKED: Final = re.compile(r"blocked\s+by\s+(state\[\d{1,6}\])")
_UNKNOWN: Final = ""
"""Section of what stands below a heading that is not known."""
_SECTIONS: Final = {
    "objective": "objective",
    "disposition": "disposition",
    "state": "state",
    "next action": NEXT_ACTION,
    "omissions": "omissions",
}


def to_markdown(
    content: Content, findings: Iterable[Finding] = (), notes: Iterable[str] = ()
) -> str:
    """Return the editable form, with findings as comments where they belong, notes at the top."""
    by_field: dict[str, list[Finding]] = {}
    for finding in findings:
        by_field.setdefault(finding.field, []).append(finding)
    lines = [f"<!-- {SCHEMA}. {_HELP} -->", *(_comment(note) for note in notes)]
    lines += _comments(by_field.pop("", []))
    lines += _section("# Objective", _escaped(content.objective), by_field, "objective")
    lines += _section("# Disposition", [_disposition(content)], by_field, "disposition", "blocker")
    lines += _section("# State", [], by_field, "state")
    for index, item in enumerate(content.state):
        name = state_field(index)
        lines += _section(f"## {name}", _statement(item), by_field, name)
    action = content.next_action
    text = [] if action is None else _statement(action)
    lines += _section("# Next action", text, by_field, NEXT_ACTION)
    lines += _section("# Omissions", [], by_field, "omissions")
    for index, omission in enumerate(content.omissions):
        name = f"omissions[{index}]"
        lines += _section(f"## {omission.kind.value}", _omission(omission), by_field, name)
    rest = [item for left in by_field.values() for item in left]
    return "\n".join([*lines, *_comments(rest)]) + "\n"


def _section(
    heading: str, body: Sequence[str], by_field: dict[str, list[Finding]], *names: str
) -> list[str]:
    found = [item for name in names for item in by_field.pop(name, [])]
    return ["", heading, "", *_comments(found), *body]


def _comments(findings: Iterable[Finding]) -> list[str]:
    return [_comment(_sentence(item)) for item in findings]


def _comment(text: str) -> str:
    return f"<!-- {' '.join(text.split()).replace('--', '- -')} -->"


def _sentence(item: Finding) -> str:
    place = f" {item.field}" if item.field else ""
    return f"{item.severity.value} {item.code}{place}: {item.detail}. {item.fix}"


def _escaped(text: str) -> list[str]:
    return [f"\\{line}" if _LOOKS_LIKE_OURS.match(line) else line for line in text.split("\n")]


def _disposition(content: Content) -> str:
    by = "" if content.blocker is None else f" by {state_field(content.blocker)}"
    return f"{content.disposition.value}{by}"


def _statement(item: Statement) -> list[str]:
    evidence = [f"- evidence: {ref}" for ref in item.evidence]
    return [*_escaped(item.text), *(["", *evidence] if evidence else [])]


def _omission(omission: Omission) -> list[str]:
    details = [f"- covers: {', '.join(omission.covers)}"] if omission.covers else []
    details += [] if omission.ref is None else [f"- ref: {omission.ref}"]
    return [*_escaped(omission.text), *(["", *details] if details else [])]


# --- reading ------------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class _Entry:
    """One heading and what stands below it."""

    section: str
    label: str | None = None
    """Of a `##` heading."""
    lines: list[str] = field(default_factory=list)
    details: list[tuple[str, str]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.lines).strip("\n")

    def named(self, name: str) -> list[str]:
        return [value for key, value in self.details if key == name and value]


def from_markdown(text: str, *, resolve: Resolve | None = None) -> Parsed:
    """Return the content in an edited form. Never raises for what is in it.

    Statements may be moved, taken out and added (`## state`): a blocker and covered fields are
    followed to their new place.
    """
    entries, findings = _read(text.replace("\r\n", "\n").removeprefix("\ufeff"))
    moved = _places(entries, findings)
    value = _value(entries, moved, findings)
    parsed = parse_content(value, resolve=resolve)
    return replace(parsed, findings=merged(tuple(findings), parsed.findings))


def _read(text: str) -> tuple[list[_Entry], list[Finding]]:
    entries: list[_Entry] = []
    findings: list[Finding] = []
    for line in _without_comments(text):
        if line.startswith("#"):
            entries.append(_heading(line, entries, findings))
        elif entries:
            _take(entries[-1], line)
        elif line.strip():
            findings.append(invalid("", "there is text before the first heading", "Move it"))
    return entries, findings


def _without_comments(text: str) -> Iterator[str]:
    inside = False
    for line in text.split("\n"):
        if not inside and not line.startswith("<!--"):
            yield line
            continue
        inside = "-->" not in line


def _heading(line: str, entries: list[_Entry], findings: list[Finding]) -> _Entry:
    level = len(line) - len(line.lstrip("#"))
    label = line[level:].strip()
    if level == 1 and label.lower() in _SECTIONS:
        section = _SECTIONS[label.lower()]
        if any(entry.section == section for entry in entries):
            findings.append(invalid(section, "the section stands there twice", "Join them"))
        return _Entry(section=section)
    if level == 2 and entries and entries[-1].section in ("state", "omissions"):
        return _Entry(section=entries[-1].section, label=label)
    findings.append(
        Finding(
            code="field_unknown",
            field=label[:80],
            detail="there is no such heading",
            fix="Use the headings that were there, or write \\# for text",
        )
    )
    return _Entry(section=_UNKNOWN)


def _take(entry: _Entry, line: str) -> None:
    detail = _DETAIL.fullmatch(line)
    if detail is not None:
        entry.details.append((detail[1], detail[2].strip()))
    elif entry.details and not line.strip():
        return
    else:
        entry.lines.append(line[1:] if line.startswith("\\") else line)


def _places(entries: list[_Entry], findings: list[Finding]) -> dict[str, str]:
    """Return where the statement of each label stands now."""
    moved: dict[str, str] = {}
    items = [entry for entry in entries if entry.section == "state" and entry.label is not None]
    for index, entry in enumerate(items):
        label = entry.label or ""
        if _STATE.fullmatch(label):
            if label in moved:
                findings.append(
                    invalid(state_field(index), "two statements have one label", "Use ## state")
                )
            moved.setdefault(label, state_field(index))
    return moved


def _value(
    entries: list[_Entry], moved: dict[str, str], findings: list[Finding]
) -> dict[str, object]:
    value: dict[str, object] = {"schema": SCHEMA, "objective": "", "state": [], "omissions": []}
    state: list[object] = []
    omissions: list[object] = []
    for entry in entries:
        if entry.section == "objective":
            value["objective"] = entry.text
        elif entry.section == "disposition":
            value.update(_course(entry.text.strip(), moved, findings))
        elif entry.section == NEXT_ACTION:
            value[NEXT_ACTION] = _given(entry) if entry.text or entry.details else None
        elif entry.section == _UNKNOWN:
            continue  # its heading is a finding already
        elif entry.label is None:
            if entry.text.strip() or entry.details:
                findings.append(invalid(entry.section, "there is text without a ## heading"))
        elif entry.section == "state":
            state.append(_given(entry))
        else:
            omissions.append(_given_omission(entry, moved))
    return {**value, "state": state, "omissions": omissions}


def _course(text: str, moved: dict[str, str], findings: list[Finding]) -> dict[str, object]:
    blocked = _BLOCKED.fullmatch(text)
    if blocked is None:
        return {"disposition": text, "blocker": None}
    place = _STATE.fullmatch(moved.get(blocked[1], ""))
    if place is None:
        findings.append(
            Finding(
                code="blocker_missing",
                field="blocker",
                detail=f"there is no statement {blocked[1]}",
                fix="Write: blocked by state[N]",
            )
        )
    return {"disposition": "blocked", "blocker": None if place is None else int(place[1])}


def _given(entry: _Entry) -> dict[str, object]:
    return {"text": entry.text, "evidence": [_ref(given) for given in entry.named("evidence")]}


def _given_omission(entry: _Entry, moved: dict[str, str]) -> dict[str, object]:
    named = [name.strip() for value in entry.named("covers") for name in value.split(",")]
    covers = [moved.get(name, name) for name in named if name]
    gone = {name for name in named if _STATE.fullmatch(name) and name not in moved}
    refs = entry.named("ref")
    return {
        "kind": (entry.label or "").strip(),
        "text": entry.text,
        "covers": [name for name in covers if name not in gone],
        "ref": _ref(refs[0]) if refs else None,
    }


def _ref(given: str) -> dict[str, object] | str:
    match = _REF.fullmatch(given)
    if match is None or match[1] not in tuple(kind.value for kind in RefKind):
        return given
    return {"kind": match[1], "id": match[2], "digest": match[3]}
