"""`workstream handoff`: the group of its verbs; each one's work is in `launcher/handing/`."""

from __future__ import annotations

import importlib
from typing import Any, Final

import click

VERBS: Final[dict[str, tuple[str, str]]] = {
    # name: (module, one line)
    "draft": ("drafts", "Write a handoff from the ledger, or have the agent write it."),
    "edit": ("drafts", "Edit a handoff until it is clean, and prepare it."),
    "prepare": ("preparing", "Check a handoff and keep it, ready to be committed."),
    "commit": ("preparing", "Make a prepared handoff the one that counts."),
    "abandon": ("preparing", "Put a prepared handoff away."),
    "check": ("checking", "Run a command and keep its result as evidence."),
    "list": ("looking", "List revisions, prepared ones and drafts."),
    "show": ("looking", "Show one handoff and how it stands."),
    "diff": ("looking", "Compare two handoffs."),
    "report": ("looking", "How handoffs stand in every workstream."),
    "receive": ("receiving", "Read a handoff with the state of its evidence."),
    "acknowledge": ("receiving", "Accept a handoff, ask back, or decline it."),
    "outcome": ("receiving", "Say how accepted work ended."),
}


class Verbs(click.Group):
    """A group whose verbs are imported one at a time."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names in the order of the table."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import and return one verb, or None."""
        if cmd_name not in VERBS:
            return None
        loaded: Any = importlib.import_module(f"launcher.handing.{VERBS[cmd_name][0]}")
        found: click.Command = getattr(loaded, "list_" if cmd_name == "list" else cmd_name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the verbs without importing any."""
        with formatter.section("Verbs"):
            formatter.write_dl([(name, line) for name, (_, line) in VERBS.items()])


@click.group("handoff", cls=Verbs)
def command() -> None:
    """Write, check and receive handoffs: where the work stands, what next, how that is known."""
