from __future__ import annotations

import pytest

from handoffs.remarks import binds, is_assent, is_definite


@pytest.mark.parametrize(
    "text",
    ["yes", "Ok.", "yes please", "looks good, continue", "go on", "Thanks!", "好的，继续", "はい"],
)
def test_bare_agreement_is_assent(text: str) -> None:
    assert is_assent(text)


@pytest.mark.parametrize(
    "text",
    ["", "...", "no", "use redis", "yes, but not the tests", "do 2", "go: src/x", "用 Redis", "👍"],
)
def test_one_word_more_and_it_is_not_bare(text: str) -> None:
    assert not is_assent(text)


def test_a_long_message_of_such_words_says_something() -> None:
    assert not is_assent("yes " * 20)


@pytest.mark.parametrize(
    "text",
    ["never touch legacy.py", "No, use 9090", "Leave that for later", "不要改这个文件", "drop it"],
)
def test_rules_corrections_and_deferrals_bind(text: str) -> None:
    assert binds(text)


def test_a_plain_wish_does_not_bind() -> None:
    assert not binds("Sort the events by date, the nearest first.")


@pytest.mark.parametrize(
    "text", ["tick_advance rounds", "see src/a.py", "port 9090", "run() hangs"]
)
def test_a_thing_with_a_name_is_definite(text: str) -> None:
    assert is_definite(text)


@pytest.mark.parametrize("text", ["Looking at the callers next.", "Step 1 is done.", "I see."])
def test_an_announcement_is_not_definite(text: str) -> None:
    assert not is_definite(text)
