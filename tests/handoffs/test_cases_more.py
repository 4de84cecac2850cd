"""Other situations of the kinds that the table has: what is given, which codes come of it.

Those about words alone are judged at the door, as input of a person or a model is; the others are
played against a store.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from handoffs.canonical import content_digest, prepared_id
from handoffs.errors import HeadConflictError, RefusedError
from handoffs.facts import Comparison
from handoffs.models import (
    ActorKind,
    Author,
    Base,
    CheckStatus,
    Confirmation,
    EvidenceState,
    Omission,
    OmissionKind,
    Outcome,
    OutcomeStatus,
    Reason,
    ReceiptStatus,
    Ref,
    RefKind,
    Statement,
    errors,
)
from handoffs.parsing import parse_content, parse_reasons
from handoffs.store import answering, committing, reading, receiving, states
from handoffs.store.answering import Answer
from handoffs.validation import findings_of
from ledger import forget, notes, workstreams
from tests.handoffs.contents import codes, facts, ref, run, sha
from tests.handoffs.setting import ALL_CONFIRMED, PERSON, Setting, run_git
from tests.handoffs.test_cases_store import answer, outcome, tick
from tests.handoffs.test_validation import BASE, PASSED, cited, judged

# --- at the door ----------------------------------------------------------------------------------

EVENTS = [f"ev1-{number}" for number in range(40)]
KNOWN = facts(states={ref(name): EvidenceState.AVAILABLE for name in EVENTS})


def given(**changes: Any) -> Callable[[], Sequence[str]]:
    return lambda: codes(judged(**changes))


def returned(objective: str, expected: str) -> Callable[[], Sequence[str]]:
    value = {**BASE, "objective": objective}
    return lambda: codes(findings_of(parse_content(value), facts(), expected_objective=expected))


def checked(text: str, *evidence: str, **check: Any) -> Callable[[], Sequence[str]]:
    return lambda: codes(judged(facts(run(**check)), state=cited(text, *evidence)))


def raw(text: str | bytes) -> Callable[[], Sequence[str]]:
    return lambda: codes(findings_of(parse_content(text), facts()))


def evidence(*names: str) -> Callable[[], Sequence[str]]:
    return lambda: codes(judged(KNOWN, state=cited("a in b.py", *names)))


AT_THE_DOOR: dict[str, tuple[Callable[[], Sequence[str]], list[str]]] = {
    # objective
    "objective of spaces": (given(objective=" \n\t "), ["objective_missing"]),
    "objective null": (given(objective=None), ["objective_missing"]),
    "objective of 2000": (given(objective="x" * 2000), []),
    "objective of 2001": (given(objective="x" * 2001), ["objective_too_long"]),
    "objective of 2000 wide characters": (given(objective="漢" * 1500), []),
    "objective with a line break at its end": (given(objective="Fix parser\n"), []),
    "objective that turns text around": (given(objective="Fix \u202e x"), ["text_control_chars"]),
    "objective in other letters": (returned("Fix Parser", "Fix parser"), ["objective_changed"]),
    "objective with an addition": (returned("Fix parser!", "Fix parser"), ["objective_changed"]),
    "objective decomposed": (returned("Caf\u0065\u0301", "Caf\u00e9"), []),
    "objective padded and expected": (returned("  Fix parser ", "Fix parser"), []),
    # disposition
    "blocked without a blocker": (given(disposition="blocked"), ["blocker_missing"]),
    "blocked by nothing": (given(disposition="blocked", blocker=None), ["blocker_missing"]),
    "blocked by what is not there": (given(disposition="blocked", blocker=1), ["blocker_missing"]),
    "blocked by something negative": (
        given(disposition="blocked", blocker=-1),
        ["blocker_missing"],
    ),
    "blocked, no next action": (given(disposition="blocked", blocker=0, next_action=None), []),
    "continuable with a blocker": (given(blocker=0), ["blocker_unexpected"]),
    "complete with a blocker": (
        given(disposition="complete", blocker=0, next_action=None),
        ["blocker_unexpected"],
    ),
    "complete, no next action": (given(disposition="complete", next_action=None), []),
    "disposition in capitals": (given(disposition="Continuable"), ["disposition_invalid"]),
    "disposition missing": (given(disposition=...), ["disposition_invalid"]),
    "disposition a number": (given(disposition=1), ["disposition_invalid"]),
    "continuable, next action null": (given(next_action=None), ["next_action_missing"]),
    "continuable, next action empty": (given(next_action={"text": " "}), ["text_empty"]),
    # limits
    "text of 2000": (given(state=[{"text": "a.py " + "x" * 1995}]), []),
    "text of 2001": (given(state=[{"text": "a.py " + "x" * 1996}]), ["text_too_long"]),
    "text of 2000 after trimming": (given(state=[{"text": "  " + "a" * 2000 + "\n"}]), []),
    "text empty": (given(state=[{"text": ""}]), ["text_empty"]),
    "text with NUL": (given(state=[{"text": "a\x00b.py"}]), ["text_control_chars"]),
    "text with a C1 control": (given(state=[{"text": "a\x9bb.py"}]), ["text_control_chars"]),
    "text with tabs and line breaks": (given(state=[{"text": "a.py\n\tb.py"}]), []),
    "text with carriage returns": (
        given(state=[{"text": "a.py\r\nb.py"}]),
        ["text_control_chars"],
    ),
    "text with an isolate": (given(state=[{"text": "a\u2066b\u2069.py"}]), ["text_control_chars"]),
    "surrogate in JSON": (
        raw(json.dumps({**BASE, "objective": "\ud83d"})),
        ["text_not_utf8"],
    ),
    "surrogate pair in JSON": (raw(json.dumps({**BASE, "objective": "\U0001f600 x"})), []),
    "state of 32": (given(state=[{"text": f"{n}.py"} for n in range(32)]), []),
    "state of 33": (given(state=[{"text": f"{n}.py"} for n in range(33)]), ["state_too_many"]),
    "evidence of 16": (evidence(*EVENTS[:16]), []),
    "evidence of 17": (evidence(*EVENTS[:17]), ["evidence_too_many"]),
    "evidence of 16 and one twice": (evidence(*EVENTS[:16], EVENTS[0]), []),
    "omission of 500": (given(omissions=[{"kind": "other", "text": "x" * 500}]), []),
    "omission of 501": (
        given(omissions=[{"kind": "other", "text": "x" * 501}]),
        ["text_too_long"],
    ),
    "content too large": (
        given(state=[{"text": f"{n}.py " + "x" * 1900} for n in range(8)]),
        ["content_too_large"],
    ),
    "schema missing": (given(schema=...), ["schema_unknown"]),
    "schema with a space": (given(schema="handoff.v1 "), ["schema_unknown"]),
    "schema a number": (given(schema=1), ["schema_unknown"]),
    "field unknown": (given(author="me"), ["field_unknown"]),
    "field unknown in a statement": (
        given(state=[{"text": "a.py", "verified": True}]),
        ["field_unknown"],
    ),
    "reason in capitals": (lambda: codes(parse_reasons(["Delegation"])[1]), ["reason_unknown"]),
    "reasons of which one is unknown": (
        lambda: codes(parse_reasons(["delegation", "mood"])[1]),
        ["reason_unknown"],
    ),
    "reason empty": (lambda: codes(parse_reasons([""])[1]), ["reason_unknown"]),
    # what a model returns
    "model: no state at all": (given(state=...), ["state_missing"]),
    "model: state null": (given(state=None), ["state_missing"]),
    "model: an empty object": (
        raw("{}"),
        ["schema_unknown", "objective_missing", "state_missing", "disposition_invalid"],
    ),
    "model: cites by a made-up digest": (
        given(
            state=[
                {
                    "text": "a in b.py",
                    "evidence": [{"kind": "ledger", "id": "ev1-a", "digest": sha("another")}],
                }
            ]
        ),
        ["evidence_missing"],
    ),
    # checks
    "claims CI, nothing cited": (given(state=[{"text": "CI is green."}]), ["check_claim_uncited"]),
    "claims in Chinese": (given(state=[{"text": "所有测试都通过了"}]), ["check_claim_uncited"]),
    "hedged": (given(state=[{"text": "The tests in t.py should pass now"}]), []),
    "negated": (given(state=[{"text": "The tests in t.py do not pass yet"}]), []),
    "an unknown result": (
        checked(PASSED, "chk-1", status=CheckStatus.UNKNOWN, exit_code=0),
        ["check_claim_wrong_evidence"],
    ),
    "a check that timed out": (
        checked(PASSED, "chk-1", status=CheckStatus.TIMED_OUT, exit_code=124),
        ["check_claim_contradicted"],
    ),
    "a passed exit with failures counted": (
        checked(PASSED, "chk-1", failures=1),
        ["check_claim_contradicted"],
    ),
    "an event, no check": (checked(PASSED, "ev1-a"), ["check_claim_wrong_evidence"]),
    "a check of another tree": (
        checked(PASSED, "chk-1", tree=Comparison.CHANGED),
        ["check_claim_stale"],
    ),
    # vague
    "vague: continue": (given(next_action={"text": "Continue."}), ["next_action_empty_wording"]),
    "vague: next steps": (
        given(next_action={"text": "Proceed with the next steps"}),
        ["next_action_empty_wording"],
    ),
    "vague: as discussed": (
        given(next_action={"text": "Do it as discussed above"}),
        ["next_action_transcript_reference"],
    ),
    "vague: quoted only": (
        given(next_action={"text": 'Replace the label "as discussed above" in form.html'}),
        [],
    ),
}


@pytest.mark.parametrize("name", sorted(AT_THE_DOOR))
def test_at_the_door(name: str) -> None:
    play, expected = AT_THE_DOOR[name]
    assert sorted(play()) == sorted(expected)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"not json",
        b"[]",
        b'"text"',
        b"null",
        b'{"state": 7}',
        b'{"state": "text"}',
        b'{"state": ["text"]}',
        b'{"state": [[]]}',
        b'{"state": [{"text": 7}]}',
        b'{"next_action": "text"}',
        b'{"omissions": {}}',
        b'{"blocker": "0"}',
        b'{"blocker": true}',
        b'{"blocker": 1.0}',
        b'{"a": NaN}',
        b'{"state": [{"text": "a.py", "evidence": "e1"}]}',
        b'{"state": [{"text": "a.py", "evidence": [7]}]}',
        b"\xff\xfe{}",
        b'{"objective": "a", "objective": "b"}',
        b"[" * 5000,
    ],
)
def test_whatever_a_model_returns_it_is_findings_and_no_error(text: bytes) -> None:
    found = findings_of(parse_content(text), facts())
    assert errors(found)
    assert all(item.code and item.detail and item.fix for item in found)


# --- with a store ---------------------------------------------------------------------------------

Codes = list[str]


def content_of(here: Setting, *words: str, **how: Any) -> Any:
    return here.content(*words, **how)


def other_of(here: Setting) -> Setting:
    made = workstreams.create(here.store, here.workstream.repository, "other")
    return Setting(store=here.store, workstream=made, tree=here.tree)


def unchanged_after(change: Callable[[Any], Any]) -> Callable[[Setting], Codes]:
    """The same words once more, written in another way."""

    def case(here: Setting) -> Codes:
        first, second = here.says("please fix a.py"), here.says("and b.py")
        value = here.content(first, second, words="`café.py` is new")
        here.committed(value)
        tick(here)
        return [str(here.committed(change(value)).state)]

    return case


def old_words_again(here: Setting) -> Codes:
    here.committed(here.content())
    here.committed(here.content(words="`b.py` is new"))
    again = here.committed(here.content())
    assert (again.revision.revision, again.is_head) == (3, True)
    return [str(again.state)]


def pruned_and_retried(here: Setting) -> Codes:
    name = here.prepare(here.content()).prepared.prepared_id
    here.commit(name)
    for number in range(3):
        here.committed(here.content(words=f"`{number}.py` is new"))
    assert reading.prepared_value(here.store, name) is None
    again = here.commit(name)
    assert (again.revision.revision, again.is_head) == (1, False)
    return [str(again.state)]


def same_words_on_an_old_base(here: Setting) -> Codes:
    late = here.prepare(here.content())
    here.committed(here.content(words="`b.py` is new"))
    here.committed(here.content())
    done = here.commit(late)
    assert done.revision.revision == 2
    return [str(done.state)]


def behind_two(here: Setting) -> Codes:
    here.committed(here.content())
    late = here.prepare(here.content(words="`late.py` is new"))
    here.committed(here.content(words="`b.py` is new"))
    here.committed(here.content(words="`c.py` is new"))
    with pytest.raises(HeadConflictError) as conflict:
        here.commit(late)
    told = json.loads(json.dumps(conflict.value.facts))
    assert (told["expected_base"]["revision"], told["head"]["revision"]) == (1, 3)
    assert len(reading.revisions(here.store, here.workstream)) == 3
    raise conflict.value


def unknown_base(here: Setting) -> Codes:
    value = here.prepare(here.content()).prepared
    base = Base(revision=4, content_digest=sha("never"))
    name = prepared_id(here.workstream.uid, base, value.content_digest)
    here.commit(value._replace(base=base, prepared_id=name))
    return []


def of_another_id(here: Setting) -> Codes:
    value = here.prepare(here.content()).prepared
    here.commit(value._replace(prepared_id="prp_" + "a" * 26))
    return []


def other_words_under_the_id(here: Setting) -> Codes:
    value = here.prepare(here.content()).prepared
    here.commit(value._replace(content=here.content(words="`evil.py` is new")))
    return []


def evidence_gone(kind: str, *, then: str) -> Callable[[Setting], Codes]:
    """Evidence of a kind that is there when it is cited, and not any more afterwards."""

    def case(here: Setting) -> Codes:
        word, lose = losing(here, kind)
        made = here.prepare(here.content(word))
        if then == "commit":
            lose()
            here.commit(made)
            return []
        here.commit(made)
        lose()
        received = receiving.receive(here.store, here.workstream, "r1", here.tree)
        assert received is not None
        assert received.reestablish == ("state[1]", "next_action")
        if then == "clarify":
            answer(here, "r1", ReceiptStatus.NEEDS_CLARIFICATION, message="where is it")
            return []
        answer(here, "r1")
        return []

    return case


def losing(here: Setting, kind: str) -> tuple[str, Callable[[], object]]:
    """Return evidence and what takes it away."""
    if kind == "event":
        word = here.says("please fix a.py")
        name = here.ref(word).id
        return word, lambda: forget.forget(here.store, events=[name], who="ada")
    if kind == "file":
        (here.tree / "a.py").write_text("print(2)\n", encoding="utf-8")
        return "file:a.py", lambda: (here.tree / "a.py").write_text("print(3)\n", encoding="utf-8")
    if kind == "file gone":
        return "file:a.py", (here.tree / "a.py").unlink
    if kind == "note":
        note = notes.add(here.store, here.workstream, "mind the gap", author="ada")
        return f"note:{note.id}", lambda: here.store.db.execute("DELETE FROM note")
    assert kind == "commit"
    head = run_git(here.tree, "rev-parse", "HEAD")

    def rewritten() -> None:
        run_git(here.tree, "commit", "-q", "--amend", "--allow-empty", "-m", "other")
        run_git(here.tree, "reflog", "expire", "--expire=all", "--all")
        run_git(here.tree, "gc", "-q", "--prune=now")

    return head, rewritten


def of_other_scope(kind: str) -> Callable[[Setting], Codes]:
    def case(here: Setting) -> Codes:
        there = other_of(here)
        word = (
            there.says("their words") if kind == "event" else there.runs("pytest -q", 0, "1 passed")
        )
        if kind == "handoff":
            done = there.committed(there.content()).revision
            cited = Ref(kind=RefKind.HANDOFF, id=done.prepared_id, digest=done.content_digest)
        else:
            cited = there.ref(word)
        statement = Statement(text="See `a.py`", evidence=(cited,))
        here.prepare(here.content(state=(statement,)))
        return []

    return case


def in_another_scope(name_of: Callable[[Any], str], verb: str) -> Callable[[Setting], Codes]:
    """A handoff of one workstream that is used in another."""

    def case(here: Setting) -> Codes:
        made = here.prepare(here.content()).prepared
        if verb == "of a revision":
            here.commit(made)
        there = other_of(here)
        name = name_of(made)
        if verb == "commit":
            there.commit(name)
        elif verb == "decline":
            answer(there, name, ReceiptStatus.DECLINED, message="no")
        else:
            receiving.receive(there.store, there.workstream, name, there.tree)
        return []

    return case


def acknowledged(*steps: dict[str, Any], revisions: int = 1) -> Callable[[Setting], Codes]:
    """Answers one after the other; only the last one may be refused."""

    def case(here: Setting) -> Codes:
        for number in range(revisions):
            here.committed(here.content(words=f"`{number}.py` is new"))
        for step in steps:
            answer(here, **{"name": "r1", **step})
        return []

    return case


def answered_twice(here: Setting) -> Codes:
    here.committed(here.content())
    for _ in range(2):
        answer(here, "r1")
        tick(here)
    rows = here.store.all("SELECT 1 FROM handoff_receipt")
    assert len(rows) == 1
    return []


def declined_after_all(here: Setting) -> Codes:
    digest = here.committed(here.content()).revision.content_digest
    answer(here, "r1")
    answer(here, "r1", ReceiptStatus.DECLINED, key="k2", message="it does not build")
    stood = states.standing(here.store, here.workstream, digest)
    assert (stood.transfer, stood.returned_as, stood.coverage) == (
        "returned",
        "declined",
        "not_expected",
    )
    outcome(here, "k1", OutcomeStatus.COMPLETED)
    return []


def accepted_superseded(here: Setting) -> Codes:
    here.committed(here.content())
    here.committed(here.content(words="`b.py` is new"))
    received = receiving.receive(here.store, here.workstream, "r1", here.tree)
    assert received is not None
    answering.acknowledge(
        here.store,
        here.workstream,
        received,
        Answer(
            receipt_key="k1",
            receiver=PERSON,
            session=None,
            status=ReceiptStatus.ACCEPTED,
            checks=ALL_CONFIRMED,
            superseded=True,
        ),
        holder=here.holder,
    )
    return []


def accepted_by_name(name_of: Callable[[Any], str]) -> Callable[[Setting], Codes]:
    def case(here: Setting) -> Codes:
        made = here.prepare(here.content()).prepared
        answer(here, name_of(made))
        assert (
            states.standing(here.store, here.workstream, made.content_digest).transfer == "accepted"
        )
        return []

    return case


def told(status: OutcomeStatus, *, receipt: str | None = "k1") -> Callable[[Setting], Codes]:
    def case(here: Setting) -> Codes:
        digest = here.committed(here.content()).revision.content_digest
        answer(here, "r1")
        outcome(here, receipt, status)
        outcome(here, receipt, status)  # the same again is the same
        covered = states.standing(here.store, here.workstream, digest).coverage
        assert covered == ("awaiting_outcome" if receipt is None else "covered")
        return []

    return case


def told_otherwise(here: Setting) -> Codes:
    here.committed(here.content())
    answer(here, "r1")
    outcome(here, "k1", OutcomeStatus.COMPLETED)
    outcome(here, "k1", OutcomeStatus.FAILED)
    return []


def told_without_words(here: Setting) -> Codes:
    value = Outcome(outcome_key="o", receipt_key=None, status=OutcomeStatus.PARTIAL, summary=" ")
    answering.record_outcome(here.store, here.workstream, value, PERSON, holder=here.holder)
    return []


SECRET = "ghp_" + "a1B2" * 9


def secret_in(**where: Any) -> Callable[[Setting], Codes]:
    def case(here: Setting) -> Codes:
        made = here.prepare(here.content(**where)).prepared
        here.commit(made)
        kinds = [str(item.kind) for item in made.content.omissions]
        assert kinds.count("redacted") == 1
        stored = [
            dict(row)
            for t in ("prepared", "revision")
            for row in here.store.all(f"SELECT * FROM handoff_{t}")
        ]
        assert SECRET not in json.dumps(stored)
        return []

    return case


def secret_in_answers(here: Setting) -> Codes:
    here.committed(here.content())
    answer(here, "r1", ReceiptStatus.NEEDS_CLARIFICATION, message=f"what is {SECRET}")
    answer(here, "r1", key="k2")
    value = Outcome(
        outcome_key="o",
        receipt_key="k2",
        status=OutcomeStatus.PARTIAL,
        summary=f"used {SECRET}",
        remaining=(f"rotate {SECRET}",),
    )
    answering.record_outcome(here.store, here.workstream, value, PERSON, holder=here.holder)
    rows = [
        dict(r)
        for t in ("receipt", "outcome")
        for r in here.store.all(f"SELECT * FROM handoff_{t}")
    ]
    assert SECRET not in json.dumps(rows)
    return []


DECLINED = {"status": ReceiptStatus.DECLINED, "message": "no"}
WITH_A_STORE: dict[str, tuple[Callable[[Setting], Codes], list[str], bool]] = {
    # the same words
    "idem: evidence in another order": (
        unchanged_after(
            lambda value: replace(
                value,
                state=tuple(
                    Statement(text=item.text, evidence=tuple(reversed(item.evidence)))
                    for item in value.state
                ),
            )
        ),
        ["unchanged"],
        False,
    ),
    "idem: decomposed letters": (
        unchanged_after(
            lambda value: replace(
                value,
                state=tuple(
                    Statement(text=unicodedata.normalize("NFD", item.text), evidence=item.evidence)
                    for item in value.state
                ),
            )
        ),
        ["unchanged"],
        False,
    ),
    "idem: padded": (
        unchanged_after(lambda value: replace(value, objective=f"  {value.objective}\n")),
        ["unchanged"],
        False,
    ),
    "idem: words of an older revision": (old_words_again, ["committed"], False),
    "idem: retried when the record is gone": (pruned_and_retried, ["already_committed"], False),
    "idem: the head's words on an old base": (same_words_on_an_old_base, ["unchanged"], False),
    # compare and swap
    "cas: behind by two": (behind_two, ["head_conflict"], True),
    "cas: a base that nobody knows": (unknown_base, ["base_unknown"], True),
    "cas: another id": (of_another_id, ["prepared_tampered"], True),
    "cas: other words under the id": (other_words_under_the_id, ["prepared_tampered"], True),
    # evidence
    "ev: event forgotten before the commit": (
        evidence_gone("event", then="commit"),
        ["evidence_expired"],
        True,
    ),
    "ev: file changed before the commit": (
        evidence_gone("file", then="commit"),
        ["evidence_changed"],
        True,
    ),
    "ev: file gone, accepted": (
        evidence_gone("file gone", then="accept"),
        ["evidence_missing"],
        True,
    ),
    "ev: file changed, accepted": (
        evidence_gone("file", then="accept"),
        ["evidence_changed"],
        True,
    ),
    "ev: note gone, accepted": (evidence_gone("note", then="accept"), ["evidence_missing"], True),
    "ev: commit gone, accepted": (
        evidence_gone("commit", then="accept"),
        ["evidence_missing"],
        True,
    ),
    "ev: file changed, asked back": (evidence_gone("file", then="clarify"), [], False),
    "scope: event of another": (of_other_scope("event"), ["evidence_wrong_scope"], True),
    "scope: check of another": (of_other_scope("check"), ["evidence_wrong_scope"], True),
    "scope: handoff of another": (of_other_scope("handoff"), ["evidence_wrong_scope"], True),
    # scopes
    "scope: receive a prepared one": (
        in_another_scope(lambda made: made.prepared_id, "receive"),
        ["scope_mismatch"],
        True,
    ),
    "scope: receive by digest": (
        in_another_scope(lambda made: made.content_digest, "receive"),
        ["scope_mismatch"],
        True,
    ),
    "scope: receive a revision by its prepared id": (
        in_another_scope(lambda made: made.prepared_id, "of a revision"),
        ["scope_mismatch"],
        True,
    ),
    "scope: decline": (
        in_another_scope(lambda made: made.prepared_id, "decline"),
        ["scope_mismatch"],
        True,
    ),
    "scope: commit by id": (
        in_another_scope(lambda made: made.prepared_id, "commit"),
        ["scope_mismatch"],
        True,
    ),
    # receipts
    "ack: the same twice": (answered_twice, [], False),
    "ack: the key with another status": (
        acknowledged({}, {**DECLINED, "key": "k1"}),
        ["key_conflict"],
        True,
    ),
    "ack: nothing checked": (acknowledged({"checks": None}), ["checks_incomplete"], True),
    "ack: no permission": (
        acknowledged({"checks": ALL_CONFIRMED._replace(authorization=Confirmation.FAILED)}),
        ["checks_incomplete"],
        True,
    ),
    "ack: a message of spaces": (
        acknowledged({"status": ReceiptStatus.DECLINED, "message": "  \n"}),
        ["message_missing"],
        True,
    ),
    "ack: latest declined": (
        acknowledged({**DECLINED, "name": "latest"}),
        ["target_not_exact"],
        True,
    ),
    "ack: superseded declined": (
        acknowledged(DECLINED, revisions=2),
        ["target_superseded"],
        True,
    ),
    "ack: superseded and meant": (accepted_superseded, [], False),
    "ack: asked back, then accepted": (
        acknowledged(
            {"status": ReceiptStatus.NEEDS_CLARIFICATION, "message": "which"}, {"key": "k2"}
        ),
        [],
        False,
    ),
    "ack: accepted, declined, told done": (declined_after_all, ["receipt_not_accepted"], True),
    "ack: a prepared one": (accepted_by_name(lambda made: made.prepared_id), [], False),
    "ack: by a short digest": (
        accepted_by_name(lambda made: made.content_digest.removeprefix("sha256:")[:12]),
        [],
        False,
    ),
    # outcomes
    **{
        f"outcome: {status}": (told(status), [], False)
        for status in (OutcomeStatus.PARTIAL, OutcomeStatus.ABANDONED, OutcomeStatus.UNKNOWN)
    },
    "outcome: of nothing": (told(OutcomeStatus.COMPLETED, receipt=None), [], False),
    "outcome: of an unknown receipt": (
        told(OutcomeStatus.COMPLETED, receipt="k9"),
        ["receipt_not_accepted"],
        True,
    ),
    "outcome: told otherwise": (told_otherwise, ["key_conflict"], True),
    "outcome: no words": (told_without_words, ["message_missing"], True),
    # secrets
    "secret: in the objective": (secret_in(objective=f"Rotate {SECRET}"), [], False),
    "secret: in the next action": (
        secret_in(next_action=Statement(text=f"Put {SECRET} into `.env`")),
        [],
        False,
    ),
    "secret: in an omission": (
        secret_in(omissions=(Omission(kind=OmissionKind.OTHER, text=f"{SECRET} is left out"),)),
        [],
        False,
    ),
    "secret: twice": (
        secret_in(objective=f"Rotate {SECRET}", words=f"`.env` has {SECRET}"),
        [],
        False,
    ),
    "secret: in answers": (secret_in_answers, [], False),
}


@pytest.mark.parametrize("name", sorted(WITH_A_STORE))
def test_with_a_store(here: Setting, name: str) -> None:
    play, expected, refusing = WITH_A_STORE[name]
    refused = False
    try:
        found = play(here)
    except RefusedError as error:
        found, refused = sorted(set(error.codes)), True
    except HeadConflictError as error:
        found, refused = [error.code], True
    assert (found, refused) == (expected, refusing)


def test_who_and_when_and_why_make_no_other_record(here: Setting) -> None:
    value = here.content(here.says("please fix a.py"))
    made = set()
    for number, kind in enumerate(ActorKind):
        tick(here)
        author = Author(kind=kind, harness=f"h{number}", session=f"s{number}", owner=f"o{number}")
        reasons = (Reason.USER_REQUESTED, Reason.DELEGATION, Reason.MANUAL_CHECKPOINT)[:number]
        prepared = here.prepare(value, author=author, reasons=reasons).prepared
        made.add((prepared.prepared_id, prepared.content_digest))
    assert made == {(next(iter(made))[0], content_digest(prepared.content))}


def test_a_commit_by_a_stranger_with_the_whole_record_in_hand_is_the_same_commit(
    here: Setting,
) -> None:
    value = here.prepare(here.content()).prepared
    by = Author(kind=ActorKind.AGENT, harness="codex")
    one = committing.commit(
        here.store, here.workstream, value, here.facts(), by, holder=here.holder
    )
    assert here.commit(value.prepared_id).revision == one.revision
