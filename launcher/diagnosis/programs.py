"""Every harness a person could start here: built in, configured, installed by a third party."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from importers import registry as importers
from launcher import executables, launching
from launcher.config import HarnessEntry
from launcher.diagnosis.finding import Diagnosing, Finding, Level
from launcher.harnesses import registry
from launcher.harnesses.base import Adapter, LaunchRequest, Program
from launcher.options import RunOptions
from launcher.place import Place
from ledger.errors import WorkstreamError

CACHE = "programs.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessView:
    """One harness entry as it is here; nothing was started but the program's own `--version`."""

    name: str
    use: str
    configured: bool
    """It has a table in the user's configuration."""
    third_party: bool
    adapter: Adapter | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    """What a child would be started with; never printed."""
    path: Path | None = None
    """What is called; the program's own path may lie behind it."""
    program: Program | None = None
    home: Path | None = None
    home_from: str | None = None
    """Which variable or table decides the store home."""
    works: Mapping[str, str] = field(default_factory=dict)
    why_not: str | None = None
    """Why it cannot be started; None when it can."""
    fix: str | None = None
    channel: str | None = None
    """How context would reach a new session here."""
    channel_why: str | None = None
    """Why that is not the usual channel."""

    @property
    def found(self) -> bool:
        """Whether `run` could start it."""
        return self.program is not None and self.why_not is None

    @property
    def version_verified(self) -> bool | None:
        """Whether the suite drives this very version; None when there is none."""
        if self.adapter is None or self.program is None or self.program.version is None:
            return None
        return self.program.version in self.adapter.verified

    def document(self) -> dict[str, Any]:
        """Return it as `harnesses --json` gives it."""
        adapter, program = self.adapter, self.program
        return {
            "name": self.name,
            "use": self.use,
            "title": None if adapter is None else adapter.title,
            "configured": self.configured,
            "third_party": self.third_party,
            "found": self.found,
            "path": None if self.path is None else str(self.path),
            "program": None if program is None else str(program.path),
            "version": None if program is None else program.version,
            "verified": [] if adapter is None else list(adapter.verified),
            "version_verified": self.version_verified,
            "home": None if self.home is None else str(self.home),
            "home_from": self.home_from,
            "home_exists": self.home is not None and self.home.is_dir(),
            "works": dict(self.works),
            "channel": self.channel,
            "channel_why": self.channel_why,
            "problems": [] if program is None else list(program.problems),
            "why_not": self.why_not,
            "fix": self.fix,
        }


def look(place: Place) -> list[HarnessView]:
    """Return every harness entry: built in, then third parties', then configured ones."""
    return [_view(place, name, third) for name, third in _names(place)]


def findings(views: list[HarnessView], place: Place) -> Iterator[Finding]:
    """Yield what `doctor` says about the harnesses and their stores."""
    if not any(view.found for view in views):
        yield Finding(
            code="no_harness",
            level=Level.PROBLEM,
            sentence="no harness that could be started was found on PATH",
            fix="; ".join(v.adapter.install_hint for v in views if v.adapter and not v.configured),
        )
    for view in views:
        yield from _of_program(view)
        yield from _of_store(view, place)


def _names(place: Place) -> Iterator[tuple[str, bool]]:
    built_in = registry.names()
    third = [name for name in registry.third_party_names() if name not in built_in]
    yield from ((name, False) for name in built_in)
    yield from ((name, True) for name in third)
    for name, entry in place.config.entries.items():
        if name not in built_in and name not in third:
            yield name, entry.use in third


def _view(place: Place, name: str, third: bool) -> HarnessView:
    entry = place.config.entry(name)
    view = HarnessView(
        name=name,
        use=entry.use,
        configured=name in place.config.entries,
        third_party=third,
    )
    try:
        adapter = registry.get(entry.use)
        importer = importers.get(adapter.name)
    except WorkstreamError as error:
        return replace(view, why_not=_sentence(error), fix=error.next_step)
    env = launching.child_environment(place, entry, RunOptions(), adapter)
    home = importer.home(env)
    view = replace(
        view,
        adapter=adapter,
        env=env,
        home=home,
        home_from=_decides(place, entry, adapter),
        works=adapter.capabilities(None),
    )
    try:
        path = executables.find(adapter, entry, env, None)
        program = executables.inspect(adapter, path, env, place.home / CACHE)
    except WorkstreamError as error:
        return replace(view, why_not=_sentence(error), fix=error.next_step)
    view = replace(view, path=path, program=program, works=adapter.capabilities(program))
    if program.version is None:
        silent = f"{program.path} does not answer --version"
        return replace(view, why_not=silent, fix=f"Try it: {program.path} --version")
    channel = adapter.channel(_request(place, entry, adapter, program, env, home))
    return replace(view, channel=channel.name, channel_why=channel.why)


def _request(
    place: Place,
    entry: HarnessEntry,
    adapter: Adapter,
    program: Program,
    env: Mapping[str, str],
    home: Path,
) -> LaunchRequest:
    """Return a new interactive session in this directory, which is never started."""
    nowhere = place.home / "runs" / "none"
    return LaunchRequest(
        invocation=adapter.classify(entry.args),
        program=program,
        entry_args=(),
        env=env,
        cwd=place.cwd,
        home=home,
        run_dir=nowhere,
        hook_command=("python", str(nowhere / "hook.py")),
        resume=None,
        resume_path=None,
        resume_cwd=None,
        yolo=False,
        briefing=True,
    )


def _decides(place: Place, entry: HarnessEntry, adapter: Adapter) -> str:
    blank = ""
    if entry.home is not None and not any(name in entry.env for name in adapter.home_variables):
        return f"[harness.{entry.name}] home"
    for variable in adapter.home_variables:
        if variable in entry.env:
            return f"[harness.{entry.name}] env {variable}"
        if place.env.get(variable, "").strip():
            return f"${variable}"
        if variable in place.env:
            blank = blank or f"; ${variable} is blank"
    return f"default{blank}"


def _of_program(view: HarnessView) -> Iterator[Finding]:
    if not view.found:
        # Only what the person configured is missed when it is not there.
        level = Level.PROBLEM if view.configured else Level.NOTE
        yield Finding(
            code="harness_not_found",
            level=level,
            sentence=f"{view.name}: {view.why_not}",
            fix=view.fix,
            about=view.name,
        )
        return
    assert view.program is not None and view.adapter is not None  # noqa: S101, PT018  (found)
    tested = ", ".join(view.adapter.verified)
    yield Finding(
        code="harness",
        level=Level.OK if view.version_verified else Level.NOTE,
        sentence=f"{view.name}: {view.adapter.title} {view.program.version} at {view.path}"
        + ("" if view.version_verified else f"; tested with {tested}"),
        about=view.name,
    )
    for problem in view.program.problems:
        yield Finding(
            code="harness_limits",
            level=Level.WARNING,
            sentence=f"{view.name}: {problem}",
            about=view.name,
        )
    if view.channel_why is not None:
        yield Finding(
            code="hooks_off",
            level=Level.WARNING,
            sentence=f"{view.name}: {view.channel_why}; a briefing goes by {view.channel} instead",
            fix="Nothing has to be done; its delivery may stay unverified.",
            about=view.name,
        )


def _of_store(view: HarnessView, place: Place) -> Iterator[Finding]:
    if view.home is None or view.adapter is None:
        return
    there = view.home.is_dir()
    yield Finding(
        code="store_home",
        level=Level.OK if there or not view.found else Level.NOTE,
        sentence=f"{view.name}: sessions in {view.home} ({view.home_from})"
        + ("" if there else ", not there yet"),
        about=view.name,
    )
    if isinstance(view.adapter, Diagnosing) and there:
        yield from view.adapter.diagnose(view.home, place.cwd, view.env)


def _sentence(error: WorkstreamError) -> str:
    return error.message if error.detail is None else f"{error.message} ({error.detail})"
