"""Which harness a run starts: named, the one used last, the one before, or asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from launcher import executables, prompts, report
from launcher.config import HarnessEntry
from launcher.harnesses import registry
from launcher.harnesses.base import Adapter, Invocation
from launcher.options import RunOptions
from launcher.output import say
from launcher.place import Place
from launcher.resolve import Choice
from ledger import limits, runs
from ledger.errors import UsageError, WorkstreamError
from ledger.store import Store


class Asked(NamedTuple):
    """The harness that was asked for, and its native arguments understood."""

    entry: HarnessEntry
    adapter: Adapter
    invocation: Invocation


def ask_for(place: Place, name: str, args: tuple[str, ...]) -> Asked:
    """Return the entry of that name with its adapter and what the native arguments ask for."""
    entry = place.config.entry(name)
    adapter = registry.get(entry.use)
    if entry.name == entry.use:
        entry = replace(entry, name=adapter.name, use=adapter.name)
    invocation = adapter.classify((*entry.args, *args))
    return Asked(entry=entry, adapter=adapter, invocation=invocation._replace(args=args))


def last_harness(store: Store, place: Place, options: RunOptions, choice: Choice) -> str:
    """Return the entry that a run without a name starts. Raises UsageError."""
    used = runs.recent_entries(store, choice.workstream)
    if options.harness == "-":
        if len(used) < 2:
            raise UsageError(
                "no other harness was used on this workstream before",
                next_step="Name one: workstream run HARNESS",
            )
        return used[1]
    if used:
        return _unless_limited(store, place, choice, used[0])
    if place.config.harness is not None:
        return place.config.harness
    if place.terminal:
        found = [name for name in registry.names() if _installed(place, name)]
        if len(found) == 1:
            return found[0]
        if found:
            return prompts.choose("which harness", found)
    raise UsageError(
        "no harness was used on this workstream yet",
        next_step=f"Name one: workstream run {'|'.join(registry.names())}",
    )


def _unless_limited(store: Store, place: Place, choice: Choice, last: str) -> str:
    """Ask which harness to go on with while the one used last is at its provider's limit."""
    limit = limits.latest(store, choice.workstream)
    if limit is None or limit["entry"] != last or not place.terminal:
        return last
    resets = limit["resets_at"]
    if resets is None or resets <= store.clock.now_ms():
        return last
    say(report.limit_line(last, limit))
    others = [name for name in (*registry.names(), *place.config.entries) if name != last]
    found = [name for name in dict.fromkeys(others) if _installed(place, name)]
    return prompts.choose("go on with", [*found, last]) if found else last


def _installed(place: Place, name: str) -> bool:
    entry = place.config.entry(name)
    try:
        executables.find(registry.get(entry.use), entry, place.env, None)
    except WorkstreamError:
        return False
    return True
