from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from launcher.digest import Line, Share
from launcher.shares import choose


def line(place: int, share: Share, text: str, *, last: bool = False, open_: bool = False) -> Line:
    return Line(
        seqs=(place + 1,),
        share=share,
        place=place,
        head=f"e{place + 1} [x]",
        text=text,
        last_turn=last,
        unfinished=open_,
    )


def lines_of(draw: st.DrawFn) -> list[Line]:
    count = draw(st.integers(0, 30))
    return [
        line(
            place,
            draw(st.sampled_from(list(Share))),
            draw(st.text(max_size=400)),
            last=place > count - 4,
        )
        for place in range(count)
    ]


@given(st.composite(lines_of)(), st.integers(0, 4000))
def test_the_chosen_lines_never_cost_more_than_the_budget(lines: list[Line], budget: int) -> None:
    chosen = choose(lines, budget)
    assert sum(item.cost for item in chosen) <= budget
    assert [item.place for item in chosen] == sorted({item.place for item in chosen})


def test_everything_is_told_when_it_fits() -> None:
    lines = [line(n, Share.TOOL, "short") for n in range(5)]
    assert choose(lines, 10_000) == lines


def test_the_newest_win() -> None:
    lines = [line(n, Share.TOOL, "t" * 100) for n in range(100)]
    chosen = choose(lines, 1000)
    assert chosen
    assert [item.place for item in chosen] == list(range(100 - len(chosen), 100))


def test_unused_shares_flow_on() -> None:
    lines = [line(n, Share.TOOL, "t" * 80) for n in range(20)]
    assert sum(item.cost for item in choose(lines, 1500)) > 1300


def test_tools_do_not_push_out_the_person() -> None:
    lines = [line(0, Share.USER, "the request")]
    lines += [line(n, Share.TOOL, "t" * 100) for n in range(1, 200)]
    assert choose(lines, 1000)[0].text == "the request"


def test_one_huge_message_does_not_push_out_the_rest() -> None:
    lines = [line(n, Share.ASSISTANT, f"small {n}") for n in range(20)]
    lines.append(line(20, Share.ASSISTANT, "x" * 5_000_000))
    chosen = choose(lines, 4000)
    assert len(chosen) == 21
    assert "bytes]" in chosen[-1].text


def test_the_end_of_an_unfinished_turn_is_kept() -> None:
    text = "start " + "middle " * 2000 + "the end"
    (chosen,) = choose([line(0, Share.ASSISTANT, text, last=True, open_=True)], 1500)
    assert chosen.text.endswith("the end")
    assert "start" not in chosen.text
