from __future__ import annotations

import pytest

from launcher.harnesses.argv import Item, Kind, Syntax, scan, syntax, with_value

SPEC = """
-q --quiet NOTHING
-m --model ONE
-r --resume MAYBE
-i --image MANY
"""
CLAP = syntax(SPEC, short_equals=True)
COMMANDER = syntax(SPEC, short_equals=False)


def items(table: Syntax, *args: str) -> list[Item]:
    return list(scan(args, table))


@pytest.mark.parametrize(
    ("arg", "clap", "commander"),
    [
        ("-mx", "x", "x"),
        ("-m=x", "x", "=x"),
        ("-qm=x", "x", "=x"),
        ("--model=x=y", "x=y", "x=y"),
        ("--model=", "", ""),
        ("-m=", "", "="),
    ],
)
def test_a_value_in_the_same_argument_is_found(arg: str, clap: str, commander: str) -> None:
    assert items(CLAP, arg)[-1].value == clap
    assert items(COMMANDER, arg)[-1].value == commander


@pytest.mark.parametrize("args", [("-m", "x"), ("-mx",), ("-qm", "x"), ("--model=x",), ("-m=x",)])
def test_a_value_is_replaced_where_it_stands(args: tuple[str, ...]) -> None:
    item = items(CLAP, *args)[-1]
    changed = with_value(args, item, "new")
    assert items(CLAP, *changed)[-1].value == "new"
    assert len(changed) == len(args)


def test_options_of_a_cluster_share_their_place() -> None:
    quiet, resume, word = items(CLAP, "-qr", "ID", "w")
    assert [(i.name, i.start, i.stop) for i in (quiet, resume, word)] == [
        ("--quiet", 0, 1),
        ("--resume", 0, 2),
        ("w", 2, 3),
    ]


def test_an_unknown_letter_ends_a_cluster() -> None:
    quiet, unknown = items(CLAP, "-qXm")
    assert quiet.known
    assert (unknown.name, unknown.known, unknown.values) == ("-Xm", False, ())


@pytest.mark.parametrize("arg", ["--other", "--other=x", "--quiet=x"])
def test_an_unknown_option_takes_nothing_that_follows(arg: str) -> None:
    option, word = items(CLAP, arg, "w")
    assert (option.stop, word.kind, word.name) == (1, Kind.WORD, "w")


def test_everything_after_the_end_is_a_word() -> None:
    found = items(CLAP, "-m", "--", "--", "-q", "--", "--model")
    assert [i.kind for i in found] == [Kind.OPTION, Kind.END, Kind.WORD, Kind.WORD, Kind.WORD]
    assert found[0].value == "--"
