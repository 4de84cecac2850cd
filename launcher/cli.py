"""The command line's group: names, one line each, and where the command lives.

No command body is here; a command's module is imported when it is called (or listed by its own
`--help`). Errors end here: every one becomes one message and an exit code of the table, or, with
`--json`, the error list of the envelope.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, Final

import click

from launcher import exit_codes
from launcher.output import print_error, print_json_error
from launcher.version import VERSION
from ledger.errors import BadDataError, UsageError, WorkstreamError

COMMANDS: Final[dict[str, tuple[str, str]]] = {
    # name: (module, one line)
    "run": ("run", "Start a harness on a workstream and carry the work over."),
    "resume": ("resume", "Go on with the harness used last, in its own session."),
    "stop": ("stop", "Ask a running harness to end and let its run finish."),
    "list": ("list", "List workstreams."),
    "status": ("status", "Show where a workstream stands."),
    "log": ("log", "Show the events of a workstream."),
    "show": ("show", "Show one event, whole."),
    "search": ("search", "Search events."),
    "note": ("note", "Leave a word for the next agent."),
    "objective": ("objective", "Show or set what the work is for."),
    "briefing": ("briefing", "Print what the next run would deliver, or what was delivered."),
    "handoff": ("handoff", "Write, check and receive checkpoints of the work."),
    "import": ("import_", "Read past sessions into the ledger."),
    "recover": ("recover", "Finish runs that did not end by themselves."),
    "verify": ("verify", "Check the ledger: chain, digests, index."),
    "backup": ("backup", "Write a copy of the ledger."),
    "restore": ("restore", "Put a backup back."),
    "forget": ("forget", "Remove events, a session or a workstream for good."),
    "rename": ("rename", "Rename a workstream."),
    "relink": ("relink", "Tell which directory a repository is in now."),
    "archive": ("archive", "Put a workstream away, or take it out again."),
    "harnesses": ("harnesses", "List harnesses: found, version, what works."),
    "doctor": ("doctor", "Check this installation and its state."),
    "config": ("config", "Show the configuration and where each value comes from."),
    "completion": ("completion", "Print the shell completion script."),
}
ALIASES: Final = {"ls": "list"}
HIDDEN: Final = {"_finish": "finish"}


class PipeClosedError(Exception):
    """Nobody reads our output any more."""


class LazyGroup(click.Group):
    """A group whose commands are imported one at a time."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names in the order of the table."""
        return list(COMMANDS)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401  (click's own type)
        """Run the command; a reader that went away is told apart from other errors.

        click would turn the BrokenPipeError into an exit code of its own.
        """
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise PipeClosedError from error

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import and return one command, or None."""
        name = ALIASES.get(cmd_name, cmd_name)
        module = HIDDEN.get(name) or (COMMANDS[name][0] if name in COMMANDS else None)
        if module is None:
            return None
        loaded: Any = importlib.import_module(f"launcher.commands.{module}")
        command: click.Command = loaded.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Say which names are near an unknown one."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name, [*COMMANDS, *ALIASES], n=3)
            hint = f" Did you mean: {', '.join(near)}?" if near else ""
            raise click.UsageError(f"No such command '{name}'.{hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Options of `run` come before the harness name; all that follows is the harness's own.",
)
@click.option("--debug", is_flag=True, help="Show tracebacks and lower-level detail.")
@click.version_option(VERSION, "--version", message="workstream %(version)s")
@click.pass_context
def cli(ctx: click.Context, *, debug: bool) -> None:
    """Start coding agents on a named line of work and carry the work from one to the next."""
    ctx.obj = {"debug": debug}


def main(args: Sequence[str]) -> int:
    """Run one command and return its exit code; never raises, never prints a traceback unasked."""
    words = list(args)
    debug = "--debug" in words[:1] or bool(os.environ.get("WORKSTREAM_DEBUG", "").strip())
    try:
        result = cli.main(words, prog_name="workstream", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (click.Abort, KeyboardInterrupt):
        sys.stderr.write("\nworkstream: interrupted\n")
        return exit_codes.INTERRUPTED
    except PipeClosedError:
        _silence_stdout()
        return exit_codes.PIPE_CLOSED
    except Exception as error:  # the last place where an error can be told
        if debug:
            raise
        return _tell(error, words)
    return result if isinstance(result, int) else 0


def _tell(error: Exception, words: Sequence[str]) -> int:
    known = _known(error)
    command = next((word for word in words if not word.startswith("-")), "")
    if "--json" in words and command != "run":
        print_json_error(command, known)
    else:
        print_error(known)
    return known.exit_code


def _known(error: Exception) -> WorkstreamError:
    if isinstance(error, WorkstreamError):
        return error
    if isinstance(error, click.ClickException):
        hint = None
        if isinstance(error, click.UsageError) and error.ctx is not None:
            hint = f"See: {error.ctx.command_path} --help"
        return UsageError(error.format_message().rstrip("."), next_step=hint)
    if isinstance(error, UnicodeError):
        return BadDataError("text is not valid UTF-8", detail=str(error))
    return WorkstreamError(
        f"internal error: {type(error).__name__}: {error}",
        next_step="Run it again with `workstream --debug …` and report what it prints.",
    )


def _silence_stdout() -> None:
    """Point stdout away after a closed pipe, so that the interpreter's last flush cannot fail."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
