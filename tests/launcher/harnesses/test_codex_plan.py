from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from launcher.harnesses import codex_args, codex_config
from launcher.harnesses.base import Program
from launcher.harnesses.codex import HOOK_CAPACITY, PLAIN_HOOK_CAPACITY, Codex
from tests.launcher.harnesses.support import request

ID = "01a22cf5-d7ba-74e0-bdb5-5126d1b3e283"
NO_HOOKS: frozenset[str] = frozenset()


@pytest.fixture
def codex(tmp_path: Path) -> Codex:
    return Codex(system=tmp_path / "etc")


def bare(argv: tuple[str, ...]) -> list[str]:
    """The arguments without the program and without our hook flags."""
    args = list(argv[1:])
    while any(arg.startswith("hooks.") for arg in args):
        at = next(i for i, arg in enumerate(args) if arg.startswith("hooks."))
        assert args[at - 1] == "-c"
        del args[at - 1 : at + 1]
    return args


def planned(codex: Codex, args: list[str], root: Path, **more: Any) -> list[str]:
    wanted = request(codex, args, root=root, **more)
    return bare(codex.plan(wanted, codex.channel(wanted)).argv)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ([], ["--no-daemon"]),
        (["fix it"], ["--no-daemon", "fix it"]),
        (["--no-daemon", "x"], ["--no-daemon", "x"]),
        (["-m", "exec", "--", "-x"], ["--no-daemon", "-m", "exec", "--", "-x"]),
        (["resume", ID], ["resume", "--no-daemon", ID]),
        (["-m", "x", "fork", ID, "p"], ["-m", "x", "fork", "--no-daemon", ID, "p"]),
        (["exec", "--json", "p"], ["exec", "--json", "p"]),
        (["-a", "never", "e", "p"], ["-a", "never", "e", "p"]),
        (["exec", "resume", ID, "p"], ["exec", "resume", ID, "p"]),
        (["review", "--base", "m"], ["review", "--base", "m"]),
    ],
)
def test_the_users_arguments_keep_their_order(
    codex: Codex, tmp_path: Path, args: list[str], expected: list[str]
) -> None:
    assert planned(codex, args, tmp_path) == expected


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ([], ["resume", ID, "--no-daemon", "-C", "{work}"]),
        (["-m", "x", "p"], ["resume", ID, "--no-daemon", "-C", "{work}", "-m", "x", "p"]),
        (["--", "-p"], ["resume", ID, "--no-daemon", "-C", "{work}", "--", "-p"]),
        (["-C", "/d"], ["resume", ID, "--no-daemon", "-C", "/d"]),
        (["exec", "p", "--json"], ["exec", "p", "--json", "resume", ID]),
        (["exec", "-C", "/d", "--", "-p"], ["exec", "-C", "/d", "resume", ID, "--", "-p"]),
        (["exec", "p", "-i", "a", "b"], ["exec", "p", "--image=a", "--image=b", "resume", ID]),
        (["exec", "-i", "a", "--", "p"], ["exec", "--image=a", "resume", ID, "--", "p"]),
        (["exec", "-i", "a", "-m", "x"], ["exec", "-i", "a", "-m", "x", "resume", ID]),
        (["exec", "--new", "v", "p"], ["exec", "--new", "v", "p", "resume", ID]),
        (["-a", "never", "exec", "-"], ["-a", "never", "exec", "-", "resume", ID]),
    ],
)
def test_a_linked_session_is_resumed_by_its_id(
    codex: Codex, tmp_path: Path, args: list[str], expected: list[str]
) -> None:
    work = str(tmp_path / "work")
    assert planned(codex, args, tmp_path, resume=ID) == [a.format(work=work) for a in expected]


def test_a_review_is_never_resumed(codex: Codex, tmp_path: Path) -> None:
    wanted = request(codex, ["exec", "review"], root=tmp_path, resume=ID)
    launch = codex.plan(wanted, codex.channel(wanted))
    assert ID not in launch.argv
    assert launch.native_id is None


def test_default_arguments_of_the_entry_come_first(codex: Codex, tmp_path: Path) -> None:
    args = planned(codex, ["-m", "b"], tmp_path, entry_args=["-m", "a"])
    assert args == ["--no-daemon", "-m", "a", "-m", "b"]


def test_no_daemon_is_given_only_where_it_exists(codex: Codex, tmp_path: Path) -> None:
    assert planned(codex, [], tmp_path, features=frozenset({"hooks"})) == []


@pytest.mark.parametrize(
    ("args", "given"),
    [
        ([], True),
        (["exec", "p"], True),
        (["--yolo"], False),
        (["-a", "on-request"], False),
        (["exec", "-s", "read-only", "p"], False),
        (["--dangerously-bypass-approvals-and-sandbox"], False),
    ],
)
def test_yolo_is_added_unless_the_user_said_otherwise(
    codex: Codex, tmp_path: Path, args: list[str], given: bool
) -> None:
    planned_args = planned(codex, args, tmp_path, yolo=True)
    added = len(planned_args) - len(planned(codex, args, tmp_path))
    assert (added == 1) is given
    assert not given or "--dangerously-bypass-approvals-and-sandbox" in planned_args


def test_the_hook_is_the_channel(codex: Codex, tmp_path: Path) -> None:
    channel = codex.channel(request(codex, [], root=tmp_path))
    assert (channel.name, channel.capacity, channel.proof) == ("hook", HOOK_CAPACITY, True)


def test_without_a_context_limit_less_fits(codex: Codex, tmp_path: Path) -> None:
    wanted = request(codex, [], root=tmp_path, features=frozenset({"hooks"}))
    assert codex.channel(wanted).capacity == PLAIN_HOOK_CAPACITY
    assert "additionalContextLimit" not in " ".join(codex.plan(wanted, codex.channel(wanted)).argv)


@pytest.mark.parametrize(
    "off",
    [["--disable", "hooks"], ["-c", "features.hooks=false"], ["-c", "features={hooks=false}"]],
)
def test_switched_off_hooks_leave_instructions_for_a_new_session(
    codex: Codex, tmp_path: Path, off: list[str]
) -> None:
    channel = codex.channel(request(codex, ["exec", *off, "p"], root=tmp_path))
    assert (channel.name, channel.proof) == ("instructions", False)
    assert channel.why == "hooks are switched off by the command line"


def test_switched_off_hooks_leave_a_server_for_a_resumed_session(
    codex: Codex, tmp_path: Path
) -> None:
    wanted = request(
        codex, ["exec", "--disable", "hooks", "p"], root=tmp_path, resume=ID, text="news"
    )
    channel = codex.channel(wanted)
    launch = codex.plan(wanted, channel)
    given = next(a for a in launch.argv if a.startswith("mcp_servers.workstream_context="))
    table = tomllib.loads("x=" + given.partition("=")[2])["x"]
    assert channel.name == "mcp"
    assert launch.files == {"context.txt": b"news"}
    assert table["args"][-2:] == ["--mcp", str(wanted.run_dir / "context.txt")]


@pytest.mark.parametrize("resume", [None, ID])
def test_a_codex_without_hooks_gets_instructions_always(
    codex: Codex, tmp_path: Path, resume: str | None
) -> None:
    wanted = request(codex, ["exec", "p"], root=tmp_path, features=NO_HOOKS, resume=resume)
    assert codex.channel(wanted).name == "instructions"


def test_instructions_keep_the_users_own(codex: Codex, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "config.toml").write_text('developer_instructions = "mine"\n')
    wanted = request(codex, ["exec", "p"], root=tmp_path, features=NO_HOOKS, text='news\n\x7f"x')
    argv = codex.plan(wanted, codex.channel(wanted)).argv
    given = next(a for a in argv if a.startswith("developer_instructions="))
    assert tomllib.loads(given)["developer_instructions"] == 'mine\n\nnews\n\x7f"x'


def test_instructions_on_the_command_line_are_merged_into_one(codex: Codex, tmp_path: Path) -> None:
    args = ["exec", "-c", 'developer_instructions="mine"', "-c", "a=b", "p"]
    wanted = request(codex, args, root=tmp_path, features=NO_HOOKS, text="news")
    argv = codex.plan(wanted, codex.channel(wanted)).argv
    assert argv[1:] == ("exec", "-c", 'developer_instructions="mine\\n\\nnews"', "-c", "a=b", "p")


def test_a_remote_session_gets_nothing(codex: Codex, tmp_path: Path) -> None:
    wanted = request(codex, ["--remote", "unix://"], root=tmp_path)
    channel = codex.channel(wanted)
    assert channel.name == "none"
    assert codex.plan(wanted, channel).argv[1:] == ("--remote", "unix://")


def test_a_run_without_briefing_keeps_the_event_hook(codex: Codex, tmp_path: Path) -> None:
    wanted = request(codex, [], root=tmp_path, briefing=False)
    channel = codex.channel(wanted)
    assert channel.name == "none"
    assert any(a.startswith("hooks.SessionStart=") for a in codex.plan(wanted, channel).argv)


def test_hooks_of_the_user_that_cannot_be_merged_win(codex: Codex, tmp_path: Path) -> None:
    args = ["exec", "-c", "hooks.SessionStart=[{", "p"]
    wanted = request(codex, args, root=tmp_path)
    channel = codex.channel(wanted)
    assert channel.name == "instructions"
    assert channel.why == "the value of -c hooks.SessionStart is not TOML"
    assert bare(codex.plan(wanted, channel).argv) == ["exec", "p"]


def test_another_store_home_is_passed_on(codex: Codex, tmp_path: Path) -> None:
    wanted = request(codex, [], root=tmp_path, env={"HOME": str(tmp_path), "CODEX_HOME": "  "})
    launch = codex.plan(wanted, codex.channel(wanted))
    assert launch.env_set["CODEX_HOME"] == str(tmp_path / "store")
    default = request(
        codex, [], root=tmp_path, home=tmp_path / ".codex", env={"HOME": str(tmp_path)}
    )
    assert "CODEX_HOME" not in codex.plan(default, codex.channel(default)).env_set


def test_a_blank_store_variable_is_removed(codex: Codex, tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "CODEX_HOME": " "}
    wanted = request(codex, [], root=tmp_path, home=tmp_path / ".codex", env=env)
    assert codex.plan(wanted, codex.channel(wanted)).env_remove == ("CODEX_HOME",)


def test_the_marks_of_npms_script_are_kept(codex: Codex, tmp_path: Path) -> None:
    package = tmp_path / "node_modules" / "@openai"
    (package / "codex" / "bin").mkdir(parents=True)
    (package / "codex" / "bin" / "codex.js").write_text("#!/usr/bin/env node\n")
    native = package / "codex-linux-x64" / "vendor" / "x86_64-unknown-linux-musl" / "bin" / "codex"
    wanted = request(codex, [], root=tmp_path, program=Program(path=native, version="0.171.0"))
    assert codex.plan(wanted, codex.channel(wanted)).env_set == {
        "CODEX_MANAGED_BY_NPM": "1",
        "CODEX_MANAGED_PACKAGE_ROOT": str(package / "codex"),
    }


def layer(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def configured(tmp_path: Path, *args: str) -> codex_config.Config:
    call = codex_args.take_apart(args)
    return codex_config.read(tmp_path / "home", tmp_path / "work", call, tmp_path / "etc")


OFF = "[features]\nhooks = false\n"


@pytest.mark.parametrize(
    ("folder", "name", "text"),
    [
        ("home", "config.toml", OFF),
        ("home", "config.toml", "[features]\ncodex_hooks = false\n"),
        ("home", "config.toml", 'profile = "p"\n[profiles.p.features]\nhooks = false\n'),
        ("work/.codex", "config.toml", OFF),
        (".codex", "config.toml", OFF),
        ("etc", "config.toml", OFF),
        ("etc", "managed_config.toml", OFF),
        ("etc", "requirements.toml", OFF),
        ("etc", "requirements.toml", "allow_managed_hooks_only = true\n"),
    ],
)
def test_hooks_can_be_off_in_any_layer(tmp_path: Path, folder: str, name: str, text: str) -> None:
    (tmp_path / ".git").mkdir()
    assert configured(tmp_path).hooks_off() is None
    layer(tmp_path / folder, name, text)
    why = configured(tmp_path).hooks_off()
    assert why is not None
    assert name in why


def test_a_profile_file_switches_hooks_off(tmp_path: Path) -> None:
    layer(tmp_path / "home", "fast.config.toml", OFF)
    assert configured(tmp_path).hooks_off() is None
    assert configured(tmp_path, "-p", "fast").hooks_off() is not None


def test_the_command_line_switches_hooks_on_again(tmp_path: Path) -> None:
    layer(tmp_path / "home", "config.toml", OFF)
    assert configured(tmp_path, "--enable", "hooks").hooks_off() is None
    assert configured(tmp_path, "exec", "--ignore-user-config").hooks_off() is None


def test_a_broken_file_is_named_and_counts_as_absent(tmp_path: Path) -> None:
    layer(tmp_path / "home", "config.toml", "[features\n")
    config = configured(tmp_path)
    assert config.hooks_off() is None
    assert "config.toml" in config.problems[0]


@pytest.mark.parametrize(
    ("text", "args", "expected"),
    [
        ("", (), "openai"),
        ('model_provider = "a"', (), "a"),
        ('model_provider = "a"', ("-c", "model_provider=b"), "b"),
        ('model_provider = "a"', ("exec", "-c", 'model_provider="c"'), "c"),
        ('[profiles.x]\nmodel_provider = "d"', ("-p", "x"), "d"),
    ],
)
def test_the_provider_is_the_strongest_one(
    tmp_path: Path, text: str, args: tuple[str, ...], expected: str
) -> None:
    layer(tmp_path / "home", "config.toml", text)
    assert configured(tmp_path, *args).provider() == expected


def test_capabilities_are_sentences(codex: Codex) -> None:
    assert json.dumps(dict(codex.capabilities(None)))
