from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from launcher.harnesses import claude_args, claude_store
from launcher.harnesses.base import LaunchRequest, Program, Readiness
from launcher.harnesses.claude import HOOK_CAPACITY, Claude
from launcher.harnesses.programs import Questions
from ledger import ids
from tests.fakes.messages_api import MessagesApi
from tests.lab.homes import Home, claude_home
from tests.lab.programs import harness_program, installed
from tests.lab.terminal import Terminal
from tests.launcher.harnesses.support import (
    NONCE,
    Done,
    carry_out,
    environment,
    events,
    prepare,
    request,
)

pytestmark = pytest.mark.real

CURRENT = "claude"
ALL = installed(CURRENT, "claude@2.1.197")
TEXT = f"BEGIN {ids.DELIVERY_PLACEHOLDER}\n| what changed: é 𝄞\nEND {ids.DELIVERY_PLACEHOLDER}"


def delivered(number: int = 1) -> str:
    return TEXT.replace(ids.DELIVERY_PLACEHOLDER, ids.delivery_id(NONCE, number))


class Lab:
    """One home, one scripted model, and launches by the adapter."""

    def __init__(self, home: Home, api: MessagesApi) -> None:
        self.home = home
        self.api = api
        self.claude = Claude(managed=home.root / "etc")
        self._programs: dict[str, Program] = {}

    def program(self, name: str) -> Program:
        if name not in self._programs:
            self._programs[name] = self.claude.inspect(harness_program(name), self.home.env)
        return self._programs[name]

    def request(
        self, args: Sequence[str], name: str = CURRENT, cwd: Path | None = None, **more: Any
    ) -> LaunchRequest:
        # The outer claude's own marks: with them no transcript would be written.
        outer = {"CLAUDECODE": "1", "CLAUDE_CODE_CHILD_SESSION": "1"}
        return request(
            self.claude,
            args,
            root=self.home.root,
            env={**self.home.env, **outer},
            home=self.home.store,
            cwd=cwd or self.home.work,
            program=self.program(name),
            **more,
        )

    def run(self, *args: str, text: str = TEXT, **more: Any) -> Done:
        done = carry_out(self.claude, self.request(args, **more), text)
        assert done.status == 0, done.errors + done.output
        return done

    def sessions(self) -> list[str]:
        return [path.stem for path in self.home.session_files()]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with MessagesApi() as api:
        yield Lab(claude_home(tmp_path, api.port), api)


@pytest.mark.parametrize("name", ALL)
def test_the_hook_reaches_the_model_on_create_and_resume(lab: Lab, name: str) -> None:
    first = lab.run("-p", "say: one", name=name)
    assert delivered() in lab.api.turns[-1].text
    assert lab.sessions() == [first.launch.native_id]
    assert first.events[0]["session"] == first.launch.native_id
    assert [e["event"] for e in first.events] == ["SessionStart", "SessionEnd"]

    second = lab.run(
        "-p", "say: two", name=name, resume=first.launch.native_id, run="2", text=f"2nd {TEXT}"
    )
    assert lab.sessions() == [first.launch.native_id]
    assert second.events[0]["source"] == "resume"
    assert f"2nd {delivered()}" in lab.api.turns[-1].text
    assert "say: one" in lab.api.turns[-1].text


def test_a_delivery_is_found_again_in_the_transcript(lab: Lab) -> None:
    lab.run("-p", "say: one")
    (path,) = lab.home.session_files()
    found = [json.dumps(r) for r in lab.home.records(path)]
    assert any("hook_additional_context" in r and ids.delivery_id(NONCE, 1) in r for r in found)


@pytest.mark.parametrize("name", ALL)
def test_a_text_as_large_as_the_capacity_arrives_whole(lab: Lab, name: str) -> None:
    text = ("0123456789\n" * 1000)[: HOOK_CAPACITY - 1] + "!"
    lab.run("-p", "say: one", text=text, name=name)
    assert text in lab.api.turns[-1].text


@pytest.mark.parametrize("name", ALL)
def test_a_session_is_resumed_from_another_directory(lab: Lab, name: str) -> None:
    first = lab.run("-p", "say: one", name=name)
    other = lab.home.root / "elsewhere é"
    done = lab.run("-p", "say: two", resume=first.launch.native_id, cwd=other, run="2", name=name)
    assert any(arg.endswith(f"{first.launch.native_id}.jsonl") for arg in done.launch.argv)
    assert lab.sessions() == [first.launch.native_id]
    assert "say: one" in lab.api.turns[-1].text
    assert delivered() in lab.api.turns[-1].text


@pytest.mark.parametrize("folder", ["a.b_c é𝄞", "x" * 120 + "/" + "y" * 120])
def test_the_folder_of_a_session_is_known(lab: Lab, folder: str) -> None:
    done = lab.run("-p", "say: one", cwd=lab.home.root / folder)
    native_id = str(done.launch.native_id)
    assert claude_store.resumable_by_id(lab.home.store, native_id, lab.home.root / folder)


@pytest.mark.parametrize("name", ALL)
def test_a_fork_of_the_user_gets_the_context_and_a_known_id(lab: Lab, name: str) -> None:
    first = lab.run("-p", "say: one", name=name)
    args = ["-p", "--resume", str(first.launch.native_id), "--fork-session", "say: two"]
    fork = lab.run(*args, run="fork", text=f"2nd {TEXT}", name=name)
    assert sorted(lab.sessions()) == sorted(
        [str(first.launch.native_id), str(fork.launch.native_id)]
    )
    assert "say: one" in lab.api.turns[-1].text
    assert f"2nd {delivered()}" in lab.api.turns[-1].text


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    "off", [["--bare"], ["--safe-mode"], ["--settings", '{"disableAllHooks":true}']]
)
def test_with_hooks_off_the_system_prompt_carries_it(lab: Lab, name: str, off: list[str]) -> None:
    native_id = lab.run("-p", "say: one", name=name, text="nothing").launch.native_id
    args = ["-p", *off, "--append-system-prompt", "the persons own words"]
    for run, resume in (("create", None), ("resume", native_id)):
        done = lab.run(*args, "say: two", name=name, resume=resume, run=run, text=f"{run} {TEXT}")
        assert done.channel.name == "system_prompt"
        assert done.events == []
        assert f"{run} {delivered()}" in lab.api.turns[-1].text
        assert "the persons own words" in lab.api.turns[-1].text


def test_hooks_switched_off_in_the_projects_settings_are_noticed(lab: Lab) -> None:
    settings = lab.home.work / ".claude" / "settings.local.json"
    settings.parent.mkdir()
    settings.write_text('{"disableAllHooks": true}')
    done = lab.run("-p", "say: one")
    assert str(settings) in (done.channel.why or "")
    assert delivered() in lab.api.turns[-1].text


@pytest.mark.parametrize("args", [["--restricted"], ["--setting-sources", ""]])
def test_restricted_settings_keep_our_hook(lab: Lab, args: list[str]) -> None:
    done = lab.run("-p", *args, "say: one")
    assert done.channel.name == "hook"
    assert delivered() in lab.api.turns[-1].text


def test_the_users_files_stay_as_they_are(lab: Lab) -> None:
    settings = lab.home.store / "settings.json"
    before = settings.read_bytes()
    lab.run("-p", "say: one")
    assert settings.read_bytes() == before
    assert not (lab.home.work / ".claude").exists()


@pytest.mark.terminal
def test_a_terminal_session_is_followed_and_seen_as_live(lab: Lab) -> None:
    wanted = lab.request([])
    _, launch = prepare(lab.claude, wanted, TEXT)
    native_id = str(launch.native_id)
    env = environment(wanted, launch)
    with Terminal(launch.argv, env=env, cwd=wanted.cwd) as terminal:
        terminal.wait_quiet()
        terminal.submit("say: one ;; hold: here ;; say: the turn is over")
        lab.api.wait_held("here")
        found = lab.claude.preflight(lab.home.store, native_id, None, lab.home.work)
        assert (found.readiness, found.pid) == (Readiness.BUSY, terminal.pid)
        lab.api.release("here")
        terminal.wait_text("the turn is over")
        terminal.wait_quiet()
        terminal.submit("/exit")
        assert terminal.wait_exit() == 0
    assert delivered() in lab.api.turns[0].text
    assert [e["event"] for e in events(wanted)] == ["SessionStart", "SessionEnd"]
    after = lab.claude.preflight(lab.home.store, native_id, None, lab.home.work)
    assert after.readiness is Readiness.READY


@pytest.mark.parametrize("name", ALL)
def test_the_table_knows_every_option_of_the_program(lab: Lab, name: str) -> None:
    questions = Questions(lab.program(name).path, lab.home.env, "CLAUDE_CONFIG_DIR")
    text = (questions.ask("--help") or "").partition("Options:")[2].partition("Commands:")[0]
    options = re.findall(r"^  (?:-\w, )?(--[a-zA-Z-]+)(?:, (--[a-z-]+))?(?: (.\S+))?", text, re.M)
    assert len(options) > 50
    for spelling, other, value in options:
        kind = "" if not value or value[0] not in "<[" else value[0]
        expected = {"": 0, "[": 1, "<": 2 if value.endswith("...>") else 1}[kind]
        probe = claude_args.take_apart([spelling, "value", "another"])
        item = probe.items[0]
        assert (spelling, item.known, len(item.values)) == (spelling, True, expected)
        assert not other or claude_args.take_apart([other]).items[0].name == item.name
