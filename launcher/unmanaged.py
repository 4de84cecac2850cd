"""Starting a harness without a run: utility calls, `--unmanaged`, and an unusable state."""

from __future__ import annotations

import os
import shlex
import sys
from typing import NoReturn

from launcher import executables, launching, prompts
from launcher.asking import Asked
from launcher.options import RunOptions
from launcher.output import say
from launcher.place import Place
from ledger.errors import StateError, UsageError


def pass_through(place: Place, options: RunOptions, asked: Asked) -> NoReturn:
    """Become the harness: nothing recorded, exit code its own."""
    env = launching.child_environment(place, asked.entry, options, asked.adapter)
    path = executables.find(asked.adapter, asked.entry, env, options.executable)
    argv = [str(path), *asked.entry.args, *options.args]
    sys.stdout.flush()
    os.execve(path, argv, env)  # noqa: S606  (the person asked for exactly this program)


def unmanaged(place: Place, options: RunOptions, asked: Asked | None) -> NoReturn:
    """Become the harness, on the person's own wish. Raises UsageError without its name."""
    if asked is None:
        raise UsageError("--unmanaged needs the name of a harness")
    pass_through(place, options, asked)


def without_state(place: Place, options: RunOptions, asked: Asked | None, error: StateError) -> int:
    """Say why there is no run, print the bare command, and offer to start it unmanaged."""
    if asked is None:
        raise error
    env = launching.child_environment(place, asked.entry, options, asked.adapter)
    path = executables.find(asked.adapter, asked.entry, env, options.executable)
    bare = shlex.join([str(path), *asked.entry.args, *options.args])
    policy = place.config.on_state_error
    say(str(error))
    say(f"the harness itself starts with: {bare}")
    wanted = policy == "unmanaged" or (
        policy == "ask" and place.terminal and prompts.confirm("Start it now, without a run?")
    )
    if not wanted:
        return error.exit_code
    say("started without a run; the next one can adopt this session")
    pass_through(place, options, asked)
