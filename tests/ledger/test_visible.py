from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.visible import Keep, clean, cut, show

ANY_TEXT = st.text(st.characters(codec=None))  # surrogates included
KEEPS: tuple[Keep, ...] = ("head", "tail", "both")


@pytest.mark.parametrize(
    ("stored", "valid"),
    [
        ("\ud83d…", "\ufffd…"),
        ("a\udc00", "a\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("\ud83d\ud83d\ude00", "\ufffd😀"),
        ("a\x00b", "a\x00b"),
        ("\x1b\u202e\ufeff", "\x1b\u202e\ufeff"),
        ("plain", "plain"),
        ("", ""),
    ],
)
def test_surrogates_become_valid_unicode(stored: str, valid: str) -> None:
    assert clean(stored) == valid


@given(ANY_TEXT)
def test_clean_text_encodes_and_stays_as_it_is(text: str) -> None:
    once = clean(text)
    once.encode()
    assert clean(once) == once


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", r"\x1b[31m"),
        ("a\x00b", r"a\x00b"),
        ("\x7f\x9b", r"\x7f\x9b"),
        ("\u202eabc\u2066", r"\u202eabc\u2066"),
        ("\u200e\u200f\u061c", r"\u200e\u200f\u061c"),
        ("a\u200bb\ufeff", r"a\u200bb\ufeff"),
        ("a\u2028b\u2029", r"a\u2028b\u2029"),
        ("\U000e0041", r"\U000e0041"),
        ("\ud83d", r"\ud83d"),
        ("a\r\nb\rc", "a\nb\\rc"),
        ("\r\r\n", "\\r\n"),
        ("a\tb\n", "a\tb\n"),
        ("日本語 é ß", "日本語 é ß"),
        ("a\u200db", r"a\u200db"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("👩🏽\u200d💻", "👩🏽\u200d💻"),
        ("❤\ufe0f\u200d🔥", "❤\ufe0f\u200d🔥"),
        ("1\ufe0f\u20e3", "1\ufe0f\u20e3"),
        ("x\ufe0f", r"x\ufe0f"),
        ("👩\u200d", r"👩\u200d"),
        ("👩\u200d\u200d💻", r"👩\u200d\u200d💻"),
    ],
)
def test_hidden_characters_are_shown(text: str, shown: str) -> None:
    assert show(text) == shown


def test_one_line_output_shows_breaks_too() -> None:
    assert show("a\nb\tc\r\nd", newline=False) == r"a\nb\tc\nd"
    assert show("é\n", newline=False) == r"é\n"


@given(ANY_TEXT)
def test_nothing_shown_controls_a_terminal(text: str) -> None:
    shown = show(text)
    shown.encode()
    for character in set(shown) - set("\n\t\u200d"):
        assert unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert "\n" not in show(text, newline=False)


def test_every_format_character_of_unicode_is_shown() -> None:
    for code in range(0x110000):
        if unicodedata.category(chr(code)) in {"Cc", "Cf", "Cs", "Zl", "Zp"}:
            assert chr(code) in "\n\t" or show(chr(code)) != chr(code), hex(code)


def test_a_text_within_the_budget_is_not_cut() -> None:
    assert cut("été", 5).text == "été"
    assert cut("été", 5).omitted_bytes == 0


def test_a_cut_says_how_many_bytes_are_missing() -> None:
    shortened = cut("x" * 100, 40)
    assert shortened.text == "x" * 22 + "…[+78 bytes]…"
    assert shortened.omitted_bytes == 78


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        ("head", "one two three …[+34 bytes]…"),
        ("tail", "…[+34 bytes]…eight nine ten"),
        ("both", "one two …[+37 bytes]…ten"),
    ],
)
def test_a_cut_prefers_word_ends(keep: Keep, expected: str) -> None:
    text = "one two three four five six seven eight nine ten"
    shortened = cut(text, 34, keep=keep)
    assert shortened.text == expected


def test_a_cut_prefers_line_ends() -> None:
    text = "first line of it\nsecond line of it\nthird line of it\n"
    assert cut(text, 51, keep="head").text.startswith("first line of it\nsecond line")
    assert cut(text, 38, keep="tail").text.endswith("]…third line of it\n")


@pytest.mark.parametrize("keep", KEEPS)
def test_a_cut_tears_no_accent_and_no_emoji(keep: Keep) -> None:
    family = "👩🏽\u200d💻"
    for budget in range(20, 120):
        text = cut(family * 10, budget, keep=keep).text
        assert text.count("👩") == text.count("💻") == text.count("\u200d")
        accented = cut("e\u0301" * 60, budget, keep=keep).text
        assert accented.count("e\u0301") == accented.replace("bytes", "").count("e")


@pytest.mark.parametrize("budget", [-1, 0, 1, 3, 10])
def test_a_tiny_budget_is_kept(budget: int) -> None:
    shortened = cut("密码" * 50, budget)
    assert len(shortened.text.encode()) <= max(0, budget)


@given(ANY_TEXT, st.integers(0, 60), st.sampled_from(KEEPS))
def test_a_cut_always_fits_and_accounts_for_every_byte(text: str, budget: int, keep: Keep) -> None:
    shortened = cut(text, budget, keep=keep)
    assert len(shortened.text.encode()) <= budget
    total = len(clean(text).encode())
    kept = shortened.text.replace(f"…[+{shortened.omitted_bytes} bytes]…", "", 1)
    assert len(kept.encode()) + shortened.omitted_bytes == total
