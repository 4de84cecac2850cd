"""What adapters have in common: a class to derive an adapter from, and the launch it builds.

An adapter declares its facts as class attributes, names its `Options`, and says in a `Plan` of its
own what differs: which channel a launch has, what is always installed, how a text is carried. The
rest follows: ids, selectors, places in the argument list, environment, capabilities. Adapters with
needs of their own override single methods; nothing outside them has to know.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from importers.base import Source, StoreState, StoreUnreadable
from launcher.harnesses import parents, programs
from launcher.harnesses.base import (
    About,
    Channel,
    Dialect,
    Invocation,
    Launch,
    LaunchRequest,
    Preflight,
    Program,
    Readiness,
    Select,
)
from launcher.harnesses.options import Options

if TYPE_CHECKING:
    from importers.base import Importer

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
_NO_FILES: Final[Mapping[str, bytes]] = MappingProxyType({})
_READINESS: Final = {
    StoreState.PRESENT: Readiness.READY,
    StoreState.ARCHIVED: Readiness.ARCHIVED,
    StoreState.MISSING: Readiness.MISSING,
    StoreState.UNREADABLE: Readiness.UNREADABLE,
}


class Additions(NamedTuple):
    """What a launch gets beside the person's own arguments."""

    args: tuple[str, ...] = ()
    env: Mapping[str, str] = _NOTHING
    files: Mapping[str, bytes] = _NO_FILES
    """By path below the run's folder."""


class Planned(Protocol):
    """A launch under construction: what `channel` and `plan` both derive from one request."""

    @property
    def channel(self) -> Channel:
        """The channel of this launch."""

    def launch(self, channel: Channel) -> Launch:
        """Return the launch, with the context that its channel carries."""


class Plan:
    """One launch under construction: `channel` and `launch` read the same request, and agree."""

    def __init__(self, frame: Frame, request: LaunchRequest) -> None:
        self.frame = frame
        self.request = request
        self.call = frame.options.take_apart((*request.entry_args, *request.invocation.args))

    # --- what an adapter says

    def usual(self) -> Channel:
        """Return the channel of this launch, given that a briefing is wanted."""
        raise NotImplementedError

    def installed(self) -> Additions:
        """Return what every launch gets, whatever its channel: the hook that notes events."""
        return Additions()

    def carried(self, channel: Channel, text: str) -> Additions:
        """Return what brings a text over a channel other than `hook`."""
        raise NotImplementedError

    def yolo(self) -> list[str]:
        """Return the arguments for a launch without approvals, none where the person chose."""
        return []

    def notices(self, channel: Channel) -> list[str]:
        """Return sentences for the line before the start."""
        told = channel.why is not None and self.request.briefing
        return [f"context by {channel.name}: {channel.why}"] if told else []

    def arguments(self, ours: Sequence[str]) -> list[str]:
        """Return the arguments of the call: ours behind the subcommand, the person's in order."""
        args, at = self.call.args, self.call.at
        return [*args[:at], *ours, *args[at:]]

    # --- what follows

    @property
    def resuming(self) -> bool:
        """Whether a session that exists goes on: the channel may be another than on create."""
        chosen = self.request.invocation.select
        return self.request.resume is not None or chosen not in (Select.NONE, Select.CREATE)

    @property
    def channel(self) -> Channel:
        """The channel of this launch."""
        if not self.request.briefing:
            return no_channel("the briefing is switched off for this run")
        if self.request.invocation.select is Select.DETACHED:
            return no_channel(self.request.invocation.facts.get("why", "no session is kept"))
        return self.usual()

    def selector(self) -> tuple[list[str], str | None]:
        """Return the arguments that choose the session, and its id where that is known.

        The person's own choice stays as it is.
        """
        request, invocation = self.request, self.request.invocation
        if invocation.select is Select.NONE:
            if request.resume is not None:
                return self.frame.resume_args(request.resume), request.resume
            fresh = self.frame.fresh_id()
            return ([], None) if fresh is None else (self.frame.create_args(fresh), fresh)
        if invocation.select is Select.FORK:
            return [], invocation.facts.get("fork")
        return [], invocation.native_id

    def launch(self, channel: Channel) -> Launch:
        """Return the launch."""
        chosen, native_id = self.selector()
        parts = [self.installed()]
        if self.request.text is not None and channel.name not in ("hook", "none"):
            parts.append(self.carried(channel, self.request.text))
        ours = [*chosen, *self.yolo(), *(arg for part in parts for arg in part.args)]
        env = self.home_changes()
        files: dict[str, bytes] = {}
        for part in parts:
            env.update(part.env)
            files.update(part.files)
        return Launch(
            argv=(str(self.request.program.path), *self.arguments(ours)),
            env_set=env,
            env_remove=(),
            files=files,
            native_id=native_id,
            channel=channel,
            notices=tuple(self.notices(channel)),
        )

    def home_changes(self) -> dict[str, str]:
        """Return the variables without which the child would use another store home."""
        request = self.request
        if self.frame.importer.home(request.env) == request.home:
            return {}
        return dict(self.frame.home_environment(request.home))

    def in_run(self, name: str) -> Path:
        """Return the absolute path of a file in the run's folder."""
        return self.request.run_dir / name

    def in_prompt(self, text: str) -> list[str] | None:
        """Return the person's arguments with a text before the prompt, None without a prompt.

        The last resort: the text becomes part of the person's message, and the importer takes it
        out of there again. Where there is no prompt, `usual` must offer no such channel.
        """
        words = self.call.words()
        if not words:
            return None
        args = list(self.call.args)
        args[words[0].start] = f"{text}\n\n{words[0].name}"
        return args


class Frame:
    """An adapter but for its facts; `launcher.harnesses.base.Adapter` says what they mean."""

    name: str
    title: str
    program_names: tuple[str, ...]
    home_variables: tuple[str, ...] = ()
    verified: tuple[str, ...]
    install_hint: str
    context_capacity: int
    context_proof: bool = True
    dialect: Dialect = Dialect()
    options: Options
    package: str | None = None
    """Name of the npm package whose script is started by node; None for a native program."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names that people type."""
        from launcher.harnesses import registry

        return registry.aliases(self.name)

    @property
    def parent_variables(self) -> tuple[str, ...]:
        """Variables that the harness sets for its own children."""
        return parents.MARKS.get(self.name, ())

    @property
    def importer(self) -> Importer:
        """The reader of the harness's store."""
        from importers import registry

        return registry.get(self.name)

    def home_environment(self, home: Path) -> Mapping[str, str]:
        """Return the variables that put the store into a folder."""
        return {self.home_variables[0]: str(home)}

    def store_environment(self, args: Sequence[str]) -> Mapping[str, str]:
        """Return what arguments say about the store; most harnesses have none that do."""
        del args
        return {}

    def resume_args(self, native_id: str) -> list[str]:
        """Return the arguments that resume a session."""
        option = self.options.named or next(iter(sorted(self.options.resume, key=len)[::-1]))
        return [option, native_id]

    def create_args(self, native_id: str) -> list[str]:
        """Return the arguments that create a session under an id."""
        return [self.options.named or self.options.create or "", native_id]

    def fresh_id(self) -> str | None:
        """Return an id for a new session; None where the harness gives it itself."""
        return uuid4() if self.options.named or self.options.create else None

    def classify(self, args: Sequence[str]) -> Invocation:
        """Understand native arguments."""
        return self.options.classify(args)

    def inspect(self, path: Path, env: Mapping[str, str]) -> Program:
        """Ask the program for its version, and look whether what starts it is new enough."""
        native = self.native(path)
        questions = programs.Questions(native, env, *self.home_variables)
        version = programs.version_in(questions.ask("--version"))
        problems = []
        if self.package is not None:
            problems += programs.node_problems(native, self.package, env)
        if version is None and not problems:
            problems.append(f"{native} does not tell its version")
        return Program(
            path=native,
            version=version,
            features=self.features(questions),
            problems=tuple(problems),
            complete=questions.all_answered,
        )

    def native(self, path: Path) -> Path:
        """Return the program behind a package's shim."""
        return path

    def features(self, questions: programs.Questions) -> frozenset[str]:
        """Return what the version can and others cannot, by asking it."""
        del questions
        return frozenset()

    def planned(self, request: LaunchRequest) -> Planned:
        """Return the launch under construction: mostly a `Plan` of the adapter's own."""
        raise NotImplementedError

    def channel(self, request: LaunchRequest) -> Channel:
        """Return how context reaches the model on this launch."""
        return self.planned(request).channel

    def plan(self, request: LaunchRequest, channel: Channel) -> Launch:
        """Build the launch."""
        return self.planned(request).launch(channel)

    def preflight(
        self,
        home: Path,
        native_id: str,
        path: Path | None,
        cwd: Path,
        *,
        args: Sequence[str] = (),
    ) -> Preflight:
        """Look the session up in its store, and who has it open."""
        del args, path
        source = self.importer.locate(home, native_id)
        if source.state is StoreState.PRESENT:
            try:
                holder = self.holder(source, cwd)
            except StoreUnreadable as error:
                return Preflight(readiness=Readiness.UNREADABLE, detail=str(error))
            if holder is not None:
                return holder
        detail = source.detail
        if source.state is StoreState.MISSING and detail is None:
            detail = f"{home} has no session {native_id}"
        return Preflight(readiness=_READINESS[source.state], detail=detail)

    def holder(self, source: Source, cwd: Path) -> Preflight | None:
        """Return who has a session open, or why it would be refused; None: it can be resumed.

        Raises StoreUnreadable.
        """
        del source, cwd
        return None

    def capabilities(self, program: Program | None) -> Mapping[str, str]:
        """Say what works, for people."""
        raise NotImplementedError

    def about(self) -> About:
        """Return what is settled about the harness."""
        raise NotImplementedError


def no_channel(why: str) -> Channel:
    """Return that context cannot reach the model on this launch, and why."""
    return Channel(name="none", capacity=0, proof=False, why=why)


def uuid4() -> str:
    """Return a random UUID; the uuid module would cost more than the launch may."""
    raw = bytearray(os.urandom(16))
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    digits = raw.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
