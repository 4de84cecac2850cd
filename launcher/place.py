"""Where a command was called: environment, directory, checkout, state home, configuration."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from launcher.config import Config, load
from ledger import git
from ledger.errors import UnavailableError
from ledger.store import state_home

if TYPE_CHECKING:
    from importers.ignored import Ignored


class Place(NamedTuple):
    """Everything a command knows before it opens the ledger; read once."""

    env: Mapping[str, str]
    cwd: Path
    """The person's directory as they see it (symbolic links kept)."""
    checkout: git.Checkout
    config: Config
    home: Path
    """Our state directory."""
    terminal: bool
    """Whether a person can be asked: stdin and stderr are terminals."""

    def ignored(self) -> Ignored:
        """Return the rules about paths that no importer keeps, for one import of one session."""
        from importers.ignored import Ignored

        return Ignored(self.config.ignore, self.checkout.worktree)


def here(env: Mapping[str, str] | None = None) -> Place:
    """Look around. Raises ConfigError, and UnavailableError when the directory is gone."""
    variables = dict(os.environ if env is None else env)
    try:
        cwd = Path(variables.get("PWD", "") or ".")
        if not cwd.is_absolute() or not cwd.samefile("."):
            cwd = Path.cwd()
    except OSError:
        try:
            cwd = Path.cwd()
        except OSError as error:
            raise UnavailableError(
                "the current directory does not exist any more",
                next_step="Change to one that does.",
            ) from error
    checkout = git.describe(cwd, variables)
    return Place(
        env=variables,
        cwd=cwd,
        checkout=checkout,
        config=load(variables, Path(checkout.keys.worktree)),
        home=state_home(variables),
        terminal=sys.stdin.isatty() and sys.stderr.isatty(),
    )
