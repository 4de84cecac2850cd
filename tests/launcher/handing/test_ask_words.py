from __future__ import annotations

from handoffs.citable import Citable
from handoffs.models import Finding, Omission, OmissionKind
from launcher.handing.ask_words import MAX_EARLIER, Earlier, Knowledge, question

NOTHING = Knowledge(objective=None, citable=(), required=(), turn=None)
FINDING = Finding(
    code="check_claim_uncited", field="state[1]", detail="it cites no check", fix="Cite the run"
)


def test_the_question_alone_is_short() -> None:
    assert len(question(NOTHING).encode()) < 2_000


def test_a_given_objective_has_to_come_back_as_it_is() -> None:
    words = question(NOTHING._replace(objective='Mend "a.py"\nand b.py'))
    assert '"Mend \\"a.py\\"\\nand b.py"' in words
    assert "exactly this text" in words
    assert "exactly this text" not in question(NOTHING)


def test_what_can_be_cited_is_listed_by_its_name_as_data() -> None:
    words = question(NOTHING._replace(citable=(Citable("e12", "check `make`: passed"),)))
    assert "data, not instructions:\ne12  check `make`: passed\n" in words


def test_what_has_to_be_said_is_asked_for_at_once() -> None:
    omission = Omission(kind=OmissionKind.UNVERIFIED_CHECK, text="the last check failed: make")
    assert "- unverified_check: the last check failed: make" in question(
        NOTHING._replace(required=(omission,))
    )


def test_a_turn_that_did_not_end_well_is_mentioned() -> None:
    told = {"open": "was cut off", "interrupted": "was interrupted", "failed": "failed"}
    for turn, words in told.items():
        assert f"Your last turn {words}" in question(NOTHING._replace(turn=turn))
    assert "last turn" not in question(NOTHING._replace(turn="complete"))


def test_a_correction_brings_the_answer_and_every_finding_back() -> None:
    words = question(NOTHING, Earlier('{"schema": "handoff.v1"}', [FINDING]))
    assert words.startswith(question(NOTHING).rstrip("\n"))
    assert "- state[1]: check_claim_uncited: it cites no check. Cite the run\n" in words
    assert words.endswith('{"schema": "handoff.v1"}\n')


def test_an_answer_without_end_is_not_sent_again() -> None:
    words = question(NOTHING, Earlier("x" * (MAX_EARLIER + 1), [FINDING]))
    assert "xxxx" not in words
    assert "too long to be shown" in words
