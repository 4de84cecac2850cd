from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.fold import fold, query, snippet

if TYPE_CHECKING:
    from collections.abc import Iterator

ANY_TEXT = st.text(st.characters(codec=None))

ROWS = [
    "The quick brown fox fixed pre-edit hooks",
    "Größe und Straße: naïve café résumé",
    "数据库迁移失败了，需要回滚",
    "東京タワーでﾃｽﾄを実行",
    "한국어 검색을 지원합니다",
    "snake_case foo.bar path/to/file don't memory:safe",
    "installed on ubuntu 20.04 with python 3.11",
    "NEAR AND OR NOT are words of a query language",
    "ＦＵＬＬ width and ﬁne ligature",
    "emoji 👩\u200d💻 and nothing else",
    "say hi to col val x",
    "before\x00afternul",
]


@pytest.fixture(scope="module")
def table() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE search USING fts5"
        "(scope, text, content='', tokenize='unicode61 remove_diacritics 2')"
    )
    connection.executemany(
        "INSERT INTO search(rowid, scope, text) VALUES (?, 'w1', ?)",
        [(number, fold(row)) for number, row in enumerate(ROWS)],
    )
    yield connection
    connection.close()


def hits(table: sqlite3.Connection, text: str) -> list[int]:
    match = query(text).match
    assert match is not None
    rows = table.execute("SELECT rowid FROM search WHERE search MATCH ? ORDER BY rowid", [match])
    return [row[0] for row in rows]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("quick fox", [0]),
        ("QUICK", [0]),
        ("fox quick", [0]),
        ('"quick fox"', []),
        ('"quick brown"', [0]),
        ("qui*", [0]),
        ("qui", []),
        ("pre-edit", [0]),
        ("edit-pre", []),
        ("grosse", [1]),
        ("größe", [1]),
        ("grösse", [1]),
        ("GRÖSSE", [1]),
        ("STRASSE", [1]),
        ("cafe", [1]),
        ("café", [1]),
        ("cafe\u0301", [1]),
        ("resume naive", [1]),
        ("迁移", [2]),
        ("失败了", [2]),
        ("移迁", []),
        ("数据 回滚", [2]),
        ("東京", [3]),
        ("テスト", [3]),
        ("타워", []),
        ("검색", [4]),
        ("국어", [4]),
        ("snake_case", [5]),
        ("foo.bar", [5]),
        ("path/to/file", [5]),
        ("don't", [5]),
        ("memory:safe", [5]),
        ("ubuntu 20.04", [6]),
        ("full fine", [8]),
        ("ubuntu OR quick", [0, 6]),
        ("python ubuntu OR quick", [6]),
        ("words -language", []),
        ("and -language", [8, 9]),
        ("and - language", [7]),
        ("--quick", [0]),
        ("foo AND bar", [5]),
        ("python AND", [6]),
        ("python OR", [6]),
        ("OR python", [6]),
        ("OR", [7]),
        ("AND OR", [7]),
        ("NOT", [7]),
        ('say "hi', [10]),
        ("(python", [6]),
        ("^quick", [0]),
        ("col:val", [10]),
        ("NEAR(quick fox)", []),
        ("afternul", [11]),
        ("before\x00afternul", [11]),
        ("emoji 👩\u200d💻", [9]),
        ("qui* -fox", []),
        ('"quick bro"*', [0]),
    ],
)
def test_a_query_finds_what_it_names(
    table: sqlite3.Connection, text: str, found: list[int]
) -> None:
    assert hits(table, text) == found


@pytest.mark.parametrize(
    "text", ["", " ", "*", '""', '"', "-", "👩\u200d💻", "\x00", "…", "(((", "\ud83d"]
)
def test_a_query_without_a_letter_says_so(text: str) -> None:
    assert query(text).match is None
    assert query(text).terms == []
    assert "no letter or digit" in (query(text).problem or "")


@pytest.mark.parametrize("text", ["-x", "-x -y", '-"a b"'])
def test_a_query_that_only_excludes_says_so(text: str) -> None:
    assert query(text).match is None
    assert "only excludes" in (query(text).problem or "")


def test_an_endless_query_is_capped_and_says_so(table: sqlite3.Connection) -> None:
    long = query("word " * 2000)
    assert "first 64 words" in (long.problem or "")
    assert hits(table, "word " * 2000) == []
    assert hits(table, "x" * 10_000) == []
    assert hits(table, "a.b" * 4000) == []


def test_terms_are_those_to_highlight() -> None:
    read = query('Foo.Bar "two words" pre* 迁移 -gone a OR b')
    assert read.terms == ["foo bar", "two words", "pre", "迁 移", "a", "b"]
    assert read.problem is None


def test_excluding_binds_to_the_whole_query(table: sqlite3.Connection) -> None:
    assert query("a OR b -c").match == '("a" OR "b") NOT ("c")' or query("a OR b -c").match == (
        '(("a" OR "b")) NOT ("c")'
    )
    assert hits(table, "quick OR ubuntu -python") == [0]


@given(ANY_TEXT)
def test_any_text_is_accepted_by_fts5(table: sqlite3.Connection, text: str) -> None:
    match = query(text).match
    if match is not None:
        table.execute("SELECT rowid FROM search WHERE search MATCH ?", [match]).fetchall()


@given(
    st.lists(
        st.sampled_from(
            [
                '"',
                "*",
                "-",
                "OR",
                "AND",
                "NOT",
                "NEAR(",
                "(",
                ")",
                ":",
                "^",
                "+",
                "a",
                "b_c",
                " ",
                "迁移",
                "é",
                "́",
                "\x00",
                "�",
                "{",
                "}",
                ",",
                "'",
                "\\",
                "scope",
                "ि",
            ]
        ),
        max_size=14,
    ).map("".join)
)
def test_any_mix_of_query_syntax_is_accepted_by_fts5(table: sqlite3.Connection, text: str) -> None:
    match = query(text).match
    if match is not None:
        table.execute("SELECT rowid FROM search WHERE search MATCH ?", [match]).fetchall()


@given(st.text())
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("ABC déf", "abc déf"),
        ("数据ab库", "数 据 ab 库"),
        ("ｶﾞﾝ", "ガ ン"),
        ("a\x00B", "a\x00b"),
        ("a  b\n", "a  b\n"),
        ("한글", "한 글"),
        ("x😀y", "x😀y"),
    ],
)
def test_folded_form(text: str, folded: str) -> None:
    assert fold(text) == folded


@pytest.mark.parametrize(
    ("text", "asked", "inside"),
    [
        ("a " * 300 + "the Needle here" + " b" * 300, "needle", "Needle"),
        ("x " * 300 + "ein Café dort" + " y" * 300, "cafe", "Café"),
        ("x " * 300 + "plain cafe there" + " y" * 300, "café", "cafe"),
        ("无关内容" * 100 + "数据库迁移失败" + "其他文字" * 100, "迁移", "迁移"),
        ("x " * 300 + "call foo.bar() now" + " y" * 300, "foo.bar", "foo.bar"),
        ("x " * 300 + "é call foo.bar() now" + " y" * 300, "foo_bar", "foo.bar"),
        ("unfoxed " * 60 + "the fox" + " z" * 300, "fox", "the fox"),
        ("ünfoxed " * 60 + "the fox" + " z" * 300, "fox", "the fox"),
        ("é" * 9000 + " late needle " + "é" * 9000, "needle", "needle"),
        ("Straße " + "z " * 300, "strasse", "Straße"),
    ],
)
def test_a_snippet_shows_the_first_hit(text: str, asked: str, inside: str) -> None:
    cut = snippet(text, query(asked).terms)
    assert inside in cut
    assert len(cut) <= 160
    assert cut.endswith("…")


def test_a_snippet_without_a_hit_is_the_beginning() -> None:
    assert snippet("one two three", ["zzz"]) == "one two three"
    assert snippet("word " * 100, [], width=20) == "word word word word…"


def test_a_snippet_is_one_line() -> None:
    assert snippet("a\n\n b\tc", ["b"]) == "a b c"


@given(ANY_TEXT, ANY_TEXT, st.integers(1, 60))
def test_a_snippet_never_fails_or_outgrows_its_width(text: str, asked: str, width: int) -> None:
    assert len(snippet(text, query(asked).terms, width)) <= max(width, 3)
