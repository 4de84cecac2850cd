"""A small adapter on the frame: what follows without saying it twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from importers.base import Importer, Source, StoreState, StoreUnreadable
from launcher.harnesses.argv import syntax
from launcher.harnesses.base import Channel, LaunchRequest, Preflight, Program, Readiness, Select
from launcher.harnesses.frame import Additions, Frame, Plan, no_channel
from launcher.harnesses.options import Options
from tests.importers.scripted import ScriptedImporter
from tests.launcher.harnesses.support import request

ID = "0b5e1cf2-0000-4000-8000-00000000abcd"


class SmallPlan(Plan):
    def usual(self) -> Channel:
        if self.resuming and not self.call.words():
            return no_channel("there is no prompt to put it before")
        if self.resuming:
            return Channel(name="prompt", capacity=9000, proof=True, why="nothing else on resume")
        return Channel(name="file", capacity=9000, proof=False)

    def installed(self) -> Additions:
        return Additions(args=("--quiet-updates",), env={"SMALL": "1"}, files={"a": b"always"})

    def carried(self, channel: Channel, text: str) -> Additions:
        if channel.name == "prompt":
            return Additions()
        return Additions(args=("--read", str(self.in_run("b"))), files={"b": text.encode()})

    def arguments(self, ours: Sequence[str]) -> list[str]:
        text = self.request.text
        args = self.in_prompt(text) if self.channel.name == "prompt" and text else None
        if args is None:
            return super().arguments(ours)
        return [*args[: self.call.at], *ours, *args[self.call.at :]]

    def yolo(self) -> list[str]:
        return ["--yes"] if self.request.yolo else []


class Small(Frame):
    name = "small"
    title = "Small"
    program_names: tuple[str, ...] = ("small",)
    home_variables: tuple[str, ...] = ("SMALL_DATA", "SMALL_HOME")
    verified: tuple[str, ...] = ("1.0",)
    install_hint = "none"
    context_capacity = 9000
    context_proof = False
    options = Options(
        table=syntax("-r --resume ONE\n--session-id ONE", short_equals=False),
        conversations={"chat": syntax("--resume ONE", short_equals=False)},
        create="--session-id",
        resume=frozenset({"--resume"}),
        detached={},
    )

    def __init__(self, state: StoreState = StoreState.PRESENT) -> None:
        self.reader = SmallImporter(state)
        self.held: Preflight | None = None

    @property
    def importer(self) -> Importer:
        return self.reader

    def planned(self, request: LaunchRequest) -> SmallPlan:
        return SmallPlan(self, request)

    def holder(self, source: Source, cwd: Path) -> Preflight | None:
        del cwd
        if source.native_id == "torn":
            raise StoreUnreadable("torn")
        return self.held

    def capabilities(self, program: Program | None) -> Mapping[str, str]:
        del program
        return {}


class SmallImporter(ScriptedImporter):
    def __init__(self, state: StoreState) -> None:
        super().__init__()
        self.state = state

    def home(self, env: Mapping[str, str]) -> Path:
        return Path(env.get("SMALL_DATA") or "/default")

    def locate(self, home: Path, native_id: str) -> Source:
        return Source(harness="small", home=home, native_id=native_id, state=self.state)

    def discover(self, home: Path) -> Iterator[Source]:
        del home
        return iter(())


@pytest.fixture
def small() -> Small:
    return Small()


def test_a_new_session_is_created_under_a_fresh_id(small: Small, tmp_path: Path) -> None:
    wanted = request(small, ["chat", "words"], root=tmp_path, text="TOLD", yolo=True)
    channel = small.channel(wanted)
    launch = small.plan(wanted, channel)
    read = str(tmp_path / "state" / "run" / "b")
    assert (channel.name, channel.proof) == ("file", False)
    assert launch.argv == (
        *("/opt/agent", "chat", "--session-id", str(launch.native_id), "--yes"),
        *("--quiet-updates", "--read", read, "words"),
    )
    assert launch.files == {"a": b"always", "b": b"TOLD"}
    assert launch.env_set == {"SMALL": "1"}


def test_a_resumed_session_may_have_another_channel(small: Small, tmp_path: Path) -> None:
    wanted = request(small, ["chat", "words"], root=tmp_path, resume=ID, text="TOLD")
    launch = small.plan(wanted, small.channel(wanted))
    assert launch.argv[1:] == ("chat", "--resume", ID, "--quiet-updates", "TOLD\n\nwords")
    assert launch.native_id == ID
    assert launch.notices == ("context by prompt: nothing else on resume",)


def test_without_a_prompt_there_is_nothing_to_put_it_into(small: Small, tmp_path: Path) -> None:
    wanted = request(small, [], root=tmp_path, resume=ID, text="TOLD")
    channel = small.channel(wanted)
    assert (channel.name, channel.capacity) == ("none", 0)
    assert "TOLD" not in " ".join(small.plan(wanted, channel).argv)
    assert SmallPlan(small, wanted).in_prompt("TOLD") is None


def test_the_persons_own_choice_of_a_session_stays(small: Small, tmp_path: Path) -> None:
    wanted = request(small, ["-r", ID], root=tmp_path)
    launch = small.plan(wanted, small.channel(wanted))
    assert launch.argv[1:] == ("--quiet-updates", "-r", ID)
    assert launch.native_id == ID
    assert wanted.invocation.select is Select.RESUME


def test_another_store_home_is_handed_on(small: Small, tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "SMALL_DATA": "/elsewhere"}
    wanted = request(small, [], root=tmp_path, env=env)
    assert small.plan(wanted, small.channel(wanted)).env_set["SMALL_DATA"] == str(wanted.home)


def test_no_briefing_is_no_channel_and_the_rest_stays(small: Small, tmp_path: Path) -> None:
    wanted = request(small, [], root=tmp_path, briefing=False)
    channel = small.channel(wanted)
    assert (channel.name, channel.why) == ("none", "the briefing is switched off for this run")
    assert small.plan(wanted, channel).files == {"a": b"always"}
    assert small.plan(wanted, channel).notices == ()


@pytest.mark.parametrize(
    ("state", "readiness"),
    [
        (StoreState.PRESENT, Readiness.READY),
        (StoreState.MISSING, Readiness.MISSING),
        (StoreState.ARCHIVED, Readiness.ARCHIVED),
        (StoreState.UNREADABLE, Readiness.UNREADABLE),
    ],
)
def test_the_store_says_whether_a_session_can_be_resumed(
    tmp_path: Path, state: StoreState, readiness: Readiness
) -> None:
    assert Small(state).preflight(tmp_path, ID, None, tmp_path).readiness is readiness


def test_who_has_it_open_is_said(small: Small, tmp_path: Path) -> None:
    small.held = Preflight(readiness=Readiness.BUSY, detail="open in pid 7", pid=7)
    assert small.preflight(tmp_path, ID, None, tmp_path) == small.held
    torn = small.preflight(tmp_path, "torn", None, tmp_path)
    assert (torn.readiness, torn.detail) == (Readiness.UNREADABLE, "torn")
