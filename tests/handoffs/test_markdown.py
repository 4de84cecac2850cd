from __future__ import annotations

import pytest
from hypothesis import given, settings

from handoffs.markdown import from_markdown, to_markdown
from handoffs.models import Content, Disposition, Finding, Omission, OmissionKind, Statement
from tests.handoffs.contents import codes, content, contents, ref, sha


def blocked() -> Content:
    return content(
        "One in a.py",
        "Two in b.py",
        "Three in c.py",
        disposition=Disposition.BLOCKED,
        blocker=2,
        omissions=(
            Omission(
                kind=OmissionKind.DECLARED_ONLY,
                text="said",
                covers=("state[0]", "state[1]", "next_action"),
            ),
        ),
    )


@settings(max_examples=50, deadline=None)
@given(contents())
def test_what_is_written_is_read_as_the_same(value: Content) -> None:
    parsed = from_markdown(to_markdown(value))
    assert parsed.findings == ()
    assert parsed.content == value


@pytest.mark.parametrize(
    "text",
    [
        "# State",
        "## state[0]",
        "a\n- evidence: e1\nb",
        "- covers: next_action",
        "<!-- hidden -->\nshown",
        "\\# once\n\\\\ twice",
        "a\n\n\n b \n\tc",
        "```\n# code\n```",
        "-->",
    ],
)
def test_text_that_looks_like_ours_stays_text(text: str) -> None:
    value = content(text, objective=text, omissions=(Omission(kind=OmissionKind.OTHER, text=text),))
    assert from_markdown(to_markdown(value)).content == value


def test_windows_line_ends_and_a_mark_at_the_start_are_read() -> None:
    text = "\ufeff" + to_markdown(blocked()).replace("\n", "\r\n")
    assert from_markdown(text).content == blocked()


def test_findings_are_shown_where_they_belong_and_are_not_read() -> None:
    found = [
        Finding(
            code="state_uncited", field="state[1]", detail="no -- evidence\nat all", fix="Cite"
        ),
        Finding(code="content_too_large", field="", detail="big", fix="Cut"),
        Finding(code="omission_required", field="omissions", detail="lost", fix="Say"),
        Finding(code="value_invalid", field="state[9]", detail="gone", fix="Fix"),
    ]
    text = to_markdown(blocked(), found)
    lines = text.split("\n")
    at = lines.index("## state[1]")
    assert lines[at + 2] == "<!-- E state_uncited state[1]: no - - evidence at all. Cite -->"
    assert all(item.code in text for item in found)
    assert from_markdown(text).content == blocked()


def test_a_moved_statement_takes_its_blocker_and_omission_with_it() -> None:
    text = to_markdown(blocked())
    head, one, rest = text.partition("## state[0]")
    first, two, tail = rest.partition("# Next action")
    items = (one + first).split("## ")[1:]
    moved = head + "".join(f"## {item}" for item in reversed(items)) + two + tail
    value = from_markdown(moved).content
    assert value is not None
    assert [item.text for item in value.state] == ["Three in c.py", "Two in b.py", "One in a.py"]
    assert value.blocker == 0
    assert value.omissions[0].covers == ("state[1]", "state[2]", "next_action")


def test_a_statement_can_be_added_and_taken_out() -> None:
    text = to_markdown(blocked())
    start = text.index("## state[1]")
    end = text.index("## state[2]")
    edited = text[:start] + "## state\n\nNew in d.py\n\n- evidence: e7\n\n" + text[end:]
    value = from_markdown(edited, resolve={"e7": ref("seven")}.get).content
    assert value is not None
    assert [item.text for item in value.state] == ["One in a.py", "New in d.py", "Three in c.py"]
    assert value.state[1] == Statement(text="New in d.py", evidence=(ref("seven"),))
    assert (value.blocker, value.omissions[0].covers) == (2, ("state[0]", "next_action"))


def test_a_blocker_that_was_taken_out_is_missed() -> None:
    text = to_markdown(blocked())
    start = text.index("## state[2]")
    found = from_markdown(text[:start] + text[text.index("# Next action") :]).findings
    assert codes(found) == ["blocker_missing"]


def test_an_emptied_next_action_is_none() -> None:
    value = content(disposition=Disposition.COMPLETE, next_action=None)
    assert "# Next action" in to_markdown(value)
    assert from_markdown(to_markdown(value)).content == value


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("# Objective", "# Goal", ["field_unknown", "objective_missing"]),
        ("# State", "# State\n\nloose text", ["value_invalid"]),
        ("<!-- handoff", "loose\n<!-- handoff", ["value_invalid"]),
        ("continuable", "done", ["disposition_invalid"]),
        ("Fix parser", "", ["objective_missing"]),
        ("## state[1]", "## state[0]", ["value_invalid"]),
        ("# Next action", "# Objective\n\nagain\n\n# Next action", ["value_invalid"]),
        (f"ledger:ev1-a@{sha('ev1-a')}", "e99", ["evidence_missing"] * 3),
    ],
)
def test_a_broken_form_is_a_finding(old: str, new: str, expected: list[str]) -> None:
    text = to_markdown(content())
    assert old in text
    assert sorted(codes(from_markdown(text.replace(old, new)).findings)) == sorted(expected)


def test_a_form_that_is_empty_is_a_finding() -> None:
    assert set(codes(from_markdown("").findings)) >= {"objective_missing", "state_missing"}
