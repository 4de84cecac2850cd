from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from launcher.harnesses import codex_args
from launcher.harnesses.argv import Takes
from launcher.harnesses.base import LaunchRequest, Program, Readiness
from launcher.harnesses.codex import Codex
from launcher.harnesses.programs import Questions
from ledger import ids
from tests.fakes.responses_api import ResponsesApi
from tests.lab.homes import Home, codex_home
from tests.lab.programs import harness_wrapper, installed
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

CURRENT = "codex"
WITH_HOOKS = installed(CURRENT, "codex@0.130.0")
WITHOUT_HOOKS = installed("codex@0.98.0")
ALL = [*WITH_HOOKS, *WITHOUT_HOOKS]
TEXT = (
    f'BEGIN {ids.DELIVERY_PLACEHOLDER}\n| what changed: é 𝄞 "x" \\n\nEND {ids.DELIVERY_PLACEHOLDER}'
)


def delivered(number: int = 1) -> str:
    return TEXT.replace(ids.DELIVERY_PLACEHOLDER, ids.delivery_id(NONCE, number))


class Lab:
    """One home, one scripted model, and launches by the adapter."""

    def __init__(self, home: Home, api: ResponsesApi) -> None:
        self.home = home
        self.api = api
        self.codex = Codex(system=home.root / "etc")
        self._programs: dict[str, Program] = {}

    def program(self, name: str) -> Program:
        if name not in self._programs:
            self._programs[name] = self.codex.inspect(harness_wrapper(name), self.home.env)
        return self._programs[name]

    def request(self, args: Sequence[str], name: str = CURRENT, **more: Any) -> LaunchRequest:
        return request(
            self.codex,
            args,
            root=self.home.root,
            env=self.home.env,
            home=self.home.store,
            cwd=self.home.work,
            program=self.program(name),
            **more,
        )

    def run(self, *args: str, text: str = TEXT, **more: Any) -> Done:
        done = carry_out(self.codex, self.request(args, **more), text)
        assert done.status == 0, done.errors
        return done

    def sessions(self) -> list[str]:
        return [path.stem[-36:] for path in self.home.session_files()]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with ResponsesApi() as api:
        yield Lab(codex_home(tmp_path, api.port), api)


def kinds(lab: Lab) -> list[str]:
    """The kinds of the context records that hold the delivered text."""
    records = [r for path in lab.home.session_files() for r in lab.home.records(path)]
    found = [json.dumps(r) for r in records if ids.delivery_id(NONCE, 1) in json.dumps(r)]
    return [kind for text in found for kind in re.findall(r"hooks\.additional_context", text)]


@pytest.mark.parametrize("name", WITH_HOOKS)
def test_the_hook_reaches_the_model_on_create_and_resume(lab: Lab, name: str) -> None:
    first = lab.run("exec", "--skip-git-repo-check", "say: one", name=name)
    assert delivered() in lab.api.turns[-1].text
    assert [(e["event"], e["source"]) for e in first.events][:1] == [("SessionStart", "startup")]
    (native_id,) = lab.sessions()
    assert first.events[0]["session"] == native_id

    second = lab.run(
        "exec", "--skip-git-repo-check", "say: two", name=name, resume=native_id, run="second"
    )
    assert lab.sessions() == [native_id]
    assert second.events[0]["source"] == "resume"
    assert second.events[0]["delivery"] == ids.delivery_id(NONCE, 1)
    assert lab.api.turns[-1].text.count(delivered()) == 2
    assert "say: one" in lab.api.turns[-1].text


def test_a_delivery_is_found_again_in_the_rollout(lab: Lab) -> None:
    lab.run("exec", "--skip-git-repo-check", "say: one")
    assert kinds(lab)


def test_a_text_as_large_as_the_capacity_arrives_whole(lab: Lab) -> None:
    for name in WITH_HOOKS:
        capacity = lab.codex.channel(lab.request(["exec", "x"], name=name)).capacity
        text = ("0123456789\n" * (capacity // 11 + 1))[: capacity - 1] + "!"
        lab.run("exec", "--skip-git-repo-check", "say: x", name=name, text=text, run=name)
        assert text in lab.api.turns[-1].text


def test_hooks_of_the_user_run_beside_ours(lab: Lab) -> None:
    command = f"echo ran >> {lab.home.root}/theirs"
    theirs = f'[{{hooks=[{{type="command",command="{command}"}}]}}]'
    lab.run(
        "exec",
        "--skip-git-repo-check",
        "--dangerously-bypass-hook-trust",
        "-c",
        f"hooks.SessionStart={theirs}",
        "say: one",
    )
    assert (lab.home.root / "theirs").read_text() == "ran\n"
    assert delivered() in lab.api.turns[-1].text


def test_ours_is_trusted_while_theirs_is_not(lab: Lab) -> None:
    theirs = '[{hooks=[{type="command",command="echo untrusted-words"}]}]'
    lab.run("exec", "--skip-git-repo-check", "-c", f"hooks.SessionStart={theirs}", "say: one")
    assert "untrusted-words" not in lab.api.turns[-1].text
    assert delivered() in lab.api.turns[-1].text


@pytest.mark.parametrize("off", [["--disable", "hooks"], ["-c", "features.hooks=false"]])
def test_with_hooks_off_a_new_session_gets_instructions(lab: Lab, off: list[str]) -> None:
    own = ["-c", 'developer_instructions="the persons own words"']
    done = lab.run("exec", "--skip-git-repo-check", *off, *own, "say: one")
    assert done.channel.name == "instructions"
    assert delivered() in lab.api.turns[-1].text
    assert "the persons own words" in lab.api.turns[-1].text
    assert done.events == []


def test_hooks_switched_off_in_the_users_file_are_noticed(lab: Lab) -> None:
    with (lab.home.store / "config.toml").open("a", encoding="utf-8") as file:
        file.write("[features]\nhooks = false\n")
    done = lab.run("exec", "--skip-git-repo-check", "say: one")
    assert str(lab.home.store / "config.toml") in (done.channel.why or "")
    assert delivered() in lab.api.turns[-1].text


def test_with_hooks_off_a_resumed_session_is_pointed_at_the_briefing(lab: Lab) -> None:
    args = ["exec", "--skip-git-repo-check", "--disable", "hooks"]
    lab.run(*args, "say: one")
    (native_id,) = lab.sessions()
    script = "tool: mcp__workstream_context/briefing => {} ;; say: two"
    done = lab.run(*args, script, resume=native_id, run="second")
    assert done.channel.name == "mcp"
    pointed, called = lab.api.turns[-2:]
    assert "This session is not up to date" in pointed.text
    assert delivered() in called.text
    assert lab.sessions() == [native_id]


if WITHOUT_HOOKS:  # an empty list of parameters would count as a skipped test

    @pytest.mark.parametrize("name", WITHOUT_HOOKS)
    def test_a_codex_without_hooks_gets_instructions_on_create_and_resume(
        lab: Lab, name: str
    ) -> None:
        args = ["exec", "--skip-git-repo-check"]
        lab.run(*args, "say: one", name=name)
        assert delivered() in lab.api.turns[-1].text
        (native_id,) = lab.sessions()
        done = lab.run(
            *args, "say: two", name=name, resume=native_id, run="two", text=f"2nd {TEXT}"
        )
        assert done.channel.name == "instructions"
        assert f"2nd {delivered()}" in lab.api.turns[-1].text


@pytest.mark.parametrize("name", ALL)
def test_options_of_a_resumed_exec_are_all_obeyed(lab: Lab, name: str) -> None:
    lab.run("exec", "--skip-git-repo-check", "say: one", name=name)
    (native_id,) = lab.sessions()
    last, picture = lab.home.work / "last.txt", lab.home.work / "p.png"
    picture.write_bytes(png())
    done = lab.run(
        *("exec", "--json", "--skip-git-repo-check", "-o", str(last), "-m", "gpt-5.4"),
        *("-s", "workspace-write", "-i", str(picture), "--", "say: two"),
        name=name,
        resume=native_id,
        run="second",
    )
    turn = lab.api.turns[-1]
    assert f'"thread_id":"{native_id}"' in done.output.splitlines()[0]
    assert turn.body["model"] == "gpt-5.4"
    assert "input_image" in json.dumps(turn.body["input"])
    assert turn.user_text.splitlines()[-1] == "say: two"
    assert last.read_text().strip() == "two"


def test_the_running_writer_is_named(lab: Lab) -> None:
    lab.run("exec", "--skip-git-repo-check", "say: one")
    (native_id,) = lab.sessions()
    wanted = lab.request(
        ["exec", "--skip-git-repo-check", "hold: on ;; say: two"], resume=native_id, run="held"
    )
    _, launch = prepare(lab.codex, wanted, TEXT)
    env = environment(wanted, launch)
    with Terminal(launch.argv, env=env, cwd=wanted.cwd) as terminal:
        lab.api.wait_held("on")
        found = lab.codex.preflight(lab.home.store, native_id, None, lab.home.work)
        assert (found.readiness, found.pid) == (Readiness.BUSY, terminal.pid)
        lab.api.release("on")
        assert terminal.wait_exit() == 0
    after = lab.codex.preflight(lab.home.store, native_id, None, lab.home.work)
    assert after.readiness is Readiness.READY


def png() -> bytes:
    """A picture of one black pixel."""
    parts = {
        b"IHDR": bytes((0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0)),
        b"IDAT": zlib.compress(b"\0\0"),
        b"IEND": b"",
    }
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        len(data).to_bytes(4, "big") + name + data + zlib.crc32(name + data).to_bytes(4, "big")
        for name, data in parts.items()
    )


def in_terminal(lab: Lab, script: str, **more: Any) -> LaunchRequest:
    """Start codex in a terminal, let it do `script`, and leave it properly."""
    wanted = lab.request([], **more)
    _, launch = prepare(lab.codex, wanted, TEXT)
    env = environment(wanted, launch)
    with Terminal(launch.argv, env=env, cwd=wanted.cwd) as terminal:
        terminal.wait_quiet()
        for word in ("review", "trust", "workingdirectory"):
            assert word not in terminal.text.lower()
        before = len(lab.api.turns)
        terminal.submit(script)
        lab.api.wait_turns(before + 1)
        terminal.wait_quiet()
        terminal.submit("/exit")
        assert terminal.wait_exit() == 0
    return wanted


@pytest.mark.terminal
def test_the_terminal_interface_asks_nothing_and_gets_the_context(lab: Lab) -> None:
    first = in_terminal(lab, "say: one and done")
    assert delivered() in lab.api.turns[-1].text
    (native_id,) = lab.sessions()
    assert [e["event"] for e in events(first)] == ["SessionStart", "SessionEnd"]

    second = in_terminal(lab, "say: two and done", resume=native_id, run="second")
    assert lab.sessions() == [native_id]
    assert lab.api.turns[-1].text.count(delivered()) == 2
    assert events(second)[0]["source"] == "resume"
    assert not (lab.home.store / "packages").exists()


def long_options(text: str) -> Iterator[tuple[str, Takes]]:
    """Every long option in the help of a codex command, and what it takes."""
    for found in re.finditer(r"^ +(?:-\w, )?(--[a-z-]+)(?: (<[^>]+>)(\.\.\.)?)?", text, re.M):
        name, value, many = found.groups()
        yield name, Takes.MANY if many else Takes.ONE if value else Takes.NOTHING


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    "command", ["", "exec", "exec resume", "exec fork", "exec review", "resume", "fork", "review"]
)
def test_the_tables_know_every_option_of_the_program(lab: Lab, name: str, command: str) -> None:
    program = lab.program(name)
    questions = Questions(program.path, lab.home.env, "CODEX_HOME")
    text = questions.ask(*command.split(), "--help") or ""
    if not text.startswith(("Usage", "Codex")) and f"codex {command}".strip() not in text:
        pytest.skip(f"{name} has no {command}")
    for option, takes in long_options(text):
        probe = [*command.split(), option, "value", "another"]
        (item,) = [i for i in codex_args.take_apart(probe).items if i.name == option]
        expected = {Takes.NOTHING: 0, Takes.ONE: 1, Takes.MANY: 2}[takes]
        assert (option, item.known, len(item.values)) == (option, True, expected)


def test_the_tables_know_every_command_of_the_program(lab: Lab) -> None:
    questions = Questions(lab.program(CURRENT).path, lab.home.env, "CODEX_HOME")
    text = (questions.ask("--help") or "").partition("Commands:")[2].partition("Arguments:")[0]
    commands = re.findall(r"^  ([a-z-]+)", text, re.M)
    assert len(commands) > 20
    assert [c for c in commands if codex_args.take_apart([c]).command != (c,)] == []
