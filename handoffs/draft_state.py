"""The state in a draft: how it ended, checks, files, plan, and what was said, quoted and cited."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from handoffs.draft_material import FAILED, Check, Material, refs
from handoffs.draft_words import code, day, moment, quoted
from handoffs.facts import Comparison
from handoffs.ledger_facts import snapshot_ref
from handoffs.models import ActorKind, CheckStatus, ReceiptStatus, Ref, RefKind, Statement
from handoffs.repository import snapshot
from ledger.gitstate import GitState
from ledger.visible import show

if TYPE_CHECKING:
    from ledger.store import Store

REQUEST_BYTES: Final = 300
REPEATED_BYTES: Final = 100
"""Of a request that is the objective already."""
EARLIER_BYTES: Final = 160
SAID_BYTES: Final = 500
PATHS: Final = 12
PATH_BYTES: Final = 80
FOLDERS: Final = 5
PLAN: Final = 6
_CHECK: Final = 2
"""Rank of the newest check and of failed ones."""


class Said(NamedTuple):
    """A statement and how gladly it is given up for the size: the greatest first."""

    rank: int
    statement: Statement


def statements(store: Store, material: Material, state: GitState) -> list[Said]:
    """Return what is known, in the order in which a receiver who has little room needs it."""
    git = snapshot_ref(snapshot(state))
    trees: tuple[Ref, ...] = () if git is None else (git,)
    checks = [(_check_rank(number, check), check) for number, check in enumerate(material.checks)]
    found = [_ended(store, material)]
    found += [_of_check(check, rank) for rank, check in checks if rank == _CHECK]
    found += _of_plan(store, material)
    if material.changed:
        found.append(said(4, _changed_words(material), trees or _last(store, material)))
    found += _of_talk(store, material)
    found += [_of_check(check, rank) for rank, check in checks if rank != _CHECK]
    if state.paths and git is not None:
        found.append(said(7, _uncommitted(material, state), trees))
    if material.before is not None:
        found.append(said(2, _before_words(material), _before_ref(material)))
    return found


def _of_talk(store: Store, material: Material) -> list[Said]:
    found = []
    talk, first = material.talk, material.inferred_from
    if talk.asked:
        words = "; ".join(
            f"e{e.seq} {quoted(e.text, REPEATED_BYTES if e == first else REQUEST_BYTES)}"
            for e in talk.asked
        )
        found.append(said(1, f"The person asked: {words}", refs(store, talk.asked)))
    if talk.earlier:
        words = "; ".join(f"e{e.seq} {quoted(e.text, EARLIER_BYTES)}" for e in talk.earlier)
        text = f"Before that the person said, newer words count: {words}"
        found.append(said(6, text, refs(store, talk.earlier)))
    if talk.on_the_way:
        words = "; ".join(f"e{e.seq} {quoted(e.text, EARLIER_BYTES)}" for e in talk.on_the_way)
        text = f"On the way {material.run.entry} said: {words}"
        found.append(said(5, text, refs(store, talk.on_the_way)))
    if talk.said is not None:
        words = quoted(talk.said.text, SAID_BYTES)
        text = f"{material.run.entry} said last (e{talk.said.seq}): {words}"
        found.append(said(5, text, refs(store, [talk.said])))
    return found


def _of_plan(store: Store, material: Material) -> list[Said]:
    plan = material.plan
    if plan is None or not plan.open:
        return []
    listed = "; ".join(quoted(text, 120) for text in plan.open[:PLAN])
    more = len(plan.open) - PLAN
    when = f" of {day(plan.at)}, not touched since" if plan.older else ""
    done = len(plan.items) - len(plan.open)
    words = f"Open in the plan of {plan.entry}{when} ({done} of {len(plan.items)} done): {listed}"
    words += f" and {more} more" if more > 0 else ""
    return [said(3, words, refs(store, [plan.event]))]


def _ended(store: Store, material: Material) -> Said:
    run = material.run
    state, error = material.turn or ("unknown", None)
    words = {
        "complete": "was answered",
        "interrupted": "was interrupted",
        "failed": "failed",
        "open": "was cut off",
    }.get(state, "ended in a way that is not recorded")
    text = f"The last turn of {run.entry} {words}"
    cut_off = material.unanswered if state != "complete" else None
    if cut_off is not None:
        what = code(cut_off.text, 160) if cut_off.text.strip() else show(cut_off.tool or "a tool")
        text += f" while {what} ran, what came of that is not known"
    if error:
        text += f": {quoted(error, 200)}"
    if run.signal is not None:
        text += f"; the program was ended by signal {run.signal}"
    elif run.exit_code:
        text += f"; the program ended with exit {run.exit_code}"
    if material.limit is not None:
        text += f"; its provider's limit was reached: {quoted(material.limit, 160)}"
    evidence = _last(store, material) if cut_off is None else refs(store, [cut_off])
    return said(0, text + ".", evidence)


def _last(store: Store, material: Material) -> tuple[Ref, ...]:
    events = [material.talk.said, *reversed(material.talk.asked)]
    return refs(store, [max((e for e in events if e), key=lambda e: e.seq, default=None)])


def _check_rank(number: int, check: Check) -> int:
    return _CHECK if number == 0 or check.status in FAILED else 8


def _of_check(check: Check, rank: int) -> Said:
    return said(rank, _check_words(check), (check.ref,))


def _check_words(check: Check) -> str:
    command = code(check.command, 160)
    line = "" if check.exit_code is None else f"exit {check.exit_code}"
    how = "its result is not known"
    if check.status is CheckStatus.PASSED:
        how = "passed" + (f" ({line})" if check.exit_code == 0 else " by its summary")
    elif check.status is CheckStatus.TIMED_OUT:
        how = f"was ended by a time limit ({line or 'no exit code'})"
    elif check.status in FAILED:
        counted = f"{check.failures} failures" if check.failures else ""
        how = f"failed ({', '.join(filter(None, (line, counted)))})"
    elif check.status is CheckStatus.UNAVAILABLE:
        how = f"could not be started ({line or 'no exit code'})"
    elif check.exit_code == 0:
        how += ", the exit code of the line does not tell it"
    elif line:
        how += f" ({line})"
    return f"Check {command} at {moment(check.at)}: {how}{_SINCE[check.since]}."


_SINCE: Final = {
    Comparison.CHANGED: "; files were changed after it",
    Comparison.SAME: "; no file was changed after it",
    Comparison.UNKNOWN: "",
}


def _changed_words(material: Material) -> str:
    """List the files, neighbours with the same fate together."""
    words = {"create": "created", "delete": "deleted", "edit": "edited"}
    listed = []
    for (action, entry), group in groupby(material.changed[:PATHS], key=lambda item: item[1:]):
        paths = ", ".join(code(path, PATH_BYTES) for path, _, _ in group)
        listed.append(f"{paths} ({words.get(action, action)} by {entry})")
    return "Changed files: " + ", ".join(listed) + _more(material)


def _more(material: Material) -> str:
    """Say how many files are not listed, and in which directories most of them are."""
    rest = [path for path, _, _ in material.changed[PATHS:]]
    if not rest:
        return ""
    folders = Counter(path.rpartition("/")[0] or "." for path in rest)
    most = sorted(folders.items(), key=lambda item: (-item[1], item[0]))[:FOLDERS]
    where = ", ".join(f"{code(folder, PATH_BYTES)} ({number})" for folder, number in most)
    return f" and {len(rest)} more in {where}" + (", …" if len(folders) > FOLDERS else "")


def _uncommitted(material: Material, state: GitState) -> str:
    """List what git sees; paths that are listed as changed already are counted."""
    told = {path for path, _, _ in material.changed[:PATHS]}
    both = sum(path in told for path in state.paths)
    named = [
        f"{entry[0]} {code(path, PATH_BYTES)}"
        for path, entry in sorted(state.paths.items())
        if path not in told
    ]
    more = len(named) - PATHS
    head = "no commit" if state.head is None else state.head[:12]
    where = f"{show(state.branch, newline=False)} at {head}" if state.branch else head
    listed = [f"{both} of the changed files"] if both else []
    listed += named[:PATHS]
    text = f"Uncommitted on {where}: {', '.join(listed)}"
    return text + (f" and {more} more" if more > 0 else "")


def _before_words(material: Material) -> str:
    before = material.before
    if before is None:
        return ""
    who = before.author.owner or before.author.harness or str(before.author.kind)
    text = f"This work followed the handoff {before.name} by {who} of {day(before.created_at)}"
    text += f", objective {quoted(before.content.objective, 160)}"
    if before.content.next_action is not None:
        text += f", next action {quoted(before.content.next_action.text, 240)}"
    return f"{text}{_became(material)}."


def _became(material: Material) -> str:
    """Say what became of the handoff before: what its receiver answered and how it ended."""
    answer, outcome = material.answer, material.outcome
    if answer is None:
        return ""
    who = answer.receiver.owner or answer.receiver.harness or str(answer.receiver.kind)
    if answer.receiver.kind is ActorKind.AGENT and answer.receiver.harness:
        who = answer.receiver.harness
    if answer.status is ReceiptStatus.ACCEPTED:
        words = f"; {who} accepted it"
        if outcome is not None:
            words += f" and says it ended {outcome.status}: {quoted(outcome.summary, 200)}"
        if outcome is not None and outcome.remaining:
            words += f", remaining: {quoted('; '.join(outcome.remaining), 200)}"
        return words
    return f"; {who} gave it back as {answer.status}: {quoted(answer.message or '', 200)}"


def _before_ref(material: Material) -> tuple[Ref, ...]:
    before = material.before
    if before is None:
        return ()
    return (Ref(kind=RefKind.HANDOFF, id=before.prepared_id, digest=before.content_digest),)


def said(rank: int, text: str, evidence: tuple[Ref, ...]) -> Said:
    """Make a statement."""
    return Said(rank=rank, statement=Statement(text=text, evidence=evidence))
