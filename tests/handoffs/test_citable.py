from __future__ import annotations

from handoffs.citable import CHANGES, REQUESTS, Citable, citable
from handoffs.resolver import Resolver
from importers.base import FileFact
from tests.handoffs.setting import Setting, run_git
from tests.ledger.making import START


def listed(here: Setting, harness: str = "codex") -> list[Citable]:
    head = run_git(here.tree, "rev-parse", "HEAD")
    return citable(here.store, here.workstream, here.session(harness), here.tree, head)


def test_every_name_on_the_list_resolves(here: Setting) -> None:
    here.says("please fix a.py")
    reference = here.runs("pytest -q", 1, "1 failed")
    at = here.event(reference).occurred_at
    here.add(FileFact(path=str(here.tree / "a.py"), action="edit", at=at))
    here.says("done", agent=True)
    found = listed(here)
    resolve = Resolver(here.store, here.workstream, here.tree)
    assert all(resolve(item.name) is not None for item in found)
    assert [item.text for item in found] == [
        "check `pytest -q` by codex: failed, exit 1",
        "`a.py` edited by codex",
        'the person asked: "please fix a.py"',
        "the commit that is checked out",
    ]


def test_a_check_says_when_files_were_changed_after_it(here: Setting) -> None:
    reference = here.runs("pytest -q", 0, "3 passed", at=START)
    here.edits("a.py", at=START + 5000)
    (first, *_) = listed(here)
    assert first == Citable(
        reference,
        "check `pytest -q` by codex: passed, exit 0; files were changed after it",
    )


def test_of_one_command_only_the_newest_run_is_listed(here: Setting) -> None:
    here.runs("pytest -q", 1, "1 failed", at=START)
    newest = here.runs("pytest -q", 0, "3 passed", at=START + 1000)
    checks = [item for item in listed(here) if item.text.startswith("check")]
    assert [item.name for item in checks] == [newest]


def test_what_another_said_afterwards_is_told(here: Setting) -> None:
    here.says("mine", agent=True)
    assert not any("said after you" in item.text for item in listed(here))
    name = here.says("it is whole now", agent=True, harness="claude")
    assert Citable(name, 'claude said after you: "it is whole now"') in listed(here)
    assert not any("said after you" in item.text for item in listed(here, "claude"))


def test_the_list_stays_short_and_on_one_line_each(here: Setting) -> None:
    for number in range(40):
        here.says(f"please\nfix `{number}` " + "x" * 500)
        reference = here.runs(f"echo {number}")
        at = here.event(reference).occurred_at
        here.add(FileFact(path=f"/elsewhere/{number}.py", action="create", at=at))
    found = listed(here)
    assert len(found) == REQUESTS + CHANGES + 1
    assert all("\n" not in item.text and len(item.text.encode()) < 250 for item in found)
